//! Single connections: suspended, silent, restarted, full; groups; large events; filters that do not suit.
use std::collections::BTreeSet;

use federation::{Filter, GatewayId, Interest, Notice, Settings, To};
use testkit::random::Random;

use crate::model::{Said, Wish};
use crate::world::{Faults, MS, World};

const SAID: Said = Said { kind: "Fix", source: "gps.out", n: 3 };

fn all() -> Wish {
    Wish { kind: Some("Fix"), source: None, condition: None }
}

fn star(count: usize, settings: Settings, groups: &[(usize, u32)]) -> World {
    let edges: BTreeSet<_> = (1..count).map(|id| (0, id)).collect();
    let mut world = World::new(Random::new(1), count, edges, settings, groups);
    (1..count).for_each(|id| world.subscribe(id, all()));
    world.run(100 * MS);
    world
}

fn got(world: &World, id: usize) -> Vec<u8> {
    world.nodes[id].got.iter().map(|(_, body)| body[0]).collect()
}

#[test]
fn a_suspended_connection_keeps_events_up_to_its_bound_whichever_end_suspends() {
    for by_subscriber in [true, false] {
        let settings = Settings { held: 3_000, ..Settings::default() };
        let mut world = star(2, settings, &[]);
        let (one, other) = if by_subscriber { (1, 0) } else { (0, 1) };
        world.suspend(one, other, true);
        world.run(50 * MS);
        let given_up: usize = (0..10).map(|n| world.publish(0, &SAID, &[n; 500]).given_up).sum();
        world.run(5_000 * MS);
        assert_eq!(got(&world, 1), [0; 0]);
        let kept = 10 - given_up;
        assert!((4..=5).contains(&kept), "{kept}");
        assert!(world.nodes[0].gateway.kept_for(GatewayId(2)) <= 3_000);
        let full = |(_, notice): &&(usize, Notice)| *notice == Notice::Full { peer: GatewayId(2) };
        assert_eq!(world.notices.iter().filter(full).count(), 1);
        assert_eq!(world.nodes[0].gateway.counts().given_up, given_up as u64);
        let told = (0, Notice::Suspended { peer: GatewayId(2), is_suspended: true });
        assert_eq!(world.notices.contains(&told), by_subscriber);
        // The other end suspends it, too, and both have to resume it.
        world.suspend(other, one, true);
        world.run(50 * MS);
        world.suspend(one, other, false);
        world.run(100 * MS);
        assert_eq!(got(&world, 1), [0; 0]);
        world.suspend(other, one, false);
        world.run(100 * MS);
        assert_eq!(got(&world, 1), (0..kept as u8).collect::<Vec<_>>());
        assert_eq!(world.publish(0, &SAID, &[99]).given_up, 0);
        world.run(100 * MS);
        assert_eq!(got(&world, 1).last(), Some(&99));
    }
}

#[test]
fn a_suspension_outlives_the_connection() {
    let mut world = star(2, Settings::default(), &[]);
    world.suspend(1, 0, true);
    world.run(50 * MS);
    world.restart(0);
    world.run(1_000 * MS);
    world.publish(0, &SAID, &[7]);
    world.run(1_000 * MS);
    assert_eq!(got(&world, 1), [0; 0]);
    world.suspend(1, 0, false);
    world.run(100 * MS);
    assert_eq!(got(&world, 1), [7]);
}

#[test]
fn what_a_dead_peer_has_not_acknowledged_is_given_up_and_a_new_start_is_told_anew() {
    let mut world = star(2, Settings::default(), &[]);
    world.cut.insert((0, 1));
    for n in 0..4 {
        assert_eq!(world.publish(0, &SAID, &[n]).given_up, 0);
    }
    world.run(2_500 * MS);
    assert!(!world.nodes[0].gateway.is_up(GatewayId(2)));
    assert_eq!(world.nodes[0].gateway.counts().given_up, 4);
    assert!(world.notices.contains(&(0, Notice::Down { peer: GatewayId(2), is_silent: true })));
    // No gateway wants it now.
    assert_eq!(world.publish(0, &SAID, &[4]).subscribers, 0);
    world.restart(1);
    world.subscribe(1, all());
    world.cut.clear();
    world.run(1_000 * MS);
    assert_eq!(world.publish(0, &SAID, &[5]).subscribers, 1);
    world.run(100 * MS);
    assert_eq!(got(&world, 1), [5]);
    // One that begins anew within the lease is noticed at once, and gets nothing that was for the one before.
    world.cut.insert((0, 1));
    world.publish(0, &SAID, &[6]);
    world.restart(1);
    world.subscribe(1, all());
    world.cut.clear();
    world.run(100 * MS);
    assert!(world.notices.contains(&(0, Notice::Down { peer: GatewayId(2), is_silent: false })));
    world.publish(0, &SAID, &[7]);
    world.run(1_000 * MS);
    assert_eq!(got(&world, 1), [7]);
}

