//! No event of one plan is handled in the next one, where the plan says so.
use deployment::{Outcome, Request};

use crate::plans;
use crate::simulation::calm;
use crate::world::{Faults, World};

/// What was seen in the plays of all seeds.
#[derive(Default)]
struct Seen {
    handled: u64,
    finished: u64,
    changed: u64,
    too_long: u64,
    cannot: u64,
    late: u64,
    given_up: u64,
    read: u64,
    joined: u64,
    by_gateway: u64,
}

/// How many events a note says that conjunctions give up.
fn told_up(note: &str) -> Option<u64> {
    let (_, count) = note.split_once(" gives up ")?;
    count.split_once(" events")?.0.parse().ok()
}

/// Another plan without its mode or what is suspended is the same plan.
fn is_same(was: &deployment::Target, is: &deployment::Target) -> bool {
    let plain = |target: &deployment::Target| {
        let mut target = target.clone();
        target.plan.start_mode = None;
        target.plan.connections.values_mut().for_each(|it| it.is_suspended = false);
        target.proofs.clear();
        target
    };
    plain(was) == plain(is)
}

fn play(seed: u64, seen: &mut Seen) {
    let mut world = World::new(seed, "random");
    world.network.borrow_mut().begin();
    let kinds = [
        Faults { crash: 4, ..Faults::default() },
        Faults { lost: 3, double: 60, ..Faults::default() },
        Faults { unstartable: 30, fail: 50, ..Faults::default() },
        Faults { hang: 30, crash: 2, ..Faults::default() },
        Faults { late: 40, ..Faults::default() },
    ];
    let mut plan = world.random.clone();
    for request in 1..=plan.range(2, 6) {
        let context = format!("seed {seed}, request {request}");
        world.faults = if plan.chance(50) { *plan.pick(&kinds).unwrap() } else { Faults::default() };
        let is_quiet = world.faults.crash
            + world.faults.lost
            + world.faults.hang
            + world.faults.fail
            + world.faults.late
            == 0;
        let before = world.supervisor.current().clone();
        let target = plans::next_or(&before, &mut plan, plans::quiescent);
        // A moment of work.
        for number in 0..5 {
            world.request(1_000 * request + number, Request::Status);
            world.run_until(1_000 * request + number);
        }
        world.network.borrow_mut().lost.clear();
        let given_up = world.network.borrow().given_up.len() as u64;
        let outcome = world.apply(request, &target);
        // A change that is taken back in some processes may find others where connections are still taken apart.
        if matches!(outcome, Outcome::Done(_)) && is_quiet && !is_same(&before, &target) {
            assert_eq!(world.network.borrow().lost, [""; 0], "{context}");
        }
        if let Outcome::Done(notes) = &outcome {
            // Each that was given up is told. A process that ended meanwhile has told more than it gave up.
            let told: u64 = notes.iter().filter_map(|note| told_up(note)).sum();
            let given_up = world.network.borrow().given_up.len() as u64 - given_up;
            assert!(told == given_up || !is_quiet, "{context}: {given_up} are given up: {notes:?}");
            seen.given_up += given_up;
        }
        match outcome {
            Outcome::Done(_) => seen.changed += u64::from(!is_same(&before, &target)),
            Outcome::Refused(why) if why.contains("cannot be changed between events") => seen.cannot += 1,
            Outcome::Refused(why) if why.contains("the limit") => seen.late += 1,
            Outcome::Refused(why) => seen.too_long += u64::from(why.contains("rested for more than")),
            Outcome::Status(_) => panic!("{context}"),
        }
        calm(&mut world);
        world.judge(&context);
        for number in 5..25 {
            world.request(1_000 * request + number, Request::Status);
            world.run_until(1_000 * request + number);
        }
        let network = world.network.borrow();
        assert!(
            network.wrong.is_empty(),
            "{context}: {:?}\n{}\n{}\n{:?}\n{:?}, told {:?}",
            network.wrong.first(),
            before.plan.to_toml(),
            target.plan.to_toml(),
            world.orders.iter().rev().take(60).rev().collect::<Vec<_>>(),
            world.outcomes.get(&request),
            world.told
        );
    }
    let network = world.network.borrow();
    seen.handled += network.handled;
    seen.finished += network.finished;
    seen.read += network.read;
    seen.joined += network.joined;
    seen.by_gateway += network.by_gateway;
}

