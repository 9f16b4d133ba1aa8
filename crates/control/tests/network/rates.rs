//! Links that negotiate another speed: who goes, who stays, and that all come back.
use std::time::Duration;

use control::note::Note;
use latency::port::Control;
use wire::admission::{Contract, State};

use crate::cases::{MS, at_once, one_switch, pair};
use crate::networks::{GATES, network_with, open_vswitch};
use crate::world::{World, request};

/// Four flows of ten Mb/s each from different hosts to one, the first two more important than the others.
fn loaded(world: &mut World) {
    for number in 1..=4_u8 {
        let contract = Contract { importance: 5 - number, ..at_once(8_004, 10 * MS) };
        let (from, ports) = (usize::from(number - 1) % 3, (5_000 + u16::from(number), 6_000));
        world.ask(request(pair(number), 1, from, 3, ports, contract, 60 * MS));
        world.pass(Duration::from_millis(500));
        assert_eq!(world.state(pair(number)), Some(State::Admitted), "{number} {:?}", world.verdicts);
    }
}

fn states(world: &World) -> Vec<State> {
    (1..=4).map(|number| world.state(pair(number)).unwrap()).collect()
}

/// The link from the switch to the last host.
fn last_link(world: &World) -> usize {
    world.network.links.iter().position(|link| link.to == 3).unwrap()
}

fn the_least_important_go_and_come_back(mut world: World) {
    world.greet();
    loaded(&mut world);
    while world.manager.poll_note().is_some() {}
    let link = last_link(&world);
    let said = world.history.len();
    world.negotiate(link, Some(25_000));
    world.pass(Duration::from_secs(20));
    let now = states(&world);
    let stay = now.iter().take_while(|state| **state == State::Admitted).count();
    assert!((1..4).contains(&stay), "some fit, and not all: {now:?}");
    assert!(now[stay..].iter().all(|state| *state != State::Admitted), "the least important go: {now:?}");
    for verdict in &world.history[said..] {
        let number = (1..=4).find(|number| pair(*number) == verdict.pair()).unwrap();
        assert!(
            usize::from(number) > stay || verdict.state == State::Admitted,
            "it was to stay: {verdict:?}"
        );
    }
    assert!(world.history[said..].iter().any(|verdict| verdict.reason.contains("has become slower")));
    world.manager.audit().unwrap();
    assert_eq!(world.manager.link_reports()[link].rate, 25_000_000);
    let alarms = world.manager.report().cabling;
    assert!(alarms.len() == 1 && alarms[0].what.contains("has 25000000 b/s"), "{alarms:?}");
    // With the speed they come back.
    world.negotiate(link, None);
    world.pass(Duration::from_secs(20));
    assert_eq!(states(&world), [State::Admitted; 4], "{:?}", world.verdicts);
    assert_eq!(
        (world.manager.link_reports()[link].rate, world.manager.report().cabling.len()),
        (100_000_000, 0)
    );
    let told: Vec<Note> = std::iter::from_fn(|| world.manager.poll_note()).collect();
    let about = |note: &&Note| matches!(note, Note::Cabling { .. } | Note::CablingRight(_));
    assert_eq!(told.iter().filter(about).count(), 2, "{told:?}");
}

#[test]
fn of_flows_over_a_link_that_becomes_slower_the_least_important_go_and_come_back_with_the_speed() {
    the_least_important_go_and_come_back(World::up(one_switch()));
}

#[test]
fn discovery_that_meets_on_slower_links_is_counted() {
    let control = Control { burst: 240_000, rate: 2_000_000 };
    let network = network_with(Some(control), &open_vswitch(GATES), 2, &[0, 0, 0, 1], &[(0, 1)]);
    let mut world = World::up(network);
    assert_eq!(world.manager.report().reserved.hosts, 4, "{:?}", world.manager.report().reserved);
    let before = world.manager.report().reserved;
    world.greet();
    loaded(&mut world);
    // A flow that is far from the slow link: it waits for what discovery brings together there all the same.
    world.ask(request(pair(5), 1, 1, 0, (5_005, 6_000), at_once(8_004, 10 * MS), 60 * MS));
    world.pass(Duration::from_millis(500));
    let worst = |world: &World| {
        let report = world.manager.report();
        report.pairs.iter().find(|pair| pair.source.ends_with(":5005")).unwrap().present
    };
    let at_full_speed = worst(&world);
    assert!(at_full_speed > 0);
    let trunk = world.network.links.iter().position(|link| (link.from, link.to) == (4, 5)).unwrap();
    world.negotiate(trunk, Some(30_000));
    world.pass(Duration::from_secs(20));
    assert_eq!(world.manager.report().reserved, before, "buckets stay as they are");
    assert_eq!(world.manager.link_reports()[trunk].rate, 30_000_000);
    assert!(worst(&world) > at_full_speed, "{} {at_full_speed}", worst(&world));
    world.manager.audit().unwrap();
    // So slow that discovery has no bound: no flow is promised anything over it.
    world.negotiate(trunk, Some(2_000));
    world.pass(Duration::from_secs(20));
    assert!(states(&world).iter().all(|state| *state != State::Admitted), "{:?}", world.verdicts);
    world.negotiate(trunk, None);
    world.pass(Duration::from_secs(20));
    assert_eq!(states(&world), [State::Admitted; 4], "{:?}", world.verdicts);
    assert_eq!(worst(&world), at_full_speed);
}

#[test]
fn a_switch_that_connects_with_a_slow_port_is_taken() {
    let mut world = World::new(one_switch(), control::config::Config::default());
    let link = last_link(&world);
    world.speeds.insert(link, 25_000);
    world.connect_all();
    assert_eq!(world.manager.link_reports()[link].rate, 25_000_000);
    let asked = at_once(8_004, 10 * MS);
    world.ask(request(pair(1), 1, 0, 3, (5_001, 6_000), asked, 60 * MS));
    world.pass(Duration::from_millis(500));
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts);
    world.ask(request(pair(2), 1, 1, 3, (5_002, 6_000), asked, 3 * MS));
    world.pass(Duration::from_millis(500));
    assert_ne!(world.state(pair(2)), Some(State::Admitted), "at full speed it would be");
    world.negotiate(link, None);
    world.pass(Duration::from_secs(20));
    assert_eq!(world.state(pair(2)), Some(State::Admitted), "{:?}", world.verdicts);
}
