//! What there is little of goes to the more important: gates, meters, room in tables of switches.
use std::time::Duration;

use latency::policing::Counts;
use latency::switch::Guard;
use latency::units::NANOSECOND;
use wire::admission::State;

use crate::cases::{MS, at_once};
use crate::networks::{GATES, network, open_vswitch};
use crate::world::{Pair, World, guid, request};

/// Six hosts at one switch; nothing is scarce but what the guard or the switch has too little of.
fn world(guard: Guard) -> World {
    World::up(network(&open_vswitch(guard), 1, &[0, 0, 0, 0, 0, 0], &[]))
}

fn pair(number: u8) -> Pair {
    (guid(number, 1), guid(100 + number, 1))
}

fn ask(world: &mut World, number: u8, (from, to): (usize, usize), importance: u8) {
    let mut contract = at_once(500, 20 * MS);
    contract.importance = importance;
    world.ask(request(pair(number), 1, from, to, (5_000 + u16::from(number), 6_000), contract, 15 * MS));
}

fn states(world: &World, numbers: std::ops::Range<u8>) -> Vec<State> {
    numbers.map(|number| world.state(pair(number)).unwrap()).collect()
}

/// Three flows of no importance, between hosts of their own; then two that share no port with any of them.
fn the_important_one_is_admitted(mut world: World) {
    let (admitted, revoked) = (State::Admitted, State::Revoked);
    for number in 0..3 {
        ask(&mut world, number, (0, 1), number % 2);
    }
    world.settle();
    assert_eq!(states(&world, 0..3), [admitted; 3]);
    ask(&mut world, 3, (2, 3), 0);
    world.pass(Duration::from_secs(1));
    assert_eq!(
        world.state(pair(3)),
        Some(State::Refused),
        "it is not more important: {:?}",
        world.verdicts[&pair(3)]
    );
    ask(&mut world, 4, (4, 5), 5);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.state(pair(4)), Some(admitted), "{:?}", world.verdicts[&pair(4)]);
    assert_eq!(states(&world, 0..3).iter().filter(|state| **state == admitted).count(), 2);
    assert_eq!(world.state(pair(1)), Some(admitted), "it was more important than the others");
    let mut gone = world.history.iter().filter(|said| said.state == revoked);
    assert!(gone.any(|said| said.reason.contains("more important")));
    // What one does not need any more the next one gets.
    world.withdraw(pair(4));
    world.pass(Duration::from_secs(15));
    assert_eq!(states(&world, 0..4).iter().filter(|state| **state == admitted).count(), 3);
}

#[test]
fn gates_go_to_the_more_important() {
    the_important_one_is_admitted(world(Guard::Gates { count: Some(3), tick: NANOSECOND }));
}

#[test]
fn meters_go_to_the_more_important() {
    let guard = Guard::Meters { count: Some(3), rate_step: 1_000, burst_step: 1_000, counts: Counts::Frame };
    the_important_one_is_admitted(world(guard));
}

#[test]
fn room_in_a_table_goes_to_the_more_important() {
    let mut world = world(GATES);
    // Whatever is learned is learned before.
    world.greet();
    world.settle();
    world.switches[0].most_flows = Some(world.switches[0].flows.len() + 3);
    the_important_one_is_admitted(world);
}
