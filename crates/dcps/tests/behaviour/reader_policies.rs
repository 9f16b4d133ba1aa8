//! What each policy does to received samples, at the boundary and just past it.

use crate::desk::{Desk, handle, ms, value, writer};
use dcps::reader::{DropReason, Request};
use dcps::status::{RejectedReason, StatusMask};
use rtps::reader::Accept;
use wire::Duration;
use wire::qos::{DestinationOrder, History, Ownership, Reliability};

const NANO: Duration = Duration::from_nanos(1);

#[test]
fn keep_last_replaces_the_oldest_of_the_same_instance_alone() {
    let mut desk = Desk::new(|qos| qos.endpoint.history = History::KeepLast(2));
    desk.write(1, 7, 0);
    for value in 1..=2 {
        desk.write(1, 8, value);
    }
    assert_eq!(desk.dropped(DropReason::Replaced), 0);
    desk.write(1, 8, 3);
    assert_eq!(desk.dropped(DropReason::Replaced), 1);
    assert_eq!(desk.reader.dropped(DropReason::Replaced).last.unwrap().0, writer(1));
    assert_eq!(desk.values(), [Some(0), Some(2), Some(3)]);
}

#[test]
fn keep_all_refuses_at_the_limit_and_resumes_when_there_is_room() {
    let mut desk = Desk::new(|qos| qos.endpoint.resource_limits.max_samples_per_instance = Some(2));
    assert_eq!([1, 2].map(|value| desk.write(1, 7, value)), [Accept::Taken; 2]);
    assert_eq!(desk.write(1, 7, 3), Accept::Full);
    assert_eq!(desk.write(1, 7, 3), Accept::Full, "it is offered again");
    assert_eq!(desk.write(2, 8, 9), Accept::Taken, "another instance has room");
    assert!(!desk.reader.wants_resume());
    let status = desk.reader.sample_rejected();
    assert_eq!((status.total.count, status.total.change), (1, 1));
    assert_eq!(status.last_reason, Some(RejectedReason::SamplesPerInstance));
    assert_eq!(status.last_instance, Some(handle(7)));
    assert_eq!(desk.reader.sample_rejected().total.change, 0);
    desk.access(&Request::READ);
    assert!(!desk.reader.wants_resume(), "reading makes no room");
    desk.access(&Request { max: 1, ..Request::TAKE });
    assert!(desk.reader.wants_resume() && !desk.reader.wants_resume());
    assert_eq!(desk.write(1, 7, 3), Accept::Taken);
    assert_eq!(desk.dropped(DropReason::SamplesPerInstance), 0, "nothing was lost");
}

#[test]
fn best_effort_loses_what_finds_no_room() {
    let mut desk = Desk::new(|qos| {
        qos.endpoint.reliability = Reliability::BEST_EFFORT;
        qos.endpoint.resource_limits.max_samples = Some(2);
    });
    for id in 1..=2 {
        desk.write(1, id, id);
    }
    assert_eq!(desk.reader.status_changes() & StatusMask::SAMPLE_REJECTED, StatusMask::NONE);
    assert_eq!(desk.write(1, 3, 3), Accept::Taken);
    assert_eq!(desk.dropped(DropReason::Samples), 1);
    let status = desk.reader.sample_rejected();
    assert_eq!((status.total.count, status.last_reason), (1, Some(RejectedReason::Samples)));
    assert_eq!(desk.values(), [Some(1), Some(2)]);
}

#[test]
fn instances_are_limited_and_ended_ones_make_room() {
    let mut desk = Desk::new(|qos| qos.endpoint.resource_limits.max_instances = Some(2));
    for id in 1..=2 {
        desk.write(1, id, id);
    }
    assert_eq!(desk.write(1, 3, 3), Accept::Taken);
    assert_eq!(desk.dropped(DropReason::Instances), 1);
    assert_eq!(desk.reader.sample_rejected().last_reason, Some(RejectedReason::Instances));
    desk.dispose(1, 1);
    desk.write(1, 3, 3);
    assert_eq!(desk.dropped(DropReason::Instances), 2, "samples of the disposed one were not taken yet");
    desk.take();
    desk.write(1, 3, 3);
    assert_eq!((desk.dropped(DropReason::Instances), desk.reader.instances()), (2, 2));
    assert_eq!(desk.values(), [Some(3)]);
}

