//! Requests that change, meet, or make room.
use std::time::Duration;

use wire::admission::{Contract, State};

use crate::cases::{MS, at_once, one_switch, pair};
use crate::doing::Next;
use crate::world::{World, guid, packet_of, request};

#[test]
fn a_tighter_request_takes_the_place_of_the_one_before() {
    let mut world = World::up(one_switch());
    world.ask(request(pair(1), 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 9 * MS));
    world.settle();
    assert_eq!(world.verdicts[&pair(1)].bound, 9 * MS);
    let asked = request(pair(1), 2, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS);
    world.ask(asked.clone());
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "the former grant holds");
    world.settle();
    let verdict = world.verdicts[&pair(1)].clone();
    assert_eq!((verdict.state, verdict.serial), (State::Admitted, 2));
    assert!(verdict.bound <= 5 * MS);
    assert!(world.history.iter().all(|verdict| verdict.state != State::Revoked));
    world.pass(Duration::from_secs(1));
    assert_eq!((world.store.len(), world.gates[0].len()), (1, 1));
    assert_eq!(world.manager.report().switches[0].flows, 1);
    let arrived = world.send(0, packet_of(&asked, 0, 3, verdict.dscp));
    assert!(arrived.len() == 1 && arrived[0].1.dscp != 0);
}

/// Samples of participants may overtake each other.
#[test]
fn an_older_request_that_comes_late_changes_nothing() {
    let mut world = World::up(one_switch());
    let asked = |serial, limit| request(pair(1), serial, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), limit);
    world.ask(asked(2, 5 * MS));
    world.ask(asked(1, 9 * MS));
    world.pass(Duration::from_secs(1));
    let verdict = world.verdicts[&pair(1)].clone();
    assert_eq!((verdict.state, verdict.serial, verdict.bound), (State::Admitted, 2, 5 * MS));
    world.ask(asked(1, 9 * MS));
    world.pass(Duration::from_secs(1));
    assert_eq!(world.verdicts[&pair(1)], verdict);
    assert!(world.history.iter().all(|said| said.serial == 2), "{:?}", world.history);
    let stored: Vec<u64> = world.store.values().map(|grant| grant.maximum_latency).collect();
    assert_eq!(stored, [5 * MS]);
}

#[test]
fn a_slower_contract_is_revoked_and_admitted_anew() {
    let mut world = World::up(one_switch());
    world.ask(request(pair(1), 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 9 * MS));
    world.settle();
    world.ask(request(pair(1), 2, 0, 3, (5000, 6000), at_once(4_004, 9 * MS), 9 * MS));
    world.settle();
    world.pass(Duration::from_secs(1));
    let verdict = &world.verdicts[&pair(1)];
    assert_eq!((verdict.state, verdict.serial, verdict.separation), (State::Admitted, 2, 9 * MS));
    assert_eq!(world.gates[0].values().next().unwrap().octets, verdict.octets);
    assert_eq!((world.store.len(), world.gates[0].len()), (1, 1));
}

#[test]
fn a_change_that_is_refused_ends_the_former_grant() {
    let mut world = World::up(one_switch());
    world.ask(request(pair(1), 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 9 * MS));
    world.settle();
    world.ask(request(pair(1), 2, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), MS / 10));
    world.settle();
    world.pass(Duration::from_secs(1));
    let verdict = &world.verdicts[&pair(1)];
    assert_eq!((verdict.state, verdict.serial), (State::Refused, 2));
    assert!(verdict.offered_latency > MS / 10, "{verdict:?}");
    assert!(world.store.is_empty() && world.gates[0].is_empty());
}

#[test]
fn two_readers_at_one_place_share_a_flow() {
    let mut world = World::up(one_switch());
    let (one, other) = ((guid(1, 1), guid(9, 1)), (guid(1, 1), guid(9, 2)));
    world.ask(request(one, 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 9 * MS));
    world.ask(request(other, 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS));
    world.settle();
    world.pass(Duration::from_secs(1));
    assert_eq!((world.state(one), world.state(other)), (Some(State::Admitted), Some(State::Admitted)));
    assert_eq!(world.store.len(), 1);
    assert!(world.verdicts[&one].bound <= 5 * MS);
    world.withdraw(one);
    world.pass(Duration::from_secs(1));
    assert_eq!((world.state(one), world.state(other)), (None, Some(State::Admitted)));
    assert_eq!((world.store.len(), world.gates[0].len()), (1, 1));
    world.withdraw(other);
    world.pass(Duration::from_secs(1));
    assert!(world.store.is_empty() && world.gates[0].is_empty());
}

