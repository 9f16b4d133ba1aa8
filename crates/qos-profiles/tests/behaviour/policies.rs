//! Each policy of the standard with values that are not the default, as the standard's text says what they mean.
use dcps::qos::{
    DataReaderQos, DataWriterQos, DomainParticipantQos, EntityFactory, GroupQos, ReaderDataLifecycle,
    TopicQos, WriterDataLifecycle,
};
use wire::Duration;
use wire::qos::{
    DataRepresentation, DestinationOrder, Durability, DurabilityService, EndpointQos, History, Liveliness,
    LivelinessKind, Ownership, Reliability, ReliabilityKind, ResourceLimits, TypeConsistency,
};

use crate::{profile, provider};

const ALL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.omg.org/spec/DDS-XML" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
     xsi:schemaLocation="http://www.omg.org/spec/DDS-XML dds-xml_dds_system_definitions.xsd">
  <qos_library name="Plant">
    <qos_profile name="All" is_default_qos="true">
      <domain_participant_qos name="participant">
        <user_data><value>84, 104,0x65 , 0</value></user_data>
        <entity_factory><autoenable_created_entities>false</autoenable_created_entities></entity_factory>
      </domain_participant_qos>
      <publisher_qos>
        <presentation>
          <access_scope>INSTANCE_PRESENTATION_QOS</access_scope>
          <coherent_access>0</coherent_access>
          <ordered_access>false</ordered_access>
        </presentation>
        <partition><name><element>left*</element><element></element></name></partition>
        <group_data><valueB64>AQID
          /w==</valueB64></group_data>
        <entity_factory><autoenable_created_entities>0</autoenable_created_entities></entity_factory>
      </publisher_qos>
      <subscriber_qos>
        <partition><name><element>right</element></name></partition>
        <group_data><value></value></group_data>
      </subscriber_qos>
      <topic_qos>
        <topic_data><value>255</value></topic_data>
        <durability><kind>TRANSIENT_LOCAL_DURABILITY_QOS</kind></durability>
        <durability_service>
          <service_cleanup_delay><sec>4</sec><nanosec>5</nanosec></service_cleanup_delay>
          <history_kind>KEEP_LAST_HISTORY_QOS</history_kind>
          <history_depth>6</history_depth>
          <max_samples>70</max_samples>
          <max_instances>8</max_instances>
          <max_samples_per_instance>9</max_samples_per_instance>
        </durability_service>
        <deadline><period><nanosec>999999999</nanosec></period></deadline>
        <latency_budget><duration><sec>1</sec></duration></latency_budget>
        <liveliness>
          <kind>MANUAL_BY_PARTICIPANT_LIVELINESS_QOS</kind>
          <lease_duration><sec>2</sec></lease_duration>
        </liveliness>
        <reliability>
          <kind>RELIABLE_RELIABILITY_QOS</kind>
          <max_blocking_time><sec>3</sec></max_blocking_time>
        </reliability>
        <destination_order><kind>BY_SOURCE_TIMESTAMP_DESTINATIONORDER_QOS</kind></destination_order>
        <history><kind>KEEP_LAST_HISTORY_QOS</kind><depth>11</depth></history>
        <resource_limits><max_samples_per_instance>12</max_samples_per_instance></resource_limits>
        <transport_priority><value>13</value></transport_priority>
        <lifespan><duration><sec>14</sec></duration></lifespan>
        <ownership><kind>EXCLUSIVE_OWNERSHIP_QOS</kind></ownership>
        <representation><value><element>XCDR2_DATA_REPRESENTATION</element></value></representation>
      </topic_qos>
      <datawriter_qos>
        <durability><kind>TRANSIENT_LOCAL_DURABILITY_QOS</kind></durability>
        <durability_service>
          <service_cleanup_delay>
            <sec>DURATION_INFINITE_SEC</sec>
            <nanosec>DURATION_INFINITE_NSEC</nanosec>
          </service_cleanup_delay>
          <history_kind>KEEP_ALL_HISTORY_QOS</history_kind>
          <max_samples>LENGTH_UNLIMITED</max_samples>
        </durability_service>
        <deadline><period><sec>0</sec><nanosec>1</nanosec></period></deadline>
        <latency_budget><duration><nanosec>200000</nanosec></duration></latency_budget>
        <liveliness>
          <kind>MANUAL_BY_TOPIC_LIVELINESS_QOS</kind>
          <lease_duration><sec>15</sec></lease_duration>
        </liveliness>
        <reliability>
          <kind>BEST_EFFORT_RELIABILITY_QOS</kind>
          <max_blocking_time><sec>DURATION_INFINITY</sec></max_blocking_time>
        </reliability>
        <destination_order><kind>BY_SOURCE_TIMESTAMP_DESTINATIONORDER_QOS</kind></destination_order>
        <history><kind>KEEP_ALL_HISTORY_QOS</kind></history>
        <resource_limits>
          <max_samples>160</max_samples>
          <max_instances>0x11</max_instances>
          <max_samples_per_instance>18</max_samples_per_instance>
        </resource_limits>
        <transport_priority><value>46</value></transport_priority>
        <lifespan><duration><sec>2147483647</sec><nanosec>5</nanosec></duration></lifespan>
        <user_data><valueB64>aGVsbG8=</valueB64></user_data>
        <ownership><kind>EXCLUSIVE_OWNERSHIP_QOS</kind></ownership>
        <ownership_strength><value>-19</value></ownership_strength>
        <writer_data_lifecycle>
          <autodispose_unregistered_instances>false</autodispose_unregistered_instances>
        </writer_data_lifecycle>
        <representation>
          <value><element>XCDR2_DATA_REPRESENTATION</element><element>XCDR_DATA_REPRESENTATION</element></value>
        </representation>
      </datawriter_qos>
      <datareader_qos>
        <durability><kind>TRANSIENT_LOCAL_DURABILITY_QOS</kind></durability>
        <deadline><period><sec>20</sec></period></deadline>
        <latency_budget><duration><sec>DURATION_INFINITE_SEC</sec></duration></latency_budget>
        <liveliness>
          <kind>AUTOMATIC_LIVELINESS_QOS</kind>
          <lease_duration><sec>21</sec></lease_duration>
        </liveliness>
        <reliability><kind>RELIABLE_RELIABILITY_QOS</kind></reliability>
        <destination_order><kind>BY_SOURCE_TIMESTAMP_DESTINATIONORDER_QOS</kind></destination_order>
        <history><depth>2<!-- not 2 alone -->2</depth></history>
        <resource_limits><max_instances>23</max_instances></resource_limits>
        <user_data><value>0xff</value></user_data>
        <ownership><kind>EXCLUSIVE_OWNERSHIP_QOS</kind></ownership>
        <time_based_filter><minimum_separation><nanosec>24</nanosec></minimum_separation></time_based_filter>
        <reader_data_lifecycle>
          <autopurge_nowriter_samples_delay><sec>25</sec></autopurge_nowriter_samples_delay>
          <autopurge_disposed_samples_delay><sec>26</sec></autopurge_disposed_samples_delay>
        </reader_data_lifecycle>
        <representation><value><element>XCDR_DATA_REPRESENTATION</element></value></representation>
        <type_consistency>
          <kind>DISALLOW_TYPE_COERCION</kind>
          <ignore_sequence_bounds>false</ignore_sequence_bounds>
          <ignore_string_bounds>0</ignore_string_bounds>
          <ignore_member_names>true</ignore_member_names>
          <prevent_type_widening>1</prevent_type_widening>
          <force_type_validation>true</force_type_validation>
        </type_consistency>
      </datareader_qos>
    </qos_profile>
  </qos_library>
