//! A process that is handed over to another build while events pass it: each event comes once, in order, and the state goes on.
use crate::place::{Place, Supervisor, kill};

const PLAN: &str = include_str!("../../examples/hand_over.toml");

/// The plan with the relay's program at this path, and this period.
fn plan(relay: &str, period: &str) -> String {
    let plan = PLAN.replace("../../../target/debug/examples/hand_over", &Place::example("hand_over"));
    let (ends, relays) = plan.split_once("[artefact.relay]").unwrap();
    let (_, rest) = relays.split_once("]\n").unwrap();
    format!("{ends}[artefact.relay]\nlocation = [\"{relay}\"]\n{rest}").replace("1 ms", period)
}

/// A folder with the program twice, so that one is another build than the other.
fn place(test: &str) -> (Place, [String; 2]) {
    let place = Place::new(test);
    let program = Place::example("hand_over");
    let twice = ["one", "two"].map(|name| {
        let path = place.path(name);
        std::fs::copy(&program, &path).unwrap();
        path.to_str().unwrap().to_owned()
    });
    place.has("hand_over.json", &place.ok(&format!("describe {program}")));
    (place, twice)
}

fn pid(place: &Place, process: &str) -> u32 {
    let status = place.ok("status relay");
    let line = status.lines().find(|line| line.contains(&format!("process {process}: "))).unwrap();
    line.split(", pid ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
}

/// What the sink has seen of a generation: microseconds from the last event before it, and whether nothing went wrong.
fn generation(supervisor: &mut Supervisor, number: usize) -> (u64, String) {
    let wanted = format!("generation {number}: ");
    let line = supervisor.prints_line(&wanted, |line| line.contains(&wanted));
    let after = line.split(": ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    (after, line)
}

#[test]
fn no_event_is_missed_when_a_process_is_handed_over() {
    testkit::namespace::alone(|| {
        let (place, programs) = place("handed");
        // With PUNCTUAL_TIER=long the figure of docs/measurements/components.md.
        let times = tiers::current().number("execution.hand_overs") as usize;
        let (period, micros) = ("100 us", 100);
        place.has("relay.toml", &plan(&programs[0], period));
        let mut supervisor = place.launched_with("launch {relay.toml}", 3);
        let (source, sink) = (pid(&place, "source"), pid(&place, "sink"));
        let mut gaps = Vec::new();
        for number in 1..=times {
            let relay = pid(&place, "relay");
            place.has("relay.toml", &plan(&programs[number % 2], period));
            assert_eq!(place.ok("apply {relay.toml}"), "applied relay\n");
            let (gap, line) = generation(&mut supervisor, number);
            assert!(
                line.ends_with("; lost 0, doubled 0, reordered 0, miscounted 0"),
                "{line} {:#?}",
                supervisor.last_lines()
            );
            assert_ne!(pid(&place, "relay"), relay);
            gaps.push(gap.saturating_sub(micros));
        }
        gaps.sort_unstable();
        println!("gaps of {times}, in us: median {}, worst {:?}", gaps[times / 2], gaps.last());
        assert_eq!((pid(&place, "source"), pid(&place, "sink")), (source, sink));
        assert_eq!(place.ok("stop relay"), "stopped relay\n");
        assert!(supervisor.ended().success());
        supervisor.all_gone();
        assert_eq!(place.processes(), [0; 0]);
    });
}

#[test]
fn a_build_that_cannot_go_on_leaves_the_former_process_at_work() {
    testkit::namespace::alone(|| {
        let (place, programs) = place("stays");
        place.has("relay.toml", &plan(&programs[0], "1 ms"));
        let mut supervisor = place.launched_with("launch {relay.toml}", 3);
        let before = pid(&place, "relay");
        // A program that is none, and one that has no relay.
        let broken = place.path("broken");
        std::fs::write(&broken, "#!/bin/sh\nexit 1\n").unwrap();
        let mut permissions = std::fs::metadata(&broken).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        std::fs::set_permissions(&broken, permissions).unwrap();
        for program in [broken.to_str().unwrap().to_owned(), Place::example("tracker")] {
            place.has("bad.toml", &plan(&program, "1 ms"));
            let (code, _, told) = place.deploy("apply {bad.toml}");
            assert!(code == 1 && told.contains("process relay"), "{told}");
            assert_eq!(pid(&place, "relay"), before);
        }
        // It goes on with its state.
        place.has("relay.toml", &plan(&programs[1], "1 ms"));
        assert_eq!(place.ok("apply {relay.toml}"), "applied relay\n");
        let (_, line) = generation(&mut supervisor, 1);
        assert!(line.ends_with("; lost 0, doubled 0, reordered 0, miscounted 0"), "{line}");
        // The same plan with a program that was built anew at the same place.
        let mut content = std::fs::read(&programs[1]).unwrap();
        content.push(0);
        let built = place.path("built");
        std::fs::write(&built, content).unwrap();
        std::fs::set_permissions(&built, std::fs::metadata(&programs[1]).unwrap().permissions()).unwrap();
        std::fs::rename(&built, &programs[1]).unwrap();
        assert_eq!(place.ok("apply {relay.toml}"), "applied relay\n");
        let (_, line) = generation(&mut supervisor, 2);
        assert!(line.ends_with("; lost 0, doubled 0, reordered 0, miscounted 0"), "{line}");
        // What is killed afterwards begins anew: its state is gone with it.
        kill(pid(&place, "relay"));
        supervisor.prints("punctual: process relay runs again");
        assert_eq!(place.ok("stop relay"), "stopped relay\n");
        assert!(supervisor.ended().success());
        supervisor.all_gone();
    });
}
