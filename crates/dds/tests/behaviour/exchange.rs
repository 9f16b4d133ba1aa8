//! Samples from one participant of the public API to another, in virtual time.

use std::sync::{Arc, Mutex};

use crate::desk::Desk;
use dcps::status::{Matched, StatusMask};
use dds::{DataReader, DataReaderListener, DataWriter, DataWriterListener, QosKind, States};
use derive::DdsType;
use wire::Duration;

#[derive(DdsType, Clone, PartialEq, Debug)]
struct Reading {
    #[dds(key)]
    sensor: u32,
    value: f64,
    note: String,
}

fn reading(sensor: u32, value: f64) -> Reading {
    Reading { sensor, value, note: "ok".to_owned() }
}

fn writer(participant: &dds::DomainParticipant) -> DataWriter<Reading> {
    let topic = participant
        .create_topic::<Reading>("Readings", "Reading", QosKind::Default, None, StatusMask::NONE)
        .unwrap();
    let publisher = participant.create_publisher(QosKind::Default, None, StatusMask::NONE).unwrap();
    publisher.create_datawriter::<Reading>(&topic, QosKind::Default, None, StatusMask::NONE).unwrap()
}

fn reader(participant: &dds::DomainParticipant) -> DataReader<Reading> {
    let topic = participant
        .create_topic::<Reading>("Readings", "Reading", QosKind::Default, None, StatusMask::NONE)
        .unwrap();
    let subscriber = participant.create_subscriber(QosKind::Default, None, StatusMask::NONE).unwrap();
    let mut qos = subscriber.get_default_datareader_qos();
    qos.endpoint.reliability = wire::qos::Reliability::RELIABLE;
    qos.endpoint.history = wire::qos::History::KeepAll;
    subscriber.create_datareader::<Reading>(&topic, QosKind::Specific(qos), None, StatusMask::NONE).unwrap()
}

#[test]
fn samples_are_taken_many_at_once_and_one_after_the_other() {
    let mut desk = Desk::new();
    let (here, there) = (desk.participant(), desk.participant());
    let (writer, reader) = (writer(&here), reader(&there));
    desk.run(Duration::from_secs(1));
    for value in 0..10 {
        writer.write(&reading(7, f64::from(value))).unwrap();
    }
    writer.dispose(&reading(7, 0.0)).unwrap();
    desk.run(Duration::from_millis(1));
    let mut sample = reading(0, 0.0);
    let mut values = Vec::new();
    let mut take = |max| {
        reader.take_each(max, &mut sample, |sample, info| {
            values.push(info.valid_data.then_some(sample.value));
            // The reader is not locked.
            assert_eq!(reader.get_matched_publications().len(), 1);
        })
    };
    assert_eq!([take(4), take(100), take(100), take(0)].map(Result::unwrap), [4, 7, 0, 0]);
    let expected = (0..10).map(|value| Some(f64::from(value))).chain([None]);
    assert_eq!(values, expected.collect::<Vec<_>>());
}

#[test]
fn samples_go_from_participant_to_participant() {
    let mut desk = Desk::new();
    let (here, there) = (desk.participant(), desk.participant());
    let (writer, reader) = (writer(&here), reader(&there));
    desk.run(Duration::from_secs(1));
    assert_eq!(writer.get_publication_matched_status().current.count, 1);
    assert_eq!(reader.get_subscription_matched_status().current.count, 1);
    for value in 0..10 {
        writer.write(&reading(7, f64::from(value))).unwrap();
    }
    desk.run(Duration::from_millis(1));
    let samples = reader.take(usize::MAX, States::ANY).unwrap();
    let values: Vec<f64> = samples.iter().map(|sample| sample.data.as_ref().unwrap().value).collect();
    assert_eq!(values, (0..10).map(f64::from).collect::<Vec<_>>());
    desk.run(Duration::from_millis(50));
    writer.wait_for_acknowledgments(Duration::ZERO).unwrap();
    writer.dispose(&reading(7, 0.0)).unwrap();
    desk.run(Duration::from_millis(1));
    let sample = reader.take_next_sample().unwrap().unwrap();
    assert_eq!((sample.info.valid_data, sample.data), (false, None));
    assert_eq!(sample.key.unwrap().sensor, 7);
    assert_eq!(sample.info.instance_state, dds::InstanceState::NotAliveDisposed);
}

#[test]
fn samples_go_to_a_reader_of_the_same_participant() {
    let mut desk = Desk::new();
    let here = desk.participant();
    let (writer, reader) = (writer(&here), reader(&here));
    desk.run(Duration::from_millis(1));
    writer.write(&reading(1, 1.5)).unwrap();
    assert_eq!(reader.take_next_sample().unwrap().unwrap().data, Some(reading(1, 1.5)));
    writer.wait_for_acknowledgments(Duration::ZERO).unwrap();
}

