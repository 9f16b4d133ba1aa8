//! What each policy does to a writer, seen by a reader behind the machines of RTPS; at the boundary and just past it.

use crate::link::{Link, data, handle, ms, reader_guid};
use dcps::reader::DropReason;
use dcps::status::StatusMask;
use dcps::writer::{Blocked, InstanceOf, Limit, WriteError, WriteOptions};
use dcps::{Error, ReturnCode};
use rtps::writer::Body;
use wire::qos::{Durability, History, LivelinessKind, Reliability};
use wire::{Duration, SequenceNumber, Timestamp};

const NANO: Duration = Duration::from_nanos(1);

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, WriteError>, code: ReturnCode) {
    match result.unwrap_err() {
        WriteError::Refused(error) => assert_eq!(error.code, code, "{error}"),
        other => panic!("{other}"),
    }
}

#[track_caller]
fn blocked<T: std::fmt::Debug>(result: Result<T, WriteError>) -> Blocked {
    match result.unwrap_err() {
        WriteError::Blocked(blocked) => blocked,
        other => panic!("{other}"),
    }
}

fn transient_local(qos: &mut dcps::qos::DataWriterQos, reader: &mut dcps::qos::DataReaderQos) {
    qos.endpoint.durability = Durability::TransientLocal;
    reader.endpoint.durability = Durability::TransientLocal;
}

#[test]
fn samples_of_several_instances_arrive() {
    let mut link = Link::connected(|_, _| {});
    for number in 0..10 {
        link.write(number % 3, number).unwrap();
    }
    link.wait(ms(100));
    assert_eq!(link.values(), [0, 3, 6, 9, 1, 4, 7, 2, 5, 8].map(Some));
    assert!(link.writer.is_acknowledged());
    assert_eq!((link.writer.held(), link.writer.instances()), (0, 3));
}

#[test]
fn keep_last_gives_a_late_reader_the_newest_of_each_instance() {
    let mut link = Link::new(|qos, reader| {
        transient_local(qos, reader);
        qos.endpoint.history = History::KeepLast(2);
    });
    for number in 0..10 {
        link.write(number % 2, number).unwrap();
    }
    assert_eq!(link.writer.held(), 4);
    link.connect();
    link.wait(ms(200));
    assert_eq!(link.values(), [6, 8, 7, 9].map(Some));
    assert_eq!(link.reader.sample_lost().total.count, 0);
}

#[test]
fn a_volatile_reader_gets_no_history() {
    let mut link = Link::new(|qos, reader| {
        transient_local(qos, reader);
        reader.endpoint.durability = Durability::Volatile;
    });
    link.write(1, 1).unwrap();
    link.connect();
    link.wait(ms(100));
    link.write(1, 2).unwrap();
    link.wait(ms(100));
    assert_eq!(link.values(), [Some(2)]);
}

#[test]
fn keep_last_replaces_what_is_not_acknowledged() {
    let mut link = Link::connected(|qos, _| qos.endpoint.history = History::KeepLast(1));
    link.cut = true;
    for number in 1..=100 {
        link.write(1, number).unwrap();
        link.exchange();
    }
    assert_eq!(link.writer.held(), 1);
    link.cut = false;
    link.wait(ms(2_000));
    assert_eq!(link.values(), [Some(100)]);
}

#[test]
fn keep_all_blocks_at_the_limit_until_readers_acknowledge() {
    let mut link = Link::connected(|qos, _| {
        qos.endpoint.resource_limits.max_samples = Some(3);
        qos.endpoint.resource_limits.max_samples_per_instance = Some(2);
        qos.endpoint.reliability = Reliability { max_blocking_time: ms(70), ..Reliability::RELIABLE };
    });
    link.cut = true;
    link.write(1, 1).unwrap();
    link.write(1, 2).unwrap();
    let refusal = blocked(link.write(1, 3));
    assert_eq!(refusal, Blocked { limit: Limit::SamplesPerInstance, until: link.at().after(ms(70)) });
    assert_eq!(Error::from(refusal).code, ReturnCode::Timeout);
    link.write(2, 1).unwrap();
    assert_eq!(blocked(link.write(2, 2)).limit, Limit::Samples);
    assert_eq!(blocked(link.write(3, 3)).limit, Limit::Samples);
    assert_eq!(link.writer.instances(), 2, "a write that was refused registers nothing");
    link.wait(ms(100));
    assert!(!link.writer.is_acknowledged());
    assert_eq!(blocked(link.write(1, 3)).limit, Limit::SamplesPerInstance);
    link.cut = false;
    link.wait(ms(1_000));
    assert!(link.writer.is_acknowledged());
    link.write(1, 3).unwrap();
    link.wait(ms(100));
    assert_eq!(link.values(), [1, 2, 3, 1].map(Some));
}

