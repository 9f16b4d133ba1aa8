//! No event of a former plan comes to a component after an event of the next one, also to those that go on; and where the plan says so, none is
//! handled after the change.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::place::Place;

/// Plans that follow each other.
const PLANS: u32 = 25;

/// A sensor that calls itself by the number of its plan; what shows its readings is in its process, by a channel and directly, and in another one.
fn plan(program: &str, number: u32, head: &str) -> String {
    let mut text = format!(
        "{head}id = \"epochs\"\nmanifests = [\"types.json\"]\n\n[artefact.views]\nlocation = [\"{program}\"]\n\n[host.here]\ncores = 1\n\n\
         [component.sensor]\ntype = \"Sensor\"\nprocess = \"one\"\nport.tick.period = \"1 ms\"\nsettings.name = \"{number}\"\n\n"
    );
    for process in ["one", "other"] {
        let _ = write!(text, "[process.{process}]\nhost = \"here\"\nartefact = \"views\"\n\n");
    }
    // Two are slower than the sensor: something waits in their queues, always.
    let views = [
        ("queued", "one", "channel", 2),
        ("direct", "one", "direct", 0),
        ("far", "other", "dds", 0),
        ("late", "other", "dds", 2),
    ];
    for (name, process, service, slow) in views {
        let _ = write!(
            text,
            "[component.{name}]\ntype = \"View\"\nprocess = \"{process}\"\nsettings.name = \"{name}\"\nsettings.slow = {slow}\n\n\
             [connection.{name}]\nfrom = \"sensor.out\"\nto = [\"{name}.in\"]\nservice = \"{service}\"\n\n"
        );
    }
    text
}

/// Applies one plan after the other; says what shows readings, what it shows, and the latest plan that anything has shown before.
fn follow(name: &str, head: &str, sees: impl Fn(&str, u32, u32, u32) + Sync) {
    testkit::namespace::alone(|| {
        let place = Place::new(name);
        let program = Place::example("descriptors");
        place.ok(&format!("describe {program} -o {{types.json}}"));
        place.has("plan.toml", &plan(&program, 0, head));
        let mut supervisor = place.launched_with("launch {plan.toml}", 2);
        // By what shows readings: the plan that its last one was of.
        let mut last: BTreeMap<String, u32> = BTreeMap::new();
        let mut latest = 0;
        for number in 0..PLANS {
            if number > 0 {
                place.has("plan.toml", &plan(&program, number, head));
                place.ok("apply {plan.toml}");
            }
            while last.len() < 4 || last.values().any(|of| *of < number) {
                let line = supervisor.prints_line("a reading", |line| line.split(' ').count() == 4);
                let words: Vec<&str> = line.split(' ').collect();
                let Ok(of) = words[2].parse::<u32>() else { continue };
                let before = last.insert(words[0].to_owned(), of).unwrap_or(0);
                sees(words[0], of, before, latest);
                latest = latest.max(of);
            }
        }
        supervisor.interrupt();
        supervisor.ended();
        supervisor.all_gone();
    });
}

#[test]
fn no_event_of_a_former_plan_comes_after_one_of_the_next() {
    follow("epochs", "", |name, of, before, _| {
        assert!(before <= of, "{name} gets a reading of plan {of} after one of plan {before}");
    });
}

/// All write to one pipe, so that their lines are in the order in which readings were handled.
#[test]
fn no_event_of_a_former_plan_is_handled_in_the_next() {
    follow("quiescent", "quiesce = \"20 s\"\n", |name, of, _, latest| {
        assert!(latest <= of, "{name} handles a reading of plan {of} in plan {latest}");
    });
}
