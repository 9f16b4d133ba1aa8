//! Writers and readers made in one line, samples one after the other, and waits for the other side; in virtual time.
use std::sync::{Arc, Mutex};
use std::time::{Duration as StdDuration, UNIX_EPOCH};

use dds::qos::{Durability, History, ReliabilityKind, WhenRefused};
use dds::{DdsType, Duration, QosKind, ReturnCode, WallTime};

use crate::fixture::*;

#[derive(DdsType, Clone, PartialEq, Debug)]
struct Unbounded {
    text: String,
}

#[test]
fn builders_make_the_standard_entities_with_the_policies_that_they_name() {
    let (_desk, here, _) = two();
    let writer = here
        .writer::<Reading>("Readings")
        .best_effort()
        .keep_last(7)
        .transient_local()
        .deadline(StdDuration::from_secs(2))
        .lifespan(Duration::from_secs(3))
        .with_qos(|qos| qos.endpoint.transport_priority = 4)
        .every(StdDuration::from_millis(10))
        .up_to(64)
        .create()
        .unwrap();
    let qos = writer.get_qos();
    assert_eq!(qos.endpoint.reliability.kind, ReliabilityKind::BestEffort);
    assert_eq!(
        (qos.endpoint.history, qos.endpoint.durability),
        (History::KeepLast(7), Durability::TransientLocal)
    );
    assert_eq!(
        (qos.endpoint.deadline, qos.endpoint.lifespan),
        (Duration::from_secs(2), Duration::from_secs(3))
    );
    assert_eq!(qos.endpoint.transport_priority, 4);
    let assurance = qos.assurance.unwrap();
    assert_eq!((assurance.minimum_separation, assurance.maximum_size), (millis(10), Some(64)));
    let topic = writer.get_topic();
    assert_eq!((topic.get_name(), topic.get_type_name()), ("Readings", "Reading"));

    let reader = here
        .reader::<Reading>("Readings")
        .reliable()
        .keep_all()
        .within(millis(5))
        .or_fail()
        .create()
        .unwrap();
    let qos = reader.get_qos();
    assert_eq!(qos.endpoint.reliability.kind, ReliabilityKind::Reliable);
    assert_eq!(qos.endpoint.history, History::KeepAll);
    let assurance = qos.assurance.unwrap();
    assert_eq!((assurance.maximum_latency, assurance.when_refused), (millis(5), WhenRefused::Fail));
    assert!(here.lookup_topicdescription("Readings").is_some());
    here.delete_contained_entities().unwrap();
    assert_eq!(writer.write(&reading(1, 1)).unwrap_err().code, ReturnCode::AlreadyDeleted);
    here.writer::<Reading>("Readings").create().unwrap();
}

#[test]
fn what_builders_share_is_made_once_and_partitions_have_groups_of_their_own() {
    let (mut desk, here, there) = two();
    let (one, two) = (
        here.writer::<Reading>("Readings").create().unwrap(),
        here.writer::<Reading>("Other").create().unwrap(),
    );
    let left = here.writer::<Reading>("Readings").partition("left").keep_all().create().unwrap();
    let both = here.writer::<Reading>("Readings").partition("left").partition("right").create().unwrap();
    let again = here.writer::<Reading>("Readings").partition("left").create().unwrap();
    let handle = |writer: &dds::DataWriter<Reading>| writer.get_publisher().get_qos().partition;
    assert_eq!(handle(&one), handle(&two));
    assert_eq!(
        (handle(&left), handle(&both)),
        (vec!["left".to_owned()], vec!["left".to_owned(), "right".to_owned()])
    );
    assert_eq!(here.delete_publisher(one.get_publisher()).unwrap_err().code, ReturnCode::PreconditionNotMet);
    one.get_publisher().delete_datawriter(&one).unwrap();
    two.get_publisher().delete_datawriter(&two).unwrap();
    here.delete_publisher(one.get_publisher()).expect("both writers had the same publisher");
    again.get_publisher().delete_datawriter(&again).unwrap();
    let reader =
        there.reader::<Reading>("Readings").partition("left").reliable().keep_all().create().unwrap();
    settle(&mut desk);
    left.write(&reading(1, 1)).unwrap();
    here.writer::<Reading>("Readings").create().unwrap().write(&reading(1, 2)).unwrap();
    settle(&mut desk);
    assert_eq!(values(&reader), [1]);
}

