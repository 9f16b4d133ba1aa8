//! Participants, readers and writers in greater numbers, on networks that lose datagrams.
use dds::qos::{DataReaderQos, DataWriterQos, History, Reliability};
use dds::{DataReader, DataWriter, DomainParticipant, Duration, NO_STATUS, QosKind, States};
use derive::DdsType;

use crate::desk::Desk;
use crate::fixture::{millis, publisher, subscriber, two};

/// A sample of any length.
#[derive(DdsType, Clone, Default)]
struct Text {
    writer: u32,
    number: u32,
    text: Vec<u8>,
}

fn text_writer(participant: &DomainParticipant, topic: &str) -> DataWriter<Text> {
    let mut qos = DataWriterQos::default();
    qos.endpoint.history = History::KeepAll;
    let topic = participant.create_topic::<Text>(topic, "Text", QosKind::Default, None, NO_STATUS).unwrap();
    publisher(participant).create_datawriter(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

fn text_reader(participant: &DomainParticipant, topic: &str) -> DataReader<Text> {
    let mut qos = DataReaderQos::default();
    qos.endpoint.reliability = Reliability::RELIABLE;
    qos.endpoint.history = History::KeepAll;
    let topic = participant.lookup_topicdescription(topic).unwrap_or_else(|| {
        participant.create_topic::<Text>(topic, "Text", QosKind::Default, None, NO_STATUS).unwrap()
    });
    subscriber(participant).create_datareader(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

fn texts(reader: &DataReader<Text>) -> Vec<Text> {
    let samples = reader.take(usize::MAX, States::ANY).unwrap();
    samples.into_iter().filter_map(|sample| sample.data).collect()
}

/// Runs until a condition holds; fails after `limit` milliseconds.
fn run_until(desk: &mut Desk, limit: i64, holds: impl Fn() -> bool) {
    for _ in 0..limit / 10 {
        if holds() {
            return;
        }
        desk.run(millis(10));
    }
    assert!(holds(), "not within {limit} ms");
}

#[test]
fn three_participants_all_match_under_loss() {
    let mut desk = Desk::new();
    desk.lose_of_all(300, 1);
    let participants: Vec<_> = (0..3).map(|_| desk.participant()).collect();
    let writers: Vec<_> = participants.iter().map(|participant| text_writer(participant, "T")).collect();
    let readers: Vec<_> = participants.iter().map(|participant| text_reader(participant, "T")).collect();
    run_until(&mut desk, 10_000, || {
        writers.iter().all(|writer| writer.get_matched_subscriptions().len() == 3)
            && readers.iter().all(|reader| reader.get_matched_publications().len() == 3)
    });
    for number in 0..50 {
        for (index, writer) in (0..).zip(&writers) {
            writer.write(&Text { writer: index, number, text: Vec::new() }).unwrap();
        }
        desk.run(millis(5));
    }
    desk.run(Duration::from_secs(5));
    for reader in &readers {
        let texts = texts(reader);
        assert_eq!(texts.len(), 150);
        for index in 0..3 {
            let of_one = texts.iter().filter(|text| text.writer == index).map(|text| text.number);
            assert!(of_one.eq(0..50));
        }
    }
}

#[test]
fn one_writer_serves_readers_inside_and_outside() {
    let mut desk = Desk::new();
    let participants: Vec<_> = (0..3).map(|_| desk.participant()).collect();
    let writer = text_writer(&participants[0], "T");
    let mut readers: Vec<_> = participants.iter().map(|participant| text_reader(participant, "T")).collect();
    readers.push(text_reader(&participants[1], "T"));
    run_until(&mut desk, 500, || {
        writer.get_matched_subscriptions().len() == 4
            && readers.iter().all(|reader| reader.get_matched_publications().len() == 1)
    });
    desk.lose_of_all(200, 2);
    for number in 0..200 {
        writer.write(&Text { writer: 0, number, text: vec![7; number as usize * 31] }).unwrap();
        desk.run(millis(2));
    }
    desk.run(Duration::from_secs(5));
    for reader in &readers {
        let texts = texts(reader);
        assert!(texts.iter().map(|text| text.number).eq(0..200));
        assert!(texts.iter().all(|text| text.text == vec![7; text.number as usize * 31]));
        assert_eq!(reader.get_sample_lost_status().total.count, 0);
    }
}

#[test]
fn hundreds_of_endpoints_are_announced_and_matched() {
    let (mut desk, here, there) = two();
    desk.lose_of_all(100, 3);
    let topics: Vec<String> = (0..400).map(|number| format!("rt/topic/number/{number}")).collect();
    let writers: Vec<_> = topics.iter().map(|topic| text_writer(&here, topic)).collect();
    let readers: Vec<_> = topics.iter().map(|topic| text_reader(&there, topic)).collect();
    run_until(&mut desk, 5_000, || {
        writers.iter().all(|writer| writer.get_matched_subscriptions().len() == 1)
            && readers.iter().all(|reader| reader.get_matched_publications().len() == 1)
    });
    desk.heal();
    desk.run(Duration::from_secs(1));
    let third = desk.participant();
    run_until(&mut desk, 1_000, || third.get_discovered_endpoints().len() == 800);
}
