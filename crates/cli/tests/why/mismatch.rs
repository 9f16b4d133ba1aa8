//! Writers and readers that do not match.
use cli::explain::Scene;
use dds::qos::{
    AccessScope, DataReaderQos, DataRepresentation, DataWriterQos, DestinationOrder, Durability, EndpointQos,
    LivelinessKind, Ownership, Presentation, PublisherQos, Reliability, SubscriberQos,
};
use dds::{Duration, Guid, GuidPrefix};
use std::sync::Arc;
use wire::discovery::EndpointData;
use wire::{EntityId, EntityKind};

use crate::stage::{Stage, told};

/// What is said of a reliable writer and a best-effort reader of one topic, after both were changed.
fn of(writer: impl FnOnce(&mut EndpointQos), reader: impl FnOnce(&mut EndpointQos)) -> String {
    let mut stage = Stage::new();
    let (mut offered, mut requested) = (DataWriterQos::default(), DataReaderQos::default());
    writer(&mut offered.endpoint);
    reader(&mut requested.endpoint);
    let _writer = stage.writer("Readings", "Reading", PublisherQos::default(), offered);
    let _reader = stage.reader("Readings", "Reading", SubscriberQos::default(), requested);
    let all = stage.told(None);
    assert_eq!(all, stage.told(Some("Readings")), "asked for the topic it is the same");
    all
}

/// The finding of one mismatch.
fn not_matched(what: &str, todo: &str) -> String {
    format!(
        "! topic \"Readings\": writer of \"talker\" (Punctual at 10.0.0.1) and reader of \"listener\" (Punctual at 10.0.0.2) do not match: {what}\n  {todo}"
    )
}

#[test]
fn nothing_is_said_where_nothing_is_wrong() {
    assert_eq!(of(|_| {}, |_| {}), "");
}

#[test]
fn reliability() {
    assert_eq!(
        of(
            |writer| writer.reliability = Reliability::BEST_EFFORT,
            |reader| reader.reliability = Reliability::RELIABLE
        ),
        not_matched(
            "RELIABILITY: offered BEST_EFFORT, requested RELIABLE",
            "Let the writer offer RELIABLE, or the reader ask for BEST_EFFORT."
        )
    );
}

#[test]
fn durability() {
    assert_eq!(
        of(|_| {}, |reader| reader.durability = Durability::TransientLocal),
        not_matched(
            "DURABILITY: offered VOLATILE, requested TRANSIENT_LOCAL",
            "Let the writer offer TRANSIENT_LOCAL, or the reader ask for VOLATILE."
        )
    );
}

#[test]
fn deadline() {
    assert_eq!(
        of(
            |writer| writer.deadline = Duration::from_secs(1),
            |reader| reader.deadline = Duration::from_millis(100)
        ),
        not_matched(
            "DEADLINE: offered 1 s, requested 100 ms",
            "Let the writer promise a sample every 100 ms or more often, or the reader be content with 1 s."
        )
    );
}

#[test]
fn a_deadline_that_nobody_promised() {
    assert_eq!(
        of(|_| {}, |reader| reader.deadline = Duration::from_millis(100)),
        not_matched(
            "DEADLINE: offered infinite, requested 100 ms",
            "Let the writer promise a sample every 100 ms or more often, or the reader ask for no DEADLINE."
        )
    );
}

#[test]
fn liveliness_kind() {
    assert_eq!(
        of(|_| {}, |reader| reader.liveliness.kind = LivelinessKind::ManualByTopic),
        not_matched(
            "LIVELINESS kind: offered AUTOMATIC, requested MANUAL_BY_TOPIC",
            "Let the writer offer MANUAL_BY_TOPIC, or the reader ask for AUTOMATIC."
        )
    );
}

#[test]
fn liveliness_lease() {
    assert_eq!(
        of(
            |writer| writer.liveliness.lease_duration = Duration::from_secs(10),
            |reader| reader.liveliness.lease_duration = Duration::from_millis(1_500)
        ),
        not_matched(
            "LIVELINESS lease: offered 10 s, requested 1.5 s",
            "Let the writer's lease be at most 1.5 s, or the reader's at least 10 s."
        )
    );
}

#[test]
fn ownership() {
    assert_eq!(
        of(|writer| writer.ownership = Ownership::Exclusive, |_| {}),
        not_matched("OWNERSHIP: offered EXCLUSIVE, requested SHARED", "Give both the same kind.")
    );
}

