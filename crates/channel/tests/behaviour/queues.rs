//! Queues: each rule for a full one, the order of deliveries, batches.
use channel::{
    Batch, ConsumerSettings, Full, Gather, Order, Queue, Refused, Run, Share, Signal, Tree, Window, Worker,
};

use super::{Desk, of, short};

fn desk(depth: u16, full: Full, order: Order) -> Desk {
    let queue = Queue { depth, full, order };
    Desk::new(&Tree::Everything, ConsumerSettings { queue, ..ConsumerSettings::default() })
}

/// What is left of these events, as type, priority and deadline, in a queue of three.
fn left(full: Full, events: &[(u32, u8, Option<u64>)]) -> Vec<i64> {
    let mut desk = desk(3, full, Order::Fifo);
    for (kind, priority, deadline) in events {
        desk.push(*kind, *priority, *deadline).unwrap();
    }
    let counts = desk.channel.counts(desk.consumer).unwrap();
    assert_eq!((counts.queued, counts.dropped), (events.len() as u64, events.len() as u64 - 3));
    desk.taken().into_iter().flatten().collect()
}

#[test]
fn what_gives_way() {
    let plain = [(1, 0, None), (2, 0, None), (3, 0, None), (4, 0, None)];
    assert_eq!(left(Full::DropOldest, &plain), [20, 30, 40]);
    assert_eq!(left(Full::DropNewest, &plain), [10, 20, 30]);

    let low_in_the_middle = [(1, 5, None), (2, 1, None), (3, 1, None), (4, 3, None)];
    assert_eq!(left(Full::DropLowestPriority, &low_in_the_middle), [15, 31, 43]);
    let new_is_as_low = [(1, 5, None), (2, 1, None), (3, 1, None), (4, 1, None)];
    assert_eq!(left(Full::DropLowestPriority, &new_is_as_low), [15, 31, 41]);
    let new_is_lowest = [(1, 5, None), (2, 1, None), (3, 1, None), (4, 0, None)];
    assert_eq!(left(Full::DropLowestPriority, &new_is_lowest), [15, 21, 31]);

    let late_in_the_middle = [(1, 0, Some(5)), (2, 0, Some(90)), (3, 0, Some(90)), (4, 0, Some(7))];
    assert_eq!(left(Full::DropLatestDeadline, &late_in_the_middle), [10, 30, 40]);
    let new_is_latest = [(1, 0, Some(5)), (2, 0, Some(90)), (3, 0, Some(90)), (4, 0, None)];
    assert_eq!(left(Full::DropLatestDeadline, &new_is_latest), [10, 20, 30]);

    let same_type = [(1, 0, None), (2, 1, None), (2, 2, None), (2, 3, None)];
    assert_eq!(left(Full::Coalesce, &same_type), [10, 22, 23]);
    assert_eq!(left(Full::Coalesce, &plain), [20, 30, 40]);
}

#[test]
fn a_publisher_waits_and_is_told_of_room() {
    let mut desk = desk(1, Full::Block { limit: 100 }, Order::Fifo);
    let bystander = desk.channel.subscribe(0, &Tree::Everything, ConsumerSettings::default()).unwrap();
    desk.channel.suspend_consumer(0, bystander, true);
    desk.push(1, 0, None).unwrap();
    desk.now = 5;
    let refused = Refused::Wait { consumer: desk.consumer, until: 105 };
    assert_eq!(desk.push(2, 0, None), Err(refused));
    assert_eq!(desk.channel.waiting(bystander), Some(1), "a consumer that has room has not got it either");
    while desk.channel.poll_signal().is_some() {}
    assert_eq!(desk.taken(), [[10]]);
    assert_eq!(desk.channel.poll_signal(), Some(Signal::Room(desk.publisher)));
    assert_eq!(desk.push(2, 0, None), Ok(1));
    // An event that the consumer does not want passes.
    desk.channel.change_tree(5, desk.consumer, &of(2)).unwrap();
    assert!(desk.push(3, 0, None).is_ok());
    assert_eq!(desk.push(2, 0, None), Err(Refused::Wait { consumer: desk.consumer, until: 105 }));
    while desk.channel.poll_signal().is_some() {}
    desk.channel.unsubscribe(desk.consumer);
    assert!(
        std::iter::from_fn(|| desk.channel.poll_signal()).any(|said| said == Signal::Room(desk.publisher))
    );
}

#[test]
fn a_publisher_is_refused() {
    let mut desk = desk(1, Full::Reject, Order::Fifo);
    desk.push(1, 0, None).unwrap();
    assert_eq!(desk.push(2, 0, None), Err(Refused::Full(desk.consumer)));
    while desk.channel.poll_signal().is_some() {}
    assert_eq!(desk.taken(), [[10]]);
    assert_eq!(desk.channel.poll_signal(), None, "it was not told to wait");
}

