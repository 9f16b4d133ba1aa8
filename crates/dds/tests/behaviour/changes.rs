//! QoS that is changed while everything runs takes effect, at both sides.
use dds::qos::{DataReaderQos, DataWriterQos, DomainParticipantQos, Ownership, TopicQos};
use dds::{DataReader, DataWriter, Duration, Publisher, QosKind, ReturnCode, Subscriber};

use crate::fixture::*;

fn change_writer(writer: &DataWriter<Reading>, tune: impl FnOnce(&mut DataWriterQos)) {
    let mut qos = writer.get_qos();
    tune(&mut qos);
    writer.set_qos(QosKind::Specific(qos)).unwrap();
}

fn change_reader(reader: &DataReader<Reading>, tune: impl FnOnce(&mut DataReaderQos)) {
    let mut qos = reader.get_qos();
    tune(&mut qos);
    reader.set_qos(QosKind::Specific(qos)).unwrap();
}

fn part_writer(publisher: &Publisher, names: &[&str]) {
    let mut qos = publisher.get_qos();
    qos.partition = names.iter().map(|name| (*name).to_owned()).collect();
    publisher.set_qos(QosKind::Specific(qos)).unwrap();
}

fn part_reader(subscriber: &Subscriber, names: &[&str]) {
    let mut qos = subscriber.get_qos();
    qos.partition = names.iter().map(|name| (*name).to_owned()).collect();
    subscriber.set_qos(QosKind::Specific(qos)).unwrap();
}

#[test]
fn partitions_part_and_join_by_name_and_by_pattern() {
    let (mut desk, here, there) = two();
    let (writer, reader) = (writer(&here, |_| {}), reader(&there, |_| {}));
    let (publisher, subscriber) = (writer.get_publisher().clone(), reader.get_subscriber().clone());
    settle(&mut desk);
    let mut matched = |of_writer: &[&str], of_reader: &[&str]| {
        part_writer(&publisher, of_writer);
        part_reader(&subscriber, of_reader);
        desk.run(millis(100));
        let count = reader.get_subscription_matched_status().current.count;
        assert_eq!(writer.get_publication_matched_status().current.count, count, "both sides agree");
        writer.write(&reading(1, 1)).unwrap();
        desk.run(millis(10));
        assert_eq!(values(&reader).len(), count as usize);
        count == 1
    };
    assert!(matched(&[], &[]));
    assert!(!matched(&["left"], &[]));
    assert!(!matched(&["left"], &["right"]));
    assert!(matched(&["left"], &["right", "left"]));
    assert!(matched(&["left"], &["le*"]));
    assert!(matched(&["l?ft"], &["left"]));
    assert!(matched(&["[k-m]eft"], &["left"]));
    assert!(!matched(&["[!k-m]eft"], &["left"]));
    assert!(!matched(&["lef"], &["left?"]));
    assert!(!matched(&["le*"], &["*"]), "two patterns have no name in common");
    assert!(matched(&[""], &[]), "the empty name is the default");
    assert!(matched(&[], &["*"]));
    assert_eq!(
        reader.get_requested_incompatible_qos_status().total.count,
        0,
        "a difference is no incompatible QoS"
    );
}

#[test]
fn data_policies_reach_the_other_side_when_they_change() {
    let (mut desk, here, there) = two();
    let (writer, reader) = (writer(&here, |_| {}), reader(&there, |_| {}));
    settle(&mut desk);
    here.set_qos(QosKind::Specific(DomainParticipantQos { user_data: vec![1], ..here.get_qos() })).unwrap();
    change_writer(&writer, |qos| qos.endpoint.user_data = vec![2]);
    let topic = topic(&here);
    topic.set_qos(QosKind::Specific(TopicQos { topic_data: vec![3], ..topic.get_qos() })).unwrap();
    let publisher = writer.get_publisher();
    let mut qos = publisher.get_qos();
    qos.group_data = vec![4];
    publisher.set_qos(QosKind::Specific(qos)).unwrap();
    change_reader(&reader, |qos| qos.endpoint.user_data = vec![5]);
    desk.run(millis(100));
    assert_eq!(there.get_discovered_participants()[0].data.user_data, [1]);
    let writer_data = reader.get_matched_publication_data(writer.guid().unwrap().into()).unwrap();
    let seen = (&writer_data.qos.user_data, &writer_data.qos.topic_data, &writer_data.qos.group_data);
    assert_eq!(seen, (&vec![2], &vec![3], &vec![4]));
    let reader_data = writer.get_matched_subscription_data(reader.guid().unwrap().into()).unwrap();
    assert_eq!(reader_data.qos.user_data, [5]);
    assert_eq!(reader.get_subscription_matched_status().total.count, 1, "they stayed matched");
    let nobody = reader.guid().unwrap().into();
    assert_eq!(reader.get_matched_publication_data(nobody).unwrap_err().code, ReturnCode::BadParameter);
}

