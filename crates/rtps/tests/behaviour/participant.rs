//! Participants that find each other and exchange samples.

use crate::domain::{World, reliable_reader};
use rtps::discovery::Event;
use rtps::participant::PublishError;
use rtps::writer::{Body, Change, WriteError, WriterConfig};
use wire::discovery::EndpointData;
use wire::message::PayloadKind;
use wire::qos::{Durability, EndpointQos};

#[test]
fn two_participants_discover_each_other_and_exchange_samples() {
    let mut world = World::new(2);
    let writer = world.writer(0, "Square", EndpointQos::writer());
    let reader = world.reader(1, "Square", reliable_reader());
    let (writer_guid, reader_guid) = (world.nodes[0].guid(writer), world.nodes[1].guid(reader));
    world.run_until(200, |world| {
        world.is_matched(0, writer, reader_guid) && world.is_matched(1, reader, writer_guid)
    });
    for number in 0..100 {
        world.write(0, writer, &format!("sample {number}"));
        world.run_ms(1);
    }
    let expected: Vec<String> = (0..100).map(|number| format!("sample {number}")).collect();
    assert_eq!(world.texts(1, reader), expected);
    let found = |event: &Event| matches!(event, Event::ParticipantFound { .. });
    assert_eq!(world.nodes[0].events.iter().filter(|event| found(event)).count(), 1);
    assert_eq!(world.nodes[1].events.iter().filter(|event| found(event)).count(), 1);
}

#[test]
fn three_participants_all_match_under_loss() {
    let mut world = World::new(3);
    world.loss = 30;
    let writers: Vec<_> = (0..3).map(|node| world.writer(node, "T", EndpointQos::writer())).collect();
    let readers: Vec<_> = (0..3).map(|node| world.reader(node, "T", reliable_reader())).collect();
    let guids: Vec<_> = (0..3).map(|node| world.nodes[node].guid(writers[node])).collect();
    let reader_guids: Vec<_> = (0..3).map(|node| world.nodes[node].guid(readers[node])).collect();
    world.run_until(10_000, |world| {
        (0..3).all(|a| {
            (0..3).all(|b| {
                world.is_matched(a, readers[a], guids[b]) && world.is_matched(a, writers[a], reader_guids[b])
            })
        })
    });
    for number in 0..50 {
        for (node, writer) in writers.iter().enumerate() {
            world.write(node, *writer, &format!("{node}/{number}"));
        }
        world.run_ms(5);
    }
    world.run_ms(5_000);
    for (node, reader) in readers.iter().enumerate() {
        let texts = world.texts(node, *reader);
        assert_eq!(texts.len(), 150);
        for source in 0..3 {
            let from: Vec<_> = texts.iter().filter(|text| text.starts_with(&format!("{source}/"))).collect();
            let expected: Vec<String> = (0..50).map(|number| format!("{source}/{number}")).collect();
            assert!(from.into_iter().eq(expected.iter()));
        }
    }
}

#[test]
fn a_late_reader_gets_the_history_of_a_transient_local_writer() {
    let mut world = World::new(1);
    let qos = EndpointQos { durability: Durability::TransientLocal, ..EndpointQos::writer() };
    let writer = world.writer(0, "Map", qos);
    for number in 0..10 {
        world.write(0, writer, &format!("{number}"));
    }
    world.run_ms(5_000);
    let node = world.add(crate::domain::config(2));
    let volatile = world.reader(node, "Map", reliable_reader());
    let qos = EndpointQos { durability: Durability::TransientLocal, ..reliable_reader() };
    let durable = world.reader(node, "Map", qos);
    world.run_ms(1_000);
    world.write(0, writer, "10");
    world.run_ms(1_000);
    let expected: Vec<String> = (0..=10).map(|number| format!("{number}")).collect();
    assert_eq!(world.texts(node, durable), expected);
    assert_eq!(world.texts(node, volatile), ["10"]);
}

#[test]
fn writers_and_readers_of_one_participant_need_no_socket() {
    let mut world = World::new(1);
    let writer = world.writer(0, "T", EndpointQos::writer());
    let readers = [reliable_reader(), EndpointQos::reader()].map(|qos| world.reader(0, "T", qos));
    let guid = world.nodes[0].guid(writer);
    for reader in readers {
        let matched = |event: &Event| {
            matches!(event, Event::WriterMatched { reader: r, writer, local: true, .. }
                if *r == reader && writer.guid == guid)
        };
        world.run_ms(1);
        assert_eq!(world.nodes[0].events.iter().filter(|event| matched(event)).count(), 1);
    }
    let sent = world.sent.len();
    for number in 0..500 {
        world.write(0, writer, &number.to_string());
    }
    world.run_ms(10);
    let expected: Vec<String> = (0..500).map(|number| number.to_string()).collect();
    for reader in readers {
        assert_eq!(world.texts(0, reader), expected);
    }
    // Announcements are all that leaves.
    assert!(world.sent[sent..].iter().all(|(_, datagram)| datagram.to.ip().is_multicast()));
    let now = world.now;
    assert!(world.nodes[0].participant.delete(now, readers[0]));
    world.write(0, writer, "one left");
    world.run_ms(10);
    assert_eq!(world.texts(0, readers[0]).len(), 500);
    assert_eq!(world.texts(0, readers[1]).len(), 501);
}

