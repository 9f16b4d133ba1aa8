//! Machines whose type of samples is known only at run time, and raw bytes.

use std::sync::Arc;

use crate::link::{Reading, data, handle, reader_guid, writer_guid};
use dcps::qos::{DataReaderQos, DataWriterQos};
use dcps::reader::{DataReader, DropReason, MatchedPublication, Request};
use dcps::writer::{DataWriter, InstanceOf, WriteOptions};
use dcps::{CdrTypeSupport, InstanceHandle, InstanceState, KeylessTypeSupport, TypeSupport};
use rtps::reader::{Accept, Sample as Received, SamplePayload, Sink};
use rtps::writer::{Body, MatchedReader, WriterConfig};
use wire::cdr::Representation;
use wire::parameter::InlineQos;
use wire::{Duration, Now, SequenceNumber};

type Erased = Box<dyn TypeSupport>;

fn writer(types: Erased) -> DataWriter<Erased, Arc<[u8]>> {
    let config = WriterConfig::new(writer_guid(), true);
    let mut writer = DataWriter::new(Now::default(), config, DataWriterQos::default(), types).unwrap();
    let reader = MatchedReader {
        guid: reader_guid(),
        reliable: true,
        wants_history: false,
        paths: vec![],
        direct: None,
        receive_buffer: None,
    };
    writer.match_subscription(Now::default(), reader);
    writer
}

fn reader<T: TypeSupport>(types: T) -> DataReader<T> {
    let mut reader = DataReader::new(reader_guid(), DataReaderQos::default(), types).unwrap();
    reader.match_publication(MatchedPublication {
        guid: writer_guid(),
        ownership_strength: 0,
        lifespan: Duration::INFINITE,
        representation: Representation::Xcdr1,
    });
    reader
}

fn deliver<T: TypeSupport>(reader: &mut DataReader<T>, number: i64, payload: &[u8]) {
    let mut sample = Received {
        writer: writer_guid(),
        sequence_number: SequenceNumber(number),
        source_timestamp: None,
        inline_qos: InlineQos::default(),
        is_key: false,
        payload: SamplePayload::Datagram(payload),
    };
    assert_eq!(reader.sink(Now::default()).deliver(&mut sample), Accept::Taken);
}

#[test]
fn machines_of_different_types_are_of_one_rust_type() {
    let keyed: Erased = Box::new(CdrTypeSupport::<Reading>::new());
    let mut writers = [writer(keyed), writer(Box::new(KeylessTypeSupport))];
    for writer in &mut writers {
        writer.write(Now::default(), Body::Copy(&data(7, 1)), &WriteOptions::default()).unwrap();
        writer.write(Now::default(), Body::Copy(&data(8, 1)), &WriteOptions::default()).unwrap();
    }
    assert_eq!(writers.each_mut().map(DataWriter::instances), [2, 1]);
    let [keyed, keyless] = &mut writers;
    assert_eq!(keyed.lookup_instance(&data(7, 2), false), Ok(Some(handle(7))));
    assert_eq!(keyless.lookup_instance(&[], false), Ok(Some(InstanceHandle::KEYLESS)));
}

#[test]
fn a_borrowed_type_does_for_a_reader() {
    let mut types = CdrTypeSupport::<Reading>::new();
    let borrowed: &mut dyn TypeSupport = &mut types;
    let mut reader = reader(borrowed);
    deliver(&mut reader, 1, &data(7, 1));
    deliver(&mut reader, 2, &data(8, 1));
    assert_eq!((reader.instances(), reader.lookup_instance(&data(8, 0), false)), (2, Ok(Some(handle(8)))));
}

#[test]
fn raw_octets_of_any_form_are_samples_of_one_instance() {
    let mut reader = reader(KeylessTypeSupport);
    let payloads: [&[u8]; 3] = [&[0xff; 3], &data(7, 1), &[9, 9, 9, 9, 1]];
    let mut out = Vec::new();
    for (number, payload) in (1..).zip(payloads) {
        deliver(&mut reader, number, payload);
        reader.access(Now::default(), &Request::TAKE, &mut out).unwrap();
    }
    let seen: Vec<_> = out.iter().map(|sample| sample.payload.as_ref().unwrap().bytes()).collect();
    assert_eq!((seen, reader.instances()), (payloads.to_vec(), 1));
    assert!(out.iter().all(|sample| sample.info.instance_handle == InstanceHandle::KEYLESS));
    assert_eq!(reader.dropped(DropReason::Malformed).count, 0);
    assert!(reader.key_value(InstanceHandle::KEYLESS, Representation::Xcdr1, &mut Vec::new()).is_err());
}

#[test]
fn the_one_instance_of_a_raw_writer_ends() {
    let mut writer = writer(Box::new(KeylessTypeSupport));
    writer.write(Now::default(), Body::Copy(&[1, 2, 3, 4]), &WriteOptions::default()).unwrap();
    let ended = writer.dispose(Now::default(), InstanceOf::Handle(InstanceHandle::KEYLESS), None);
    assert_eq!(ended, Ok(SequenceNumber(2)));
    let mut reader = reader(KeylessTypeSupport);
    deliver(&mut reader, 1, &[1]);
    reader.unmatch_publication(Now::default(), writer_guid());
    let mut out = Vec::new();
    reader.access(Now::default(), &Request::TAKE, &mut out).unwrap();
    let last = out.last().unwrap().info;
    assert_eq!(last.instance_state, InstanceState::NotAliveNoWriters);
    assert_eq!((last.sequence_number, last.related), (SequenceNumber::ZERO, None));
}
