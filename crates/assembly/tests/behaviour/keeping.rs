//! Joins and logical execution time: how plans say them, and what does not make sense.
use assembly::{Catalogue, Join, JoinKind, KeepPolicy, NotFlat, Timing};
use diagnostics::Source;
use testkit::each_is_told;

use crate::{catalogue, plan};

const PLAN: &str = r#"
[host.n1]
[process.p]
host = "n1"
[container.c]
process = "p"
lanes.fast = {}

[component.camera]
type = "Camera"
process = "p"
container = "c"
port.tick.period = "10 ms"

[component.lidar]
type = "Camera"
process = "p"
container = "c"
port.tick.period = "20 ms"

[component.fusion]
type = "Fusion"
process = "p"
container = "c"
port.frame.lane = "fast"
port.frame.queue = { depth = 2 }
port.frame.join = { kind = "conjunction", parts = ["second", "first"], keep = "all", most = 3, within = "15 ms" }
port.tick.period = "5 ms"
port.tick.timing = "let"
port.tick.interval = "4 ms"
port.tick.samples = ["wind"]

[component.arm]
type = "Fusion"
process = "p"
container = "c"
port.tick.period = "5 ms"

[connection.first]
from = "camera.out"
to = ["fusion.frame"]

[connection.second]
from = "lidar.out"
to = ["fusion.frame"]

[connection.wind]
from = "lidar.out"
to = ["fusion.wind"]

[connection.result]
from = "fusion.out"
to = ["arm.frame"]
service = "channel"

[chain.all]
path = ["camera.tick", "fusion.frame", "arm.frame"]
reaction = "1 s"
"#;

const TYPES: &str = r#"
[component.Camera.port]
tick = { kind = "timer" }
out = { kind = "publisher", type = "E" }
[component.Fusion.port]
tick = { kind = "timer" }
frame = { kind = "consumer", type = "E" }
wind = { kind = "consumer", type = "E" }
out = { kind = "publisher", type = "E" }
"#;

