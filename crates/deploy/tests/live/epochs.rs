//! No event of a former plan comes to a component after an event of the next one, also to those that go on; and where the plan says so, none is
//! handled after the change.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use testkit::patience::patiently;

use crate::hosts::Site;
use crate::place::{Place, Supervisor};

/// Components that show readings.
const VIEWS: usize = 5;
/// Plans that follow each other, on one host and on two.
const PLANS: u32 = 25;
const PLANS_OF_HOSTS: u32 = 10;

/// What a command says of a change that was too late on a busy machine: of what rests, of what it handles, of a host, and of the manager.
const LATE: [&str; 4] = [
    "rested for more than",
    "still wait, or their handler works",
    "did not come to quiesce within",
    "the manager was silent for",
];
/// A host that has not followed a decision in time says nothing of it.
const FOLLOWS_LATE: &str = "host east has not followed yet";

/// How fast readings come, and what becomes of them until they are shown.
#[derive(Clone, Copy)]
struct Pace {
    /// Keys of the plan.
    head: &'static str,
    /// Milliseconds from one to the next.
    period: u32,
    /// Milliseconds that it takes to show one, where that is slow.
    slow: u32,
    /// Deliveries that wait at most.
    depth: u32,
}

/// A sensor that calls itself by the number of its plan; what shows its readings is in its process, by a channel and directly, and in another one, by
/// topics and by a gateway.
fn plan(program: &str, number: u32, pace: Pace) -> String {
    let Pace { head, period, slow, depth } = pace;
    let mut text = format!(
        "{head}id = \"epochs\"\nmanifests = [\"types.json\"]\n\n[artefact.views]\nlocation = [\"{program}\"]\n\n[host.here]\ncores = 1\n\n\
         [component.sensor]\ntype = \"Sensor\"\nprocess = \"one\"\nport.tick.period = \"{period} ms\"\nsettings.name = \"{number}\"\n\n"
    );
    for process in ["one", "other"] {
        let _ = write!(text, "[process.{process}]\nhost = \"here\"\nartefact = \"views\"\n\n");
    }
    // No gateway is taken for dead because the machine is busy.
    for (name, process, peer) in [("g1", "one", "g2"), ("g2", "other", "g1")] {
        let _ = write!(
            text,
            "[service.{name}]\nkind = \"federated\"\nat = \"{process}\"\npeers = [\"{peer}\"]\nlease = \"10 min\"\n\n"
        );
    }
    // Something waits in the queues of some.
    let views = [
        ("queued", "one", "channel", slow),
        ("direct", "one", "direct", 0),
        ("far", "other", "dds", 0),
        ("late", "other", "dds", slow),
        ("gate", "other", "federated", slow),
    ];
    for (name, process, service, slow) in views {
        let _ = write!(
            text,
            "[component.{name}]\ntype = \"View\"\nprocess = \"{process}\"\nsettings.name = \"{name}\"\nsettings.slow = {slow}\n\n\
             [connection.{name}]\nfrom = \"sensor.out\"\nto = [\"{name}.in\"]\nservice = \"{service}\"\n"
        );
        if service != "direct" {
            let _ = write!(text, "queue = {{ depth = {depth} }}\n\n");
        }
    }
    text
}

/// A reading that is shown.
struct Shown<'s> {
    /// What shows it.
    name: &'s str,
    /// The plan that it is of, and that of the one before that is shown there.
    of: u32,
    before: u32,
    /// The latest plan of which anything has shown a reading before.
    latest: u32,
    /// Its number, and that of the one before that is shown there.
    number: u32,
    former: Option<u32>,
}

