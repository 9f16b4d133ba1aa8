//! Plans that are imported from descriptors in XML, with a program in place of their libraries, are launched and run.
use crate::place::Place;

/// Descriptors of the OMG and CIAO, and what else it takes to run them.
struct Imported {
    place: Place,
}

impl Imported {
    /// A plan of descriptors; `said` is what they cannot say, as text and what takes its place.
    fn new(test: &str, plan: &str, events: Option<&str>, said: &[(&str, &str)]) -> Self {
        let place = Place::new(test);
        let program = Place::example("descriptors");
        place.ok(&format!("describe {program} -o {{types.json}}"));
        place.has("plan.cdp", plan);
        let mut line = format!("import {{plan.cdp}} --program {program} -o {{plan.toml}}");
        if let Some(events) = events {
            place.has("events.ced", events);
            line.push_str(" --events {events.ced}");
        }
        let (code, _, told) = place.deploy(&line);
        assert_eq!(code, 1, "{told}");
        assert!(told.contains("the library libsensor.so is not loaded"), "{told}");
        let mut text = std::fs::read_to_string(place.path("plan.toml")).unwrap();
        text.insert_str(0, "manifests = [\"types.json\"]\n");
        for (from, to) in said {
            assert!(text.contains(from), "{from}: {text}");
            text = text.replace(from, to);
        }
        place.has("plan.toml", &text);
        place.ok("validate {plan.toml}");
        Self { place }
    }
}

/// The period of a sensor's timer.
fn ticking(name: &str) -> (String, String) {
    let table = format!("[component.{name}]\n");
    let said = format!("{table}port.tick.period = \"20 ms\"\n");
    (table, said)
}

/// The period of a sensor's timer, and what it calls itself.
fn sensor(name: &str) -> (String, String) {
    let (table, said) = ticking(name);
    (table, format!("{said}settings.name = \"{name}\"\n"))
}

/// What something that shows readings calls itself.
fn view(name: &str) -> (String, String) {
    let table = format!("[component.{name}]\n");
    let said = format!("{table}settings.name = \"{name}\"\n");
    (table, said)
}

fn run(
    test: &str,
    plan: &str,
    events: Option<&str>,
    said: &[(String, String)],
    processes: usize,
    lines: &[&str],
) {
    testkit::namespace::alone(|| {
        let said: Vec<(&str, &str)> = said.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
        let imported = Imported::new(test, plan, events, &said);
        let mut supervisor = imported.place.launched_with("launch {plan.toml}", processes);
        for line in lines {
            supervisor.prints(line);
        }
        supervisor.interrupt();
        supervisor.ended();
        supervisor.all_gone();
    });
}

#[test]
fn a_plan_without_services_runs_and_calls_a_facet() {
    let plan = include_str!("../../../assembly/descriptors/plain.cdp")
        .replace("<name>View</name>", "<name>Console</name>");
    let lines = ["console 0 sensor 3", "console 0 sensor 1", "console 0 sensor 3"];
    // The console calls the sensor while it handles a reading of it: `validate` says that both would wait for each other, and what to do.
    let table = "[connection.reading]\n";
    let by_channel = (table.to_owned(), format!("{table}service = \"channel\"\n"));
    run("imported-plain", &plan, None, &[ticking("sensor"), by_channel], 1, &lines);
}

#[test]
fn a_plan_with_an_event_service_runs() {
    let plan = include_str!("../../../assembly/descriptors/simple.cdp");
    let events = include_str!("../../../assembly/descriptors/simple.ced");
    let lines = ["view 0 sensor 1", "view 0 sensor 2"];
    run("imported-simple", plan, Some(events), &[ticking("sensor"), view("view")], 1, &lines);
}

/// Each kind of filter, and what collects a reading of each of two sensors.
#[test]
fn a_plan_with_filters_over_sources_runs() {
    testkit::namespace::alone(|| {
        let plan = include_str!("../../../assembly/descriptors/filters.cdp");
        let events = include_str!("../../../assembly/descriptors/filters.ced");
        let said = [sensor("north"), sensor("south"), view("any"), view("both"), view("others"), view("all")];
        let said: Vec<(&str, &str)> = said.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
        let imported = Imported::new("imported-filters", plan, Some(events), &said);
        let mut supervisor = imported.place.launched_with("launch {plan.toml}", 1);
        let mut seen = std::collections::BTreeSet::new();
        let mut both = Vec::new();
        while both.len() < 8 || seen.len() < 6 {
            let line = supervisor.prints_line("a reading", |line| line.split(' ').count() == 4);
            let words: Vec<&str> = line.split(' ').collect();
            seen.insert((words[0].to_owned(), words[2].to_owned()));
            if words[0] == "both" {
                both.push((words[1].to_owned(), words[2].to_owned()));
            }
        }
        let expected = [
            ("all", "north"),
            ("all", "south"),
            ("any", "north"),
            ("both", "north"),
            ("both", "south"),
            ("others", "south"),
        ];
        assert!(seen.iter().map(|(name, of)| (name.as_str(), of.as_str())).eq(expected), "{seen:?}");
        // One of each, in the order of the parts.
        for pair in both.chunks_exact(2) {
            assert_eq!((pair[0].1.as_str(), pair[1].1.as_str()), ("north", "south"), "{both:?}");
        }
        supervisor.interrupt();
        supervisor.ended();
        supervisor.all_gone();
    });
}

/// Two event services that send to each other, on one host here.
#[test]
fn a_plan_with_services_that_are_joined_runs() {
    let on_left = |text: &str| text.replace("<node>right</node>", "<node>left</node>");
    let plan = on_left(include_str!("../../../assembly/descriptors/mcast.cdp"));
    let events = on_left(include_str!("../../../assembly/descriptors/mcast.ced")).replace(
        "<name>right-bus</name>\n    <node>left</node>",
        "<name>right-bus</name>\n    <node>server</node>",
    );
    let said = [sensor("sensor"), view("view"), view("log")];
    let lines = ["view 0 sensor", "log 0 sensor"];
    run("imported-mcast", &plan, Some(&events), &said, 2, &lines);
}
