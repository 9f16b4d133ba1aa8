//! Claims: what is true is not refuted, and one nanosecond less is, with words that say how.
use processors::{
    Claims, Effort, Goal, Join, Keep, Scheduling, SourceKind, Stall, System, Target, Throttling, explain,
    refute, refute_some,
};

use super::draft::{Draft, runs};

const EFFORT: Effort = Effort { climbing: 200, random: 40, events: 200 };

fn claim(goal: Goal, value: u64) -> Claims {
    let mut claims = Claims::default();
    let (list, index) = match goal {
        Goal::Reaction(chain) => (&mut claims.reaction, chain),
        Goal::Age(chain) => (&mut claims.age, chain),
        Goal::Response(port) | Goal::Overruns(port) => (&mut claims.response, port),
        Goal::Backlog(port) => (&mut claims.backlog, port),
        Goal::Latency(connection) => (&mut claims.latency, connection),
    };
    list.resize(index + 1, None);
    list[index] = Some(value);
    claims
}

/// Holds for a claim of the value, not for one of one less; gives the explanation.
fn exactly(system: &System, goal: Goal, value: u64) -> String {
    for seed in 0..3 {
        let found = refute(system, &claim(goal, value), EFFORT, seed);
        assert!(found.is_none(), "{goal:?} was {:?}, not {value}", found.map(|found| found.exceedance));
    }
    let found = (0..3).find_map(|seed| refute(system, &claim(goal, value - 1), EFFORT, seed));
    let found = found.unwrap_or_else(|| panic!("{goal:?} of {} is not refuted", value - 1));
    assert_eq!((found.exceedance.seen.value, found.exceedance.claimed), (value, value - 1));
    assert_eq!(found.exceedance.what, goal);
    explain(system, &found.attack, goal)
}

/// Two lanes of one component, and a third that takes it all, with everything that a host can cost.
fn costly() -> (Draft, [usize; 3]) {
    let mut draft = Draft::new(1);
    let lanes = [30, 20, 10].map(|priority| draft.fifo(0, 0, priority));
    let (one, other) = (draft.component(0), draft.component(0));
    let ports = [
        draft.port(one, lanes[0], vec![runs(2_000)]),
        draft.port(other, lanes[1], vec![runs(3_000)]),
        draft.port(one, lanes[2], vec![runs(4_000)]),
    ];
    for (port, period) in ports.into_iter().zip([20_000, 50_000, 100_000]) {
        draft.timer(port, period);
    }
    (draft, ports)
}

/// Of two claims one is a goal, which holds. The other one is held against its runs all the same.
#[test]
fn what_is_no_goal_is_claimed_nevertheless() {
    let (draft, [high, _, low]) = costly();
    let system = draft.system();
    let mut claims = claim(Goal::Response(low), 9_000);
    claims.response[high] = Some(5_999);
    let effort = Effort { climbing: 0, random: 0, events: 200 };
    for seed in 0..20 {
        let found = refute_some(&system, &claims, effort, seed, 1).expect("6000 is more than 5999");
        assert_eq!(found.exceedance.what, Goal::Response(high));
        assert!(refute_some(&system, &claims, effort, seed, 0).is_none(), "no goal, no run");
    }
    claims.response[high] = Some(6_000);
    assert!(refute_some(&system, &claims, effort, 0, 2).is_none());
}

#[test]
fn each_part_of_a_response_counts() {
    let (draft, [high, mid, low]) = costly();
    // Blocked by the low handler, which inherits: 4 + 2. The one between waits for both, the low one for all.
    let text = exactly(&draft.system(), Goal::Response(high), 6_000);
    assert!(text.contains("lane0 waits for the lock of c0, which lane2 holds"), "{text}");
    assert!(text.contains("lane0 gets the lock of c0"), "{text}");
    exactly(&draft.system(), Goal::Response(mid), 9_000);
    exactly(&draft.system(), Goal::Response(low), 9_000);
    // Each cost adds what it can, as long as nothing comes twice.
    let (mut with, _) = costly();
    with.parts.hosts[0].dispatch = 50;
    exactly(&with.system(), Goal::Response(high), 6_050);
    exactly(&with.system(), Goal::Response(low), 9_150);
    let (mut with, _) = costly();
    with.parts.hosts[0].slack = 70;
    exactly(&with.system(), Goal::Response(high), 6_070);
    let (mut with, _) = costly();
    with.parts.hosts[0].stalls = vec![Stall { length: 600, distance: 90_000 }];
    let text = exactly(&with.system(), Goal::Response(high), 6_600);
    assert!(text.contains("core 0 of h0 stalls for 600"), "{text}");
    let (mut with, _) = costly();
    with.parts.sources[0].kind = SourceKind::Timer { period: 20_000, jitter: 900, phase: None };
    exactly(&with.system(), Goal::Response(high), 6_900);
    let (mut with, _) = costly();
    with.parts.hosts[0].throttling = Some(Throttling { runtime: 50_000, period: 50_500 });
    exactly(&with.system(), Goal::Response(high), 6_000);
    with.parts.hosts[0].throttling = Some(Throttling { runtime: 8_000, period: 8_500 });
    // It is not reached with the first window's 8, but with what is left of it.
    let text = exactly(&with.system(), Goal::Response(low), 9_500);
    assert!(text.contains("fifo threads of core 0 of h0 have used their time"), "{text}");
}