#[test]
fn what_a_dead_peer_has_not_acknowledged_goes_by_another_way_and_comes_once() {
    // A diamond: 0 to 3 by 1, which is preferred, and by 2.
    let edges = BTreeSet::from([(0, 1), (0, 2), (1, 3), (2, 3)]);
    let mut world = World::new(Random::new(2), 4, edges, Settings { ttl: 3, ..Settings::default() }, &[]);
    world.subscribe(3, all());
    world.run(100 * MS);
    world.publish(0, &SAID, &[1]);
    world.run(100 * MS);
    assert_eq!(world.nodes[1].gateway.counts().transfers, 1);
    assert_eq!(world.nodes[2].gateway.counts().transfers, 0);
    world.cut.insert((0, 1));
    world.publish(0, &SAID, &[2]);
    world.run(3_000 * MS);
    assert_eq!(world.nodes[2].gateway.counts().transfers, 1);
    // This one arrives, but its acknowledgement does not: 0 believes that it was lost, and 3 refuses it the second time.
    world.cut.clear();
    world.run(3_000 * MS);
    world.publish(0, &SAID, &[3]);
    world.run(MS / 4);
    world.cut.insert((0, 1));
    world.run(3_000 * MS);
    assert_eq!(got(&world, 3), [1, 2, 3]);
    assert_eq!(world.nodes[3].gateway.counts().doubles, 1);
}

#[test]
fn what_was_for_the_start_before_does_not_come_to_the_next_one_by_another_way() {
    let edges = BTreeSet::from([(0, 1), (0, 2), (1, 2)]);
    let mut world = World::new(Random::new(3), 3, edges, Settings { ttl: 3, ..Settings::default() }, &[]);
    world.subscribe(1, all());
    world.run(100 * MS);
    world.cut.insert((0, 1));
    world.publish(0, &SAID, &[1]);
    world.cut.clear();
    world.restart(1);
    world.subscribe(1, all());
    // Before 0 has the new record, it knows no gateway that wants this.
    while world.nodes[0].gateway.is_up(GatewayId(2)) {
        world.run(MS / 20);
    }
    assert_eq!(world.publish(0, &SAID, &[2]).subscribers, 0);
    world.run(1_000 * MS);
    assert_eq!(got(&world, 1), [0; 0]);
    let counts = world.nodes[0].gateway.counts();
    assert_eq!((counts.transfers, counts.given_up), (1, 1));
    world.publish(0, &SAID, &[3]);
    world.run(100 * MS);
    assert_eq!(got(&world, 1), [3]);
}

#[test]
fn large_events_are_cut_and_small_ones_gathered() {
    let mut world = star(2, Settings { flight: 20_000, ..Settings::default() }, &[]);
    world.faults = Faults { loss: 20, doubled: 20, late: 20 };
    let large: Vec<u8> = (0..300_000_u32).map(|n| (n * 7 / 3) as u8).collect();
    world.publish(0, &SAID, &large);
    world.publish(0, &SAID, b"");
    world.run(60_000 * MS);
    assert_eq!(world.nodes[1].got, [(0, large), (0, Vec::new())]);
    world.faults = Faults::default();
    world.run(1_000 * MS);
    let node = &mut world.nodes[0];
    let numbers: Vec<u8> = (1..=30).collect();
    for n in &numbers {
        let header = federation::Header { priority: 3, budget: Some(5) };
        node.gateway.publish(node.kinds[0], "gps.out", header, &crate::world::Number(1), &[*n]).unwrap();
    }
    world.wire = Some(Vec::new());
    world.send(0);
    // Each takes less than 100 bytes.
    assert!(world.wire.take().unwrap().len() <= 3);
    world.run(100 * MS);
    assert_eq!(got_from(&world, 1, 2), numbers);
    let kind = world.nodes[0].kinds[0];
    let error = world.nodes[0].gateway.publish(
        kind,
        "gps.out",
        federation::Header::default(),
        &crate::world::Number(1),
        &vec![0; (1 << 20) + 1],
    );
    assert!(error.unwrap_err().to_string().contains("raise Settings::event"));
}

fn got_from(world: &World, id: usize, first: usize) -> Vec<u8> {
    world.nodes[id].got[first..].iter().map(|(_, body)| body[0]).collect()
}

