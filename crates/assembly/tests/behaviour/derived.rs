//! What follows from a plan: effective QoS, the part of each host, the differences from another plan, and the picture.
use assembly::{
    Catalogue, Change, End, Kind, Named, NodeKind, PortKind, Quality, Said, Scope, ServiceKind, Step,
    Version, difference, steps,
};

use crate::{TRACKER, TYPES, catalogue, plan};

fn value(explained: &assembly::Explained, quality: Quality) -> &assembly::Holding {
    explained.values.iter().find(|holding| holding.quality == quality).unwrap()
}

#[test]
fn the_innermost_scope_holds_and_the_others_are_told() {
    let (plan, _) = plan(TRACKER);
    let explained = plan.explain(&catalogue(TYPES), Some("fix"));
    assert_eq!(explained.len(), 1);
    let fix = &explained[0];
    assert_eq!(
        (fix.kind, fix.because.as_str(), fix.lane.as_deref()),
        (ServiceKind::Channel, "the connection says so", Some("control"))
    );
    let priority = value(fix, Quality::Priority);
    assert_eq!((priority.scope, &priority.value), (Scope::Event, &Said::Number(7)));
    assert_eq!(priority.overridden, [(Scope::Connection, "connection.fix".to_owned(), Said::Number(5))]);
    let order = value(fix, Quality::OrderPolicy);
    assert_eq!((order.scope, order.path.as_deref()), (Scope::Port, Some("component.airframe.port.fix")));
    assert_eq!(order.overridden.len(), 1);
    // The queue says it, in other words.
    let depth = value(fix, Quality::MaxEventsPerConsumer);
    assert_eq!((depth.scope, &depth.value), (Scope::Connection, &Said::Number(4)));
    assert_eq!(value(fix, Quality::PacingInterval).scope, Scope::Default);
    let shown = fix.to_string();
    assert!(
        shown.starts_with(
            "fix: gps.fix → airframe.fix by channel, because the connection says so; lane control; filter"
        ),
        "{shown}"
    );
    assert!(
        shown.contains("\n  priority = 7 from event (event.Fix), over 5 from connection (connection.fix)"),
        "{shown}"
    );
    // Without types it is not known which events these are.
    let unknown = plan.explain(&Catalogue::default(), Some("fix"));
    assert_eq!(value(&unknown[0], Quality::Priority).scope, Scope::Connection);
}

#[test]
fn what_carries_a_connection_follows_from_where_its_ends_are() {
    let said = |text: &str| {
        let explained = plan(text).0.explain(&catalogue(TYPES), None);
        explained
            .iter()
            .map(|link| (link.connection.clone(), link.kind, link.because.clone()))
            .collect::<Vec<_>>()
    };
    let all = said(TRACKER);
    let kinds: Vec<_> = all.iter().map(|(name, kind, _)| (name.as_str(), *kind)).collect();
    let expected = [
        ("fix", ServiceKind::Channel),
        ("position", ServiceKind::Dds),
        ("position", ServiceKind::Dds),
        ("tuning", ServiceKind::Dds),
    ];
    assert_eq!(kinds, expected);
    assert!(all[1].2.contains("different processes") && all[2].2.contains("topic"));
    let unsaid = TRACKER.replace("service = \"channel\"\n", "");
    assert!(said(&unsaid)[0].2.contains("a queue or another lane"));
    let direct = unsaid.replace("queue = { depth = 4 }\n", "");
    assert_eq!(
        said(&direct)[0],
        ("fix".to_owned(), ServiceKind::Direct, "both ends are in one container".to_owned())
    );
    let laned =
        direct.replace("[component.airframe.port.fix]", "[component.airframe.port.fix]\nlane = \"logging\"");
    assert_eq!(said(&laned)[0].1, ServiceKind::Channel);
    let apart = direct.replacen("container = \"flight\"\nrequires", "requires", 1);
    assert!(said(&apart)[0].2.contains("one process"));
}

