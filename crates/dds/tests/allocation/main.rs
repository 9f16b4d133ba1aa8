//! Writing and taking through the public API take nothing from the heap once they are warm: protocol, caches, locks and callbacks
//! included, at both sides.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod quiet;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dds::qos::{DataReaderQos, DataWriterQos, FlowController, History, Reliability};
use dds::{
    DataReader, DataReaderListener, DataWriter, DomainParticipant, NO_STATUS, QosKind, States, StatusMask,
    WaitSet,
};
use derive::DdsType;
use quiet::Domain;
use wire::Duration;
use wire::cdr::DdsType;

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

/// Of fixed size, without key.
#[derive(DdsType, Clone, PartialEq, Debug, Default)]
#[dds(final)]
struct Position {
    at: [f64; 3],
    number: u32,
}

/// Of fixed size, with a key.
#[derive(DdsType, Clone, PartialEq, Debug, Default)]
struct Reading {
    #[dds(key)]
    sensor: u32,
    celsius: f64,
}

/// Of any size.
#[derive(DdsType, Clone, PartialEq, Debug, Default)]
struct Image {
    #[dds(key)]
    camera: String,
    pixels: Vec<u8>,
}

/// Both ends of a topic, matched.
struct Ends<T> {
    domain: Domain,
    writer: DataWriter<T>,
    reader: DataReader<T>,
}

fn writer<T: DdsType + Send + Sync + 'static>(
    participant: &DomainParticipant,
    topic: &str,
    qos: DataWriterQos,
) -> DataWriter<T> {
    let topic = participant.create_topic::<T>(topic, "T", QosKind::Default, None, NO_STATUS).unwrap();
    let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
    publisher.create_datawriter(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

fn reader<T: DdsType + Send + Sync + 'static>(
    participant: &DomainParticipant,
    topic: &str,
    qos: DataReaderQos,
    listener: Option<Arc<dyn DataReaderListener<T>>>,
) -> DataReader<T> {
    let topic = participant.create_topic::<T>(topic, "T", QosKind::Default, None, NO_STATUS).unwrap();
    let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
    let mask = if listener.is_some() { StatusMask::DATA_AVAILABLE } else { NO_STATUS };
    subscriber.create_datareader(&topic, QosKind::Specific(qos), listener, mask).unwrap()
}

/// Two participants.
fn remote<T: DdsType + Send + Sync + 'static>(
    writer_qos: DataWriterQos,
    reader_qos: DataReaderQos,
) -> Ends<T> {
    let mut domain = Domain::default();
    let (here, there) = (domain.participant(), domain.participant());
    let ends = Ends {
        writer: writer(&here, "T", writer_qos),
        reader: reader(&there, "T", reader_qos, None),
        domain,
    };
    ends.domain.run(Duration::from_secs(1));
    assert_eq!(ends.reader.get_matched_publications().len(), 1);
    ends
}

fn qos(reliability: Reliability, history: History) -> (DataWriterQos, DataReaderQos) {
    let (mut writer, mut reader) = (DataWriterQos::default(), DataReaderQos::default());
    for qos in [&mut writer.endpoint, &mut reader.endpoint] {
        qos.reliability = reliability;
        qos.history = history;
    }
    (writer, reader)
}

fn reliable() -> (DataWriterQos, DataReaderQos) {
    qos(Reliability::RELIABLE, History::KeepAll)
}

/// Warms up, and then asserts that `rounds` of this, with a millisecond after each, take nothing from the heap. Each round
/// says how many samples came.
fn takes_nothing(domain: &Domain, expected: u64, mut round: impl FnMut(u64) -> u64) {
    let mut rounds = |from: u64, to: u64| {
        let mut came = 0;
        let ((), usage) = alloc_meter::measure(|| (from..to).for_each(|number| came += round(number)));
        (usage.count, came)
    };
    rounds(0, 2_000);
    domain.run(Duration::from_secs(2));
    rounds(2_000, 3_000);
    assert_eq!(rounds(3_000, 4_000), (0, 1_000 * expected), "allocations and samples");
}

const MILLISECOND: Duration = Duration::from_millis(1);

