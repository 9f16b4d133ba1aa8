//! Policies that decide which samples arrive, when, and in which form: at the boundary and just past it.
use dcps::reader::DropReason;
use dds::qos::{
    DataReaderQos, DataRepresentation, DataWriterQos, DestinationOrder, Durability, History, Reliability,
};
use dds::status::RejectedReason;
use dds::{Duration, InstanceState, ReturnCode, States, Timestamp};

use crate::desk::Left;
use crate::fixture::*;

fn best_effort(qos: &mut DataReaderQos) {
    qos.endpoint.reliability = Reliability::BEST_EFFORT;
}

fn limits(samples: u32) -> impl FnOnce(&mut DataReaderQos) {
    move |qos| {
        qos.endpoint.resource_limits.max_samples = Some(samples);
        qos.endpoint.resource_limits.max_samples_per_instance = Some(samples);
    }
}

#[test]
fn reliable_readers_get_what_was_lost_on_the_way_and_others_do_not() {
    for seed in 1..6 {
        let (mut desk, here, there) = two();
        let writer = writer(&here, keep_all);
        let (reliable, other) = (reader(&there, |_| {}), reader(&there, best_effort));
        settle(&mut desk);
        desk.lose(200, seed);
        for value in 0..200 {
            writer.write(&reading(1, value)).unwrap();
            desk.run(millis(1));
        }
        desk.heal();
        writer.wait_for_acknowledgments(Duration::from_secs(10)).unwrap();
        assert_eq!(values(&reliable), (0..200).collect::<Vec<_>>());
        let got = values(&other);
        assert!(got.len() > 100 && got.len() < 200 && got.is_sorted(), "{} of 200", got.len());
        let lost = other.get_sample_lost_status().total.count;
        assert!(lost > 0 && lost <= 200 - got.len() as u64, "what is known to be lost is counted: {lost}");
        assert_eq!(reliable.get_sample_lost_status().total.count, 0);
    }
}

#[test]
fn reliable_readers_get_everything_across_a_blackout() {
    let (mut desk, here, there) = two();
    let (writer, reader) = (writer(&here, keep_all), reader(&there, |_| {}));
    settle(&mut desk);
    desk.black_out();
    for value in 0..50 {
        writer.write(&reading(1, value)).unwrap();
    }
    desk.run(Duration::from_secs(5));
    assert_eq!(values(&reader), [0; 0]);
    desk.heal();
    desk.run(Duration::from_secs(5));
    assert_eq!(values(&reader), (0..50).collect::<Vec<_>>());
}

#[test]
fn keep_last_replaces_the_oldest_of_the_same_instance() {
    let (mut desk, here, there) = two();
    let depth = |qos: &mut DataReaderQos| qos.endpoint.history = History::KeepLast(2);
    let (writer, reader) = (writer(&here, keep_all), reader(&there, depth));
    settle(&mut desk);
    for (sensor, value) in [(1, 1), (2, 20), (1, 2)] {
        writer.write(&reading(sensor, value)).unwrap();
    }
    desk.run(millis(1));
    assert_eq!(reader.dropped(DropReason::Replaced).count, 0, "two fit");
    writer.write(&reading(1, 3)).unwrap();
    desk.run(millis(1));
    let mut all = values(&reader);
    all.sort_unstable();
    assert_eq!(all, [2, 3, 20], "the third takes the place of the first, the other instance stays");
    assert_eq!(reader.dropped(DropReason::Replaced).count, 1);
}

#[test]
fn keep_last_of_a_writer_holds_the_newest_for_those_who_missed_them() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| qos.endpoint.history = History::KeepLast(2));
    let reader = reader(&there, |_| {});
    settle(&mut desk);
    desk.black_out();
    for value in 0..5 {
        writer.write(&reading(1, value)).unwrap();
    }
    desk.run(millis(100));
    desk.heal();
    desk.run(Duration::from_secs(1));
    assert_eq!(values(&reader), [3, 4]);
    assert_eq!(reader.get_sample_lost_status().total.count, 3);
}

#[test]
fn a_full_reliable_reader_stops_the_writer_and_gets_all_when_there_is_room() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, keep_all);
    let reader = reader(&there, limits(3));
    settle(&mut desk);
    for value in 0..3 {
        writer.write(&reading(1, value)).unwrap();
    }
    desk.run(millis(100));
    writer.wait_for_acknowledgments(Duration::ZERO).unwrap();
    assert_eq!(reader.get_sample_rejected_status().total.count, 0, "three fit");
    writer.write(&reading(1, 3)).unwrap();
    desk.run(Duration::from_secs(1));
    let rejected = reader.get_sample_rejected_status();
    assert_eq!((rejected.total.count, rejected.last_reason), (1, Some(RejectedReason::SamplesPerInstance)));
    assert_eq!(writer.wait_for_acknowledgments(Duration::ZERO).unwrap_err().code, ReturnCode::Timeout);
    assert_eq!(values(&reader), [0, 1, 2]);
    desk.run(Duration::from_secs(1));
    assert_eq!(values(&reader), [3]);
    writer.wait_for_acknowledgments(Duration::ZERO).unwrap();
    assert_eq!(reader.get_sample_lost_status().total.count, 0);
}

