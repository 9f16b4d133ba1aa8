//! Samples that come to a reader and do not get through.
use dds::qos::{DataReaderQos, DataWriterQos, History, PublisherQos, Reliability, SubscriberQos};
use dds::{DataReader, DataWriter, Duration, States};

use crate::stage::{Reading, Stage, reading};

/// A writer of the talker and a reader of the watcher.
fn pair(
    stage: &Stage,
    writer: impl FnOnce(&mut DataWriterQos),
    reader: impl FnOnce(&mut DataReaderQos),
) -> (DataWriter<Reading>, DataReader<Reading>) {
    let (mut offered, mut requested) = (DataWriterQos::default(), DataReaderQos::default());
    offered.endpoint.history = History::KeepAll;
    requested.endpoint.history = History::KeepAll;
    writer(&mut offered);
    reader(&mut requested);
    (
        stage.writer("Readings", "Reading", PublisherQos::default(), offered),
        Stage::reader_of(&stage.watcher, "Readings", "Reading", SubscriberQos::default(), requested),
    )
}

/// The listener reads as well, so that the topic is complete.
fn complete(stage: &Stage) -> DataReader<Reading> {
    stage.reader("Readings", "Reading", SubscriberQos::default(), DataReaderQos::default())
}

#[test]
fn resource_limits() {
    let mut stage = Stage::new();
    let _other = complete(&stage);
    let (writer, reader) = pair(&stage, |_| {}, |qos| qos.endpoint.resource_limits.max_samples = Some(3));
    stage.desk.run(Duration::from_secs(1));
    (0..5).for_each(|sensor| {
        writer.write(&reading(sensor)).unwrap();
    });
    assert_eq!(
        stage.told_of(&reader, 0),
        "! topic \"Readings\": 2 samples did not get through to a reader here: RESOURCE_LIMITS: too many samples or octets\n  Raise RESOURCE_LIMITS max_samples of the reader, or take samples more often."
    );
}

#[test]
fn lifespan() {
    let mut stage = Stage::new();
    let _other = complete(&stage);
    let (writer, reader) = pair(&stage, |qos| qos.endpoint.lifespan = Duration::from_millis(10), |_| {});
    stage.desk.run(Duration::from_secs(1));
    (0..4).for_each(|sensor| {
        writer.write(&reading(sensor)).unwrap();
    });
    stage.desk.run(Duration::from_secs(1));
    assert_eq!(reader.take(10, States::ANY).unwrap().len(), 0);
    assert_eq!(
        stage.told_of(&reader, 0),
        "! topic \"Readings\": 4 samples did not get through to a reader here: LIFESPAN: expired before it was read\n  Raise LIFESPAN of the writer, or synchronise the clocks of the two hosts: the age is counted by both."
    );
}

#[test]
fn time_based_filter() {
    let mut stage = Stage::new();
    let _other = complete(&stage);
    let (writer, reader) =
        pair(&stage, |_| {}, |qos| qos.endpoint.time_based_filter = Duration::from_secs(1));
    stage.desk.run(Duration::from_secs(1));
    for _ in 0..10 {
        writer.write(&reading(1)).unwrap();
        stage.desk.run(Duration::from_millis(100));
    }
    let came = reader.take(10, States::ANY).unwrap().len();
    assert_eq!(
        stage.told_of(&reader, came as u64),
        format!(
            "- topic \"Readings\": {} samples did not get through to a reader here: TIME_BASED_FILTER: too soon after the sample before\n  The reader asked for that: lower TIME_BASED_FILTER minimum_separation to get more.",
            10 - came
        )
    );
}

#[test]
fn lost_samples() {
    let mut stage = Stage::new();
    let _other = complete(&stage);
    let (writer, reader) = pair(&stage, |qos| qos.endpoint.reliability = Reliability::BEST_EFFORT, |_| {});
    stage.desk.run(Duration::from_secs(1));
    writer.write(&reading(1)).unwrap();
    stage.desk.run(Duration::from_millis(1));
    // Host 0 is the talker's, host 2 the watcher's.
    stage.desk.cut(0, 2);
    (0..3).for_each(|_| {
        writer.write(&reading(1)).unwrap();
    });
    stage.desk.run(Duration::from_millis(1));
    stage.desk.heal();
    writer.write(&reading(1)).unwrap();
    stage.desk.run(Duration::from_millis(1));
    let came = reader.take(10, States::ANY).unwrap().len();
    assert_eq!(came, 2);
    assert_eq!(
        stage.told_of(&reader, 2),
        "! topic \"Readings\": 3 samples did not get through to a reader here: lost: it never came, and the writer has it no more\n  Make writer and reader RELIABLE, or keep more at the writer (HISTORY, RESOURCE_LIMITS); larger buffers (net.core.rmem_max) help BEST_EFFORT."
    );
}

#[test]
fn a_writer_that_does_not_write() {
    let mut stage = Stage::new();
    let _other = complete(&stage);
    let (_writer, reader) = pair(&stage, |_| {}, |_| {});
    stage.desk.run(Duration::from_secs(1));
    assert_eq!(
        stage.told_of(&reader, 0),
        "- topic \"Readings\": a reader here is matched with 1 writer, and nothing was written in this time\n  Watch longer with --time, or see whether the writer writes at all."
    );
}
