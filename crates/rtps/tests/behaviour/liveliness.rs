//! LIVELINESS of matched writers, of each kind.

use crate::domain::{World, config, prefix, reliable_reader};
use rtps::discovery::{DiscoveryConfig, Event};
use wire::qos::{EndpointQos, Liveliness, LivelinessKind};
use wire::{Duration, EntityId, Guid};

const LEASE: i64 = 300;

fn with(qos: EndpointQos, kind: LivelinessKind) -> EndpointQos {
    let lease_duration = Duration::from_millis(LEASE);
    EndpointQos { liveliness: Liveliness { kind, lease_duration }, ..qos }
}

/// A writer of this kind on the first participant and a reader on the second, matched.
fn matched(kind: LivelinessKind) -> (World, EntityId, EntityId) {
    let mut world = World::new(2);
    let writer = world.writer(0, "T", with(EndpointQos::writer(), kind));
    let reader = world.reader(1, "T", with(reliable_reader(), kind));
    let w = world.nodes[0].guid(writer);
    world.run_until(300, |world| world.is_matched(1, reader, w));
    world.nodes.iter_mut().for_each(|node| drop(node.drain()));
    (world, writer, reader)
}

/// What the second participant was told about a writer since the last time.
fn told(world: &mut World, writer: Guid) -> Vec<bool> {
    let events = world.nodes[1].drain();
    let of_writer = events.into_iter().filter_map(|event| match event {
        Event::LivelinessChanged { writer: of, alive, .. } if of == writer => Some(alive),
        _ => None,
    });
    of_writer.collect()
}

#[test]
fn automatic_writers_live_as_long_as_their_participant() {
    let (mut world, writer, _) = matched(LivelinessKind::Automatic);
    let w = world.nodes[0].guid(writer);
    world.run_ms(20 * LEASE);
    assert_eq!(told(&mut world, w), [false; 0]);
    assert!(world.nodes[1].participant.discovery().is_alive(w));

    world.nodes[0].mute = true;
    world.run_ms(LEASE - 105);
    assert_eq!(told(&mut world, w), [false; 0]);
    world.run_ms(110);
    assert_eq!(told(&mut world, w), [false]);
    assert!(!world.nodes[1].participant.discovery().is_alive(w) && world.knows(1, 0));

    world.nodes[0].mute = false;
    world.run_ms(LEASE / 2);
    assert_eq!(told(&mut world, w), [true]);
}

#[test]
fn manual_by_participant_is_asserted_by_command_and_by_any_data() {
    let (mut world, writer, _) = matched(LivelinessKind::ManualByParticipant);
    // A second writer of the participant, for readers of its own.
    let other = world.writer(0, "U", with(EndpointQos::writer(), LivelinessKind::ManualByParticipant));
    let w = world.nodes[0].guid(writer);
    let u = world.nodes[0].guid(other);
    let reader = world.reader(1, "U", with(reliable_reader(), LivelinessKind::ManualByParticipant));
    world.run_until(50, |world| world.is_matched(1, reader, u));
    for _ in 0..10 {
        let now = world.now;
        world.nodes[0].participant.assert_liveliness(now);
        world.run_ms(LEASE - 50);
    }
    assert_eq!(told(&mut world, w), [false; 0]);
    for _ in 0..10 {
        world.write(0, other, "data of one writer count for all of its participant");
        world.run_ms(LEASE - 110);
    }
    assert_eq!(told(&mut world, w), [false; 0]);
    world.run_ms(2 * LEASE);
    assert_eq!(told(&mut world, w), [false]);
    let now = world.now;
    world.nodes[0].participant.assert_liveliness(now);
    world.run_ms(1);
    assert_eq!(told(&mut world, w), [true]);
}

#[test]
fn data_assert_the_manual_writers_whose_readers_do_not_see_them() {
    let mut world = World::new(2);
    let qos = || with(EndpointQos::writer(), LivelinessKind::ManualByParticipant);
    let watched = world.writer(0, "T", qos());
    let busy = world.writer(0, "Seen by nobody", qos());
    let reader = world.reader(1, "T", with(reliable_reader(), LivelinessKind::ManualByParticipant));
    let w = world.nodes[0].guid(watched);
    world.run_until(300, |world| world.is_matched(1, reader, w));
    for _ in 0..50 {
        world.write(0, busy, "busy");
        world.run_ms(LEASE / 5);
    }
    assert_eq!(told(&mut world, w), [false; 0]);
    world.run_ms(2 * LEASE);
    assert_eq!(told(&mut world, w), [false]);
}

