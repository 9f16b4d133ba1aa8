//! What does not make sense is told: where, why, and what to do.
use assembly::{Catalogue, EventType, Placed, Plan};
use diagnostics::Source;
use testkit::each_is_told;

use crate::{TRACKER, TYPES, catalogue, plan};

/// What is wrong with a plan, as people see it.
fn wrong(text: &str, types: &Catalogue) -> String {
    let source = Source { file: "plan.toml", text };
    let (plan, places) = plan(text);
    let problems = plan.check(source, &places, types);
    problems.iter().map(|problem| source.show(problem)).collect::<Vec<_>>().join("\n")
}

/// The tracker with some text in place of other text.
fn changed(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(TRACKER.to_owned(), |text, (from, to)| testkit::changed(&text, from, to))
}

#[test]
fn a_plan_that_is_right_has_no_problems() {
    assert_eq!(wrong(TRACKER, &catalogue(TYPES)), "");
    assert_eq!(wrong(TRACKER, &Catalogue::default()), "");
    let (plan, places) = plan(TRACKER);
    assert!(plan.notes(Source { file: "p", text: TRACKER }, &places, &catalogue(TYPES)).is_empty());
}

#[test]
fn what_is_named_is_there() {
    let changes = [
        (
            "artefact = \"sense\"",
            "artefact = \"sens\"",
            "there is no artefact \"sens\"\n  20 | artefact = \"sens\"",
        ),
        ("host = \"n2\"", "host = \"n3\"", "there is no host \"n3\""),
        ("host = \"n2\"", "host = \"n2\"\ncgroup = \"a/../b\"", "no path of a control group"),
        ("host = \"n2\"", "", "it is not said on which host \"display\" is"),
        ("container = \"flight\"\nrequires", "container = \"fligth\"\nrequires", "did you mean \"flight\"?"),
        (
            "process = \"show\"",
            "process = \"show\"\nhost = \"n1\"",
            "\"display\" is on n1, and its process \"show\" is on n2",
        ),
        (
            "process = \"show\"",
            "process = \"sense\"\nhost = \"n2\"",
            "\"display\" is on n2, and its process \"sense\" is on n1",
        ),
        ("process = \"sense\"\nlane", "process = \"sensor\"\nlane", "there is no process \"sensor\""),
        ("lane = \"control\"", "lane = \"controll\"", "the container \"flight\" has no lane \"controll\""),
        ("cores = [1]", "cores = [1, 4, 1]", "there is no core 4 on n1"),
        ("cores = [1]", "cores = [1, 4, 1]", "core 1 is listed twice"),
        ("priority = 80\n", "", "the class fifo without a priority"),
        ("class = \"fifo\"\npriority = 80", "priority = 80", "the class normal with a priority"),
        (
            "cores = [1]",
            "cores = [1]\ndispatch = \"own\"\nthreads = 2",
            "each port has one thread of its own",
        ),
        (
            "[container.flight.lanes.",
            "[container.flight.lanes.aaa]\ndispatch = \"own\"\n[container.flight.lanes.zzz]\ndispatch = \"own\"\n[container.flight.lanes.",
            "\"aaa\" has the dispatch own, too",
        ),
        (
            "class = \"fifo\"\npriority = 80",
            "class = \"deadline\"",
            "runtime and period do not suit the class deadline",
        ),
        ("limit = 3, within = \"1 min\",", "limit = 3,", "limit and within belong together"),
        ("policy = \"on-failure\"", "policy = \"never\"", "what is never started again has no limits"),
        ("start-mode = \"flight\"", "start-mode = \"fligt\"", "there is no mode \"fligt\""),
        ("start-mode = \"flight\"", "", "there are modes, and none to begin in"),
        (
            "start-mode = \"flight\"",
            "start-mode = \"flight\"\nquiesce = \"15001 ms\"",
            "publishers rest for 15 s at most",
        ),
        (
            "location = [\"bin/sense\"]",
            "location = []\ndigest = \"sha256:12\"",
            "an artefact without a location",
        ),
        ("location = [\"bin/sense\"]", "location = []\ndigest = \"sha256:12\"", "this is no digest"),
        (
            "members = [\"gps\", \"airframe\"]",
            "members = [\"gps\", \"airframes\"]",
            "did you mean \"airframe\"?",
        ),
        (
            "members = [\"gps\", \"airframe\"]",
            "members = [\"gps\", \"display\"]",
            "\"gps\" and \"display\" break same-process: process sense on n1, cores 1; process show on n2",
        ),
        ("kind = \"same-process\"", "kind = \"different-core\"", "break different-core"),
        ("kind = \"same-process\"", "kind = \"different-host\"", "break different-host"),
        ("components = [\"display\"]", "components = [\"displya\"]", "did you mean \"display\"?"),
        (
            "requires = { memory = 64, gps = true }",
            "requires = { memory = 600, gps = true }",
            "600 of memory are required on \"n1\", and it has 512",
        ),
        (
            "requires = { memory = 64, gps = true }",
            "requires = { gpu = 1 }",
            "the host \"n1\" has no resource \"gpu\"",
        ),
        (
            "lock-memory = true",
            "depends-on = [\"shwo\"]",
            "there is no process \"shwo\"\n  21 | depends-on = [\"shwo\"]\n     |               ^^^^^^\n  did you mean \"show\"?",
        ),
        (
            "lock-memory = true",
            "depends-on = [\"sense\"]",
            "no process of these can begin first: sense, then sense",
        ),
        (
            "[process.show]",
            "[process.mid]\nhost = \"n1\"\ndepends-on = [\"show\"]\n[process.show]\ndepends-on = [\"mid\"]",
            "no process of these can begin first: mid, then show, then mid",
        ),
        (
            "requires = { memory = 64, gps = true }",
            "requires = { gps = false }",
            "gps of the host \"n1\" is true",
        ),
    ];
    let types = Catalogue::default();
    each_is_told(TRACKER, &changes, |text| wrong(text, &types));
}