#[test]
fn a_flood_of_instances_stays_within_the_octets() {
    let mut desk = Desk::new(|qos| {
        qos.endpoint.reliability = Reliability::BEST_EFFORT;
        qos.byte_limit = 20_000;
    });
    for id in 0..10_000 {
        desk.write(1, id, id);
        assert!(desk.reader.held_bytes() <= 20_000);
    }
    let kept = desk.take().len() as u64;
    assert!(kept > 20);
    assert_eq!(desk.dropped(DropReason::Samples), 10_000 - kept);
    assert_eq!(desk.reader.sample_rejected().total.count, 10_000 - kept);
}

#[test]
fn writers_and_ends_of_instances_count_towards_the_octets() {
    let mut desk = Desk::new(|qos| {
        qos.endpoint.reliability = Reliability::BEST_EFFORT;
        qos.byte_limit = 20_000;
    });
    for index in 4..=200 {
        desk.connect(index, |_| {});
    }
    // Many writers of few instances.
    for id in 0..4 {
        for index in 1..=200 {
            desk.write(index, id, 1);
            desk.take();
            assert!(desk.reader.held_bytes() <= 20_000);
        }
    }
    let refused = desk.dropped(DropReason::Samples);
    assert!(refused > 400, "{refused} of 800 registrations found no room");
    let instances = desk.reader.instances();
    for index in 1..=200 {
        assert!(desk.reader.unmatch_publication(desk.now, writer(index)));
        assert!(desk.reader.held_bytes() <= 20_000);
    }
    assert_eq!(desk.values(), vec![None; instances], "every end is told");
    assert_eq!((desk.reader.instances(), desk.reader.held_bytes()), (0, 0), "nothing is left behind");
    // Few writers of many instances, all of which end at once.
    desk.connect(1, |_| {});
    for id in 0..1_000 {
        desk.write(1, id, 1);
    }
    // The last instance may have found room, and its sample not.
    let (instances, samples) = (desk.reader.instances(), desk.reader.samples());
    assert!(samples + 1 >= instances);
    desk.reader.unmatch_publication(desk.now, writer(1));
    assert!(instances > 10 && desk.reader.held_bytes() <= 20_000);
    assert_eq!(desk.take().len(), samples + instances);
}

#[test]
fn whatever_the_limit_no_instance_is_left_without_writers() {
    for limit in 1_024..2_500 {
        let mut desk = Desk::new(|qos| {
            qos.endpoint.reliability = Reliability::BEST_EFFORT;
            qos.byte_limit = limit;
        });
        for id in 0..5 {
            desk.write(1, id, 1);
        }
        desk.reader.unmatch_publication(desk.now, writer(1));
        desk.take();
        assert_eq!((desk.reader.instances(), desk.reader.held_bytes()), (0, 0), "limit {limit}");
    }
}

#[test]
fn the_least_byte_limit_holds_a_sample() {
    let mut desk = Desk::new(|qos| qos.byte_limit = 1_024);
    desk.write(1, 7, 1);
    desk.dispose(1, 7);
    assert_eq!(desk.values(), [Some(1), None]);
}

#[test]
fn a_sample_that_never_fits_is_not_waited_for() {
    let mut desk = Desk::new(|qos| qos.byte_limit = 1_024);
    let mut large = crate::desk::data(1, 1);
    large.resize(2_000, 0);
    let now = desk.now.wall;
    assert_eq!(desk.put(1, Default::default(), false, &large, Some(now)), Accept::Taken);
    assert_eq!(desk.dropped(DropReason::TooLarge), 1);
}

#[test]
fn the_strongest_writer_owns_an_instance() {
    let mut desk = Desk::new(|qos| qos.endpoint.ownership = Ownership::Exclusive);
    desk.write(1, 7, 1);
    desk.write(3, 7, 3);
    desk.write(2, 7, 2);
    desk.write(2, 8, 20);
    assert_eq!(desk.values(), [Some(1), Some(3), Some(20)], "ownership is per instance");
    assert_eq!(desk.dropped(DropReason::Ownership), 1);
    // The owner leaves by each of its ways.
    desk.reader.set_liveliness(desk.now, writer(3), false);
    desk.write(1, 7, 1);
    assert_eq!(desk.values(), [Some(1)]);
    desk.reader.set_liveliness(desk.now, writer(3), true);
    desk.write(3, 7, 3);
    desk.write(1, 7, 1);
    assert_eq!(desk.values(), [Some(3)]);
    desk.unregister(3, 7);
    desk.write(1, 7, 1);
    assert_eq!(desk.values(), [Some(1)]);
    desk.write(3, 7, 3);
    desk.reader.unmatch_publication(desk.now, writer(3));
    desk.write(1, 7, 1);
    assert_eq!(desk.values(), [Some(3), Some(1)]);
}

