//! Samples that come to a reader and do not get through.
use cli::People;
use cli::explain::Received;
use dds::qos::{DataReaderQos, DataWriterQos, History, PublisherQos, Reliability, SubscriberQos};
use dds::{DataReader, DataWriter, Duration, States};

use wire::VendorId;

use crate::stage::{Reading, Stage, reading, told};

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
    for sensor in 0..5 {
        writer.write(&reading(sensor)).unwrap();
    }
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
    for sensor in 0..4 {
        writer.write(&reading(sensor)).unwrap();
    }
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
    for _ in 0..3 {
        writer.write(&reading(1)).unwrap();
    }
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
        "- topic \"Readings\": a reader here is matched with 1 writer, and nothing was written in this time\n  Watch longer with --duration, or see whether the writer writes at all."
    );
}

/// What is said of one reader of another vendor, where samples of the talker have this encapsulation.
fn of_form(identifier: u16, vendor: VendorId) -> String {
    let mut stage = Stage::new();
    let _other = complete(&stage);
    let (writer, _reader) = pair(&stage, |_| {}, |_| {});
    let mut scene = stage.scene(Some("Readings"));
    drop(writer);
    let guid = scene.endpoints.iter().find(|data| data.guid.entity_id.is_writer()).unwrap().guid;
    let mut received = Received { writers: 1, samples: 5, ..Received::default() };
    received.encapsulations.insert(guid, identifier);
    scene.received = Some(received);
    scene.people = People::new(scene.people.iter().cloned().map(|mut person| {
        if person.name.as_deref() == Some("listener") {
            person.vendor = vendor;
        }
        person
    }));
    told(&scene)
}

#[test]
fn a_form_that_readers_of_others_may_not_read() {
    assert_eq!(
        of_form(0x0007, VendorId::CYCLONE),
        "- topic \"Readings\": writer of \"talker\" (Punctual at 10.0.0.1) and reader of \"listener\" (Cyclone DDS at 10.0.0.2): samples come as PLAIN_CDR2, those of final types: a reader whose type is appendable or mutable drops each of them, which cannot be seen from here\n  If the reader gets nothing, make its type final too: #[dds(final)] in Rust, @final in IDL."
    );
    assert_eq!(of_form(0x0001, VendorId::CYCLONE), "", "all but mutable types look like that");
    assert_eq!(of_form(0x0009, VendorId::PUNCTUAL), "", "one vendor has one default");
}

#[test]
fn samples_of_another_type_than_described() {
    let mut stage = Stage::new();
    let _other = complete(&stage);
    let (_writer, _reader) = pair(&stage, |_| {}, |_| {});
    let mut scene = stage.scene(Some("Readings"));
    let unreadable = Some((4, "the bytes end too early".to_owned()));
    scene.received = Some(Received { writers: 1, samples: 4, unreadable, ..Received::default() });
    let said = told(&scene);
    assert!(said.starts_with("! topic \"Readings\": 4 samples cannot be read as the type that was described: the bytes end too early\n"), "{said}");
}
