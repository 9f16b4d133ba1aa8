//! The forms of read and take, instances and keys, and waiting for history and acknowledgements (DDS 1.4, 2.2.2.4.2 and 2.2.2.5.3).
use dcps::reader::DropReason;
use dcps::writer::InstanceOf;
use dds::qos::{Durability, History, Reliability};
use dds::{
    Bytes, DataReader, Duration, InstanceHandle, InstanceState, InstanceStates, KeylessTypeSupport,
    NO_STATUS, QosKind, ReturnCode, SampleStates, States, ViewState, WriteOptions,
};

use crate::desk::Desk;
use crate::fixture::*;

/// Samples of two instances, (1: 10, 11) and (2: 20, 21, 22), in the order in which they were written.
fn five() -> (Desk, DataReader<Reading>, dds::DataWriter<Reading>) {
    let (mut desk, here, there) = two();
    let (writer, reader) = (writer(&here, keep_all), reader(&there, |_| {}));
    settle(&mut desk);
    for (sensor, value) in [(1, 10), (2, 20), (2, 21), (1, 11), (2, 22)] {
        writer.write(&reading(sensor, value)).unwrap();
    }
    desk.run(millis(1));
    std::mem::forget(here);
    (desk, reader, writer)
}

fn write_all(writer: &dds::DataWriter<Reading>, values: std::ops::Range<i64>) {
    for value in values {
        writer.write(&reading(1, value)).unwrap();
    }
}

fn data(samples: Vec<dds::Sample<Reading>>) -> Vec<i64> {
    samples.iter().map(|sample| sample.data.unwrap().value).collect()
}

#[test]
fn samples_of_an_instance_follow_each_other_up_to_the_number_asked_for() {
    let (_desk, reader, _writer) = five();
    let all = data(reader.read(usize::MAX, States::ANY).unwrap());
    assert!(all == [10, 11, 20, 21, 22] || all == [20, 21, 22, 10, 11], "{all:?}");
    assert_eq!(reader.read(0, States::ANY).unwrap().len(), 0);
    assert_eq!(data(reader.take(3, States::ANY).unwrap()), all[..3]);
    assert_eq!(data(reader.take(3, States::ANY).unwrap()), all[3..]);
    assert_eq!(reader.take(3, States::ANY).unwrap().len(), 0);
}

#[test]
fn samples_are_chosen_by_their_states() {
    let (mut desk, reader, writer) = five();
    assert_eq!(reader.read(2, States::NOT_READ).unwrap().len(), 2);
    let fresh = data(reader.read(9, States::NOT_READ).unwrap());
    assert_eq!(fresh.len(), 3);
    assert_eq!(reader.read(9, States::NOT_READ).unwrap().len(), 0);
    let read = States { sample: SampleStates::READ, ..States::ANY };
    assert_eq!(reader.take(9, read).unwrap().len(), 5);
    writer.dispose(&reading(1, 0)).unwrap();
    desk.run(millis(1));
    let ended = States { instance: InstanceStates::NOT_ALIVE, ..States::ANY };
    let told = reader.take(9, ended).unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].data, told[0].info.instance_state), (None, InstanceState::NotAliveDisposed));
    assert_eq!(told[0].info.view_state, ViewState::NotNew);
    writer.write(&reading(1, 12)).unwrap();
    desk.run(millis(1));
    let back = reader.take(9, States::ANY).unwrap();
    assert_eq!((back[0].info.view_state, back[0].info.disposed_generation_count), (ViewState::New, 1));
}