/// Two readers at one place, of which one asks for less than the other, and is served elsewhere until then: each alone would end the
/// other's flow for its own, so they are admitted together.
#[test]
fn readers_at_one_place_do_not_take_turns() {
    let mut world = World::up(one_switch());
    let (lax, strict) = ((guid(1, 1), guid(9, 1)), (guid(1, 1), guid(9, 2)));
    // The first one is older, so that its turn comes first.
    world.ask(request(lax, 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 1));
    world.ask(request(strict, 1, 0, 3, (5000, 6001), at_once(8_004, 5 * MS), 9 * MS));
    world.settle();
    assert_eq!((world.state(lax), world.state(strict)), (Some(State::Refused), Some(State::Admitted)));
    // One is admitted before the other is looked at.
    world.ask(request(lax, 2, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 9 * MS));
    world.ask(request(strict, 2, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS));
    world.pass(Duration::from_secs(2));
    assert_eq!((world.state(lax), world.state(strict)), (Some(State::Admitted), Some(State::Admitted)));
    let times = world.history.iter().filter(|said| said.state == State::Revoked).count();
    assert!(times <= 1, "revoked {times} times");
    assert!([lax, strict].iter().all(|pair| world.verdicts[pair].bound <= 5 * MS));
    assert_eq!((world.store.len(), world.gates[0].len()), (1, 1));
}

/// A flow that another one is about to take the place of ends, and then the other one fails: nothing is left of either.
#[test]
fn a_flow_that_ends_while_its_heir_fails_leaves_nothing() {
    let mut world = World::up(one_switch());
    world.ask(request(pair(1), 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 9 * MS));
    world.settle();
    world.ask(request(pair(1), 2, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS));
    // The switch has the new entry; the gate has been told, and says nothing yet.
    world.happen(Next::Gates(0), 0);
    let gates = |next: Next| matches!(next, Next::Gates(_));
    world.settle_if(|next| !gates(next));
    assert!(matches!(&*world.next(), [Next::Gates(0)]));
    world.withdraw(pair(1));
    world.settle_if(|next| !gates(next));
    world.disconnect_agent(0);
    // It is back before the time is over that the last frames of the former flow have to leave.
    world.connect_agent(0);
    world.pass(Duration::from_secs(20));
    assert!(world.store.is_empty() && world.gates[0].is_empty(), "{:?}", world.gates[0]);
    assert_eq!(world.manager.report().switches[0].flows, 0);
    assert!(world.switches[0].flows.iter().all(|flow| flow.priority != 60_000));
}

#[test]
fn another_writer_with_the_same_tuple_is_refused() {
    let mut world = World::up(one_switch());
    world.ask(request(pair(1), 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 9 * MS));
    world.ask(request(pair(2), 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 9 * MS));
    world.settle();
    assert_eq!(world.state(pair(2)), Some(State::Refused));
    assert!(world.verdicts[&pair(2)].reason.contains("cannot tell them apart"));
}

#[test]
fn a_more_important_flow_gets_the_place_of_a_less_important_one() {
    let mut world = World::up(one_switch());
    let large = |importance| Contract { importance, ..at_once(48_004, 7 * MS) };
    world.ask(request(pair(1), 1, 0, 3, (5000, 6000), large(1), 6 * MS));
    world.settle();
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts);
    world.ask(request(pair(2), 1, 1, 3, (5000, 6001), large(1), 6 * MS));
    world.settle();
    assert_eq!(world.state(pair(2)), Some(State::Refused));
    world.ask(request(pair(3), 1, 2, 3, (5000, 6002), large(9), 6 * MS));
    world.settle();
    world.pass(Duration::from_secs(1));
    assert_eq!(world.state(pair(3)), Some(State::Admitted), "{:?}", world.verdicts[&pair(3)]);
    let verdict = &world.verdicts[&pair(1)];
    assert_eq!(verdict.state, State::Revoked);
    assert_eq!(world.store.len(), 1);
    // When it goes, one of the others has the place.
    world.withdraw(pair(3));
    world.pass(Duration::from_secs(1));
    let admitted = [1, 2].into_iter().filter(|number| world.state(pair(*number)) == Some(State::Admitted));
    assert_eq!(admitted.count(), 1);
}

