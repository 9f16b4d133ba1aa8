//! Room that becomes free: who waits for it, who gets it, and in which order.
use std::time::Duration;

use control::config::Config;
use wire::admission::{Contract, Request, State};

use crate::cases::{MS, at_once, one_switch, pair};
use crate::world::{Pair, World, guid, packet_of, request};

/// So large that one of them has place at the port to host 3 at a time.
fn large(number: u8, importance: u8) -> Request {
    sized(number, importance, 48_004)
}

/// Two of 24,000 bytes have place, or one and a few small ones.
fn sized(number: u8, importance: u8, bytes: u32) -> Request {
    let contract = Contract { importance, ..at_once(bytes, 7 * MS) };
    request(pair(number), 1, usize::from(number % 3), 3, (5000, 6000 + u16::from(number)), contract, 6 * MS)
}

fn states(world: &World, pair: Pair) -> Vec<State> {
    world.history.iter().filter(|verdict| verdict.pair() == pair).map(|verdict| verdict.state).collect()
}

/// A flow that is on its way out for as long as a lease: its participants do not say that they have heard of it.
fn leaving(bytes: u32) -> World {
    let mut world = World::up(one_switch());
    world.acknowledge = false;
    world.ask(sized(1, 0, bytes));
    world.pass(Duration::from_secs(1));
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
    world.withdraw(pair(1));
    world.settle();
    world
}

#[test]
fn what_fits_when_a_flow_is_gone_waits_for_that_and_is_admitted() {
    let mut world = leaving(48_004);
    world.ask(large(2, 0));
    world.pass(Duration::from_secs(5));
    assert_eq!(world.state(pair(2)), Some(State::Pending));
    assert!(world.verdicts[&pair(2)].reason.contains("on its way out"), "{:?}", world.verdicts);
    world.pass(Duration::from_secs(2));
    assert_eq!(world.state(pair(2)), Some(State::Admitted), "{:?}", world.verdicts);
    assert!(!states(&world, pair(2)).contains(&State::Refused));
    assert_eq!((world.store.len(), world.gates[0].len()), (1, 1));
}

#[test]
fn what_does_not_fit_even_then_is_refused_at_once() {
    let mut world = leaving(48_004);
    world.ask(Request { maximum_latency: MS, ..large(2, 0) });
    assert_eq!(world.state(pair(2)), Some(State::Refused));
}

#[test]
fn a_later_request_that_would_fit_now_does_not_take_the_room() {
    let mut world = leaving(24_000);
    world.ask(large(2, 0));
    world.ask(sized(4, 0, 100));
    world.settle();
    assert_eq!(world.state(pair(2)), Some(State::Pending));
    assert_eq!(world.state(pair(4)), Some(State::Admitted), "a small one does no harm");
    world.ask(sized(5, 0, 24_000));
    world.ask(sized(7, 3, 100));
    world.pass(Duration::from_secs(1));
    assert_eq!(world.state(pair(5)), Some(State::Pending), "{:?}", world.verdicts[&pair(5)]);
    assert!(world.verdicts[&pair(5)].reason.contains("comes before it"), "{:?}", world.verdicts[&pair(5)]);
    assert_eq!(world.state(pair(7)), Some(State::Admitted));
    world.pass(Duration::from_secs(6));
    assert_eq!(world.state(pair(2)), Some(State::Admitted), "{:?}", world.verdicts[&pair(2)]);
    assert_eq!(world.state(pair(5)), Some(State::Refused), "{:?}", world.verdicts[&pair(5)]);
    world.withdraw(pair(2));
    world.pass(Duration::from_secs(7));
    assert_eq!(world.state(pair(5)), Some(State::Admitted), "{:?}", world.verdicts[&pair(5)]);
}

#[test]
fn who_comes_later_is_not_kept_waiting_by_a_request_that_has_gone() {
    let mut world = leaving(24_000);
    world.ask(large(2, 0));
    world.ask(sized(5, 0, 24_000));
    world.settle();
    assert_eq!(world.state(pair(5)), Some(State::Pending), "{:?}", world.verdicts[&pair(5)]);
    world.withdraw(pair(2));
    world.settle();
    assert_eq!(world.state(pair(5)), Some(State::Admitted), "{:?}", world.verdicts[&pair(5)]);
}

#[test]
fn a_more_important_request_gets_the_room_before_one_that_waits() {
    let mut world = leaving(48_004);
    world.ask(large(2, 0));
    world.ask(large(4, 5));
    world.pass(Duration::from_secs(7));
    assert_eq!(world.state(pair(4)), Some(State::Admitted), "{:?}", world.verdicts[&pair(4)]);
    assert_eq!(world.state(pair(2)), Some(State::Refused));
    assert!(!states(&world, pair(2)).contains(&State::Admitted));
}

#[test]
fn flows_whose_last_frames_leave_keep_nobody_waiting() {
    let mut world = World::up(one_switch());
    let small = |number: u8| {
        let contract = at_once(100, 500 * MS);
        request(pair(number), 1, 0, 3, (5000, 6000 + u16::from(number)), contract, 400 * MS)
    };
    let many = u8::try_from(Config::default().most_operations).unwrap() + 8;
    (1..=many).for_each(|number| world.ask(small(number)));
    world.settle();
    assert_eq!(world.store.len(), usize::from(many));
    (1..=many).for_each(|number| world.withdraw(pair(number)));
    world.settle();
    assert_eq!(world.manager.report().switches[0].flows, 0, "all are out of the switch");
    assert_eq!(world.store.len(), usize::from(many), "their places are not free yet");
    world.ask(small(100));
    world.settle();
    assert_eq!(world.state(pair(100)), Some(State::Admitted));
    // A frame may be under way for as long as was promised.
    world.pass(Duration::from_millis(399));
    assert_eq!(world.store.len(), usize::from(many) + 1);
    world.pass(Duration::from_millis(11));
    assert_eq!(world.store.len(), 1);
}