#[test]
fn one_instance_or_the_next_one_is_read() {
    let (_desk, reader, writer) = five();
    let one = reader.lookup_instance(&reading(1, 0)).unwrap().unwrap();
    let two = reader.lookup_instance(&reading(2, 0)).unwrap().unwrap();
    assert_eq!(writer.lookup_instance(&reading(1, 0)).unwrap(), Some(one), "both sides call it the same");
    assert_eq!(data(reader.read_instance(9, one, States::ANY).unwrap()), [10, 11]);
    assert_eq!(data(reader.read_instance(1, two, States::ANY).unwrap()), [20]);
    let mut seen = Vec::new();
    let mut previous = None;
    loop {
        let samples = reader.read_next_instance(9, previous, States::ANY).unwrap();
        let Some(first) = samples.first() else { break };
        previous = Some(first.info.instance_handle);
        seen.push((first.info.instance_handle, samples.len()));
    }
    seen.sort_by_key(|(_, count)| *count);
    assert_eq!(seen, [(one, 2), (two, 3)]);
    assert_eq!(data(reader.take_instance(9, one, States::ANY).unwrap()), [10, 11]);
    assert_eq!(data(reader.take_next_instance(9, None, States::ANY).unwrap()), [20, 21, 22]);
    assert_eq!(reader.take_next_instance(9, None, States::ANY).unwrap().len(), 0);
    let unknown = InstanceHandle::from(writer.guid().unwrap());
    assert_eq!(reader.read_instance(9, unknown, States::ANY).unwrap_err().code, ReturnCode::BadParameter);
}

#[test]
fn the_next_sample_is_one_that_was_not_read() {
    let (_desk, reader, _writer) = five();
    let mut count = 0;
    while let Some(sample) = reader.read_next_sample().unwrap() {
        assert!(sample.info.valid_data);
        count += 1;
    }
    assert_eq!(count, 5);
    assert!(reader.take_next_sample().unwrap().is_none(), "all were read");
    assert_eq!(reader.take(9, States::ANY).unwrap().len(), 5);
}

#[test]
fn taking_into_a_sample_uses_its_memory_and_leaves_it_alone_without_data() {
    let (mut desk, reader, writer) = five();
    values(&reader);
    let mut place = reading(9, 9);
    assert!(reader.take_into(&mut place).unwrap().is_none());
    writer.write(&reading(1, 5)).unwrap();
    writer.dispose(&reading(1, 5)).unwrap();
    desk.run(millis(1));
    assert!(reader.take_into(&mut place).unwrap().unwrap().valid_data);
    assert_eq!(place, reading(1, 5));
    place = reading(9, 9);
    assert!(!reader.take_into(&mut place).unwrap().unwrap().valid_data);
    assert_eq!(place, reading(9, 9));
}

#[test]
fn keys_and_handles_lead_to_each_other() {
    let (mut desk, reader, writer) = five();
    let two = reader.lookup_instance(&reading(2, 99)).unwrap().unwrap();
    assert_eq!(reader.get_key_value(two).unwrap(), reading(2, 0));
    assert_eq!(reader.lookup_instance(&reading(3, 0)).unwrap(), None);
    assert_eq!(writer.lookup_instance(&reading(3, 0)).unwrap(), None);
    let three = writer.register_instance(&reading(3, 0)).unwrap();
    assert_eq!(writer.lookup_instance(&reading(3, 7)).unwrap(), Some(three));
    let options = WriteOptions { instance: Some(three), ..WriteOptions::default() };
    writer.write_with(&reading(3, 1), &options).unwrap();
    assert_eq!(writer.write_with(&reading(1, 1), &options).unwrap_err().code, ReturnCode::PreconditionNotMet);
    writer.dispose_of(InstanceOf::Handle(three), None).unwrap();
    writer.unregister_instance(&reading(3, 0)).unwrap();
    assert_eq!(
        writer.unregister_instance(&reading(4, 0)).unwrap_err().code,
        ReturnCode::PreconditionNotMet,
        "it was never registered"
    );
    desk.run(millis(1));
    let told = reader.take_instance(9, three, States::ANY).unwrap();
    assert_eq!(told.iter().map(|sample| sample.data).collect::<Vec<_>>(), [Some(reading(3, 1)), None]);
    let unknown = InstanceHandle::from(writer.guid().unwrap());
    assert_eq!(reader.get_key_value(unknown).unwrap_err().code, ReturnCode::BadParameter);
}

