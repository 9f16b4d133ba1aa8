//! QoS of participants, topics, publishers and subscribers: what is refused, what may change, and that a change has its effect.

use crate::domain::{Domain, ms};
use dcps::qos::{
    DataReaderQos, DataWriterQos, DomainParticipantQos, EntityFactory, GroupQos, MAX_DATA_OCTETS,
    MAX_PARTITION_OCTETS, PublisherQos, SubscriberQos, TopicQos,
};
use dcps::{Error, ReturnCode};
use wire::qos::{
    AccessScope, DataRepresentation, DestinationOrder, Durability, DurabilityService, EndpointQos, History,
    Liveliness, LivelinessKind, Ownership, Presentation, Reliability, ResourceLimits,
};

#[track_caller]
fn refused(result: Result<(), Error>, code: ReturnCode, place: &str) {
    let error = result.unwrap_err();
    assert_eq!((error.code, error.place), (code, place), "{error}");
    assert!(!error.what.is_empty() && !error.advice.is_empty());
}

#[test]
fn defaults_are_those_of_the_standard() {
    assert_eq!(EntityFactory::default(), EntityFactory { autoenable_created_entities: true });
    assert_eq!(DomainParticipantQos::default().check(), Ok(()));
    let group = GroupQos::default();
    assert_eq!((group.check(), group.presentation), (Ok(()), Presentation::default()));
    assert!(group.partition.is_empty() && group.group_data.is_empty());
    let topic = TopicQos::default();
    assert_eq!((topic.check(), topic.reliability), (Ok(()), Reliability::BEST_EFFORT));
    assert_eq!(topic.history, History::KeepLast(1));
    assert!(topic.deadline.is_infinite() && topic.lifespan.is_infinite());
}

#[test]
fn data_are_limited_by_what_an_announcement_holds() {
    let full = vec![0; MAX_DATA_OCTETS];
    let over = vec![0; MAX_DATA_OCTETS + 1];
    let participant = |user_data| DomainParticipantQos { user_data, ..DomainParticipantQos::default() };
    assert_eq!(participant(full.clone()).check(), Ok(()));
    refused(participant(over.clone()).check(), ReturnCode::BadParameter, "USER_DATA");
    let group = |group_data| GroupQos { group_data, ..GroupQos::default() };
    assert_eq!(group(full.clone()).check(), Ok(()));
    refused(group(over.clone()).check(), ReturnCode::BadParameter, "GROUP_DATA");
    let topic = |topic_data| TopicQos { topic_data, ..TopicQos::default() };
    assert_eq!(topic(full).check(), Ok(()));
    refused(topic(over).check(), ReturnCode::BadParameter, "TOPIC_DATA");
    // Together in one endpoint.
    let mut qos = DataReaderQos::default();
    qos.endpoint.user_data = vec![0; MAX_DATA_OCTETS / 2];
    qos.endpoint.topic_data = vec![0; MAX_DATA_OCTETS / 4];
    qos.endpoint.group_data = vec![0; MAX_DATA_OCTETS / 4];
    assert_eq!(qos.check(), Ok(()));
    qos.endpoint.group_data.push(0);
    refused(qos.check(), ReturnCode::BadParameter, "USER_DATA");
}

#[test]
fn partitions_are_limited_by_what_an_announcement_holds() {
    let group = |partition| GroupQos { partition, ..GroupQos::default() };
    assert_eq!(group(vec!["x".repeat(256), String::new(), "a*".to_owned()]).check(), Ok(()));
    refused(group(vec!["x".repeat(257)]).check(), ReturnCode::BadParameter, "PARTITION");
    refused(group(vec!["a\0b".to_owned()]).check(), ReturnCode::BadParameter, "PARTITION");
    assert_eq!(group(vec![String::new(); 256]).check(), Ok(()));
    refused(group(vec![String::new(); 257]).check(), ReturnCode::BadParameter, "PARTITION");
    let name = "x".repeat(MAX_PARTITION_OCTETS / 128 - 8);
    assert_eq!(group(vec![name.clone(); 128]).check(), Ok(()));
    refused(group(vec![name; 129]).check(), ReturnCode::BadParameter, "PARTITION");
    // The same holds for a writer that is given them directly.
    let mut qos = DataWriterQos::default();
    qos.endpoint.partition = vec!["x".repeat(257)];
    refused(qos.check(), ReturnCode::BadParameter, "PARTITION");
}

/// The fullest QoS that passes the checks still fits the announcement that carries it.
#[test]
fn the_largest_qos_can_be_announced_and_read() {
    use wire::discovery::{EndpointData, EndpointRole, MAX_NAME};
    let mut qos = DataWriterQos::default();
    qos.endpoint.user_data = vec![7; MAX_DATA_OCTETS];
    qos.endpoint.partition = vec!["x".repeat(MAX_PARTITION_OCTETS / 128 - 8); 128];
    qos.endpoint.representation = vec![DataRepresentation::XCDR2, DataRepresentation::XCDR1];
    assert_eq!(qos.check(), Ok(()));
    let guid =
        wire::Guid::new(wire::GuidPrefix([1; 12]), wire::EntityId::user(1, wire::EntityKind::WriterWithKey));
    let name = "n".repeat(MAX_NAME);
    let data = EndpointData::new(guid, name.clone(), name, qos.endpoint);
    let mut payload = Vec::new();
    data.encode(&mut payload);
    assert_eq!(EndpointData::decode(&payload, EndpointRole::Writer).unwrap(), data);
}