#[test]
fn qos_of_a_service_is_the_outermost_scope() {
    let service = "[service.bus]\nkind = \"channel\"\nat = \"sense\"\nqos = { order-policy = \"fifo\", priority = 1 }\n";
    let text = [TRACKER, service].concat().replace("service = \"channel\"", "service = \"bus\"");
    let fix = &plan(&text).0.explain(&catalogue(TYPES), Some("fix"))[0];
    let order = value(fix, Quality::OrderPolicy);
    let overridden: Vec<Scope> = order.overridden.iter().map(|(scope, ..)| *scope).collect();
    assert_eq!((order.scope, overridden), (Scope::Port, vec![Scope::Connection, Scope::Service]));
    assert_eq!(fix.service.as_deref(), Some("bus"));
}

#[test]
fn each_place_is_told_what_it_installs_in_which_order() {
    let (plan, _) = plan(TRACKER);
    let parts = plan.split(&catalogue(TYPES));
    let hosts: Vec<_> = parts.iter().map(|part| part.host.as_deref()).collect();
    assert_eq!(hosts, [Some("n1"), Some("n2")]);
    let sense = &parts[0].processes[0];
    assert_eq!((sense.name.as_str(), sense.artefacts.len(), sense.containers.len()), ("sense", 1, 1));
    assert!(sense.process.locks_memory);
    // What consumes is there before what publishes to it.
    assert_eq!(sense.containers[0].components, ["airframe", "gps"]);
    assert_eq!(sense.containers[0].name.as_deref(), Some("flight"));
    let ends = |endpoints: &[assembly::Endpoint]| {
        endpoints.iter().map(|endpoint| format!("{} {}", endpoint.end, endpoint.kind)).collect::<Vec<_>>()
    };
    assert_eq!(ends(&sense.provides), ["airframe.tuning dds"]);
    assert_eq!(ends(&sense.needs), ["display.position dds", "topic:track dds"]);
    let show = &parts[1].processes[0];
    assert_eq!(show.containers[0].name, None);
    assert_eq!(
        (ends(&show.provides), ends(&show.needs)),
        (vec!["display.position dds".to_owned()], vec!["airframe.tuning dds".to_owned()])
    );
    // airframe publishes to display, and display calls airframe: a cycle, which is entered at the first name.
    assert_eq!(plan.order(&catalogue(TYPES)), ["airframe", "display", "gps"]);
}

#[test]
fn services_are_installed_where_they_are() {
    let services = "[service.bus]\nkind = \"channel\"\nat = \"sense\"\n[service.own]\nkind = \"channel\"\nplacement = \"container\"\nat = \"flight\"\n";
    let parts = plan(&[TRACKER, services].concat()).0.split(&catalogue(TYPES));
    let sense = &parts[0].processes[0];
    assert_eq!(
        (sense.services.clone(), sense.containers[0].services.clone()),
        (vec!["bus".to_owned()], vec!["own".to_owned()])
    );
}

/// The differences and steps from one text to another.
fn between(old: (&str, &str), new: (&str, &str)) -> (Vec<(Kind, String, Change)>, Vec<String>) {
    let ((was, _), (is, _)) = (plan(old.0), plan(new.0));
    let (was_types, is_types) = (catalogue(old.1), catalogue(new.1));
    let old = Version::new(&was, &was_types);
    let new = Version::new(&is, &is_types);
    let differences = difference(old, new).into_iter().map(|it| (it.kind, it.name, it.change)).collect();
    (differences, steps(old, new).iter().map(Step::to_string).collect())
}