/// Writes these, lets them arrive, and takes them.
fn each_round_takes_nothing<T: DdsType + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static>(
    ends: &Ends<T>,
    samples: &[T],
) {
    let Ends { domain, writer, reader } = ends;
    takes_nothing(domain, u64::try_from(samples.len()).unwrap(), |_| {
        for sample in samples {
            writer.write(sample).unwrap();
        }
        domain.run(MILLISECOND);
        let mut came = 0;
        while let Some(sample) = reader.take_next_sample().unwrap() {
            assert!(samples.contains(sample.data.as_ref().unwrap()));
            came += 1;
        }
        came
    });
}

fn readings(count: u32) -> Vec<Reading> {
    (0..count).map(|sensor| Reading { sensor, celsius: f64::from(sensor) / 2.0 }).collect()
}

#[test]
fn a_writer_with_a_flow_controller() {
    // There are tokens for all that is written, ...
    let (mut writer, reader) = qos(Reliability::RELIABLE, History::KeepLast(1));
    writer.flow_controller = Some(FlowController::token_bucket(8_000_000, 3_000).packets_up_to(304));
    each_round_takes_nothing(&remote(writer.clone(), reader.clone()), &readings(4));
    // ... or for a packet each twelve rounds: most samples wait, and newer ones take their place.
    writer.flow_controller = Some(FlowController::token_bucket(200_000, 304));
    let Ends { domain, writer, reader } = remote::<Reading>(writer, reader);
    let samples = readings(4);
    let (mut written, mut came) = (0_u32, 0_u32);
    let mut rounds = |count: u32| {
        let ((), usage) = alloc_meter::measure(|| {
            for _ in 0..count {
                for sample in &samples {
                    writer.write(sample).unwrap();
                }
                written += 4;
                domain.run(MILLISECOND);
                while reader.take_next_sample().unwrap().is_some() {
                    came += 1;
                }
            }
        });
        usage.count
    };
    rounds(3_000);
    assert_eq!(rounds(1_000), 0);
    assert!(came > 100 && came < written / 4, "{came} of {written}");
}

#[test]
fn a_type_of_fixed_size() {
    for (writer, reader) in [
        reliable(),
        qos(Reliability::RELIABLE, History::KeepLast(1)),
        qos(Reliability::BEST_EFFORT, History::KeepLast(4)),
    ] {
        let ends = remote(writer, reader);
        each_round_takes_nothing(&ends, &[Position { at: [1.0, 2.0, 3.0], number: 7 }]);
    }
}

#[test]
fn a_keyed_type_of_fixed_size() {
    for (writer, reader) in [reliable(), qos(Reliability::RELIABLE, History::KeepLast(1))] {
        let ends = remote(writer, reader);
        each_round_takes_nothing(&ends, &readings(8));
    }
}

#[test]
fn samples_that_wait_for_company() {
    let (mut writer, mut reader) = reliable();
    (writer.endpoint.latency_budget, reader.endpoint.latency_budget) = (MILLISECOND, MILLISECOND);
    let ends = remote(writer, reader);
    each_round_takes_nothing(&ends, &readings(200));
}

#[test]
fn a_reader_of_the_same_participant() {
    let mut domain = Domain::default();
    let here = domain.participant();
    let (writer_qos, reader_qos) = reliable();
    let ends =
        Ends { writer: writer(&here, "T", writer_qos), reader: reader(&here, "T", reader_qos, None), domain };
    ends.domain.run(Duration::from_secs(1));
    each_round_takes_nothing(&ends, &readings(3));
}

#[test]
fn among_many_endpoints() {
    let (writer_qos, reader_qos) = reliable();
    let mut domain = Domain::default();
    let (here, there) = (domain.participant(), domain.participant());
    let names: Vec<String> = (0..40).map(|number| format!("T{number}")).collect();
    let ends: Vec<(DataWriter<Reading>, DataReader<Reading>)> = names
        .iter()
        .map(|name| (writer(&here, name, writer_qos.clone()), reader(&there, name, reader_qos.clone(), None)))
        .collect();
    domain.run(Duration::from_secs(1));
    let sample = Reading { sensor: 1, celsius: 2.0 };
    takes_nothing(&domain, 2, |round| {
        let index = usize::try_from(round).unwrap() % ends.len();
        let other = (index * 7 + 3) % ends.len();
        for index in [index, other] {
            ends[index].0.write(&sample).unwrap();
        }
        domain.run(MILLISECOND);
        let came = [index, other].map(|index| u64::from(ends[index].1.take_next_sample().unwrap().is_some()));
        came.iter().sum::<u64>() + u64::from(index == other)
    });
}

