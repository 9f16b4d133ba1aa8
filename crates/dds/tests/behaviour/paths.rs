//! Paths that swallow large datagrams without a word: what one writer has found out, the others of its participant know.
use dds::qos::{DataWriterQos, History, Reliability};
use dds::{DataReader, DataWriter, DomainParticipant, Duration, NO_STATUS, QosKind, States};
use derive::DdsType;

use crate::desk::Desk;
use crate::fixture::{millis, publisher, settle, subscriber, two};

#[derive(DdsType, Clone, Default)]
struct Picture {
    number: u32,
    octets: Vec<u8>,
}

fn writer(participant: &DomainParticipant, topic: &str) -> DataWriter<Picture> {
    let topic =
        participant.create_topic::<Picture>(topic, "Picture", QosKind::Default, None, NO_STATUS).unwrap();
    let qos = DataWriterQos { byte_limit: 16 << 20, ..DataWriterQos::default() };
    publisher(participant).create_datawriter(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

fn reader(participant: &DomainParticipant, topic: &str, reliable: bool) -> DataReader<Picture> {
    let topic =
        participant.create_topic::<Picture>(topic, "Picture", QosKind::Default, None, NO_STATUS).unwrap();
    let subscriber = subscriber(participant);
    let mut qos = subscriber.get_default_datareader_qos();
    qos.endpoint.history = History::KeepAll;
    if reliable {
        qos.endpoint.reliability = Reliability::RELIABLE;
    }
    subscriber.create_datareader(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

fn show(desk: &mut Desk, writer: &DataWriter<Picture>, numbers: std::ops::Range<u32>) {
    for number in numbers {
        writer.write(&Picture { number, octets: vec![1; 20_000] }).unwrap();
        desk.run(millis(100));
    }
}

fn seen(reader: &DataReader<Picture>) -> Vec<u32> {
    let samples = reader.take(usize::MAX, States::ANY).unwrap();
    samples.iter().filter_map(|sample| sample.data.as_ref()).map(|data| data.number).collect()
}

#[test]
fn what_one_writer_finds_out_about_a_path_others_know_also_for_best_effort_readers() {
    let (mut desk, here, there) = two();
    let (finds, follows) = (writer(&here, "Finds"), writer(&here, "Follows"));
    let (answers, silent) = (reader(&there, "Finds", true), reader(&there, "Follows", false));
    settle(&mut desk);
    desk.narrow(0, 1, 600);
    show(&mut desk, &follows, 0..5);
    assert_eq!(seen(&silent), [0; 0], "nothing tells that the path is narrow");
    show(&mut desk, &finds, 0..1);
    desk.run(Duration::from_secs(5));
    assert_eq!(seen(&answers), [0]);
    show(&mut desk, &follows, 5..10);
    assert_eq!(seen(&silent), [5, 6, 7, 8, 9]);
    // So do readers and writers that come later, and reliable ones at once.
    let (later, late) = (writer(&here, "Later"), reader(&there, "Later", false));
    let quick = reader(&there, "Later", true);
    settle(&mut desk);
    show(&mut desk, &later, 0..5);
    assert_eq!((seen(&late), seen(&quick)), ((0..5).collect(), (0..5).collect()));
    assert_eq!(later.counters().unwrap().narrowed, 0);
    // The path to another participant of another host is its own.
    let third = desk.participant();
    let (alone, other) = (writer(&here, "Alone"), reader(&third, "Alone", false));
    settle(&mut desk);
    desk.record();
    show(&mut desk, &alone, 0..3);
    assert_eq!(seen(&other), [0, 1, 2]);
    assert!(desk.recorded().iter().any(|left| left.octets.len() > 1_400));
}

#[test]
fn a_path_that_carries_more_again_is_used_by_all() {
    let (mut desk, here, there) = two();
    let (finds, follows) = (writer(&here, "Finds"), writer(&here, "Follows"));
    let (answers, silent) = (reader(&there, "Finds", true), reader(&there, "Follows", false));
    settle(&mut desk);
    desk.narrow(0, 1, 600);
    show(&mut desk, &finds, 0..1);
    // Now and then it is tried.
    desk.run(Duration::from_secs(4_000));
    assert_eq!(seen(&answers), [0]);
    show(&mut desk, &follows, 0..1);
    assert_eq!(seen(&silent), [0]);
    desk.heal();
    desk.run(Duration::from_secs(1_300));
    desk.record();
    show(&mut desk, &follows, 1..2);
    assert_eq!(seen(&silent), [1]);
    assert!(desk.recorded().iter().any(|left| left.octets.len() > 1_400));
}