#[test]
fn no_event_of_a_plan_is_handled_in_the_next() {
    let mut seen = Seen::default();
    for seed in tiers::current().seeds("deployment.seeds") {
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(seed, &mut seen)));
        played.unwrap_or_else(|_| panic!("seed {seed}: PUNCTUAL_SEED={seed} repeats it"));
    }
    let kinds = [seen.given_up, seen.read, seen.joined, seen.by_gateway];
    let all = [seen.handled, seen.finished, seen.changed, seen.too_long, seen.cannot, seen.late];
    let all = [&all[..], &kinds[..]].concat();
    assert!(all.iter().all(|count| *count > 0) || std::env::var_os("PUNCTUAL_SEED").is_some(), "{all:?}");
}

const PLAN: &str = concat!(
    "id = \"between\"\nquiesce = \"40 ms\"\n",
    plans::three_nodes!(),
    "[connection.ab]\nfrom = \"a.out\"\nto = [\"b.in\"]\nqueue = { depth = 4 }\n",
    "[connection.bc]\nfrom = \"b.out\"\nto = [\"c.in\"]\n",
);

fn changed(plan: &str) -> String {
    plan.replace(
        "type = \"Node\"\nprocess = \"p\"\nport.tick.period = \"1 ms\"\n[component.b]",
        "type = \"Node\"\nprocess = \"p\"\nsettings.a = 1\nport.tick.period = \"1 ms\"\n[component.b]",
    )
}

/// What changes rests, with what publishes to it, and nothing else does.
#[test]
fn what_publishes_rests_first_and_what_it_has_published_is_handled() {
    let mut world = World::new(1, "between");
    assert_eq!(world.apply(1, &plans::target(PLAN)), Outcome::Done(Vec::new()));
    world.orders.clear();
    let outcome = world.apply(2, &plans::target(&changed(PLAN)));
    let Outcome::Done(notes) = outcome else { panic!("{outcome:?}") };
    assert!(notes.iter().any(|note| note.contains("is left to be handled: a rested for")), "{notes:?}");
    let text = format!("{:?}", world.orders);
    let orders: Vec<&str> = ["Passivate(\"a\")", "Finish", "Set(\"a\", \"a\")", "Activate(\"a\")"].into();
    let places: Vec<Option<usize>> = orders.iter().map(|order| text.find(order)).collect();
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{text}");
    assert!(!text.contains("Passivate(\"b\")") && !text.contains("Passivate(\"c\")"), "{text}");
    // Another end of the way: b consumes, so a rests, too.
    world.orders.clear();
    let target = changed(PLAN)
        .replace("[component.c]", "settings.a = 2\n[component.c]")
        .replace("restart = { policy = \"always\", delay = \"10 ms\" }\n[component.a]", "[component.a]");
    let _ = world.apply(3, &plans::target(&target));
    world.judge("after");
}

/// A publisher whose push calls a handler rests with the component of that handler.
#[test]
fn what_calls_a_component_that_rests_does_so_too() {
    let plan = PLAN.replace("queue = { depth = 4 }\n", "");
    let mut world = World::new(1, "between");
    assert_eq!(world.apply(1, &plans::target(&plan)), Outcome::Done(Vec::new()));
    world.orders.clear();
    let next =
        plan.replace("[component.c]\ntype = \"Node\"\n", "[component.c]\ntype = \"Node\"\nsettings.a = 3\n");
    let outcome = world.apply(2, &plans::target(&next));
    let Outcome::Done(notes) = outcome else { panic!("{outcome:?}") };
    assert!(notes.iter().any(|note| note.contains("a, b, c rested for")), "{notes:?}");
    let text = format!("{:?}", world.orders);
    let orders = ["Passivate(\"a\")", "Passivate(\"b\")", "Finish", "Resume(\"b\")", "Resume(\"a\")"];
    let places: Vec<Option<usize>> = orders.iter().map(|order| text.find(order)).collect();
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{text}");
    world.judge("after");
}

/// The orders of a change in their order, shortly.
fn places(world: &World, orders: &[&str]) -> Vec<Option<usize>> {
    let text = format!("{:?}", world.orders);
    orders.iter().map(|order| text.find(order)).collect()
}

fn in_order(world: &World, orders: &[&str]) {
    let places = places(world, orders);
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{places:?} {:?}", world.orders);
}

