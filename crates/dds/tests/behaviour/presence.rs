//! Policies of who is alive, who owns what, and what becomes of instances: at the boundary and just past it.
use dcps::reader::DropReason;
use dds::qos::{DataReaderQos, DataWriterQos, Liveliness, LivelinessKind, Ownership};
use dds::{DataReader, DataWriter, Duration, InstanceState, NO_STATUS, QosKind, States, StatusMask};

use crate::fixture::*;

fn alive(reader: &DataReader<Reading>) -> (u32, u32) {
    let status = reader.get_liveliness_changed_status();
    (status.alive.count, status.not_alive.count)
}

fn liveliness(kind: LivelinessKind, lease: i64) -> Liveliness {
    Liveliness { kind, lease_duration: millis(lease) }
}

fn leased(
    kind: LivelinessKind,
    lease: i64,
) -> (impl FnOnce(&mut DataWriterQos), impl FnOnce(&mut DataReaderQos)) {
    let offer = liveliness(kind, lease);
    (
        move |qos: &mut DataWriterQos| qos.endpoint.liveliness = offer,
        move |qos: &mut DataReaderQos| qos.endpoint.liveliness = offer,
    )
}

fn state(reader: &DataReader<Reading>) -> Option<InstanceState> {
    reader.take(9, States::ANY).unwrap().last().map(|sample| sample.info.instance_state)
}

#[test]
fn deadlines_are_missed_by_each_instance_at_both_sides() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| qos.endpoint.deadline = millis(100));
    let reader = reader(&there, |qos| qos.endpoint.deadline = millis(100));
    settle(&mut desk);
    let missed = || {
        (
            writer.get_offered_deadline_missed_status().total.count,
            reader.get_requested_deadline_missed_status().total.count,
        )
    };
    writer.write(&reading(1, 1)).unwrap();
    desk.run(millis(50));
    writer.write(&reading(2, 1)).unwrap();
    desk.run(millis(49));
    assert_eq!(missed(), (0, 0));
    desk.run(millis(1));
    assert_eq!(missed(), (1, 1));
    let one = reader.lookup_instance(&reading(1, 0)).unwrap();
    assert_eq!(reader.get_requested_deadline_missed_status().last_instance, one);
    writer.write(&reading(1, 2)).unwrap();
    desk.run(millis(50));
    assert_eq!(missed(), (2, 2), "the other instance");
    writer.unregister_instance(&reading(1, 1)).unwrap();
    writer.unregister_instance(&reading(2, 1)).unwrap();
    desk.run(Duration::from_secs(1));
    assert_eq!(missed(), (2, 2), "nothing is promised of what is not there");
}

#[test]
fn automatic_liveliness_is_kept_up_until_the_participant_is_silent() {
    let (mut desk, here, there) = two();
    let (offer, request) = leased(LivelinessKind::Automatic, 500);
    let (writer, reader) = (writer(&here, offer), reader(&there, request));
    settle(&mut desk);
    writer.write(&reading(1, 1)).unwrap();
    desk.run(Duration::from_secs(20));
    assert_eq!(alive(&reader), (1, 0));
    assert_eq!(state(&reader), Some(InstanceState::Alive));
    desk.cut(0, 1);
    let mut waited = 0;
    while alive(&reader) == (1, 0) {
        desk.run(millis(10));
        waited += 10;
    }
    assert!((250..=510).contains(&waited), "a lease after the last sign of life: {waited} ms");
    assert_eq!(alive(&reader), (0, 1));
    assert_eq!(state(&reader), Some(InstanceState::NotAliveNoWriters));
    desk.heal();
    settle(&mut desk);
    assert_eq!(alive(&reader), (1, 0));
    assert_eq!(writer.get_liveliness_lost_status().total.count, 0, "it did its part");
}

