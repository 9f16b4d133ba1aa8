//! Instances of a writer: registered, disposed, unregistered, cleaned up; and what tells readers of that.

use crate::link::{Link, data, handle, ms, value};
use dcps::writer::{InstanceOf, WriteError, WriteOptions};
use dcps::{InstanceState, ReturnCode};
use rtps::writer::Body;
use wire::message::{Message, Submessage};
use wire::parameter::{InlineQos, StatusInfo};
use wire::qos::Durability;

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, WriteError>, code: ReturnCode) {
    match result.unwrap_err() {
        WriteError::Refused(error) => assert_eq!(error.code, code, "{error}"),
        other => panic!("{other}"),
    }
}

fn transient_local(qos: &mut dcps::qos::DataWriterQos, reader: &mut dcps::qos::DataReaderQos) {
    qos.endpoint.durability = Durability::TransientLocal;
    reader.endpoint.durability = Durability::TransientLocal;
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
    for id in 1..=3 {
        link.write(id, id).unwrap();
    }
    for id in [1, 3] {
        link.writer.dispose(link.now, InstanceOf::Handle(handle(id)), None).unwrap();
    }
    link.write(3, 3).unwrap();
    for id in 1..=3 {
        link.writer.unregister_instance(link.now, InstanceOf::Handle(handle(id)), None).unwrap();
    }
    link.wait(ms(1_000));
    assert_eq!(link.writer.lookup_instance(&data(1, 0), false), Ok(None));
    for id in [2, 3] {
        let found = link.writer.lookup_instance(&data(id, 0), false);
        assert_eq!(found, Ok(Some(handle(id))), "it is not disposed, or not any more");
    }
}

/// A change as it left: whether its payload is a key, its bytes, and its inline QoS.
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
    // Eight bytes of key and header; see MIN_KEY_PAYLOAD for the rest.
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

#[test]
fn an_instance_that_is_disposed_again_is_cleaned_up_when_it_ends() {
    let mut link = Link::connected(|qos, reader| {
        transient_local(qos, reader);
        qos.endpoint.durability_service.cleanup_delay = ms(50);
    });
    link.write(1, 1).unwrap();
    link.writer.unregister_instance(link.now, InstanceOf::Handle(handle(1)), None).unwrap();
    link.writer.dispose(link.now, InstanceOf::Handle(handle(1)), None).unwrap();
    link.wait(ms(1_000));
    assert_eq!((link.writer.instances(), link.writer.held()), (1, 3));
    link.writer.unregister_instance(link.now, InstanceOf::Handle(handle(1)), None).unwrap();
    link.wait(ms(1_000));
    assert_eq!((link.writer.instances(), link.writer.held()), (0, 0));
}