#[test]
fn destination_order() {
    assert_eq!(
        of(|_| {}, |reader| reader.destination_order = DestinationOrder::BySourceTimestamp),
        not_matched(
            "DESTINATION_ORDER: offered BY_RECEPTION_TIMESTAMP, requested BY_SOURCE_TIMESTAMP",
            "Let the writer offer BY_SOURCE_TIMESTAMP, or the reader ask for BY_RECEPTION_TIMESTAMP."
        )
    );
}

#[test]
fn latency_budget() {
    assert_eq!(
        of(|writer| writer.latency_budget = Duration::from_millis(100), |_| {}),
        not_matched(
            "LATENCY_BUDGET: offered 100 ms, requested 0 s",
            "Let the writer's budget be at most 0 s, or the reader's at least 100 ms."
        )
    );
}

#[test]
fn data_representation() {
    assert_eq!(
        of(
            |writer| writer.representation = vec![DataRepresentation::XCDR2],
            |reader| reader.representation = vec![DataRepresentation::XCDR1]
        ),
        not_matched(
            "DATA_REPRESENTATION: written as XCDR2, read as XCDR1",
            "Let the writer write XCDR1, or the reader accept XCDR2 as well."
        )
    );
}

#[test]
fn two_mistakes_are_two_findings() {
    let said = of(
        |writer| writer.reliability = Reliability::BEST_EFFORT,
        |reader| {
            reader.reliability = Reliability::RELIABLE;
            reader.durability = Durability::TransientLocal;
        },
    );
    assert_eq!(said.matches("do not match").count(), 2, "{said}");
}

fn partitions(written: &[&str], read: &[&str]) -> String {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let mut stage = Stage::new();
    let publisher = PublisherQos { partition: names(written), ..PublisherQos::default() };
    let subscriber = SubscriberQos { partition: names(read), ..SubscriberQos::default() };
    let _writer = stage.writer("Readings", "Reading", publisher, DataWriterQos::default());
    let _reader = stage.reader("Readings", "Reading", subscriber, DataReaderQos::default());
    stage.told(None)
}

#[test]
fn partition() {
    assert_eq!(
        partitions(&["left", "right"], &[]),
        not_matched(
            "PARTITION: written in \"left\", \"right\", read in none (the same as \"\")",
            "Give publisher and subscriber a name in common."
        )
    );
    assert_eq!(
        partitions(&["arm*"], &["*"]),
        not_matched(
            "PARTITION: written in \"arm*\", read in \"*\"",
            "Give publisher and subscriber a name in common. Patterns match names, not other patterns."
        )
    );
}

#[test]
fn type_name() {
    let types = |written: &str, read: &str| {
        let mut stage = Stage::without_types();
        let _writer = stage.writer("Readings", written, PublisherQos::default(), DataWriterQos::default());
        let _reader = stage.reader("Readings", read, SubscriberQos::default(), DataReaderQos::default());
        stage.told(None)
    };
    assert_eq!(
        types("Reading", "Temperature"),
        not_matched(
            "type: written as \"Reading\", read as \"Temperature\"",
            "Use one name of the type for both, or two topics for two types."
        )
    );
    assert_eq!(
        types("demo::msg::Reading", "demo::msg::dds_::Reading_"),
        not_matched(
            "type: written as \"demo::msg::Reading\", read as \"demo::msg::dds_::Reading_\"",
            "Use one name of the type for both; ROS 2 calls its types package::msg::dds_::Name_."
        )
    );
}

#[test]
fn topic_name_nearly_the_same() {
    let topics = |written: &str, read: &str, asked: Option<&str>| {
        let mut stage = Stage::new();
        let _writer = stage.writer(written, "Reading", PublisherQos::default(), DataWriterQos::default());
        let _reader = stage.reader(read, "Reading", SubscriberQos::default(), DataReaderQos::default());
        stage.told(asked)
    };
    let told = |written: &str, read: &str, how: &str| {
        format!(
            "! topic \"{written}\" of the writer of \"talker\" (Punctual at 10.0.0.1) is only written, topic \"{read}\" of the reader of \"listener\" (Punctual at 10.0.0.2) is only read: the names differ {how}\n  Use one name for both; names are compared byte by byte."
        )
    };
    assert_eq!(topics("Readings", "readings", None), told("Readings", "readings", "by case"));
    assert_eq!(topics("Readings", "readings", Some("readings")), told("Readings", "readings", "by case"));
    assert_eq!(
        topics("chatter", "rt/chatter", None),
        told("chatter", "rt/chatter", "by the prefix that ROS 2 puts before the names of its topics")
    );
    // Two topics that have nothing in common are nobody's mistake.
    assert_eq!(topics("Readings", "Orders", None), "");
    assert_eq!(
        topics("Readings", "Orders", Some("Orders")),
        "! topic \"Orders\": 1 reader and no writer\n  Start one in domain 0; if it runs, it may have another domain, tag, interface or multicast group. Some announce themselves every 30 s only: --duration 35s."
    );
    assert_eq!(
        topics("Readings", "Readings", Some("Reading")),
        "! topic \"Reading\": no endpoint writes or reads it in domain 0 (heard for 5 s)\n  There is a topic \"Readings\": is that the one?"
    );
}