#[test]
fn data_that_no_announcement_holds_change_nothing() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| qos.endpoint.user_data = vec![1; 20_000]);
    let reader = reader(&there, |_| {});
    settle(&mut desk);
    let publisher = writer.get_publisher();
    let mut qos = publisher.get_qos();
    qos.group_data = vec![2; 20_000];
    assert!(publisher.set_qos(QosKind::Specific(qos)).is_err());
    assert_eq!(publisher.get_qos().group_data, [0; 0]);
    desk.run(millis(100));
    let seen = reader.get_matched_publication_data(writer.guid().unwrap().into()).unwrap();
    assert_eq!((seen.qos.user_data.len(), seen.qos.group_data.len()), (20_000, 0));
}

#[test]
fn a_changed_strength_moves_ownership() {
    let (mut desk, here, there) = two();
    let strength = |strength| {
        move |qos: &mut DataWriterQos| {
            qos.endpoint.ownership = Ownership::Exclusive;
            qos.endpoint.ownership_strength = strength;
        }
    };
    let (one, other) = (writer(&here, strength(2)), writer(&here, strength(1)));
    let reader = reader(&there, |qos| qos.endpoint.ownership = Ownership::Exclusive);
    settle(&mut desk);
    let mut both = |value| {
        one.write(&reading(1, value)).unwrap();
        other.write(&reading(1, -value)).unwrap();
        desk.run(millis(10));
        values(&reader)
    };
    assert_eq!(both(1), [1]);
    change_writer(&other, |qos| qos.endpoint.ownership_strength = 2);
    // Equally strong now: the lower GUID has it, which is the older one's.
    assert_eq!(both(2), [2]);
    change_writer(&other, |qos| qos.endpoint.ownership_strength = 3);
    desk.run(millis(10));
    let mut both = |value| {
        one.write(&reading(1, value)).unwrap();
        other.write(&reading(1, -value)).unwrap();
        desk.run(millis(10));
        values(&reader)
    };
    assert_eq!(both(3), [3, -3], "it owns with its next sample");
    assert_eq!(both(4), [-4]);
}

#[test]
fn a_changed_deadline_counts_anew_and_matches_anew() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| qos.endpoint.deadline = millis(100));
    let reader = reader(&there, |qos| qos.endpoint.deadline = millis(200));
    settle(&mut desk);
    writer.write(&reading(1, 1)).unwrap();
    desk.run(millis(99));
    assert_eq!(writer.get_offered_deadline_missed_status().total.count, 0);
    change_writer(&writer, |qos| qos.endpoint.deadline = millis(150));
    desk.run(millis(149));
    assert_eq!(writer.get_offered_deadline_missed_status().total.count, 0, "the period began anew");
    desk.run(millis(1));
    assert_eq!(writer.get_offered_deadline_missed_status().total.count, 1);
    assert_eq!(reader.get_requested_deadline_missed_status().total.count, 1, "99 + 150 ms are more than 200");
    change_writer(&writer, |qos| qos.endpoint.deadline = millis(201));
    desk.run(millis(10));
    assert_eq!(reader.get_requested_incompatible_qos_status().total.count, 1);
    assert_eq!(writer.get_offered_incompatible_qos_status().total.count, 1);
    assert_eq!(reader.get_subscription_matched_status().current.count, 0);
    change_reader(&reader, |qos| qos.endpoint.deadline = millis(201));
    desk.run(millis(10));
    assert_eq!(reader.get_subscription_matched_status().current.count, 1);
}

#[test]
fn a_changed_priority_is_that_of_what_leaves_afterwards() {
    let (mut desk, here, there) = two();
    let (writer, _reader) =
        (writer(&here, |qos| qos.endpoint.transport_priority = 10), reader(&there, |_| {}));
    settle(&mut desk);
    desk.record();
    writer.write(&reading(1, 1)).unwrap();
    change_writer(&writer, |qos| qos.endpoint.transport_priority = 46);
    writer.write(&reading(1, 2)).unwrap();
    let classes: Vec<u8> = desk.recorded().iter().map(|left| left.class).collect();
    assert!(
        classes[0] == 10 && classes[1..].iter().all(|class| *class == 46) && classes.len() > 1,
        "{classes:?}"
    );
    let mut qos = writer.get_qos();
    qos.endpoint.transport_priority = 64;
    assert_eq!(writer.set_qos(QosKind::Specific(qos)).unwrap_err().code, ReturnCode::BadParameter);
}

