//! Plans whose bounds can be worked out by hand.
use assembly::Plan;
use diagnostics::Source;
use response::Limits;
use schedulability::{Admission, Deployed, Effect, Effort, State, admit, changes, improve};

use crate::read;

/// Two components, each with a timer and a lane of its own on one core. `COSTS` and more are put in place.
pub(crate) const PLAN: &str = r#"
[host.n1]
cores = 2
costs = { wake = "0 ns", switch = "0 ns", dispatch = "0 ns", slack = "0 ns", clock-drift = 0, throttling = { runtime = "1 s", period = "1 s" } }

[container.all]
process = "p"
lanes.a = { class = "fifo", priority = 20, cores = [0] }
lanes.b = { class = "fifo", priority = 10, cores = [0] }

[component.control]
type = "Control"
host = "n1"
process = "p"
container = "all"
lane = "a"
port.tick.period = "10 ms"

[component.log]
type = "Log"
host = "n1"
process = "p"
container = "all"
lane = "b"
port.tick.period = "50 ms"

[connection.noted]
from = "control.out"
to = ["log.noted"]
queue = { depth = 1, full = "drop-oldest" }

[chain.control]
path = ["control.tick", "control.out"]
reaction = "2 ms"

[chain.log]
path = ["log.tick"]
reaction = "8 ms"
"#;

/// Enough for plans of this size.
pub(crate) const EFFORT: Effort =
    Effort { each: Limits { steps: 100_000, horizon: 3_600_000_000_000 }, total: 10_000_000 };

pub(crate) const TYPES: &str = r#"
[component.Control.port]
tick = { kind = "timer", execution = { worst = "2 ms", steps = ["2 ms", "out"] } }
out = { kind = "publisher", type = "E" }
[component.Log.port]
tick = { kind = "timer", triggers = [], execution = { worst = "6 ms" } }
noted = { kind = "consumer", type = "E", triggers = [], execution = { worst = "0 ns" } }
"#;

pub(crate) fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    })
}

fn admitted(plan: &str, types: &str) -> Admission {
    let (plan, types) = read(plan, types);
    admit(&[Deployed { plan: &plan, types: &types, transfers: None }], Limits::default())
}

fn state<'a>(admission: &'a Admission, chain: &str) -> &'a State {
    &admission.chains.iter().find(|it| it.name == chain).unwrap().state
}

/// The example of the model: 2 ms and 8 ms, since an instant of the control comes at the same time, and the next one 10 ms later.
#[test]
fn the_example_of_the_model() {
    let admission = admitted(PLAN, TYPES);
    assert_eq!(admission.obstacles, []);
    assert_eq!(admission.chains[0].reaction, (Some(2_000_000), Some(2_000_000)));
    assert_eq!(admission.chains[1].reaction, (Some(8_000_000), Some(8_000_000)));
    assert!(admission.is_whole());
}

/// Each process has a probe on a core, which takes its time before all lanes as a stall does that is declared.
#[test]
fn probes_take_the_time_that_the_plan_says() {
    let reaction = |changes: &[(&str, &str)]| admitted(&changed(PLAN, changes), TYPES).chains[0].reaction.1;
    let (probe, stall) = ("probe = \"20 us\"", "{ length = \"20 us\", distance = \"500 us\" }");
    let with = |more: &str| format!("slack = \"0 ns\", {more}");
    let second = ("[container.all]", "[process.q]\nhost = \"n1\"\n[container.all]");
    // Five wakes of the probe begin within 2.1 ms.
    let one = reaction(&[("slack = \"0 ns\"", &with(probe))]);
    assert_eq!(one, Some(2_100_000));
    assert_eq!(one, reaction(&[("slack = \"0 ns\"", &with(&format!("stalls = [{stall}]")))]));
    let two = reaction(&[("slack = \"0 ns\"", &with(probe)), second]);
    assert_eq!(two, Some(2_200_000));
    assert_eq!(two, reaction(&[("slack = \"0 ns\"", &with(&format!("stalls = [{stall}, {stall}]")))]));
}

/// One nanosecond less is refused, with that nanosecond.
#[test]
fn what_is_missing_is_told() {
    let plan = changed(PLAN, &[("reaction = \"2 ms\"", "reaction = \"1999999 ns\"")]);
    let plan = plan.split("[chain.log]").next().unwrap().to_owned();
    let admission = admitted(&plan, TYPES);
    assert_eq!(*state(&admission, "control"), State::Refused { missing: 1 });
    assert_eq!(admission.chains[0].shares[0].port, "control.tick");
}