#[test]
fn a_group_gets_one_transfer_and_what_one_of_it_lost_goes_to_that_one() {
    let mut world = star(5, Settings::default(), &[(0, 7)]);
    world.wire = Some(Vec::new());
    world.publish(0, &SAID, &[1; 100]);
    world.run(100 * MS);
    let mark = [1; 100];
    let to = |world: &mut World| -> Vec<To> {
        let wire = world.wire.replace(Vec::new()).unwrap();
        let marked = wire.iter().filter(|sent| sent.bytes.windows(100).any(|bytes| bytes == mark));
        marked.map(|sent| sent.to).collect()
    };
    assert_eq!(to(&mut world), [To::Group(7)]);
    world.cut.insert((0, 3));
    world.publish(0, &SAID, &[1; 100]);
    world.cut.clear();
    world.run(1_000 * MS);
    assert_eq!(to(&mut world), [To::Group(7), To::Peer(GatewayId(4))]);
    // Where only one wants an event, it goes to that one.
    for id in [1, 2, 4] {
        world.unsubscribe(id, 0);
    }
    world.run(100 * MS);
    world.publish(0, &SAID, &[1; 100]);
    world.run(100 * MS);
    assert_eq!(to(&mut world), [To::Peer(GatewayId(4))]);
    assert_eq!((1..5).map(|id| got(&world, id).len()).collect::<Vec<_>>(), [2, 2, 3, 2]);
    assert_eq!(world.given_up(), 0);
}

#[test]
fn a_member_of_a_group_that_dies_holds_the_others_up_no_longer_than_its_lease() {
    let settings = Settings { held: 2_000, ..Settings::default() };
    let mut world = star(4, settings, &[(0, 7)]);
    world.cut.insert((0, 2));
    let before: usize = (0..10).map(|n| world.publish(0, &SAID, &[n; 500]).given_up).sum();
    // What has no room is given up for all of the group.
    assert_eq!(before % 3, 0);
    assert!(before > 0);
    world.run(3_000 * MS);
    let kept = 10 - before / 3;
    assert_eq!(got(&world, 1), (0..kept as u8).collect::<Vec<_>>());
    assert_eq!(world.given_up(), (before + kept) as u64);
    assert_eq!(world.publish(0, &SAID, &[50; 500]).given_up, 0);
    world.run(100 * MS);
    assert_eq!((got(&world, 1).last(), got(&world, 3).last()), (Some(&50), Some(&50)));
}

#[test]
fn a_filter_that_does_not_suit_is_told_of_and_the_events_come() {
    let mut world = star(2, Settings::default(), &[]);
    world.unsubscribe(1, 0);
    let filter = Some(Filter { expression: "height > 3".into(), parameters: Vec::new() });
    let wish = Interest { kind: Some("Fix".into()), source: None, filter };
    world.nodes[1].gateway.subscribe(wish).unwrap();
    world.send(1);
    world.run(100 * MS);
    assert_eq!(world.publish(0, &SAID, &[1]).subscribers, 1);
    world.run(100 * MS);
    assert_eq!(got(&world, 1), [1]);
    let is_told = world.notices.iter().any(|(_, notice)| {
        matches!(notice, Notice::Filter { subscriber: GatewayId(2), kind, reason }
            if kind == "Fix" && reason.contains("no field `height`"))
    });
    assert!(is_told, "{:?}", world.notices);
}

#[test]
fn limits_are_told() {
    let settings = Settings { interests: 2, gateways: 1, ..Settings::default() };
    let mut gateway = federation::Gateway::new(GatewayId(1), 1, settings);
    gateway.add_peer(0, GatewayId(2)).unwrap();
    for peer in [1, 2, 3] {
        assert_eq!(gateway.add_peer(0, GatewayId(peer)), Err(federation::LimitError::Peer));
    }
    let of = |kind: &str| Interest { kind: Some(kind.into()), ..Interest::default() };
    let first = gateway.subscribe(of("a")).unwrap();
    gateway.subscribe(of("b")).unwrap();
    assert_eq!(gateway.subscribe(of("c")), Err(federation::LimitError::Interests));
    assert_eq!(gateway.subscribe(of(&"x".repeat(256))), Err(federation::LimitError::Text));
    assert_eq!(gateway.union(), [of("a"), of("b")]);
    gateway.subscribe(of("b")).unwrap();
    gateway.unsubscribe(first);
    assert_eq!(gateway.union(), [of("b")]);
    let kind = gateway.offer("a", None).unwrap();
    assert_eq!(gateway.send_to_group(kind, 0), Err(federation::LimitError::Groups));
    for group in 1..=16 {
        gateway.send_to_group(kind, group).unwrap();
        gateway.listen_to_group(group).unwrap();
    }
    assert_eq!(gateway.send_to_group(kind, 17), Err(federation::LimitError::Groups));
    assert_eq!(gateway.listen_to_group(17), Err(federation::LimitError::Groups));
}