/// A sign of life of one of two writers, and which of them it counts for.
fn manual(kind: LivelinessKind, sign: impl Fn(&DataWriter<Reading>)) -> ((u32, u32), u64, u64) {
    let (mut desk, here, there) = two();
    let (offer, request) = leased(kind, 300);
    let one = writer(&here, offer);
    let other = writer(&here, leased(kind, 300).0);
    let reader = reader(&there, request);
    settle(&mut desk);
    one.assert_liveliness().unwrap();
    other.assert_liveliness().unwrap();
    desk.run(millis(299));
    assert_eq!(alive(&reader), (2, 0), "just before the lease is over");
    assert_eq!(other.get_liveliness_lost_status().total.change, 1, "once, before anything was asserted");
    sign(&one);
    desk.run(millis(150));
    let lost = |writer: &DataWriter<Reading>| writer.get_liveliness_lost_status().total.change;
    (alive(&reader), lost(&one), lost(&other))
}

#[test]
fn manual_liveliness_by_participant_counts_for_all_its_writers() {
    let kind = LivelinessKind::ManualByParticipant;
    let write = |writer: &DataWriter<Reading>| drop(writer.write(&reading(1, 1)).map(|_| ()));
    let assert = |writer: &DataWriter<Reading>| writer.assert_liveliness().unwrap();
    let participant = |writer: &DataWriter<Reading>| {
        writer.get_publisher().get_participant().assert_liveliness().unwrap();
    };
    assert_eq!(manual(kind, write).0, (2, 0));
    assert_eq!(manual(kind, assert).0, (2, 0));
    assert_eq!(manual(kind, participant).0, (2, 0));
    assert_eq!(manual(kind, |_| {}).0, (0, 2));
}

#[test]
fn manual_liveliness_by_topic_counts_for_one_writer() {
    let kind = LivelinessKind::ManualByTopic;
    let write = |writer: &DataWriter<Reading>| drop(writer.write(&reading(1, 1)).map(|_| ()));
    let assert = |writer: &DataWriter<Reading>| writer.assert_liveliness().unwrap();
    let participant = |writer: &DataWriter<Reading>| {
        writer.get_publisher().get_participant().assert_liveliness().unwrap();
    };
    assert_eq!(manual(kind, write), ((1, 1), 1, 1));
    assert_eq!(manual(kind, assert), ((1, 1), 1, 1));
    assert_eq!(manual(kind, participant).0, (0, 2));
}

#[test]
fn the_strongest_writer_that_is_alive_owns_an_instance() {
    let (mut desk, here, there) = two();
    let third = desk.participant();
    let exclusive = |strength| {
        move |qos: &mut DataWriterQos| {
            qos.endpoint.ownership = Ownership::Exclusive;
            qos.endpoint.ownership_strength = strength;
            qos.endpoint.liveliness = liveliness(LivelinessKind::Automatic, 500);
        }
    };
    let (weak, strong) = (writer(&here, exclusive(1)), writer(&third, exclusive(2)));
    let reader = reader(&there, |qos| qos.endpoint.ownership = Ownership::Exclusive);
    settle(&mut desk);
    weak.write(&reading(1, 1)).unwrap();
    weak.write(&reading(2, 2)).unwrap();
    desk.run(millis(1));
    strong.write(&reading(1, 10)).unwrap();
    desk.run(millis(1));
    weak.write(&reading(1, 3)).unwrap();
    weak.write(&reading(2, 4)).unwrap();
    desk.run(millis(1));
    let mut seen = values(&reader);
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 4, 10], "instance 1 has another owner since, instance 2 has not");
    assert_eq!(reader.dropped(DropReason::Ownership).count, 1);
    // The owner goes silent: after its lease the other takes over.
    desk.cut(2, 1);
    desk.run(millis(600));
    weak.write(&reading(1, 5)).unwrap();
    desk.run(millis(1));
    assert_eq!(values(&reader), [5]);
    // It comes back, and owns with its next sample.
    desk.heal();
    settle(&mut desk);
    strong.write(&reading(1, 11)).unwrap();
    desk.run(millis(1));
    weak.write(&reading(1, 6)).unwrap();
    desk.run(millis(1));
    assert_eq!(values(&reader), [11]);
    // It leaves.
    strong.get_publisher().delete_datawriter(&strong).unwrap();
    part(&mut desk);
    weak.write(&reading(1, 7)).unwrap();
    desk.run(millis(10));
    assert_eq!(values(&reader), [7]);
    // Shared and exclusive do not match.
    let shared = crate::fixture::reader(&there, |_| {});
    desk.run(millis(10));
    assert_eq!(shared.get_requested_incompatible_qos_status().total.count, 1);
}