/// Answers each reading with its square, from within the callback.
struct Squarer {
    answers: DataWriter<Reading>,
    matched: Mutex<Vec<u32>>,
}

impl DataReaderListener<Reading> for Squarer {
    fn on_data_available(&self, reader: &DataReader<Reading>) {
        while let Some(sample) = reader.take_next_sample().unwrap() {
            let Some(data) = sample.data else { continue };
            self.answers.write(&reading(data.sensor, data.value * data.value)).unwrap();
        }
    }

    fn on_subscription_matched(&self, _: &DataReader<Reading>, status: Matched) {
        self.matched.lock().unwrap().push(status.current.count);
    }
}

#[test]
fn a_listener_may_take_and_write() {
    let mut desk = Desk::new();
    let (here, there) = (desk.participant(), desk.participant());
    let topic = |participant: &dds::DomainParticipant, name: &str| {
        participant
            .create_topic::<Reading>(name, "Reading", QosKind::Default, None, StatusMask::NONE)
            .unwrap()
    };
    let publisher = |participant: &dds::DomainParticipant| {
        participant.create_publisher(QosKind::Default, None, StatusMask::NONE).unwrap()
    };
    let subscriber = |participant: &dds::DomainParticipant| {
        participant.create_subscriber(QosKind::Default, None, StatusMask::NONE).unwrap()
    };
    let answers = publisher(&there)
        .create_datawriter::<Reading>(&topic(&there, "Squares"), QosKind::Default, None, StatusMask::NONE)
        .unwrap();
    let squarer = Arc::new(Squarer { answers, matched: Mutex::default() });
    let mask = StatusMask::DATA_AVAILABLE | StatusMask::SUBSCRIPTION_MATCHED;
    let _reader = subscriber(&there)
        .create_datareader::<Reading>(
            &topic(&there, "Readings"),
            QosKind::Default,
            Some(Arc::clone(&squarer) as _),
            mask,
        )
        .unwrap();
    let asker = writer(&here);
    let answered = subscriber(&here)
        .create_datareader::<Reading>(&topic(&here, "Squares"), QosKind::Default, None, StatusMask::NONE)
        .unwrap();
    desk.run(Duration::from_secs(1));
    asker.write(&reading(1, 3.0)).unwrap();
    desk.run(Duration::from_millis(1));
    assert_eq!(answered.take_next_sample().unwrap().unwrap().data.unwrap().value, 9.0);
    assert_eq!(*squarer.matched.lock().unwrap(), [1]);
    here.delete_contained_entities().unwrap();
    desk.run(Duration::from_secs(1));
    assert_eq!(*squarer.matched.lock().unwrap(), [1, 0]);
}

/// Notes how many readers or writers are matched each time that it is told.
#[derive(Default)]
struct Counts(Mutex<Vec<u32>>);

impl DataReaderListener<Reading> for Counts {
    fn on_subscription_matched(&self, reader: &DataReader<Reading>, status: Matched) {
        assert!(reader.guid().is_ok());
        self.0.lock().unwrap().push(status.current.count);
    }
}

impl DataWriterListener<Reading> for Counts {
    fn on_publication_matched(&self, writer: &DataWriter<Reading>, status: Matched) {
        assert!(writer.guid().is_ok());
        self.0.lock().unwrap().push(status.current.count);
    }
}

#[test]
fn matches_with_what_was_there_before_are_told_to_the_listener() {
    let mut desk = Desk::new();
    let (here, there) = (desk.participant(), desk.participant());
    let (first_writer, first_reader) = (writer(&there), reader(&here));
    desk.run(Duration::from_secs(1));
    let readers = Arc::new(Counts::default());
    let subscriber = here.create_subscriber(QosKind::Default, None, StatusMask::NONE).unwrap();
    let topic = first_reader.get_topicdescription();
    let _reader = subscriber
        .create_datareader::<Reading>(
            &topic,
            QosKind::Default,
            Some(Arc::clone(&readers) as _),
            StatusMask::SUBSCRIPTION_MATCHED,
        )
        .unwrap();
    assert_eq!(*readers.0.lock().unwrap(), [1]);
    let writers = Arc::new(Counts::default());
    let publisher = there.create_publisher(QosKind::Default, None, StatusMask::NONE).unwrap();
    let _writer = publisher
        .create_datawriter::<Reading>(
            &first_writer.get_topic(),
            QosKind::Default,
            Some(Arc::clone(&writers) as _),
            StatusMask::PUBLICATION_MATCHED,
        )
        .unwrap();
    assert_eq!(writers.0.lock().unwrap().last(), Some(&1));
    desk.run(Duration::from_secs(1));
    assert_eq!((readers.0.lock().unwrap().last(), writers.0.lock().unwrap().last()), (Some(&2), Some(&2)));
}
