//! Links that are slow beside what is under way on them: what is late is not taken for lost, and what all lack goes to all at once.
use std::collections::BTreeSet;

use federation::Settings;
use testkit::random::Random;

use crate::model::{Said, Wish};
use crate::world::{MS, World};

const SAID: Said = Said { kind: "Fix", source: "gps.out", n: 3 };
/// 10 Mbit/s.
const PER_BYTE: u64 = 800;
const NODES: usize = 33;
const EVENTS: usize = 600;
const SIZE: usize = 1_000;

/// A node that publishes to the others in a group.
fn star(nodes: usize, per_byte: u64) -> World {
    let edges: BTreeSet<_> = (1..nodes).map(|id| (0, id)).collect();
    let mut world = World::new(Random::new(5), nodes, edges, Settings::default(), &[(0, 7)]);
    (1..nodes).for_each(|id| world.subscribe(id, Wish { kind: Some("Fix"), source: None, condition: None }));
    world.run(1_000 * MS);
    world.per_byte = per_byte;
    world
}

/// Publishes four fifths of what the link carries, and says how many repairs there were and how long it took until all had come.
fn play(world: &mut World) -> (u64, u64) {
    let before = world.nodes[0].gateway.counts().repairs;
    let begin = world.now;
    for number in 0..EVENTS {
        let mut body = u32::try_from(number).unwrap().to_le_bytes().to_vec();
        body.resize(SIZE, 1);
        assert_eq!(world.publish(0, &SAID, &body).given_up, 0);
        world.run(MS * 11 / 10);
    }
    let all = |world: &World| world.nodes[1..].iter().all(|node| node.got.len() == EVENTS);
    while !all(world) {
        world.run(MS);
        assert!(world.now - begin < 60_000 * MS, "{:?}", world.nodes[0].gateway.counts());
    }
    let order: Vec<u32> = (0..EVENTS as u32).collect();
    for node in &world.nodes[1..] {
        let got = node.got.iter().map(|(_, body)| u32::from_le_bytes(body[..4].try_into().unwrap()));
        assert!(got.eq(order.iter().copied()), "in order, once");
    }
    (world.nodes[0].gateway.counts().repairs - before, world.now - begin)
}

#[test]
fn what_is_under_way_for_long_is_not_sent_again() {
    // A datagram for a group may be read after one that was sent to a node later. Nothing is known of round trips before the first one: some are
    // sent again until then.
    for (late, most) in [(0, 0), (3, 0), (40, 40)] {
        let mut world = star(NODES, PER_BYTE);
        world.group_late = late * MS;
        let (repairs, time) = play(&mut world);
        assert!(repairs <= most, "late by {late} ms: {repairs}");
        let published = EVENTS as u64 * 11 / 10 * MS;
        assert!(time < published + (late + 200) * MS, "{time}");
    }
}

/// A burst that keeps the link busy for longer than the first pause before a question.
#[test]
fn a_burst_is_sent_once() {
    let mut world = star(NODES, PER_BYTE);
    for _ in 0..100 {
        assert_eq!(world.publish(0, &SAID, &[1; SIZE]).given_up, 0);
    }
    world.run(3_000 * MS);
    assert_eq!(world.nodes[0].gateway.counts().repairs, 0);
    assert!(world.nodes[1..].iter().all(|node| node.got.len() == 100));
}

#[test]
fn what_all_lack_is_sent_to_all_at_once() {
    let mut world = star(NODES, PER_BYTE);
    world.lost_at_once = 2;
    let (repairs, time) = play(&mut world);
    // About 12 datagrams of the group are lost. Each goes to two nodes, and then to the group; what is lost once more begins anew.
    assert!((10..150).contains(&repairs), "{repairs}");
    let published = EVENTS as u64 * 11 / 10 * MS;
    assert!(time < published + 1_000 * MS, "{time}");
}

/// Bytes that the publisher sends for 100 events and what belongs to them.
fn bytes_of_events(nodes: usize) -> u64 {
    let mut world = star(nodes, PER_BYTE);
    let before = world.nodes[0].gateway.counts().bytes;
    for _ in 0..100 {
        assert_eq!(world.publish(0, &SAID, &[1; SIZE]).given_up, 0);
        world.run(2 * MS);
    }
    assert!(world.nodes[1..].iter().all(|node| node.got.len() == 100));
    world.nodes[0].gateway.counts().bytes - before
}

#[test]
fn an_event_for_32_is_hardly_larger_than_one_for_a_single_node() {
    let (one, all) = (bytes_of_events(2), bytes_of_events(NODES));
    assert!(10 * all <= 11 * one, "{all} bytes, and {one} for one node");
}
