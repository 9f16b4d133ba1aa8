//! Handlers of a running plan are measured, and the times are written into the plan.
use crate::place::Place;

/// The example plan, whose processes measure their handlers if `value` says so.
fn plan(value: &str) -> String {
    let mut plan = Place::plan();
    for name in ["sense", "show"] {
        let process = format!("[process.{name}]\n");
        let with = format!("{process}environment = {{ PUNCTUAL_MEASURE = \"{value}\" }}\n");
        plan = testkit::changed(&plan, &process, &with);
    }
    plan
}

#[test]
fn handlers_are_measured_and_their_times_written() {
    testkit::namespace::alone(|| {
        let place = Place::new("measured");
        place.has("wrong.toml", &plan("yes"));
        let (code, _, told) = place.deploy("launch {wrong.toml}");
        assert!(code == 1 && told.contains("PUNCTUAL_MEASURE is 1"), "{told}");

        place.has("tracker.toml", &plan("0"));
        let mut supervisor = place.launch("tracker.toml");
        while supervisor.position().0 < 5 {}
        let (code, _, told) = place.deploy("measure {tracker.toml}");
        assert!(code == 1 && told.contains("no handler of tracker was measured"), "{told}");
        assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
        assert!(supervisor.ended().success());

        place.has("tracker.toml", &plan("1"));
        let mut supervisor = place.launch("tracker.toml");
        while supervisor.position().0 < 20 {}
        let (_, told, error) = place.deploy("measure {tracker.toml} --margin 50 --write {measured.toml}");
        assert!(error.is_empty(), "{error}");
        for port in ["gps.tick", "airframe.fix", "display.position"] {
            let line = told.lines().find(|line| line.starts_with(&format!("{port}: ")));
            let line = line.unwrap_or_else(|| panic!("{told}"));
            let calls = line.split_once(": ").unwrap().1.split_once(" calls, the longest ").unwrap().0;
            assert!(calls.parse::<u64>().unwrap() >= 15, "{line}");
        }
        assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
        assert!(supervisor.ended().success());

        // The plan is as before, but for the times; it is one that can be launched.
        place.ok("validate {measured.toml}");
        let measured = std::fs::read_to_string(place.path("measured.toml")).unwrap();
        assert_eq!(measured.matches("measured = true").count(), 3, "{measured}");
        let mut supervisor = place.launch("measured.toml");
        while supervisor.position().0 < 3 {}
        assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
        assert!(supervisor.ended().success());
    });
}