#[test]
fn a_changed_latency_budget_and_lifespan_count_for_what_is_written_afterwards() {
    let (mut desk, here, there) = two();
    let batching = |qos: &mut DataReaderQos| qos.endpoint.latency_budget = Duration::from_secs(1);
    let (writer, reader) = (writer(&here, keep_all), reader(&there, batching));
    settle(&mut desk);
    change_writer(&writer, |qos| qos.endpoint.latency_budget = millis(50));
    writer.write(&reading(1, 1)).unwrap();
    desk.run(millis(49));
    assert_eq!(values(&reader), [0; 0]);
    desk.run(millis(1));
    assert_eq!(values(&reader), [1]);
    change_writer(&writer, |qos| {
        qos.endpoint.latency_budget = Duration::ZERO;
        qos.endpoint.lifespan = millis(100);
    });
    desk.run(millis(10));
    writer.write(&reading(1, 2)).unwrap();
    desk.run(millis(100));
    assert_eq!(values(&reader), [0; 0], "it has expired in the reader's cache");
}

#[test]
fn what_is_fixed_is_refused_and_nothing_changes() {
    let (mut desk, here, there) = two();
    let (writer, reader) = (writer(&here, |_| {}), reader(&there, |_| {}));
    settle(&mut desk);
    let before = writer.get_qos();
    let mut qos = before.clone();
    qos.endpoint.user_data = vec![1];
    qos.endpoint.ownership = Ownership::Exclusive;
    assert_eq!(writer.set_qos(QosKind::Specific(qos)).unwrap_err().code, ReturnCode::ImmutablePolicy);
    assert_eq!(writer.get_qos(), before);
    let mut qos = reader.get_qos();
    qos.endpoint.history = dds::qos::History::KeepLast(1);
    assert_eq!(reader.set_qos(QosKind::Specific(qos)).unwrap_err().code, ReturnCode::ImmutablePolicy);
    let mut qos = reader.get_qos();
    qos.endpoint.time_based_filter = millis(2);
    qos.endpoint.deadline = millis(1);
    assert_eq!(reader.set_qos(QosKind::Specific(qos)).unwrap_err().code, ReturnCode::InconsistentPolicy);
    desk.run(millis(10));
    let seen = reader.get_matched_publication_data(writer.guid().unwrap().into()).unwrap();
    assert_eq!(seen.qos.user_data, [0; 0]);
}

#[test]
fn what_is_ignored_is_as_if_it_were_not_there() {
    let (mut desk, here, there) = two();
    let third = desk.participant();
    let reader = reader(&here, |_| {});
    let own = writer(&here, |_| {});
    let (one, other) = (writer(&there, |_| {}), writer(&there, |_| {}));
    let last = writer(&third, |_| {});
    settle(&mut desk);
    let mut matched = || {
        desk.run(millis(10));
        for (writer, value) in [(&own, 0), (&one, 1), (&other, 2), (&last, 3)] {
            writer.write(&reading(1, value)).unwrap();
        }
        desk.run(millis(10));
        let mut seen = values(&reader);
        seen.sort_unstable();
        assert_eq!(reader.get_subscription_matched_status().current.count as usize, seen.len());
        seen
    };
    assert_eq!(matched(), [0, 1, 2, 3]);
    here.ignore_publication(one.guid().unwrap().into()).unwrap();
    assert_eq!(matched(), [0, 2, 3]);
    here.ignore_participant(there.prefix()).unwrap();
    assert_eq!(matched(), [0, 3]);
    assert_eq!(here.get_discovered_participants().len(), 1);
    assert!(here.get_discovered_endpoints().iter().all(|data| data.guid.prefix != there.prefix()));
    here.ignore_topic("Readings").unwrap();
    assert_eq!(matched(), [0], "our own are not meant");
    here.ignore_subscription(reader.guid().unwrap().into()).unwrap();
    assert_eq!(matched(), [0; 0]);
    assert_eq!(own.get_publication_matched_status().current.count, 0, "both sides are here");
    own.wait_for_acknowledgments(Duration::ZERO).unwrap();
    // It stays so, whatever they announce.
    let mut qos = one.get_qos();
    qos.endpoint.user_data = vec![1];
    one.set_qos(QosKind::Specific(qos)).unwrap();
    let _late = writer(&there, |_| {});
    desk.run(Duration::from_secs(60));
    assert_eq!(reader.get_subscription_matched_status().current.count, 0);
    assert_eq!(reader.get_requested_incompatible_qos_status().total.count, 0);
}
