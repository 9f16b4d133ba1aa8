//! Connections with a limit of their latency.
use response::Limits;
use schedulability::{
    Admission, ConnectionVerdict, Deployed, Effect, State, admit, assign, changes, improve,
};

use crate::by_hand::{EFFORT, PLAN, TYPES, changed};
use crate::read;

/// The plan without chains, in which the note has this limit.
fn limited(latency: &str, changes: &[(&str, &str)]) -> String {
    let plan = PLAN.split("[chain.control]").next().unwrap();
    let queue = "queue = { depth = 1, full = \"drop-oldest\" }";
    let limit = format!("queue = {{ depth = 4, full = \"drop-oldest\" }}\nlatency = \"{latency}\"");
    changed(&changed(plan, &[(queue, &limit)]), changes)
}

fn admitted(plan: &str, types: &str) -> Admission {
    let (plan, types) = read(plan, types);
    admit(&[Deployed { plan: &plan, types: &types, transfers: None }], Limits::default())
}

fn of<'a>(admission: &'a Admission, to: &str) -> &'a ConnectionVerdict {
    admission.connections.iter().find(|it| it.to == to).unwrap()
}

fn without_bound(admission: &Admission, to: &str) -> String {
    match &of(admission, to).state {
        State::NoBound { what, .. } => what.clone(),
        other => panic!("{other:?}"),
    }
}

/// The note comes as the control ends. The log's timer may be due just before, and takes 6 ms. That the control, which ran before the note,
/// does not run again for 8 ms is not used: its 2 ms count once more.
#[test]
fn a_limit_is_kept_or_what_is_missing_is_told() {
    let admission = admitted(&limited("8 ms", &[]), TYPES);
    assert_eq!(admission.obstacles, []);
    let noted = of(&admission, "log.noted");
    assert_eq!((noted.state.clone(), noted.latency), (State::Admitted, (Some(8_000_000), Some(8_000_000))));
    assert!(admission.is_whole());
    let admission = admitted(&limited("7999999 ns", &[]), TYPES);
    assert_eq!(of(&admission, "log.noted").state, State::Refused { missing: 1 });
    assert!(!admission.is_whole());
    let shares: u64 = of(&admission, "log.noted").shares.iter().map(|share| share.time).sum();
    assert_eq!(shares, 8_000_000);
    // Without a limit there is a bound all the same, and nothing to be refused.
    let admission = admitted(&limited("1 us", &[("latency = \"1 us\"", "")]), TYPES);
    assert_eq!(of(&admission, "log.noted").latency, (None, Some(8_000_000)));
    assert!(admission.is_whole() && admission.limited().count() == 0);
}

/// The cheapest change that admits it is offered, and made.
#[test]
fn a_change_is_offered() {
    let below = [
        ("priority = 20, cores = [0]", "priority = 5, cores = [0]"),
        ("full = \"drop-oldest\" }", "full = \"drop-oldest\" }\nfilter = \"\""),
    ];
    // A lane of its own for the note, below the log's.
    let plan =
        limited("1 ms", &below[..1]).replace("lane = \"b\"\n", "lane = \"b\"\nport.noted.lane = \"c\"\n");
    let plan = changed(
        &plan,
        &[("lanes.b =", "lanes.c = { class = \"fifo\", priority = 3, cores = [1] }\nlanes.b =")],
    );
    let types =
        changed(TYPES, &[("[component.Log.port]", "[component.Log]\nparallel = true\n[component.Log.port]")]);
    let plan = changed(&plan, &[("priority = 3, cores = [1]", "priority = 3, cores = [0]")]);
    let (plan, types) = read(&plan, &types);
    let deployed = [Deployed { plan: &plan, types: &types, transfers: None }];
    let before = admit(&deployed, Limits::default());
    assert!(
        matches!(of(&before, "log.noted").state, State::Refused { missing } if missing >= 5_000_000),
        "{before:?}"
    );
    let found = changes(&deployed, EFFORT).changes;
    let lane = "container.all.lanes.c";
    assert!(
        found.iter().any(|it| it.path == lane && it.effect == Effect::Core { was: Some(0), becomes: 1 }),
        "{found:?}"
    );
    assert!(
        found.iter().any(|it| it.path == lane && matches!(it.effect, Effect::Priority { .. })),
        "{found:?}"
    );
    let improved = improve(&deployed, EFFORT);
    assert!(improved.admission.is_whole() && improved.changes.len() == 1, "{:?}", improved.changes);
}