#[test]
fn equally_strong_writers_are_told_apart_alike_everywhere() {
    let mut desk = Desk::new(|qos| qos.endpoint.ownership = Ownership::Exclusive);
    desk.connect(2, |publication| publication.ownership_strength = 1);
    desk.write(2, 7, 2);
    desk.write(1, 7, 1);
    desk.write(2, 7, 2);
    assert_eq!(desk.values(), [Some(2), Some(1)]);
    desk.connect(2, |publication| publication.ownership_strength = 2);
    desk.write(2, 7, 2);
    assert_eq!(desk.values(), [Some(2)], "strength may change");
}

#[test]
fn only_the_owner_disposes() {
    let mut desk = Desk::new(|qos| qos.endpoint.ownership = Ownership::Exclusive);
    desk.write(2, 7, 2);
    desk.dispose(1, 7);
    assert_eq!((desk.values(), desk.dropped(DropReason::Ownership)), (vec![Some(2)], 1));
    desk.dispose(2, 7);
    assert_eq!(desk.values(), [None]);
}

#[test]
fn an_owner_that_misses_its_deadline_hands_over() {
    let mut desk = Desk::new(|qos| {
        qos.endpoint.ownership = Ownership::Exclusive;
        qos.endpoint.deadline = ms(100);
    });
    desk.write(3, 7, 3);
    desk.wait(ms(100));
    desk.write(1, 7, 1);
    assert_eq!(desk.values(), [Some(3), Some(1)]);
}

#[test]
fn the_filter_separates_samples_and_lets_the_last_one_through() {
    let mut desk = Desk::new(|qos| qos.endpoint.time_based_filter = ms(100));
    desk.write(1, 7, 0);
    desk.write(1, 8, 80);
    desk.wait(ms(50));
    desk.write(1, 7, 1);
    desk.wait(ms(49));
    desk.write(1, 7, 2);
    assert_eq!(desk.values(), [Some(0), Some(80)]);
    desk.wait(Duration::from_nanos(999_999));
    assert_eq!(desk.values(), []);
    desk.wait(NANO);
    assert_eq!(desk.values(), [Some(2)], "nothing new was written: the last sample comes");
    assert_eq!(desk.dropped(DropReason::Filtered), 1);
    desk.wait(ms(100));
    desk.write(1, 7, 3);
    assert_eq!(desk.values(), [Some(3)]);
}

#[test]
fn without_a_filter_nothing_comes_too_soon() {
    let mut desk = Desk::new(|_| {});
    desk.wait(ms(1));
    desk.write(1, 7, 0);
    // Another thread has read the clock before, and comes to the reader after that.
    desk.now.monotonic = wire::Instant::from_nanos(desk.now.monotonic.as_nanos() - 1);
    desk.write(1, 7, 1);
    assert_eq!(desk.values(), [Some(0), Some(1)]);
    assert_eq!(desk.dropped(DropReason::Filtered), 0);
}

#[test]
fn best_effort_readers_lose_what_the_filter_takes_out() {
    let mut desk = Desk::new(|qos| {
        qos.endpoint.reliability = Reliability::BEST_EFFORT;
        qos.endpoint.time_based_filter = ms(100);
    });
    desk.write(1, 7, 0);
    desk.wait(Duration::from_nanos(99_999_999));
    desk.write(1, 7, 1);
    desk.wait(NANO);
    desk.write(1, 7, 2);
    assert_eq!(desk.values(), [Some(0), Some(2)]);
    assert_eq!(desk.dropped(DropReason::Filtered), 1);
}