/// Endpoints of another vendor, as they were announced.
fn foreign(kind: EntityKind, change: impl FnOnce(&mut EndpointQos)) -> Arc<EndpointData> {
    let guid = Guid::new(GuidPrefix([9; 12]), EntityId::user(1, kind));
    let mut qos = if guid.entity_id.is_writer() { EndpointQos::writer() } else { EndpointQos::reader() };
    change(&mut qos);
    Arc::new(EndpointData::new(guid, "Readings".to_owned(), "Reading".to_owned(), qos))
}

fn foreign_scene(endpoints: Vec<Arc<EndpointData>>) -> Scene {
    let mut stage = Stage::new();
    let mut scene = stage.scene(None);
    scene.endpoints = endpoints;
    scene
}

const FOREIGN: &str = "! topic \"Readings\": writer of 090909090909090909090909 and reader of 090909090909090909090909 do not match";

#[test]
fn presentation_of_foreign_endpoints() {
    let asks = Presentation { access_scope: AccessScope::Group, coherent_access: true, ordered_access: true };
    let scene = foreign_scene(vec![
        foreign(EntityKind::WriterWithKey, |qos| qos.presentation.access_scope = AccessScope::Topic),
        foreign(EntityKind::ReaderWithKey, |qos| qos.presentation = asks),
    ]);
    assert_eq!(
        told(&scene),
        format!(
            "{FOREIGN}: PRESENTATION: offered TOPIC, requested GROUP coherent ordered\n  Let the writer offer GROUP coherent ordered, or the reader ask for TOPIC."
        )
    );
}

#[test]
fn with_and_without_key() {
    let scene = foreign_scene(vec![
        foreign(EntityKind::WriterNoKey, |_| {}),
        foreign(EntityKind::ReaderWithKey, |_| {}),
    ]);
    assert_eq!(
        told(&scene),
        format!(
            "{}, and differ: key: written without a key, read with a key; Punctual matches them, others may not\n  Mark the same members with @key in both programs' types, or none in either: instances differ otherwise.",
            FOREIGN.replacen('!', "-", 1).replace(" do not match", " match")
        )
    );
}

#[test]
fn the_same_mistake_of_many_pairs_is_told_once() {
    let mut endpoints: Vec<_> = (0..3)
        .map(|_| foreign(EntityKind::WriterWithKey, |qos| qos.reliability = Reliability::BEST_EFFORT))
        .collect();
    endpoints.extend(
        (0..2).map(|_| foreign(EntityKind::ReaderWithKey, |qos| qos.reliability = Reliability::RELIABLE)),
    );
    assert_eq!(
        told(&foreign_scene(endpoints)),
        format!(
            "{FOREIGN} (and 5 other pairs): RELIABILITY: offered BEST_EFFORT, requested RELIABLE\n  Let the writer offer RELIABLE, or the reader ask for BEST_EFFORT."
        )
    );
}

#[test]
fn samples_that_a_reader_cannot_take() {
    let ends = |size, limit| {
        let writer = foreign(EntityKind::WriterWithKey, |_| {});
        let reader = foreign(EntityKind::ReaderWithKey, |_| {});
        let writer = EndpointData { max_serialized_size: size, ..EndpointData::clone(&writer) };
        let reader = EndpointData { largest_sample: limit, ..EndpointData::clone(&reader) };
        told(&foreign_scene(vec![Arc::new(writer), Arc::new(reader)]))
    };
    for (size, limit) in [(None, Some(1_000)), (Some(1_000), None), (Some(1_000), Some(1_000))] {
        assert_eq!(ends(size, limit), "");
    }
    let said = ends(Some(1_001), Some(1_000));
    assert!(
        said.contains("up to 1001 bytes, and the reader takes 1000 at most\n  Raise byte_limit"),
        "{said}"
    );
}