/// Images whose sizes and keys differ, taken into one that is used again.
fn images_take_nothing(images: &[Image], (writer, reader): (DataWriterQos, DataReaderQos)) {
    let Ends { domain, writer, reader } = remote::<Image>(writer, reader);
    let mut image = Image::default();
    takes_nothing(&domain, u64::try_from(images.len()).unwrap(), |_| {
        for image in images {
            writer.write(image).unwrap();
        }
        domain.run(MILLISECOND);
        let mut came = 0;
        while reader.take_into(&mut image).unwrap().is_some() {
            assert!(images.contains(&image));
            came += 1;
        }
        came
    });
}

#[test]
fn many_taken_at_once() {
    let (writer, reader) = reliable();
    let Ends { domain, writer, reader } = remote::<Image>(writer, reader);
    let images = [image("left", 100), image("right", 900), image("left", 30)];
    let mut image = Image::default();
    takes_nothing(&domain, 3, |_| {
        for image in &images {
            writer.write(image).unwrap();
        }
        domain.run(MILLISECOND);
        let mut came = 0;
        let taken = reader.take_each(64, &mut image, |image, info| {
            assert!(info.valid_data && images.contains(image));
            came += 1;
        });
        assert_eq!(taken.unwrap(), 3);
        came
    });
}

fn image(camera: &str, bytes: usize) -> Image {
    Image { camera: camera.to_owned(), pixels: vec![7; bytes] }
}

#[test]
fn other_types_taken_into_a_sample_that_is_used_again() {
    images_take_nothing(
        &[image("left", 100), image("right", 900), image("a camera with a long name", 3)],
        reliable(),
    );
}

#[test]
fn large_samples_in_fragments() {
    images_take_nothing(&[image("left", 100_000), image("right", 20_000)], reliable());
    images_take_nothing(&[image("left", 100_000)], qos(Reliability::BEST_EFFORT, History::KeepLast(1)));
}

/// Counts and takes.
#[derive(Default)]
struct Taker(AtomicU64);

impl DataReaderListener<Reading> for Taker {
    fn on_data_available(&self, reader: &DataReader<Reading>) {
        while reader.take_next_sample().unwrap().is_some() {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_listener_that_takes() {
    let mut domain = Domain::default();
    let (here, there) = (domain.participant(), domain.participant());
    let (writer_qos, reader_qos) = reliable();
    let taker = Arc::new(Taker::default());
    let writer = writer::<Reading>(&here, "T", writer_qos);
    let _reader = reader::<Reading>(&there, "T", reader_qos, Some(Arc::clone(&taker) as _));
    domain.run(Duration::from_secs(1));
    let samples = readings(3);
    takes_nothing(&domain, 3, |_| {
        for sample in &samples {
            writer.write(sample).unwrap();
        }
        domain.run(MILLISECOND);
        taker.0.swap(0, Ordering::Relaxed)
    });
}

#[test]
fn a_waitset_that_is_told() {
    let (writer, reader) = reliable();
    let Ends { domain, writer, reader } = remote::<Reading>(writer, reader);
    let waits = WaitSet::new();
    waits.attach_condition(reader.create_readcondition(States::NOT_READ).into()).unwrap();
    let mut active = Vec::new();
    let sample = Reading { sensor: 1, celsius: 2.0 };
    takes_nothing(&domain, 1, |_| {
        writer.write(&sample).unwrap();
        domain.run(MILLISECOND);
        waits.wait_into(&mut active, Duration::ZERO).unwrap();
        u64::from(reader.take_next_sample().unwrap().is_some())
    });
}
