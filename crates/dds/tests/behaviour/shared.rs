//! Samples that are written by a handle: readers of the writer's participant get that handle, and all else is as for other samples.
use std::cell::Cell;
use std::sync::Arc;

use dcps::reader::DropReason;
use dds::cdr::sink::Sink;
use dds::cdr::{CdrType, DecodeError, Decoder, EncodeError, Encoder, LengthCode, SizeBound};
use dds::qos::{DataReaderQos, DataWriterQos, Durability, History, Ownership, Reliability};
use dds::serialized::InstanceOf;
use dds::status::RejectedReason;
use dds::{
    DataReader, DataWriter, DomainParticipant, Duration, InstanceState, NO_STATUS, QosKind, ReturnCode,
    States, WriteOptions,
};
use derive::DdsType;

use crate::desk::Desk;
use crate::fixture::{millis, publisher, settle, subscriber, two};

thread_local! {
    /// How often data became bytes, or came from them, on this thread.
    static CODED: Cell<usize> = const { Cell::new(0) };
}

/// Bytes that note when they are serialized, or read.
#[derive(Clone, PartialEq, Debug, Default)]
struct Watched(Vec<u8>);

impl CdrType for Watched {
    const LENGTH_CODE: LengthCode = <Vec<u8> as CdrType>::LENGTH_CODE;
    const SIZE_XCDR1: SizeBound = <Vec<u8> as CdrType>::SIZE_XCDR1;
    const SIZE_XCDR2: SizeBound = <Vec<u8> as CdrType>::SIZE_XCDR2;

    fn initial() -> Self {
        Self::default()
    }

    fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        // To find out how long it is is no serialization.
        if !std::any::type_name::<S>().contains("CountSink") {
            CODED.set(CODED.get() + 1);
        }
        self.0.encode(encoder)
    }

    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        CODED.set(CODED.get() + 1);
        self.0.decode_into(decoder)
    }
}

/// A sample with such bytes.
#[derive(DdsType, Clone, PartialEq, Debug, Default)]
struct Note {
    #[dds(key)]
    id: u32,
    number: u32,
    data: Watched,
}

fn note(id: u32, number: u32, len: usize) -> Arc<Note> {
    Arc::new(Note { id, number, data: Watched(vec![number as u8; len]) })
}

/// How often data were serialized or read since this was last asked.
fn coded() -> usize {
    CODED.replace(0)
}