</dds>
"#;

const PROFILE: &str = "Plant::All";

#[test]
fn participants_publishers_and_subscribers() {
    let qos = provider(ALL);
    assert_eq!(qos.default_profile().as_deref(), Some(PROFILE));
    assert_eq!(qos.profiles().collect::<Vec<_>>(), [PROFILE]);
    let off = EntityFactory { autoenable_created_entities: false };
    let participant = DomainParticipantQos { user_data: vec![84, 104, 0x65, 0], entity_factory: off };
    assert_eq!(qos.participant_qos(PROFILE), Ok(participant));
    let publisher = GroupQos {
        partition: vec!["left*".to_owned(), String::new()],
        group_data: vec![1, 2, 3, 255],
        entity_factory: off,
        ..GroupQos::default()
    };
    assert_eq!(qos.publisher_qos(PROFILE), Ok(publisher));
    let subscriber = GroupQos { partition: vec!["right".to_owned()], ..GroupQos::default() };
    assert_eq!(qos.subscriber_qos(PROFILE), Ok(subscriber));
}

#[test]
fn topics() {
    let expected = TopicQos {
        topic_data: vec![255],
        durability: Durability::TransientLocal,
        durability_service: DurabilityService {
            cleanup_delay: Duration::from_nanos(4_000_000_005),
            history: History::KeepLast(6),
            limits: ResourceLimits {
                max_samples: Some(70),
                max_instances: Some(8),
                max_samples_per_instance: Some(9),
            },
        },
        deadline: Duration::from_nanos(999_999_999),
        latency_budget: Duration::from_secs(1),
        liveliness: Liveliness {
            kind: LivelinessKind::ManualByParticipant,
            lease_duration: Duration::from_secs(2),
        },
        reliability: Reliability {
            kind: ReliabilityKind::Reliable,
            max_blocking_time: Duration::from_secs(3),
        },
        destination_order: DestinationOrder::BySourceTimestamp,
        history: History::KeepLast(11),
        resource_limits: ResourceLimits { max_samples_per_instance: Some(12), ..ResourceLimits::default() },
        transport_priority: 13,
        lifespan: Duration::from_secs(14),
        ownership: Ownership::Exclusive,
        representation: vec![DataRepresentation::XCDR2],
    };
    assert_eq!(provider(ALL).topic_qos(PROFILE, "anything"), Ok(expected));
}