#[test]
fn instances_end_as_the_lifecycle_of_the_writer_says() {
    for disposes in [true, false] {
        let (mut desk, here, there) = two();
        let writer = writer(&here, |qos| {
            qos.writer_data_lifecycle.autodispose_unregistered_instances = disposes;
        });
        let reader = reader(&there, |_| {});
        settle(&mut desk);
        let ended = if disposes { InstanceState::NotAliveDisposed } else { InstanceState::NotAliveNoWriters };
        writer.write(&reading(1, 1)).unwrap();
        writer.write(&reading(2, 1)).unwrap();
        writer.unregister_instance(&reading(1, 1)).unwrap();
        desk.run(millis(1));
        let one = reader.lookup_instance(&reading(1, 0)).unwrap().unwrap();
        let told = reader.take_instance(9, one, States::ANY).unwrap();
        assert_eq!(told.last().unwrap().info.instance_state, ended);
        assert_eq!(state(&reader), Some(InstanceState::Alive));
        writer.get_publisher().delete_datawriter(&writer).unwrap();
        part(&mut desk);
        assert_eq!(state(&reader), Some(ended), "deleting a writer unregisters what it wrote");
    }
}

#[test]
fn ended_instances_are_purged_after_their_delay() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| qos.writer_data_lifecycle.autodispose_unregistered_instances = false);
    let reader = reader(&there, |qos| {
        qos.reader_data_lifecycle.autopurge_disposed_samples_delay = millis(100);
        qos.reader_data_lifecycle.autopurge_nowriter_samples_delay = millis(200);
    });
    settle(&mut desk);
    writer.write(&reading(1, 1)).unwrap();
    writer.write(&reading(2, 2)).unwrap();
    writer.dispose(&reading(1, 1)).unwrap();
    writer.unregister_instance(&reading(2, 2)).unwrap();
    let left = || reader.read(9, States::ANY).unwrap().iter().filter(|sample| sample.data.is_some()).count();
    desk.run(millis(99));
    assert_eq!(left(), 2);
    desk.run(millis(1));
    assert_eq!(left(), 1, "what was disposed is gone");
    assert_eq!(reader.lookup_instance(&reading(1, 0)).unwrap(), None);
    desk.run(millis(99));
    assert_eq!(left(), 1);
    desk.run(millis(1));
    assert_eq!(left(), 0);
}

#[test]
fn matches_come_and_go_with_endpoints_and_with_participants() {
    let (mut desk, here, there) = two();
    let (writer, one) = (writer(&here, |_| {}), reader(&there, |_| {}));
    let other = reader(&there, |_| {});
    settle(&mut desk);
    let status = writer.get_publication_matched_status();
    assert_eq!((status.total.count, status.current.count, status.current.change), (2, 2, 2));
    assert_eq!(writer.get_matched_subscriptions().len(), 2);
    one.get_subscriber().delete_datareader(&one).unwrap();
    desk.run(millis(10));
    let status = writer.get_publication_matched_status();
    assert_eq!((status.total.change, status.current.count, status.current.change), (0, 1, -1));
    assert_eq!(status.last_endpoint, Some(one.guid().unwrap().into()));
    // Nobody says goodbye: the lease of the participant ends.
    let lease = here.get_discovered_participants()[0].data.lease_duration;
    desk.cut(1, 0);
    desk.run(lease.saturating_add(Duration::from_secs(1)));
    assert_eq!(writer.get_publication_matched_status().current.count, 0);
    desk.heal();
    desk.run(lease);
    let status = writer.get_publication_matched_status();
    assert_eq!((status.current.count, status.total.count), (1, 3), "found again");
    drop(other);
}

