//! Making, enabling, looking up and deleting entities.
use std::sync::{Arc, Mutex};

use dds::qos::{DataReaderQos, DataWriterQos, DomainParticipantQos, PublisherQos, SubscriberQos, TopicQos};
use dds::status::Matched;
use dds::{
    DataReader, DataReaderListener, DomainParticipantFactory, Duration, Error, NO_STATUS, QosKind,
    ReturnCode, States, StatusMask,
};

use crate::desk::Desk;
use crate::fixture::*;

fn code<T>(result: Result<T, Error>) -> ReturnCode {
    result.err().expect("an error").code
}

/// A participant whose entities have to be enabled one by one.
fn by_hand() -> DomainParticipantQos {
    let mut qos = DomainParticipantQos::default();
    qos.entity_factory.autoenable_created_entities = false;
    qos
}

#[test]
fn entities_that_are_not_enabled_say_so_and_are_enabled_from_the_top() {
    let mut desk = Desk::new();
    let here = desk.participant_with(QosKind::Specific(by_hand()), |_| {});
    let there = desk.participant();
    let reader = reader(&there, |_| {});
    let publisher = publisher(&here);
    let writer = writer_of(&publisher, |_| {});
    settle(&mut desk);
    assert_eq!(code(writer.write(&reading(1, 1))), ReturnCode::NotEnabled);
    assert_eq!(code(writer.guid()), ReturnCode::NotEnabled);
    assert_eq!(writer.get_publication_matched_status().total.count, 0);
    assert_eq!(reader.get_subscription_matched_status().total.count, 0);
    // Policies that are fixed later can still be changed, and listeners and conditions are there.
    let mut qos = writer.get_qos();
    qos.endpoint.history = dds::qos::History::KeepAll;
    writer.set_qos(QosKind::Specific(qos.clone())).unwrap();
    assert!(!writer.get_statuscondition().get_trigger_value());
    assert_eq!(code(writer.enable()), ReturnCode::PreconditionNotMet, "its publisher is not");
    publisher.enable().unwrap();
    writer.enable().unwrap();
    writer.enable().unwrap();
    settle(&mut desk);
    assert_eq!(writer.get_qos(), qos);
    writer.write(&reading(1, 1)).unwrap();
    settle(&mut desk);
    assert_eq!(values(&reader), [1]);
    qos.endpoint.history = dds::qos::History::KeepLast(1);
    assert_eq!(code(writer.set_qos(QosKind::Specific(qos))), ReturnCode::ImmutablePolicy);
}

#[test]
fn enabling_a_group_enables_what_it_made_if_entity_factory_says_so() {
    let mut desk = Desk::new();
    let here = desk.participant_with(QosKind::Specific(by_hand()), |_| {});
    let automatic = publisher(&here);
    let writer = writer_of(&automatic, |_| {});
    let qos = SubscriberQos {
        entity_factory: dds::qos::EntityFactory { autoenable_created_entities: false },
        ..SubscriberQos::default()
    };
    let by_hand = here.create_subscriber(QosKind::Specific(qos), None, NO_STATUS).unwrap();
    let reader = reader_of(&by_hand, |_| {});
    automatic.enable().unwrap();
    by_hand.enable().unwrap();
    assert!(writer.guid().is_ok());
    assert_eq!(code(reader.guid()), ReturnCode::NotEnabled);
    reader.enable().unwrap();
    assert!(reader.guid().is_ok());
    assert!(writer_of(&automatic, |_| {}).guid().is_ok(), "what is made later is enabled at once");
    // ENTITY_FACTORY can be changed while running.
    let mut qos = by_hand.get_qos();
    qos.entity_factory.autoenable_created_entities = true;
    by_hand.set_qos(QosKind::Specific(qos)).unwrap();
    assert!(reader_of(&by_hand, |_| {}).guid().is_ok());
}

#[test]
fn a_participant_that_is_not_enabled_is_not_seen() {
    let mut desk = Desk::new();
    let there = desk.participant();
    let factory = DomainParticipantFactory::default();
    factory.set_qos(dds::qos::EntityFactory { autoenable_created_entities: false });
    let here = desk.participant_by(&factory);
    let writer = writer(&here, |_| {});
    settle(&mut desk);
    assert_eq!(there.get_discovered_participants().len(), 0);
    assert_eq!(code(publisher(&here).enable()), ReturnCode::PreconditionNotMet);
    here.enable().unwrap();
    settle(&mut desk);
    assert_eq!(there.get_discovered_participants().len(), 1);
    assert!(writer.guid().is_ok(), "enabled with its participant");
}