#[test]
fn writers() {
    let endpoint = EndpointQos {
        durability: Durability::TransientLocal,
        durability_service: DurabilityService {
            cleanup_delay: Duration::INFINITE,
            history: History::KeepAll,
            limits: ResourceLimits::default(),
        },
        deadline: Duration::from_nanos(1),
        latency_budget: Duration::from_micros(200),
        liveliness: Liveliness {
            kind: LivelinessKind::ManualByTopic,
            lease_duration: Duration::from_secs(15),
        },
        reliability: Reliability { kind: ReliabilityKind::BestEffort, max_blocking_time: Duration::INFINITE },
        destination_order: DestinationOrder::BySourceTimestamp,
        history: History::KeepAll,
        resource_limits: ResourceLimits {
            max_samples: Some(160),
            max_instances: Some(17),
            max_samples_per_instance: Some(18),
        },
        transport_priority: 46,
        lifespan: Duration::from_nanos(2_147_483_647_000_000_005),
        user_data: b"hello".to_vec(),
        ownership: Ownership::Exclusive,
        ownership_strength: -19,
        representation: vec![DataRepresentation::XCDR2, DataRepresentation::XCDR1],
        ..EndpointQos::writer()
    };
    let expected = DataWriterQos {
        endpoint,
        writer_data_lifecycle: WriterDataLifecycle { autodispose_unregistered_instances: false },
        ..DataWriterQos::default()
    };
    assert_eq!(provider(ALL).datawriter_qos(PROFILE, "anything"), Ok(expected));
}

