//! What docs/tutorial/components.md says is so.
use crate::place::Place;

const PAGE: &str = include_str!("../../../../docs/tutorial/components.md");
const PLAN: &str = include_str!("../../examples/heating.toml");

/// The verdict that the page shows.
#[test]
fn the_tutorial_of_components_goes_as_it_is_written() {
    testkit::namespace::alone(|| {
        let place = Place::new("tutorial");
        let program = Place::example("heating");
        place.ok(&format!("describe {program} -o {{heating.json}}"));
        let plan = PLAN.replace("../../../target/debug/examples/heating", &program);
        place.has("heating.toml", &plan);
        assert!(place.ok("validate {heating.toml}").contains("nothing is wrong"));
        let admitted = place.ok("admit {heating.toml}");
        assert!(PAGE.contains(&format!("heating.toml\n{admitted}```")), "{admitted}");
        let picture = place.ok("graph {heating.toml}");
        assert!(
            picture.contains(">measured-to-controlled: admitted, as far as the measured times hold<"),
            "{picture}"
        );
        place.has(
            "wrong.toml",
            &plan.replace("from = \"sensor.temperature\"", "from = \"sensor.temprature\""),
        );
        let (code, _, told) = place.deploy("validate {wrong.toml}");
        assert!(code == 1 && told.contains("did you mean \"temperature\"?"), "{told}");
        let mut supervisor = place.launched("launch {heating.toml}");
        supervisor.prints("heating: 0.6");
        assert!(place.ok("status heating").contains("heater (Heater): active; "));
        place.has("warmer.toml", &plan.replace("target = 22.0", "target = 29.0"));
        let (_, steps, _) = place.deploy("diff {heating.toml} {warmer.toml}");
        assert!(steps.contains("set control.target = 29.0"), "{steps}");
        assert_eq!(place.ok("apply {warmer.toml}"), "applied heating\n");
        // As warm as it gets without the change, it never heats with all it has.
        supervisor.prints("heating: 1.0");
        place.ok("stop heating");
        assert!(supervisor.ended().success());
    });
}