#[test]
fn one_writer_serves_readers_inside_and_outside() {
    let mut world = World::new(3);
    let writer = world.writer(0, "T", EndpointQos::writer());
    let readers: Vec<_> = (0..3).map(|node| world.reader(node, "T", reliable_reader())).collect();
    let second = world.reader(1, "T", reliable_reader());
    let guids: Vec<_> = (0..3).map(|node| world.nodes[node].guid(readers[node])).collect();
    let guid = world.nodes[0].guid(writer);
    world.run_until(500, |world| {
        guids.iter().all(|reader| world.is_matched(0, writer, *reader))
            && world.is_matched(1, second, guid)
            && world.is_matched(2, readers[2], guid)
    });
    world.loss = 20;
    for number in 0..200 {
        world.write(0, writer, &format!("{number} {}", "x".repeat(number * 31)));
        world.run_ms(2);
    }
    world.run_ms(5_000);
    for (node, reader) in [(0, readers[0]), (1, readers[1]), (1, second), (2, readers[2])] {
        let texts = world.texts(node, reader);
        let numbers: Vec<usize> =
            texts.iter().map(|text| text.split(' ').next().unwrap().parse().unwrap()).collect();
        assert!(numbers.into_iter().eq(0..200), "reader {reader} of participant {node}");
        assert!(texts.iter().enumerate().all(|(number, text)| text.matches('x').count() == number * 31));
    }
    assert_eq!(world.nodes[0].sink.lost, 0);
}

#[test]
fn a_sink_without_room_gets_the_rest_later() {
    let mut world = World::new(2);
    let writer = world.writer(0, "T", EndpointQos::writer());
    let reader = world.reader(1, "T", reliable_reader());
    let guid = world.nodes[1].guid(reader);
    world.run_until(300, |world| world.is_matched(0, writer, guid));
    world.nodes[1].sink.room = Some(10);
    for number in 0..50 {
        world.write(0, writer, &number.to_string());
    }
    world.run_ms(1_000);
    assert_eq!(world.texts(1, reader).len(), 10);
    world.nodes[1].sink.room = None;
    let (now, node) = (world.now, &mut world.nodes[1]);
    node.participant.resume(now, reader, &mut node.sink);
    world.run_ms(1_000);
    let expected: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    assert_eq!(world.texts(1, reader), expected);
}

#[test]
fn caches_stay_within_their_limits_and_unknown_writers_are_refused() {
    let mut world = World::new(2);
    let now = world.now;
    let spec = crate::domain::spec("T", EndpointQos::writer());
    let small = |config: &mut WriterConfig, _: &mut EndpointData| config.byte_limit = 20_000;
    let writer = world.nodes[0].participant.create_writer(now, spec, small).unwrap();
    let reader = world.reader(1, "T", reliable_reader());
    let guid = world.nodes[1].guid(reader);
    world.run_until(300, |world| world.is_matched(0, writer, guid));
    let idle = world.nodes[0].participant.held_bytes();
    world.nodes[1].up = false;
    let change = Change { kind: PayloadKind::Data, inline_qos: None, source_timestamp: None };
    let mut full = None;
    for _ in 0..1_000 {
        let now = world.now;
        let body = Body::Copy(&[0; 100]);
        if let Err(error) = world.nodes[0].participant.write(now, writer, &change, body) {
            full = Some(error);
            break;
        }
        world.run_ms(1);
        assert!(world.nodes[0].participant.held_bytes() <= idle + 20_000);
    }
    assert!(matches!(full, Some(PublishError::Write(WriteError::Full { limit: 20_000, .. }))), "{full:?}");
    let now = world.now;
    assert!(world.nodes[0].participant.delete(now, writer));
    assert!(!world.nodes[0].participant.delete(now, writer));
    let written = world.nodes[0].participant.write(now, writer, &change, Body::Copy(&[0; 100]));
    assert_eq!(written, Err(PublishError::UnknownWriter(writer)));
}

#[test]
fn hundreds_of_endpoints_are_announced_and_matched() {
    let mut world = World::new(2);
    world.loss = 10;
    let topics: Vec<String> = (0..400).map(|number| format!("rt/topic/number/{number}")).collect();
    let writers: Vec<_> = topics.iter().map(|topic| world.writer(0, topic, EndpointQos::writer())).collect();
    let readers: Vec<_> = topics.iter().map(|topic| world.reader(1, topic, reliable_reader())).collect();
    let guids: Vec<_> = readers.iter().map(|id| world.nodes[1].guid(*id)).collect();
    world.run_until(3_000, |world| {
        writers.iter().zip(&guids).all(|(writer, reader)| world.is_matched(0, *writer, *reader))
    });
    world.loss = 0;
    world.run_ms(1_000);
    // A third participant gets all of it without anything being asked twice of the first two.
    let node = world.add(crate::domain::config(3));
    world.run_until(1_000, |world| {
        let known = world.nodes[node].participant.discovery();
        known.endpoints().count() == 800
    });
}
