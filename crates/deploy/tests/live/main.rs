//! Plans that are launched: real processes, real sockets, DDS in a network namespace for each test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod adoption;
mod avionics;
mod bad;
mod descriptors;
mod epochs;
mod exported;
mod federated;
mod foreign;
mod hand_over;
mod hosts;
mod lanes;
mod measured;
mod modes;
mod page;
mod place;
mod plant;
mod recorded;
mod signed;
mod stalls;
mod suspended;
mod together;
mod tutorial;
#[path = "../behaviour/units.rs"]
mod units;

use place::Place;

/// Where the airframe is after this many fixes, if its gain was always the same. The filter passes four fixes of five.
fn expected(count: usize, gain: f64) -> String {
    let passed = (1..).filter(|fix| fix % 5 != 0).take(count);
    format!("{:.3}", passed.fold(0.0, |last, fix| last + gain * (f64::from(fix) - last)))
}

/// Describe, launch, status, apply, stop: what an operator does.
#[test]
fn a_plan_is_launched_changed_and_stopped() {
    testkit::namespace::alone(|| {
        let place = Place::new("whole");
        place.has("tracker.toml", &Place::plan());
        let mut supervisor = place.launch("tracker.toml");
        // Which position is the first one that comes depends on when the display and the airframe have found each other.
        let (count, position) = supervisor.position();
        assert_eq!(position, expected(count, 0.25), "position {count}");
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

        // Another setting: the same processes go on, with what they know.
        place.has("next.toml", &Place::plan().replace("gain = 0.25", "gain = 1.0"));
        assert_eq!(place.ok("apply {next.toml}"), "applied tracker\n");
        assert_eq!(place.pids(), pids);
        assert!(place.ok("status tracker").contains("next.toml, changed 1 times)"));
        // With all of the gain the airframe is where the last fix is, which is a whole number.
        while !supervisor.position().1.ends_with(".000") {}

        // One that fails while it is activated: the plan before goes on, and says so.
        place.has(
            "fails.toml",
            &Place::plan().replace("settings.file", "settings.fails = true\nsettings.file"),
        );
        let (code, _, told) = place.deploy("apply {fails.toml}");
        assert_eq!(code, 1);
        assert!(told.contains("display") && told.contains("it is told to fail"), "{told}");
        // What failed cannot be trusted again: its process is started anew, with the plan before.
        supervisor.prints("punctual: process show runs again");
        assert_eq!(place.pid_of("sense"), pids[0]);
        supervisor.position();
        assert!(place.ok("status tracker").contains("next.toml, changed 1 times)"));

        // A process more, with a component that was elsewhere: what is left where it was goes on.
        let (sense, show) = (place.pid_of("sense"), place.pid_of("show"));
        let moved = Place::plan()
            .replace("process = \"show\"\n", "process = \"other\"\n")
            .replace("[process.show]", "[process.other]");
        place.has("moved.toml", &moved.replace("gain = 0.25", "gain = 1.0"));
        assert_eq!(place.ok("apply {moved.toml}"), "applied tracker\n");
        assert_eq!(place.pid_of("sense"), sense);
        assert!(!place.processes().contains(&show), "a process that the plan has no more has ended");
        // The display before has printed some positions that are not read yet; these are from before the change.
        let before = place.taken("airframe");
        while supervisor.position().0 <= before {}

        assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
        assert!(supervisor.ended().success());
        supervisor.all_gone();
        assert_eq!(place.processes(), [0; 0]);
        let (code, _, told) = place.deploy("status tracker");
        assert!(code == 1 && told.contains("it does not run"), "{told}");
    });
}

#[test]
fn a_process_that_is_killed_is_started_again() {
    testkit::namespace::alone(|| {
        let place = Place::new("restart");
        place.has("tracker.toml", &Place::plan());
        let mut supervisor = place.launch("tracker.toml");
        supervisor.position();
        let (sense, show) = (place.pid_of("sense"), place.pid_of("show"));
        place::kill(show);
        supervisor.prints("punctual: process show ended: killed by signal 9");
        supervisor.prints("punctual: process show runs again");
        let status = place.ok("status tracker");
        for part in ["process show: running", "started again 1 times", "ended last: killed by signal 9"] {
            assert!(status.contains(part), "{part}\n{status}");
        }
        assert_eq!(place.pid_of("sense"), sense);
        supervisor.position();
        supervisor.interrupt();
        assert!(supervisor.ended().success());
        supervisor.all_gone();
        assert_eq!(place.processes(), [0; 0]);
    });
}