/// Entries are gone at once, but frames that are queued are not.
#[test]
fn room_is_not_given_away_before_the_last_frame_of_a_flow_is_gone() {
    let mut world = World::up(one_switch());
    world.ask(large(1, 0));
    world.settle();
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
    world.withdraw(pair(1));
    world.settle();
    assert!(world.gates[0].is_empty(), "nothing more of it comes in");
    world.ask(large(2, 0));
    // As long as was promised, which is all of what was asked for.
    world.pass(Duration::from_nanos(6 * MS - 1_000));
    assert_eq!(world.state(pair(2)), Some(State::Pending), "{:?}", world.verdicts);
    world.pass(Duration::from_millis(20));
    assert_eq!(world.state(pair(2)), Some(State::Admitted), "{:?}", world.verdicts);
}

/// The same where the switch was away when the flow ended: it forwards the flow until it is put right, and frames that came just before
/// that are still queued.
#[test]
fn room_of_a_flow_that_a_switch_has_kept_while_it_was_away_is_free_when_its_last_frames_are_gone() {
    let mut world = World::up(one_switch());
    let asked = large(1, 0);
    world.ask(asked.clone());
    world.settle();
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
    let dscp = world.verdicts[&pair(1)].dscp;
    let has_level = |world: &mut World| {
        let arrived = world.send(1, packet_of(&asked, 1, 3, dscp));
        arrived.iter().any(|(_, packet, _)| packet.dscp != 0)
    };
    world.disconnect(0);
    world.withdraw(pair(1));
    world.pass(Duration::from_secs(1));
    assert!(has_level(&mut world), "nobody can tell the switch that it is over");
    assert_eq!(world.gates[0].len(), 1, "so the gate still holds the flow to its contract");
    world.connect(0);
    world.ask(large(2, 0));
    world.settle();
    assert!(!has_level(&mut world), "it has been put right");
    world.pass(Duration::from_nanos(6 * MS - 1_000));
    assert_eq!(world.state(pair(2)), Some(State::Pending), "{:?}", world.verdicts);
    world.pass(Duration::from_millis(20));
    assert_eq!(world.state(pair(2)), Some(State::Admitted), "{:?}", world.verdicts);
}

#[test]
fn nobody_waits_for_a_switch_that_is_away() {
    let mut world = leaving(48_004);
    world.disconnect_agent(0);
    world.ask(large(2, 0));
    world.pass(Duration::from_secs(7));
    assert_ne!(world.state(pair(2)), Some(State::Admitted));
    world.pass(Duration::from_secs(20));
    assert_eq!(world.state(pair(2)), Some(State::Refused));
    world.connect_agent(0);
    world.pass(Duration::from_secs(7));
    assert_eq!(world.state(pair(2)), Some(State::Admitted), "{:?}", world.verdicts[&pair(2)]);
}

#[test]
fn refused_requests_are_looked_at_by_importance_and_age_a_few_at_a_time() {
    let config = Config { most_retries: 4, retry_interval: Duration::from_millis(10), ..Config::default() };
    let mut world = World::new(one_switch(), config);
    world.connect_all();
    let many = |number: u8, importance| Request {
        writer: guid(200, number).to_bytes(),
        reader: guid(201, number).to_bytes(),
        ..large(number, importance)
    };
    let of = |number: u8| (guid(200, number), guid(201, number));
    world.ask(large(1, 9));
    world.settle();
    for number in 10..50 {
        world.ask(many(number, u8::from(number == 40)));
    }
    // The last of them needs less than the others.
    world.ask(Request { contract: at_once(24_000, 7 * MS), ..many(50, 0) });
    world.settle();
    assert!((10..=50).all(|number| world.state(of(number)) == Some(State::Refused)), "{:?}", world.verdicts);
    let admitted = |world: &World| {
        let mut list: Vec<u8> =
            (10..=50).filter(|number| world.state(of(*number)) == Some(State::Admitted)).collect();
        list.extend((world.state(pair(1)) == Some(State::Admitted)).then_some(1));
        list
    };
    world.withdraw(pair(1));
    world.pass(Duration::from_secs(1));
    assert_eq!(admitted(&world), [40], "the most important one");
    world.withdraw(of(40));
    world.pass(Duration::from_secs(1));
    assert_eq!(admitted(&world), [10], "the oldest one");
    // The oldest one needs half of that from now on, and nobody but the last can use the rest.
    world.ask(Request { serial: 2, contract: at_once(24_000, 7 * MS), ..many(10, 0) });
    let looked = world.history.len();
    world.settle();
    let at_once = world.history.split_off(looked);
    assert!(at_once.iter().all(|verdict| verdict.pair() != of(50)), "it is not among the first few");
    world.pass(Duration::from_secs(1));
    assert_eq!(admitted(&world), [10, 50]);
}
