//! Connections that a plan suspends.
use assembly::{Catalogue, Step, Version, difference, steps};
use diagnostics::Source;
use testkit::{changed, each_is_told};

use crate::{catalogue, plan};

const PLAN: &str = r#"
[host.h]

[process.p]
host = "h"

[artefact.other]
location = ["other"]
kind = "foreign"

[process.far]
host = "h"
artefact = "other"

[component.gps]
type = "Gps"
process = "p"

[component.airframe]
type = "Airframe"
process = "p"
container = "c"
port.all.join = { kind = "conjunction", parts = ["first", "second"] }

[component.beacon]
type = "Beacon"
process = "far"

[container.c]
process = "p"

[connection.fix]
from = "gps.fix"
to = ["airframe.fix"]
suspended = true

[connection.first]
from = "gps.fix"
to = ["airframe.all"]

[connection.second]
from = "gps.other"
to = ["airframe.all"]

[connection.call]
from = "airframe.tuning"
to = ["siren.tuned"]

[connection.alarm]
from = "airframe.alarm"
to = ["siren.alarmed"]

[component.siren]
type = "Siren"
process = "p"

[topic.beacons]
type = "Fix"

[connection.beacon]
from = "beacon.fix"
to = ["topic:beacons"]

[chain.short]
path = ["gps.timer", "airframe.all"]
reaction = "1 s"
"#;

const TYPES: &str = r#"
[component.Gps.port]
timer = { kind = "timer" }
fix = { kind = "publisher", type = "Fix" }
other = { kind = "publisher", type = "Fix" }
alarmed = { kind = "consumer", type = "Fix" }
[component.Airframe.port]
fix = { kind = "consumer", type = "Fix" }
all = { kind = "consumer", type = "Fix" }
tuning = { kind = "receptacle", type = "Tuning" }
alarm = { kind = "emitter", type = "Fix" }
[component.Siren.port]
tuned = { kind = "facet", type = "Tuning" }
alarmed = { kind = "consumer", type = "Fix" }
[component.Beacon.port]
fix = { kind = "publisher", type = "Fix" }
"#;

fn wrong(text: &str) -> String {
    let source = Source { file: "plan.toml", text };
    let (plan, places) = plan(text);
    let problems = plan.check(source, &places, &catalogue(TYPES));
    problems.iter().map(|problem| source.show(problem)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_connection_is_suspended_if_nothing_waits_for_it() {
    assert_eq!(wrong(PLAN), "");
    let (read, _) = plan(PLAN);
    assert_eq!(read.suspended().collect::<Vec<_>>(), ["fix"]);
    assert_eq!(plan(&read.to_toml()).0, read);
    let explained = read.explain(&Catalogue::default(), Some("fix"));
    assert!(explained[0].to_string().contains("; suspended"), "{}", explained[0]);
    let first = "to = [\"airframe.all\"]\n\n[connection.second]";
    let first_suspended = "to = [\"airframe.all\"]\nsuspended = true\n\n[connection.second]";
    let changes = [
        (
            "\"airframe.all\"]\nreaction",
            "\"airframe.fix\"]\nreaction",
            "the chain \"short\" has limits that count with its events\n  35 | suspended = true",
        ),
        (
            "\"airframe.all\"]\nreaction",
            "\"airframe.fix\"]\nreaction",
            "take the chain out, or end it before the connection",
        ),
        // The other part of the join is what the chain passes; it waits for both.
        (first, first_suspended, "the chain \"short\" has limits that count with its events"),
        // What the airframe takes leads back to its join, by a component that may publish only then.
        (
            "to = [\"siren.alarmed\"]",
            "to = [\"gps.alarmed\"]",
            "\"airframe.all\" waits for what comes of its events, and limits of chains or latencies count with that",
        ),
        (
            "to = [\"siren.tuned\"]",
            "to = [\"siren.tuned\"]\nsuspended = true",
            "a connection of calls cannot be suspended: its caller has to be answered",
        ),
        (
            "to = [\"siren.alarmed\"]",
            "to = [\"siren.alarmed\"]\nsuspended = true",
            "the connection of an emitter cannot be suspended",
        ),
        (
            "to = [\"topic:beacons\"]",
            "to = [\"topic:beacons\"]\nsuspended = true",
            "a foreign program publishes and takes as it does",
        ),
    ];
    each_is_told(PLAN, &changes, wrong);
    // Without a chain that waits for them, parts of joins may be suspended.
    let alone = changed(PLAN, first, first_suspended);
    assert_eq!(wrong(alone.split("[chain.short]").next().unwrap()), "");
}

/// To suspend is to take the connection apart, to resume to make it; nothing else is touched.
#[test]
fn suspending_touches_the_connection_alone() {
    let types = catalogue(TYPES);
    let (held, resumed) = (plan(PLAN).0, plan(&changed(PLAN, "suspended = true\n", "")).0);
    let [old, new] = [&held, &resumed].map(|plan| Version::new(plan, &types));
    assert_eq!(steps(old, new), [Step::Connect("fix".to_owned())]);
    assert_eq!(steps(new, old), [Step::Disconnect("fix".to_owned())]);
    assert_eq!(difference(old, new).len(), 1);
    // What is made anew around it does not make it.
    let other = plan(&changed(
        PLAN,
        "[container.c]\nprocess = \"p\"",
        "[container.c]\nprocess = \"p\"\nlanes.x = {}",
    ))
    .0;
    let steps = steps(old, Version::new(&other, &types));
    assert!(steps.contains(&Step::Install("airframe".to_owned())), "{steps:?}");
    let is_of_fix =
        |step: &Step| matches!(step, Step::Connect(name) | Step::Disconnect(name) if name == "fix");
    assert!(!steps.iter().any(is_of_fix), "{steps:?}");
}
