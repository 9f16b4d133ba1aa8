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

/// How often a flow has gone for another one.
fn revoked(world: &World, number: u8) -> usize {
    let of_pair = world.history.iter().filter(|said| said.pair() == pair(number));
    of_pair.filter(|said| said.state == State::Revoked && said.reason.contains("yields to")).count()
}

/// The only gate goes to a more important flow, for which the next switch has no room: it comes back, and then is left in peace for ever longer.
#[test]
fn who_cannot_be_admitted_displaces_others_ever_more_rarely() {
    let switch = open_vswitch(Guard::Gates { count: Some(1), tick: NANOSECOND });
    let mut world = World::up(network(&switch, 2, &[0, 0, 1], &[(0, 1)]));
    world.greet();
    world.settle();
    world.switches[1].most_flows = Some(world.switches[1].flows.len());
    ask(&mut world, 0, (0, 1), 0);
    world.settle();
    ask(&mut world, 1, (0, 2), 5);
    world.pass(Duration::from_secs(1_000));
    let times = revoked(&world, 0);
    // Every ten seconds would be a hundred times.
    assert!((1..=6).contains(&times), "{times} times");
    assert_eq!(states(&world, 0..2), [State::Admitted, State::Refused]);
    // It is not forgotten: once there is room it has its turn, at the latest when the next wait is over.
    world.switches[1].most_flows = None;
    world.pass(Duration::from_secs(1_500));
    assert_eq!(states(&world, 0..2), [State::Revoked, State::Admitted]);
}

/// Two switches have no room. At one of them a less important flow could go, at the other one nobody: so nobody goes.
#[test]
fn nobody_goes_where_that_is_not_enough() {
    let mut world = World::up(network(&open_vswitch(GATES), 2, &[0, 0, 0, 1, 1, 1], &[(0, 1)]));
    world.greet();
    world.settle();
    for switch in &mut world.switches {
        switch.most_flows = Some(switch.flows.len() + 1);
    }
    ask(&mut world, 0, (0, 1), 0);
    ask(&mut world, 1, (3, 4), 5);
    world.settle();
    ask(&mut world, 2, (2, 5), 5);
    world.pass(Duration::from_secs(60));
    let (admitted, refused) = (State::Admitted, State::Refused);
    assert_eq!(states(&world, 0..3), [admitted, admitted, refused]);
    let of_switches: Vec<usize> = world.manager.report().switches.iter().map(|one| one.flows).collect();
    assert_eq!((revoked(&world, 0), of_switches), (0, vec![1, 1]));
    // Where somebody can go at both, both do, at once.
    ask(&mut world, 4, (2, 5), 9);
    world.pass(Duration::from_secs(1));
    let revoked = State::Revoked;
    assert_eq!(states(&world, 0..3), [revoked, revoked, refused]);
    assert_eq!(world.state(pair(4)), Some(admitted), "{:?}", world.verdicts[&pair(4)]);
}

/// What is made free for one is not taken by others meanwhile, who would have to go next.
#[test]
fn a_place_that_is_made_free_is_kept() {
    let mut world = world(GATES);
    world.greet();
    world.settle();
    world.switches[0].most_flows = Some(world.switches[0].flows.len() + 1);
    ask(&mut world, 0, (0, 1), 0);
    world.settle();
    ask(&mut world, 1, (2, 3), 5);
    world.pass(Duration::from_millis(50));
    assert_eq!(
        states(&world, 0..2),
        [State::Revoked, State::Refused],
        "the place is free, and it has not been tried again"
    );
    ask(&mut world, 2, (4, 5), 1);
    world.pass(Duration::from_secs(1));
    assert_eq!(states(&world, 0..3), [State::Revoked, State::Admitted, State::Refused]);
    assert_eq!(revoked(&world, 0) + revoked(&world, 2), 1);
}

/// Two readers of one writer, to which its link could not carry a flow each, at a switch with one group, which a less important tree has.
fn the_group_goes_to_the_more_important(mut world: World) {
    world.greet();
    world.settle();
    let reader = |number: u8, host: u8| (guid(number, 1), guid(100 + host, 1));
    let asked = |number: u8, from: usize, host: u8, octets: u32, importance: u8| {
        let contract = wire::admission::Contract { importance, ..at_once(octets, 5 * MS) };
        request(reader(number, host), 1, from, host.into(), (5_000, 6_000), contract, 15 * MS)
    };
    for host in [1, 2] {
        world.ask(asked(0, 0, host, 500, 0));
    }
    world.settle();
    let is_group = |world: &World, pair: Pair| world.verdicts[&pair].destination.address.is_multicast();
    assert!([1, 2].iter().all(|host| is_group(&world, reader(0, *host))));
    // What can do without a group takes none from others.
    for host in [1, 2] {
        world.ask(asked(5, 5, host, 500, 7));
    }
    world.settle();
    assert!([1, 2].iter().all(|host| world.state(reader(5, *host)) == Some(State::Admitted)));
    assert!(
        [1, 2].iter().all(|host| !is_group(&world, reader(5, *host)) && is_group(&world, reader(0, *host)))
    );
    // Both wait for the gates, so that they have their turn together.
    world.disconnect_agent(0);
    for host in [1, 4] {
        world.ask(asked(3, 3, host, 33_000, 5));
    }
    world.connect_agent(0);
    world.pass(Duration::from_secs(2));
    for pair in [1, 4].map(|host| reader(3, host)) {
        assert_eq!(world.state(pair), Some(State::Admitted), "{:?}", world.verdicts[&pair]);
        assert!(is_group(&world, pair), "{:#?}", world.verdicts);
    }
    // Those that had the group have flows of their own.
    for pair in [1, 2].map(|host| reader(0, host)) {
        assert_eq!(world.state(pair), Some(State::Admitted), "{:?}", world.verdicts[&pair]);
        assert!(!is_group(&world, pair));
    }
    world.manager.audit().unwrap();
}

#[test]
fn groups_go_to_the_more_important() {
    let network = || network(&open_vswitch(GATES), 1, &[0, 0, 0, 0, 0, 0], &[]);
    let mut said = World::new(network(), control::config::Config::default());
    said.most_groups = 2;
    said.connect_all();
    the_group_goes_to_the_more_important(said);
    // It has fewer than it says.
    let mut refused = World::up(network());
    refused.switches[0].most_groups = Some(2);
    the_group_goes_to_the_more_important(refused);
}
