//! What of a plan is not carried out is refused or told, with its place; hostile lines are answered.
use assembly::{Catalogue, LaneDispatch, Manifest, Plan, SchedulingClass};
use deployment::{
    Answer, Carrier, ComponentServer, Instruction, LaneWorker, Order, Part, Phase, Reach, Sureness,
    launchable,
};
use diagnostics::Source;
use testkit::each_is_told;

use crate::executor::Model;
use crate::plans::{TYPES, types};

const FIRST: &str = include_str!("plans/first.toml");

/// What forbids a launch, and what is told, as text.
fn said(text: &str) -> (String, String) {
    said_with(text, &types())
}

fn said_with(text: &str, types: &Catalogue) -> (String, String) {
    let source = Source { file: "plan.toml", text };
    let (plan, places) = Plan::read(source).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(plan.check(source, &places, types), [], "{text}");
    let (wrong, warnings) = launchable(&plan, source, &places, types, &["p", "q", "r"]);
    let shown = |problems: &[diagnostics::Problem]| {
        problems.iter().map(|problem| source.show(problem)).collect::<Vec<_>>().join("\n")
    };
    (shown(&wrong), shown(&warnings))
}

/// Adds a line behind another one of the plan, and looks for what is told of the result.
fn each_addition_is_told(additions: &[(&str, &str, &str)], told: impl Fn(&str) -> String) {
    for (before, line, expected) in additions {
        each_is_told(FIRST, &[(before, &format!("{before}\n{line}"), expected)], &told);
    }
}

const TO_D: &str = "to = [\"d.in\"]";
const NODE: &str = "type = \"Node\"";

#[test]
fn what_cannot_be_carried_out_is_refused_where_it_is_said() {
    assert_eq!(said(FIRST), (String::new(), String::new()));
    let refused = |text: &str| {
        let (wrong, _) = said(text);
        assert!(wrong.contains('^') && wrong.lines().count() >= 4, "{wrong}");
        wrong
    };
    let additions = [
        (TO_D, "queue = { depth = 4, full = \"block\", wait = \"1 ms\" }", "a topic's queue cannot block"),
        (NODE, "artefact = \"x\"", "code is not loaded into processes that run"),
        (TO_D, "queue = { depth = 99999 }", "queues have at most 65535 entries"),
        ("to = [\"b.in\", \"c.in\"]", "qos = { priority = 300 }", "the priority 300 cannot be had"),
    ];
    each_addition_is_told(&additions, refused);
    let gate = |more: &str| {
        format!("{TO_D}\nservice = \"far\"\n[service.far]\nkind = \"federated\"\nat = \"q\"\n{more}")
    };
    let two = gate("[service.near]\nkind = \"federated\"\nat = \"q\"");
    let blocks = "queue = { depth = 4, full = \"block\", wait = \"1 ms\" }";
    let blocks = gate("").replace("\nservice", &format!("\n{blocks}\nservice"));
    let groups = gate("groups = { E = \"ff05::1\" }");
    // Both cores of the host are all that there are.
    let plenty = |rest: &str| format!("class = \"deadline\", runtime = \"1 ms\", period = \"9 ms\"{rest}");
    for fits in [plenty(""), plenty(", cores = [1, 0]"), plenty(", threads = 17")] {
        assert_eq!(said(&FIRST.replace("threads = 2", &fits)), (String::new(), String::new()), "{fits}");
    }
    let deadline = plenty(", cores = [1]");
    let grouped =
        FIRST.replace("[process.p]", "[process.p]\ncgroup = \"one\"").replace("threads = 2", &deadline);
    assert_eq!(said(&grouped), (String::new(), String::new()));
    let full = "class = \"deadline\", runtime = \"1 ms\", period = \"9 ms\", threads = 18";
    let changes = [
        ("threads = 2", deadline.as_str(), "keeps no thread of the class deadline on some cores of several"),
        (
            "threads = 2",
            "class = \"deadline\", runtime = \"1 us\", period = \"9 ms\"",
            "no runtime below 1024 ns",
        ),
        (
            "threads = 2",
            "class = \"deadline\", runtime = \"5 us\", period = \"99 us\"",
            "the kernel has no such period",
        ),
        ("threads = 2", full, "ask for more time than the kernel gives to the class deadline"),
        ("port.tick.period = \"1 ms\"\n", "", "the timer \"tick\" has no period"),
        ("[process.q]\nartefact = \"x\"", "[process.q]", "nothing says what the process \"q\" executes"),
        ("location = [\"x\"]", "location = [\"http://x\"]", "\"x\" is nowhere on this host"),
        (TO_D, two.as_str(), "has two federated services, and a process has one gateway"),
        (TO_D, blocks.as_str(), "a queue behind a gateway cannot block"),
        (TO_D, groups.as_str(), "the version of IP that its address has"),
    ];
    each_is_told(FIRST, &changes, refused);
}

