//! Connections that are suspended while a plan runs: what is published there meanwhile is dropped, and all else goes on.
use testkit::patience::patiently;

use crate::place::Place;

/// The numbers of the positions that the display has written.
fn counts(place: &Place) -> Vec<u64> {
    let text = std::fs::read_to_string(place.path("positions")).unwrap_or_default();
    // The last line may not be whole yet.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect()
}

fn more(place: &Place, count: usize) {
    let before = counts(place).len();
    patiently("positions", || (counts(place).len() >= before + count).then_some(()));
}

/// Waits until a component has taken so many deliveries more.
fn takes(place: &Place, component: &str, count: usize) {
    let before = place.taken(component);
    patiently("deliveries", || (place.taken(component) >= before + count).then_some(()));
}

/// A connection by DDS is suspended and resumed: its neighbours miss nothing, and nothing comes later of what was published meanwhile.
#[test]
fn what_is_suspended_carries_nothing_and_all_else_goes_on() {
    testkit::namespace::alone(|| {
        let place = Place::new("suspended");
        let file = place.path("positions").display().to_string();
        place.has("tracker.toml", &Place::plan().replace("/dev/stdout", &file));
        let mut supervisor = place.launch("tracker.toml");
        more(&place, 5);
        let pids = place.pids();

        assert_eq!(place.ok("suspend tracker position"), "suspended position of tracker\n");
        assert!(place.ok("status tracker").contains("\n  suspended: position\n"));
        assert!(place.ok("status tracker --json").contains("\"suspended\":[\"position\"]"));
        // The airframe goes on; what the display's handler was at is finished meanwhile.
        takes(&place, "airframe", 5);
        let still = counts(&place).len();
        takes(&place, "airframe", 20);
        assert_eq!(counts(&place).len(), still, "what is suspended carries nothing");
        let (code, _, told) = place.deploy("suspend tracker position");
        assert!(code == 1 && told.contains("suspended already"), "{told}");
        assert_eq!(place.ok("resume {tracker.toml} position"), "resumed position of tracker\n");
        assert!(!place.ok("status tracker").contains("  suspended: "));
        more(&place, 5);
        let all = counts(&place);
        let gaps: Vec<u64> = all.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap != 1).collect();
        assert!(gaps.len() == 1 && gaps[0] >= 20, "what was published meanwhile is dropped: {gaps:?}");

        assert_eq!(place.pids(), pids);

        for (line, expected) in [
            ("suspend tracker postion", "no connection \"postion\": it has fix, marks, position"),
            ("suspend tracker fix", "the connection of an emitter cannot be suspended"),
            ("suspend tracker marks", "the connection marks is not suspended: "),
            ("resume tracker fix", "the connection fix is not suspended"),
        ] {
            let (code, _, told) = place.deploy(line);
            assert!(code == 1 && told.contains(expected), "{line}: {told}");
        }
        // A process that falls comes back with what is suspended, and a plan says by itself what is.
        place.ok("suspend tracker position");
        crate::place::kill(place.pid_of("show"));
        supervisor.prints_with("process show ended");
        patiently("the display is there again", || (place.pids().len() == 2).then_some(()));
        let still = counts(&place).len();
        takes(&place, "airframe", 20);
        assert_eq!(counts(&place).len(), still);
        assert_eq!(place.ok("apply {tracker.toml}"), "applied tracker\n");
        more(&place, 5);
        let begins = "to = [\"display.position\"]\nsuspended = true";
        let plan = Place::plan().replace("/dev/stdout", &file);
        place.has("tracker.toml", &testkit::changed(&plan, "to = [\"display.position\"]", begins));
        place.ok("apply {tracker.toml}");
        assert!(place.ok("status tracker").contains("suspended: position"));
        assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
        assert!(supervisor.ended().success());
    });
}