#[test]
fn manual_by_topic_is_asserted_by_the_writer_alone() {
    let (mut world, writer, _) = matched(LivelinessKind::ManualByTopic);
    let w = world.nodes[0].guid(writer);
    for _ in 0..5 {
        world.write(0, writer, "data");
        world.run_ms(LEASE - 50);
    }
    for _ in 0..5 {
        let now = world.now;
        assert!(world.nodes[0].participant.assert_writer(now, writer));
        world.run_ms(LEASE - 50);
    }
    assert_eq!(told(&mut world, w), [false; 0]);
    // What the participant asserts, and its announcements, do not count for this kind.
    for _ in 0..4 {
        let now = world.now;
        world.nodes[0].participant.assert_liveliness(now);
        world.run_ms(LEASE / 2);
    }
    assert_eq!(told(&mut world, w), [false]);
    let now = world.now;
    assert!(world.nodes[0].participant.assert_writer(now, writer));
    world.run_ms(1);
    assert_eq!(told(&mut world, w), [true]);
}

#[test]
fn an_infinite_lease_never_ends_and_costs_nothing() {
    let mut world = World::new(2);
    let writer = world.writer(0, "T", EndpointQos::writer());
    let reader = world.reader(1, "T", reliable_reader());
    let w = world.nodes[0].guid(writer);
    world.run_until(300, |world| world.is_matched(1, reader, w));
    world.nodes[0].mute = true;
    world.run_ms(5_000);
    assert_eq!(told(&mut world, w), [false; 0]);
}

#[test]
fn a_reader_that_comes_later_learns_that_the_writer_is_silent() {
    let (mut world, writer, _) = matched(LivelinessKind::ManualByTopic);
    let w = world.nodes[0].guid(writer);
    world.run_ms(2 * LEASE);
    assert_eq!(told(&mut world, w), [false]);
    let late = world.reader(1, "T", with(reliable_reader(), LivelinessKind::ManualByTopic));
    world.run_ms(1);
    let expected = Event::LivelinessChanged { reader: late, writer: w, alive: false };
    assert!(world.nodes[1].events.contains(&expected));
}

#[test]
fn a_writer_that_is_gone_is_not_reported_silent() {
    let (mut world, writer, reader) = matched(LivelinessKind::ManualByTopic);
    let w = world.nodes[0].guid(writer);
    let now = world.now;
    world.nodes[0].participant.delete(now, writer);
    world.run_ms(3 * LEASE);
    assert!(!world.is_matched(1, reader, w));
    assert_eq!(told(&mut world, w), [false; 0]);
}

#[test]
fn a_writer_is_watched_while_any_reader_is_matched_with_it() {
    let (mut world, writer, reader) = matched(LivelinessKind::ManualByTopic);
    let w = world.nodes[0].guid(writer);
    let second = world.reader(1, "T", with(reliable_reader(), LivelinessKind::ManualByTopic));
    world.run_ms(10);
    let now = world.now;
    world.nodes[1].participant.delete(now, reader);
    world.run_ms(2 * LEASE);
    let expected = Event::LivelinessChanged { reader: second, writer: w, alive: false };
    assert_eq!(world.nodes[1].events.iter().filter(|event| **event == expected).count(), 1);
    let now = world.now;
    world.nodes[1].participant.delete(now, second);
    assert!(world.nodes[1].participant.discovery().is_alive(w), "nobody watches it any more");
}

#[test]
fn manual_writers_of_our_own_participant_are_watched_too() {
    let mut world = World::new(0);
    world.add(DiscoveryConfig { metatraffic_multicast: vec![], ..config(1) });
    let manual = world.writer(0, "T", with(EndpointQos::writer(), LivelinessKind::ManualByTopic));
    let automatic = world.writer(0, "T", with(EndpointQos::writer(), LivelinessKind::Automatic));
    let reader = world.reader(0, "T", with(reliable_reader(), LivelinessKind::Automatic));
    world.run_ms(LEASE - 10);
    world.write(0, manual, "alive");
    world.run_ms(LEASE - 10);
    let changed = |event: &Event| matches!(event, Event::LivelinessChanged { .. });
    assert!(!world.nodes[0].events.iter().any(changed));
    world.run_ms(2 * LEASE);
    let writer = Guid::new(prefix(1), manual);
    let expected = Event::LivelinessChanged { reader, writer, alive: false };
    let events: Vec<Event> = world.nodes[0].drain().into_iter().filter(changed).collect();
    assert_eq!(events, [expected]);
    assert!(world.nodes[0].participant.discovery().is_alive(Guid::new(prefix(1), automatic)));
}