/// What a plan does not say is no zero.
#[test]
fn what_is_not_said_has_no_bound() {
    let plan = PLAN.split("[chain.log]").next().unwrap();
    let no_bound = |from: &str, to: &str, of_types: bool| {
        let plan = if of_types { plan.to_owned() } else { changed(plan, &[(from, to)]) };
        let types = if of_types { changed(TYPES, &[(from, to)]) } else { TYPES.to_owned() };
        let admission = admitted(&plan, &types);
        match state(&admission, "control") {
            State::NoBound { what, .. } => what.clone(),
            other => panic!("{from} {to}: {other:?}"),
        }
    };
    let costs = plan.lines().find(|line| line.starts_with("costs")).unwrap();
    for (from, to, of_types, expected) in [
        (costs, "", false, "what the processors of n1 take"),
        ("port.tick.period = \"10 ms\"", "", false, "\"control.tick\" has no period"),
        ("cores = [0]", "cores = [0, 1]", false, "may run on 2 cores"),
        ("\nlane = \"a\"", "", false, "no real-time class"),
        (
            "lanes.b = { class = \"fifo\", priority = 10",
            "lanes.b = { class = \"round-robin\", priority = 10",
            false,
            "round-robin",
        ),
        (
            "drop-oldest\" }",
            "drop-oldest\" }\nqos = { order-policy = \"priority\" }",
            false,
            "order of priorities",
        ),
        (
            "execution = { worst = \"2 ms\", steps = [\"2 ms\", \"out\"] }",
            "triggers = [\"out\"]",
            true,
            "how long its handler takes",
        ),
        (", steps = [\"2 ms\", \"out\"]", "", true, "do not say when it uses \"out\""),
        ("execution = { worst = \"6 ms\" }", "required = false", true, "\"log.tick\": it is not said"),
    ] {
        let what = no_bound(from, to, of_types);
        assert!(what.contains(expected), "{from} → {to}: {what}");
    }
    // A handler with nothing after it, on threads of no real-time class, keeps none of the others.
    let apart = changed(plan, &[("class = \"fifo\", priority = 10, cores = [0]", "class = \"normal\"")]);
    let types = changed(TYPES, &[("execution = { worst = \"6 ms\" }", "required = false")]);
    assert_eq!(*state(&admitted(&apart, &types), "control"), State::Admitted);
}

/// The kernel keeps no thread of the class deadline on one core of two: only a control group can.
#[test]
fn a_deadline_lane_has_a_bound_where_the_kernel_keeps_it_on_its_core() {
    let plan = PLAN.split("[chain.log]").next().unwrap();
    let deadline = "class = \"deadline\", runtime = \"8 ms\", period = \"50 ms\", cores = [0]";
    let told = |changes: &[(&str, &str)]| {
        let lane = ("class = \"fifo\", priority = 10, cores = [0]", deadline);
        let plan = changed(plan, &[&[lane][..], changes].concat());
        let admission = admitted(&plan, TYPES);
        match state(&admission, "control") {
            State::NoBound { what, .. } => what.clone(),
            _ => admission.obstacles.iter().map(ToString::to_string).collect(),
        }
    };
    assert!(told(&[]).contains("keeps no thread of the class deadline on one core of several"));
    let group = "[process.p]\ncgroup = \"partition\"\n[container.all]";
    assert_eq!(told(&[("[container.all]", group)]), "");
    assert_eq!(told(&[("cores = 2", "cores = 1")]), "");
}

/// A thread that stays awake takes what others would have, so it has a core for itself, or nothing has a bound.
#[test]
fn threads_that_stay_awake_disturb_no_bound() {
    let plan = PLAN.split("[chain.log]").next().unwrap();
    let (low, high) = ("priority = 10, cores = [0]", "priority = 20, cores = [0]");
    let no_bound =
        |changes: &[(&str, &str)]| match state(&admitted(&changed(plan, changes), TYPES), "control") {
            State::NoBound { what, .. } => what.clone(),
            _ => String::new(),
        };
    let spins = |said: &str| format!("{said}, spin = \"1 us\"");
    assert!(no_bound(&[(high, &spins(high))]).contains("takes time of lane all.b"));
    assert!(no_bound(&[(low, &spins(low))]).contains("takes time of lane all.a"));
    let apart = (low, "priority = 10, cores = [1]");
    assert_eq!(no_bound(&[apart, (high, &spins(high))]), "");
    assert_eq!(no_bound(&[(high, &format!("{high}, spin = \"0 s\""))]), "");
    let throttled = ("runtime = \"1 s\"", "runtime = \"950 ms\"");
    assert!(no_bound(&[apart, throttled, (high, &spins(high))]).contains("throttled for it"));
    let two = format!("{}, threads = 2", spins(high));
    assert!(no_bound(&[apart, (high, &two)]).contains("the other threads of the lane"));
    // Of no real-time class: it keeps no other one from anything.
    let normal = ("class = \"fifo\", priority = 10, cores = [0]", "class = \"normal\", spin = \"1 us\"");
    let types = changed(TYPES, &[("execution = { worst = \"6 ms\" }", "required = false")]);
    assert_eq!(*state(&admitted(&changed(plan, &[normal]), &types), "control"), State::Admitted);
}

