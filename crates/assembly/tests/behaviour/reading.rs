//! Plans and manifests are read, and what is wrong with them is told with its place.
use assembly::{Catalogue, End, FullPolicy, Manifest, PortKind, Quality, Said, SchedulingClass, Value};
use diagnostics::Source;

use crate::{TRACKER, TYPES, catalogue, plan, told};

#[test]
fn a_plan_says_what_is_where() {
    let (plan, places) = plan(TRACKER);
    assert_eq!(plan.components["airframe"].settings["gain"], Value::Float(2.0));
    let connection = &plan.connections["position"];
    assert_eq!(connection.to, [End::port("display", "position"), End::Topic("track".to_owned())]);
    assert_eq!((connection.latency, connection.size), (Some(5_000_000_000), Some(64)));
    let queue = plan.connections["fix"].queue.as_ref().unwrap();
    assert_eq!((queue.depth, queue.full), (4, FullPolicy::DropOldest));
    let lane = &plan.containers["flight"].lanes["control"];
    assert_eq!((lane.class, lane.priority, lane.threads), (SchedulingClass::Fifo, Some(80), 1));
    assert_eq!(plan.events["Fix"][&Quality::Timeout], Said::Time(20_000_000_000));
    assert_eq!(plan.chains["sensor-to-screen"].path.len(), 3);
    let at = places.at("connection.position.to.1");
    assert!(TRACKER[at..].starts_with("\"topic:track\""));
    assert!(TRACKER[places.at("component.airframe")..].starts_with("airframe]"));
    // What has no place of its own is where it is in.
    assert_eq!(places.at("component.airframe.port.other.lane"), places.at("component.airframe.port"));
}

#[test]
fn what_is_written_is_read_as_the_same() {
    let (plan, _) = plan(TRACKER);
    let text = plan.to_toml();
    assert_eq!(crate::plan(&text).0, plan, "{text}");
    // JSON is the same file in other brackets.
    let table: Value = Value::Table([("name".to_owned(), Value::Text("a".to_owned()))].into());
    assert_eq!(crate::plan(&table.json()).0.name.as_deref(), Some("a"));
}

#[test]
fn every_mistake_is_told_with_its_line_and_what_to_do() {
    for (text, shown) in [
        (
            "[conection.a]\n",
            "plan.toml:1:2: the file has no key \"conection\"\n  1 | [conection.a]\n    |  ^^^^^^^^^^^\n  did you mean \"connection\"?",
        ),
        (
            "[component.a]\ntype = \"T\"\nprocess = 3\n",
            "plan.toml:3:11: a whole number is not expected here\n  3 | process = 3\n    |           ^\n  write a name in quotes",
        ),
        ("[component.a]\ntype = \"T\"\n", "component.a lacks \"process\""),
        ("[component.\"a b\"]\ntype = \"T\"\nprocess = \"p\"\n", "\"a b\" is no name"),
        ("[connection.a]\nfrom = \"gps\"\nto = []\n", "plan.toml:2:8: \"gps\" is no end of a connection"),
        ("[connection.a]\nfrom = \"a.b\"\nto = [\"c\"]\n", "plan.toml:3:7: \"c\" is no end"),
        ("[chain.a]\npath = [\"a.b.c\"]\n", "\"a.b.c\" is no end"),
        ("[chain.a]\npath = []\nreaction = \"2 hours\"\n", "plan.toml:3:12: \"2 hours\" is no time"),
        ("[connection.a]\nfrom = \"a.b\"\nto = []\nqueue = { depth = 0 }\n", "0 is out of range"),
        (
            "[connection.a]\nfrom = \"a.b\"\nto = []\nqueue = { depth = 1, full = \"drop-odest\" }\n",
            "did you mean \"drop-oldest\"?",
        ),
        ("[event.T]\nqos = { prioritaet = 1 }\n", "event.T.qos has no key"),
        ("[component.a]\ntype = \"T\"\n[component.a]\ntype = \"T\"\n", "plan.toml:3:12: duplicate key"),
        ("<plan/>", "can be imported"),
    ] {
        let told = told(text);
        assert!(told.contains(shown), "{text}\n{told}");
    }
}