#[test]
fn what_has_children_cannot_be_deleted() {
    let (_desk, here, there) = two();
    let (publisher, subscriber) = (publisher(&here), subscriber(&here));
    let (writer, reader) = (writer_of(&publisher, |_| {}), reader_of(&subscriber, |_| {}));
    let topic = topic(&here);
    assert_eq!(code(here.delete_publisher(&publisher)), ReturnCode::PreconditionNotMet);
    assert_eq!(code(here.delete_subscriber(&subscriber)), ReturnCode::PreconditionNotMet);
    assert_eq!(code(here.delete_topic(&topic)), ReturnCode::PreconditionNotMet);
    assert_eq!(code(there.delete_topic(&topic)), ReturnCode::PreconditionNotMet, "of another participant");
    let other = crate::fixture::publisher(&here);
    assert_eq!(
        code(other.delete_datawriter(&writer)),
        ReturnCode::PreconditionNotMet,
        "of another publisher"
    );
    assert_eq!(code(there.delete_publisher(&other)), ReturnCode::PreconditionNotMet);
    publisher.delete_datawriter(&writer).unwrap();
    subscriber.delete_datareader(&reader).unwrap();
    here.delete_publisher(&publisher).unwrap();
    here.delete_subscriber(&subscriber).unwrap();
    here.delete_topic(&topic).unwrap();
    // Each of them once.
    assert_eq!(code(publisher.delete_datawriter(&writer)), ReturnCode::AlreadyDeleted);
    assert_eq!(code(subscriber.delete_datareader(&reader)), ReturnCode::AlreadyDeleted);
    assert_eq!(code(here.delete_publisher(&publisher)), ReturnCode::AlreadyDeleted);
    assert_eq!(code(here.delete_subscriber(&subscriber)), ReturnCode::AlreadyDeleted);
    assert_eq!(code(here.delete_topic(&topic)), ReturnCode::AlreadyDeleted);
}

#[test]
fn handles_of_what_was_deleted_say_so() {
    let (mut desk, here, there) = two();
    let (writer, reader) = (writer(&here, |_| {}), reader(&there, |_| {}));
    settle(&mut desk);
    let (publisher, subscriber) = (writer.get_publisher().clone(), reader.get_subscriber().clone());
    publisher.delete_datawriter(&writer).unwrap();
    subscriber.delete_datareader(&reader).unwrap();
    settle(&mut desk);
    assert_eq!(code(writer.write(&reading(1, 1))), ReturnCode::AlreadyDeleted);
    assert_eq!(code(writer.wait_for_acknowledgments(Duration::ZERO)), ReturnCode::AlreadyDeleted);
    assert_eq!(code(writer.assert_liveliness()), ReturnCode::AlreadyDeleted);
    assert_eq!(code(writer.set_qos(QosKind::Default)), ReturnCode::AlreadyDeleted);
    assert_eq!(code(reader.take(1, States::ANY)), ReturnCode::AlreadyDeleted);
    assert_eq!(code(reader.set_qos(QosKind::Specific(reader.get_qos()))), ReturnCode::AlreadyDeleted);
    here.delete_publisher(&publisher).unwrap();
    let made = publisher.create_datawriter::<Reading>(&topic(&here), QosKind::Default, None, NO_STATUS);
    assert_eq!(code(made), ReturnCode::AlreadyDeleted);
    DomainParticipantFactory::get_instance().delete_participant(&there).unwrap();
    assert_eq!(
        code(DomainParticipantFactory::get_instance().delete_participant(&there)),
        ReturnCode::AlreadyDeleted
    );
    assert_eq!(code(there.create_publisher(QosKind::Default, None, NO_STATUS)), ReturnCode::AlreadyDeleted);
    assert_eq!(code(there.create_subscriber(QosKind::Default, None, NO_STATUS)), ReturnCode::AlreadyDeleted);
    let topic = there.create_topic::<Reading>("Late", "Reading", QosKind::Default, None, NO_STATUS);
    assert_eq!(code(topic), ReturnCode::AlreadyDeleted);
    let made = subscriber.create_datareader::<Reading>(
        &reader.get_topicdescription(),
        QosKind::Default,
        None,
        NO_STATUS,
    );
    assert_eq!(code(made), ReturnCode::AlreadyDeleted);
}