#[test]
fn a_full_history_of_octets_blocks_too() {
    let mut link = Link::connected(|qos, _| qos.byte_limit = 4_096);
    link.cut = true;
    let mut written = 0;
    let refusal = loop {
        match link.write(1, written) {
            Ok(_) => written += 1,
            Err(WriteError::Blocked(blocked)) => break blocked,
            Err(other) => panic!("{other}"),
        }
        link.exchange();
    };
    assert!((5..200).contains(&written) && refusal.limit == Limit::Octets);
    blocked(link.writer.dispose(link.now, InstanceOf::Sample(&data(2, 0)), None));
    assert_eq!(link.writer.instances(), 1, "what was not written registers nothing");
    let registered = InstanceOf::Handle(handle(1));
    blocked(link.writer.unregister_instance(link.now, registered, None));
    assert_eq!(link.writer.lookup_instance(&data(1, 0), false), Ok(Some(handle(1))));
    link.cut = false;
    link.wait(ms(1_000));
    link.write(1, written).unwrap();
    link.wait(ms(100));
    assert_eq!(link.values(), (0..=written).map(Some).collect::<Vec<_>>());
    let mut large = data(1, 1);
    large.resize(5_000, 0);
    let never = link.writer.write(link.now, Body::Copy(&large), &WriteOptions::default());
    refused(never, ReturnCode::OutOfResources);
}

#[test]
fn keep_last_makes_room_by_its_own_older_samples() {
    let mut link = Link::connected(|qos, _| {
        qos.endpoint.history = History::KeepLast(8);
        qos.byte_limit = 2_048;
    });
    link.cut = true;
    let mut payload = data(1, 0);
    payload.resize(300, 0);
    for _ in 0..20 {
        let written = link.writer.write(link.now, Body::Copy(&payload), &WriteOptions::default());
        match written {
            Ok(_) => link.exchange(),
            // Fewer than the depth fit: HISTORY lets none of them go.
            Err(WriteError::Blocked(blocked)) => {
                assert_eq!(blocked.limit, Limit::Octets);
                assert!(link.writer.held() < 8);
                return;
            }
            Err(other) => panic!("{other}"),
        }
    }
    panic!("eight samples of 300 bytes do not fit into 2,048");
}

#[test]
fn what_is_kept_for_late_readers_is_not_waited_for() {
    let mut link = Link::new(|qos, reader| {
        transient_local(qos, reader);
        qos.endpoint.resource_limits.max_samples = Some(2);
        qos.endpoint.resource_limits.max_instances = Some(2);
    });
    link.write(1, 1).unwrap();
    link.write(2, 2).unwrap();
    refused(link.write(1, 3), ReturnCode::OutOfResources);
    refused(link.write(3, 3), ReturnCode::OutOfResources);
    let mut link = Link::new(|qos, reader| {
        transient_local(qos, reader);
        qos.endpoint.resource_limits.max_samples = Some(2);
        qos.endpoint.lifespan = ms(100);
    });
    link.write(1, 1).unwrap();
    link.write(1, 2).unwrap();
    blocked(link.write(1, 3));
    link.wait(ms(100));
    link.write(1, 3).unwrap();
}

#[test]
fn expired_samples_leave_the_history() {
    let mut link = Link::new(|qos, reader| {
        transient_local(qos, reader);
        qos.endpoint.lifespan = ms(250);
    });
    link.write(1, 1).unwrap();
    link.wait(ms(100));
    link.write(1, 2).unwrap();
    link.wait(Duration::from_nanos(149_999_999));
    assert_eq!(link.writer.held(), 2);
    link.wait(NANO);
    assert_eq!(link.writer.held(), 1);
    link.connect();
    link.wait(ms(50));
    assert_eq!(link.values(), [Some(2)]);
    assert_eq!(link.reader.dropped(DropReason::Expired).count, 0);
}