#[test]
fn presentation_beyond_the_default_is_refused() {
    let beyond = [
        Presentation { access_scope: AccessScope::Topic, ..Presentation::default() },
        Presentation { access_scope: AccessScope::Group, ..Presentation::default() },
        Presentation { coherent_access: true, ..Presentation::default() },
        Presentation { ordered_access: true, ..Presentation::default() },
    ];
    for presentation in beyond {
        let qos = PublisherQos { presentation, ..PublisherQos::default() };
        refused(qos.check(), ReturnCode::Unsupported, "PRESENTATION");
        refused(SubscriberQos::default().check_change(&qos), ReturnCode::ImmutablePolicy, "PRESENTATION");
    }
}

#[test]
fn topics_refuse_what_writers_refuse() {
    type Change = fn(&mut TopicQos);
    let wrong: [(ReturnCode, &str, Change); 5] = [
        (ReturnCode::Unsupported, "DURABILITY", |qos| qos.durability = Durability::Transient),
        (ReturnCode::Unsupported, "DURABILITY", |qos| qos.durability = Durability::Persistent),
        (ReturnCode::BadParameter, "HISTORY", |qos| qos.history = History::KeepLast(0)),
        (ReturnCode::BadParameter, "TRANSPORT_PRIORITY", |qos| qos.transport_priority = 64),
        (ReturnCode::BadParameter, "DATA_REPRESENTATION", |qos| {
            qos.representation = vec![DataRepresentation::XCDR2; 2];
        }),
    ];
    for (code, place, change) in wrong {
        let mut qos = TopicQos::default();
        change(&mut qos);
        refused(qos.check(), code, place);
    }
    let fixed: [(&str, Change); 4] = [
        ("RELIABILITY", |qos| qos.reliability = Reliability::RELIABLE),
        ("DURABILITY", |qos| qos.durability = Durability::TransientLocal),
        ("OWNERSHIP", |qos| qos.ownership = Ownership::Exclusive),
        ("RESOURCE_LIMITS", |qos| qos.resource_limits.max_samples = Some(1)),
    ];
    for (place, change) in fixed {
        let mut new = TopicQos::default();
        change(&mut new);
        refused(TopicQos::default().check_change(&new), ReturnCode::ImmutablePolicy, place);
    }
    let open: [Change; 5] = [
        |qos| qos.topic_data = vec![1],
        |qos| qos.deadline = ms(1),
        |qos| qos.latency_budget = ms(1),
        |qos| qos.lifespan = ms(1),
        |qos| qos.transport_priority = 1,
    ];
    for change in open {
        let mut new = TopicQos::default();
        change(&mut new);
        assert_eq!(TopicQos::default().check_change(&new), Ok(()));
    }
}

/// A topic whose every policy is another than the default, of topics, writers and readers.
fn unusual() -> TopicQos {
    TopicQos {
        topic_data: vec![9],
        durability: Durability::TransientLocal,
        durability_service: DurabilityService { cleanup_delay: ms(7), ..DurabilityService::default() },
        deadline: ms(1_000),
        latency_budget: ms(2),
        liveliness: Liveliness { kind: LivelinessKind::ManualByTopic, lease_duration: ms(300) },
        reliability: Reliability { max_blocking_time: ms(4), ..Reliability::RELIABLE },
        destination_order: DestinationOrder::BySourceTimestamp,
        history: History::KeepLast(5),
        resource_limits: ResourceLimits { max_samples: Some(60), ..ResourceLimits::default() },
        transport_priority: 6,
        lifespan: ms(8_000),
        ownership: Ownership::Exclusive,
        representation: vec![DataRepresentation::XCDR2],
    }
}

#[test]
fn writers_and_readers_take_over_what_they_have_in_common_with_the_topic() {
    let topic = unusual();
    let common = |own: EndpointQos| EndpointQos {
        durability: topic.durability,
        deadline: topic.deadline,
        latency_budget: topic.latency_budget,
        liveliness: topic.liveliness,
        reliability: topic.reliability,
        destination_order: topic.destination_order,
        history: topic.history,
        resource_limits: topic.resource_limits,
        ownership: topic.ownership,
        representation: topic.representation.clone(),
        ..own
    };
    // What the topic has no say in stays.
    let mut writer = DataWriterQos::default();
    writer.endpoint.ownership_strength = 11;
    writer.endpoint.partition = vec!["p".to_owned()];
    let own = EndpointQos {
        durability_service: topic.durability_service,
        transport_priority: topic.transport_priority,
        lifespan: topic.lifespan,
        ..writer.endpoint.clone()
    };
    writer.copy_from_topic_qos(&topic);
    assert_eq!((writer.endpoint.clone(), writer.check()), (common(own), Ok(())));
    let mut reader = DataReaderQos::default();
    reader.endpoint.time_based_filter = ms(12);
    let own = reader.endpoint.clone();
    reader.copy_from_topic_qos(&topic);
    assert_eq!((reader.endpoint.clone(), reader.check()), (common(own), Ok(())));
    assert_eq!(rtps_compare(&writer, &reader), Some(vec!["PARTITION".to_owned()]));
    topic.apply(&mut reader.endpoint);
    assert_eq!(reader.endpoint.topic_data, [9]);
}