fn wrong(text: &str, types: &Catalogue) -> String {
    let source = Source { file: "plan.toml", text };
    let (plan, places) = plan(text);
    plan.check(source, &places, types)
        .iter()
        .map(|problem| source.show(problem))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn joins_and_intervals_are_read_and_written() {
    let (read, _) = plan(PLAN);
    let ports = &read.components["fusion"].ports;
    let join = Join {
        kind: JoinKind::Conjunction,
        parts: vec!["second".to_owned(), "first".to_owned()],
        keep: KeepPolicy::All,
        most: Some(3),
        within: Some(15_000_000_000),
        ..Join::default()
    };
    assert_eq!(ports["frame"].join, Some(join));
    assert_eq!((ports["tick"].timing, ports["tick"].interval), (Timing::Let, Some(4_000_000_000)));
    assert_eq!(plan(&read.to_toml()).0, read);
    let timed = PLAN.replace("within = \"15 ms\"", "every = \"50 ms\", silence = \"1 s\"");
    let (timed, _) = plan(&timed);
    let join = timed.components["fusion"].ports["frame"].join.as_ref().unwrap();
    assert_eq!((join.every, join.silence), (Some(50_000_000_000), Some(1_000_000_000_000)));
    assert_eq!(plan(&timed.to_toml()).0, timed);
    let least = PLAN
        .replace(", keep = \"all\", most = 3, within = \"15 ms\"", "")
        .replace("port.tick.interval = \"4 ms\"\n", "");
    let (least, _) = plan(&least);
    assert_eq!(least.components["fusion"].ports["frame"].join.as_ref().unwrap().keep, KeepPolicy::First);
    assert_eq!(plan(&least.to_toml()).0, least);
    assert_eq!(wrong(PLAN, &catalogue(TYPES)), "");
    // A join has a queue, though both ends are in one container.
    let explained = least.explain(&catalogue(TYPES), Some("first"));
    assert!(
        explained[0].to_string().contains("by channel, because both ends are in one container"),
        "{}",
        explained[0]
    );
}

#[test]
fn joins_name_the_connections_that_lead_to_them() {
    let parts = "parts = [\"second\", \"first\"]";
    let changes = [
        (parts, "parts = [\"second\"]", "a join has two parts or more"),
        (parts, "parts = [\"second\"]", "\"first\" leads to \"fusion.frame\", which is a join without it"),
        (parts, "parts = [\"second\", \"first\", \"second\"]", "\"second\" is a part already"),
        (parts, "parts = [\"second\", \"frist\"]", "there is no connection \"frist\""),
        (parts, "parts = [\"second\", \"first\", \"wind\"]", "\"wind\" does not lead to \"fusion.frame\""),
        ("most = 3, ", "", "it is not said how many events a part keeps"),
        ("keep = \"all\"", "keep = \"last\"", "only all keeps several events"),
        ("most = 3", "most = 200", "a delivery has at most 256 events"),
        ("within = \"15 ms\"", "within = \"15 ps\"", "shorter than a nanosecond"),
        ("within = \"15 ms\"", "every = \"15 ps\"", "shorter than a nanosecond"),
        ("within = \"15 ms\"", "silence = \"15 ps\"", "shorter than a nanosecond"),
        (
            "most = 3, within = \"15 ms\"",
            "most = 100, every = \"15 ms\"",
            "a delivery has at most 256 events",
        ),
        ("\"conjunction\"", "\"disjunction\"", "a disjunction keeps nothing"),
        (
            "port.frame.join",
            "port.tick.join",
            "\"fusion.tick\" is a timer: events of connections do not call it",
        ),
        (
            "to = [\"fusion.frame\"]\n\n[connection.second]",
            "to = [\"fusion.frame\"]\nqueue = { depth = 3 }\n\n[connection.second]",
            "\"fusion.frame\" is a join, and has the queue",
        ),
        (
            "to = [\"fusion.frame\"]\n\n[connection.second]",
            "to = [\"fusion.frame\"]\nqos.order-policy = \"fifo\"\n\n[connection.second]",
            "is a join, and decides about it",
        ),
        (
            "to = [\"fusion.frame\"]\n\n[connection.second]",
            "to = [\"fusion.frame\"]\nservice = \"direct\"\n\n[connection.second]",
            "is a join, which has a queue",
        ),
    ];
    let types = catalogue(TYPES);
    each_is_told(PLAN, &changes, |text| wrong(text, &types));
}

#[test]
fn logical_execution_time_is_of_timers_that_publish_by_queues() {
    let changes = [
        ("port.tick.timing = \"let\"\n", "", "only logical execution time has an interval"),
        ("interval = \"4 ms\"", "interval = \"6 ms\"", "not longer than the period"),
        (
            "port.frame.lane = \"fast\"",
            "port.frame.timing = \"let\"",
            "\"fusion.frame\" is a consumer: only timers have",
        ),
        (
            "service = \"channel\"",
            "service = \"direct\"",
            "has logical execution time, and publishes by \"result\" directly",
        ),
        (
            "samples = [\"wind\"]",
            "samples = [\"wind\"]\nport.frame.samples = [\"wind\"]",
            "\"tick\" has logical execution time, and samples it, too",
        ),
        (
            "samples = [\"wind\"]",
            "samples = [\"wind\"]\nport.wind.queue = { depth = 2 }",
            "\"wind\" is read at the instants of \"fusion.tick\"",
        ),
        (
            "to = [\"fusion.wind\"]",
            "to = [\"fusion.wind\"]\nservice = \"channel\"\nqueue = { depth = 2 }",
            "\"fusion.wind\" is read at the instants of \"fusion.tick\": it has no queue",
        ),
        ("samples = [\"wind\"]", "samples = [\"frame\"]", "it has neither queue, lane nor join"),
    ];
    let types = catalogue(TYPES);
    each_is_told(PLAN, &changes, |text| wrong(text, &types));
}

#[test]
fn large_joins_are_refused_at_once() {
    let many: Vec<String> = (0..8_000).map(|number| format!("\"c{number}\"")).collect();
    let text = PLAN.replace("parts = [\"second\", \"first\"]", &format!("parts = [{}]", many.join(", ")));
    assert!(wrong(&text, &catalogue(TYPES)).contains("a delivery has at most 256 events"));
}

/// The plan with joins in the join, as readable as it gets.
fn grouped() -> String {
    let join = "port.frame.join = { kind = \"conjunction\", parts = [\"second\", \"first\"], keep = \"all\", most = 3, within = \"15 ms\" }";
    assert!(PLAN.contains(join));
    let groups = r#"port.frame.join = { kind = "conjunction", parts = ["near", "rest"], keep = "last" }
port.frame.group.near = { kind = "disjunction", parts = ["first"], filter = "x < %0", parameters = ["5"] }
port.frame.group.rest = { kind = "disjunction", parts = ["second", "both"], silence = "1 s", after = "7 ms" }
port.frame.group.both = { kind = "conjunction", parts = ["first", "second"], every = "50 ms", filter = "x > 7" }"#;
    PLAN.replace(join, groups)
}

#[test]
fn joins_of_joins_are_read_written_and_explained() {
    let types = catalogue(&format!("{TYPES}\n[event.E.fields]\nx = \"integer\"\n"));
    let text = grouped();
    let (read, _) = plan(&text);
    assert_eq!(wrong(&text, &types), "");
    assert_eq!(plan(&read.to_toml()).0, read);
    let port = &read.components["fusion"].ports["frame"];
    assert_eq!(port.groups.len(), 3);
    let tree = port.join_tree().unwrap();
    assert_eq!(tree.connections(), ["first", "second"]);
    assert!(tree.waits());
    let told = "conjunction(disjunction(first; filter x < %0 with 5), disjunction(second, conjunction(first, second; every 50 ms; filter x > 7); after 7 ms; silence 1 s); keep last)";
    assert_eq!(tree.to_string(), told);
    let explained = read.explain(&types, Some("first"))[0].to_string();
    assert!(explained.contains(&format!("; part of {told}")), "{explained}");
    let filters = tree.filters();
    assert_eq!(filters["first"].iter().copied().collect::<Vec<_>>(), ["x < %0", "x > 7"]);
    assert_eq!(filters["second"].iter().copied().collect::<Vec<_>>(), ["x > 7"]);
    assert_eq!(tree.flat(), Err(NotFlat::Timeouts(Some("rest"))));
    // As JSON, they are the same.
    let json = r#"{"component": {"a": {"type": "T", "process": "p", "port": {"i": {"join": {"kind": "disjunction", "parts": ["g", "x"]},
        "group": {"g": {"kind": "disjunction", "parts": ["y", "z"], "filter": "a = 1"}}}}}}}"#;
    let (json, _) = plan(json);
    let tree = json.components["a"].ports["i"].join_tree().unwrap();
    let flat = tree.flat().unwrap();
    assert_eq!((flat.kind, flat.parts), (JoinKind::Disjunction, vec!["y", "z", "x"]));
}