#[test]
fn incompatible_qos_is_told_to_both_sides_with_every_policy_at_fault() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| qos.endpoint.deadline = millis(200));
    let reader = reader(&there, |qos| {
        qos.endpoint.deadline = millis(100);
        qos.endpoint.durability = dds::qos::Durability::TransientLocal;
    });
    settle(&mut desk);
    let requested = reader.get_requested_incompatible_qos_status();
    let offered = writer.get_offered_incompatible_qos_status();
    assert_eq!((requested.total.count, offered.total.count), (1, 1));
    assert_eq!(requested.policies.len(), 2);
    assert_eq!(requested.policies, offered.policies);
    let why = there.get_not_matched();
    assert_eq!((why.len(), why[0].reasons.len()), (1, 2));
    assert_eq!(reader.get_subscription_matched_status().total.count, 0);
}

#[test]
fn another_type_under_the_same_name_is_told_once_for_each_participant_that_comes() {
    let (mut desk, here, there) = two();
    let _writer = writer(&here, |_| {});
    let other = |participant: &dds::DomainParticipant| {
        let topic = participant.lookup_topicdescription("Readings").unwrap_or_else(|| {
            participant.create_topic::<Text>("Readings", "Other", QosKind::Default, None, NO_STATUS).unwrap()
        });
        subscriber(participant).create_datareader::<Text>(&topic, QosKind::Default, None, NO_STATUS).unwrap()
    };
    let _readers = (other(&there), other(&there));
    settle(&mut desk);
    let topic = topic(&here);
    assert_eq!(topic.inconsistent_types(), [(there.prefix(), "Other".to_owned())]);
    assert!(topic.get_statuscondition().get_trigger_value());
    assert_eq!(topic.get_inconsistent_topic_status().total.count, 1);
    assert!(!topic.get_statuscondition().get_trigger_value());
    assert_eq!(
        there.lookup_topicdescription("Readings").unwrap().get_inconsistent_topic_status().total.count,
        1
    );
    // It leaves and comes back.
    desk.cut(1, 0);
    desk.run(Duration::from_secs(300));
    assert_eq!(topic.inconsistent_types().len(), 0);
    desk.heal();
    desk.run(Duration::from_secs(60));
    assert_eq!(topic.get_inconsistent_topic_status().total.count, 2);
}

#[test]
fn statuses_are_levels_that_reading_settles() {
    let (mut desk, here, there) = two();
    let (writer, reader) = (writer(&here, |_| {}), reader(&there, |_| {}));
    settle(&mut desk);
    let expected = StatusMask::SUBSCRIPTION_MATCHED | StatusMask::LIVELINESS_CHANGED;
    assert_eq!(reader.get_status_changes(), expected);
    assert_eq!(writer.get_status_changes(), StatusMask::PUBLICATION_MATCHED);
    writer.get_publication_matched_status();
    assert_eq!(writer.get_status_changes(), NO_STATUS);
    writer.write(&reading(1, 1)).unwrap();
    desk.run(millis(1));
    assert_eq!(reader.get_status_changes(), expected | StatusMask::DATA_AVAILABLE);
    assert_eq!(reader.read(1, States::ANY).unwrap().len(), 1);
    assert_eq!(reader.get_status_changes(), expected, "read or take settles it");
    assert_eq!(reader.get_liveliness_changed_status().alive.change, 1);
    assert_eq!(reader.get_liveliness_changed_status().alive.change, 0);
    assert_eq!(reader.get_subscription_matched_status().total.change, 1);
    assert_eq!(reader.get_status_changes(), NO_STATUS);
}