fn writer(participant: &DomainParticipant, tune: impl FnOnce(&mut DataWriterQos)) -> DataWriter<Note> {
    let topic = participant.lookup_topicdescription("Notes").unwrap_or_else(|| {
        participant.create_topic::<Note>("Notes", "Note", QosKind::Default, None, NO_STATUS).unwrap()
    });
    let mut qos = DataWriterQos::default();
    qos.endpoint.history = History::KeepAll;
    tune(&mut qos);
    publisher(participant).create_datawriter(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

fn reader(participant: &DomainParticipant, tune: impl FnOnce(&mut DataReaderQos)) -> DataReader<Note> {
    let topic = participant.lookup_topicdescription("Notes").unwrap_or_else(|| {
        participant.create_topic::<Note>("Notes", "Note", QosKind::Default, None, NO_STATUS).unwrap()
    });
    let mut qos = DataReaderQos::default();
    qos.endpoint.reliability = Reliability::RELIABLE;
    qos.endpoint.history = History::KeepAll;
    tune(&mut qos);
    subscriber(participant).create_datareader(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

fn write(writer: &DataWriter<Note>, sample: &Arc<Note>) -> i64 {
    writer.write_shared(Arc::clone(sample), &WriteOptions::default()).unwrap().0
}

fn numbers(reader: &DataReader<Note>) -> Vec<u32> {
    let taken = reader.take_shared(usize::MAX, States::ANY).unwrap();
    taken.iter().filter_map(|sample| sample.data.as_ref()).map(|note| note.number).collect()
}

fn one() -> (Desk, DomainParticipant) {
    let mut desk = Desk::new();
    let here = desk.participant();
    (desk, here)
}

#[test]
fn readers_get_the_handle_and_nothing_is_serialized() {
    let (mut desk, here) = one();
    let writer = writer(&here, |_| {});
    let readers = [(); 3].map(|()| reader(&here, |_| {}));
    settle(&mut desk);
    for (count, len) in [0, 100, 20_000, 300_000].into_iter().enumerate() {
        let sample = note(7, 1, len);
        coded();
        let number = write(&writer, &sample);
        assert_eq!(number, count as i64 + 1);
        for reader in &readers {
            let taken = reader.take_shared(1, States::NOT_READ).unwrap();
            let got = taken[0].data.as_ref().unwrap();
            assert!(Arc::ptr_eq(got, &sample), "{len}");
            let info = &taken[0].info;
            assert_eq!(
                (info.sequence_number.0, info.publication_handle),
                (number, writer.guid().unwrap().into())
            );
            assert_eq!(
                Some(info.instance_handle),
                reader.lookup_instance(&Note { id: 7, ..Note::default() }).unwrap()
            );
            coded();
        }
        // The readers have given theirs back, and nobody has to repeat it.
        writer.wait_for_acknowledgments(Duration::from_secs(1)).unwrap();
        assert_eq!((Arc::strong_count(&sample), coded()), (1, 0), "{len}");
    }
    assert_eq!(writer.counters().unwrap().repairs, 0);
}

#[test]
fn a_plain_take_copies_and_a_query_looks_at_the_sample() {
    let (mut desk, here) = one();
    let (writer, reader) = (writer(&here, |_| {}), reader(&here, |_| {}));
    settle(&mut desk);
    let odd = reader.create_querycondition(States::ANY, |note: &Note| note.number % 2 == 1);
    coded();
    for number in 0..6 {
        write(&writer, &note(number, number, 1_000));
    }
    assert!(odd.get_trigger_value());
    let taken = reader.take_w_query(usize::MAX, &odd).unwrap();
    assert_eq!(taken.len(), 3);
    assert!(taken.iter().all(|sample| sample.data.as_ref().is_some_and(|data| data.data.0.len() == 1_000)));
    let mut into = Note::default();
    assert!(reader.take_into(&mut into).unwrap().is_some());
    assert_eq!((into.number, into.data.0.len()), (0, 1_000));
    let read = reader.read(1, States::ANY).unwrap();
    assert_eq!(read[0].data, Some((*note(2, 2, 1_000)).clone()));
    assert_eq!(coded(), 0);
}

#[test]
fn others_get_the_same_octets_as_from_a_plain_write() {
    for (len, lost) in [(10, 0), (10, 200), (30_000, 0), (200_000, 100)] {
        let (mut desk, here, there) = two();
        let writer =
            writer(&here, |qos| qos.endpoint.reliability.max_blocking_time = Duration::from_secs(20));
        let (near, far) = (reader(&here, |_| {}), reader(&there, |_| {}));
        settle(&mut desk);
        desk.lose(lost, 3);
        let samples: Vec<_> = (0..60).map(|number| note(number % 3, number, len)).collect();
        for (number, sample) in samples.iter().enumerate() {
            // Some are written otherwise.
            match number % 4 {
                3 => assert_eq!(writer.write(sample).unwrap().0, number as i64 + 1),
                _ => assert_eq!(write(&writer, sample), number as i64 + 1),
            }
            desk.run(millis(2));
        }
        desk.heal();
        writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
        let [near, far] = [near, far].map(|reader| {
            let mut taken = reader.take_shared(usize::MAX, States::ANY).unwrap();
            taken.sort_by_key(|sample| sample.info.sequence_number);
            taken
        });
        assert_eq!((near.len(), far.len()), (60, 60), "{len}");
        for (number, ((near, far), sample)) in near.iter().zip(&far).zip(&samples).enumerate() {
            assert_eq!(near.info.sequence_number, far.info.sequence_number);
            assert_eq!(near.info.source_timestamp, far.info.source_timestamp);
            assert_eq!(Arc::ptr_eq(near.data.as_ref().unwrap(), sample), number % 4 != 3);
            assert_eq!(far.data.as_ref(), Some(sample), "{len} {number}");
        }
    }
}

#[test]
fn a_full_reader_holds_the_writer_back_and_gets_all() {
    let (mut desk, here) = one();
    let writer = writer(&here, |qos| {
        qos.endpoint.reliability.max_blocking_time = millis(50);
        qos.byte_limit = 64 << 10;
    });
    let reader = reader(&here, |qos| {
        qos.endpoint.resource_limits.max_samples = Some(4);
        qos.endpoint.resource_limits.max_samples_per_instance = Some(4);
    });
    settle(&mut desk);
    let mut written = 0;
    let refused = loop {
        match writer.write_shared(note(1, written, 1_000), &WriteOptions::default()) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1_000, "nothing holds it back");
    };
    assert_eq!(refused.code, ReturnCode::Timeout);
    assert!(written > 4);
    let status = reader.get_sample_rejected_status();
    assert_eq!(status.last_reason, Some(RejectedReason::SamplesPerInstance));
    let mut got = Vec::new();
    for _ in 0..200 {
        got.extend(numbers(&reader));
        desk.run(millis(5));
    }
    assert_eq!(got, (0..written).collect::<Vec<_>>());
    assert!(writer.write_shared(note(1, written, 1_000), &WriteOptions::default()).is_ok());
}

#[test]
fn instances_end_filters_filter_and_stronger_writers_own() {
    let (mut desk, here) = one();
    let strength = |value| {
        move |qos: &mut DataWriterQos| {
            qos.endpoint.ownership = Ownership::Exclusive;
            qos.endpoint.ownership_strength = value;
        }
    };
    let (weak, strong) = (writer(&here, strength(1)), writer(&here, strength(2)));
    let reader = reader(&here, |qos| {
        qos.endpoint.ownership = Ownership::Exclusive;
        qos.endpoint.deadline = Duration::INFINITE;
    });
    settle(&mut desk);
    write(&weak, &note(1, 1, 10));
    write(&strong, &note(1, 2, 10));
    write(&weak, &note(1, 3, 10));
    assert_eq!(numbers(&reader), [1, 2]);
    assert_eq!(reader.dropped(DropReason::Ownership).count, 1);
    let instance = strong.lookup_instance(&note(1, 0, 0)).unwrap().unwrap();
    strong.dispose_of(InstanceOf::Handle(instance), None).unwrap();
    let end = reader.take_shared(1, States::ANY).unwrap();
    assert_eq!(end[0].info.instance_state, InstanceState::NotAliveDisposed);
    assert_eq!((end[0].data.is_none(), end[0].key.as_ref().map(|key| key.id)), (true, Some(1)));
    write(&strong, &note(1, 4, 10));
    let alive = reader.take_shared(1, States::ANY).unwrap();
    assert_eq!(alive[0].info.disposed_generation_count, 1);
}

#[test]
fn late_readers_get_the_history_whether_they_are_near_or_far() {
    let (mut desk, here, there) = two();
    let kept = |qos: &mut DataWriterQos| qos.endpoint.durability = Durability::TransientLocal;
    let wants = |qos: &mut DataReaderQos| qos.endpoint.durability = Durability::TransientLocal;
    let writer = writer(&here, kept);
    let first = reader(&here, wants);
    settle(&mut desk);
    let samples: Vec<_> = (0..10).map(|number| note(number, number, 50_000)).collect();
    coded();
    for sample in &samples {
        write(&writer, sample);
        assert_eq!(numbers(&first), [sample.number]);
    }
    let near = reader(&here, wants);
    settle(&mut desk);
    let taken = near.take_shared(usize::MAX, States::ANY).unwrap();
    assert_eq!(taken.len(), 10);
    for sample in &taken {
        let data = sample.data.as_ref().unwrap();
        assert!(Arc::ptr_eq(data, &samples[data.number as usize]));
    }
    assert_eq!(coded(), 0);
    let far = reader(&there, wants);
    settle(&mut desk);
    let mut got = numbers(&far);
    got.sort_unstable();
    assert_eq!(got, (0..10).collect::<Vec<_>>());
    assert!(coded() >= 10, "it came without octets");
}

#[test]
fn without_readers_of_the_participant_it_is_a_plain_write() {
    let (mut desk, here, there) = two();
    let (writer, far) = (writer(&here, |_| {}), reader(&there, |_| {}));
    settle(&mut desk);
    let sample = note(1, 1, 100);
    write(&writer, &sample);
    // The history has bytes, and no handle.
    assert_eq!(Arc::strong_count(&sample), 1);
    desk.run(millis(5));
    assert_eq!(numbers(&far), [1]);
}