#[test]
fn joins_of_joins_that_make_no_sense_are_told() {
    let types = catalogue(&format!("{TYPES}\n[event.E.fields]\nx = \"integer\"\n"));
    let changes = [
        ("\"near\", \"rest\"", "\"rest\"", "a join has two parts or more"),
        ("\"near\", \"rest\"", "\"rest\", \"second\"", "no join of the port has the part \"near\""),
        ("\"near\", \"rest\"", "\"near\", \"rset\"", "there is no connection \"rset\""),
        ("\"near\", \"rest\"", "\"near\", \"rset\"", "did you mean \"rest\"?"),
        ("\"near\", \"rest\"", "\"near\", \"first\"", "\"rest\" is no part"),
        ("\"near\", \"rest\"", "\"near\", \"near\", \"rest\"", "the group \"near\" is a part already"),
        (
            "[\"first\", \"second\"], every",
            "[\"first\", \"rest\"], every",
            "the group \"rest\" is a part already",
        ),
        ("[\"first\"], filter", "[], filter", "a group has a part or more"),
        ("[\"first\"], filter", "[\"wind\"], filter", "\"wind\" does not lead to \"fusion.frame\""),
        ("x < %0", "y < %0", "fields are x"),
        ("x < %0", "x < < %0", "the filter:"),
        ("x < %0", "x < 'five' AND x > %0", "the filter:"),
        ("filter = \"x < %0\", ", "", "parameters are values of a filter"),
        ("parameters = [\"5\"]", "parameters = [\"5\", \"6\"]", "the filter has 1 parameters"),
        ("after = \"7 ms\"", "after = \"7 ps\"", "shorter than a nanosecond"),
        (
            "\"first\", \"second\"], every",
            "\"first\", \"second\"], keep = \"all\", most = 100, every",
            "at most 256 events",
        ),
        ("port.frame.join", "port.wind.join", "and the port has no join"),
        ("group.near", "group.wind", "\"wind\" is a connection, too"),
    ];
    for (from, to, told) in changes {
        let from_text = grouped();
        assert!(from_text.contains(from), "{from}");
        let text = from_text.replacen(from, to, 1);
        let text = if from == "group.near" { text.replace("\"near\"", "\"wind\"") } else { text };
        let wrong = wrong(&text, &types);
        let told =
            if told == "\"rest\" is no part" { "no join of the port has the part \"rest\"" } else { told };
        assert!(wrong.contains(told), "{from} → {to}:\n{wrong}");
    }
    // The place is inside the filter of the group.
    let text = grouped().replace("\"x < %0\"", "\"x < %0 AND z = 1\"");
    let (read, places) = plan(&text);
    let problems = read.check(Source { file: "plan.toml", text: &text }, &places, &types);
    let (line, column) = problems[0].place.unwrap();
    let line = text.lines().nth(line - 1).unwrap();
    assert!(line[column - 1..].starts_with("z = 1"), "{}", problems[0]);
    // Groups in a circle, and too deep.
    let circle = grouped()
        .replace("[\"second\", \"both\"]", "[\"second\"]")
        .replace("[\"first\", \"second\"], every", "[\"first\", \"more\"], every")
        + "\n[component.fusion.port.frame.group.more]\nkind = \"disjunction\"\nparts = [\"second\", \"both\"]\n";
    assert!(
        wrong(&circle, &types).contains("is a part of itself, by way of other groups"),
        "{}",
        wrong(&circle, &types)
    );
    let mut deep = grouped().replace("[\"second\", \"both\"]", "[\"second\", \"both\", \"d0\"]");
    for level in 0..6 {
        let inner = if level == 5 { "second".to_owned() } else { format!("d{}", level + 1) };
        deep += &format!(
            "\n[component.fusion.port.frame.group.d{level}]\nkind = \"disjunction\"\nparts = [\"{inner}\"]\n"
        );
    }
    assert!(wrong(&deep, &types).contains("more than 6 deep"), "{}", wrong(&deep, &types));
    // A long row of groups, each in the one before, is no trouble.
    let mut row = String::from(&deep);
    for level in 6..2_000 {
        row += &format!(
            "\n[component.fusion.port.frame.group.d{level}]\nkind = \"disjunction\"\nparts = [\"d{}\"]\n",
            level + 1
        );
    }
    assert!(wrong(&row, &types).contains("the joins of a port 256 parts"), "{}", wrong(&row, &types));
}