#[test]
fn what_cannot_be_decoded_is_left_out_and_counted() {
    let (mut desk, here, there) = two();
    // A writer that means other bytes by the same type name: a key, and then half of a value.
    let raw = here.create_raw_topic("Readings", "Reading", QosKind::Default).unwrap();
    let forger = publisher(&here)
        .create_raw_datawriter(
            &raw,
            Box::new(dds::CdrTypeSupport::<Short>::new()),
            QosKind::Default,
            None,
            NO_STATUS,
        )
        .unwrap();
    let reader = reader(&there, |_| {});
    let honest = writer(&there, keep_all);
    settle(&mut desk);
    let forged = Bytes::from(vec![0, 1, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
    forger.write_serialized(&forged, &WriteOptions::default()).unwrap();
    desk.run(millis(1));
    honest.write(&reading(1, 1)).unwrap();
    honest.write(&reading(1, 2)).unwrap();
    assert_eq!(values(&reader), [1, 2], "the others are not lost with it");
    assert_eq!(reader.dropped(DropReason::Malformed).count, 1);
    forger.write_serialized(&forged, &WriteOptions::default()).unwrap();
    desk.run(millis(1));
    honest.write(&reading(1, 3)).unwrap();
    assert_eq!(reader.take_next_sample().unwrap().unwrap().data, Some(reading(1, 3)));
    assert_eq!(reader.dropped(DropReason::Malformed).count, 2);
}

/// A type with the key of a [`Reading`] and nothing else.
#[derive(derive::DdsType, Clone, Debug)]
struct Short {
    #[dds(key)]
    sensor: u32,
}

#[test]
fn samples_without_a_key_are_one_instance() {
    let (mut desk, here, there) = two();
    let topic = |participant: &dds::DomainParticipant| {
        participant.create_raw_topic("Raw", "Octets", QosKind::Default).unwrap()
    };
    let writer = publisher(&here)
        .create_raw_datawriter(&topic(&here), Box::new(KeylessTypeSupport), QosKind::Default, None, NO_STATUS)
        .unwrap();
    let reader = subscriber(&there)
        .create_raw_datareader(
            &topic(&there),
            Box::new(KeylessTypeSupport),
            QosKind::Default,
            None,
            NO_STATUS,
        )
        .unwrap();
    settle(&mut desk);
    let sample = Bytes::from(vec![0, 1, 0, 0, 1, 2, 3, 4]);
    writer.write_serialized(&sample, &WriteOptions::default()).unwrap();
    desk.run(millis(1));
    let mut taken = Vec::new();
    assert_eq!(reader.access_serialized(&dcps::reader::Request::TAKE, &mut taken).unwrap(), 1);
    assert_eq!(taken[0].payload.as_ref().unwrap().bytes(), sample.as_ref());
    let mut key = Vec::new();
    let error = reader.serialized_key(taken[0].info.instance_handle, &mut key).unwrap_err();
    assert_eq!(error.code, ReturnCode::PreconditionNotMet);
}

#[test]
fn acknowledgements_are_waited_for() {
    let (mut desk, here, there) = two();
    let (writer, reader) = (writer(&here, keep_all), reader(&there, |_| {}));
    settle(&mut desk);
    desk.delay(millis(10));
    writer.write(&reading(1, 1)).unwrap();
    let error = writer.wait_for_acknowledgments(millis(15)).unwrap_err();
    assert_eq!(error.code, ReturnCode::Timeout, "there and back takes longer");
    writer.wait_for_acknowledgments(millis(100)).unwrap();
    writer.get_publisher().wait_for_acknowledgments(Duration::ZERO).unwrap();
    desk.black_out();
    writer.write(&reading(1, 2)).unwrap();
    assert_eq!(
        writer.get_publisher().wait_for_acknowledgments(millis(500)).unwrap_err().code,
        ReturnCode::Timeout
    );
    desk.heal();
    writer.wait_for_acknowledgments(Duration::from_secs(5)).unwrap();
    assert_eq!(values(&reader), [1, 2]);
    // Of readers that are gone nothing is expected.
    desk.black_out();
    writer.write(&reading(1, 3)).unwrap();
    writer.wait_for_acknowledgments(Duration::from_secs(300)).unwrap();
    assert_eq!(writer.get_publication_matched_status().current.count, 0);
}

#[test]
fn history_is_waited_for() {
    let (mut desk, here, there) = two();
    let late = |qos: &mut dds::qos::DataReaderQos| qos.endpoint.durability = Durability::TransientLocal;
    let writer = writer(&here, |qos| {
        keep_all(qos);
        qos.endpoint.durability = Durability::TransientLocal;
    });
    let alone = reader(&there, late);
    desk.delay(millis(5));
    assert_eq!(
        alone.wait_for_historical_data(millis(1)).unwrap_err().code,
        ReturnCode::Timeout,
        "nobody is known yet"
    );
    desk.delay(Duration::ZERO);
    // A writer without history has told all that there is, as soon as it is heard.
    alone.wait_for_historical_data(Duration::from_secs(50)).unwrap();
    assert!(desk.now().monotonic.as_nanos() < 10_000_000_000);
    write_all(&writer, 0..100);
    desk.run(millis(10));
    desk.delay(millis(20));
    desk.lose(300, 7);
    let reader = reader(&there, late);
    assert_eq!(reader.wait_for_historical_data(millis(10)).unwrap_err().code, ReturnCode::Timeout);
    reader.wait_for_historical_data(Duration::from_secs(60)).unwrap();
    assert_eq!(values(&reader), (0..100).collect::<Vec<_>>(), "all of it, at once");
    let volatile = crate::fixture::reader(&there, |_| {});
    volatile.wait_for_historical_data(Duration::ZERO).unwrap();
}

#[test]
fn a_blocked_write_goes_on_when_there_is_room() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| {
        keep_all(qos);
        qos.endpoint.resource_limits.max_samples = Some(2);
        qos.endpoint.resource_limits.max_samples_per_instance = Some(2);
        qos.endpoint.reliability.max_blocking_time = millis(500);
    });
    let reader = reader(&there, |_| {});
    settle(&mut desk);
    desk.delay(millis(30));
    let start = desk.now().monotonic;
    write_all(&writer, 0..3);
    let took = desk.now().monotonic.since(start);
    assert!(took >= millis(60) && took < millis(100), "the time of one acknowledgement: {took:?}");
    // The last acknowledgement is there too.
    desk.run(millis(100));
    desk.black_out();
    let start = desk.now().monotonic;
    let results: Vec<_> = (3..6).map(|value| writer.write(&reading(1, value))).collect();
    let error = results.into_iter().find_map(Result::err).unwrap();
    assert_eq!(error.code, ReturnCode::Timeout);
    assert!(desk.now().monotonic.since(start) >= millis(500));
    desk.heal();
    desk.run(Duration::from_secs(1));
    assert!(values(&reader).len() >= 4);
}