#[test]
fn a_deleted_endpoint_is_unmatched_and_what_it_wrote_arrives_before() {
    let (mut desk, here, there) = two();
    let batching = |qos: &mut DataWriterQos| qos.endpoint.latency_budget = Duration::from_millis(500);
    let (writer, reader) = (
        writer(&here, batching),
        reader(&there, |qos| {
            qos.endpoint.latency_budget = Duration::from_millis(500);
        }),
    );
    settle(&mut desk);
    writer.write(&reading(1, 1)).unwrap();
    writer.get_publisher().delete_datawriter(&writer).unwrap();
    part(&mut desk);
    assert_eq!(values(&reader), [1], "what waited for company left");
    assert_eq!(reader.get_subscription_matched_status().current.count, 0);
    assert_eq!(reader.get_matched_publications(), []);
}

#[test]
fn lookups_find_what_was_made() {
    let (_desk, here, there) = two();
    let (writer, reader) = (writer(&here, |_| {}), reader(&here, |_| {}));
    let (publisher, subscriber) = (writer.get_publisher(), reader.get_subscriber());
    assert_eq!(publisher.lookup_datawriter("Readings").unwrap().guid().unwrap(), writer.guid().unwrap());
    assert_eq!(subscriber.lookup_datareader("Readings").unwrap().guid().unwrap(), reader.guid().unwrap());
    assert!(publisher.lookup_datawriter("Other").is_none());
    assert!(subscriber.lookup_datareader("Other").is_none());
    assert_eq!(here.lookup_topicdescription("Readings").unwrap().get_type_name(), "Reading");
    assert!(there.lookup_topicdescription("Readings").is_none());
    assert_eq!(writer.get_topic().get_name(), "Readings");
    assert_eq!(reader.get_topicdescription().get_name(), "Readings");
    assert!(here.contains_entity(writer.guid().unwrap().into()));
    assert!(!there.contains_entity(writer.guid().unwrap().into()));
    publisher.delete_datawriter(&writer).unwrap();
    assert!(publisher.lookup_datawriter("Readings").is_none());
    assert!(!here.contains_entity(writer.guid().unwrap().into()));
}

#[test]
fn a_topic_is_for_one_type() {
    let (_desk, here, there) = two();
    let topic = topic(&here);
    let other = here.create_topic::<Reading>("Readings", "Other", QosKind::Default, None, NO_STATUS);
    assert_eq!(code(other), ReturnCode::PreconditionNotMet);
    let raw = here.create_raw_topic("Raw", "Reading", QosKind::Default).unwrap();
    let made = publisher(&here).create_datawriter::<Reading>(&raw, QosKind::Default, None, NO_STATUS);
    assert_eq!(code(made), ReturnCode::PreconditionNotMet);
    let made = publisher(&there).create_datawriter::<Reading>(&topic, QosKind::Default, None, NO_STATUS);
    assert_eq!(code(made), ReturnCode::PreconditionNotMet, "of another participant");
}

#[test]
fn what_is_not_supported_is_refused() {
    let (_desk, here, _there) = two();
    let mut group = PublisherQos::default();
    group.presentation.coherent_access = true;
    let refused = here.create_publisher(QosKind::Specific(group.clone()), None, NO_STATUS);
    assert_eq!(code(refused), ReturnCode::Unsupported);
    let publisher = publisher(&here);
    assert_eq!(code(publisher.set_qos(QosKind::Specific(group))), ReturnCode::ImmutablePolicy);
    let mut qos = DataReaderQos::default();
    qos.endpoint.durability = dds::qos::Durability::Transient;
    let refused = subscriber(&here).create_datareader::<Reading>(
        &topic(&here),
        QosKind::Specific(qos),
        None,
        NO_STATUS,
    );
    assert_eq!(code(refused), ReturnCode::Unsupported);
    let mut qos = DataWriterQos::default();
    qos.endpoint.durability = dds::qos::Durability::Persistent;
    let refused =
        publisher.create_datawriter::<Reading>(&topic(&here), QosKind::Specific(qos), None, NO_STATUS);
    assert_eq!(code(refused), ReturnCode::Unsupported);
    assert!(publisher.lookup_datawriter("Readings").is_none(), "nothing is left of it");
}