#[test]
fn a_full_best_effort_reader_refuses_and_counts() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, keep_all);
    let reader = reader(&there, |qos| {
        best_effort(qos);
        qos.endpoint.resource_limits.max_instances = Some(2);
        qos.endpoint.resource_limits.max_samples = Some(3);
        qos.endpoint.resource_limits.max_samples_per_instance = Some(2);
    });
    settle(&mut desk);
    let mut refused = |sensor| {
        writer.write(&reading(sensor, 1)).unwrap();
        desk.run(millis(1));
        let status = reader.get_sample_rejected_status();
        (status.total.change > 0).then(|| status.last_reason.unwrap())
    };
    assert_eq!([refused(1), refused(1)], [None; 2]);
    assert_eq!(refused(1), Some(RejectedReason::SamplesPerInstance));
    assert_eq!(refused(2), None);
    assert_eq!(refused(2), Some(RejectedReason::Samples));
    assert_eq!(refused(3), Some(RejectedReason::Instances));
    assert_eq!(reader.dropped(DropReason::Instances).count, 1);
}

#[test]
fn a_writer_at_its_limits_refuses_or_waits() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| {
        keep_all(qos);
        qos.endpoint.resource_limits.max_instances = Some(2);
        qos.endpoint.resource_limits.max_samples = Some(3);
        qos.endpoint.resource_limits.max_samples_per_instance = Some(2);
        qos.endpoint.reliability.max_blocking_time = millis(50);
    });
    let _reader = reader(&there, |_| {});
    settle(&mut desk);
    desk.black_out();
    let start = desk.now().monotonic;
    let write = |sensor| writer.write(&reading(sensor, 1)).map(drop).map_err(|error| error.code);
    assert_eq!([write(1), write(1)], [Ok(()); 2]);
    assert_eq!(write(3), Ok(()));
    assert_eq!(desk.now().monotonic, start, "none of them waited");
    assert_eq!(write(1), Err(ReturnCode::Timeout));
    assert_eq!(desk.now().monotonic.since(start), millis(50));
    assert_eq!(write(3), Err(ReturnCode::Timeout), "three in all");
    assert_eq!(write(4), Err(ReturnCode::OutOfResources), "a third instance");
}

#[test]
fn transient_local_writers_keep_history_for_late_readers_that_ask_for_it() {
    let (mut desk, here, there) = two();
    let durable = |qos: &mut DataWriterQos| {
        qos.endpoint.durability = Durability::TransientLocal;
        qos.endpoint.history = History::KeepLast(2);
    };
    let durable = writer(&here, durable);
    for value in 0..3 {
        durable.write(&reading(1, value)).unwrap();
    }
    desk.run(Duration::from_secs(60));
    // In one participant: what is sent to one of its readers is not for the other.
    let volatile = reader(&there, |_| {});
    let late = reader(&there, |qos| qos.endpoint.durability = Durability::TransientLocal);
    settle(&mut desk);
    assert_eq!(values(&late), [1, 2]);
    assert_eq!(values(&volatile), [0; 0]);
    durable.write(&reading(1, 3)).unwrap();
    desk.run(millis(1));
    assert_eq!((values(&late), values(&volatile)), (vec![3], vec![3]));
    // A volatile writer is not enough for who asks for history.
    let plain = writer(&here, |_| {});
    desk.run(millis(100));
    assert_eq!(late.get_requested_incompatible_qos_status().total.count, 1);
    assert_eq!(plain.get_publication_matched_status().current.count, 1, "the volatile one");
}

#[test]
fn what_ended_is_kept_for_late_readers_until_the_cleanup_delay_is_over() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| {
        qos.endpoint.durability = Durability::TransientLocal;
        qos.endpoint.durability_service.cleanup_delay = millis(500);
    });
    settle(&mut desk);
    writer.write(&reading(1, 1)).unwrap();
    writer.unregister_instance(&reading(1, 1)).unwrap();
    desk.run(millis(400));
    let durable = |qos: &mut DataReaderQos| qos.endpoint.durability = Durability::TransientLocal;
    let early = reader(&there, durable);
    desk.run(millis(50));
    let seen = early.take(9, States::ANY).unwrap();
    assert_eq!(seen.last().unwrap().info.instance_state, InstanceState::NotAliveDisposed);
    desk.run(Duration::from_secs(1));
    let late = reader(&there, durable);
    settle(&mut desk);
    assert_eq!(late.take(9, States::ANY).unwrap().len(), 0);
}