#[test]
fn a_builder_of_a_group_begins_with_the_defaults_of_that_group() {
    let (_desk, here, _) = two();
    let (publisher, subscriber) = (publisher(&here), subscriber(&here));
    let mut qos = publisher.get_default_datawriter_qos();
    qos.endpoint.history = History::KeepLast(5);
    publisher.set_default_datawriter_qos(QosKind::Specific(qos)).unwrap();
    let mut qos = subscriber.get_default_datareader_qos();
    qos.endpoint.history = History::KeepLast(6);
    subscriber.set_default_datareader_qos(QosKind::Specific(qos)).unwrap();
    let writer = publisher.writer::<Reading>("Readings").create().unwrap();
    let reader = subscriber.reader::<Reading>("Readings").create().unwrap();
    assert_eq!(writer.get_qos().endpoint.history, History::KeepLast(5));
    assert_eq!(reader.get_qos().endpoint.history, History::KeepLast(6));
    let refused = publisher.writer::<Reading>("Readings").partition("left").create().unwrap_err();
    assert!(refused.to_string().contains("PARTITION"), "{refused}");
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_do() {
    let (_desk, here, _) = two();
    let refused = here.writer::<Reading>("Readings").up_to(9).create().unwrap_err().to_string();
    assert!(refused.contains("every(…)"), "{refused}");
    let refused = here.reader::<Reading>("Readings").or_fail().create().unwrap_err().to_string();
    assert!(refused.contains("within(…)"), "{refused}");
    let refused = here.writer::<Unbounded>("Texts").every(millis(1)).create().unwrap_err().to_string();
    assert!(refused.contains("maximum_size"), "{refused}");
    here.writer::<Unbounded>("Texts").every(millis(1)).up_to(100).create().unwrap();
    let refused = here.writer::<Unbounded>("Readings").create();
    assert!(refused.is_ok(), "nothing was made of the name before");
    let refused = here.writer::<Reading>("Readings").create().unwrap_err().to_string();
    assert!(refused.contains("\"Unbounded\""), "{refused}");
}

#[test]
fn samples_are_taken_one_after_the_other_and_what_has_no_data_is_left_out() {
    let (mut desk, here, there) = two();
    let writer = here.writer::<Reading>("Readings").keep_all().create().unwrap();
    let reader = there.reader::<Reading>("Readings").reliable().keep_all().create().unwrap();
    settle(&mut desk);
    let time = UNIX_EPOCH + StdDuration::from_secs(1_000);
    writer.write(&reading(1, 1)).unwrap();
    writer.dispose(&reading(1, 0)).unwrap();
    writer.write_w_timestamp(&reading(2, 2), time).unwrap();
    writer.write(&reading(3, 3)).unwrap();
    settle(&mut desk);
    let mut samples = reader.samples();
    assert_eq!(samples.next(), Some(reading(1, 1)));
    let (second, info) = samples.with_info().next().unwrap();
    assert_eq!((second, info.source_timestamp), (reading(2, 2), time.to_timestamp()));
    let mut rest = Vec::new();
    for sample in &reader {
        rest.push(sample.value);
    }
    assert_eq!(rest, [3]);
    assert_eq!(reader.samples().count(), 0);
    writer.write(&reading(4, 4)).unwrap();
    let before = desk.now().monotonic;
    let waited: Vec<_> =
        reader.wait_samples(StdDuration::from_millis(300)).map(|sample| sample.value).collect();
    assert_eq!(waited, [4]);
    assert_eq!(desk.now().monotonic.since(before), millis(300), "it waits once more for as long as it may");
}

#[test]
fn who_waits_for_the_other_side_is_told_how_many_are_missing() {
    let (desk, here, there) = two();
    let writer = here.writer::<Reading>("Readings").create().unwrap();
    let before = desk.now().monotonic;
    let late = writer.wait_for_readers(1, StdDuration::from_secs(2)).unwrap_err();
    assert_eq!(late.code, ReturnCode::Timeout);
    assert!(late.to_string().contains("0 readers of 1 were matched in 2 s"), "{late}");
    assert_eq!(desk.now().monotonic.since(before), Duration::from_secs(2));
    let first = there.reader::<Reading>("Readings").reliable().keep_all().create().unwrap();
    writer.wait_for_readers(1, Duration::from_secs(5)).unwrap();
    let second = there.reader::<Reading>("Readings").reliable().keep_all().create().unwrap();
    writer.wait_for_readers(2, Duration::from_secs(5)).unwrap();
    second.wait_for_writers(1, Duration::from_secs(5)).unwrap();
    writer.write(&reading(1, 1)).unwrap();
    assert_eq!(first.wait_samples(millis(100)).next(), Some(reading(1, 1)));
    assert_eq!(second.wait_samples(millis(100)).next(), Some(reading(1, 1)));
    let late = first.wait_for_writers(2, Duration::ZERO).unwrap_err();
    assert!(late.to_string().contains("1 writers of 2"), "{late}");
    writer.get_publisher().delete_datawriter(&writer).unwrap();
    assert_eq!(writer.wait_for_readers(1, millis(1)).unwrap_err().code, ReturnCode::AlreadyDeleted);
}

#[test]
fn closures_are_called_for_what_they_are_for() {
    let (mut desk, here, there) = two();
    let log = Log::default();
    let (matched, lost) = (log.clone(), log.clone());
    let received = Arc::new(Mutex::new(Vec::new()));
    let received_by_reader = Arc::clone(&received);
    let writer = here
        .writer::<Reading>("Readings")
        .keep_all()
        .on_publication_matched(move |writer, status| {
            let topic = writer.get_topic();
            matched.write(format!("{} {}", topic.get_name(), status.current.count));
        })
        .on_offered_incompatible_qos(move |_, status| {
            lost.write(format!("incompatible {}", status.total.count))
        })
        .create()
        .unwrap();
    let mut count = 0;
    let reader = there
        .reader::<Reading>("Readings")
        .reliable()
        .keep_all()
        .on_sample(move |sample| {
            count += 1;
            received_by_reader.lock().unwrap().push((count, sample.value));
        })
        .create()
        .unwrap();
    settle(&mut desk);
    assert_eq!(log.read(), ["Readings 1"]);
    for value in 5..8 {
        writer.write(&reading(1, value)).unwrap();
    }
    settle(&mut desk);
    assert_eq!(*received.lock().unwrap(), [(1, 5), (2, 6), (3, 7)]);
    assert_eq!(values(&reader), [0; 0], "they were taken");
    let stricter = there.reader::<Reading>("Readings").deadline(millis(1)).create().unwrap();
    settle(&mut desk);
    assert_eq!(log.read(), ["incompatible 1"]);
    drop(stricter);
}

#[test]
fn entities_can_be_printed() {
    let (_desk, here, _) = two();
    let writer = here.writer::<Reading>("Readings").create().unwrap();
    let reader = here.reader::<Reading>("Readings").create().unwrap();
    let (writer, reader) = (format!("{writer:?}"), format!("{reader:?}"));
    assert!(writer.starts_with("DataWriter<") && writer.contains("topic: \"Readings\""), "{writer}");
    assert!(reader.starts_with("DataReader<") && reader.contains("guid: Some("), "{reader}");
}
