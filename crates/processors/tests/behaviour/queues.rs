//! Queues: backlogs, what they lose, and what that does to reactions.
use processors::{Attack, Entry, Full, Goal, SourceKind, Target, run};

use super::draft::{Draft, runs};

/// Three events at once every 30, each of which takes 4, into a queue of this depth.
fn burst(depth: usize, full: Full) -> Draft {
    let mut draft = Draft::new(1);
    let lane = draft.fifo(0, 0, 20);
    let port = draft.alone(lane, vec![runs(4_000)]);
    draft.parts.ports[port].entry = Entry::Queued { lane, depth, full, join: None, deadline: 0 };
    let source = draft.source(port, SourceKind::Periodic { period: 10_000, jitter: 20_000, gap: 0 });
    draft.chain(source, &[]);
    draft
}

/// Due at 0, 10 and 20, they come at 20, with none at work: one is taken at once or waits, two wait.
#[test]
fn the_backlog_of_a_burst() {
    let draft = burst(16, Full::DropOldest);
    assert_eq!(draft.worst(Goal::Backlog(0)), 2);
    assert_eq!(draft.worst(Goal::Response(0)), 12_000);
    // With a thread that is busy, all three wait.
    let mut draft = burst(16, Full::DropOldest);
    let other = draft.alone(0, vec![runs(1_000)]);
    draft.source(other, SourceKind::Sporadic { separation: 100_000 });
    assert_eq!(draft.worst(Goal::Backlog(0)), 3);
    assert_eq!(draft.worst(Goal::Response(0)), 13_000);
}

/// With room for one, the last of three at once is lost, or the one in the middle.
#[test]
fn what_a_full_queue_loses() {
    for (full, reaction) in [(Full::DropOldest, 8_000), (Full::Coalesce, 8_000)] {
        let draft = burst(1, full);
        assert_eq!(draft.worst(Goal::Backlog(0)), 2, "{full:?}");
        assert_eq!(draft.worst(Goal::Reaction(0)), reaction, "{full:?}");
    }
    for full in [Full::DropNewest, Full::Reject, Full::Block] {
        let draft = burst(1, full);
        assert_eq!(draft.worst(Goal::Backlog(0)), 2, "{full:?}");
        // The lost one came at 20; the next comes at 50, since it may be late by 20.
        assert_eq!(draft.worst(Goal::Reaction(0)), 34_000, "{full:?}");
        let system = draft.system();
        let outcome = run(&system, &Attack::critical(&system, Goal::Backlog(0), 100_000));
        let is_block = full == Full::Block;
        assert_eq!((outcome.lost[0] > 0, outcome.would_block[0] > 0), (!is_block, is_block));
    }
}

/// A port that rejects loses the push for all queues of its host.
#[test]
fn a_push_is_rejected_as_a_whole() {
    let mut draft = Draft::new(2);
    let (high, low, free) = (draft.fifo(0, 0, 20), draft.fifo(0, 0, 10), draft.fifo(0, 1, 10));
    let first = draft.alone(high, Vec::new());
    let slow = draft.alone(low, vec![runs(15_000)]);
    let fast = draft.alone(free, vec![runs(1_000)]);
    draft.push(first, Target::Queue(slow));
    let connection = draft.push(first, Target::Queue(fast));
    // Both are of one output.
    let output = draft.parts.connections[0].output;
    draft.parts.connections[connection].output = output;
    draft.parts.ports[first].steps.pop();
    let source = draft.timer(first, 10_000);
    draft.chain(source, &[connection]);
    draft.parts.ports[slow].entry =
        Entry::Queued { lane: low, depth: 1, full: Full::Reject, join: None, deadline: 0 };
    assert_eq!(draft.worst(Goal::Reaction(0)), 11_000);
    let Entry::Queued { full, .. } = &mut draft.parts.ports[slow].entry else { unreachable!() };
    *full = Full::DropNewest;
    assert_eq!(draft.worst(Goal::Reaction(0)), 1_000);
}

/// An instant of a timer is skipped while an earlier one waits.
#[test]
fn a_skipped_instant() {
    let mut draft = Draft::new(1);
    let (high, low) = (draft.fifo(0, 0, 20), draft.fifo(0, 0, 10));
    let above = draft.alone(high, vec![runs(25_000)]);
    let port = draft.alone(low, vec![runs(1_000)]);
    draft.source(above, SourceKind::Sporadic { separation: 200_000 });
    let source = draft.timer(port, 10_000);
    draft.chain(source, &[]);
    let system = draft.system();
    let mut attack = Attack::critical(&system, Goal::Reaction(0), 100_000);
    // The first is taken and preempted; two wait, and are done at 27 and 28.
    let outcome = run(&system, &attack);
    assert_eq!((outcome.reaction[0].value, outcome.backlog[port].value), (26_000, 2));
    let runs = outcome.response[port].count;
    // Or only the second, and the third is answered by the fourth.
    attack.skips = true;
    let outcome = run(&system, &attack);
    assert_eq!((outcome.reaction[0].value, outcome.backlog[port].value), (26_000, 1));
    assert_eq!(outcome.response[port].count, runs - 1);
}
