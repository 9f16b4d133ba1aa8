//! Whose sample it is: keys decide, hashes that were received are not believed (attack A19 of key hash lies).

use crate::desk::{Desk, data, reader, writer};
use dcps::qos::DataReaderQos;
use dcps::reader::{DataReader, DropReason, MatchedPublication, Request};
use dcps::{CdrTypeSupport, InstanceState};
use derive::DdsType;
use rtps::reader::{Accept, Sample as Received, SamplePayload, Sink};
use wire::cdr::{Encoding, KeyHash, Representation};
use wire::parameter::{InlineQos, StatusInfo};
use wire::{Duration, Now, SequenceNumber};

fn hash(octet: u8) -> InlineQos {
    InlineQos { key_hash: Some([octet; 16]), ..InlineQos::default() }
}

fn dispose(qos: InlineQos) -> InlineQos {
    InlineQos { status_info: StatusInfo::DISPOSED, ..qos }
}

fn true_hash(id: u32) -> InlineQos {
    let mut key = [0; 16];
    key[..4].copy_from_slice(&id.to_be_bytes());
    InlineQos { key_hash: Some(key), ..InlineQos::default() }
}

#[test]
fn a_lying_hash_changes_no_instance() {
    let mut desk = Desk::new(|_| {});
    desk.write(1, 7, 1);
    // Data of instance 8 under the hash of instance 7, by a writer that is honest otherwise.
    desk.put(2, true_hash(7), false, &data(8, 2), None);
    assert_eq!((desk.reader.instances(), desk.state(7)), (2, Some(InstanceState::Alive)));
    // By itself the hash means what it should mean.
    desk.put(1, dispose(true_hash(7)), false, &[], None);
    assert_eq!(desk.state(7), Some(InstanceState::NotAliveDisposed));
    assert_eq!(desk.state(8), Some(InstanceState::Alive));
}

#[test]
fn a_dispose_by_hash_alone_finds_its_instance() {
    let mut desk = Desk::new(|_| {});
    desk.write(1, 7, 1);
    desk.put(1, dispose(true_hash(7)), false, &[], None);
    assert_eq!(desk.state(7), Some(InstanceState::NotAliveDisposed));
    desk.put(1, dispose(true_hash(9)), false, &[], None);
    assert_eq!(desk.dropped(DropReason::UnknownInstance), 1);
    desk.put(1, dispose(InlineQos::default()), false, &[], None);
    assert_eq!(desk.dropped(DropReason::Malformed), 1);
}

#[test]
fn a_hash_that_is_made_in_another_way_is_learnt_for_its_writer() {
    let mut desk = Desk::new(|_| {});
    desk.put(1, hash(0xaa), false, &data(7, 1), None);
    desk.put(2, dispose(hash(0xaa)), false, &[], None);
    assert_eq!(desk.dropped(DropReason::UnknownInstance), 1, "another writer has not said so");
    desk.put(1, dispose(hash(0xaa)), false, &[], None);
    assert_eq!(desk.state(7), Some(InstanceState::NotAliveDisposed));
    // The newest meaning counts, and what is gone is forgotten.
    desk.put(1, hash(0xbb), false, &data(7, 1), None);
    desk.put(1, hash(0xbb), false, &data(8, 1), None);
    desk.put(1, dispose(hash(0xbb)), false, &[], None);
    assert_eq!(desk.state(7), Some(InstanceState::Alive));
    assert_eq!(desk.state(8), Some(InstanceState::NotAliveDisposed));
    desk.put(1, dispose(hash(0xaa)), false, &[], None);
    assert_eq!(desk.dropped(DropReason::UnknownInstance), 2);
}

#[test]
fn a_flood_of_false_hashes_is_remembered_once_per_instance() {
    let mut desk = Desk::new(|_| {});
    for number in 0..10_000_u128 {
        let qos = InlineQos { key_hash: Some(number.to_be_bytes()), ..InlineQos::default() };
        desk.put(1, qos, false, &data(7, 1), None);
        desk.take();
    }
    // Only the last one is known.
    for number in 0..9_999_u128 {
        let qos = InlineQos { key_hash: Some(number.to_be_bytes()), ..InlineQos::default() };
        desk.put(1, dispose(qos), false, &[], None);
    }
    assert_eq!(desk.dropped(DropReason::UnknownInstance), 9_999);
    let qos = InlineQos { key_hash: Some(9_999_u128.to_be_bytes()), ..InlineQos::default() };
    desk.put(1, dispose(qos), false, &[], None);
    assert_eq!(desk.state(7), Some(InstanceState::NotAliveDisposed));
}

#[test]
fn what_cannot_be_read_is_dropped_with_its_reason() {
    let mut desk = Desk::new(|_| {});
    let now = Some(desk.now.wall);
    for payload in [&[0, 1, 0, 0, 7][..], &[0, 1], &[9, 9, 9, 9, 0, 0, 0, 0]] {
        assert_eq!(desk.put(1, true_hash(7), false, payload, now), Accept::Taken);
    }
    assert_eq!(desk.put(1, true_hash(7), false, &[], now), Accept::Taken);
    assert_eq!((desk.dropped(DropReason::Malformed), desk.dropped(DropReason::Encapsulation)), (2, 1));
    assert_eq!((desk.dropped(DropReason::UnknownInstance), desk.reader.instances()), (1, 0));
    desk.write(5, 7, 1);
    assert_eq!(desk.dropped(DropReason::NotMatched), 1);
    let filtered = InlineQos { status_info: StatusInfo::FILTERED, ..InlineQos::default() };
    desk.put(1, filtered, false, &data(7, 1), now);
    assert_eq!(desk.dropped(DropReason::ContentFilter), 1);
}