/// A plan may describe one, but no service carries it.
#[test]
fn a_call_between_processes_is_refused() {
    let ports = "\"ask\": { \"kind\": \"receptacle\", \"type\": \"C\", \"required\": false },
        \"answer\": { \"kind\": \"facet\", \"type\": \"C\" }, \"tick\":";
    let text = testkit::changed(TYPES, "\"tick\":", ports);
    let manifest = Manifest::read(Source { file: "types", text: &text }).unwrap();
    let types = Catalogue::of([("types".to_owned(), manifest)]).unwrap();
    let plan = |to: &str| format!("{FIRST}[connection.asks]\nfrom = \"a.ask\"\nto = [\"{to}.answer\"]\n");
    assert_eq!(said_with(&plan("b"), &types).0, "", "within a process");
    let (wrong, _) = said_with(&plan("c"), &types);
    assert!(wrong.contains("calls between processes are not carried out") && wrong.contains('^'), "{wrong}");
}

#[test]
fn what_changes_nothing_is_told() {
    let additions = [
        (TO_D, "separation = \"1 ms\"", "nothing holds a component to separation and jitter"),
        (TO_D, "qos = { timeout = \"1 ms\" }", "timeout is not carried out for cd"),
    ];
    each_addition_is_told(&additions, |text| {
        let (wrong, warnings) = said(text);
        assert_eq!(wrong, "");
        warnings
    });
}

#[test]
fn what_a_foreign_program_cannot_be_given_is_refused() {
    let foreign = FIRST
        .replace("[artefact.x]\nlocation = [\"x\"]", "[artefact.x]\nlocation = [\"x\"]\nkind = \"foreign\"");
    // Programs among themselves are what they are.
    let deadline = "class = \"deadline\", runtime = \"50 us\", period = \"10 ms\"";
    for class in ["class = \"round-robin\", priority = 3", deadline] {
        assert_eq!(said(&foreign.replace("threads = 2", class)).0, "");
    }
    let (wrong, warnings) = said(&foreign.replace("threads = 2", "class = \"fifo\", priority = 3"));
    assert_eq!(wrong, "");
    assert!(warnings.contains("a foreign program gets no settings"), "{warnings}");
    let refused = |text: &str| {
        said(&text.replace(
            "[artefact.x]\nlocation = [\"x\"]",
            "[artefact.x]\nlocation = [\"x\"]\nkind = \"foreign\"",
        ))
        .0
    };
    let q = "[process.q]";
    each_is_told(
        FIRST,
        &[
            ("[process.r]", "[process.r]", "a foreign program has the threads that it makes itself"),
            ("threads = 2 }", "}\nlanes.slow = {}", "a foreign program is in one lane"),
            (
                "threads = 2",
                "class = \"deadline\", runtime = \"50 us\", period = \"10 ms\", cores = [0]",
                "on some cores of several",
            ),
            (q, &format!("{q}\nlock-memory = true"), "locked by itself alone"),
        ],
        refused,
    );
    let one = FIRST.replace(
        "[process.q]\nartefact = \"x\"",
        "[artefact.y]\nlocation = [\"y\"]\nkind = \"foreign\"\n[process.q]\nartefact = \"y\"",
    );
    let (wrong, _) = said(&one);
    assert!(wrong.contains("a foreign program does not know the topic of a connection"), "{wrong}");
}

