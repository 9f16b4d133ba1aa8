//! What each policy does to a writer, seen by a reader behind the machines of RTPS; at the boundary and just past it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at once")]
mod link;

use dcps::reader::DropReason;
use dcps::status::StatusMask;
use dcps::writer::{Blocked, InstanceOf, Limit, WriteError, WriteOptions};
use dcps::{Error, InstanceState, ReturnCode};
use link::{Link, data, handle, ms, reader_guid, value};
use rtps::writer::Body;
use wire::message::{Message, Submessage};
use wire::parameter::{InlineQos, StatusInfo};
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
fn dispose_and_unregister_are_seen_with_autodispose_and_without() {
    for autodispose in [true, false] {
        let mut link = Link::connected(|qos, _| {
            qos.writer_data_lifecycle.autodispose_unregistered_instances = autodispose;
        });
        for id in 1..=3 {
            link.write(id, id).unwrap();
        }
        link.writer.dispose(link.now, InstanceOf::Handle(handle(1)), None).unwrap();
        link.writer.unregister_instance(link.now, InstanceOf::Sample(&data(2, 0)), None).unwrap();
        link.wait(ms(100));
        let samples = link.take();
        let state = |id| {
            let of = samples.iter().find(|sample| sample.info.instance_handle == handle(id));
            of.map(|sample| sample.info.instance_state)
        };
        assert_eq!(state(1), Some(InstanceState::NotAliveDisposed));
        let expected = match autodispose {
            true => InstanceState::NotAliveDisposed,
            false => InstanceState::NotAliveNoWriters,
        };
        assert_eq!(state(2), Some(expected));
        assert_eq!(state(3), Some(InstanceState::Alive));
        assert_eq!(link.writer.instances(), 2, "what is unregistered and acknowledged is forgotten");
    }
}

#[test]
fn a_disposed_instance_may_come_back() {
    let mut link = Link::connected(|_, _| {});
    link.write(1, 1).unwrap();
    link.writer.dispose(link.now, InstanceOf::Handle(handle(1)), None).unwrap();
    link.write(1, 2).unwrap();
    link.wait(ms(10));
    let last = link.take().pop().unwrap();
    assert_eq!((value(&last), last.info.disposed_generation_count), (Some(2), 1));
    link.writer.unregister_instance(link.now, InstanceOf::Handle(handle(1)), None).unwrap();
    link.write(1, 3).unwrap();
    link.wait(ms(10));
    assert_eq!(link.take().last().unwrap().info.instance_state, InstanceState::Alive);
}