/// Probes see stalls only if no lane is before them.
#[test]
fn probes_fit_into_their_period_and_are_above_all_lanes() {
    let costs = |probe: &str| {
        format!(
            "cores = 4\ncosts = {{ wake = \"1 us\", switch = \"1 us\", dispatch = \"1 us\", slack = \"1 us\", probe = \"{probe}\" }}"
        )
    };
    let told = |probe: &str, priority: &str| {
        wrong(&changed(&[("cores = 4", &costs(probe)), ("priority = 80", priority)]), &catalogue(TYPES))
    };
    for probe in ["0 us", "500 us", "1 s"] {
        assert!(told(probe, "priority = 80").contains("a probe wakes each 500 us"), "{probe}");
    }
    assert_eq!(told("499 us", "priority = 98"), "");
    let highest = told("20 us", "priority = 99");
    assert!(
        highest.contains("the probes of n1 have to be above all lanes, and 99 is the highest"),
        "{highest}"
    );
    assert!(highest.contains("| priority = 99"), "{highest}");
    // Without probes a lane may have it.
    assert_eq!(wrong(&changed(&[("priority = 80", "priority = 99")]), &catalogue(TYPES)), "");
}

#[test]
fn components_are_what_their_types_say() {
    let changes = [
        ("type = \"Gps\"", "type = \"Gsp\"", "no manifest has a component type \"Gsp\"\n"),
        ("type = \"Gps\"", "type = \"Gsp\"", "did you mean \"Gps\"?"),
        ("settings.gain = 2.0", "settings.gian = 2.0", "Airframe has no setting \"gian\""),
        ("settings.gain = 2.0", "settings.gain = 11", "11 is not from 0.0 to 10.0"),
        ("settings.gain = 2.0", "settings.gain = \"2\"", "\"2\" is no value of the type float"),
        ("settings.gain = 2.0", "lane = \"logging\"", "Airframe may not be in a lane \"logging\""),
        ("port.fix]", "port.fixes]", "Airframe has no port \"fixes\""),
        (
            "process = \"show\"",
            "process = \"show\"\nlane = \"control\"",
            "a component without a container has no lanes",
        ),
    ];
    let types = catalogue(TYPES);
    each_is_told(TRACKER, &changes, |text| wrong(text, &types));
    let types = TYPES.replace(" \"default\": 1.0,", "");
    let told = wrong(&changed(&[("settings.gain = 2.0", "")]), &catalogue(&types));
    assert!(told.contains("the setting \"gain\" has no default and no value"), "{told}");
}