#[test]
fn processes_of_several_hosts_begin_in_any_order_and_that_is_told() {
    let far = FIRST.replace("[host.n1]", "[host.n2]\ncores = 2\n[host.n1]").replace(
        "[process.q]\nartefact = \"x\"\nhost = \"n1\"",
        "[process.q]\nartefact = \"x\"\nhost = \"n2\"\ndepends-on = [\"p\"]",
    );
    let (wrong, warnings) = said(&far);
    assert_eq!(wrong, "");
    assert!(warnings.contains("\"p\" is on n1: which of both begins first is left open"), "{warnings}");
}

#[test]
fn gateways_on_several_hosts_need_addresses() {
    let far = FIRST.replace("[host.n1]", "[host.n2]\ncores = 2\n[host.n1]").replace(
        "[process.q]\nartefact = \"x\"\nhost = \"n1\"",
        "[process.q]\nartefact = \"x\"\nhost = \"n2\"",
    );
    let far = far.replace(TO_D, &format!("{TO_D}\nservice = \"federated\""));
    let (wrong, _) = said(&far);
    assert!(wrong.contains("it is not said where that of \"q\" is"), "{wrong}");
    let services = "[service.here]\nkind = \"federated\"\nat = \"q\"\naddress = \"10.0.0.1:7390\"\npeers = [\"there\"]\n\
        [service.there]\nkind = \"federated\"\nat = \"r\"\naddress = \"10.0.0.2:7390\"\n";
    assert_eq!(said(&[&far, services].concat()).0, "");
}

/// Two connections of one port: their process sends an event once, and each of the others subscribes as its consumers do.
#[test]
fn connections_by_gateways_share_the_end_that_publishes() {
    let gate = "service = \"federated\"";
    let text = FIRST
        .replace("to = [\"b.in\", \"c.in\"]", &format!("to = [\"b.in\", \"c.in\"]\n{gate}"))
        .replace("[connection.cd]", &format!("[connection.more]\nfrom = \"a.out\"\nto = [\"c.in\"]\nfilter = \"x > 3\"\n{gate}\n[connection.cd]"));
    let (plan, _) = Plan::read(Source { file: "plan", text: &text }).unwrap();
    let p = Part::of(&plan, "p", &types()).0;
    let names = |part: &Part, name: &str| -> Vec<String> {
        part.connections[name].iter().map(|half| half.name.clone()).collect()
    };
    assert_eq!(names(&p, "ab"), ["ab 0", "a.out federated"]);
    assert_eq!(names(&p, "more"), ["a.out federated"]);
    assert_eq!(p.connections["ab"][1], p.connections["more"][0]);
    assert!(p.connections["more"][0].is_shared() && !p.connections["ab"][0].is_shared());
    let q = Part::of(&plan, "q", &types()).0;
    assert_eq!((names(&q, "ab"), names(&q, "more")), (vec!["ab 1".to_owned()], vec!["more 0".to_owned()]));
    let [half] = &q.connections["more"][..] else { panic!("one end") };
    let Carrier::Gateway { event, source, .. } = &half.carrier else { panic!("by the gateway") };
    assert_eq!((event.as_str(), source.as_str(), half.filter.as_deref()), ("E", "a.out", Some("x > 3")));
    // Both gateways know each other, at addresses of their host that differ.
    let (here, there) = (p.gateway.unwrap(), q.gateway.unwrap());
    assert_eq!((here.peers[0].id, there.peers[0].id), (there.id, here.id));
    assert_eq!(here.peers[0].by, Reach::Udp(there.address));
    assert!(here.address != there.address && here.address.ip().is_loopback());
    let tcp = Plan::read(Source {
        file: "plan",
        text: &format!(
            "{text}[service.gate]\nkind = \"federated\"\nat = \"p\"\ntransport = \"tcp\"\npeers = [\"far\"]\n[service.far]\nkind = \"federated\"\nat = \"q\"\n"
        ),
    });
    let plan = tcp.unwrap().0;
    let by = |process: &str| Part::of(&plan, process, &types()).0.gateway.unwrap().peers[0].by;
    assert_eq!((by("p"), by("q")), (Reach::Accept, Reach::Connect(here.address)));
}