#[test]
fn order_by_source_timestamp() {
    let by_source = |qos: &mut dcps::qos::DataReaderQos| {
        qos.endpoint.destination_order = DestinationOrder::BySourceTimestamp
    };
    let mut desk = Desk::new(by_source);
    for (from, at) in [(1, 300), (2, 100), (1, 200)] {
        desk.write_at(from, 7, at as u32, at);
    }
    assert_eq!(desk.values(), [Some(100), Some(200), Some(300)]);
    desk.write_at(2, 7, 299, 299);
    desk.write_at(2, 7, 301, 301);
    assert_eq!(desk.values(), [Some(301)], "nothing older comes after what was taken");
    assert_eq!(desk.dropped(DropReason::OutOfOrder), 1);
    let mut desk = Desk::new(|qos| {
        by_source(qos);
        qos.endpoint.history = History::KeepLast(2);
    });
    for at in [300, 200, 100, 400] {
        desk.write_at(1, 7, at as u32, at);
    }
    assert_eq!(desk.values(), [Some(300), Some(400)]);
    let mut desk = Desk::new(|_| {});
    desk.write_at(1, 7, 300, 300);
    desk.write_at(2, 7, 100, 100);
    assert_eq!(desk.values(), [Some(300), Some(100)], "by reception");
}

#[test]
fn a_dispose_counts_with_its_source_timestamp() {
    let mut desk = Desk::new(|qos| qos.endpoint.destination_order = DestinationOrder::BySourceTimestamp);
    desk.write_at(1, 7, 1, 2_000);
    desk.dispose(2, 7); // It is 1,000 ms now.
    assert_eq!((desk.values(), desk.dropped(DropReason::OutOfOrder)), (vec![Some(1)], 1));
    desk.wait(ms(1_001));
    desk.dispose(2, 7);
    desk.write_at(1, 7, 3, 2_000);
    assert_eq!((desk.values(), desk.dropped(DropReason::OutOfOrder)), (vec![None], 2));
}

#[test]
fn samples_expire_by_the_wall_clock() {
    let mut desk = Desk::new(|_| {});
    desk.connect(1, |publication| publication.lifespan = ms(250));
    desk.write(1, 7, 1);
    desk.write(2, 7, 2);
    desk.wait(Duration::from_nanos(249_999_999));
    assert_eq!(desk.access(&Request::READ).len(), 2);
    desk.write(1, 7, 3);
    desk.wait(NANO);
    assert_eq!((desk.reader.samples(), desk.dropped(DropReason::Expired)), (2, 0), "it was read");
    desk.wait(ms(250));
    assert_eq!((desk.values(), desk.dropped(DropReason::Expired)), (vec![Some(2)], 1));
    let late = desk.now.wall.as_nanos() / 1_000_000 - 250;
    desk.write_at(1, 7, 4, late);
    assert_eq!(desk.reader.samples(), 0);
    assert_eq!(
        (desk.values(), desk.dropped(DropReason::Expired)),
        (vec![], 2),
        "it was too old when it came"
    );
    desk.write_at(1, 7, 5, late + 1);
    assert_eq!(desk.values(), [Some(5)]);
}

#[test]
fn expired_samples_are_not_handed_out_when_the_wall_clock_was_set() {
    let mut desk = Desk::new(|_| {});
    desk.connect(1, |publication| publication.lifespan = ms(250));
    desk.write(1, 7, 1);
    desk.now.wall = desk.now.wall.after(ms(250));
    assert!(!desk.reader.has_samples(desk.now, dcps::States::ANY));
    assert_eq!(desk.values(), []);
}

#[test]
fn deadlines_are_per_instance_and_counted_by_period() {
    let mut desk = Desk::new(|qos| qos.endpoint.deadline = ms(100));
    desk.write(1, 7, 1);
    desk.wait(ms(40));
    desk.write(1, 8, 1);
    desk.wait(Duration::from_nanos(59_999_999));
    assert!(!desk.reader.status_changes().intersects(StatusMask::REQUESTED_DEADLINE_MISSED));
    desk.wait(NANO);
    assert!(desk.reader.status_changes().intersects(StatusMask::REQUESTED_DEADLINE_MISSED));
    let status = desk.reader.requested_deadline_missed();
    assert_eq!((status.total.count, status.last_instance), (1, Some(handle(7))));
    desk.write(1, 8, 2);
    desk.wait(ms(99));
    assert_eq!(desk.reader.requested_deadline_missed().total.count, 1);
    // One call after a long time counts every period.
    desk.now.monotonic = desk.now.monotonic.after(ms(1_000));
    desk.reader.on_timeout(desk.now);
    assert_eq!(desk.reader.requested_deadline_missed().total.count, 1 + 10 + 10);
}

