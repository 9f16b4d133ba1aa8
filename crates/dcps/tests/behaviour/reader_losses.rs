//! Samples that cannot reach the application: each is counted by its reason, and a status tells of those that no QoS keeps away.
use dcps::qos::{DataReaderQos, DataWriterQos, TopicQos};
use dcps::reader::DropReason;
use dcps::status::{RejectedReason, StatusMask};
use dcps::{InstanceState, SampleInfo};
use rtps::discovery::{Mismatch, compare};
use rtps::reader::{Accept, Sink, Unusable};
use wire::discovery::EndpointData;
use wire::parameter::{InlineQos, StatusInfo};
use wire::qos::{DataRepresentation, EndpointQos, History, Reliability};
use wire::{Duration, SequenceNumber};

use crate::desk::{Desk, data, key, ms, value, writer};

fn put(desk: &mut Desk, payload: &[u8]) -> Accept {
    let now = desk.now.wall;
    desk.put(1, InlineQos::default(), false, payload, Some(now))
}

#[test]
fn what_cannot_be_read_is_lost_with_its_reason() {
    let mut desk = Desk::new(|_| {});
    desk.reader.take_status_news();
    // The second byte of the encapsulation: PL_CDR2 for a type that is appendable, and none that there is.
    for (encapsulation, reason) in [
        ([0, 0x0b], DropReason::Encapsulation),
        ([0x77, 0x77], DropReason::Encapsulation),
        ([0, 1], DropReason::Malformed),
    ] {
        let mut payload = data(1, 1);
        payload[..2].copy_from_slice(&encapsulation);
        payload.truncate(if reason == DropReason::Malformed { 6 } else { payload.len() });
        let before = desk.dropped(reason);
        assert_eq!(put(&mut desk, &payload), Accept::Taken);
        assert_eq!(desk.dropped(reason), before + 1, "{encapsulation:?}");
        assert!(desk.reader.take_status_news().intersects(StatusMask::SAMPLE_LOST), "{encapsulation:?}");
        let lost = desk.reader.sample_lost();
        assert_eq!((lost.total.change, lost.last_reason), (1, Some(reason)), "{encapsulation:?}");
    }
    assert_eq!(put(&mut desk, &data(1, 5)), Accept::Taken);
    assert_eq!(desk.values(), [Some(5)]);
}

#[test]
fn a_sample_that_the_application_could_not_decode_is_lost_once() {
    let mut desk = Desk::new(|_| {});
    desk.write(1, 7, 1);
    let info: SampleInfo = desk.access(&dcps::reader::Request::READ)[0].info;
    let again: SampleInfo = desk.take()[0].info;
    for info in [info, again] {
        desk.reader.not_decoded(desk.now, &info, DropReason::Encapsulation);
    }
    assert_eq!(desk.dropped(DropReason::Encapsulation), 1);
    assert_eq!(desk.reader.sample_lost().total.count, 1);
    assert_eq!(desk.reader.dropped(DropReason::Encapsulation).last.map(|last| last.0), Some(writer(1)));
}

#[test]
fn a_sample_that_can_never_be_held_is_rejected_and_not_waited_for() {
    for waits in [false, true] {
        let mut desk = Desk::new(|qos| qos.byte_limit = 4_096);
        if waits {
            desk.write(1, 1, 1);
        }
        let mut large = data(1, 1);
        large.resize(5_000, 0);
        assert_eq!(put(&mut desk, &large), Accept::Taken);
        let rejected = desk.reader.sample_rejected();
        assert_eq!((rejected.total.count, rejected.last_reason), (1, Some(RejectedReason::SampleSize)));
        assert_eq!(desk.dropped(DropReason::TooLarge), 1);
        desk.write(1, 1, 2);
        assert_eq!(desk.values().len(), 1 + usize::from(waits));
    }
}