/// Qualities that the standard names and that are of more than a queue: they come to the ends that carry them out.
#[test]
fn qualities_come_to_the_ends_of_connections() {
    let with = |events: &str, connection: &str| {
        FIRST.replace(TO_D, &format!("{TO_D}\n{connection}")) + &format!("[event.E]\nqos = {{ {events} }}\n")
    };
    let ends = |text: &str| {
        assert_eq!(said(text).0, "");
        let plan = Plan::read(Source { file: "plan", text }).unwrap().0;
        ["q", "r"].map(|process| {
            let half = Part::of(&plan, process, &types()).0.connections["cd"][0].clone();
            match half.carrier {
                Carrier::Topic { sureness, delivery, .. } => (Some(sureness), delivery),
                Carrier::Gateway { delivery, .. } => (None, Some(delivery)),
                other => panic!("{other:?}"),
            }
        })
    };
    let sureness = |events: &str, connection: &str| {
        ends(&with(events, connection)).map(|(sureness, _)| sureness.unwrap())
    };
    assert_eq!(sureness("", ""), [Sureness::Reliable; 2]);
    assert_eq!(sureness("event-reliability = \"best-effort\"", ""), [Sureness::BestEffort; 2]);
    assert_eq!(sureness("event-reliability = \"persistent\"", ""), [Sureness::Kept; 2]);
    // Another reader may want to be sure.
    let of_reader = "qos = { connection-reliability = \"best-effort\" }";
    assert_eq!(sureness("", of_reader), [Sureness::Reliable, Sureness::BestEffort]);
    let both =
        with("event-reliability = \"best-effort\"", "qos = { connection-reliability = \"persistent\" }");
    assert!(said(&both).0.contains("a reliable reader takes nothing from such a writer"));
    for service in ["", "service = \"federated\"\n"] {
        let times = "start-time = \"2 us\", stop-time = \"3 us\"";
        let [_, (_, delivery)] = ends(&with(times, &format!("{service}qos = {{ max-queue-length = 9 }}")));
        let delivery = delivery.unwrap();
        assert_eq!((delivery.start, delivery.stop), (2_000, Some(3_000)));
        assert_eq!(delivery.room, Some(("connection.cd".to_owned(), 9)));
    }
}

/// Lanes whose threads serve one port each, or the earliest deadline, and what a channel says of silence.
#[test]
fn lanes_and_silence_become_what_containers_know() {
    let text = FIRST
        .replace(
            "lanes.fast = { threads = 2 }",
            "lanes.fast = { threads = 2, spin = \"1 us\" }\nlanes.mine = { dispatch = \"own\" }\n\
             lanes.next = { dispatch = \"earliest-deadline\", class = \"round-robin\", priority = 4 }\nlane = \"next\"",
        )
        .replace("container = \"k\"", "container = \"k\"\nport.tick.lane = \"mine\"")
        .replace("process = \"p\"\nport.tick", "process = \"p\"\ncontainer = \"k\"\nport.tick")
        .replace("to = [\"b.in\", \"c.in\"]", "to = [\"b.in\"]\nservice = \"channel\"\nsilence = \"2 ms\"\npublisher-silence = \"3 ms\"");
    assert_eq!(said(&text), (String::new(), String::new()));
    let (plan, _) = Plan::read(Source { file: "plan", text: &text }).unwrap();
    let part = Part::of(&plan, "p", &types()).0;
    let [fast, mine, next] = &*part.containers["k"].lanes else { panic!() };
    assert_eq!((fast.spin, fast.dispatch), (1_000, LaneDispatch::Lane));
    assert_eq!((mine.spin, mine.dispatch), (0, LaneDispatch::Own));
    assert_eq!((next.class, next.priority), (SchedulingClass::RoundRobin, Some(4)));
    let Carrier::Timer { worker, .. } = part.components["a"].own[0].carrier else { panic!() };
    assert_eq!(worker, LaneWorker::Own);
    let Carrier::Channel(delivery) = &part.connections["ab"][0].carrier else { panic!() };
    assert_eq!(delivery.worker, LaneWorker::EarliestDeadline);
    assert_eq!((delivery.silence, delivery.publisher_silence), (Some(2_000_000), Some(3_000_000)));
    // What goes to another process is in no channel.
    let far = FIRST.replace(TO_D, &format!("{TO_D}\nsilence = \"2 ms\""));
    let (wrong, _) = said(&far);
    assert!(wrong.contains("only the channel of a process looks for silence"), "{wrong}");
}