#[test]
fn wrong_instances_are_refused() {
    let mut link = Link::connected(|_, _| {});
    let registered = link.writer.register_instance(link.now, &data(1, 0), false).unwrap();
    assert_eq!((registered, link.writer.instances()), (handle(1), 1));
    assert_eq!(link.writer.lookup_instance(&data(1, 5), false), Ok(Some(handle(1))));
    assert_eq!(link.writer.lookup_instance(&data(2, 5), false), Ok(None));
    let options = WriteOptions { instance: Some(handle(1)), ..WriteOptions::default() };
    refused(link.writer.write(link.now, Body::Copy(&data(2, 0)), &options), ReturnCode::PreconditionNotMet);
    assert!(link.writer.write(link.now, Body::Copy(&data(1, 0)), &options).is_ok());
    let broken = link.writer.write(link.now, Body::Copy(&[9, 9, 0, 0]), &WriteOptions::default());
    refused(broken, ReturnCode::BadParameter);
    let unknown = link.writer.dispose(link.now, InstanceOf::Handle(handle(9)), None);
    refused(unknown, ReturnCode::BadParameter);
    let never = link.writer.unregister_instance(link.now, InstanceOf::Sample(&data(9, 0)), None);
    refused(never, ReturnCode::PreconditionNotMet);
    link.writer.unregister_instance(link.now, InstanceOf::Handle(handle(1)), None).unwrap();
    let twice = link.writer.unregister_instance(link.now, InstanceOf::Sample(&data(1, 0)), None);
    refused(twice, ReturnCode::PreconditionNotMet);
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
    panic!("eight samples of 300 octets do not fit into 2,048");
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
fn an_ended_instance_is_cleaned_up_once_readers_know() {
    let mut link = Link::connected(|qos, reader| {
        transient_local(qos, reader);
        qos.endpoint.durability_service.cleanup_delay = ms(50);
    });
    link.write(1, 1).unwrap();
    link.write(2, 2).unwrap();
    link.exchange();
    link.cut = true;
    link.writer.unregister_instance(link.now, InstanceOf::Handle(handle(1)), None).unwrap();
    link.wait(ms(300));
    assert_eq!(link.writer.instances(), 2, "the reader does not know yet");
    link.cut = false;
    link.wait(ms(1_000));
    assert_eq!((link.writer.instances(), link.writer.held()), (1, 1));
    assert_eq!(link.take()[0].info.instance_state, InstanceState::NotAliveDisposed);
}

#[test]
fn an_instance_that_is_registered_again_is_not_cleaned_up() {
    for disposes in [true, false] {
        let mut link = Link::connected(|qos, reader| {
            transient_local(qos, reader);
            qos.endpoint.durability_service.cleanup_delay = ms(50);
        });
        let instance = InstanceOf::Handle(handle(1));
        link.write(1, 1).unwrap();
        link.writer.unregister_instance(link.now, instance, None).unwrap();
        if disposes {
            link.writer.dispose(link.now, instance, None).unwrap();
        } else {
            link.writer.register_instance(link.now, &data(1, 0), false).unwrap();
        }
        link.wait(ms(1_000));
        assert_eq!(link.writer.instances(), 1, "registered");
        link.writer.unregister_instance(link.now, instance, None).unwrap();
        link.wait(ms(50));
        assert_eq!((link.writer.instances(), link.writer.held()), (0, 0));
    }
}

#[test]
fn an_instance_that_was_disposed_before_it_was_unregistered_is_cleaned_up() {
    let mut link = Link::connected(|qos, reader| {
        transient_local(qos, reader);
        qos.writer_data_lifecycle.autodispose_unregistered_instances = false;
    });
    for id in 1..=2 {
        link.write(id, id).unwrap();
    }
    link.writer.dispose(link.now, InstanceOf::Handle(handle(1)), None).unwrap();
    for id in 1..=2 {
        link.writer.unregister_instance(link.now, InstanceOf::Handle(handle(id)), None).unwrap();
    }
    link.wait(ms(1_000));
    assert_eq!(link.writer.lookup_instance(&data(1, 0), false), Ok(None));
    assert_eq!(link.writer.lookup_instance(&data(2, 0), false), Ok(Some(handle(2))), "it is not disposed");
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

/// A change as it left: whether its payload is a key, its octets, and its inline QoS.
type Left = (bool, Vec<u8>, InlineQos);

/// Everything that is ready to leave.
fn leaving(link: &mut Link) -> Vec<Left> {
    let mut transmit = rtps::Transmit::new();
    let mut seen = Vec::new();
    while link.writer.rtps_mut().poll_transmit(link.now, &mut transmit) {
        let mut datagram = Vec::new();
        transmit.copy_to(&mut datagram);
        for submessage in Message::parse(&datagram).unwrap().submessages() {
            if let Submessage::Data(data) = submessage.unwrap() {
                let payload = data.payload.unwrap();
                let qos = data.inline_qos.as_ref().map(|list| InlineQos::read(list).unwrap());
                seen.push((payload.is_key, payload.bytes.to_vec(), qos.unwrap_or_default()));
            }
        }
    }
    seen
}

#[test]
fn dispose_carries_the_key_and_its_hash() {
    let mut link = Link::connected(|_, _| {});
    link.write(7, 1).unwrap();
    link.writer.dispose(link.now, InstanceOf::Handle(handle(7)), None).unwrap();
    let seen = leaving(&mut link);
    let [(false, sample, plain), (true, key, end)] = seen.as_slice() else { panic!("{seen:?}") };
    assert!(plain.is_empty());
    // Eight octets of key and header; see MIN_KEY_PAYLOAD for the rest.
    assert_eq!((sample.len(), key.len()), (12, 20));
    assert_eq!((key[4], &key[8..]), (7, &[0; 12][..]));
    assert_eq!((end.status_info, end.key_hash), (StatusInfo::DISPOSED, Some(handle(7).to_bytes())));
}

#[test]
fn keys_are_written_in_the_first_representation() {
    use wire::qos::DataRepresentation;
    let (xcdr1, xcdr2) = (DataRepresentation::XCDR1, DataRepresentation::XCDR2);
    // The type is appendable: encapsulation 1 is plain CDR, 9 delimited CDR of version 2.
    for (list, encapsulation) in [(vec![], 1), (vec![xcdr1, xcdr2], 1), (vec![xcdr2, xcdr1], 9)] {
        let mut link = Link::connected(|qos, _| qos.endpoint.representation.clone_from(&list));
        link.writer.dispose(link.now, InstanceOf::Sample(&data(7, 0)), None).unwrap();
        let seen = leaving(&mut link);
        assert_eq!((seen.len(), &seen[0].1[..2]), (1, &[0, encapsulation][..]), "{list:?}");
    }
}