/// Priorities are given for the limits of connections, too; components without lanes get one.
#[test]
fn what_a_plan_leaves_open_is_filled_in() {
    let plan = limited(
        "8 ms",
        &[("container = \"all\"\nlane = \"a\"\n", ""), ("container = \"all\"\nlane = \"b\"\n", "")],
    );
    let (plan, types) = read(&plan, TYPES);
    let deployed = [Deployed { plan: &plan, types: &types, transfers: None }];
    assert!(without_bound(&admit(&deployed, Limits::default()), "log.noted").contains("host: "));
    let assigned = assign(&deployed, EFFORT);
    assert!(assigned.admission.is_whole(), "{:?}", assigned.admission.connections);
    let lanes = assigned.changes.iter().filter(|it| matches!(it.effect, Effect::Lane { .. })).count();
    assert_eq!(lanes, 2, "{:?}", assigned.changes);
}

/// Where nothing is proved, the reason is told, and the connection is not admitted.
#[test]
fn what_has_no_bound() {
    let normal = [("class = \"fifo\", priority = 10, cores = [0]", "class = \"normal\"")];
    let admission = admitted(&limited("1 s", &normal), TYPES);
    assert!(
        without_bound(&admission, "log.noted").starts_with("host: \"log.noted\" runs on all.b"),
        "{admission:?}"
    );
    assert!(!admission.is_whole());
    let costs = PLAN.lines().find(|line| line.starts_with("costs")).unwrap();
    let admission = admitted(&limited("1 s", &[(costs, "")]), TYPES);
    assert!(without_bound(&admission, "log.noted").contains("what the processors of n1 take"));
    // A queue that two notes of one run may overflow.
    let types = changed(TYPES, &[("steps = [\"2 ms\", \"out\"]", "steps = [\"out\", \"2 ms\", \"out\"]")]);
    let admission = admitted(&limited("1 s", &[("depth = 4", "depth = 1")]), &types);
    assert!(without_bound(&admission, "log.noted").contains("may be full"));
    // Nobody pushes.
    let types = changed(
        TYPES,
        &[(
            "execution = { worst = \"2 ms\", steps = [\"2 ms\", \"out\"] }",
            "triggers = [], execution = { worst = \"2 ms\" }",
        )],
    );
    let admission = admitted(&limited("1 s", &[]), &types);
    assert!(without_bound(&admission, "log.noted").contains("no handler is known to push"), "{admission:?}");
    // The other end is in another program.
    let topic = "latency = \"1 s\"\n[topic.t]\ntype = \"E\"\n[connection.told]\nfrom = \"control.out\"\nto = [\"topic:t\"]\nlatency = \"1 s\"\n";
    let admission = admitted(&limited("1 s", &[("latency = \"1 s\"", topic)]), TYPES);
    assert!(without_bound(&admission, "topic:t").contains("is not in the plan"), "{admission:?}");
    assert_eq!(of(&admission, "log.noted").state, State::Admitted);
}

/// A transfer is a part of the latency, and each end has a verdict of its own.
#[test]
fn a_transfer_is_added() {
    let far = "service = \"dds\"\ntransfer = { most = \"3 ms\", measured = true }\n[host.n2]\ncores = 1\nCOSTS\n[container.far]\nprocess = \"q\"\nlanes.c = { class = \"fifo\", priority = 10, cores = [0] }\n[component.screen]\ntype = \"Screen\"\nhost = \"n2\"\nprocess = \"q\"\ncontainer = \"far\"\nlane = \"c\"\n";
    let costs = PLAN.lines().find(|line| line.starts_with("costs")).unwrap();
    let erring = costs.replace("clock-drift = 0", "clock-drift = 0, clock-error = \"1 us\"");
    let plan = limited(
        "4 ms",
        &[("latency = \"4 ms\"", &format!("latency = \"4 ms\"\n{}", far.replace("COSTS", &erring)))],
    );
    let plan = changed(&plan, &[("to = [\"log.noted\"]", "to = [\"log.noted\", \"screen.noted\"]")]);
    let types = format!(
        "{TYPES}[component.Screen.port]\nnoted = {{ kind = \"consumer\", type = \"E\", triggers = [], execution = {{ worst = \"500 us\" }} }}\n"
    );
    let admission = admitted(&plan, &types);
    assert_eq!(admission.obstacles, []);
    let screen = of(&admission, "screen.noted");
    assert_eq!((screen.latency.1, screen.is_conditional), (Some(3_000_000 + 500_000 + 1_000), true));
    assert_eq!(screen.state, State::Admitted);
    // The log is in another process as far as its queue knows: the transfer, and 6 ms of its timer, with 2 ms of the control.
    assert!(matches!(of(&admission, "log.noted").state, State::Refused { .. }), "{admission:?}");
}