#[test]
fn a_blocked_write_goes_on_when_the_reader_that_holds_it_is_gone() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| {
        keep_all(qos);
        qos.endpoint.resource_limits.max_samples = Some(1);
        qos.endpoint.resource_limits.max_samples_per_instance = Some(1);
        qos.endpoint.reliability.max_blocking_time = Duration::INFINITE;
    });
    let reader = reader(&there, |_| {});
    settle(&mut desk);
    desk.black_out();
    writer.write(&reading(1, 1)).unwrap();
    // Its lease ends while the write waits.
    writer.write(&reading(1, 2)).unwrap();
    assert_eq!(writer.get_publication_matched_status().current.count, 0);
    drop(reader);
}

#[test]
fn best_effort_never_blocks() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| {
        qos.endpoint.reliability = Reliability::BEST_EFFORT;
        qos.endpoint.history = History::KeepLast(1);
    });
    let reader = reader(&there, |qos| qos.endpoint.reliability = Reliability::BEST_EFFORT);
    settle(&mut desk);
    desk.black_out();
    write_all(&writer, 0..1000);
    writer.wait_for_acknowledgments(Duration::ZERO).unwrap();
    desk.run(millis(1));
    desk.heal();
    writer.write(&reading(1, 1000)).unwrap();
    desk.run(millis(1));
    assert_eq!(values(&reader), [1000]);
}
