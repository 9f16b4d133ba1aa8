//! What connections require of the services that carry them.
use assembly::{Catalogue, Plan, Value};
use diagnostics::Source;
use testkit::{changed, each_is_told};

use crate::plan;

const PLAN: &str = r#"
[host.h]
[process.p]
host = "h"
[service.bus]
kind = "channel"
placement = "server"
at = "p"
resources = { slots = 10, encrypted = true }

[component.a]
type = "T"
process = "p"

[component.b]
type = "T"
process = "p"

[connection.one]
from = "a.out"
to = ["b.in"]
service = "bus"
requires = { slots = 4, encrypted = true }

[connection.two]
from = "b.out"
to = ["a.in"]
service = "bus"
requires = { slots = 6 }
"#;

fn wrong(text: &str) -> String {
    let source = Source { file: "plan.toml", text };
    let (plan, places) = plan(text);
    let problems = plan.check(source, &places, &Catalogue::default());
    problems.iter().map(|problem| source.show(problem)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_service_has_what_its_connections_require() {
    assert_eq!(wrong(PLAN), "");
    let (read, _) = plan(PLAN);
    assert_eq!(read.services["bus"].resources["slots"], Value::Integer(10));
    assert_eq!(plan(&read.to_toml()).0, read);
    let changes = [
        (
            "slots = 6",
            "slots = 7",
            "11 of slots are required of the service \"bus\", and it has 10\n  29 | requires = { slots = 7 }",
        ),
        ("slots = 6", "slots = 7", "require less, or let another service carry some connections"),
        ("slots = 6", "slot = 6", "the service \"bus\" has no resource \"slot\""),
        ("slots = 6", "slot = 6", "did you mean \"slots\"?"),
        ("slots = 6", "color = 6", "add color to the resources of [service.bus]"),
        ("slots = 6", "slots = -6", "slots of the service \"bus\" is 10"),
        ("4, encrypted = true", "4, encrypted = false", "encrypted of the service \"bus\" is true"),
        (
            "service = \"bus\"\nrequires = { slots = 6 }",
            "requires = { slots = 6 }",
            "a connection requires something of a service, and names no service of the plan",
        ),
        (
            "service = \"bus\"\nrequires = { slots = 6 }",
            "service = \"channel\"\nrequires = { slots = 6 }",
            "add [service.NAME] with its kind and resources",
        ),
    ];
    each_is_told(PLAN, &changes, wrong);
}

/// A service is of its plan: another plan has one of its own, by the same name.
#[test]
fn plans_do_not_share_services() {
    let more = changed(PLAN, "[component.a]", "[host.other]\n[component.a]");
    let ((one, one_places), (two, two_places)) = (plan(PLAN), plan(&more));
    let placed =
        |plan, text, places| assembly::Placed { plan, source: Source { file: "p.toml", text }, places };
    let both = [placed(&one, PLAN, &one_places), placed(&two, &more, &two_places)];
    assert!(Plan::check_together(&both).is_empty());
}

#[test]
fn policies_are_those_of_a_network() {
    let text = format!("policies = [\"policy.toml\"]\n{PLAN}");
    assert!(wrong(&text).contains("no network is named"), "{}", wrong(&text));
    assert_eq!(wrong(&format!("network = \"lab.toml\"\n{text}")), "");
}