#[test]
fn timers_alone_have_periods() {
    let gps = "type = \"Gps\"\n";
    let with = |line: &str| changed(&[(gps, &format!("{gps}{line}\n"))]);
    assert_eq!(wrong(&with("port.timer.period = \"10 ms\""), &catalogue(TYPES)), "");
    for (line, expected) in [
        ("port.timer.period = \"10 ps\"", "shorter than a nanosecond"),
        ("port.fix.period = \"10 ms\"", "\"fix\" is a publisher: only timers have a period"),
    ] {
        let told = wrong(&with(line), &catalogue(TYPES));
        assert!(told.contains(expected), "{line}\n{told}");
    }
}

#[test]
fn connections_join_what_fits() {
    let changes = [
        ("from = \"gps.fix\"", "from = \"gps.fixx\"", "\"gps\" has no port \"fixx\""),
        ("from = \"gps.fix\"", "from = \"gsp.fix\"", "there is no component \"gsp\""),
        ("from = \"gps.fix\"", "from = \"gps.timer\"", "\"gps.timer\" is a timer"),
        ("from = \"gps.fix\"", "from = \"display.position\"", "is a consumer: no connection begins at one"),
        (
            "to = [\"airframe.fix\"]",
            "to = [\"airframe.position\"]",
            "is a publisher: no connection ends at one",
        ),
        (
            "to = [\"airframe.fix\"]",
            "to = [\"display.position\"]",
            "\"gps.fix\" is of the type Fix, and \"display.position\" of the type Position",
        ),
        (
            "to = [\"airframe.fix\"]",
            "to = [\"display.position\"]",
            "ports of the type Fix that would fit: airframe.fix",
        ),
        (
            "to = [\"airframe.fix\"]",
            "to = [\"airframe.tuning\"]",
            "\"gps.fix\" is a publisher, and \"airframe.tuning\" is a facet",
        ),
        ("to = [\"airframe.fix\"]", "to = []", "a connection to nothing"),
        (
            "to = [\"airframe.fix\"]",
            "to = [\"airframe.fix\", \"airframe.fix\"]",
            "\"airframe.fix\" is there twice",
        ),
        ("to = [\"airframe.fix\"]", "to = [\"topic:track\"]", "\"topic:track\" of the type Position"),
        ("to = [\"airframe.tuning\"]", "to = [\"topic:track\"]", "calls do not go through topics"),
        ("\"topic:track\"", "\"topic:trak\"", "there is no topic \"trak\""),
        ("service = \"channel\"", "service = \"chanel\"", "there is no service \"chanel\"\n"),
        (
            "service = \"channel\"",
            "service = \"direct\"",
            "direct calls the handler at once: there is no queue",
        ),
        (
            "from = \"display.tuning\"",
            "service = \"direct\"\nfrom = \"display.tuning\"",
            "are in different processes, and direct is within one",
        ),
        (
            "from = \"display.tuning\"",
            "service = \"channel\"\nfrom = \"display.tuning\"",
            "calls do not go through a service of the kind channel",
        ),
        ("latency = \"5 ms\"", "service = \"federated\"", "federated does not reach a topic"),
        (
            "queue = { depth = 4 }",
            "queue = { depth = 4, full = \"block\" }",
            "it is not said how long block waits",
        ),
        ("queue = { depth = 4 }", "queue = { depth = 4, wait = \"1 ms\" }", "only block waits"),
        (
            "from = \"gps.fix\"\nto = [\"airframe.fix\"]",
            "from = \"topic:fixes\"\nto = [\"display.position\"]",
            "the consumer \"airframe.fix\" has to be connected",
        ),
    ];
    let types = catalogue(TYPES);
    each_is_told(TRACKER, &changes, |text| wrong(text, &types));
}

#[test]
fn ports_have_as_many_connections_as_they_may() {
    let more = "\n[connection.more]\nfrom = \"display.tuning\"\nto = [\"airframe.tuning\"]\n";
    let told = wrong(&[TRACKER, more].concat(), &catalogue(TYPES));
    assert!(told.contains("\"display.tuning\" is a receptacle with 2 connections, and may have 1"), "{told}");
    let multiplex =
        TYPES.replace("\"kind\": \"receptacle\"", "\"kind\": \"multiplex-receptacle\", \"most\": 1");
    assert!(wrong(&[TRACKER, more].concat(), &catalogue(&multiplex)).contains("and may have 1"));
    assert_eq!(
        wrong(&[TRACKER, more].concat(), &catalogue(&multiplex.replace("\"most\": 1", "\"most\": 2"))),
        ""
    );
    let emitter = TYPES.replacen(
        "\"kind\": \"publisher\", \"type\": \"Position\"",
        "\"kind\": \"emitter\", \"type\": \"Position\"",
        1,
    );
    let told = wrong(TRACKER, &catalogue(&emitter));
    assert!(
        told.contains("\"airframe.position\" is a emitter with 2 connections")
            || told.contains("emitter with 2 connections"),
        "{told}"
    );
}