#[test]
fn several_mistakes_are_told_at_once() {
    let text = "nam = \"a\"\n[host.n1]\ncores = 0\n[host.n2]\ncore = 2\n[chain.c]\npath = [\"x\"]\n";
    let told = told(text);
    for line in ["plan.toml:1:1:", "plan.toml:3:9:", "plan.toml:5:1:", "plan.toml:7:9:"] {
        assert!(told.contains(line), "{told}");
    }
    let many: String = (0..50).map(|number| format!("x{number} = 1\n")).collect();
    assert!(crate::told(&many).contains("and 18 more problems"));
}

#[test]
fn a_manifest_says_what_types_there_are() {
    let types = catalogue(TYPES);
    let airframe = &types.components["Airframe"];
    assert_eq!(airframe.ports["position"].kind, PortKind::Publisher);
    assert!(airframe.is_swappable && airframe.ports["fix"].is_required);
    assert_eq!(airframe.settings["gain"].range, Some((0.0, 10.0)));
    assert_eq!(airframe.build.as_deref(), Some("7f3a"));
    let timer = &types.components["Gps"].ports["timer"];
    assert_eq!(timer.execution.as_ref().map(|execution| execution.worst), Some(30_000_000));
    assert_eq!(types.events["Fix"].labels["state"]["HELD"], 1);
}

#[test]
fn what_is_wrong_with_a_manifest_has_a_place() {
    for (text, what) in [
        (
            "{\"component\": {\"A\": {\"port\": {\"p\": {\"kind\": \"consumer\"}}}}}",
            "a consumer without a type",
        ),
        (
            "{\"component\": {\"A\": {\"port\": {\"p\": {\"kind\": \"timer\", \"type\": \"T\"}}}}}",
            "a timer with a type",
        ),
        (
            "[component.A.port]\np = { kind = \"timer\", triggers = [\"q\"] }\nqq = { kind = \"facet\", type = \"T\" }",
            "types:2:35: there is no port \"q\"\n  did you mean \"qq\"?",
        ),
        ("[component.A.setting]\ng = { type = \"float\", range = [2, 1] }", "types:2:31: this is no range"),
        ("[component.A.setting]\ng = { type = \"integer\", default = 1.5 }", "types:2:35: 1.5 is no value"),
        (
            "[component.A.setting]\ng = { type = \"text\", values = [\"a\"], default = \"b\" }",
            "types:2:48: \"b\" is none of a",
        ),
        (
            "{\"component\": {\"A\": {\"port\": {\"p\": {\"kind\": \"consumr\"}}}}}",
            "did you mean \"consumer\"?",
        ),
        ("{\"build\": \"a\"}", "the file lacks \"component\""),
        ("{\"component\": {}, \"component\": {}}", "types:1:19: the name \"component\" is there twice"),
    ] {
        let problems = Manifest::read(Source { file: "types", text }).unwrap_err();
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|told| told.contains(what)), "{text}\n{told:?}");
    }
}

#[test]
fn a_type_in_two_manifests_is_the_same_in_both() {
    let of = |text: &str| Manifest::read(Source { file: "t", text }).unwrap();
    let one = of("[component.A.port]\np = { kind = \"facet\", type = \"T\" }");
    let other = of("[component.A.port]\np = { kind = \"facet\", type = \"U\" }");
    assert!(Catalogue::of([("1".to_owned(), one.clone()), ("2".to_owned(), one.clone())]).is_ok());
    let problems = Catalogue::of([("1".to_owned(), one), ("2".to_owned(), other)]).unwrap_err();
    assert!(problems[0].to_string().contains("2: the component type \"A\" is in another manifest"));
}

#[test]
fn the_schema_knows_what_the_reader_knows() {
    let schema: serde_json::Value = serde_json::from_str(&assembly::Plan::schema()).unwrap();
    let qos = "/properties/connection/additionalProperties/properties/qos/properties";
    let known = schema.pointer(qos).unwrap().as_object().unwrap();
    assert!(
        Quality::all().all(|quality| known.contains_key(quality.name()))
            && known.len() == Quality::all().count()
    );
    assert_eq!(schema.pointer("/additionalProperties"), Some(&serde_json::Value::Bool(false)));
    assert!(serde_json::from_str::<serde_json::Value>(&Manifest::schema()).is_ok());
}
