//! Connections: from a push to the end of the handler that it leads to (B9).
use processors::{Claims, Connection, Entry, Full, Goal, Join, Keep, Scheduling, SourceKind, Target, refute};

use super::draft::{Draft, THOROUGH, runs};

/// A handler that pushes to others with the last of its time, and its lane on a core of its own.
fn pushing(draft: &mut Draft, core: usize, time: u64) -> usize {
    let lane = draft.fifo(0, core, 20);
    let first = draft.alone(lane, vec![runs(time)]);
    draft.source(first, SourceKind::Sporadic { separation: 50_000 });
    first
}

/// What the handler that pushes takes before and after counts for a queue on another core neither way.
#[test]
fn a_queue_counts_from_the_push() {
    let mut draft = Draft::new(2);
    let first = pushing(&mut draft, 0, 1_000);
    let far = draft.fifo(0, 1, 20);
    let last = draft.alone(far, vec![runs(2_000)]);
    let queue = draft.push(first, Target::Queue(last));
    draft.parts.ports[first].steps.push(runs(9_000));
    assert_eq!(draft.worst(Goal::Latency(queue)), 2_000);
    let other = draft.alone(far, vec![runs(4_000)]);
    draft.source(other, SourceKind::Sporadic { separation: 50_000 });
    assert_eq!(draft.worst(Goal::Latency(queue)), 4_000 + 2_000);
}

/// Two calls of one push follow each other, so that the second waits for the first.
#[test]
fn calls_of_one_push_follow_each_other() {
    let mut draft = Draft::new(1);
    let first = pushing(&mut draft, 0, 1_000);
    let [one, other] = [300, 500].map(|time| {
        let component = draft.component(0);
        draft.called(component, vec![runs(time)])
    });
    let call = draft.push(first, Target::Direct(one));
    let output = draft.parts.connections[call].output;
    draft.parts.connections.push(Connection { output, target: Target::Direct(other), transfer: None });
    assert_eq!(draft.worst(Goal::Latency(call)), 300);
    assert_eq!(draft.worst(Goal::Latency(call + 1)), 300 + 500);
    assert_eq!(draft.worst(Goal::Response(other)), 300 + 500);
}

/// To another host: the transfer, what is done there, and the errors of both clocks.
#[test]
fn a_transfer_counts() {
    let mut draft = Draft::new(1);
    let there = draft.host(1);
    let first = pushing(&mut draft, 0, 1_000);
    let far = draft.lane(there, 0, Scheduling::Fifo { priority: 20 });
    let last = draft.alone(far, vec![runs(2_000)]);
    let sent = draft.push(first, Target::Queue(last));
    draft.parts.connections[sent].transfer = Some((40, 90));
    for host in &mut draft.parts.hosts {
        host.error = 25;
    }
    assert_eq!(draft.worst(Goal::Latency(sent)), 90 + 2_000 + 2 * 25);
}

/// What a queue loses is never handled, and exceeds every claim; where the queue has room, nothing does.
#[test]
fn what_is_lost_is_above_every_claim() {
    for full in [Full::Reject, Full::DropNewest, Full::DropOldest, Full::Coalesce, Full::Block] {
        let mut draft = Draft::new(2);
        let first = pushing(&mut draft, 0, 1_000);
        let far = draft.fifo(0, 1, 20);
        let last = draft.alone(far, vec![runs(2_000)]);
        let queue = draft.push(first, Target::Queue(last));
        let output = draft.parts.connections[queue].output;
        draft.parts.ports[first].steps.push(processors::Step::Push { output, optional: false });
        let with = |depth: usize| {
            let mut draft = draft.clone();
            if let Entry::Queued { depth: of, full: policy, .. } = &mut draft.parts.ports[last].entry {
                (*of, *policy) = (depth, full);
            }
            draft
        };
        assert_eq!(with(2).worst(Goal::Latency(queue)), 4_000, "{full:?}");
        // The second of two pushes finds no room, or takes that of the first.
        assert_eq!(with(1).worst(Goal::Latency(queue)), u64::MAX, "{full:?}");
        let claims = Claims { latency: vec![Some(1_000_000_000)], ..Claims::default() };
        let found = refute(&with(1).system(), &claims, THOROUGH, 1).expect("an event is lost");
        assert_eq!(found.exceedance.what, Goal::Latency(queue), "{full:?}");
    }
}

/// A part of a join waits for the other one; where it gives way to others of its own connection, a later one answers.
#[test]
fn a_part_of_a_join_waits() {
    let join = |keep, period| {
        let mut draft = Draft::new(1);
        let (high, low) = (draft.fifo(0, 0, 20), draft.fifo(0, 0, 10));
        let component = draft.component(0);
        let joined = draft.joined(component, low, Join { parts: 2, keep, within: None }, vec![runs(2_000)]);
        for (part, period) in [10_000, period].into_iter().enumerate() {
            let first = draft.alone(high, Vec::new());
            draft.push(first, Target::Part(joined, part));
            draft.timer(first, period);
        }
        draft
    };
    for keep in [Keep::First, Keep::Last, Keep::All(4)] {
        assert_eq!(join(keep, 10_000).worst(Goal::Latency(0)), 11_999, "{keep:?}");
    }
    assert_eq!(join(Keep::Last, 2_500).worst(Goal::Latency(1)), 12_000);
    assert_eq!(join(Keep::First, 2_500).worst(Goal::Latency(1)), 17_500 + 2_000);
}

/// What a timer reads waits for its next instant, and for the end of its handler.
#[test]
fn what_is_read_waits_for_the_reader() {
    let mut draft = Draft::new(2);
    let first = pushing(&mut draft, 0, 1_000);
    let far = draft.fifo(0, 1, 20);
    let reader = draft.alone(far, vec![runs(700)]);
    draft.timer(reader, 8_000);
    let read = draft.push(first, Target::Register(reader, 0));
    let worst = draft.worst(Goal::Latency(read));
    assert!((8_650..=8_700).contains(&worst), "{worst}");
}

/// What a handler in logical execution time pushes is pushed as its interval ends.
#[test]
fn an_interval_is_before_the_push() {
    let mut draft = Draft::new(2);
    let (near, far) = (draft.fifo(0, 0, 20), draft.fifo(0, 1, 20));
    let first = draft.alone(near, vec![runs(1_000)]);
    draft.timer(first, 20_000);
    let last = draft.alone(far, vec![runs(2_000)]);
    let queue = draft.push(first, Target::Queue(last));
    draft.parts.ports[first].interval = Some(10_000);
    assert_eq!(draft.worst(Goal::Latency(queue)), 2_000);
}