/// To the high thread, to the low one which holds the lock, and back: what the claim forgets first.
#[test]
fn each_switch_counts() {
    let (mut draft, [high, _, _]) = costly();
    draft.parts.hosts[0].switch = 10;
    // To the low one before it locks is before the call. To the high one, back to the low one, to the high one again.
    exactly(&draft.system(), Goal::Response(high), 6_030);
}

#[test]
fn backlogs_and_overruns() {
    let mut draft = Draft::new(1);
    let (high, low) = (draft.fifo(0, 0, 20), draft.fifo(0, 0, 10));
    let above = draft.alone(high, vec![runs(9_000)]);
    let port = draft.alone(low, vec![runs(1_000)]);
    draft.source(above, SourceKind::Sporadic { separation: 100_000 });
    draft.source(port, SourceKind::Periodic { period: 4_000, jitter: 6_000, gap: 0 });
    // Three come at once before the first is taken; two more come until 9 later: one of them at 2, one at 6.
    exactly(&draft.system(), Goal::Backlog(port), 4);
    let mut draft = Draft::new(1);
    let (high, low) = (draft.fifo(0, 0, 20), draft.fifo(0, 0, 10));
    let above = draft.alone(high, vec![runs(9_000)]);
    let port = draft.alone(low, vec![runs(1_001)]);
    draft.source(above, SourceKind::Sporadic { separation: 100_000 });
    draft.timer(port, 20_000);
    draft.parts.ports[port].interval = Some(10_000);
    let found = refute(&draft.system(), &claim(Goal::Response(port), 10_001), EFFORT, 1).unwrap();
    assert_eq!(found.exceedance.what, Goal::Overruns(port));
    draft.parts.ports[port].steps = vec![runs(1_000)];
    assert!(refute(&draft.system(), &claim(Goal::Response(port), 10_000), EFFORT, 1).is_none());
}

/// A chain over two hosts with a call, a join and a register.
#[test]
fn chains_over_hosts() {
    let mut draft = Draft::new(1);
    let there = draft.host(1);
    let near = draft.fifo(0, 0, 20);
    let far = draft.lane(there, 0, Scheduling::Fifo { priority: 20 });
    let sensor = draft.alone(near, vec![runs(300)]);
    let side = draft.alone(far, Vec::new());
    let component = draft.component(there);
    let join = Join { parts: 2, keep: Keep::First, within: None };
    let joined = draft.joined(component, far, join, vec![runs(500)]);
    let control = draft.alone(far, vec![runs(700)]);
    let sent = draft.push(sensor, Target::Part(joined, 0));
    draft.parts.connections[sent].transfer = Some((40, 90));
    draft.push(side, Target::Part(joined, 1));
    let read = draft.push(joined, Target::Register(control, 0));
    let source = draft.source(sensor, SourceKind::Periodic { period: 50_000, jitter: 0, gap: 0 });
    draft.timer(side, 50_000);
    draft.timer(control, 8_000);
    let chain = draft.chain(source, &[sent, read]);
    for host in &mut draft.parts.hosts {
        host.error = 25;
    }
    let system = draft.system();
    // 300 and 90 there, less than 50,000 in the join, 500 behind 700 of the control, which has just read, and 8,000 until it reads again.
    let bound = 300 + 90 + 49_999 + 500 + 8_000 + 700 + 50;
    let found =
        (0..5).find_map(|seed| refute(&system, &claim(Goal::Reaction(chain), bound * 9 / 10), EFFORT, seed));
    let text = explain(&system, &found.unwrap().attack, Goal::Reaction(chain));
    assert!(text.contains("part 0 of the join of c2.p2 keeps an event"), "{text}");
    assert!(text.contains("a register of c3.p3 gets a value"), "{text}");
    assert!(refute(&system, &claim(Goal::Reaction(chain), bound), EFFORT, 1).is_none());
}
