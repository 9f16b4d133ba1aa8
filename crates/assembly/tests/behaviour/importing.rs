//! Descriptors in XML become plans; what has no place in one is told.
use assembly::{
    ArtefactKind, Catalogue, Descriptors, End, Imported, JoinKind, KeepPolicy, LocalityKind, Plan,
    ServiceKind, Value, import,
};
use diagnostics::{Problem, Source};

const PLAIN: &str = include_str!("../../descriptors/plain.cdp");
const SIMPLE: [&str; 2] =
    [include_str!("../../descriptors/simple.cdp"), include_str!("../../descriptors/simple.ced")];
pub(crate) const FILTERS: [&str; 2] =
    [include_str!("../../descriptors/filters.cdp"), include_str!("../../descriptors/filters.ced")];
const MCAST: [&str; 2] =
    [include_str!("../../descriptors/mcast.cdp"), include_str!("../../descriptors/mcast.ced")];
pub(crate) const DOMAIN: &str = include_str!("../../descriptors/two-nodes.cdd");

fn imported(plan: &str, events: &[&str], domain: Option<&str>) -> Result<Imported, Vec<Problem>> {
    let events: Vec<Source<'_>> = events.iter().map(|text| Source { file: "x.ced", text }).collect();
    let domain = domain.map(|text| Source { file: "x.cdd", text });
    import(&Descriptors { plan: Source { file: "x.cdp", text: plan }, domain, events: &events })
}

/// What was made, if it is right: it reads as the same from TOML, and makes sense.
fn right(plan: &str, events: &[&str], domain: Option<&str>) -> Imported {
    let imported = imported(plan, events, domain).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let text = imported.plan.to_toml();
    let source = Source { file: "made.toml", text: &text };
    let (read, places) = Plan::read(source).unwrap_or_else(|problems| panic!("{text}\n{problems:#?}"));
    assert_eq!(read, imported.plan, "{text}");
    let problems = read.check(source, &places, &Catalogue::default());
    assert!(problems.is_empty(), "{text}\n{problems:#?}");
    imported
}