#[test]
fn filters_are_compiled_and_told_where_they_are_wrong() {
    for (filter, shown) in [
        (
            "qualty >= 3",
            "plan.toml:61:11: the filter: at byte 0: there is no field `qualty` that can be compared\n  61 | filter = \"qualty >= 3\"\n     |           ^^^^^^\n  did you mean \"quality\"?",
        ),
        (
            "quality >= 'a'",
            "plan.toml:61:22: the filter: at byte 11: a text cannot be compared with an integer",
        ),
        ("quality >=", "plan.toml:61:21: the filter: at byte 10:"),
        ("state = 'HLD'", "the enumeration has no label `HLD`"),
        ("quality >= %1", "parameter %1 has no value"),
    ] {
        let told =
            wrong(&changed(&[("quality >= %0", filter), ("parameters = [\"3\"]", "")]), &catalogue(TYPES));
        let told_more = wrong(&changed(&[("quality >= %0", filter)]), &catalogue(TYPES));
        assert!(told.contains(shown) || told_more.contains(shown), "{filter}\n{told}");
    }
    let told = wrong(&changed(&[("quality >= %0", "quality >= 3")]), &catalogue(TYPES));
    assert!(told.contains("the filter has 0 parameters"), "{told}");
    // Of a type whose fields are listed, and are none, no field can be compared; of one whose fields are not listed, any.
    for (is_known, is_told) in [(true, true), (false, false)] {
        let mut types = catalogue(TYPES);
        types.events.insert("Fix".to_owned(), EventType { is_known, ..EventType::default() });
        let told = wrong(TRACKER, &types);
        assert_eq!(told.contains("its program lists none"), is_told, "{told}");
    }
}

#[test]
fn qos_is_said_where_it_means_something() {
    let changes = [
        (
            "qos = { order-policy = \"priority\" }",
            "qos = { max-consumers = 3 }",
            "max-consumers means nothing in the scope port",
        ),
        (
            "qos = { order-policy = \"priority\" }",
            "qos = { priority = 3 }",
            "priority is decided by the publisher, and \"airframe.fix\" is a consumer",
        ),
        (
            "qos = { priority = 7, timeout = \"20 ms\" }",
            "qos = { order-policy = \"fifo\" }",
            "it may be said at: service, connection, port",
        ),
        (
            "qos = { priority = 5, order-policy = \"deadline\" }",
            "qos = { discard-policy = \"lifo\" }",
            "discard-policy is said twice",
        ),
        ("[event.Fix]", "[event.Fx]", "no manifest has an event type \"Fx\""),
    ];
    let types = catalogue(TYPES);
    each_is_told(TRACKER, &changes, |text| wrong(text, &types));
}

