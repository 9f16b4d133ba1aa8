//! Joins and logical execution time in plans, whose bounds can be worked out by hand.
use response::Limits;
use schedulability::{Admission, Deployed, State, admit};

use crate::read;

/// A chain from a timer of 100 ms; what it publishes is joined, on another core, with that of a timer of 40 ms.
const JOINED: &str = r#"
[host.n1]
cores = 2
costs = { wake = "0 ns", switch = "0 ns", dispatch = "0 ns", slack = "0 ns", clock-drift = 0, throttling = { runtime = "1 s", period = "1 s" } }

[container.all]
process = "p"
lanes.left = { class = "fifo", priority = 10, cores = [0] }
lanes.low = { class = "fifo", priority = 10, cores = [1] }
lanes.high = { class = "fifo", priority = 20, cores = [1] }

[component.camera]
type = "Slow"
host = "n1"
process = "p"
container = "all"
lane = "left"
port.tick.period = "100 ms"

[component.lidar]
type = "Fast"
host = "n1"
process = "p"
container = "all"
lane = "high"
port.tick.period = "40 ms"

[component.fusion]
type = "Fusion"
host = "n1"
process = "p"
container = "all"
lane = "low"
port.frame.queue = { depth = 4 }
port.frame.join = { kind = "conjunction", parts = ["second", "first"], keep = "last" }

[connection.first]
from = "camera.out"
to = ["fusion.frame"]

[connection.second]
from = "lidar.out"
to = ["fusion.frame"]

[chain.seen]
path = ["camera.tick", "fusion.frame"]
reaction = "57 ms"
age = "57 ms"
"#;

const TYPES: &str = r#"
[component.Slow.port]
tick = { kind = "timer", execution = { worst = "10 ms", steps = ["10 ms to 10 ms", "out"] } }
out = { kind = "publisher", type = "E" }
[component.Fast.port]
tick = { kind = "timer", execution = { worst = "1 ms", steps = ["1 ms to 1 ms", "out"] } }
out = { kind = "publisher", type = "E" }
[component.Fusion.port]
frame = { kind = "consumer", type = "E", execution = { worst = "5 ms" } }
"#;

/// A timer publishes at the end of its interval; another one reads that at its instants.
const LOGICAL: &str = r#"
[host.n1]
cores = 2
costs = { wake = "0 ns", switch = "0 ns", dispatch = "0 ns", slack = "0 ns", clock-drift = 0, throttling = { runtime = "1 s", period = "1 s" } }

[container.all]
process = "p"
lanes.left = { class = "fifo", priority = 10, cores = [0] }
lanes.right = { class = "fifo", priority = 10, cores = [1] }

[component.first]
type = "Slow"
host = "n1"
process = "p"
container = "all"
lane = "left"
port.tick.period = "100 ms"
port.tick.timing = "let"
port.tick.interval = "60 ms"

[component.last]
type = "Reader"
host = "n1"
process = "p"
container = "all"
lane = "right"
port.tick.period = "30 ms"
port.tick.timing = "let"
port.tick.samples = ["left"]

[connection.way]
from = "first.out"
to = ["last.left"]
service = "channel"

[chain.whole]
path = ["first.tick", "last.left", "last.tick"]
reaction = "120 ms"
age = "190 ms"
"#;

const READER: &str = r#"
[component.Reader.port]
tick = { kind = "timer", triggers = [], execution = { worst = "5 ms" } }
left = { kind = "consumer", type = "E", triggers = [], execution = { worst = "3 ms" } }
"#;

fn admitted(plan: &str, types: &str) -> Admission {
    let (plan, types) = read(plan, types);
    admit(&[Deployed { plan: &plan, types: &types, transfers: None }], Limits::default())
}