#[test]
fn nothing_is_left_when_the_supervisor_is_killed() {
    testkit::namespace::alone(|| {
        let place = Place::new("orphans");
        place.has("tracker.toml", &Place::plan());
        let mut supervisor = place.launch("tracker.toml");
        supervisor.kill();
        supervisor.all_gone();
        assert_eq!(place.processes(), [0; 0]);
        // What it has left hinders no later launch.
        let mut supervisor = place.launch("tracker.toml");
        let (code, _, told) = place.deploy("launch {tracker.toml}");
        assert!(code == 1 && told.contains("a supervisor that runs"), "{told}");
        supervisor.interrupt();
        assert!(supervisor.ended().success());
        supervisor.all_gone();
        assert_eq!(place.processes(), [0; 0]);
    });
}

#[test]
fn a_launch_that_fails_leaves_nothing() {
    testkit::namespace::alone(|| {
        let place = Place::new("fails");
        let fails = Place::plan().replace("settings.file", "settings.fails = true\nsettings.file");
        place.has("fails.toml", &fails);
        let (code, out, told) = place.deploy("launch {fails.toml}");
        assert_eq!((code, out.as_str()), (1, ""), "{told}");
        assert!(told.contains("not launched: ") && told.contains("it is told to fail"), "{told}");
        assert_eq!(place.processes(), Vec::<u32>::new());
    });
}

/// A chain over two processes is measured where it ends, a limit that nothing can keep is told of, and another limit holds from its apply on.
#[test]
fn chains_are_measured_while_they_run() {
    testkit::namespace::alone(|| {
        let place = Place::new("chains");
        let chained = |tight: &str| {
            let path = "path = [\"gps.tick\", \"airframe.fix\", \"display.position\"]";
            let chains = format!(
                "\n[chain.wide]\n{path}\nreaction = \"10 min\"\nage = \"10 min\"\n[chain.tight]\n{path}\nreaction = \"{tight}\"\n"
            );
            Place::plan() + &chains
        };
        place.has("chained.toml", &chained("1 ns"));
        let (code, _, told) = place.deploy("launch {chained.toml}");
        assert!(code == 1 && told.contains("wide"), "{told}");
        let mut supervisor = place.launched("launch --unproved {chained.toml}");
        supervisor.prints_with("process show: chain tight: reaction ");
        // It says where: the time before is on the way to the display at least.
        assert!(supervisor.last_lines().last().unwrap().contains(" on the way to display.position"));
        let measured = |wide: &str, what: &str| {
            let found =
                place.ok("status tracker").lines().skip_while(|line| *line != wide).find_map(|line| {
                    (line.contains(what) && line.contains(" measured: median ")).then(|| line.to_owned())
                });
            found.filter(|line| !line.contains("; 1 measured"))
        };
        let line =
            testkit::patience::patiently("a score", || measured("  chain wide: not proved", "reaction"));
        assert!(line.contains("limit 600 s, bound none; ") && line.ends_with(", 0 exceeded"), "{line}");
        let line = testkit::patience::patiently("a score", || measured("  chain wide: not proved", "age"));
        assert!(line.ends_with(", 0 exceeded"), "{line}");
        let line =
            testkit::patience::patiently("a score", || measured("  chain tight: not proved", "reaction"));
        assert!(!line.ends_with(", 0 exceeded"), "{line}");
        let json = place.ok("status tracker --json");
        assert!(
            json.contains("\"chains\":[{\"name\":\"tight\",\"proof\":\"none\",\"reaction\":1,"),
            "{json}"
        );

        // A chain that is the same goes on with its score.
        let count = || {
            let line = measured("  chain wide: not proved", "reaction")?;
            line.split("; ").nth(1)?.split(' ').next()?.parse::<u64>().ok()
        };
        let before = count().unwrap();
        place.has("next.toml", &chained("20 min"));
        assert_eq!(place.ok("apply {next.toml}"), "applied tracker\n");
        testkit::patience::patiently("more of the other chain", || {
            count().filter(|count| *count > before + 5)
        });
        let changed = |line: &String| line.contains("limit 1200 s") && line.ends_with(", 0 exceeded");
        testkit::patience::patiently("the new limit", || {
            measured("  chain tight: not proved", "reaction").filter(changed)
        });
        supervisor.position();
        assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
        assert!(supervisor.ended().success());
        supervisor.all_gone();
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
