//! Participants that find each other and exchange samples.
mod domain;

use domain::{World, reliable_reader};
use rtps::discovery::Event;
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
    let node = world.add(domain::config(2));
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