#[test]
fn defaults_are_those_of_the_factory_until_it_is_told_others() {
    let (_desk, here, _there) = two();
    let publisher = publisher(&here);
    let mut qos = DataWriterQos::default();
    qos.endpoint.transport_priority = 7;
    publisher.set_default_datawriter_qos(QosKind::Specific(qos.clone())).unwrap();
    let made =
        publisher.create_datawriter::<Reading>(&topic(&here), QosKind::Default, None, NO_STATUS).unwrap();
    assert_eq!(made.get_qos(), qos);
    publisher.set_default_datawriter_qos(QosKind::Default).unwrap();
    assert_eq!(publisher.get_default_datawriter_qos(), DataWriterQos::default());
    qos.endpoint.transport_priority = 64;
    assert!(publisher.set_default_datawriter_qos(QosKind::Specific(qos)).is_err());
    let mut from_topic = DataReaderQos::default();
    let topic_qos = TopicQos { deadline: millis(5), ..TopicQos::default() };
    subscriber(&here).copy_from_topic_qos(&mut from_topic, &topic_qos);
    assert_eq!(from_topic.endpoint.deadline, millis(5));
    let group = PublisherQos { partition: vec!["a".into()], ..PublisherQos::default() };
    here.set_default_publisher_qos(QosKind::Specific(group.clone())).unwrap();
    let made = here.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
    assert_eq!(made.get_qos(), group);
}

#[test]
fn a_participant_leaves_with_the_last_handle_of_anything_in_it() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |_| {});
    let reader = reader(&there, |_| {});
    settle(&mut desk);
    drop(here);
    settle(&mut desk);
    assert_eq!(reader.get_subscription_matched_status().current.count, 1, "its writer is still there");
    let weak = writer.clone();
    drop(writer);
    weak.write(&reading(1, 1)).unwrap();
    drop(weak);
    part(&mut desk);
    assert_eq!(reader.get_subscription_matched_status().current.count, 0, "it has said goodbye");
    assert_eq!(there.get_discovered_participants().len(), 0);
    assert!(desk.is_closed(0) && !desk.is_closed(1));
}

/// Tries to delete everything from within its callback.
#[derive(Default)]
struct Deleter {
    results: Mutex<Vec<ReturnCode>>,
}

impl DataReaderListener<Reading> for Deleter {
    fn on_subscription_matched(&self, reader: &DataReader<Reading>, _: Matched) {
        let subscriber = reader.get_subscriber();
        let participant = subscriber.get_participant();
        self.results.lock().unwrap().extend([
            code(subscriber.delete_datareader(reader)),
            code(subscriber.delete_contained_entities()),
            code(participant.delete_contained_entities()),
            code(DomainParticipantFactory::get_instance().delete_participant(participant)),
        ]);
        // Taking its own listener away is no deletion.
        reader.set_listener(None, NO_STATUS);
    }
}

#[test]
fn an_entity_is_not_deleted_from_within_its_own_callback() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |_| {});
    let own = crate::fixture::writer(&there, |_| {});
    let deleter = Arc::new(Deleter::default());
    let reader = subscriber(&there)
        .create_datareader::<Reading>(
            &topic(&there),
            QosKind::Default,
            Some(Arc::clone(&deleter) as _),
            StatusMask::SUBSCRIPTION_MATCHED,
        )
        .unwrap();
    settle(&mut desk);
    assert_eq!(*deleter.results.lock().unwrap(), [ReturnCode::PreconditionNotMet; 4]);
    assert!(own.write(&reading(1, 1)).is_ok(), "nothing was deleted by halves");
    assert_eq!(reader.get_subscription_matched_status().current.count, 2);
    let subscriber = reader.get_subscriber();
    subscriber.delete_datareader(&reader).unwrap();
    writer.write(&reading(1, 1)).unwrap();
}
