//! Plans that are launched: real processes, real sockets, DDS in a network namespace for each test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bad;
mod place;
mod tutorial;

use place::Place;

/// Describe, launch, status, apply, stop: what an operator does.
#[test]
fn a_plan_is_launched_changed_and_stopped() {
    testkit::namespace::alone(|| {
        let place = Place::new("whole");
        place.has("tracker.toml", &place.plan());
        let mut supervisor = place.launch("tracker.toml");
        place.shown_more_than(0);
        let status = place.ok("status tracker");
        for part in [
            "deployment tracker (",
            "  process sense: running, pid ",
            "    container flight\n      airframe (Airframe): active; ",
            "    container without a name\n      display (Display): active; ",
        ] {
            assert!(status.contains(part), "{part}\n{status}");
        }
        let pids = place.pids();
        assert_eq!(pids.len(), 2);
        // The filter passes four of five.
        let positions = place.shown();
        assert!(positions.iter().any(|line| line.starts_with("1 0.250")), "{positions:?}");

        // Another setting: the same processes go on, with what they know.
        place.has("next.toml", &place.plan().replace("gain = 0.25", "gain = 1.0"));
        assert_eq!(place.ok("apply {next.toml}"), "applied tracker\n");
        assert_eq!(place.pids(), pids);
        assert!(place.ok("status tracker").contains("next.toml, changed 1 times)"));
        place.until("a position with all of the gain", || {
            let last = place.shown().last().cloned().unwrap_or_default();
            last.ends_with(".000")
        });
        let before = place.shown().len();

        // One that fails while it is activated: the plan before goes on, and says so.
        place.has(
            "fails.toml",
            &place.plan().replace("settings.file", "settings.fails = true\nsettings.file"),
        );
        let (code, _, told) = place.deploy("apply {fails.toml}");
        assert_eq!(code, 1);
        assert!(told.contains("display") && told.contains("it is told to fail"), "{told}");
        // What failed cannot be trusted again: its process is started anew, with the plan before.
        place.until("the process of what failed", || place.deploy("status tracker").0 == 0);
        assert_eq!(place.pid_of("sense"), pids[0]);
        place.shown_more_than(before);
        assert!(place.ok("status tracker").contains("next.toml, changed 1 times)"));

        // A process more, with a component that was elsewhere: what is left where it was goes on.
        let (sense, show) = (place.pid_of("sense"), place.pid_of("show"));
        let moved = place
            .plan()
            .replace("process = \"show\"\n", "process = \"other\"\n")
            .replace("[process.show]", "[process.other]");
        place.has("moved.toml", &moved.replace("gain = 0.25", "gain = 1.0"));
        assert_eq!(place.ok("apply {moved.toml}"), "applied tracker\n");
        assert_eq!(place.pid_of("sense"), sense);
        let before = place.shown().len();
        place.shown_more_than(before);
        place.all_gone(&[show]);

        let last = place.pids();
        assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
        assert!(supervisor.ended().success());
        place.all_gone(&last);
        let (code, _, told) = place.deploy("status tracker");
        assert!(code == 1 && told.contains("it does not run"), "{told}");
    });
}

#[test]
fn a_process_that_is_killed_is_started_again() {
    testkit::namespace::alone(|| {
        let place = Place::new("restart");
        place.has("tracker.toml", &place.plan());
        let mut supervisor = place.launch("tracker.toml");
        place.shown_more_than(0);
        let (sense, show) = (place.pid_of("sense"), place.pid_of("show"));
        place::kill(show);
        place.until("another process", || {
            let status = place.deploy("status tracker").1;
            status.contains("process show: running") && status.contains("started again 1 times")
        });
        assert!(place.ok("status tracker").contains("ended last: killed by signal 9"));
        assert_eq!(place.pid_of("sense"), sense);
        let before = place.shown().len();
        place.shown_more_than(before);
        supervisor.interrupt();
        assert!(supervisor.ended().success());
        place.all_gone(&[sense, show]);
    });
}

#[test]
fn nothing_is_left_when_the_supervisor_is_killed() {
    testkit::namespace::alone(|| {
        let place = Place::new("orphans");
        place.has("tracker.toml", &place.plan());
        let mut supervisor = place.launch("tracker.toml");
        let pids = place.pids();
        supervisor.kill();
        place.all_gone(&pids);
        // What it has left hinders no later launch.
        let mut supervisor = place.launch("tracker.toml");
        let (code, _, told) = place.deploy("launch {tracker.toml}");
        assert!(code == 1 && told.contains("a supervisor that runs"), "{told}");
        let pids = place.pids();
        supervisor.interrupt();
        assert!(supervisor.ended().success());
        place.all_gone(&pids);
    });
}

#[test]
fn a_launch_that_fails_leaves_nothing() {
    testkit::namespace::alone(|| {
        let place = Place::new("fails");
        let fails = place.plan().replace("settings.file", "settings.fails = true\nsettings.file");
        place.has("fails.toml", &fails);
        let (code, out, told) = place.deploy("launch {fails.toml}");
        assert_eq!((code, out.as_str()), (1, ""), "{told}");
        assert!(told.contains("not launched: ") && told.contains("it is told to fail"), "{told}");
        assert_eq!(place.processes(), Vec::<u32>::new());
    });
}

#[test]
fn the_manifest_is_what_the_program_prints() {
    let place = Place::new("describe");
    let printed = place.ok(&format!("describe {}", Place::example("tracker")));
    let kept = include_str!("../../examples/tracker.json");
    if std::env::var_os("PUNCTUAL_WRITE").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/tracker.json"), &printed).unwrap();
    } else {
        assert_eq!(printed, kept, "PUNCTUAL_WRITE=1 writes it anew");
    }
    place.ok(&format!("validate {}", concat!(env!("CARGO_MANIFEST_DIR"), "/examples/tracker.toml")));
}
