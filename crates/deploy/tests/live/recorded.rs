//! A component of a running plan is recorded, and replayed by its program.
use crate::place::{self, Place};

fn plan(place: &Place, what: &str) -> String {
    let path = place.path("");
    let value = what.replace('@', path.to_str().unwrap().trim_end_matches('/'));
    let process = "[process.sense]\nhost = \"here\"\nartefact = \"tracker\"";
    testkit::changed(
        &Place::plan(),
        process,
        &format!("{process}\nenvironment = {{ PUNCTUAL_RECORD = \"{value}\" }}"),
    )
}

/// What is recorded until the process is stopped, and until it is killed: both replay, each to its end.
#[test]
fn a_component_that_was_recorded_publishes_the_same_again() {
    testkit::namespace::alone(|| {
        let place = Place::new("recorded");
        place.has("tracker.toml", &plan(&place, "gps=@/gps.mcap:airframe=@/airframe.mcap"));
        let tracker = Place::example("tracker");
        let replayed = |file: &str| place.deploy(&format!("replay {tracker} {{{file}}}"));
        let same = |told: &str| -> u64 {
            let count = told.strip_prefix("gps: ").and_then(|rest| rest.split_once(" inputs, and the "));
            let (inputs, rest) = count.unwrap_or_else(|| panic!("{told}"));
            let same = format!("{inputs} events that it publishes are the same, byte for byte\n");
            assert_eq!(rest, same, "each instant of its timer publishes a fix");
            inputs.parse().unwrap()
        };
        for is_killed in [false, true] {
            let mut supervisor = place.launch("tracker.toml");
            while supervisor.position().0 < 20 {}
            if is_killed {
                // What the next process records begins the file anew.
                let pid = place.pid_of("sense");
                std::fs::copy(place.path("gps.mcap"), place.path("before.mcap")).unwrap();
                place::kill(pid);
                supervisor.prints("punctual: process sense runs again");
                let (code, told, error) = replayed("before.mcap");
                assert!(code == 0 && same(&told) >= 20, "{told}{error}");
            }
            assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
            assert!(supervisor.ended().success());
            let (code, told, error) = replayed("gps.mcap");
            assert_eq!(code, 0, "{told}{error}");
            assert!(is_killed || same(&told) >= 20, "{told}");
        }
        // Its calls would need a facet that answers.
        let (code, _, told) = replayed("airframe.mcap");
        assert!(code == 3 && told.contains("airframe"), "{code} {told}");

        // One fix is another one now.
        let mut bytes = std::fs::read(place.path("before.mcap")).unwrap();
        let fix: Vec<u8> = [0, 1, 0, 0].into_iter().chain(7.0_f64.to_le_bytes()).collect();
        let at = bytes.windows(fix.len()).position(|part| part == fix).expect("the seventh fix");
        bytes[at + 4] ^= 1;
        std::fs::write(place.path("other.mcap"), bytes).unwrap();
        let (code, told, error) = replayed("other.mcap");
        assert!(code == 1 && told.contains("event 6 of fix is another one; 6 before it"), "{told}{error}");
    });
}

#[test]
fn a_wish_to_record_that_is_none_is_refused() {
    testkit::namespace::alone(|| {
        let place = Place::new("unrecorded");
        for (wish, why) in
            [("gps", "\"gps\" is not COMPONENT=FILE"), ("gps=@/none/gps.mcap", "none/gps.mcap")]
        {
            place.has("tracker.toml", &plan(&place, wish));
            let (code, _, told) = place.deploy("launch {tracker.toml}");
            assert!(code == 1 && told.contains(why), "{told}");
            assert_eq!(place.processes(), [0; 0]);
        }
    });
}