#[test]
fn samples_live_as_long_as_lifespan_says() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| {
        keep_all(qos);
        qos.endpoint.lifespan = millis(100);
        qos.endpoint.durability = Durability::TransientLocal;
    });
    let reader = reader(&there, |_| {});
    settle(&mut desk);
    writer.write(&reading(1, 1)).unwrap();
    desk.run(millis(99));
    assert!(reader.has_samples(States::ANY));
    desk.run(millis(1));
    assert!(!reader.has_samples(States::ANY));
    assert_eq!(values(&reader), [0; 0]);
    assert_eq!(reader.dropped(DropReason::Expired).count, 1);
    // What has expired in the writer is not there for late readers either; what comes too late is dropped.
    let late = crate::fixture::reader(&there, |qos| qos.endpoint.durability = Durability::TransientLocal);
    settle(&mut desk);
    assert_eq!(values(&late), [0; 0]);
    desk.delay(millis(100));
    writer.write(&reading(1, 2)).unwrap();
    desk.run(millis(300));
    assert_eq!(values(&reader), [0; 0]);
    assert_eq!(reader.dropped(DropReason::Expired).count, 2);
}

#[test]
fn the_filter_lets_one_sample_through_in_each_period_and_the_last() {
    let (mut desk, here, there) = two();
    let filter = |qos: &mut DataReaderQos| qos.endpoint.time_based_filter = millis(100);
    let writer = writer(&here, keep_all);
    let (reliable, other) = (
        reader(&there, filter),
        reader(&there, |qos| {
            best_effort(qos);
            filter(qos);
        }),
    );
    settle(&mut desk);
    let mut write = |sensor, value, after| {
        desk.run(millis(after));
        writer.write(&reading(sensor, value)).unwrap();
        desk.run(Duration::ZERO);
        (values(&reliable), values(&other))
    };
    assert_eq!(write(1, 1, 0), (vec![1], vec![1]));
    assert_eq!(write(1, 2, 99), (vec![], vec![]));
    assert_eq!(write(2, 20, 0), (vec![20], vec![20]), "each instance has its own period");
    // At the end of the period the one that was held back passes, or the next one where nothing is held back.
    assert_eq!(write(1, 3, 1), (vec![2], vec![3]));
    assert_eq!(write(1, 4, 50), (vec![], vec![]));
    desk.run(millis(50));
    assert_eq!(
        (values(&reliable), values(&other)),
        (vec![4], vec![]),
        "the last value reaches a reliable reader"
    );
}

#[test]
fn destination_order_by_source_is_that_of_writing() {
    let (mut desk, here, there) = two();
    let order = |qos: &mut DataWriterQos| {
        keep_all(qos);
        qos.endpoint.destination_order = DestinationOrder::BySourceTimestamp;
    };
    let (one, other) = (writer(&here, order), writer(&here, order));
    let by_source =
        reader(&there, |qos| qos.endpoint.destination_order = DestinationOrder::BySourceTimestamp);
    let by_reception = reader(&there, |_| {});
    settle(&mut desk);
    let at = |millis: i64| Timestamp::from_nanos(desk.now().wall.as_nanos() + millis * 1_000_000);
    let times = [at(30), at(10), at(20)];
    one.write_w_timestamp(&reading(1, 30), times[0]).unwrap();
    other.write_w_timestamp(&reading(1, 10), times[1]).unwrap();
    other.write_w_timestamp(&reading(1, 20), times[2]).unwrap();
    desk.run(millis(1));
    assert_eq!(values(&by_source), [10, 20, 30]);
    assert_eq!(values(&by_reception), [30, 10, 20]);
    other.write_w_timestamp(&reading(1, 25), Timestamp::from_nanos(times[2].as_nanos() + 1)).unwrap();
    desk.run(millis(1));
    assert_eq!(values(&by_source), [0; 0], "older than what was taken");
    assert_eq!(by_source.dropped(DropReason::OutOfOrder).count, 1);
}

/// The datagrams with a value, which is looked for in their bytes.
fn order_of(left: &[Left], values: &[i64]) -> Vec<i64> {
    let has = |left: &Left, value: i64| left.octets.windows(8).any(|octets| octets == value.to_le_bytes());
    left.iter().flat_map(|left| values.iter().copied().filter(|value| has(left, *value))).collect()
}