#[test]
fn a_setting_disturbs_only_its_component() {
    let (differences, steps) =
        between((TRACKER, TYPES), (&TRACKER.replace("gain = 2.0", "gain = 3.0"), TYPES));
    assert!(
        matches!(&differences[..], [(Kind::Component, name, Change::Settings(settings))] if name == "airframe" && settings.len() == 1)
    );
    assert_eq!(steps, ["passivate airframe", "set airframe.gain = 3.0", "activate airframe"]);
    let (_, steps) = between((TRACKER, TYPES), (&TRACKER.replace("settings.gain = 2.0", ""), TYPES));
    assert_eq!(steps[1], "set airframe.gain to its default");
    assert!(between((TRACKER, TYPES), (TRACKER, TYPES)) == (vec![], vec![]));
}

#[test]
fn what_is_said_of_events_and_topics_makes_connections_anew() {
    let topic = "[topic.out]\ntype = \"Position\"\n[connection.out]\nfrom = \"airframe.position\"\nto = [\"topic:out\"]\n";
    let text = [TRACKER, topic].concat();
    let other = text.replace("[topic.out]", "[topic.out]\ntopic = \"Elsewhere\"");
    assert_eq!(between((&text, TYPES), (&other, TYPES)).1, ["disconnect out", "connect out"]);
    let event = "[event.Position]\nqos = { priority = 9 }\n";
    let (_, steps) = between((&text, TYPES), (&[&text, event].concat(), TYPES));
    assert_eq!(steps, ["disconnect out", "disconnect position", "connect out", "connect position"]);
}

#[test]
fn a_process_is_handed_over_to_a_new_build_if_it_can_be() {
    let other = TYPES.replace("7f3a", "8000");
    // Of its components one cannot go on with a state: so all of them are taken out, and their connections are made anew.
    let (differences, steps) = between((TRACKER, TYPES), (TRACKER, &other));
    let airframe = differences.iter().find(|(_, name, _)| name == "airframe").unwrap();
    assert_eq!(airframe.2, Change::Replaced(true));
    let gps = differences.iter().find(|(_, name, _)| name == "gps").unwrap();
    assert_eq!(gps.2, Change::Replaced(false));
    let at =
        |step: &str| steps.iter().position(|it| it == step).unwrap_or_else(|| panic!("{step}: {steps:?}"));
    let order = [
        "passivate gps",
        "disconnect fix",
        "remove gps",
        "stop process sense",
        "start process sense",
        "install gps",
        "connect fix",
        "gps is configured",
        "activate gps",
    ];
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{steps:?}");
    // If all can, nothing else is disturbed, settings among them.
    let can = |types: &str| types.replace("\"port\": {", "\"swappable\": true, \"port\": {");
    let can_types = can(&TYPES.replace("\"swappable\": true,", ""));
    let newer = can_types.replace("7f3a", "8000");
    let hands = ["sense", "show"].map(|it| format!("hand process {it} over to its new build"));
    let text = TRACKER.replace("gain = 2.0", "gain = 3.0");
    assert_eq!(between((TRACKER, &can_types), (&text, &newer)).1, hands);
    // The same build with another content is another program.
    let ((was, _), types) = (plan(TRACKER), catalogue(&can_types));
    let programs = ["one", "two"].map(|content| Named::from([("sense".to_owned(), content.to_owned())]));
    let version = |programs| Version { programs, ..Version::new(&was, &types) };
    let all = |old, new| {
        assembly::steps(version(old), version(new)).iter().map(Step::to_string).collect::<Vec<_>>()
    };
    assert_eq!(all(Some(&programs[0]), Some(&programs[1])), hands[..1]);
    assert_eq!(all(Some(&programs[0]), Some(&programs[0])), [""; 0]);
    assert_eq!(all(None, Some(&programs[0])), [""; 0]);
    // Another connection or other arguments are more than another build.
    for (what, instead) in [
        ("parameters = [\"3\"]", "parameters = [\"4\"]"),
        ("[process.show]", "[process.show]\narguments = [\"x\"]"),
    ] {
        let text = TRACKER.replace(what, instead);
        assert_ne!(text, TRACKER);
        let (_, steps) = between((TRACKER, &can_types), (&text, &newer));
        // Since their connections are made anew, neither goes on, not even the one that is as it was.
        assert!(!steps.iter().any(|step| hands.contains(step)), "{what}: {steps:?}");
    }
    // What goes by gateways cannot be held back.
    let federated =
        TRACKER.replace("[connection.position]", "[connection.position]\nservice = \"federated\"");
    let (_, steps) = between((&federated, &can_types), (&federated, &newer));
    assert!(!steps.iter().any(|step| hands.contains(step)), "{steps:?}");
}