#[test]
fn requests_that_are_wrong_say_why() {
    let mut world = World::up(one_switch());
    let good = request(pair(1), 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 9 * MS);
    let mut wrong = |change: &dyn Fn(&mut wire::admission::Request)| {
        let mut asked = good.clone();
        asked.serial = 1 + world.history.len() as u64;
        change(&mut asked);
        world.ask(asked);
        world.settle();
        world.pass(Duration::from_secs(11));
        let verdict = &world.verdicts[&pair(1)];
        assert_eq!(verdict.state, State::Refused, "{verdict:?}");
        verdict.reason.clone()
    };
    assert!(wrong(&|asked| asked.maximum_latency = 0).contains("maximum latency"));
    assert!(wrong(&|asked| asked.contract.minimum_separation = 0).contains("minimum separation"));
    assert!(wrong(&|asked| asked.source.port = 0).contains("writer"));
    assert!(wrong(&|asked| asked.destination.address = [1, 2, 3, 4].into()).contains("1.2.3.4"));
    assert!(wrong(&|asked| asked.destination.address = asked.source.address).contains("same host"));
    assert!(wrong(&|asked| asked.contract.datagram = 60).contains("no room for data"));
    assert!(wrong(&|asked| asked.maximum_latency = u64::MAX).contains("out of range"));
    assert!(wrong(&|asked| asked.maximum_separation = 1).contains("promises none"));
}

/// A reader joins a flow that a slower one takes the place of, for both: what it is promised is what the slower one keeps.
#[test]
fn who_joins_a_flow_that_is_replaced_is_promised_what_comes() {
    let mut world = World::up(one_switch());
    let (one, other) = ((guid(1, 1), guid(9, 1)), (guid(1, 1), guid(9, 2)));
    world.ask(request(one, 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 3 * MS));
    world.settle();
    // While the second one joins, the first one asks for less, since its writer takes longer to hand over a message.
    let slower = Contract { emission: 150_000, ..at_once(8_004, 5 * MS) };
    world.ask(request(other, 1, 0, 3, (5000, 6000), at_once(8_004, 5 * MS), 9 * MS));
    world.ask(request(one, 2, 0, 3, (5000, 6000), slower, 9 * MS));
    // The store is slower than everything else.
    world.settle_if(|next| next != Next::Commit);
    world.pass(Duration::from_secs(1));
    for pair in [one, other] {
        let report = world.manager.report();
        let promised: Vec<u64> = report.pairs.iter().map(|pair| pair.promised).collect();
        assert_eq!(world.state(pair), Some(State::Admitted));
        assert_eq!(promised[0], promised[1], "{report:?}");
        let shares: u64 = report.pairs[0].hops.iter().map(|hop| hop.share).sum();
        assert!(shares <= promised[0], "{report:?}");
    }
}

/// A flow with two readers has to change its level for another flow; how much of that has happened when one of the readers leaves.
fn leaves_while_its_flow_moves(steps: usize) {
    let mut world = World::up(one_switch());
    let (one, other) = ((guid(1, 1), guid(9, 1)), (guid(1, 1), guid(9, 2)));
    for reader in [one, other] {
        world.ask(request(reader, 1, 0, 3, (5000, 6000), at_once(1_004, 20 * MS), 2 * MS));
    }
    world.settle();
    let before = world.store[&1].hops.clone();
    world.ask(request(pair(2), 1, 1, 3, (5000, 6001), at_once(48_004, 20 * MS), 8 * MS));
    (0..steps).for_each(|_| world.answer(0));
    world.withdraw(other);
    world.settle();
    world.pass(Duration::from_secs(1));
    assert_eq!((world.state(one), world.state(pair(2))), (Some(State::Admitted), Some(State::Admitted)));
    let grant = &world.store[&1];
    let readers: Vec<_> = grant.pairs.iter().map(|pair| pair.reader).collect();
    assert_eq!(readers, [one.1.to_bytes()], "after {steps} steps");
    assert_ne!(grant.hops, before, "after {steps} steps: it is stored where it has moved to");
}

#[test]
fn a_reader_that_leaves_while_its_flow_moves_is_not_stored_any_more() {
    (0..24).for_each(leaves_while_its_flow_moves);
}