/// What a conjunction keeps waits for events of the next plan, and is given up as a whole, with all that it keeps. If the change is not, it has all of it.
#[test]
fn a_conjunction_gives_up_what_it_keeps_with_the_change_alone() {
    let nested = concat!(
        "port.in.join = { kind = \"disjunction\", parts = [\"both\", \"ab\"] }\n",
        "port.in.group.both = { kind = \"conjunction\", parts = [\"ab\", \"cb\"] }\n"
    );
    let flat = "port.in.join = { kind = \"conjunction\", parts = [\"ab\", \"cb\"] }\n";
    for (join, limit) in [(flat, "900 ms"), (nested, "900 ms"), (flat, "1 us")] {
        let text = PLAN.replace("queue = { depth = 4 }\n", "").replace("40 ms", limit);
        let text = text.replace("[connection.bc]\nfrom = \"b.out\"\nto = [\"c.in\"]\n", "");
        let text = text.replace("[component.c]", &format!("{join}[component.c]"));
        let plan = format!("{text}[connection.cb]\nfrom = \"c.out\"\nto = [\"b.in\"]\n");
        let (mut told, mut given_up, mut refused) = (0, 0, 0);
        for seed in 0..20 {
            let mut world = World::new(seed, "between");
            world.network.borrow_mut().begin();
            assert_eq!(world.apply(1, &plans::target(&plan)), Outcome::Done(Vec::new()));
            for number in 10..20 {
                world.request(number, Request::Status);
                world.run_until(number);
            }
            world.orders.clear();
            let outcome = world.apply(2, &plans::target(&changed(&plan)));
            let network = world.network.borrow();
            assert!(
                network.wrong.is_empty() && network.lost.is_empty(),
                "{:?} {:?}",
                network.wrong,
                network.lost
            );
            given_up += network.given_up.len() as u64;
            match outcome {
                Outcome::Done(notes) => {
                    told += notes.iter().filter_map(|note| told_up(note)).sum::<u64>();
                    in_order(
                        &world,
                        &["Passivate(\"a\")", "Finish", "SetAside([\"b.in\"])", "Activate(\"a\")"],
                    );
                }
                Outcome::Refused(why) => refused += u64::from(why.contains("rested for more than")),
                Outcome::Status(_) => unreachable!(),
            }
            drop(network);
            calm(&mut world);
            world.judge(limit);
        }
        assert_eq!((told, refused), (given_up, if limit == "1 us" { 20 } else { 0 }));
        assert_eq!(given_up > 0, limit != "1 us", "{join}");
    }
}

/// What is read at instants was read, and what rests does so at the end of an interval.
#[test]
fn reads_at_instants_end_with_an_interval() {
    let plan = PLAN.replace("queue = { depth = 4 }\n", "").replacen(
        "port.tick.period = \"1 ms\"\n[component.c]",
        "port.tick = { period = \"1 ms\", timing = \"let\", samples = [\"in\"] }\n[component.c]",
        1,
    );
    assert_ne!(plan, PLAN);
    let mut world = World::new(1, "between");
    assert_eq!(world.apply(1, &plans::target(&plan)), Outcome::Done(Vec::new()));
    world.orders.clear();
    let next = plans::target(&changed(&plan));
    assert!(matches!(world.apply(2, &next), Outcome::Done(_)));
    // `b` goes on: its interval ends, and others begin.
    in_order(
        &world,
        &["Passivate(\"a\")", "Finish", "EndInterval { component: \"b\", is_last: false", "Set(\"a\""],
    );
    world.orders.clear();
    let other = changed(&plan).replace("[component.c]", "settings.a = 3\n[component.c]");
    assert!(matches!(world.apply(3, &plans::target(&other)), Outcome::Done(_)));
    let last = "EndInterval { component: \"b\", is_last: true";
    in_order(&world, &["Passivate(\"a\")", "Finish", last, "Passivate(\"b\")", "TellPublished", "Set(\"b\""]);
    calm(&mut world);
    world.judge("after");
}