#[test]
fn what_is_elsewhere_goes_with_its_process() {
    let moved = TRACKER.replace("[process.show]\nhost = \"n2\"", "[process.show]\nhost = \"n1\"");
    let (differences, steps) = between((TRACKER, TYPES), (&moved, TYPES));
    assert!(differences.contains(&(Kind::Component, "display".to_owned(), Change::Moved)));
    assert!(differences.contains(&(Kind::Process, "show".to_owned(), Change::Changed)));
    assert!(steps.iter().all(|step| !step.contains("gps")), "{steps:?}");
    let at =
        |step: &str| steps.iter().position(|it| it == step).unwrap_or_else(|| panic!("{step}: {steps:?}"));
    assert!(
        at("remove display") < at("stop process show") && at("start process show") < at("install display")
    );
    assert!(
        at("disconnect position") < at("remove display") && at("install display") < at("connect position")
    );
}

#[test]
fn all_of_a_plan_is_started_and_stopped() {
    let empty = "[component]\n";
    let (_, start) = between((empty, TYPES), (TRACKER, TYPES));
    assert_eq!(start[..2], ["start process sense", "start process show"]);
    assert_eq!(start.iter().filter(|step| step.starts_with("activate")).count(), 3);
    let standby = TRACKER.replace("start-mode = \"flight\"", "start-mode = \"standby\"");
    let (_, start) = between((empty, TYPES), (&standby, TYPES));
    let active: Vec<_> = start.iter().filter(|step| step.starts_with("activate")).collect();
    assert_eq!(active, ["activate display"]);
    let (_, stop) = between((TRACKER, TYPES), (empty, TYPES));
    assert_eq!(stop[..2], ["passivate gps", "passivate display"]);
    assert_eq!(stop.last().unwrap(), "stop process show");
}

#[test]
fn a_graph_has_what_pictures_want() {
    let services = "[service.bus]\nkind = \"federated\"\nat = \"sense\"\npeers = [\"far\"]\n[service.far]\nkind = \"federated\"\nat = \"show\"\n";
    let text = [TRACKER, services].concat().replace("service = \"channel\"", "service = \"bus\"");
    let graph = plan(&text).0.graph(&catalogue(TYPES));
    let names: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["airframe", "display", "gps", "bus", "far", "track"]);
    let airframe = &graph.nodes[0];
    let within = [&airframe.host, &airframe.process, &airframe.container].map(|it| it.as_deref().unwrap());
    assert_eq!(within, ["n1", "sense", "flight"]);
    assert_eq!(airframe.ports["tuning"], Some(PortKind::Facet));
    // That port is named by a chain alone.
    assert_eq!(graph.nodes[2].ports["timer"], Some(PortKind::Timer));
    assert_eq!(graph.nodes[3].kind, NodeKind::Service(ServiceKind::Federated));
    // gps through the service to airframe; airframe to display and the topic; display to airframe; bus to far.
    let pairs: Vec<_> = graph.edges.iter().map(|edge| (edge.from.0, edge.to.0)).collect();
    assert_eq!(pairs, [(2, 3), (3, 0), (0, 1), (0, 5), (1, 0), (3, 4)]);
    let position = &graph.edges[2];
    assert_eq!(
        (position.limit, position.is_call, position.data_type.as_deref()),
        (Some(5_000_000_000), false, Some("Position"))
    );
    assert!(graph.edges[4].is_call);
    assert_eq!(End::port("a", "b").to_string(), "a.b");
}