#[test]
fn what_a_service_does_not_carry_out_is_noted() {
    let told = |connection: &str, events: &str| {
        let text = format!(
            "[component.a]\ntype = \"T\"\nhost = \"h\"\nprocess = \"p\"\n[component.b]\ntype = \"T\"\nhost = \"h\"\nprocess = \"q\"\n\
             [connection.c]\nfrom = \"a.out\"\nto = [\"b.in\"]\n{connection}\n[event.E]\nqos = {{ {events} }}\n"
        );
        let types = catalogue(
            "[component.T.port]\nout = { kind = \"publisher\", type = \"E\" }\nin = { kind = \"consumer\", type = \"E\" }\n",
        );
        assert_eq!(wrong(&text, &types), "");
        let (plan, places) = plan(&text);
        let notes = plan.notes(Source { file: "p", text: &text }, &places, &types);
        notes.iter().map(|note| note.what.clone()).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(
        told("", "event-reliability = \"persistent\", start-time = \"1 ms\", stop-time = \"2 ms\""),
        ""
    );
    assert_eq!(told("", "priority = 3"), "priority is not carried out for c, which is dds");
    let federated = "service = \"federated\"";
    assert_eq!(told(federated, "priority = 3, event-reliability = \"best-effort\""), "");
    let lost = "event-reliability is not carried out for c, which is federated";
    assert_eq!(told(federated, "event-reliability = \"persistent\""), lost);
}

/// A bound of a chain counts on it that events are delivered as soon as can be, and are not lost.
#[test]
fn chains_do_not_pass_events_that_are_held() {
    let types = catalogue(TYPES);
    for said in ["start-time = \"20 ms\"", "stop-time = \"20 ms\""] {
        let told = wrong(&changed(&[("timeout = \"20 ms\"", said)]), &types);
        assert!(
            told.contains("no limit is known behind the connection \"fix\"")
                && told.contains(said.split(' ').next().unwrap()),
            "{told}"
        );
    }
    let both = changed(&[("timeout = \"20 ms\"", "start-time = \"20 ms\", stop-time = \"20 ms\"")]);
    assert!(wrong(&both, &types).contains("nothing would be delivered"));
}

#[test]
fn a_channel_has_no_more_ends_than_it_may() {
    let types = Catalogue::default();
    let plan = |qos: &str, own: &str| {
        format!(
            "[host.h]\n[service.bus]\nkind = \"channel\"\nat = \"p\"\nqos = {{ {qos} }}\n\
             [component.a]\ntype = \"A\"\nhost = \"h\"\nprocess = \"p\"\n[component.b]\ntype = \"A\"\nprocess = \"p\"\n\
             [component.c]\ntype = \"A\"\nprocess = \"p\"\n[connection.one]\nfrom = \"a.out\"\nto = [\"b.in\", \"c.in\"]\nservice = \"bus\"\nqos = {{ {own} }}\n\
             [connection.two]\nfrom = \"b.out\"\nto = [\"c.in\"]\nservice = \"bus\"\n"
        )
    };
    for (qos, own, expected) in [
        // Two connections lead to c, which is one consumer.
        ("max-consumers = 2, max-suppliers = 2", "max-consumers = 2", ""),
        ("max-consumers = 0, max-suppliers = 0", "max-suppliers = 1", ""),
        ("max-consumers = 1", "", "plan.toml:5:25: the channel has 2 consumers, and max-consumers is 1"),
        ("max-suppliers = 1", "", "plan.toml:5:25: the channel has 2 publishers, and max-suppliers is 1"),
        ("", "max-consumers = 1", "the channel has 2 consumers, and max-consumers is 1"),
    ] {
        let text = plan(qos, own);
        let told = wrong(&text, &types);
        assert!(told.contains(expected) && told.is_empty() == expected.is_empty(), "{text}\n{told}");
        let (plan, places) = crate::plan(&text);
        assert!(
            plan.notes(Source { file: "p", text: &text }, &places, &types).is_empty(),
            "nothing is read in vain"
        );
    }
}

#[test]
fn the_path_of_a_chain_exists() {
    let path = "path = [\"gps.timer\", \"airframe.fix\", \"display.position\"]";
    for (to, expected) in [
        ("path = []", "a chain has 1 to 64 ports"),
        ("path = [\"gps.timer\", \"airframe.fx\"]", "\"airframe\" has no port \"fx\""),
        (
            "path = [\"gps.timer\", \"display.position\"]",
            "hop 1 of the chain, from \"gps.timer\" to \"display.position\": no connection leads there",
        ),
        (
            "path = [\"gps.timer\", \"display.position\"]",
            "from there connections lead to airframe.fix; \"display.position\" is reached from airframe.position",
        ),
        ("path = [\"airframe.position\", \"airframe.fix\"]", "nothing goes this way within a component"),
        (
            "path = [\"airframe.tuning\", \"airframe.position\"]",
            "the handler of \"tuning\" does not use \"position\"\n",
        ),
        ("path = [\"airframe.tuning\", \"display.position\"]", "no connection leads there"),
        ("path = [\"topic:trck\", \"display.position\"]", "did you mean \"track\"?"),
    ] {
        let told = wrong(&changed(&[(path, to)]), &catalogue(TYPES));
        assert!(told.contains(expected), "{to}\n{told}");
    }
    for right in [
        "path = [\"gps.timer\", \"gps.fix\", \"airframe.fix\", \"airframe.position\", \"display.position\"]",
        "path = [\"airframe.fix\", \"topic:track\"]",
        "path = [\"display.tuning\", \"airframe.tuning\"]",
    ] {
        assert_eq!(wrong(&changed(&[(path, right)]), &catalogue(TYPES)), "", "{right}");
    }
    assert!(
        wrong(&changed(&[("reaction = \"25 ms\"", "")]), &catalogue(TYPES))
            .contains("a chain without a limit")
    );
}

/// Components in one container that call each other in a ring, by events and by a call at last.
const RING: &str = "[component.a]\ntype = \"T\"\nhost = \"h\"\nprocess = \"p\"\n[component.b]\ntype = \"T\"\nprocess = \"p\"\n\
    [connection.there]\nfrom = \"a.out\"\nto = [\"b.in\"]\n[connection.back]\nfrom = \"b.call\"\nto = [\"a.facet\"]\n";
const RING_TYPES: &str = "[component.T.port]\nin = { kind = \"consumer\", type = \"E\" }\nout = { kind = \"publisher\", type = \"E\" }\n\
    call = { kind = \"receptacle\", type = \"C\", required = false }\nfacet = { kind = \"facet\", type = \"C\" }\n";

#[test]
fn what_would_wait_for_itself_is_told() {
    let types = catalogue(RING_TYPES);
    let told = wrong(RING, &types);
    assert!(
        told.contains(
            "\"a\" would be called while it waits for its own call: a.out → b.in → b.call → a.facet"
        ),
        "{told}"
    );
    assert!(told.contains("let the connection \"there\" say service = \"channel\""), "{told}");
    let queued = RING.replace("to = [\"b.in\"]", "to = [\"b.in\"]\nservice = \"channel\"");
    assert_eq!(wrong(&queued, &types), "");
    // By their manifests, neither handler makes the call; or the component may be called meanwhile.
    let other = RING_TYPES
        .replace("type = \"E\" }\nout", "type = \"E\", triggers = [\"out\"] }\nout")
        .replace("\"facet\", type = \"C\"", "\"facet\", type = \"C\", triggers = []");
    assert_eq!(wrong(RING, &catalogue(&other)), "");
    let parallel = ["[component.T]\nparallel = true\n", RING_TYPES].concat();
    assert_eq!(wrong(RING, &catalogue(&parallel)), "");
    // A call waits in another process, too.
    let calls = "[component.a]\ntype = \"T\"\nhost = \"h\"\nprocess = \"p\"\n[component.b]\ntype = \"T\"\nhost = \"g\"\nprocess = \"q\"\n\
        [connection.there]\nfrom = \"a.call\"\nto = [\"b.facet\"]\n[connection.back]\nfrom = \"b.call\"\nto = [\"a.facet\"]\n";
    assert!(wrong(calls, &types).contains("publish an event instead of a call"));
}

#[test]
fn federated_events_come_once() {
    let of = |links: &[(&str, &[&str], u8)]| {
        let mut text = "[component.x]\ntype = \"T\"\nhost = \"h\"\nprocess = \"p\"\n".to_owned();
        for (name, peers, ttl) in links {
            text += &format!(
                "[service.{name}]\nkind = \"federated\"\nat = \"p\"\npeers = {peers:?}\nttl = {ttl}\n"
            );
        }
        wrong(&text, &Catalogue::default())
    };
    assert_eq!(of(&[("a", &["b", "c"], 1), ("b", &["a"], 1), ("c", &[], 1)]), "");
    let told = of(&[("a", &["b"], 2), ("b", &["a"], 1)]);
    assert!(
        told.contains("events of \"a\" come back: a → b → a") && told.contains("lower the ttl"),
        "{told}"
    );
    // Two ways to the same service: gateways send an event by one of them.
    assert_eq!(of(&[("a", &["b", "c"], 2), ("b", &["d"], 1), ("c", &["d"], 1), ("d", &[], 1)]), "");
    // A loop behind two ways to its members, of which each is the end of a shortest way.
    let ring: &[(&str, &[&str], u8)] = &[("a", &["b", "c"], 3), ("b", &["c"], 1), ("c", &["b"], 1)];
    let told = of(ring);
    assert!(told.contains("events of \"a\" come back: a → b → c → b"), "{told}");
    assert_eq!(of(&[("a", &["b", "c"], 2), ring[1], ring[2]]), "");
    assert!(of(&[("a", &["a"], 1)]).contains("come back: a → a"));
}

#[test]
fn gateways_lead_from_a_port_to_those_that_it_is_connected_with() {
    let of = |services: &str, said: &str| {
        let mut text = services.to_owned();
        for process in ["p", "q", "r"] {
            text += &format!("[component.{process}1]\ntype = \"T\"\nhost = \"h\"\nprocess = \"{process}\"\n");
        }
        text += &format!(
            "[connection.c]\nfrom = \"p1.out\"\nto = [\"q1.in\", \"r1.in\"]\nservice = \"{said}\"\n"
        );
        let plan = plan(&text).0;
        let peers = |(process, gateway): (&&str, &assembly::Gateway<'_>)| {
            let peers = gateway.peers.iter().map(|(peer, by)| format!("{peer} {by}")).collect::<Vec<_>>();
            format!("{process}: {}", peers.join(", "))
        };
        let shown = plan.gateways().iter().map(peers).collect::<Vec<_>>().join("; ");
        (wrong(&text, &Catalogue::default()), shown)
    };
    // Without services each end is a peer of where its connections lead.
    assert_eq!(of("", "federated"), (String::new(), "p: q udp, r udp; q: p udp; r: p udp".to_owned()));
    let service = |name: &str, at: &str, said: &str| {
        format!("[service.{name}]\nkind = \"federated\"\nat = \"{at}\"\n{said}\n")
    };
    let one = service("one", "p", "transport = \"tcp\"");
    assert_eq!(of(&one, "one"), (String::new(), "p: q tcp, r tcp; q: p tcp; r: p tcp".to_owned()));
    // With services they are as these say.
    let line = |ttl: u8| {
        let (p, q) = (format!("peers = [\"two\"]\nttl = {ttl}"), "peers = [\"three\"]\ntransport = \"tcp\"");
        [service("one", "p", &p), service("two", "q", q), service("three", "r", "")].concat()
    };
    let shown = "p: q udp; q: p udp, r tcp; r: q tcp";
    assert_eq!(of(&line(2), "one"), (String::new(), shown.to_owned()));
    let (told, _) = of(&line(1), "one");
    assert!(
        told.contains("no gateways lead from \"p\" to \"r\"") && told.contains("raise its ttl (1)"),
        "{told}"
    );
    // A group is also that of those who listen.
    let groups = service("one", "p", "peers = [\"two\"]\ngroups = { E = \"239.1.2.3\" }");
    let plan = plan(&[groups, service("two", "q", "groups = { F = \"239.1.2.4\" }")].concat()).0;
    let gateways = plan.gateways();
    assert_eq!(gateways["p"].groups, gateways["q"].groups);
    assert_eq!(gateways["q"].groups["E"], "239.1.2.3");
}

#[test]
fn consumers_are_where_their_service_is() {
    let of = |service: &str| {
        let text = format!(
            "[container.k]\nprocess = \"p\"\n[container.l]\nprocess = \"p\"\n\
             [component.a]\ntype = \"T\"\nhost = \"h\"\nprocess = \"p\"\ncontainer = \"k\"\n\
             [component.b]\ntype = \"T\"\nhost = \"h\"\nprocess = \"p\"\ncontainer = \"l\"\n\
             [connection.c]\nfrom = \"a.out\"\nto = [\"b.in\"]\nservice = \"bus\"\n[service.bus]\nkind = \"channel\"\n{service}\n"
        );
        wrong(&text, &Catalogue::default())
    };
    for fits in
        ["at = \"p\"", "placement = \"container\"\nat = \"l\"", "placement = \"component\"\nat = \"b\""]
    {
        assert_eq!(of(fits), "");
    }
    for (other, at) in
        [("placement = \"container\"\nat = \"k\"", "k"), ("placement = \"component\"\nat = \"a\"", "a")]
    {
        let told = of(other);
        assert!(told.contains(&format!("\"bus\" is at \"{at}\", and \"b.in\" is not")), "{told}");
    }
    // The threads of a bound are those of containers.
    let chain = "[chain.x]\npath = [\"a.out\", \"b.in\"]\nreaction = \"1 s\"";
    assert!(of(&format!("at = \"p\"\n{chain}")).contains("with placement = server"));
    assert_eq!(of(&format!("placement = \"container\"\nat = \"l\"\n{chain}")), "");
}

#[test]
fn services_are_at_what_their_placement_says() {
    let of = |service: &str| {
        let component = "[component.c]\ntype = \"T\"\nhost = \"h\"\nprocess = \"p\"\n";
        wrong(&format!("{component}[service.{service}\n"), &Catalogue::default())
    };
    for (service, expected) in [
        ("s]\nkind = \"channel\"", "it is not said which process has it"),
        ("s]\nkind = \"channel\"\nplacement = \"container\"\nat = \"p\"", "there is no container \"p\""),
        ("s]\nkind = \"channel\"\nplacement = \"component\"\nat = \"d\"", "there is no component \"d\""),
        ("s]\nkind = \"channel\"\nat = \"q\"", "there is no process \"q\""),
        ("s]\nkind = \"channel\"\nat = \"p\"\nttl = 2", "has no gateways"),
        ("s]\nkind = \"federated\"\nat = \"p\"\ngroups = { E = \"10.0.0.1\" }", "no multicast address"),
        ("s]\nkind = \"channel\"\nat = \"p\"\ntransport = \"tcp\"", "has no gateways"),
        ("s]\nkind = \"federated\"\nat = \"p\"\naddress = \"239.1.2.3:7390\"", "no address of a host"),
        ("s]\nkind = \"federated\"\nat = \"p\"\naddress = \"10.0.0.1\"", "no address of a host"),
        ("s]\nkind = \"federated\"\nat = \"p\"\ngroups = { E = \"239.1.2.3:0\" }", "no multicast address"),
        ("s]\nkind = \"direct\"\nat = \"p\"", "direct is no service"),
        ("c]\nkind = \"channel\"\nat = \"p\"", "a component is called \"c\", too"),
        ("dds]\nkind = \"dds\"", "is a kind of service"),
    ] {
        let told = of(service);
        assert!(told.contains(expected), "{service}\n{told}");
    }
    assert_eq!(
        of("s]\nkind = \"federated\"\nat = \"p\"\ngroups = { E = \"239.1.2.3\", \"*\" = \"ff05::1\" }"),
        ""
    );
    assert_eq!(
        of(
            "s]\nkind = \"federated\"\nat = \"p\"\naddress = \"[2001:db8::1]:7390\"\ngroups = { E = \"239.1.2.3:9\" }"
        ),
        ""
    );
    assert_eq!(of("s]\nkind = \"dds\""), "");
}

#[test]
fn plans_share_what_a_host_has() {
    let of = |memory: i64| {
        format!(
            "[host.h.resources]\nmemory = 100\n[component.a]\ntype = \"T\"\nhost = \"h\"\nprocess = \"p\"\nrequires.memory = {memory}\n"
        )
    };
    let (first, second) = (of(60), of(50));
    let ((one, one_places), (two, two_places)) = (plan(&first), plan(&second));
    let placed = |plan, file, text, places| Placed { plan, source: Source { file, text }, places };
    let both = [placed(&one, "1.toml", &first, &one_places), placed(&two, "2.toml", &second, &two_places)];
    let problems = Plan::check_together(&both);
    assert_eq!(problems.len(), 1);
    assert_eq!(
        problems[0].to_string(),
        "2.toml:7:19: 110 of memory are required on \"h\" by 1.toml, 2.toml together, and it has 100\n  require less, or move something to another host"
    );
    assert!(Plan::check_together(&both[..1]).is_empty() && Plan::check_together(&both[1..]).is_empty());
}

/// What goes to another process has to be among the topics of each program that has an end of it, if its manifest says which these are.
#[test]
fn events_leave_programs_that_can_hand_them_on() {
    let of = |topics: &str| {
        let types = TYPES.replacen('{', &format!("{{ \"topics\": [{topics}],"), 1);
        wrong(TRACKER, &catalogue(&types))
    };
    assert_eq!(of("\"Position\""), "");
    let told = of("\"Fix\"");
    assert!(
        told.contains("events of the type Position cannot leave the program of \"airframe.position\""),
        "{told}"
    );
    assert!(told.contains("the program of \"display.position\""), "{told}");
    assert!(
        told.contains("serve!(..., topics: [Position])") && told.contains("its manifest has Fix"),
        "{told}"
    );
    assert!(of("").contains("its manifest has none"));
}