#[test]
fn what_the_protocol_cannot_take_is_told_by_the_reader() {
    let mut desk = Desk::new(|_| {});
    desk.reader.take_status_news();
    let (now, number) = (desk.now, SequenceNumber(1));
    let why = Unusable::TooLarge { size: 1 << 30, limit: 1 << 20 };
    desk.reader.sink(now).refused(writer(1), number, why);
    assert_eq!(desk.reader.sample_rejected().last_reason, Some(RejectedReason::SampleSize));
    assert_eq!(desk.reader.sample_lost().total.count, 0);
    let last = desk.reader.dropped(DropReason::TooLarge);
    assert_eq!((last.count, last.last), (1, Some((writer(1), number, now.wall))));
    desk.reader.sink(now).refused(writer(1), SequenceNumber(2), Unusable::InlineQos);
    assert_eq!(desk.reader.sample_lost().last_reason, Some(DropReason::Malformed));
    assert!(desk.reader.take_status_news().intersects(StatusMask::SAMPLE_LOST));
}

#[test]
fn what_policies_keep_away_is_no_loss() {
    let mut desk = Desk::new(|qos| {
        qos.endpoint.history = History::KeepLast(1);
        qos.endpoint.reliability = Reliability::BEST_EFFORT;
        qos.endpoint.time_based_filter = ms(100);
    });
    (1..=3).for_each(|number| {
        desk.write(1, 7, number);
    });
    assert_eq!(desk.dropped(DropReason::Filtered), 2);
    desk.wait(ms(100));
    desk.write(1, 7, 4);
    assert_eq!(desk.dropped(DropReason::Replaced), 1);
    assert_eq!(desk.reader.sample_lost().total.count, 0);
    assert_eq!(desk.reader.sample_rejected().total.count, 0);
}

#[test]
fn a_filter_without_room_for_what_waits_rejects_it() {
    let mut desk = Desk::new(|qos| {
        qos.endpoint.time_based_filter = ms(100);
        qos.endpoint.resource_limits.max_samples = Some(1);
        qos.endpoint.resource_limits.max_samples_per_instance = Some(1);
    });
    desk.write(1, 7, 1);
    desk.write(1, 7, 2);
    assert_eq!(desk.dropped(DropReason::Samples), 1);
    assert_eq!(desk.reader.sample_rejected().last_reason, Some(RejectedReason::Samples));
}

/// A value and the end of its instance in one DATA, as Cyclone DDS writes by `dds_writedispose`.
fn write_dispose(desk: &mut Desk, id: u32, number: u32, status_info: StatusInfo) -> Accept {
    let now = desk.now.wall;
    desk.put(1, InlineQos { status_info, ..InlineQos::default() }, false, &data(id, number), Some(now))
}

#[test]
fn a_value_that_disposes_is_delivered_and_its_instance_is_disposed() {
    for by_source in [false, true] {
        for depth in [1, 5] {
            let mut desk = Desk::new(|qos| {
                qos.endpoint.history = History::KeepLast(depth);
                if by_source {
                    qos.endpoint.destination_order = wire::qos::DestinationOrder::BySourceTimestamp;
                }
            });
            desk.wait(ms(1));
            write_dispose(&mut desk, 7, 1, StatusInfo::DISPOSED);
            let samples = desk.take();
            assert_eq!(samples.first().and_then(value), Some(1), "by source {by_source} depth {depth}");
            assert!(
                samples.iter().all(|sample| sample.info.instance_state == InstanceState::NotAliveDisposed)
            );
            desk.wait(ms(1));
            desk.write(1, 7, 2);
            assert_eq!(desk.state(7), Some(InstanceState::Alive));
            desk.take();
            desk.wait(ms(1));
            write_dispose(&mut desk, 7, 3, StatusInfo(StatusInfo::DISPOSED.0 | StatusInfo::UNREGISTERED.0));
            assert_eq!(desk.take().first().and_then(value), Some(3));
        }
    }
}

