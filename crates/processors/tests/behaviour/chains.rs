//! Chains: reaction and data age over queues, joins, registers, logical execution time and the network.
use processors::{Goal, Join, Keep, SourceKind, Target};

use super::draft::{Draft, met, runs, worst};

/// Two sources whose handlers take no time, and a join that takes 2.
fn join(keep: Keep, within: Option<u64>) -> Draft {
    let mut draft = Draft::new(1);
    let (high, low) = (draft.fifo(0, 0, 20), draft.fifo(0, 0, 10));
    let joined = {
        let component = draft.component(0);
        draft.joined(component, low, Join { parts: 2, keep, within }, vec![runs(2_000)])
    };
    for part in 0..2 {
        let first = draft.alone(high, Vec::new());
        let connection = draft.push(first, Target::Part(joined, part));
        let source = draft.timer(first, 10_000);
        draft.chain(source, &[connection]);
    }
    draft
}

/// What one part keeps waits for the other for less than a period.
#[test]
fn a_join_waits_for_its_other_part() {
    for keep in [Keep::First, Keep::Last, Keep::All(4)] {
        let draft = join(keep, None);
        assert_eq!(draft.worst(Goal::Reaction(0)), 11_999, "{keep:?}");
        assert_eq!(draft.worst(Goal::Age(0)), 11_999, "{keep:?}");
    }
}

/// The other part comes four times as often. With *last* its newest event counts, with *first* its oldest.
#[test]
fn what_a_join_keeps() {
    let slow = |keep| {
        let mut draft = join(keep, None);
        draft.parts.sources[1].kind = SourceKind::Timer { period: 2_500, jitter: 0, phase: None };
        draft
    };
    // The oldest is kept from just after a join until the next one.
    assert_eq!(slow(Keep::First).worst(Goal::Age(1)), 12_000);
    assert_eq!(slow(Keep::All(9)).worst(Goal::Age(1)), 12_000);
    assert_eq!(slow(Keep::Last).worst(Goal::Age(1)), 2_500 + 2_000);
    // The slow one finds the other, but at the beginning.
    let system = slow(Keep::Last).system();
    assert_eq!(met(&system, Goal::Reaction(0), &[0, 2_499], &[0]), 4_499);
    assert!(worst(&system, Goal::Reaction(0)) <= 4_499);
    // A fast event that is lost is answered by one of the next round.
    assert_eq!(slow(Keep::Last).worst(Goal::Reaction(1)), 12_000);
    assert_eq!(slow(Keep::All(9)).worst(Goal::Reaction(1)), 12_000);
    // Kept just after a join; the next is lost, and so are all until the next join: 2.5 less than two rounds.
    assert_eq!(slow(Keep::First).worst(Goal::Reaction(1)), 17_500 + 2_000);
}

/// A join that gives up after 4 when the parts are 10 apart: nothing is answered any more, and an event waits for the end of the run.
#[test]
fn a_join_that_gives_up() {
    let draft = join(Keep::First, Some(4_000));
    assert!(draft.worst(Goal::Reaction(0)) > 50_000);
    // What is answered is not older than that.
    assert_eq!(draft.worst(Goal::Age(0)), 4_000 + 2_000);
}

/// A writer with this period, whose handler takes no time, and a reader with that one, which takes 1.
fn sampled(write: u64, read: u64) -> Draft {
    let mut draft = Draft::new(1);
    let (high, low) = (draft.fifo(0, 0, 20), draft.fifo(0, 0, 10));
    let (writer, reader) = (draft.alone(high, Vec::new()), draft.alone(low, vec![runs(1_000)]));
    let connection = draft.push(writer, Target::Register(reader, 0));
    let source = draft.timer(writer, write);
    draft.timer(reader, read);
    draft.chain(source, &[connection]);
    draft
}

/// Written just after a read, an event waits for the next one. Read just before it is overwritten, it is as old as the writer's period.
#[test]
fn a_sampled_link() {
    let draft = sampled(10_000, 7_000);
    assert_eq!(draft.worst(Goal::Reaction(0)), 8_000);
    assert_eq!(draft.worst(Goal::Age(0)), 11_000);
    // Events that are overwritten before they are read are answered by what overwrote them.
    let draft = sampled(3_000, 10_000);
    assert_eq!(draft.worst(Goal::Reaction(0)), 11_000);
    assert_eq!(draft.worst(Goal::Age(0)), 4_000);
}