/// Applies one plan after the other, and says what is shown.
fn follow(name: &str, pace: Pace, sees: impl Fn(&Shown<'_>) + Sync) {
    testkit::namespace::alone(|| {
        let place = Place::new(name);
        let program = Place::example("descriptors");
        place.ok(&format!("describe {program} -o {{types.json}}"));
        place.has("plan.toml", &plan(&program, 0, pace));
        let mut supervisor = place.launched_with("launch {plan.toml}", 2);
        let apply = |number| {
            place.has("plan.toml", &plan(&program, number, pace));
            place.deploy("apply {plan.toml}")
        };
        change(&mut supervisor, PLANS, apply, &sees);
        supervisor.interrupt();
        supervisor.ended();
        supervisor.all_gone();
    });
}

/// Applies so many plans, one after the other, and says what is shown.
fn change(
    supervisor: &mut Supervisor,
    plans: u32,
    apply: impl Fn(u32) -> (i32, String, String),
    sees: &impl Fn(&Shown<'_>),
) {
    // By what shows readings: the plan that its last one was of.
    let mut last: BTreeMap<String, u32> = BTreeMap::new();
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let mut latest = 0;
    for number in 0..plans {
        if number > 0 {
            // A machine that is busy may not handle in time what waits: the former plan goes on, and it is tried again.
            patiently("a change in time", || {
                let (code, out, told) = apply(number);
                let is_late = LATE.iter().any(|words| told.contains(words));
                assert!(code == 0 || is_late, "apply: {out}{told}");
                (code == 0).then_some(())
            });
        }
        while last.len() < VIEWS || last.values().any(|of| *of < number) {
            let line = supervisor.prints_line("a reading", |line| line.split(' ').count() == 4);
            let words: Vec<&str> = line.split(' ').collect();
            let (Ok(of), Ok(number)) = (words[2].parse::<u32>(), words[3].parse::<u32>()) else {
                continue;
            };
            let name = words[0];
            let before = last.insert(name.to_owned(), of).unwrap_or(0);
            let former = numbers.insert(name.to_owned(), number);
            sees(&Shown { name, of, before, latest, number, former });
            latest = latest.max(of);
        }
    }
}

#[test]
fn no_event_of_a_former_plan_comes_after_one_of_the_next() {
    let pace = Pace { head: "", period: 1, slow: 2, depth: 16 };
    follow("epochs", pace, |Shown { name, of, before, .. }| {
        assert!(before <= of, "{name} gets a reading of plan {of} after one of plan {before}");
    });
}

/// All write to one pipe, so that their lines are in the order in which readings were handled. Queues have room for all that waits, and none is
/// missing.
#[test]
fn no_event_of_a_former_plan_is_handled_in_the_next() {
    let pace = Pace { head: "quiesce = \"15 s\"\n", period: 10, slow: 6, depth: 1_000 };
    follow("quiescent", pace, |Shown { name, of, latest, number, former, .. }| {
        assert!(latest <= of, "{name} handles a reading of plan {of} in plan {latest}");
        assert!(former.is_none_or(|it| it + 1 == *number), "{name} shows reading {number} after {former:?}");
    });
}

/// The same where what shows readings is on two hosts. The node managers print to one pipe, with all of their processes.
#[test]
fn no_event_of_a_former_plan_is_handled_in_the_next_on_any_host() {
    let pace = Pace { head: "quiesce = \"15 s\"\n", period: 10, slow: 6, depth: 1_000 };
    testkit::namespace::alone(|| {
        let site = Site::new("quiescent-hosts");
        let program = Place::example("descriptors");
        site.site.ok(&format!("describe {program} -o {{types.json}}"));
        let has = |number| {
            let plan = plan(&program, number, pace)
                .replace("[host.here]\ncores = 1\n", "[host.east]\ncores = 1\n[host.west]\ncores = 1\n")
                .replace("[process.one]\nhost = \"here\"", "[process.one]\nhost = \"east\"")
                .replace("host = \"here\"", "host = \"west\"")
                // Gateways of several hosts say where they are.
                .replace("[service.g1]\n", "[service.g1]\naddress = \"127.0.0.1:7491\"\n")
                .replace("[service.g2]\n", "[service.g2]\naddress = \"127.0.0.1:7492\"\n");
            site.site.has("plan.toml", &plan);
        };
        let mut manager = site.manager();
        let (mut east, mut west) = site.nodes_in_order();
        has(0);
        site.ok("launch {plan.toml}");
        let apply = |number| {
            has(number);
            let (code, out, told) = site.deploy("apply {plan.toml}");
            let words = ["host east: nothing of the former plan is left to be handled: ", FOLLOWS_LATE];
            assert!(code != 0 || words.iter().any(|words| out.contains(words)), "{out}");
            (code, out, told)
        };
        change(&mut east, PLANS_OF_HOSTS, apply, &|Shown { name, of, latest, number, former, .. }| {
            assert!(latest <= of, "{name} handles a reading of plan {of} in plan {latest}");
            assert!(
                former.is_none_or(|it| it + 1 == *number),
                "{name} shows reading {number} after {former:?}"
            );
        });
        for node in [&mut east, &mut west] {
            node.interrupt();
            node.ended();
        }
        east.all_gone();
        manager.interrupt();
        manager.ended();
        assert!(site.is_empty());
    });
}