/// What goes by a gateway has come to the next one, and was handed on there, before it is handled.
#[test]
fn gateways_acknowledge_what_is_on_its_way() {
    let plan = PLAN.replace("[connection.bc]", "[connection.bc]\nservice = \"federated\"");
    let mut world = World::new(1, "between");
    assert_eq!(world.apply(1, &plans::target(&plan)), Outcome::Done(Vec::new()));
    world.orders.clear();
    let next = plan.replace("[component.c]", "settings.a = 3\n[component.c]");
    assert!(matches!(world.apply(2, &plans::target(&next)), Outcome::Done(_)));
    in_order(&world, &["Passivate(\"b\")", "Acknowledge", "Finish { connections: [\"bc\"]", "Set(\"b\""]);
    calm(&mut world);
    world.judge("after");
}

/// What is handed over rests, too, also if nothing else does.
#[test]
fn a_process_is_handed_over_within_the_time_of_the_plan() {
    for (limit, expected) in [("1 us", false), ("900 ms", true)] {
        let text = PLAN.replace("process = \"q\"", "process = \"p\"").replace("40 ms", limit);
        let mut world = World::new(1, "between");
        let before = plans::target(&text);
        assert_eq!(world.apply(1, &before), Outcome::Done(Vec::new()));
        let outcome = world.apply(2, &plans::renewed(&before));
        match &outcome {
            Outcome::Refused(why) => assert!(!expected && why.contains("rested for more than 1 us"), "{why}"),
            outcome => assert!(expected && matches!(outcome, Outcome::Done(_)), "{outcome:?}"),
        }
        calm(&mut world);
        world.judge(limit);
    }
}

/// Without the time for it the former plan goes on, whole.
#[test]
fn components_rest_no_longer_than_the_plan_says() {
    let mut world = World::new(1, "between");
    let before = plans::target(PLAN);
    assert_eq!(world.apply(1, &before), Outcome::Done(Vec::new()));
    let numbers = world.numbers();
    let after = plans::target(&changed(PLAN).replace("40 ms", "1 us"));
    let outcome = world.apply(2, &after);
    let Outcome::Refused(why) = &outcome else { panic!("{outcome:?}") };
    assert!(why.contains("a rested for more than 1 us") && why.contains("the former plan goes on"), "{why}");
    calm(&mut world);
    world.judge("given up");
    assert_eq!((*world.supervisor.current() == before, world.numbers()), (true, numbers));
}

/// What would be on its way, or be kept, without an end is told before anything rests.
#[test]
fn what_cannot_come_to_an_end_is_refused() {
    let circle =
        format!("{PLAN}[connection.ba]\nfrom = \"b.out\"\nto = [\"a.in\"]\nqueue = {{ depth = 4 }}\n");
    let both = |text: &str| text.replace("[component.c]", "settings.a = 3\n[component.c]");
    let gateway = PLAN.replace("[connection.bc]", "[connection.bc]\nservice = \"federated\"");
    let hosts = PLAN.replace("[artefact.x]", "[host.n2]\ncores = 2\n[artefact.x]").replace(
        "[process.q]\nartefact = \"x\"\nhost = \"n1\"",
        "[process.q]\nartefact = \"x\"\nhost = \"n2\"",
    );
    assert_ne!(hosts, PLAN);
    let waits = PLAN.replace("[process.q]\n", "[process.q]\ndepends-on = [\"p\"]\n");
    let topic = PLAN.replace(
        "to = [\"c.in\"]\n",
        "to = [\"topic:t\"]\n[connection.tc]\nfrom = \"topic:t\"\nto = [\"c.in\"]\n[topic.t]\ntype = \"E\"\n",
    );
    let passing = format!("{gateway}[service.gate]\nkind = \"federated\"\nat = \"p\"\nttl = 2\n");
    for (text, next, expected) in [
        (hosts.as_str(), changed(&hosts), "of several hosts"),
        (&waits, both(&waits), "of connections and depends-on"),
        (&topic, both(&topic), "the connections bc and tc meet at a topic"),
        (&passing, both(&passing), "by gateways that pass events on"),
        (&circle, both(&changed(&circle)), "in a circle"),
    ] {
        let mut world = World::new(1, "between");
        assert_eq!(world.apply(1, &plans::target(text)), Outcome::Done(Vec::new()));
        let (lines, next) = (world.lines, plans::target(&next));
        let outcome = world.apply(2, &next);
        assert!(
            matches!(&outcome, Outcome::Refused(why) if why.contains(expected) && why.contains("take out quiesce")),
            "{outcome:?}"
        );
        assert_eq!(world.lines, lines, "nothing was told to a process");
    }
}