/// The two versions of CDR align this key differently.
#[derive(DdsType, Debug, PartialEq, Clone, Copy)]
struct Wide {
    #[dds(key)]
    small: u8,
    #[dds(key)]
    large: u64,
}

#[derive(DdsType, Debug, PartialEq, Clone)]
struct Named {
    #[dds(key)]
    name: String,
    value: u32,
}

/// A reader of `T` that is matched with writer 1, which writes version 1, and writer 2, which writes version 2.
fn reader_of<T: wire::cdr::DdsType>() -> DataReader<CdrTypeSupport<T>> {
    let mut reader = DataReader::new(reader(), DataReaderQos::default(), CdrTypeSupport::new()).unwrap();
    for (index, representation) in [(1, Representation::Xcdr1), (2, Representation::Xcdr2)] {
        let lifespan = Duration::INFINITE;
        let guid = writer(index);
        reader.match_publication(MatchedPublication {
            guid,
            ownership_strength: 0,
            lifespan,
            representation,
        });
    }
    reader
}

fn deliver<T: wire::cdr::DdsType>(
    reader: &mut DataReader<CdrTypeSupport<T>>,
    from: u8,
    qos: InlineQos,
    payload: Option<(&T, Encoding)>,
) {
    let mut bytes = Vec::new();
    if let Some((value, encoding)) = payload {
        value.encode_payload(encoding, &mut bytes).unwrap();
    }
    let payload = if bytes.is_empty() { SamplePayload::None } else { SamplePayload::Datagram(&bytes) };
    let mut sample = Received {
        writer: writer(from),
        sequence_number: SequenceNumber(1),
        source_timestamp: None,
        inline_qos: qos,
        is_key: false,
        payload,
    };
    assert_eq!(reader.sink(Now::default()).deliver(&mut sample), Accept::Taken);
}

fn key_hash<T: wire::cdr::DdsType>(value: &T, representation: Representation) -> KeyHash {
    value.key_hash(representation, &mut Vec::new()).unwrap()
}

#[test]
fn both_representations_of_a_key_are_one_instance() {
    let mut reader = reader_of::<Wide>();
    let wide = Wide { small: 1, large: 5 };
    deliver(&mut reader, 1, InlineQos::default(), Some((&wide, Encoding::XCDR1)));
    deliver(&mut reader, 2, InlineQos::default(), Some((&wide, Encoding::XCDR2)));
    assert_eq!(reader.instances(), 1);
    // The hash of another key in version 2 is the hash of this one in version 1: each writer means its own.
    let other = Wide { small: 1, large: 5 << 32 };
    let version_2 = key_hash(&wide, Representation::Xcdr2);
    assert_eq!(key_hash(&other, Representation::Xcdr1), version_2);
    deliver(&mut reader, 2, InlineQos::default(), Some((&other, Encoding::XCDR2)));
    let by_hash = dispose(InlineQos { key_hash: Some(version_2.0), ..InlineQos::default() });
    let states = |reader: &mut DataReader<CdrTypeSupport<Wide>>| {
        let mut out = Vec::new();
        reader.access(Now::default(), &Request::READ, &mut out).unwrap();
        let state = |value: &Wide| {
            let handle = key_hash(value, Representation::Xcdr2).into();
            let sample = out.iter().find(|sample| sample.info.instance_handle == handle);
            sample.map(|sample| sample.info.instance_state)
        };
        (state(&wide), state(&other))
    };
    let (alive, disposed) = (Some(InstanceState::Alive), Some(InstanceState::NotAliveDisposed));
    assert_eq!(states(&mut reader), (alive, alive));
    deliver(&mut reader, 1, by_hash, None);
    assert_eq!(states(&mut reader), (alive, disposed));
    deliver(&mut reader, 2, by_hash, None);
    assert_eq!(states(&mut reader), (disposed, disposed));
}

#[test]
fn long_keys_are_found_by_their_digest() {
    let mut reader = reader_of::<Named>();
    let named = Named { name: "a name of more than sixteen bytes".to_owned(), value: 1 };
    deliver(&mut reader, 1, InlineQos::default(), Some((&named, Encoding::XCDR1)));
    let digest = key_hash(&named, Representation::Xcdr1);
    let by_hash = dispose(InlineQos { key_hash: Some(digest.0), ..InlineQos::default() });
    deliver(&mut reader, 2, by_hash, None);
    let mut out = Vec::new();
    reader.access(Now::default(), &Request::READ, &mut out).unwrap();
    assert_eq!(out[0].info.instance_state, InstanceState::NotAliveDisposed);
    assert_eq!(out[0].info.instance_handle, digest.into());
}

#[derive(DdsType, Debug, PartialEq, Clone)]
struct Plain {
    value: u32,
}

#[test]
fn a_topic_without_key_has_one_instance() {
    let mut reader = reader_of::<Plain>();
    for (from, value) in [(1, 1), (2, 2)] {
        deliver(&mut reader, from, hash(from), Some((&Plain { value }, Encoding::XCDR1)));
    }
    assert_eq!(reader.instances(), 1);
    deliver(&mut reader, 1, dispose(InlineQos::default()), None);
    let mut out = Vec::new();
    reader.access(Now::default(), &Request::READ, &mut out).unwrap();
    let info = &out[0].info;
    assert_eq!(info.instance_handle, dcps::InstanceHandle::KEYLESS);
    assert_eq!(info.instance_state, InstanceState::NotAliveDisposed);
    let key = reader.key_value(dcps::InstanceHandle::KEYLESS, Representation::Xcdr1, &mut Vec::new());
    assert_eq!(key.unwrap_err().code, dcps::ReturnCode::PreconditionNotMet);
}