/// The policies that keep a writer and a reader apart.
fn rtps_compare(writer: &DataWriterQos, reader: &DataReaderQos) -> Option<Vec<String>> {
    use wire::discovery::EndpointData;
    let end = |kind, qos: &EndpointQos| {
        let guid = wire::Guid::new(wire::GuidPrefix([1; 12]), wire::EntityId::user(1, kind));
        EndpointData::new(guid, "T".to_owned(), "U".to_owned(), qos.clone())
    };
    let writer = end(wire::EntityKind::WriterWithKey, &writer.endpoint);
    let reader = end(wire::EntityKind::ReaderWithKey, &reader.endpoint);
    let reasons = rtps::discovery::compare(&writer, &reader).err()?;
    let name = |reason: &rtps::discovery::Mismatch| reason.to_string().split(':').next().unwrap().to_owned();
    Some(reasons.iter().map(name).collect())
}

#[test]
fn a_changed_partition_parts_and_joins() {
    let mut domain = Domain::new();
    let mut reader_qos = DataReaderQos::default();
    reader_qos.endpoint.reliability = Reliability::RELIABLE;
    reader_qos.endpoint.history = History::KeepAll;
    let writer = domain.writer(0, DataWriterQos::default());
    let reader = domain.reader(1, reader_qos);
    let matches = |domain: &mut Domain| {
        let published = domain.data_writer(0, writer).publication_matched();
        let subscribed = domain.data_reader(1, reader).subscription_matched();
        assert_eq!(published.current.count, subscribed.current.count);
        (published.current.count, published.total.count)
    };
    assert_eq!(matches(&mut domain), (1, 1));
    let mut publisher = PublisherQos { partition: vec!["left".to_owned()], ..PublisherQos::default() };
    domain.set_writer_qos(0, writer, |qos| publisher.apply(&mut qos.endpoint));
    assert_eq!(matches(&mut domain), (0, 1));
    let read = domain.data_reader(1, reader).status_changes();
    assert!(!read.intersects(dcps::status::StatusMask::REQUESTED_INCOMPATIBLE_QOS), "no incompatible QoS");
    domain.write(0, writer, 1, 1).unwrap();
    let subscriber = SubscriberQos { partition: vec!["l*".to_owned()], ..SubscriberQos::default() };
    domain.set_reader_qos(1, reader, |qos| subscriber.apply(&mut qos.endpoint));
    assert_eq!(matches(&mut domain), (1, 2));
    domain.write(0, writer, 1, 2).unwrap();
    domain.wait(ms(100));
    assert_eq!(domain.values(1, reader), [Some(2)], "what was written elsewhere is not for this reader");
    // Another partition in common is as good as the first: nobody is parted.
    publisher.partition = vec!["light".to_owned()];
    domain.set_writer_qos(0, writer, |qos| publisher.apply(&mut qos.endpoint));
    assert_eq!(matches(&mut domain), (1, 2));
}

#[test]
fn changed_data_reach_the_other_side() {
    let mut domain = Domain::new();
    let writer = domain.writer(0, DataWriterQos::default());
    let reader = domain.reader(1, DataReaderQos::default());
    let seen = |domain: &Domain| {
        let qos = domain.hosts[1].discovery.endpoint(domain.guid(0, writer)).unwrap().qos.clone();
        (qos.user_data, qos.topic_data, qos.group_data)
    };
    assert_eq!(seen(&domain), (vec![], vec![], vec![]));
    let publisher = PublisherQos { group_data: vec![3; 3], ..PublisherQos::default() };
    let topic = TopicQos { topic_data: vec![2; 2], ..TopicQos::default() };
    domain.hosts[0].topic.set_qos(topic.clone()).unwrap();
    domain.set_writer_qos(0, writer, |qos| {
        qos.endpoint.user_data = vec![1];
        publisher.apply(&mut qos.endpoint);
        topic.apply(&mut qos.endpoint);
    });
    assert_eq!(seen(&domain), (vec![1], vec![2; 2], vec![3; 3]));
    let status = domain.data_reader(1, reader).subscription_matched();
    assert_eq!((status.total.count, status.current.count), (1, 1), "a match stays");
    domain.set_writer_qos(0, writer, |qos| qos.endpoint.user_data.clear());
    assert_eq!(seen(&domain).0, [0_u8; 0]);
}