#[test]
fn readers() {
    let endpoint = EndpointQos {
        durability: Durability::TransientLocal,
        deadline: Duration::from_secs(20),
        latency_budget: Duration::INFINITE,
        liveliness: Liveliness { kind: LivelinessKind::Automatic, lease_duration: Duration::from_secs(21) },
        reliability: Reliability::RELIABLE,
        destination_order: DestinationOrder::BySourceTimestamp,
        history: History::KeepLast(22),
        resource_limits: ResourceLimits { max_instances: Some(23), ..ResourceLimits::default() },
        user_data: vec![255],
        ownership: Ownership::Exclusive,
        time_based_filter: Duration::from_nanos(24),
        representation: vec![DataRepresentation::XCDR1],
        type_consistency: TypeConsistency {
            allow_type_coercion: false,
            ignore_sequence_bounds: false,
            ignore_string_bounds: false,
            ignore_member_names: true,
            prevent_type_widening: true,
            force_type_validation: true,
        },
        ..EndpointQos::reader()
    };
    let expected = DataReaderQos {
        endpoint,
        reader_data_lifecycle: ReaderDataLifecycle {
            autopurge_nowriter_samples_delay: Duration::from_secs(25),
            autopurge_disposed_samples_delay: Duration::from_secs(26),
        },
        ..DataReaderQos::default()
    };
    assert_eq!(provider(ALL).datareader_qos(PROFILE, "anything"), Ok(expected));
}

#[test]
fn what_is_not_said_is_the_default() {
    let qos = provider(&profile(""));
    assert_eq!(qos.participant_qos("L::P"), Ok(DomainParticipantQos::default()));
    assert_eq!(qos.publisher_qos("L::P"), Ok(GroupQos::default()));
    assert_eq!(qos.topic_qos("L::P", "t"), Ok(TopicQos::default()));
    assert_eq!(qos.datawriter_qos("L::P", "t"), Ok(DataWriterQos::default()));
    assert_eq!(qos.datareader_qos("L::P", "t"), Ok(DataReaderQos::default()));
    assert_eq!(qos.default_profile(), None);
}

#[test]
fn the_profiles_that_are_built_in_are_those_of_the_paper() {
    let qos = qos_profiles::QosProvider::built_in();
    let writer = |name: &str| qos.datawriter_qos(name, "t").unwrap().endpoint;
    let reader = |name: &str| qos.datareader_qos(name, "t").unwrap().endpoint;
    let continuous = EndpointQos {
        reliability: Reliability::BEST_EFFORT,
        history: History::KeepLast(1),
        ownership: Ownership::Exclusive,
        deadline: Duration::from_secs(1),
        transport_priority: 12,
        ..EndpointQos::writer()
    };
    assert_eq!(writer("punctual::continuous"), continuous);
    let state = EndpointQos {
        durability: Durability::TransientLocal,
        transport_priority: 34,
        ..EndpointQos::writer()
    };
    assert_eq!(writer("punctual::state"), state);
    let alarms = EndpointQos {
        history: History::KeepAll,
        liveliness: Liveliness { kind: LivelinessKind::Automatic, lease_duration: Duration::from_secs(3) },
        transport_priority: 46,
        ..EndpointQos::writer()
    };
    assert_eq!(writer("punctual::alarms"), alarms);
    for name in ["punctual::continuous", "punctual::state", "punctual::alarms"] {
        let (offered, asked) = (writer(name), reader(name));
        assert_eq!(offered.reliability, asked.reliability, "{name}");
        assert_eq!(offered.durability, asked.durability, "{name}");
        assert_eq!(offered.deadline, asked.deadline, "{name}");
        assert_eq!(offered.liveliness, asked.liveliness, "{name}");
        assert_eq!(offered.ownership, asked.ownership, "{name}");
    }
    assert!(qos.notes().is_empty() && qos.profiles().next().is_none());
}