#[test]
fn offered_deadlines_are_per_instance() {
    let mut link = Link::connected(|qos, _| qos.endpoint.deadline = ms(100));
    link.write(1, 1).unwrap();
    link.writer.register_instance(link.now, &data(2, 0), false).unwrap();
    link.wait(ms(60));
    link.write(1, 2).unwrap();
    link.wait(Duration::from_nanos(39_999_999));
    assert!(!link.writer.status_changes().intersects(StatusMask::OFFERED_DEADLINE_MISSED));
    link.wait(NANO);
    let status = link.writer.offered_deadline_missed();
    assert_eq!((status.total.count, status.last_instance), (1, Some(handle(2))));
    link.wait(ms(60));
    let status = link.writer.offered_deadline_missed();
    assert_eq!((status.total.count, status.last_instance), (2, Some(handle(1))));
    link.writer.unregister_instance(link.now, InstanceOf::Sample(&data(1, 0)), None).unwrap();
    link.writer.dispose(link.now, InstanceOf::Sample(&data(2, 0)), None).unwrap();
    link.wait(ms(1_000));
    assert_eq!(link.writer.offered_deadline_missed().total.change, 0);
}

#[test]
fn a_write_before_the_clock_is_looked_at_does_not_hide_what_was_missed() {
    let mut link = Link::connected(|qos, _| {
        qos.endpoint.deadline = ms(100);
        qos.endpoint.liveliness.kind = LivelinessKind::ManualByTopic;
        qos.endpoint.liveliness.lease_duration = ms(200);
    });
    link.write(1, 1).unwrap();
    link.now.monotonic = link.now.monotonic.after(ms(250));
    link.write(1, 2).unwrap();
    assert_eq!(link.writer.offered_deadline_missed().total.count, 2);
    assert_eq!(link.writer.liveliness_lost().total.count, 1);
    link.now.monotonic = link.now.monotonic.after(ms(150));
    link.writer.dispose(link.now, InstanceOf::Handle(handle(1)), None).unwrap();
    assert_eq!(link.writer.offered_deadline_missed().total.count, 3);
}

#[test]
fn a_writer_that_is_silent_loses_its_liveliness_once() {
    for kind in [LivelinessKind::ManualByTopic, LivelinessKind::ManualByParticipant] {
        let mut link = Link::connected(|qos, _| {
            qos.endpoint.liveliness.kind = kind;
            qos.endpoint.liveliness.lease_duration = ms(100);
        });
        link.wait(ms(60));
        link.write(1, 1).unwrap();
        link.wait(ms(60));
        link.writer.assert_liveliness(link.now);
        link.wait(Duration::from_nanos(99_999_999));
        assert_eq!(link.writer.liveliness_lost().total.count, 0);
        link.wait(NANO);
        assert!(link.writer.status_changes().intersects(StatusMask::LIVELINESS_LOST));
        assert_eq!(link.writer.liveliness_lost().total.count, 1);
        link.wait(ms(1_000));
        assert_eq!(link.writer.liveliness_lost().total.count, 1, "it is lost already");
        link.writer.assert_liveliness(link.now);
        link.wait(ms(100));
        assert_eq!(link.writer.liveliness_lost().total.count, 2);
    }
    let mut link = Link::connected(|qos, _| qos.endpoint.liveliness.lease_duration = ms(100));
    link.wait(ms(1_000));
    assert_eq!(link.writer.liveliness_lost().total.count, 0, "automatic");
}

#[test]
fn asserting_by_topic_sends_a_heartbeat() {
    let mut link = Link::connected(|qos, _| {
        qos.endpoint.liveliness.kind = LivelinessKind::ManualByTopic;
        qos.endpoint.liveliness.lease_duration = ms(100);
    });
    link.wait(ms(50));
    let before = link.datagrams;
    link.exchange();
    assert_eq!(link.datagrams, before);
    link.writer.assert_liveliness(link.now);
    link.exchange();
    assert_eq!(link.datagrams, before + 1);
}

#[test]
fn transport_priority_is_the_class_and_can_be_changed() {
    let mut link = Link::connected(|qos, _| qos.endpoint.transport_priority = 46);
    link.write(1, 1).unwrap();
    link.exchange();
    assert_eq!(link.class, Some(46));
    let mut qos = link.writer.qos().clone();
    qos.endpoint.transport_priority = 8;
    link.writer.set_qos(link.now, qos.clone()).unwrap();
    link.write(1, 2).unwrap();
    link.exchange();
    assert_eq!(link.class, Some(8));
    qos.endpoint.history = History::KeepLast(1);
    let error = link.writer.set_qos(link.now, qos).unwrap_err();
    assert_eq!(error.code, ReturnCode::ImmutablePolicy);
}

