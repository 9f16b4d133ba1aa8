//! Wrong use of the API gets an error that says what, where, and what to do: its text, word for word.

use std::sync::{Arc, Mutex};

use crate::desk::Desk;
use dds::qos::{DataReaderQos, DataWriterQos, DomainParticipantQos, History, PublisherQos, Reliability};
use dds::status::StatusMask;
use dds::{
    DataReader, DataReaderListener, DdsType, DomainParticipant, DomainParticipantFactory, Duration, Error,
    NO_STATUS, QosKind, Topic,
};

#[derive(DdsType, Clone, PartialEq, Debug)]
struct Reading {
    #[dds(key)]
    sensor: u32,
    value: f64,
}

#[derive(DdsType, Clone, PartialEq, Debug)]
struct Order {
    number: u32,
}

fn said<T>(result: Result<T, Error>) -> String {
    result.err().expect("an error").to_string()
}

fn topic(participant: &DomainParticipant) -> Topic {
    participant.create_topic::<Reading>("Readings", "Reading", QosKind::Default, None, NO_STATUS).unwrap()
}

#[test]
fn qos_that_contradicts_itself() {
    let mut desk = Desk::new();
    let here = desk.participant();
    let publisher = here.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
    let subscriber = here.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
    let topic = topic(&here);
    let mut qos = DataWriterQos::default();
    qos.endpoint.history = History::KeepLast(10);
    qos.endpoint.resource_limits.max_samples_per_instance = Some(5);
    assert_eq!(
        said(publisher.create_datawriter::<Reading>(&topic, QosKind::Specific(qos), None, NO_STATUS)),
        "INCONSISTENT_POLICY: HISTORY: depth 10 is more than max_samples_per_instance 5; make the depth at most max_samples_per_instance"
    );
    let mut qos = DataReaderQos::default();
    qos.endpoint.deadline = Duration::from_millis(10);
    qos.endpoint.time_based_filter = Duration::from_millis(20);
    assert_eq!(
        said(subscriber.create_datareader::<Reading>(&topic, QosKind::Specific(qos), None, NO_STATUS)),
        "INCONSISTENT_POLICY: DEADLINE: period 10 ms is shorter than TIME_BASED_FILTER minimum_separation 20 ms; samples that the filter takes out would miss the deadline: make the period at least the separation"
    );
}

#[test]
fn qos_that_is_changed_after_the_entity_was_enabled() {
    let mut desk = Desk::new();
    let here = desk.participant();
    let publisher = here.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
    let writer =
        publisher.create_datawriter::<Reading>(&topic(&here), QosKind::Default, None, NO_STATUS).unwrap();
    let mut qos = writer.get_qos();
    qos.endpoint.reliability = Reliability::BEST_EFFORT;
    let error = said(writer.set_qos(QosKind::Specific(qos)));
    assert!(error.starts_with("IMMUTABLE_POLICY: RELIABILITY: "), "{error}");
    assert!(error.contains("; ") && error.contains("enable"), "{error}");
    assert_eq!(writer.get_qos(), DataWriterQos::default(), "nothing was changed");
    let group = PublisherQos { partition: vec!["x".repeat(257)], ..PublisherQos::default() };
    let error = said(publisher.set_qos(QosKind::Specific(group)));
    assert!(error.starts_with("BAD_PARAMETER: PARTITION: "), "{error}");
}

#[test]
fn types_that_are_not_those_of_the_topic() {
    let mut desk = Desk::new();
    let here = desk.participant();
    let topic = topic(&here);
    let publisher = here.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
    assert_eq!(
        said(publisher.create_datawriter::<Order>(&topic, QosKind::Default, None, NO_STATUS)),
        "PRECONDITION_NOT_MET: create_datawriter: topic \"Readings\" was made for type \"Reading\", not for the Rust type behaviour::bad_use::Order; use the type that the topic was made for, or another topic"
    );
    assert_eq!(
        said(here.create_topic::<Order>("Readings", "Order", QosKind::Default, None, NO_STATUS)),
        "PRECONDITION_NOT_MET: create_topic: topic \"Readings\" exists in this participant with type \"Reading\", not \"Order\"; use the same type, or another topic name"
    );
}

#[test]
fn entities_of_two_participants() {
    let mut desk = Desk::new();
    let (here, there) = (desk.participant(), desk.participant());
    let publisher = here.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
    assert_eq!(
        said(publisher.create_datawriter::<Reading>(&topic(&there), QosKind::Default, None, NO_STATUS)),
        "PRECONDITION_NOT_MET: create_datawriter: topic \"Readings\" is of another participant; make the topic by the participant that makes the endpoint"
    );
}

#[test]
fn a_domain_that_does_not_exist() {
    let factory = DomainParticipantFactory::get_instance();
    let made =
        factory.create_participant(233, QosKind::Specific(DomainParticipantQos::default()), None, NO_STATUS);
    assert_eq!(
        said(made),
        "BAD_PARAMETER: domain_id: domain 233 has no ports for this participant: they would lie above 65535; use a domain from 0 to 232, and a low participant id in the highest ones"
    );
}

/// Tries to delete its own reader, and keeps what it was told.
#[derive(Default)]
struct Suicidal {
    told: Mutex<Vec<String>>,
}

impl DataReaderListener<Reading> for Suicidal {
    fn on_data_available(&self, reader: &DataReader<Reading>) {
        reader.take_next_sample().unwrap();
        let subscriber = reader.get_subscriber();
        let participant = subscriber.get_participant();
        let mut told = self.told.lock().unwrap();
        told.push(said(subscriber.delete_datareader(reader)));
        told.push(said(subscriber.delete_contained_entities()));
        told.push(said(participant.delete_contained_entities()));
    }
}

#[test]
fn an_entity_that_is_deleted_inside_its_own_callback() {
    let mut desk = Desk::new();
    let (here, there) = (desk.participant(), desk.participant());
    let publisher = here.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
    let writer =
        publisher.create_datawriter::<Reading>(&topic(&here), QosKind::Default, None, NO_STATUS).unwrap();
    let subscriber = there.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
    let listener = Arc::new(Suicidal::default());
    let reader = subscriber
        .create_datareader::<Reading>(
            &topic(&there),
            QosKind::Default,
            Some(Arc::clone(&listener) as _),
            StatusMask::DATA_AVAILABLE,
        )
        .unwrap();
    desk.run(Duration::from_secs(1));
    writer.write(&Reading { sensor: 1, value: 2.0 }).unwrap();
    desk.run(Duration::from_secs(1));
    let told = |operation: &str| {
        format!(
            "PRECONDITION_NOT_MET: {operation}: called from the entity's own callback; delete it from another thread, or after the callback has returned"
        )
    };
    assert_eq!(
        *listener.told.lock().unwrap(),
        [told("delete_datareader"), told("delete_contained_entities"), told("delete_contained_entities")]
    );
    // It lives, and can be deleted from outside.
    assert!(reader.guid().is_ok());
    subscriber.delete_datareader(&reader).unwrap();
    assert_eq!(
        said(subscriber.delete_datareader(&reader)),
        "ALREADY_DELETED: delete_datareader: the entity, or its participant, was deleted; do not use an entity after it, or its participant, was deleted"
    );
}