#[test]
fn of_several_writers_the_one_with_the_highest_priority_sends_first() {
    let (mut desk, here, there) = two();
    let priority = |priority| move |qos: &mut DataWriterQos| qos.endpoint.transport_priority = priority;
    let writers: Vec<_> = [8, 46, 0, 34, 46].map(|level| writer(&here, priority(level))).into();
    let _reader = reader(&there, |_| {});
    settle(&mut desk);
    let marks: Vec<i64> = (0..5).map(|index| 0x5a5a_0000_0000_0000 + index).collect();
    desk.fill_socket(0, true);
    for (writer, mark) in writers.iter().zip(&marks) {
        writer.write(&reading(1, *mark)).unwrap();
    }
    desk.record();
    desk.fill_socket(0, false);
    desk.run(millis(10));
    let left = desk.recorded();
    let order = order_of(&left, &marks);
    assert_eq!(order, [1, 4, 3, 0, 2].map(|index| marks[index]), "46, 46, 34, 8, 0");
    let classes: Vec<u8> = left
        .iter()
        .filter(|left| !order_of(&[(*left).clone()], &marks).is_empty())
        .map(|left| left.class)
        .collect();
    assert_eq!(classes, [46, 46, 34, 8, 0], "and each leaves with its DSCP");
}

#[test]
fn samples_wait_for_company_as_long_as_latency_budget_says() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| {
        keep_all(qos);
        qos.endpoint.latency_budget = millis(20);
    });
    let reader = reader(&there, |qos| qos.endpoint.latency_budget = millis(20));
    settle(&mut desk);
    desk.record();
    let marks: Vec<i64> = (0..4).map(|index| 0x5a5a_0000_0000_0000 + index).collect();
    writer.write(&reading(1, marks[0])).unwrap();
    desk.run(millis(10));
    writer.write(&reading(1, marks[1])).unwrap();
    desk.run(millis(9));
    assert_eq!(order_of(&desk.recorded(), &marks), [0; 0]);
    desk.run(millis(1));
    let left = desk.recorded();
    let with_data: Vec<_> =
        left.iter().filter(|left| !order_of(&[(*left).clone()], &marks).is_empty()).collect();
    assert_eq!(with_data.len(), 1, "both in one datagram, when the first has waited long enough");
    assert_eq!(values(&reader), marks[..2]);
    writer.write(&reading(1, marks[2])).unwrap();
    writer.flush().unwrap();
    desk.run(Duration::ZERO);
    assert_eq!(values(&reader), marks[2..3], "unless they are sent now");
    // A reader that cannot wait does not match.
    let hasty = crate::fixture::reader(&there, |qos| qos.endpoint.latency_budget = millis(19));
    desk.run(millis(100));
    assert_eq!(hasty.get_requested_incompatible_qos_status().total.count, 1);
}

#[test]
fn both_representations_are_read_and_the_first_is_written() {
    let (mut desk, here, there) = two();
    let representation =
        |list: Vec<DataRepresentation>| move |qos: &mut DataWriterQos| qos.endpoint.representation = list;
    let one = writer(&here, representation(vec![DataRepresentation::XCDR1]));
    let two = writer(&here, representation(vec![DataRepresentation::XCDR2, DataRepresentation::XCDR1]));
    let both = vec![DataRepresentation::XCDR1, DataRepresentation::XCDR2];
    let any = reader(&there, |qos| qos.endpoint.representation = both);
    let first = reader(&there, |qos| qos.endpoint.representation = vec![DataRepresentation::XCDR1]);
    let untouched = reader(&there, |_| {});
    settle(&mut desk);
    desk.record();
    let mark = 0x5a5a_0000_0000_0001;
    one.write(&reading(1, mark)).unwrap();
    let wide = desk.recorded();
    two.write(&reading(1, mark)).unwrap();
    let narrow = desk.recorded();
    // Version 1 aligns the value to eight bytes: key, four bytes of padding, value.
    let key_then = |left: &[Left], padding: &[u8]| {
        let octets = [&1_u32.to_le_bytes()[..], padding, &mark.to_le_bytes()].concat();
        left.iter().any(|left| left.octets.windows(octets.len()).any(|window| window == octets))
    };
    assert!(key_then(&wide, &[0; 4]) && !key_then(&wide, &[]));
    assert!(key_then(&narrow, &[]) && !key_then(&narrow, &[0; 4]));
    desk.run(millis(1));
    assert_eq!(values(&any), [mark, mark]);
    assert_eq!(values(&untouched), [mark, mark]);
    assert_eq!(untouched.get_requested_incompatible_qos_status().total.count, 0);
    assert_eq!(any.take(9, States::ANY).unwrap().len(), 0);
    assert_eq!(values(&first), [mark], "asked for version 1 alone");
    assert_eq!(first.get_requested_incompatible_qos_status().total.count, 1);
}
