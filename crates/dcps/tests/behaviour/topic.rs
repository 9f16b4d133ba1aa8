//! Topics: their names, and others who mean another type by the same name.

use crate::domain::Domain;
use dcps::qos::{DataReaderQos, DataWriterQos, TopicQos};
use dcps::status::StatusMask;
use dcps::{ReturnCode, Topic};
use rtps::discovery::Mismatch;
use wire::discovery::EndpointData;
use wire::qos::EndpointQos;
use wire::{EntityId, EntityKind, Guid, GuidPrefix};

#[test]
fn names_can_be_announced() {
    let code = |name: &str, type_name: &str| {
        Topic::new(name, type_name, TopicQos::default()).err().map(|error| (error.code, error.place))
    };
    let long = "x".repeat(256);
    assert_eq!(code("a", "b"), None);
    assert_eq!(code(&long, &long), None);
    for wrong in ["", "a\0b", &"x".repeat(257)] {
        assert_eq!(code(wrong, "b"), Some((ReturnCode::BadParameter, "topic name")));
        assert_eq!(code("a", wrong), Some((ReturnCode::BadParameter, "type name")));
    }
    let qos = TopicQos { transport_priority: -1, ..TopicQos::default() };
    assert_eq!(Topic::new("a", "b", qos).unwrap_err().place, "TRANSPORT_PRIORITY");
}

#[test]
fn qos_changes_as_far_as_it_may() {
    let mut topic = Topic::new("a", "b", TopicQos::default()).unwrap();
    let new = TopicQos { topic_data: vec![1], ..TopicQos::default() };
    assert_eq!(topic.set_qos(new.clone()), Ok(()));
    let fixed = TopicQos { ownership: wire::qos::Ownership::Exclusive, ..TopicQos::default() };
    assert_eq!(topic.set_qos(fixed).unwrap_err().code, ReturnCode::ImmutablePolicy);
    assert_eq!(topic.qos(), &new);
}

#[test]
fn another_type_of_another_participant_is_told_to_both() {
    let mut domain = Domain::of_types("Reading", "Writing");
    domain.writer(0, DataWriterQos::default());
    assert_eq!(domain.hosts[1].topic.status_changes(), StatusMask::NONE, "nothing uses it there yet");
    let reader = domain.reader(1, DataReaderQos::default());
    domain.reader(1, DataReaderQos::default());
    for (own, other) in [(0, 1), (1, 0)] {
        let prefix = domain.hosts[other].discovery.prefix();
        let name = domain.hosts[other].topic.type_name().to_owned();
        let topic = &mut domain.hosts[own].topic;
        assert_eq!(topic.status_changes(), StatusMask::INCONSISTENT_TOPIC);
        let status = topic.inconsistent_topic();
        assert_eq!(
            (status.total.count, status.total.change),
            (1, 1),
            "one other topic, however many endpoints"
        );
        assert_eq!(topic.others().collect::<Vec<_>>(), [(prefix, name.as_str())]);
        assert_eq!(topic.status_changes(), StatusMask::NONE);
        assert_eq!(topic.inconsistent_topic().total.change, 0);
    }
    let reader = domain.data_reader(1, reader);
    assert_eq!(reader.status_changes(), StatusMask::NONE, "another type is no incompatible QoS");
}

#[test]
fn another_type_of_our_own_participant_counts_too() {
    let mut domain = Domain::new();
    domain.writer(0, DataWriterQos::default());
    // A second topic of the same name and participant.
    let second = Topic::new(crate::domain::TOPIC, "Writing", TopicQos::default()).unwrap();
    let first = std::mem::replace(&mut domain.hosts[0].topic, second);
    domain.reader(0, DataReaderQos::default());
    let mut topics = [first, std::mem::replace(&mut domain.hosts[0].topic, other_topic())];
    let discovery = &domain.hosts[0].discovery;
    for (local, remote, reasons) in discovery.mismatches() {
        topics[usize::from(local.is_reader())].not_matched(remote, &reasons);
    }
    let own = discovery.prefix();
    for (topic, type_name) in topics.iter().zip(["Writing", "Reading"]) {
        assert!(topic.others().any(|other| other == (own, type_name)));
    }
}

fn other_topic() -> Topic {
    Topic::new("a", "b", TopicQos::default()).unwrap()
}

#[test]
fn the_same_type_is_consistent() {
    let mut domain = Domain::new();
    let mut qos = DataReaderQos::default();
    qos.endpoint.partition = vec!["elsewhere".to_owned()];
    domain.writer(0, DataWriterQos::default());
    domain.reader(1, qos);
    assert!(domain.hosts.iter_mut().all(|host| host.topic.inconsistent_topic().total.count == 0));
}

fn other(participant: u32, type_name: &str) -> EndpointData {
    let mut prefix = [9; 12];
    prefix[..4].copy_from_slice(&participant.to_be_bytes());
    let guid = Guid::new(GuidPrefix(prefix), EntityId::user(1, EntityKind::WriterWithKey));
    EndpointData::new(guid, "a".to_owned(), type_name.to_owned(), EndpointQos::writer())
}

#[test]
fn each_participant_is_counted_once_per_type_and_memory_is_limited() {
    let mut topic = Topic::new("a", "b", TopicQos::default()).unwrap();
    let reasons = [Mismatch::Type { writer: "c".to_owned(), reader: "b".to_owned() }];
    for _ in 0..3 {
        topic.not_matched(&other(1, "c"), &reasons);
        topic.not_matched(&other(1, "d"), &reasons);
        topic.not_matched(&other(2, "c"), &reasons);
    }
    assert_eq!(topic.inconsistent_topic().total.count, 3);
    topic.forget_participant(other(1, "").guid.prefix);
    assert_eq!(topic.others().count(), 1);
    topic.not_matched(&other(1, "c"), &reasons);
    assert_eq!(topic.inconsistent_topic().total.change, 1, "it is back");
    for participant in 0..10_000 {
        topic.not_matched(&other(participant, "c"), &reasons);
    }
    assert_eq!(topic.others().count(), 256);
}