fn left_out(imported: &Imported) -> String {
    imported.left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_plan_without_services_is_connected_directly() {
    let made = right(PLAIN, &[], None);
    let plan = &made.plan;
    assert_eq!((plan.name.as_deref(), plan.id.as_deref()), (Some("Plain"), Some("plain-1")));
    let sensor = &plan.components["sensor"];
    assert_eq!(
        (sensor.component_type.as_str(), sensor.process.as_str(), sensor.artefact.as_deref()),
        ("Sensor", "left", Some("sensor"))
    );
    assert_eq!(sensor.settings["rate"], Value::Float(100.0));
    assert_eq!(plan.artefacts["sensor"].location, ["libsensor.so"]);
    assert_eq!(plan.connections["reading"].from, End::port("sensor", "out"));
    // The receptacle uses the facet, whatever comes first.
    assert_eq!(
        (&plan.connections["control"].from, &plan.connections["control"].to[0]),
        (&End::port("view", "control"), &End::port("sensor", "control"))
    );
    let told = left_out(&made);
    assert_eq!(
        told,
        "x.cdp:17:5: the parameter \"component factory\" of an implementation has no place in a plan\n  component types are found by their names, not by functions of a library"
    );
}

#[test]
fn two_connections_with_a_service_are_one() {
    let made = right(SIMPLE[0], &SIMPLE[1..], Some(DOMAIN));
    let plan = &made.plan;
    assert_eq!(plan.connections.len(), 1);
    let connection = &plan.connections["sensor-to-bus"];
    assert_eq!((&connection.to[0], connection.service.as_deref()), (&End::port("view", "in"), Some("bus")));
    assert_eq!(
        (plan.services["bus"].kind, plan.services["bus"].at.as_deref()),
        (ServiceKind::Channel, Some("left"))
    );
    assert_eq!(plan.hosts["left"].resources["memory"], Value::Integer(512));
    assert_eq!(plan.hosts["right"].resources["screen"], Value::Boolean(true));
    assert_eq!(plan.extensions["CIAOEvents"], Value::Text("simple.ced".to_owned()));
    let told = left_out(&made);
    for expected in [
        "x.ced:7:5: <svc_cfg_file>",
        "x.cdd:16:3: <interconnect> is not in a plan",
        "\"CIAOEvents\" is kept as an extension",
    ] {
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn filters_over_sources_say_who_is_connected() {
    let made = right(FILTERS[0], &FILTERS[1..], None);
    let to = |name: &str| made.plan.connections[name].to.iter().map(End::to_string).collect::<Vec<_>>();
    assert_eq!(to("north-to-bus"), ["any.in", "both.in", "all.in"]);
    assert_eq!(to("south-to-bus"), ["both.in", "others.in", "all.in"]);
    // What collects an event of each is a join; CIAO would hand over all of them.
    let join = made.plan.components["both"].ports["in"].join.as_ref().unwrap();
    assert_eq!((join.kind, join.keep), (JoinKind::Conjunction, KeepPolicy::First));
    assert_eq!(join.parts, ["north-to-bus", "south-to-bus"]);
    let told = left_out(&made);
    assert!(told.contains("the filter \"north-and-south\" becomes a join that keeps the first"), "{told}");
    assert_eq!(told.matches("the filter").count(), 1, "{told}");
    // One that waits for what never comes is no join.
    let silent = FILTERS[1].replace("<source>south</source>", "<source>east</source>");
    let made = right(FILTERS[0], &[&silent], None);
    assert!(made.plan.components["both"].ports.is_empty());
    assert!(left_out(&made).contains("it waits for an event of \"east\", which publishes nothing"));
}

#[test]
fn one_program_stands_for_all_libraries() {
    let source = Source { file: "x.cdp", text: PLAIN };
    let made = imported(PLAIN, &[], None).unwrap().with_program(source, "bin/server");
    let (plan, told) = (&made.plan, left_out(&made));
    assert_eq!(plan.artefacts.keys().collect::<Vec<_>>(), ["program"]);
    let program = &plan.artefacts["program"];
    assert_eq!(
        (program.kind, &program.location[..]),
        (ArtefactKind::Executable, &["bin/server".to_owned()][..])
    );
    let left = &plan.processes["left"];
    assert_eq!((left.host.as_deref(), left.artefact.as_deref()), (Some("left"), Some("program")));
    assert!(plan.components.values().all(|component| component.artefact.is_none()));
    for line in [
        "x.cdp:5:3: the library libsensor.so is not loaded\n  bin/server has to have what it holds: Sensor",
        "x.cdp:10:3: the library libview.so is not loaded\n  bin/server has to have what it holds: View",
    ] {
        assert!(told.contains(line), "{told}");
    }
}

#[test]
fn gateways_become_peers_and_constraints_processes() {
    let made = right(MCAST[0], &MCAST[1..], None);
    let plan = &made.plan;
    let left = &plan.services["left-bus"];
    assert_eq!(
        (left.kind, &left.peers[..], left.groups["*"].as_str()),
        (ServiceKind::Federated, &["right-bus".to_owned()][..], "239.255.7.1")
    );
    assert!(plan.services["right-bus"].peers.is_empty());
    assert!(
        !plan.components.contains_key("server") && plan.processes["server"].host.as_deref() == Some("right")
    );
    assert_eq!(
        (plan.components["view"].process.as_str(), plan.components["log"].process.as_str()),
        ("server", "server")
    );
    let near = plan.localities.values().next().unwrap();
    assert_eq!((near.kind, near.members.len()), (LocalityKind::SameProcess, 2));
    // What comes to the peer goes to its consumers.
    let connection = &plan.connections["sensor-to-left"];
    assert_eq!(connection.to, [End::port("log", "in"), End::port("view", "in")]);
    let told = left_out(&made);
    assert!(!told.contains("nothing is published") && told.contains("ports of gateways"), "{told}");
    let alone = MCAST[1].replace("<port>12345</port>", "<port>1</port>").replacen(
        "<port>1</port>",
        "<port>2</port>",
        1,
    );
    let told = left_out(&right(MCAST[0], &[&alone], None));
    assert!(told.contains("nothing is published to \"right-bus\" for \"log.in\""), "{told}");
    assert!(told.contains("no consumer gets what \"sensor.out\" publishes to \"left-bus\""), "{told}");
}

#[test]
fn what_is_unknown_is_told_and_not_lost() {
    let element = |inner: &str| PLAIN.replace("  <label>", &format!("{inner}\n  <label>"));
    for (text, expected) in [
        (element("<newThing/>"), "x.cdp:3:1: <newThing> of a deployment plan has no place in a plan"),
        (PLAIN.replace("<node>left</node>\n    <implementation>view", "<colour/><node>left</node>\n    <implementation>view"), "<colour> of <instance>"),
        (PLAIN.replace("<instance>view</instance>", "<instance>views</instance>"), "an endpoint of no instance"),
        (element("<localityConstraint><constraint>Near</constraint></localityConstraint>"), "no constraint is called \"Near\""),
        (element("<localityConstraint><constraint>SameProcess</constraint><constrainedInstance>x</constrainedInstance></localityConstraint>"), "there is no instance \"x\""),
        (PLAIN.replace("<double>100.0</double>", "<fixed>1</fixed>"), "a property without a name, or of a type that has no value here"),
        (PLAIN.replace("<implementation>view-impl", "<implementation>no-impl"), "the instance \"view\" has no implementation"),
        (PLAIN.replacen("</internalEndpoint>\n  </connection>", "</internalEndpoint>\n<externalEndpoint><portName>p</portName></externalEndpoint></connection>", 1), "a port of the assembly itself"),
        (SIMPLE[0].to_owned(), "\"bus\" is no service of an events descriptor, and becomes a topic"),
    ] {
        let made = imported(&text, &[], None).unwrap();
        let told = left_out(&made);
        assert!(told.contains(expected), "{expected}\n{told}");
    }
    let twice = PLAIN.replace("id=\"view\"", "id=\"sensor\"");
    let problems = imported(&twice, &[], None).unwrap_err();
    assert!(
        problems[0].to_string().contains("two instances are called \"sensor\", the first in line 23"),
        "{problems:?}"
    );
}

#[test]
fn hostile_xml_is_refused_with_its_place() {
    let bomb = "<!DOCTYPE a [<!ENTITY b 'bbbbbbbbbb'><!ENTITY c '&b;&b;&b;&b;'>]>\n<DeploymentPlan>&c;</DeploymentPlan>";
    let deep = "<DeploymentPlan>".repeat(50_000);
    let wide = ["<DeploymentPlan ", &(0..99).map(|n| format!("a{n}='' ")).collect::<String>(), "/>"].concat();
    let many = ["<DeploymentPlan>", &"<a/>".repeat(240_000), "</DeploymentPlan>"].concat();
    let long = ["<DeploymentPlan>", &" ".repeat(2 << 20), "</DeploymentPlan>"].concat();
    for (text, expected) in [
        (bomb, "x.cdp:1:"),
        (&deep, "32 elements in each other"),
        (&wide, "32 attributes"),
        (&many, "x.cdp:1:"),
        (&long, "longer than"),
        ("<plan/>", "the root is <plan>, and not <DeploymentPlan>"),
        ("<DeploymentPlan>", "x.cdp:1:"),
        ("", "x.cdp:1:"),
    ] {
        let problems = imported(text, &[], None).unwrap_err();
        assert!(problems[0].to_string().contains(expected), "{expected}: {}", problems[0]);
        let domain = imported(PLAIN, &[], Some(text)).unwrap_err();
        let events = imported(PLAIN, &[text], None).unwrap_err();
        assert!(domain[0].file == "x.cdd" && events[0].file == "x.ced");
    }
    // Publishers times consumers.
    let half = |n: usize, kind: &str| {
        format!(
            "<connection><internalEndpoint><portName>p</portName><kind>{kind}</kind><instance>i{n}</instance></internalEndpoint><externalReference><location>s</location></externalReference></connection>"
        )
    };
    let instances: String = (0..200).map(|n| format!("<instance id='i{n}'/>")).collect();
    let halves: String =
        (0..100).map(|n| half(n, "EventPublisher") + &half(n + 100, "EventConsumer")).collect();
    let product = format!("<DeploymentPlan>{instances}{halves}</DeploymentPlan>");
    assert!(imported(&product, &[], None).unwrap_err()[0].what.contains("10000 connections"));
}

/// The name of a resource may be longer than a key of a plan: found by mutated descriptors.
#[test]
fn a_resource_with_a_long_name_is_left_out_and_told() {
    let domain = |name: &str| {
        format!(
            "<Deployment:Domain xmlns:Deployment=\"http://www.omg.org/Deployment\"><node><name>n</name><resource><name>{name}</name>\
             </resource></node></Deployment:Domain>"
        )
    };
    let plan = "<Deployment:DeploymentPlan xmlns:Deployment=\"http://www.omg.org/Deployment\"><label>x</label></Deployment:DeploymentPlan>";
    for (length, left_out) in [(128, 0), (129, 1)] {
        let domain = domain(&"r".repeat(length));
        let imported = import(&Descriptors {
            plan: Source { file: "plan", text: plan },
            domain: Some(Source { file: "domain", text: &domain }),
            events: &[],
        });
        let imported = imported.unwrap();
        assert_eq!(imported.left_out.len(), left_out, "{:?}", imported.left_out);
        let written = imported.plan.to_toml();
        let again = Plan::read(Source { file: "again", text: &written });
        assert_eq!(again.map(|(plan, _)| plan), Ok(imported.plan));
    }
}