/// Dispatch by threads of ports and by deadlines, and what silence lets handlers do, are not in the analysis.
#[test]
fn what_serves_otherwise_has_no_bound() {
    let plan = PLAN.split("[chain.log]").next().unwrap();
    let no_bound =
        |from: &str, to: &str| match state(&admitted(&changed(plan, &[(from, to)]), TYPES), "control") {
            State::NoBound { what, .. } => what.clone(),
            other => panic!("{to}: {other:?}"),
        };
    for dispatch in ["own", "earliest-deadline"] {
        let lane = format!("priority = 10, cores = [0], dispatch = \"{dispatch}\"");
        let what = no_bound("priority = 10, cores = [0]", &lane);
        assert!(what.contains(&format!("the dispatch {dispatch} is not analysed")), "{what}");
    }
    for key in ["silence", "publisher-silence"] {
        let what = no_bound("to = [\"log.noted\"]", &format!("to = [\"log.noted\"]\n{key} = \"1 ms\""));
        assert!(what.contains("silence on \"noted\""), "{what}");
    }
}

/// Threads without a real-time class that share a component with others have to stay on one core, since they run with the priority of
/// the threads that wait for them.
#[test]
fn shared_components_pin_the_others() {
    let plan = PLAN.split("[chain.log]").next().unwrap();
    let shared = [
        ("class = \"fifo\", priority = 10, cores = [0]", "class = \"normal\""),
        ("lane = \"b\"", "lane = \"b\"\nport.noted.lane = \"a\""),
    ];
    let admission = admitted(&changed(plan, &shared), TYPES);
    let State::NoBound { what, .. } = state(&admission, "control") else { panic!() };
    assert!(what.contains("every core; it shares a component"), "{what}");
}

/// The cheapest change: the lower lane has the shorter limit.
#[test]
fn a_change_is_found_and_makes_the_plan_right() {
    let plan = changed(
        PLAN.split("[chain.log]").next().unwrap(),
        &[("priority = 20, cores = [0]", "priority = 5, cores = [0]")],
    );
    let (plan, types) = read(&plan, TYPES);
    let deployed = [Deployed { plan: &plan, types: &types, transfers: None }];
    let before = admit(&deployed, Limits::default());
    // 6 ms of the log before its own 2 ms.
    assert_eq!(*state(&before, "control"), State::Refused { missing: 6_000_000 });
    let found = changes(&deployed, EFFORT).changes;
    assert!(found.iter().any(|it| it.effect == Effect::Priority { was: 5, becomes: 11 }), "{found:?}");
    assert!(found.iter().any(|it| it.effect == Effect::Core { was: Some(0), becomes: 1 }), "{found:?}");
    let improved = improve(&deployed, EFFORT);
    assert!(improved.admission.is_whole());
    assert_eq!(improved.changes.len(), 1);
    let again =
        admit(&[Deployed { plan: &improved.plans[0], types: &types, transfers: None }], Limits::default());
    assert!(again.is_whole());
}

/// Plans of any size are answered soon: those that are too large have no bound, with that reason.
#[test]
fn too_large_a_plan_has_no_bound() {
    let component = |index: usize| {
        format!(
            "[component.c{index}]\ntype = \"Control\"\nhost = \"n1\"\nprocess = \"p\"\ncontainer = \"all\"\nlane = \"a\"\nport.tick.period = \"10 s\"\n"
        )
    };
    let plan: String =
        PLAN.split("[chain.log]").next().unwrap().to_owned() + &(0..2_000).map(component).collect::<String>();
    let (plan, types) = read(&plan, TYPES);
    let deployed = [Deployed { plan: &plan, types: &types, transfers: None }];
    let State::NoBound { what, .. } = &admit(&deployed, Limits::default()).chains[0].state else { panic!() };
    assert!(what.contains("more than 2000 handlers"), "{what}");
    assert_eq!(changes(&deployed, EFFORT).changes, []);
}

