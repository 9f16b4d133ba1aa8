//! Modes that change while a plan runs, and components that are made anew: what else there is misses nothing.
use testkit::patience::patiently;

use crate::place::{Place, Supervisor};

/// The plan of the example with a second display, and two modes: both have the first display, and one has the second.
fn plan(place: &Place) -> String {
    let files = ["first", "second"].map(|name| place.path(name).display().to_string());
    let second = format!(
        "[component.second]\ntype = \"Display\"\nprocess = \"show\"\nsettings.file = \"{}\"\n\n[connection.position]",
        files[1]
    );
    let plan = Place::plan()
        .replace("file = \"/dev/stdout\"", &format!("file = \"{}\"", files[0]))
        .replace("[connection.position]", &second)
        .replace("to = [\"display.position\"]", "to = [\"display.position\", \"second.position\"]");
    let modes = "\n[mode.day]\ncomponents = [\"gps\", \"airframe\", \"store\", \"display\"]\n\
        [mode.night]\ncomponents = [\"gps\", \"airframe\", \"store\", \"display\", \"second\"]\n\
        [mode.alone]\ncomponents = [\"gps\"]\n";
    format!("start-mode = \"day\"\n{plan}{modes}")
}

/// The counts of the positions that a display has written.
fn counts(place: &Place, file: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(place.path(file)).unwrap_or_default();
    // The last line may not be whole yet.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect()
}

fn more_than(place: &Place, file: &str, count: usize) {
    patiently("positions", || (counts(place, file).len() > count).then_some(()));
}

fn ends(place: &Place, mut supervisor: Supervisor) {
    assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
    assert!(supervisor.ended().success());
    supervisor.all_gone();
}

/// Data goes on over ten changes of mode in what both modes have: not one event is missed.
#[test]
fn what_both_modes_have_misses_nothing() {
    testkit::namespace::alone(|| {
        let place = Place::new("modes");
        place.has("tracker.toml", &plan(&place));
        let supervisor = place.launch("tracker.toml");
        more_than(&place, "first", 5);
        let pids = place.pids();
        let status = place.ok("status tracker");
        assert!(status.contains("tracker.toml), mode day\n"), "{status}");
        assert!(status.contains("second (Display): inactive; 0 taken"), "{status}");
        assert_eq!(counts(&place, "second"), [0; 0]);

        for round in 1..=5 {
            let before = counts(&place, "second").len();
            assert_eq!(place.ok("mode tracker night"), "in mode night: tracker\n");
            assert!(place.ok("status tracker").contains(", mode night\n"));
            more_than(&place, "second", before + 3);
            assert_eq!(place.ok("mode tracker day"), "in mode day: tracker\n");
            let status = place.ok("status tracker");
            assert!(status.contains("second (Display): passive; "), "{status}");
            let (first, second) = (counts(&place, "first").len(), counts(&place, "second").len());
            more_than(&place, "first", first + 10);
            assert_eq!(counts(&place, "second").len(), second, "round {round}: it works in the wrong mode");
        }
        let first = counts(&place, "first");
        assert!(first.windows(2).all(|pair| pair[1] == pair[0] + 1), "something is missed: {first:?}");
        // What came while it rested is not for it: between two rounds it misses ten and more at once.
        let gaps: Vec<u64> = counts(&place, "second")
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .filter(|gap| *gap > 1)
            .collect();
        assert!(gaps.len() == 4 && gaps.iter().all(|gap| *gap >= 10), "{gaps:?}");
        assert_eq!(place.pids(), pids);

        let (code, _, told) = place.deploy("mode tracker dusk");
        assert!(code == 1 && told.contains("no mode \"dusk\": it has alone, day, night"), "{told}");
        // Almost nothing works, and then all of it again.
        assert_eq!(place.ok("mode {tracker.toml} alone"), "in mode alone: tracker\n");
        let still = counts(&place, "first").len();
        let status = place.ok("status tracker --json");
        assert!(status.contains("\"mode\":\"alone\",\"modes\":[\"alone\",\"day\",\"night\"]"), "{status}");
        assert_eq!(place.ok("mode tracker night"), "in mode night: tracker\n");
        more_than(&place, "first", still + 3);
        ends(&place, supervisor);
    });
}

/// A component that panics works again, in its process and with its connections; its neighbours miss nothing but what it has not handled.
#[test]
fn a_component_that_panics_is_made_anew() {
    testkit::namespace::alone(|| {
        let place = Place::new("anew");
        let restart = "settings.gain = 0.25\nsettings.panics_at = 302\n\
            restart = { policy = \"on-failure\", limit = 3, within = \"1 min\", delay = \"50 ms\" }";
        let plan = Place::plan().replace("settings.gain = 0.25", restart).replace("/dev/stdout", "FILE");
        let file = place.path("first").display().to_string();
        place.has("tracker.toml", &plan.replace("FILE", &file));
        let mut supervisor = place.launch("tracker.toml");
        let pids = place.pids();
        supervisor.prints_with("it is told to panic");
        supervisor.prints_with("process sense: airframe works again, made anew 1 times");
        let status = place.ok("status tracker");
        let line = status.lines().find(|line| line.contains("airframe (Airframe): active; ")).unwrap();
        assert!(line.ends_with(", made anew 1 times"), "{status}");
        assert_eq!(place.pids(), pids);
        // Its count begins anew.
        let falls = |all: &[u64]| all.windows(2).position(|pair| pair[1] < pair[0]);
        let all = patiently("its second life", || {
            let all = counts(&place, "first");
            falls(&all).map(|_| all)
        });
        let (first, second) = all.split_at(falls(&all).unwrap() + 1);
        assert_eq!(second[0], 1, "{all:?}");
        // Four of five fixes pass, so the one before the panic is the 241st.
        assert_eq!(first.last(), Some(&241), "{all:?}");
        for life in [first, second] {
            assert!(life.windows(2).all(|pair| pair[1] == pair[0] + 1), "something is missed: {life:?}");
        }
        ends(&place, supervisor);
    });
}