/// A reader whose clock is slow by a tenth of a percent reads every 10,010, a writer's that is fast writes every 6,993.
#[test]
fn clocks_stretch_periods() {
    let mut draft = Draft::new(1);
    let other = draft.host(1);
    let high = draft.fifo(0, 0, 20);
    let low = draft.fifo(other, 0, 10);
    let (writer, reader) = (draft.alone(high, Vec::new()), draft.alone(low, vec![runs(1_000)]));
    let connection = draft.push(writer, Target::Register(reader, 0));
    draft.parts.connections[connection].transfer = Some((100, 400));
    let source = draft.timer(writer, 7_000);
    draft.timer(reader, 10_000);
    draft.chain(source, &[connection]);
    assert_eq!(draft.worst(Goal::Reaction(0)), 400 + 10_000 + 1_000);
    for host in &mut draft.parts.hosts {
        host.drift = 1_000_000;
        host.error = 30;
    }
    let system = draft.system();
    let (reaction, age) = (400 + 10_010 + 1_000 + 60, 400 + 7_007 + 1_000 + 60);
    let met = |goal| met(&system, goal, &[49_600, 50_000], &[1_000_000, 1_000_000]);
    assert_eq!(met(Goal::Reaction(0)), reaction);
    assert_eq!(met(Goal::Age(0)), age);
    assert!((reaction - 5..=reaction).contains(&worst(&system, Goal::Reaction(0))));
    assert!((age - 100..=age).contains(&worst(&system, Goal::Age(0))));
}

/// Two ports in logical execution time, the second with a phase of its own.
fn intervals(phase: u64, slack: u64) -> Draft {
    let mut draft = Draft::new(1);
    draft.parts.hosts[0].slack = slack;
    let (high, low) = (draft.fifo(0, 0, 20), draft.fifo(0, 0, 10));
    let (first, second) = (draft.alone(high, vec![runs(3_000)]), draft.alone(low, vec![runs(2_000)]));
    let connection = draft.push(first, Target::Register(second, 0));
    let timer = |phase| SourceKind::Timer { period: 10_000, jitter: 0, phase: Some(phase) };
    let source = draft.source(first, timer(0));
    draft.source(second, timer(phase));
    for port in [first, second] {
        draft.parts.ports[port].interval = Some(10_000);
    }
    draft.chain(source, &[connection]);
    draft
}

/// Published at 10 and read at 11, an event is answered at 21. If it is read at 10 that may be before, and the next read is at 20.
#[test]
fn logical_execution_time() {
    let draft = intervals(1_000, 0);
    assert_eq!((draft.worst(Goal::Reaction(0)), draft.worst(Goal::Age(0))), (21_000, 21_000));
    let draft = intervals(0, 0);
    assert_eq!((draft.worst(Goal::Reaction(0)), draft.worst(Goal::Age(0))), (30_000, 30_000));
    assert_eq!(draft.worst(Goal::Overruns(0)), 0);
    // The timer at the end of the interval is late, too; reading late does not help an event that was published after it.
    let draft = intervals(1_000, 50);
    assert_eq!(draft.worst(Goal::Reaction(0)), 21_050);
}

/// A handler that is not ready at the end of its interval publishes when it is.
#[test]
fn an_overrun() {
    let mut draft = intervals(1_000, 0);
    let lane = draft.fifo(0, 0, 30);
    let above = draft.alone(lane, vec![runs(7_500)]);
    draft.source(above, SourceKind::Sporadic { separation: 100_000 });
    assert_eq!(draft.worst(Goal::Overruns(0)), 1);
    assert_eq!(draft.worst(Goal::Response(0)), 10_500);
}

/// A call runs on the thread that pushes; a queue leads to another lane, behind what that does.
#[test]
fn calls_and_queues() {
    let mut draft = Draft::new(2);
    let (near, far) = (draft.fifo(0, 0, 20), draft.fifo(0, 1, 20));
    let first = draft.alone(near, vec![runs(1_000)]);
    let called = {
        let component = draft.component(0);
        draft.called(component, vec![runs(500)])
    };
    let last = draft.alone(far, vec![runs(2_000)]);
    let call = draft.push(first, Target::Direct(called));
    let queue = draft.push(called, Target::Queue(last));
    draft.parts.ports[first].steps.push(runs(10_000));
    let other = draft.alone(far, vec![runs(4_000)]);
    let source = draft.source(first, SourceKind::Sporadic { separation: 50_000 });
    draft.source(other, SourceKind::Sporadic { separation: 50_000 });
    let chain = draft.chain(source, &[call, queue]);
    assert_eq!(draft.worst(Goal::Reaction(chain)), 1_000 + 500 + 4_000 + 2_000);
    assert_eq!(draft.worst(Goal::Response(called)), 500);
    assert_eq!(draft.worst(Goal::Response(first)), 11_500);
}

/// Only what came over the chain's own connection counts where several lead to a port.
#[test]
fn an_or_of_two() {
    let mut draft = Draft::new(1);
    let (high, low) = (draft.fifo(0, 0, 20), draft.fifo(0, 0, 10));
    let last = draft.alone(low, vec![runs(2_000)]);
    let mut sources = Vec::new();
    for period in [10_000, 50_000] {
        let first = draft.alone(high, Vec::new());
        let connection = draft.push(first, Target::Queue(last));
        let source = draft.timer(first, period);
        draft.chain(source, &[connection]);
        sources.push(source);
    }
    assert_eq!(draft.worst(Goal::Reaction(0)), 4_000);
    assert_eq!(draft.worst(Goal::Age(1)), 4_000);
}
