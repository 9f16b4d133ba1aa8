//! Plans that run on one host are proved together, however each calls the host.
use crate::place::Place;

/// The heating as another deployment, whose handlers on the same core are more important and take so long.
fn other(plan: &str, id: &str, time: &str, limit: &str) -> String {
    let mut plan = testkit::changed(plan, "id = \"heating\"", &format!("id = \"{id}\""));
    plan = testkit::changed(&plan, "[host.here]", "[host.elsewhere]").replace("\"here\"", "\"elsewhere\"");
    plan = testkit::changed(&plan, "priority = 10", "priority = 20");
    let sensor = format!("worst = \"{time}\", steps = [\"{time}\", \"temperature\"]");
    plan = testkit::changed(&plan, "worst = \"50 us\", steps = [\"50 us\", \"temperature\"]", &sensor);
    testkit::changed(&plan, "reaction = \"5 ms\"", &format!("reaction = \"{limit}\""))
}

/// The bound of the heating's chain as the status tells it; none if it is not proved to keep its limit.
fn bound(place: &Place) -> Option<String> {
    let status = place.ok("status heating");
    let of_chain = status.split_once("  chain measured-to-controlled: ").unwrap().1;
    let bound = of_chain.split_once(", bound ").unwrap().1.split([';', '\n']).next().unwrap();
    (!of_chain.starts_with("not proved")).then(|| bound.to_owned())
}

#[test]
fn a_launch_is_refused_if_it_takes_another_chain_its_limit() {
    testkit::namespace::alone(|| {
        let place = Place::new("together");
        let program = Place::example("heating");
        place.ok(&format!("describe {program} -o {{heating.json}}"));
        let plan = include_str!("../../examples/heating.toml")
            .replace("../../../target/debug/examples/heating", &program);
        place.has("heating.toml", &plan);
        place.has("long.toml", &other(&plan, "long", "6 ms", "50 ms"));
        place.has("short.toml", &other(&plan, "short", "200 us", "50 ms"));
        let mut heating = place.launched("launch {heating.toml}");
        let alone = bound(&place).expect("it is proved");

        // By itself each of them is admitted.
        place.ok("admit {long.toml}");
        let (code, _, told) = place.deploy("launch {long.toml}");
        assert!(code == 1 && told.contains("and of others that run with it"), "{told}");
        assert!(told.contains("heating: measured-to-controlled"), "{told}");
        assert_eq!(bound(&place), Some(alone.clone()));

        // A bound that is still within its limit is told as it is now, and an apply takes account of it, too.
        let mut short = place.launched("launch {short.toml}");
        let beside = bound(&place).expect("it is proved");
        assert_ne!(beside, alone);
        place.has("longer.toml", &other(&plan, "short", "6 ms", "50 ms"));
        let (code, _, told) = place.deploy("apply {longer.toml}");
        assert!(code == 1 && told.contains("heating: measured-to-controlled"), "{told}");
        assert_eq!(bound(&place), Some(beside));
        place.ok("stop short");
        assert!(short.ended().success());
        assert_eq!(bound(&place), Some(alone.clone()));

        // What is launched without a proof takes the limit away.
        let mut long = place.launched("launch {long.toml} --unproved");
        assert_eq!(bound(&place), None);
        place.ok("stop long");
        assert!(long.ended().success());
        assert_eq!(bound(&place), Some(alone));
        place.ok("stop heating");
        assert!(heating.ended().success());
    });
}

/// The flows of two deployments go over one link, which has room for one of them within the limit.
#[test]
fn a_launch_counts_the_flows_of_what_runs() {
    const LAB: &str = "name = \"Lab\"\nhost-defaults = { queues = 8, ring = 0, pause = \"off\", energy-efficient = false }\n\
        [[host]]\nname = \"here\"\n[[host]]\nname = \"far\"\n[[switch]]\nname = \"s1\"\nmodel = \"gigabit-8-queues\"\n\
        [[link]]\nends = [\"here\", \"s1:1\"]\n[[link]]\nends = [\"far\", \"s1:2\"]\nrate = \"10 Mb/s\"\n";
    testkit::namespace::alone(|| {
        let place = Place::new("flows");
        let program = Place::example("heating");
        place.ok(&format!("describe {program} -o {{heating.json}}"));
        place.has("lab.toml", LAB);
        let change = |plan: String, from: &str, to: &str| testkit::changed(&plan, from, to);
        let plan = include_str!("../../examples/heating.toml").to_owned();
        let plan = change(plan, "../../../target/debug/examples/heating", &program);
        let plan = change(plan, "manifests", "network = \"lab.toml\"\nmanifests");
        let plan =
            change(plan, "slack = \"100 us\"", "slack = \"100 us\", send = \"20 us\", receive = \"30 us\"");
        let costs = plan.lines().find(|line| line.starts_with("costs")).unwrap().to_owned();
        let plan = change(
            plan,
            "[process.cellar]\nhost = \"here\"",
            &format!(
                "[host.far]\ncores = 1\n{costs}\n[container.cellar]\nprocess = \"cellar\"\nlane = \"fast\"\n\
                 lanes.fast = {{ class = \"fifo\", priority = 10, cores = [0] }}\n[process.cellar]\nhost = \"far\""
            ),
        );
        let plan = change(
            plan,
            "process = \"cellar\"\n\n[connection.temperature]",
            "process = \"cellar\"\ncontainer = \"cellar\"\nport.power.execution = { worst = \"50 us\", measured = true }\n\n[connection.temperature]",
        );
        let plan = change(
            plan,
            "transfer = { most = \"2 ms\", measured = true }",
            "size = 40000\nqueue = { depth = 4, full = \"drop-oldest\" }",
        );
        let plan = change(
            plan,
            "\"control.temperature\"]\nreaction = \"5 ms\"",
            "\"control.temperature\", \"heater.power\"]\nreaction = \"100 ms\"",
        );
        place.has("heating.toml", &plan);
        place.has("second.toml", &change(plan.clone(), "id = \"heating\"", "id = \"second\""));
        place.ok("admit {second.toml}");
        let mut heating = place.launched_with("launch {heating.toml} --host here", 1);
        let (code, _, told) = place.deploy("launch {second.toml} --host here");
        assert!(code == 1 && told.contains("and of others that run with it"), "{told}");
        assert!(told.contains("lab.toml refuses \"power\" within 50 ms: "), "{told}");
        // A smaller one has room.
        let small = change(plan, "size = 40000", "size = 4000").replace("id = \"heating\"", "id = \"small\"");
        place.has("small.toml", &small);
        let mut small = place.launched_with("launch {small.toml} --host here", 1);
        for (name, supervisor) in [("small", &mut small), ("heating", &mut heating)] {
            place.ok(&format!("stop {name}"));
            assert!(supervisor.ended().success());
        }
    });
}
