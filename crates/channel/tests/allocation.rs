//! What events take from the heap: nothing, once queues, joins and batches have been as full as they get.
#![allow(clippy::unwrap_used)]
use channel::{
    Batch, Channel, ConsumerSettings, Dispatch, Full, Gather, Header, Keep, Limits, Order, PublisherSettings,
    Queue, Share, Tree, Window, Worker,
};
use filter::{Fields, Value};

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

#[derive(Clone)]
struct Body;

impl Fields for Body {
    fn value(&self, _: u32) -> Option<Value<'_>> {
        None
    }
}

#[test]
fn no_event_allocates_once_all_is_warm() {
    let of = |kind| Tree::Header { kind: Some(kind), source: None };
    let mut channel = Channel::new(Limits::default());
    let publisher = channel.add_publisher(0, PublisherSettings { patience: Some(1_000) });
    let join = Tree::Join { parts: vec![of(1), of(2)], keep: Keep::All(3), within: Some(50) };
    let trees = [
        Tree::Everything,
        join.clone(),
        Tree::Any(vec![join, Tree::Every { period: 7, priority: 1 }]),
        Tree::Silence { of: Box::new(of(3)), after: 9, priority: 2 },
    ];
    let policies = [
        Full::DropOldest,
        Full::DropNewest,
        Full::DropLowestPriority,
        Full::DropLatestDeadline,
        Full::Coalesce,
        Full::Block { limit: 5 },
        Full::Reject,
    ];
    let dispatches =
        [Dispatch::Publisher, Dispatch::Pool, Dispatch::Lane(1), Dispatch::Own, Dispatch::Deadline];
    let mut own = Vec::new();
    for (number, (tree, full)) in trees.iter().flat_map(|tree| policies.map(|full| (tree, full))).enumerate()
    {
        let order = [Order::Fifo, Order::Priority, Order::Deadline][number % 3];
        let settings = ConsumerSettings {
            dispatch: dispatches[number % 5],
            queue: Queue { depth: 4, full, order },
            gather: Gather { most: 2, wait: (number as u64 % 2) * 3 },
            is_parallel: number % 2 == 0,
            patience: Some(500),
            window: Window { start: (number as u64 % 2) * 2, stop: (number % 4 == 3).then_some(200) },
            share: (number % 5 == 0).then_some(Share { number: 1, most: 20 }),
        };
        own.push(channel.subscribe(0, tree, settings).unwrap());
    }
    let mut batch = Batch::new();
    let mut now = 0;
    let mut run = |rounds: u64| {
        let (mut refused, mut taken) = (0, 0);
        for round in 0..rounds {
            now += round % 5;
            let header = Header {
                kind: (round % 4) as u32,
                priority: (round % 3) as u8,
                deadline: (round % 2 == 0).then_some(now + round % 11),
                ..Header::default()
            };
            refused += u64::from(channel.push(now, publisher, &header, &Body).is_err());
            if round % 7 == 0 {
                let workers = [Worker::Publisher, Worker::Pool, Worker::Lane(1), Worker::Deadline];
                for worker in workers.into_iter().chain(own.iter().map(|consumer| Worker::Own(*consumer))) {
                    while let Some(consumer) = channel.take(now, worker, &mut batch) {
                        channel.done(now, consumer);
                        taken += 1;
                    }
                }
            }
            while channel.poll_signal().is_some() {}
        }
        (refused, taken)
    };
    run(10_000);
    let ((refused, taken), usage) = alloc_meter::measure(|| run(10_000));
    assert!(refused > 100 && taken > 1_000, "{refused} refused, {taken} taken");
    assert_eq!(usage.count, 0, "{usage:?}");
}