#[test]
fn what_a_changed_tree_owes_is_not_lost_in_a_full_queue() {
    let queue = Queue { depth: 1, full: Full::Reject, order: Order::Fifo };
    let join = Tree::Join { parts: vec![of(1), of(2)], keep: channel::Keep::All(9), within: None };
    let tree = Tree::Any(vec![of(3), join]);
    let mut desk = Desk::new(&tree, ConsumerSettings { queue, ..ConsumerSettings::default() });
    for kind in [1, 1, 3] {
        desk.push(kind, 0, None).unwrap();
    }
    desk.channel.change_tree(0, desk.consumer, &Tree::Everything).unwrap();
    assert_eq!(desk.taken(), [[30], [10], [10]]);
}

#[test]
fn the_order_of_deliveries() {
    let events = [(1, 2, Some(30)), (2, 7, None), (3, 2, Some(10)), (4, 7, Some(30))];
    let orders = [
        (Order::Fifo, [12, 27, 32, 47]),
        (Order::Priority, [27, 47, 12, 32]),
        (Order::Deadline, [32, 12, 47, 27]),
    ];
    for (order, expected) in orders {
        let mut desk = desk(9, Full::DropOldest, order);
        for (kind, priority, deadline) in events {
            desk.push(kind, priority, deadline).unwrap();
        }
        assert_eq!(desk.taken().into_iter().flatten().collect::<Vec<_>>(), expected, "{order:?}");
    }
}

#[test]
fn new_settings_reorder_and_shorten_a_queue() {
    let mut desk = desk(9, Full::DropOldest, Order::Fifo);
    for (kind, priority) in [(1, 1), (2, 9), (3, 5), (4, 0)] {
        desk.push(kind, priority, None).unwrap();
    }
    let settings = |depth, full| {
        let queue = Queue { depth, full, order: Order::Priority };
        ConsumerSettings { queue, ..ConsumerSettings::default() }
    };
    desk.channel.change_settings(0, desk.consumer, settings(3, Full::DropLowestPriority));
    desk.channel.change_settings(0, desk.consumer, settings(1, Full::Reject));
    assert_eq!(desk.taken(), [[29], [35], [11]]);
    assert_eq!(desk.channel.counts(desk.consumer).unwrap().dropped, 1);
}

#[test]
fn batches_come_together_or_in_time() {
    let gather = Gather { most: 3, wait: 10 };
    let mut desk = Desk::new(&Tree::Everything, ConsumerSettings { gather, ..ConsumerSettings::default() });
    let mut batch = Batch::new();
    let mut take = |desk: &mut Desk| {
        let consumer = desk.channel.take(desk.now, Worker::Publisher, &mut batch)?;
        desk.channel.done(desk.now, consumer);
        Some(batch.deliveries().map(|delivery| short(delivery)[0]).collect::<Vec<_>>())
    };
    for kind in 1..=2 {
        desk.push(kind, 0, None).unwrap();
    }
    assert_eq!(take(&mut desk), None);
    assert_eq!(desk.channel.next_tick(), Some(10));
    for kind in 3..=4 {
        desk.push(kind, 0, None).unwrap();
    }
    assert_eq!(take(&mut desk), Some(vec![10, 20, 30]));
    assert_eq!(take(&mut desk), None);
    desk.now = 10;
    assert_eq!(take(&mut desk), Some(vec![40]));
}

#[test]
fn events_are_pushed_several_at_once_until_one_is_refused() {
    let mut desk = desk(2, Full::Reject, Order::Fifo);
    let event = |kind| (channel::Header { kind, ..Default::default() }, super::Body(kind.into()));
    let told = desk.channel.push_all(0, desk.publisher, &[event(1), event(2), event(3), event(4)]);
    assert_eq!(told, Err((2, Refused::Full(desk.consumer))));
    assert_eq!(desk.taken(), [[1], [2]]);
    assert_eq!(desk.channel.push_all(0, desk.publisher, &[event(5), event(6)]), Ok(()));
}

#[test]
fn a_run_takes_in_the_order_in_which_single_takes_would() {
    let mut desk = desk(4, Full::DropOldest, Order::Fifo);
    let second = desk.channel.subscribe(0, &Tree::Everything, ConsumerSettings::default()).unwrap();
    let watched = ConsumerSettings { patience: Some(5), ..ConsumerSettings::default() };
    let watched = desk.channel.subscribe(0, &of(2), watched).unwrap();
    let by_priority = Queue { order: Order::Priority, ..ConsumerSettings::default().queue };
    let by_priority = ConsumerSettings { queue: by_priority, ..ConsumerSettings::default() };
    let by_priority = desk.channel.subscribe(0, &of(3), by_priority).unwrap();
    (1..=3).for_each(|kind| assert!(desk.push(kind, 0, None).is_ok()));
    let run = |desk: &mut Desk| {
        let (mut run, mut batch, mut all) = (Run::new(), Batch::new(), vec![]);
        while let Some(consumer) = desk.channel.take_next(0, Worker::Publisher, &mut run, &mut batch) {
            all.push((consumer, batch.deliveries().flat_map(short).collect::<Vec<_>>()));
        }
        all.iter().for_each(|(consumer, _)| desk.channel.done(0, *consumer));
        all
    };
    let first = desk.consumer;
    // The next one is for the first consumer again, which is not done yet.
    assert_eq!(run(&mut desk), [(first, vec![10]), (second, vec![10])]);
    // A consumer that is watched is neither behind others nor before them.
    assert_eq!(run(&mut desk), [(first, vec![20]), (second, vec![20])]);
    assert_eq!(run(&mut desk), [(watched, vec![20])]);
    // Something more important may come before its turn.
    assert_eq!(run(&mut desk), [(first, vec![30]), (second, vec![30])]);
    assert_eq!(run(&mut desk), [(by_priority, vec![30])]);
    assert_eq!(run(&mut desk), []);
}

