//! Types of writers and readers of one topic: those that can be read match, also after a question to the other participant; of others the
//! member that stands in the way is told.
use std::sync::Arc;

use dds::cdr::{CdrType, DdsType};
use dds::qos::{DataReaderQos, History, Reliability};
use dds::xtypes::describe;
use dds::{DataReader, DataWriter, DomainParticipant, NO_STATUS, QosKind, States};
use derive::DdsType;

use crate::desk::Desk;
use crate::fixture::*;

/// A later version of a reading.
#[derive(DdsType, Clone, PartialEq, Debug, Default)]
struct Longer {
    #[dds(key)]
    sensor: u32,
    value: i64,
    place: Place,
}

#[derive(DdsType, Clone, PartialEq, Debug, Default)]
#[dds(final)]
struct Place {
    x: f64,
    y: f64,
}

/// A reading whose value is something else.
#[derive(DdsType, Clone, PartialEq, Debug, Default)]
struct Retyped {
    #[dds(key)]
    sensor: u32,
    value: f64,
}

fn typed_writer<T: DdsType + Clone + Send + Sync + 'static>(
    participant: &DomainParticipant,
    type_name: &str,
) -> DataWriter<T> {
    let topic =
        participant.create_topic::<T>("Readings", type_name, QosKind::Default, None, NO_STATUS).unwrap();
    publisher(participant).create_datawriter::<T>(&topic, QosKind::Default, None, NO_STATUS).unwrap()
}