#[test]
fn a_value_that_disposes_waits_for_room_together_with_its_end() {
    let mut desk = Desk::new(|qos| {
        qos.endpoint.resource_limits.max_samples = Some(1);
        qos.endpoint.resource_limits.max_samples_per_instance = Some(1);
    });
    desk.write(1, 7, 1);
    assert_eq!(write_dispose(&mut desk, 7, 2, StatusInfo::DISPOSED), Accept::Full);
    assert_eq!(desk.state(7), Some(InstanceState::Alive));
    assert_eq!(desk.values(), [Some(1)]);
    assert_eq!(write_dispose(&mut desk, 7, 2, StatusInfo::DISPOSED), Accept::Taken);
    assert_eq!(desk.state(7), Some(InstanceState::NotAliveDisposed));
    assert_eq!(desk.values().first(), Some(&Some(2)));
    // A key alone stays what it was.
    desk.write(1, 8, 1);
    desk.take();
    let (now, status_info) = (desk.now.wall, StatusInfo::DISPOSED);
    desk.put(1, InlineQos { status_info, ..InlineQos::default() }, true, &key(8), Some(now));
    assert_eq!(desk.values(), [None]);
}

fn matches(writer: &DataWriterQos, reader: &DataReaderQos) -> Result<(), Vec<Mismatch>> {
    let data = |guid, qos: &EndpointQos| EndpointData::new(guid, "T".into(), "Reading".into(), qos.clone());
    let of_reader = data(crate::desk::reader(), &reader.endpoint);
    compare(&data(crate::desk::writer(1), &writer.endpoint), &of_reader)
}

#[test]
fn readers_take_both_representations_unless_they_say_otherwise() {
    let both = [DataRepresentation::XCDR1, DataRepresentation::XCDR2];
    let mut reader = DataReaderQos::default();
    assert_eq!(reader.endpoint.representation, both);
    reader.copy_from_topic_qos(&TopicQos::default());
    assert_eq!(reader.endpoint.representation, both, "a topic without a list says nothing");
    let mut writer = DataWriterQos::default();
    assert!(writer.endpoint.representation.is_empty(), "XCDR1");
    for list in [vec![], vec![DataRepresentation::XCDR1], vec![DataRepresentation::XCDR2]] {
        writer.endpoint.representation = list.clone();
        assert_eq!(matches(&writer, &reader), Ok(()), "{list:?}");
    }
    let topic = TopicQos { representation: vec![DataRepresentation::XCDR1], ..TopicQos::default() };
    reader.copy_from_topic_qos(&topic);
    assert_eq!(reader.endpoint.representation, [DataRepresentation::XCDR1]);
    assert!(matches(&writer, &reader).is_err());
}

#[test]
fn untouched_limits_hold_some_images() {
    const IMAGE: usize = 8 << 20;
    assert!(DataWriterQos::default().byte_limit >= 6 * IMAGE);
    assert!(DataReaderQos::default().byte_limit >= 6 * IMAGE);
    let mut desk = Desk::new(|_| {});
    for number in 0..6 {
        let mut image = data(7, number);
        image.resize(IMAGE, 0);
        assert_eq!(put(&mut desk, &image), Accept::Taken);
    }
    assert_eq!(desk.take().len(), 6);
    assert_eq!(desk.reader.sample_rejected().total.count, 0);
    assert!(desk.reader.held_bytes() < 4_096);
    desk.wait(Duration::from_secs(1));
}

#[test]
fn a_sample_that_was_refused_before_its_writer_was_lost_is_rejected_once() {
    for (is_lost, rejected) in [(true, 1), (false, 2)] {
        let mut desk = Desk::new(|qos| {
            qos.endpoint.resource_limits.max_samples = Some(1);
            qos.endpoint.resource_limits.max_samples_per_instance = Some(1);
        });
        desk.write(1, 7, 1);
        assert_eq!((desk.write(1, 7, 2), desk.write(1, 7, 2)), (Accept::Full, Accept::Full));
        match is_lost {
            true => assert!(desk.reader.lose_publication(desk.now, writer(1))),
            false => assert!(desk.reader.unmatch_publication(desk.now, writer(1))),
        }
        desk.connect(1, |_| {});
        assert_eq!(desk.write(1, 7, 2), Accept::Full);
        assert_eq!(desk.reader.sample_rejected().total.count, rejected);
        // Another one is another one.
        desk.take();
        assert_eq!((desk.write(1, 7, 2), desk.write(1, 7, 3)), (Accept::Taken, Accept::Full));
        assert_eq!(desk.reader.sample_rejected().total.count, rejected + 1);
        assert!(!desk.reader.lose_publication(desk.now, writer(9)));
    }
}