#[test]
fn events_wait_for_their_start_and_are_dropped_from_their_stop_on() {
    let window = Window { start: 10, stop: Some(30) };
    let mut desk = Desk::new(&Tree::Everything, ConsumerSettings { window, ..ConsumerSettings::default() });
    let push = |desk: &mut Desk, now: u64, created: u64, number: i64| {
        let header = channel::Header { created, ..Default::default() };
        desk.now = now;
        desk.channel.push(now, desk.publisher, &header, &super::Body(number)).unwrap();
    };
    push(&mut desk, 0, 0, 1);
    assert_eq!((desk.taken(), desk.channel.next_tick()), (vec![], Some(10)));
    // One that was made sooner may be delivered sooner, although it was pushed later.
    push(&mut desk, 12, 8, 2);
    push(&mut desk, 12, 1, 3);
    assert_eq!(desk.taken(), [[1], [3]]);
    assert_eq!((desk.channel.waiting(desk.consumer), desk.channel.next_tick()), (Some(1), Some(18)));
    while desk.channel.poll_signal().is_some() {}
    desk.channel.tick(18);
    assert_eq!(desk.channel.poll_signal(), Some(Signal::Work(Worker::Publisher)));
    desk.channel.tick(37);
    assert_eq!(desk.channel.waiting(desk.consumer), Some(1));
    desk.channel.tick(38);
    assert_eq!(desk.channel.waiting(desk.consumer), Some(0));
    // Too late when it comes.
    push(&mut desk, 40, 10, 4);
    assert_eq!((desk.taken(), desk.channel.waiting(desk.consumer)), (vec![], Some(0)));
    assert_eq!(desk.channel.counts(desk.consumer).map(|counts| (counts.late, counts.queued)), Some((2, 3)));
}

#[test]
fn consumers_with_room_in_common_have_no_more_together() {
    let settings = |full| {
        let queue = Queue { depth: 9, full, order: Order::Fifo };
        ConsumerSettings { queue, share: Some(Share { number: 7, most: 3 }), ..ConsumerSettings::default() }
    };
    let mut desk = Desk::new(&of(1), settings(Full::DropOldest));
    let second = desk.channel.subscribe(0, &Tree::Everything, settings(Full::Reject)).unwrap();
    let waiting = |desk: &Desk| (desk.channel.waiting(desk.consumer), desk.channel.waiting(second));
    desk.push(1, 0, None).unwrap();
    assert_eq!(waiting(&desk), (Some(1), Some(1)));
    // Both would want it, and one more has room.
    assert_eq!(desk.push(1, 0, None), Err(Refused::Full(second)));
    desk.push(2, 0, None).unwrap();
    assert_eq!(waiting(&desk), (Some(1), Some(2)));
    assert_eq!(desk.push(2, 0, None), Err(Refused::Full(second)));
    // Alone, the first one has what it drops.
    desk.channel.unsubscribe(second);
    (0..5).for_each(|_| assert!(desk.push(1, 0, None).is_ok()));
    assert_eq!(waiting(&desk), (Some(3), None));
    assert_eq!(desk.channel.counts(desk.consumer).map(|counts| counts.dropped), Some(3));
}

#[test]
fn what_is_given_back_waits_where_it_waited() {
    let mut desk = desk(2, Full::DropOldest, Order::Fifo);
    (1..=2).for_each(|kind| assert!(desk.push(kind, 0, None).is_ok()));
    let mut batch = Batch::new();
    assert_eq!(desk.channel.take(0, Worker::Publisher, &mut batch), Some(desk.consumer));
    desk.push(3, 0, None).unwrap();
    desk.channel.give_back(0, desk.consumer, &mut batch);
    assert_eq!(desk.channel.counts(desk.consumer).unwrap().taken, 0);
    assert_eq!(desk.channel.waiting(desk.consumer), Some(3), "nothing is lost");
    assert_eq!(desk.taken(), [[10], [20], [30]]);
}
