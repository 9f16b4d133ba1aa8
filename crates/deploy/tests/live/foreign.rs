//! Programs that are no component servers, and deployments that others depend on.
use std::os::unix::fs::PermissionsExt;

use crate::place::{Place, kill};

/// Tells when it begins and ends, and goes on until it is told to.
const PROGRAM: &str = "#!/bin/sh\ntrap 'echo \"$1 ends\"; exit 0' TERM\necho \"$1 begins, $LEVEL\"\nwhile :; do sleep 0.1; done\n";

const PLAN: &str = r#"id = "tracker"
[host.here]
[artefact.program]
location = ["program"]
kind = "foreign"
[process.back]
host = "here"
artefact = "program"
arguments = ["back"]
environment = { LEVEL = "7" }
restart = { policy = "always", delay = "10 ms" }
[process.front]
host = "here"
artefact = "program"
arguments = ["front"]
environment = { LEVEL = "8" }
depends-on = ["back"]
"#;

fn place(test: &str) -> Place {
    let place = Place::new(test);
    place.has("program", PROGRAM);
    std::fs::set_permissions(place.path("program"), PermissionsExt::from_mode(0o755)).unwrap();
    place.has("plan.toml", PLAN);
    place
}

#[test]
fn a_foreign_program_is_started_looked_after_and_told_to_end() {
    let place = place("foreign");
    let mut supervisor = place.launch("plan.toml");
    let status = place.ok("status tracker");
    assert!(
        status.contains("process back: running, pid ") && status.contains("process front: running"),
        "{status}"
    );
    kill(place.pid_of("back"));
    supervisor.prints("punctual: process back ended: killed by signal 9");
    supervisor.prints_with("back begins, 7");
    assert_eq!(place.pids().len(), 2, "what depends on it goes on");
    assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
    // What depends on the other one ends first, and both are told by a signal that they can handle.
    supervisor.prints("front ends");
    supervisor.prints("back ends");
    assert!(supervisor.ended().success());
    supervisor.all_gone();

    // Nothing is left when the supervisor is killed, which can tell no process.
    let mut supervisor = place.launch("plan.toml");
    supervisor.kill();
    supervisor.all_gone();
}

/// Cores that the system does not have: the program is not executed, and what does not depend on it goes on.
#[test]
fn a_foreign_program_that_cannot_have_what_the_plan_says_does_not_run() {
    let place = place("foreign-bad");
    let bad = "arguments = [\"front\"]\ncores = [1023]\nrestart = { policy = \"never\" }";
    place.has("plan.toml", &testkit::changed(PLAN, "arguments = [\"front\"]", bad));
    let mut supervisor = place.launch("plan.toml");
    supervisor.prints("punctual: process front ended: exit code 1");
    let (code, status, _) = place.deploy("status tracker");
    assert!(
        code == 1 && status.contains("process front: failed") && status.contains("process back: running"),
        "{status}"
    );
    assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
    assert!(supervisor.ended().success());
}

#[test]
fn a_plan_begins_after_those_that_it_depends_on() {
    let place = place("after");
    place.has("after.toml", &PLAN.replace("id = \"tracker\"", "id = \"after\"\ndepends-on = [\"tracker\"]"));
    let (code, out, told) = place.deploy("launch {after.toml}");
    assert_eq!((code, out.as_str()), (1, ""), "{told}");
    let expected = "the plan depends on the deployment tracker, which cannot be asked: deployment tracker: it does not run";
    assert!(told.contains(expected) && told.contains("launch it first"), "{told}");
    assert_eq!(place.processes(), [0; 0]);
    let mut first = place.launch("plan.toml");
    let mut second = place.launch("after.toml");
    assert_eq!(place.ok("stop after"), "stopped after\n");
    assert!(second.ended().success());
    assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
    assert!(first.ended().success());
}

/// The policy and the real-time priority of a process, fields 41 and 40 of proc(5).
fn scheduling(pid: u32) -> Option<(u32, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(37);
    let priority = fields.next()?.parse().ok()?;
    Some((fields.next()?.parse().ok()?, priority))
}

/// A foreign program is in the class that the plan says, from its first instruction on.
#[test]
fn a_foreign_program_is_in_the_class_of_its_lane() {
    if !crate::lanes::may() {
        return;
    }
    let place = place("foreign-classes");
    // A thread of the class deadline makes no other ones.
    place.has("program", "#!/bin/sh\nexec sleep 100000\n");
    for (lane, expected) in [
        ("class = \"fifo\", priority = 6", (1, 6)),
        ("class = \"round-robin\", priority = 7", (2, 7)),
        ("class = \"deadline\", runtime = \"50 us\", period = \"10 ms\"", (6, 0)),
    ] {
        let container = format!("[container.c]\nprocess = \"back\"\nlanes.all = {{ {lane} }}\n");
        place.has("plan.toml", &format!("{PLAN}{container}"));
        let mut supervisor = place.launch("plan.toml");
        let pid = place.pid_of("back");
        // What executes the program comes into the class first.
        testkit::patience::patiently("the class", || (scheduling(pid) == Some(expected)).then_some(()));
        assert_eq!(scheduling(place.pid_of("front")), Some((0, 0)), "{lane}");
        assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
        assert!(supervisor.ended().success());
    }
    // The host has one core by the plan, and the kernel knows of more: the program is not executed.
    if std::thread::available_parallelism().map_or(1, usize::from) > 1 {
        let lane = "class = \"deadline\", runtime = \"50 us\", period = \"10 ms\", cores = [0]";
        let container = format!("[container.c]\nprocess = \"back\"\nlanes.all = {{ {lane} }}\n");
        let plan = testkit::changed(PLAN, "[host.here]\n", "[host.here]\ncores = 1\n");
        let plan = testkit::changed(&plan, "policy = \"always\", delay = \"10 ms\"", "policy = \"never\"");
        place.has("plan.toml", &format!("{plan}{container}"));
        let mut supervisor = place.begin("launch {plan.toml}");
        supervisor.prints_with("chrt: ");
        supervisor.prints("punctual: process back ended: exit code 1");
        let _ = place.deploy("stop tracker");
        supervisor.all_gone();
    }
}
