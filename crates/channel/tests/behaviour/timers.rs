//! Timeouts inside the tree.
use channel::{ConsumerSettings, Keep, Part, Tree, Worker};

use super::{Desk, of};

#[test]
fn periods_come_each_time_and_are_not_made_up_for() {
    let mut desk = Desk::new(&Tree::Every { period: 10, priority: 3 }, ConsumerSettings::default());
    assert_eq!(desk.channel.next_tick(), Some(10));
    for (now, expected) in [
        (9, vec![]),
        (10, vec![vec![-1]]),
        (19, vec![]),
        (45, vec![vec![-1]]),
        (49, vec![]),
        (50, vec![vec![-1]]),
    ] {
        desk.now = now;
        assert_eq!(desk.taken(), expected, "at {now}");
    }
    let mut batch = channel::Batch::new();
    assert!(desk.channel.take(61, Worker::Publisher, &mut batch).is_some());
    let told: Vec<_> = batch.deliveries().flatten().cloned().collect();
    assert_eq!(told, [Part::Timeout { timer: 0, at: 60, priority: 3 }]);
}

#[test]
fn one_timeout_comes_once() {
    let mut desk = Desk::new(&Tree::After { delay: 10, priority: 0 }, ConsumerSettings::default());
    desk.now = 1_000;
    assert_eq!(desk.taken(), [[-1]]);
    desk.now = 2_000;
    assert!(desk.taken().is_empty());
    assert_eq!(desk.channel.next_tick(), None);
}

#[test]
fn silence_is_told_once_until_something_comes() {
    let tree = Tree::Silence { of: Box::new(of(1)), after: 10, priority: 0 };
    let mut desk = Desk::new(&tree, ConsumerSettings::default());
    desk.now = 9;
    desk.push(1, 0, None).unwrap();
    desk.now = 18;
    desk.push(2, 0, None).unwrap();
    assert_eq!(desk.taken(), [[10]]);
    desk.now = 19;
    assert_eq!(desk.taken(), [[-1]]);
    desk.now = 1_000;
    assert!(desk.taken().is_empty());
    desk.push(1, 1, None).unwrap();
    assert_eq!(desk.taken(), [[11]]);
    desk.now = 1_010;
    assert_eq!(desk.taken(), [[-1]]);
}

#[test]
fn a_join_takes_timeouts_too() {
    let parts = vec![of(1), Tree::Every { period: 10, priority: 0 }];
    let tree = Tree::Join { parts, keep: Keep::Last, within: None };
    let mut desk = Desk::new(&tree, ConsumerSettings::default());
    desk.push(1, 0, None).unwrap();
    desk.push(1, 1, None).unwrap();
    desk.now = 10;
    assert_eq!(desk.taken(), [[11, -1]]);
    desk.now = 20;
    assert!(desk.taken().is_empty());
    desk.push(1, 2, None).unwrap();
    assert_eq!(desk.taken(), [[12, -1]]);
}

#[test]
fn silence_inside_an_alternative_watches_its_own_part_and_timers_are_numbered_as_written() {
    let silence = |kind| Tree::Silence { of: Box::new(of(kind)), after: 10, priority: 0 };
    let mut desk = Desk::new(&Tree::Any(vec![silence(1), silence(2)]), ConsumerSettings::default());
    desk.now = 5;
    desk.push(2, 0, None).unwrap();
    desk.now = 10;
    assert_eq!(desk.taken(), [[20], [-1]]);
    desk.now = 15;
    assert_eq!(desk.taken(), [[-2]]);
}

/// What rests wakes nothing; what was due meanwhile acts once, when the consumer goes on.
#[test]
fn timers_of_a_suspended_consumer_wait_until_it_goes_on() {
    let mut desk = Desk::new(&Tree::Every { period: 10, priority: 0 }, ConsumerSettings::default());
    desk.channel.suspend_consumer(5, desk.consumer, true);
    desk.channel.tick(1_004);
    assert_eq!((desk.channel.next_tick(), desk.channel.waiting(desk.consumer)), (None, Some(0)));
    desk.channel.suspend_consumer(1_005, desk.consumer, false);
    desk.now = 1_005;
    assert_eq!(desk.taken(), [[-1]]);
    assert_eq!(desk.channel.next_tick(), Some(1_010));
}

/// A join that has given up by the time of an event does not take it, whenever that is found.
#[test]
fn a_join_of_a_suspended_consumer_gives_up_before_an_event_that_comes_later() {
    let tree = Tree::Join { parts: vec![of(1), of(2)], keep: Keep::First, within: Some(10) };
    let mut desk = Desk::new(&tree, ConsumerSettings::default());
    desk.channel.suspend_consumer(0, desk.consumer, true);
    desk.push(1, 0, None).unwrap();
    assert_eq!(desk.channel.next_tick(), None);
    desk.now = 11;
    desk.push(2, 1, None).unwrap();
    assert_eq!(desk.channel.counts(desk.consumer).unwrap().expired, 1);
    desk.push(1, 2, None).unwrap();
    desk.channel.suspend_consumer(11, desk.consumer, false);
    assert_eq!(desk.taken(), [[12, 21]]);
}