fn typed_reader<T: DdsType + Clone + Send + Sync + 'static>(
    participant: &DomainParticipant,
    type_name: &str,
    tune: impl FnOnce(&mut DataReaderQos),
) -> DataReader<T> {
    let topic =
        participant.create_topic::<T>("Readings", type_name, QosKind::Default, None, NO_STATUS).unwrap();
    let mut qos = DataReaderQos::default();
    qos.endpoint.reliability = Reliability::RELIABLE;
    qos.endpoint.history = History::KeepAll;
    tune(&mut qos);
    subscriber(participant).create_datareader::<T>(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

/// Why an endpoint of a participant matches nothing of others, one after the other.
fn reasons(participant: &DomainParticipant) -> Vec<String> {
    let pairs = participant.get_not_matched();
    pairs.iter().flat_map(|pair| pair.reasons.iter().map(ToString::to_string)).collect()
}

/// A participant that neither announces types nor compares them.
fn by_name(desk: &mut Desk) -> DomainParticipant {
    desk.participant_with(QosKind::Default, |config| config.type_lookup = false)
}

#[test]
fn a_later_version_is_read_after_its_type_was_asked_for() {
    let (mut desk, here, there) = two();
    let writer = typed_writer::<Longer>(&here, "Reading");
    let reader = typed_reader::<Reading>(&there, "Reading", |_| {});
    settle(&mut desk);
    assert_eq!(writer.get_publication_matched_status().total.count, 1);
    assert_eq!(reader.get_subscription_matched_status().total.count, 1);
    writer.write(&Longer { sensor: 3, value: 7, place: Place { x: 1.0, y: 2.0 } }).unwrap();
    settle(&mut desk);
    assert_eq!(values(&reader), [7]);
}

#[test]
fn types_of_one_kind_match_whatever_their_names_are() {
    let (mut desk, here, there) = two();
    let writer = typed_writer::<Reading>(&here, "station::Reading");
    let reader = typed_reader::<Reading>(&there, "Reading", |_| {});
    settle(&mut desk);
    writer.write(&reading(1, 5)).unwrap();
    settle(&mut desk);
    assert_eq!(values(&reader), [5]);
}

#[test]
fn the_member_that_stands_in_the_way_is_told_on_both_sides() {
    let (mut desk, here, there) = two();
    let writer = typed_writer::<Retyped>(&here, "Reading");
    let reader = typed_reader::<Reading>(&there, "Reading", |_| {});
    settle(&mut desk);
    let expected =
        ["type: value: written as double, read as int64 (writer \"Reading\", reader \"Reading\")".to_owned()];
    assert_eq!(reasons(&here), expected);
    assert_eq!(reasons(&there), expected);
    for (participant, other) in [(&here, &there), (&there, &here)] {
        let topic = participant.lookup_topicdescription("Readings").unwrap();
        assert_eq!(topic.get_inconsistent_topic_status().total.count, 1);
        assert_eq!(topic.inconsistent_types(), [(other.prefix(), "Reading".to_owned())]);
    }
    // That is no QoS.
    assert_eq!(writer.get_offered_incompatible_qos_status().total.count, 0);
    assert_eq!(reader.get_requested_incompatible_qos_status().total.count, 0);
}

#[test]
fn the_reader_says_how_types_are_compared() {
    let (mut desk, here, there) = two();
    let _writer = typed_writer::<Reading>(&here, "Reading");
    let wide = typed_reader::<Longer>(&there, "Reading", |_| {});
    let strict = subscriber(&there)
        .create_datareader::<Longer>(
            &there.lookup_topicdescription("Readings").unwrap(),
            QosKind::Specific({
                let mut qos = DataReaderQos::default();
                qos.endpoint.type_consistency.prevent_type_widening = true;
                qos
            }),
            None,
            NO_STATUS,
        )
        .unwrap();
    settle(&mut desk);
    assert_eq!(wide.get_subscription_matched_status().total.count, 1);
    assert_eq!(strict.get_subscription_matched_status().total.count, 0);
    assert_eq!(
        reasons(&there),
        [
            "type: place: written as no member, read as a member that must be there (writer \"Reading\", reader \"Reading\")"
        ]
    );
}

#[test]
fn whoever_announces_no_type_is_matched_by_name_unless_validation_is_forced() {
    let mut desk = Desk::new();
    let (here, there) = (by_name(&mut desk), desk.participant());
    let writer = typed_writer::<Retyped>(&here, "Reading");
    let reader = typed_reader::<Reading>(&there, "Reading", |_| {});
    let forced = subscriber(&there)
        .create_datareader::<Reading>(
            &there.lookup_topicdescription("Readings").unwrap(),
            QosKind::Specific({
                let mut qos = DataReaderQos::default();
                qos.endpoint.type_consistency.force_type_validation = true;
                qos
            }),
            None,
            NO_STATUS,
        )
        .unwrap();
    settle(&mut desk);
    assert_eq!(reader.get_subscription_matched_status().total.count, 1);
    assert_eq!(forced.get_subscription_matched_status().total.count, 0);
    assert_eq!(writer.get_publication_matched_status().total.count, 1);
    assert!(reasons(&there)[0].contains("forces type validation, and one of both announces no type"));
    assert!(reasons(&here)[0].contains("forces type validation"));
}

#[test]
fn a_question_that_is_lost_is_repeated() {
    for seed in 0..20 {
        let (mut desk, here, there) = two();
        let writer = typed_writer::<Longer>(&here, "Reading");
        desk.lose(300, seed);
        let _reader = typed_reader::<Reading>(&there, "Reading", |_| {});
        desk.run(dds::Duration::from_secs(20));
        assert_eq!(writer.get_publication_matched_status().total.count, 1, "seed {seed}");
    }
}

#[test]
fn a_type_is_asked_for_once_whatever_the_number_of_its_endpoints_is() {
    let (mut desk, here, there) = two();
    let _writers: Vec<_> = (0..20)
        .map(|number| {
            let name = format!("Topic {number}");
            let topic =
                here.create_topic::<Longer>(&name, "Reading", QosKind::Default, None, NO_STATUS).unwrap();
            publisher(&here).create_datawriter::<Longer>(&topic, QosKind::Default, None, NO_STATUS).unwrap()
        })
        .collect();
    let readers: Vec<_> = (0..20)
        .map(|number| {
            let name = format!("Topic {number}");
            let topic =
                there.create_topic::<Reading>(&name, "Reading", QosKind::Default, None, NO_STATUS).unwrap();
            subscriber(&there)
                .create_datareader::<Reading>(&topic, QosKind::Default, None, NO_STATUS)
                .unwrap()
        })
        .collect();
    desk.record();
    settle(&mut desk);
    assert!(readers.iter().all(|reader| reader.get_subscription_matched_status().total.count == 1));
    // Of both participants: each asks the other for the type that it does not have.
    let asked = desk.all_recorded();
    let asked =
        asked.iter().filter(|left| left.octets.windows(16).any(|octets| octets == b"dds.builtin.TOS."));
    assert_eq!(asked.count(), 2);
}

#[test]
fn a_participant_that_answers_no_question_is_matched_by_name_after_a_while() {
    let (mut desk, here, there) = two();
    let _reader = typed_reader::<Retyped>(&there, "Reading", |_| {});
    settle(&mut desk);
    let writer = typed_writer::<Reading>(&here, "Reading");
    desk.cut(1, 0);
    let matched = || writer.get_publication_matched_status().current.count;
    desk.run(dds::Duration::from_secs(3));
    assert_eq!(matched(), 0, "it is not known yet");
    desk.run(dds::Duration::from_secs(5));
    assert_eq!(matched(), 1, "the names are the same");
    desk.run(dds::Duration::from_secs(300));
    assert_eq!(matched(), 0, "it is gone");
    desk.heal();
    desk.run(dds::Duration::from_secs(60));
    assert_eq!(matched(), 0);
    assert!(reasons(&here)[0].starts_with("type: value: written as int64, read as double"));
}

#[test]
fn a_type_that_was_described_at_run_time_is_announced_too() {
    let (mut desk, here, there) = two();
    let (schema, index) = xtypes_schema::<Longer>();
    let described = Arc::new(describe(&schema, index).unwrap());
    let topic = here.create_described_topic("Readings", "Reading", described, QosKind::Default).unwrap();
    let writer = publisher(&here)
        .create_raw_datawriter(
            &topic,
            Box::new(dds::CdrTypeSupport::<Longer>::new()),
            QosKind::Default,
            None,
            NO_STATUS,
        )
        .unwrap();
    let reader = typed_reader::<Retyped>(&there, "Reading", |_| {});
    settle(&mut desk);
    assert_eq!(writer.get_publication_matched_status().total.count, 0);
    assert_eq!(reader.take(1, States::ANY).unwrap().len(), 0);
    assert!(reasons(&there)[0].starts_with("type: value: written as int64, read as double"));
}

fn xtypes_schema<T: CdrType>() -> (wire::schema::Schema, wire::schema::TypeIndex) {
    wire::schema::of(T::DESCRIPTION).unwrap()
}