#[test]
fn connections_become_ends_of_processes() {
    let (plan, _) = Plan::read(Source { file: "plan", text: FIRST }).unwrap();
    let p = Part::of(&plan, "p", &types()).0;
    let shape = |part: &Part, name: &str| -> Vec<(String, bool, bool, &str)> {
        let halves = part.connections.get(name).cloned().unwrap_or_default();
        let kind = |carrier: &Carrier| match carrier {
            Carrier::Channel(_) => "channel",
            Carrier::Topic { topic, .. } if topic == "both/ab" => "topic both/ab",
            _ => "else",
        };
        halves
            .iter()
            .map(|it| (it.name.clone(), it.from.is_some(), it.to.is_some(), kind(&it.carrier)))
            .collect()
    };
    let local = ("ab 0".to_owned(), true, true, "channel");
    assert_eq!(shape(&p, "ab"), [local, ("ab out".to_owned(), true, false, "topic both/ab")]);
    let q = Part::of(&plan, "q", &types()).0;
    assert_eq!(shape(&q, "ab"), [("ab 1".to_owned(), false, true, "topic both/ab")]);
    assert_eq!(p.containers["k"].lanes[0].threads, 2);
    assert!(p.containers.contains_key("") && !q.containers.contains_key("k"));
}

#[test]
fn instructions_out_of_order_do_no_harm() {
    let mut server = ComponentServer::new(Model::new(types(), 0));
    let plan = FIRST.to_owned();
    let process = "p".to_owned();
    let perform = |epoch, number, orders: &[Order]| Instruction::Perform {
        epoch,
        number,
        phase: Phase::StartLaunch,
        orders: orders.to_vec(),
    };
    let is_failed = |answers: Vec<Answer>| matches!(&answers[..], [Answer::Failed { .. }]);
    assert!(is_failed(server.handle(perform(1, 0, &[]))));
    assert!(is_failed(server.handle(Instruction::Commit { epoch: 1 })));
    let no_plan = Instruction::PreparePlan { epoch: 1, process: process.clone(), plan: "[[[".to_owned() };
    assert!(is_failed(server.handle(no_plan)));
    let prepare = Instruction::PreparePlan { epoch: 1, process, plan };
    let prepared = server.handle(prepare.clone());
    assert!(matches!(&prepared[..], [Answer::Prepared { epoch: 1, .. }]), "{prepared:?}");
    assert_eq!(server.handle(prepare.clone()), prepared);
    let add = perform(1, 0, &[Order::AddContainer("k".to_owned()), Order::Install("a".to_owned())]);
    let done = [Answer::Done { epoch: 1, number: 0, handed: None }];
    assert_eq!(server.handle(add.clone()), done);
    assert_eq!(server.handle(add), done);
    assert!(is_failed(server.handle(perform(1, 3, &[]))));
    // After a failure nothing is done but taking back.
    assert!(is_failed(server.handle(perform(1, 1, &[Order::Install("b".to_owned())]))));
    assert!(is_failed(server.handle(Instruction::Commit { epoch: 1 })));
    assert_eq!(server.handle(Instruction::Abort { epoch: 1 }), [Answer::Aborted { epoch: 1 }]);
    assert!(server.executor().components.is_empty() && server.executor().halves.is_empty());
    assert_eq!(server.handle(Instruction::Abort { epoch: 1 }), [Answer::Aborted { epoch: 1 }]);
    // A change that has ended does not begin again.
    assert_eq!(server.handle(prepare), [Answer::Aborted { epoch: 1 }]);
    assert!(matches!(
        &server.handle(perform(1, 0, &[Order::Remove("zzz".to_owned())]))[..],
        [Answer::Aborted { .. }]
    ));
}
