//! Latencies of connections are measured while a plan runs, and what exceeds a limit is held against stalls that a probe sees.
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::place::Place;

/// The example plan with probes, and with limits for both of its connections to handlers.
fn plan() -> String {
    let costs = "costs = { wake = \"1 ms\", switch = \"5 us\", dispatch = \"5 us\", slack = \"1 ms\", probe = \"20 us\" }";
    let plan = testkit::changed(&Place::plan(), "cores = 1\n", &format!("cores = 1\n{costs}\n"));
    let plan = testkit::changed(&plan, "[connection.fix]\n", "[connection.fix]\nlatency = \"1 min\"\n");
    testkit::changed(&plan, "[connection.position]\n", "[connection.position]\nlatency = \"300 ms\"\n")
}

/// A connection as the status tells it.
fn connection(place: &Place, name: &str) -> Value {
    let status: Value = serde_json::from_str(&place.deploy("status tracker --json").1).unwrap();
    let all = status["connections"].as_array().unwrap();
    all.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{status}")).clone()
}

#[test]
fn what_a_process_that_stands_still_makes_late_is_told_as_a_stall() {
    testkit::namespace::alone(|| {
        let place = Place::new("stalls");
        place.has("tracker.toml", &plan());
        let mut supervisor = place.launched("launch {tracker.toml} --unproved");
        while supervisor.position().0 < 20 {}
        for (name, to) in [("fix", "airframe.fix"), ("position", "display.position")] {
            let seen = connection(&place, name);
            let measured = &seen["measured"];
            assert_eq!((&seen["to"], &seen["unmeasured"]), (&Value::from(to), &Value::Null), "{seen}");
            let sum: u64 =
                ["transfer", "wait", "run"].iter().map(|part| measured[part].as_u64().unwrap()).sum();
            let (worst, count) = (&measured["latency"]["worst"], measured["completions"].as_u64().unwrap());
            assert!(count >= 15 && sum >= worst.as_u64().unwrap(), "{seen}");
            assert_eq!(measured["latency"]["error"], 0, "one machine has one clock: {seen}");
            let is_on_the_way = measured["transfer"].as_u64().unwrap() > 0;
            assert_eq!(is_on_the_way, name == "position", "{seen}");
        }
        let shown = place.deploy("status tracker").1;
        assert!(shown.contains("  connection position to display.position: not proved\n"), "{shown}");
        assert!(shown.contains("    latency: limit 300 ms, bound none; "), "{shown}");

        // A status waits some seconds for a process that does not answer.
        let show = Pid::from_raw(place.pid_of("show") as i32);
        kill(show, Signal::SIGSTOP).unwrap();
        place.deploy("status tracker");
        kill(show, Signal::SIGCONT).unwrap();
        let is_late = |line: &str| line.contains("connection position to display.position: latency ");
        supervisor
            .prints_line("a latency with a stall", |line| is_late(line) && line.contains("; host stall of "));
        let seen = connection(&place, "position");
        assert!(seen["measured"]["latency"]["exceeded"].as_u64().unwrap() >= 1, "{seen}");
        assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
        assert!(supervisor.ended().success());
    });
}