#[test]
fn a_sample_that_is_handled_before_the_clock_does_not_hide_what_was_missed() {
    let mut desk = Desk::new(|qos| {
        qos.endpoint.deadline = ms(100);
        qos.endpoint.ownership = Ownership::Exclusive;
    });
    desk.write(2, 7, 1);
    desk.now.monotonic = desk.now.monotonic.after(ms(250));
    desk.write(1, 7, 2);
    assert_eq!(desk.reader.requested_deadline_missed().total.count, 2);
    assert_eq!(desk.values(), [Some(1), Some(2)], "the owner that missed its deadline has handed over");
}

#[test]
fn the_end_of_an_instance_does_not_hide_what_was_missed() {
    let ends: [fn(&mut Desk); 3] = [
        |desk| assert_eq!(desk.dispose(1, 7), Accept::Taken),
        |desk| desk.reader.set_liveliness(desk.now, writer(1), false),
        |desk| assert!(desk.reader.unmatch_publication(desk.now, writer(1))),
    ];
    for end in ends {
        let mut desk = Desk::new(|qos| qos.endpoint.deadline = ms(100));
        desk.write(1, 7, 1);
        desk.now.monotonic = desk.now.monotonic.after(ms(250));
        end(&mut desk);
        assert_eq!(desk.reader.requested_deadline_missed().total.count, 2);
    }
}

#[test]
fn ended_instances_miss_no_deadline() {
    let mut desk = Desk::new(|qos| qos.endpoint.deadline = ms(100));
    for id in 1..=3 {
        desk.write(1, id, 1);
    }
    desk.dispose(1, 1);
    desk.unregister(1, 2);
    desk.wait(ms(100));
    let status = desk.reader.requested_deadline_missed();
    assert_eq!((status.total.count, status.last_instance), (1, Some(handle(3))));
}

#[test]
fn a_new_deadline_begins_when_it_is_set() {
    let mut desk = Desk::new(|_| {});
    desk.write(1, 7, 1);
    desk.wait(ms(500));
    let mut qos = desk.reader.qos().clone();
    qos.endpoint.deadline = ms(100);
    desk.reader.set_qos(desk.now, qos).unwrap();
    desk.wait(ms(99));
    assert_eq!(desk.reader.requested_deadline_missed().total.count, 0);
    desk.wait(ms(1));
    assert_eq!(desk.reader.requested_deadline_missed().total.count, 1);
}

#[test]
fn ended_instances_are_purged_after_their_delay() {
    let mut desk = Desk::new(|qos| {
        qos.reader_data_lifecycle.autopurge_disposed_samples_delay = ms(100);
        qos.reader_data_lifecycle.autopurge_nowriter_samples_delay = ms(200);
    });
    for id in 1..=3 {
        desk.write(1, id, id);
    }
    desk.dispose(1, 1);
    desk.unregister(1, 2);
    desk.wait(Duration::from_nanos(99_999_999));
    assert_eq!(desk.reader.instances(), 3);
    desk.wait(NANO);
    assert_eq!((desk.reader.instances(), desk.dropped(DropReason::Purged)), (2, 1));
    desk.wait(ms(100));
    assert_eq!((desk.reader.instances(), desk.dropped(DropReason::Purged)), (1, 2));
    assert_eq!(desk.values(), [Some(3)]);
    desk.unregister(1, 3);
    desk.take();
    assert_eq!(
        desk.reader.held_bytes(),
        0,
        "those who had registered a purged instance are forgotten with it"
    );
}

#[test]
fn an_instance_that_is_alive_again_is_not_purged() {
    let mut desk = Desk::new(|qos| qos.reader_data_lifecycle.autopurge_disposed_samples_delay = ms(100));
    desk.write(1, 7, 1);
    desk.dispose(1, 7);
    desk.wait(ms(99));
    desk.write(1, 7, 2);
    desk.wait(ms(1_000));
    let values: Vec<_> = desk.take().iter().filter_map(value).collect();
    assert_eq!(values, [1, 2]);
}