/// The log keeps the last note, and its timer works with it.
#[test]
fn a_timer_samples_what_a_consumer_leaves() {
    let chain = "[chain.log]\npath = [\"control.tick\", \"log.noted\", \"log.tick\"]\nreaction = \"1 s\"\nage = \"1 s\"";
    let plan = changed(
        PLAN,
        &[
            ("port.tick.period = \"50 ms\"", "port.tick.period = \"50 ms\"\nport.tick.samples = [\"noted\"]"),
            ("[chain.log]\npath = [\"log.tick\"]\nreaction = \"8 ms\"", chain),
            ("depth = 1,", "depth = 4,"),
        ],
    );
    let admission = admitted(&plan, TYPES);
    assert_eq!(admission.obstacles, []);
    assert_eq!(*state(&admission, "log"), State::Admitted);
    let sampled = admission.chains.iter().find(|it| it.name == "log").unwrap();
    let (reaction, age) = (sampled.reaction.1.unwrap(), sampled.age.1.unwrap());
    // A note of 0 that comes at 2 ms, just after the log's timer has read, is read 50 ms later, and that ends 6 ms after.
    assert!((58_000_000..=76_000_000).contains(&reaction), "{reaction}");
    // The timer is due just before the note of 50 ms comes at 52 ms: it reads that of 40 ms, and ends at 58 ms.
    assert!((18_000_000..=38_000_000).contains(&age), "{age}");
    assert!(sampled.shares.iter().any(|share| share.cause == "until the value is read"), "{sampled:?}");
    // Without the link nothing goes that way.
    let plan = plan.replace("port.tick.samples = [\"noted\"]", "");
    let source = Source { file: "plan.toml", text: &plan };
    let (read, places) = Plan::read(source).unwrap();
    let (_, types) = crate::read(PLAN, TYPES);
    let wrong = read.check(source, &places, &types);
    assert!(wrong[0].to_string().contains("nothing goes this way within a component"), "{wrong:?}");
}

/// What is missing is listed at once: once all of it is there, nothing more is.
#[test]
fn all_that_is_missing_is_told_at_once() {
    let plan = changed(
        PLAN,
        &[
            ("class = \"fifo\", priority = 20, cores = [0]", "class = \"normal\""),
            (
                "class = \"fifo\", priority = 10, cores = [0]",
                "class = \"round-robin\", priority = 10, dispatch = \"own\"",
            ),
            ("port.tick.period = \"10 ms\"\n", ""),
            (
                "costs = { wake = \"0 ns\", switch = \"0 ns\", dispatch = \"0 ns\", slack = \"0 ns\", clock-drift = 0, throttling = { runtime = \"1 s\", period = \"1 s\" } }\n",
                "",
            ),
        ],
    );
    let types = TYPES
        .replace(", execution = { worst = \"2 ms\", steps = [\"2 ms\", \"out\"] }", "")
        .replace(", execution = { worst = \"6 ms\" }", "")
        .replace(", execution = { worst = \"0 ns\" }", "");
    let admission = admitted(&plan, &types);
    let told: Vec<String> =
        admission.obstacles.iter().chain(&admission.lacking).map(ToString::to_string).collect();
    for (path, what) in [
        ("host.n1", "what the processors of n1 take"),
        ("component.control", "the timer \"control.tick\" has no period"),
        ("component.control", "\"control.tick\": it is not said how long its handler takes"),
        ("component.log", "\"log.tick\": it is not said how long its handler takes"),
        ("component.log", "\"log.noted\": it is not said how long its handler takes"),
        ("container.all.lanes.a", "threads of the class normal have no bound"),
        ("container.all.lanes.b", "the class round-robin is not analysed"),
        ("container.all.lanes.b", "the dispatch own is not analysed"),
        ("container.all.lanes.b", "its threads may run on every core"),
    ] {
        let is_there = |line: &String| line.starts_with(&format!("{path}: ")) && line.contains(what);
        assert!(told.iter().any(is_there), "{path}: {what}\n{}", told.join("\n"));
    }
    assert_eq!(told.len(), 9, "{}", told.join("\n"));
    // The steps that a handler needs come with its time, and all ports that steps lack at once.
    assert!(told.iter().any(|line| line.contains("steps = [\"TIME\", \"out\"]")), "{}", told.join("\n"));
    assert_eq!(admitted(PLAN, TYPES).lacking, []);
}