fn with(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

/// The bounds of the chain in milliseconds, rounded up.
fn bounds(admission: &Admission) -> (Option<u64>, Option<u64>) {
    assert_eq!(admission.obstacles, []);
    let chain = &admission.chains[0];
    let ms = |bound: Option<u64>| bound.map(|bound| bound.div_ceil(1_000_000));
    (ms(chain.reaction.1), ms(chain.age.1))
}

fn why(admission: &Admission) -> String {
    match &admission.chains[0].state {
        State::NoBound { what, .. } => what.clone(),
        other => panic!("{other:?}"),
    }
}

/// 10 of the camera, up to 41 until the other part has come, 5 of the fusion and 1 of the lidar before it.
#[test]
fn a_conjunction_waits_for_its_other_part() {
    let admission = admitted(JOINED, TYPES);
    assert_eq!(bounds(&admission), (Some(57), Some(57)));
    assert!(admission.is_whole());
    let shares = &admission.chains[0].shares;
    assert!(shares.iter().any(|share| share.cause == "until the other parts have come"), "{shares:?}");
    // What is kept first may be older than the next event: that one waits for the next delivery.
    let first = with(JOINED, ", keep = \"last\"", "");
    assert_eq!(bounds(&admitted(&first, TYPES)), (Some(10 + 41 + 100 + 41 + 6), Some(57)));
    let short = with(JOINED, "keep = \"last\"", "keep = \"last\", within = \"110 ms\"");
    let short = admitted(&short, TYPES);
    assert!(why(&short).contains("\"fusion.frame\" may give up what it waits with"), "{short:?}");
    assert_eq!(bounds(&short).1, Some(57));
    let long = with(JOINED, "keep = \"last\"", "keep = \"last\", within = \"111 ms\"");
    assert_eq!(bounds(&admitted(&long, TYPES)), (Some(57), Some(57)));
}

#[test]
fn a_disjunction_has_a_delivery_for_each() {
    let any = with(
        JOINED,
        "\"conjunction\", parts = [\"second\", \"first\"], keep = \"last\"",
        "\"disjunction\", parts = [\"second\", \"first\"]",
    );
    let admission = admitted(&any, TYPES);
    // One of the other part may be before it.
    assert_eq!(bounds(&admission), (Some(10 + 5 + 5 + 1), Some(21)));
    let port = admission.ports.iter().find(|port| port.name == "fusion.frame").unwrap();
    let path = "component.fusion.port.frame".to_owned();
    assert_eq!((port.backlog, &port.depth), (Some(2), &(4, Some(path))));
}

#[test]
fn what_a_conjunction_cannot_wait_for_is_told() {
    let may = with(TYPES, "[\"1 ms to 1 ms\", \"out\"]", "[\"1 ms to 1 ms\", \"out?\"]");
    assert!(why(&admitted(JOINED, &may)).contains("\"fusion.frame\" waits for may never come"));
    let never = with(
        TYPES,
        "execution = { worst = \"1 ms\", steps = [\"1 ms to 1 ms\", \"out\"] }",
        "triggers = [], execution = { worst = \"1 ms\" }",
    );
    assert!(why(&admitted(JOINED, &never)).contains("no handler is known to push to \"second\""));
    let topic = with(JOINED, "from = \"lidar.out\"", "from = \"topic:lidar\"\nseparation = \"40 ms\"");
    let topic = format!("{topic}\n[topic.lidar]\ntype = \"E\"\n");
    let obstacles = admitted(&topic, TYPES).obstacles;
    assert!(obstacles.iter().any(|it| it.what.contains("is not analysed for topics")), "{obstacles:?}");
}

/// Due, published 60 later, read within 30, published 30 later; what is read is written over after 100.
#[test]
fn what_is_published_at_the_end_of_an_interval_is_read_at_an_instant() {
    let types = format!("{TYPES}{READER}");
    let admission = admitted(LOGICAL, &types);
    assert_eq!(bounds(&admission), (Some(60 + 30 + 30), Some(60 + 100 + 30)));
    assert!(admission.is_whole());
    let response = |port: &str| admission.ports.iter().find(|it| it.name == port).unwrap().response;
    assert_eq!((response("first.tick"), response("last.tick")), (Some(60_000_000), Some(30_000_000)));
    // The handlers of both take 8 together.
    for (interval, is_bounded) in [("7999 us", false), ("8 ms", true)] {
        let plan = with(
            LOGICAL,
            "port.tick.samples",
            &format!("port.tick.interval = \"{interval}\"\nport.tick.samples"),
        );
        let admission = admitted(&plan, &types);
        assert_eq!(bounds(&admission).0.is_some(), is_bounded, "{interval}");
        if !is_bounded {
            assert!(
                why(&admission).contains("may not have ended when its outputs are due"),
                "{}",
                why(&admission)
            );
        }
    }
}

#[test]
fn other_threads_in_a_component_that_reads_at_instants_are_told() {
    let types = format!(
        "{TYPES}{}",
        with(
            READER,
            "left",
            "other = { kind = \"consumer\", type = \"E\", triggers = [], execution = { worst = \"1 ms\" } }\nleft"
        )
    );
    let plan = with(LOGICAL, "port.tick.samples", "port.other.lane = \"left\"\nport.tick.samples");
    let plan = format!(
        "{plan}\n[connection.other]\nfrom = \"first.out\"\nto = [\"last.other\"]\nservice = \"channel\"\n"
    );
    assert!(why(&admitted(&plan, &types)).contains("enter its component between what it reads"));
    let parallel = format!("{types}\n")
        .replace("[component.Reader.port]", "[component.Reader]\nparallel = true\n[component.Reader.port]");
    assert!(admitted(&plan, &parallel).is_whole());
}

/// Joins in joins that change nothing have the bounds of what they are the same as; others stand in the way.
#[test]
fn joins_of_joins_have_the_bounds_of_the_same_join_or_none() {
    let conjunction =
        "port.frame.join = { kind = \"conjunction\", parts = [\"second\", \"first\"], keep = \"last\" }";
    let same = with(
        JOINED,
        conjunction,
        "port.frame.join = { kind = \"conjunction\", parts = [\"a\", \"first\"], keep = \"last\" }\n\
         port.frame.group.a = { kind = \"disjunction\", parts = [\"b\"] }\n\
         port.frame.group.b = { kind = \"conjunction\", parts = [\"second\"], keep = \"all\", most = 2 }",
    );
    assert_eq!(bounds(&admitted(&same, TYPES)), (Some(57), Some(57)));
    let any = with(
        JOINED,
        conjunction,
        "port.frame.join = { kind = \"disjunction\", parts = [\"a\", \"b\"] }\n\
         port.frame.group.a = { kind = \"disjunction\", parts = [\"second\"] }\n\
         port.frame.group.b = { kind = \"disjunction\", parts = [\"first\", \"second\"] }",
    );
    assert_eq!(bounds(&admitted(&any, TYPES)), (Some(10 + 5 + 5 + 1), Some(21)));
    let both = "parts = [\"a\", \"first\"]";
    for (parts, group, place, told) in [
        (both, "parts = [\"second\", \"first\"], every = \"9 ms\"", "group.a", "what timeouts in the join"),
        (both, "parts = [\"second\", \"first\"], after = \"9 ms\"", "group.a", "what timeouts in the join"),
        (both, "parts = [\"second\", \"first\"], silence = \"9 s\"", "group.a", "what timeouts in the join"),
        (both, "parts = [\"second\", \"first\"]", "group.a", "has several parts in the group \"a\""),
        (
            "parts = [\"a\", \"second\", \"first\"]",
            "parts = [\"first\"]",
            "join",
            "has several parts for \"first\"",
        ),
    ] {
        let join = format!(
            "port.frame.join = {{ kind = \"conjunction\", {parts} }}\nport.frame.group.a = {{ kind = \"disjunction\", {group} }}"
        );
        let admission = admitted(&with(JOINED, conjunction, &join), TYPES);
        assert!(why(&admission).contains(told), "{group}: {}", why(&admission));
        let obstacle = admission.obstacles.iter().find(|it| it.what.contains(told)).unwrap();
        assert_eq!(obstacle.path, format!("component.fusion.port.frame.{place}"));
        assert!(admission.connections.iter().all(|it| it.latency.1.is_none()), "{group}");
    }
}

/// What others wait for has to come.
#[test]
fn a_conjunction_does_not_wait_for_what_is_filtered() {
    let other = with(JOINED, "from = \"lidar.out\"", "from = \"lidar.out\"\nfilter = \"x > 3\"");
    let told = "\"first\" waits in the join of \"fusion.frame\" for events that may not pass \"second\"";
    assert_eq!(why(&admitted(&other, TYPES)), told);
    let latency = |admission: &Admission, name: &str| {
        admission.connections.iter().find(|it| it.name == name).unwrap().latency.1
    };
    // Those of the filtered part itself have a bound.
    assert_eq!(latency(&admitted(&other, TYPES), "first"), None);
    assert!(latency(&admitted(&other, TYPES), "second").is_some());
    let in_join = with(
        JOINED,
        "parts = [\"second\", \"first\"], keep = \"last\" }",
        "parts = [\"near\", \"first\"], keep = \"last\" }\nport.frame.group.near = { kind = \"disjunction\", parts = [\"second\"], filter = \"x > 3\" }",
    );
    assert_eq!(why(&admitted(&in_join, TYPES)), told);
    // Of its own part the last is delivered, and an event that passes is kept until then. The first one might have to be followed by another.
    let own = with(JOINED, "from = \"camera.out\"", "from = \"camera.out\"\nfilter = \"x > 3\"");
    let admission = admitted(&own, TYPES);
    assert_eq!(bounds(&admission), (Some(57), Some(57)));
    assert_eq!(admission.chains[0].only, ["for events that pass the filter of \"first\" (x > 3)"]);
    let first = with(&own, ", keep = \"last\"", "");
    assert!(why(&admitted(&first, TYPES)).contains("may come too late for a delivery"));
}

/// The same where the filter is further up: the lidar passes on what comes to it.
#[test]
fn a_conjunction_does_not_wait_for_what_is_filtered_on_its_way() {
    let plan = with(JOINED, "from = \"lidar.out\"", "from = \"relay.out\"");
    let plan = format!(
        "{plan}\n[component.relay]\ntype = \"Relay\"\nhost = \"n1\"\nprocess = \"p\"\ncontainer = \"all\"\nlane = \"high\"\n\
         port.in.queue = {{ depth = 2 }}\n[connection.raw]\nfrom = \"lidar.out\"\nto = [\"relay.in\"]\nservice = \"channel\"\n"
    );
    let types = format!(
        "{TYPES}[component.Relay.port]\nin = {{ kind = \"consumer\", type = \"E\", execution = {{ worst = \"1 ms\", steps = [\"out\"] }} }}\n\
         out = {{ kind = \"publisher\", type = \"E\" }}\n"
    );
    assert!(bounds(&admitted(&plan, &types)).0.is_some());
    let filtered = with(&plan, "to = [\"relay.in\"]", "to = [\"relay.in\"]\nfilter = \"x > 3\"");
    assert!(why(&admitted(&filtered, &types)).contains("for events that may not pass \"raw\""));
}

/// What is read at instants gets older while nothing passes.
#[test]
fn the_age_of_what_is_read_has_no_bound_behind_a_filter() {
    let types = format!("{TYPES}{READER}");
    let filtered = with(LOGICAL, "to = [\"last.left\"]", "to = [\"last.left\"]\nfilter = \"x > 3\"");
    assert!(why(&admitted(&filtered, &types)).contains("gets older while events do not pass \"way\""));
    let reaction = with(&filtered, "age = \"190 ms\"\n", "");
    assert_eq!(bounds(&admitted(&reaction, &types)), (Some(60 + 30 + 30), None));
}