#[test]
fn latency_budget_lets_samples_share_datagrams() {
    let mut link = Link::connected(|qos, _| qos.endpoint.latency_budget = ms(5));
    link.exchange();
    let before = link.datagrams;
    for number in 0..10 {
        link.write(1, number).unwrap();
    }
    link.wait(Duration::from_nanos(4_999_999));
    assert_eq!(link.values(), []);
    link.wait(NANO);
    assert_eq!((link.values().len(), link.datagrams - before), (10, 1));
    let mut qos = link.writer.qos().clone();
    qos.endpoint.latency_budget = Duration::ZERO;
    link.writer.set_qos(link.now, qos).unwrap();
    link.write(1, 1).unwrap();
    link.exchange();
    assert_eq!(link.values(), [Some(1)]);
}

#[test]
fn timestamps_and_related_samples_travel() {
    let mut link = Link::connected(|_, _| {});
    let related = Some((reader_guid(), SequenceNumber(7)));
    let source_timestamp = Some(Timestamp::from_nanos(123_456_789));
    let options = WriteOptions { source_timestamp, related, ..WriteOptions::default() };
    link.write(1, 0).unwrap();
    let number = link.writer.write(link.now, Body::Copy(&data(1, 1)), &options).unwrap();
    link.writer.dispose(link.now, InstanceOf::Handle(handle(1)), None).unwrap();
    link.wait(ms(10));
    let infos: Vec<_> = link.take().iter().map(|sample| sample.info).collect();
    assert_eq!(infos[1].source_timestamp, Timestamp::from_nanos(123_456_789));
    assert_eq!(infos.iter().map(|info| info.related).collect::<Vec<_>>(), [None, related, None]);
    let numbers = [1, 2, 3].map(SequenceNumber);
    assert_eq!(
        (number, infos.iter().map(|info| info.sequence_number).collect()),
        (numbers[1], numbers.to_vec())
    );
}

#[test]
fn matches_are_levels() {
    let mut link = Link::connected(|_, _| {});
    let status = link.writer.publication_matched();
    assert_eq!((status.total.count, status.current.count), (1, 1));
    assert_eq!(status.last_endpoint, Some(reader_guid().into()));
    link.connect();
    assert_eq!(link.writer.publication_matched().total.change, 0, "new paths are no new match");
    assert_eq!(link.writer.subscriptions().count(), 1);
    assert!(link.writer.unmatch_subscription(link.now, reader_guid()));
    assert!(!link.writer.unmatch_subscription(link.now, reader_guid()));
    let status = link.writer.publication_matched();
    assert_eq!((status.total.count, status.current.count, status.current.change), (1, 0, -1));
}

#[test]
fn a_full_reader_stops_the_writer_and_nothing_is_lost() {
    let mut link = Link::connected(|qos, reader| {
        qos.endpoint.resource_limits.max_samples = Some(5);
        reader.endpoint.resource_limits.max_samples = Some(4);
    });
    let mut written = 0;
    while written < 100 {
        match link.write(written % 2, written) {
            Ok(_) => written += 1,
            Err(WriteError::Blocked(_)) => break,
            Err(other) => panic!("{other}"),
        }
        link.wait(ms(50));
    }
    assert_eq!(written, 9, "four in the reader, five in the writer");
    assert_eq!(link.reader.sample_rejected().total.count, 1);
    let mut values = Vec::new();
    while values.len() < 60 {
        values.extend(link.values().into_iter().flatten());
        link.wait(ms(200));
        if link.write(written % 2, written).is_ok() {
            written += 1;
        }
        link.wait(ms(200));
    }
    values.sort_unstable();
    assert_eq!(values, (0..values.len() as u32).collect::<Vec<_>>());
    assert_eq!(link.reader.sample_lost().total.count, 0);
}

#[test]
fn incompatible_readers_are_counted_by_policy() {
    use rtps::discovery::{Mismatch, PolicyId};
    use wire::qos::ReliabilityKind;
    let mut link = Link::connected(|_, _| {});
    link.writer.not_matched(&[Mismatch::Topic { writer: "a".to_owned(), reader: "b".to_owned() }]);
    assert!(!link.writer.status_changes().intersects(StatusMask::OFFERED_INCOMPATIBLE_QOS));
    let (offered, requested) = (ReliabilityKind::BestEffort, ReliabilityKind::Reliable);
    link.writer.not_matched(&[Mismatch::Reliability { offered, requested }]);
    assert!(link.writer.status_changes().intersects(StatusMask::OFFERED_INCOMPATIBLE_QOS));
    let status = link.writer.offered_incompatible_qos();
    assert_eq!((status.total.count, status.last_policy), (1, Some(PolicyId::RELIABILITY)));
    assert_eq!(link.writer.offered_incompatible_qos().total.change, 0);
}
