//! Joins and logical execution time: how plans say them, and what does not make sense.
use assembly::{Catalogue, Join, JoinKind, KeepPolicy, Timing};
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
        every: None,
        silence: None,
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
