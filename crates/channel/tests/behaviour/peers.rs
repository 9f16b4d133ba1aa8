//! Which worker serves which consumer, suspended and silent peers, and names of peers that are gone.
use channel::{
    Batch, Channel, ConsumerSettings, Dispatch, Header, Limits, PublisherSettings, Refused, Signal, Tree,
    Worker,
};

use super::{Body, Desk};

fn served(dispatch: Dispatch) -> ConsumerSettings {
    ConsumerSettings { dispatch, ..ConsumerSettings::default() }
}

#[test]
fn each_worker_takes_what_is_its_own() {
    let mut desk = Desk::new(&Tree::Everything, served(Dispatch::Publisher));
    let pool =
        [(); 2].map(|()| desk.channel.subscribe(0, &Tree::Everything, served(Dispatch::Pool)).unwrap());
    let lane = desk.channel.subscribe(0, &Tree::Everything, served(Dispatch::Lane(3))).unwrap();
    let own = desk.channel.subscribe(0, &Tree::Everything, served(Dispatch::Own)).unwrap();
    while desk.channel.poll_signal().is_some() {}
    desk.push(1, 0, None).unwrap();
    let said: Vec<_> = std::iter::from_fn(|| desk.channel.poll_signal()).collect();
    let workers = [Worker::Publisher, Worker::Pool, Worker::Lane(3), Worker::Own(own)];
    assert_eq!(said, workers.map(Signal::Work));

    let have = |channel: &mut Channel<Body>| workers.map(|worker| channel.has_work(worker));
    assert_eq!(have(&mut desk.channel), [true; 4]);
    assert!(!desk.channel.has_work(Worker::Lane(2)));
    let mut batch = Batch::new();
    let mut take = |worker| desk.channel.take(0, worker, &mut batch);
    assert_eq!(take(Worker::Lane(2)), None);
    assert_eq!(take(Worker::Lane(3)), Some(lane));
    assert_eq!(take(Worker::Own(own)), Some(own));
    assert_eq!(take(Worker::Own(lane)), None);
    assert_eq!(
        [take(Worker::Pool), take(Worker::Pool), take(Worker::Pool)],
        [Some(pool[0]), Some(pool[1]), None]
    );
    assert_eq!(take(Worker::Publisher), Some(desk.consumer));
    assert_eq!(have(&mut desk.channel), [false; 4]);
}

#[test]
fn the_earliest_deadline_of_all_consumers_is_first() {
    let mut channel = Channel::new(Limits::default());
    let publisher = channel.add_publisher(0, PublisherSettings::default());
    let consumers =
        [1, 2, 3].map(|kind| channel.subscribe(0, &super::of(kind), served(Dispatch::Deadline)).unwrap());
    for (kind, deadline) in [(1, Some(50)), (2, None), (3, Some(20))] {
        let header = Header { kind, deadline, ..Header::default() };
        channel.push(0, publisher, &header, &Body(0)).unwrap();
    }
    let mut batch = Batch::new();
    let order = [(); 3].map(|()| channel.take(0, Worker::Deadline, &mut batch).unwrap());
    assert_eq!(order, [consumers[2], consumers[0], consumers[1]]);
}

#[test]
fn a_consumer_is_served_by_one_worker_at_a_time_unless_it_says_otherwise() {
    for (is_parallel, second) in [(false, false), (true, true)] {
        let settings = ConsumerSettings { is_parallel, ..served(Dispatch::Pool) };
        let mut desk = Desk::new(&Tree::Everything, settings);
        for kind in 1..=2 {
            desk.push(kind, 0, None).unwrap();
        }
        let mut batch = Batch::new();
        assert!(desk.channel.take(0, Worker::Pool, &mut batch).is_some());
        assert_eq!(desk.channel.take(0, Worker::Pool, &mut batch).is_some(), second);
        while desk.channel.poll_signal().is_some() {}
        desk.channel.done(0, desk.consumer);
        let said = desk.channel.poll_signal() == Some(Signal::Work(Worker::Pool));
        assert_eq!(said, !is_parallel, "the worker is told that there is more");
    }
}

#[test]
fn suspended_peers() {
    let mut desk = Desk::new(&Tree::Everything, ConsumerSettings::default());
    desk.channel.suspend_publisher(0, desk.publisher, true);
    assert_eq!(desk.push(1, 0, None), Err(Refused::Suspended));
    desk.channel.suspend_publisher(0, desk.publisher, false);
    desk.channel.suspend_consumer(0, desk.consumer, true);
    assert_eq!(desk.push(1, 0, None), Ok(0));
    assert!(desk.taken().is_empty());
    while desk.channel.poll_signal().is_some() {}
    desk.channel.suspend_consumer(0, desk.consumer, false);
    assert_eq!(desk.channel.poll_signal(), Some(Signal::Work(Worker::Publisher)));
    assert_eq!(desk.taken(), [[10]]);
}

#[test]
fn silent_peers_are_told_of_once() {
    let patience = Some(10);
    let mut desk = Desk::new(&Tree::Everything, ConsumerSettings { patience, ..ConsumerSettings::default() });
    let quiet = desk.channel.add_publisher(0, PublisherSettings { patience });
    let silent = |desk: &mut Desk, now| {
        desk.channel.tick(now);
        let said = std::iter::from_fn(|| desk.channel.poll_signal());
        said.filter(|said| !matches!(said, Signal::Work(_))).collect::<Vec<_>>()
    };
    desk.channel.push(5, quiet, &Header::default(), &Body(0)).unwrap();
    assert_eq!(silent(&mut desk, 14), []);
    assert_eq!(silent(&mut desk, 15), [Signal::SilentPublisher(quiet)]);
    assert_eq!(silent(&mut desk, 99), []);
    desk.channel.push(100, quiet, &Header::default(), &Body(0)).unwrap();
    desk.channel.suspend_publisher(100, quiet, true);
    assert_eq!(silent(&mut desk, 200), [], "it may not push");

    let mut batch = Batch::new();
    assert!(desk.channel.take(200, Worker::Publisher, &mut batch).is_some());
    assert_eq!(silent(&mut desk, 209), []);
    assert_eq!(silent(&mut desk, 210), [Signal::SilentConsumer(desk.consumer)]);
    desk.channel.done(220, desk.consumer);
    assert_eq!(silent(&mut desk, 999), [], "it has nothing to do");
}

#[test]
fn names_of_those_who_are_gone_mean_nothing() {
    let mut desk = Desk::new(&Tree::Everything, served(Dispatch::Publisher));
    desk.push(1, 0, None).unwrap();
    desk.channel.unsubscribe(desk.consumer);
    assert!(desk.taken().is_empty());
    let next = desk.channel.subscribe(0, &Tree::Everything, served(Dispatch::Publisher)).unwrap();
    assert_ne!(next, desk.consumer);
    desk.channel.suspend_consumer(0, desk.consumer, true);
    desk.channel.unsubscribe(desk.consumer);
    assert_eq!(desk.channel.counts(desk.consumer), None);
    desk.push(2, 0, None).unwrap();
    assert_eq!(desk.taken(), [[20]]);
    desk.channel.remove_publisher(desk.publisher);
    assert_eq!(desk.push(1, 0, None), Err(Refused::Unknown));
    let next = desk.channel.add_publisher(0, PublisherSettings::default());
    assert_ne!(next, desk.publisher);
    assert_eq!(desk.push(1, 0, None), Err(Refused::Unknown));
}

#[test]
fn time_does_not_run_backwards() {
    let mut desk = Desk::new(&Tree::Every { period: 10, priority: 0 }, ConsumerSettings::default());
    desk.channel.tick(10);
    desk.channel.tick(3);
    assert_eq!(desk.channel.next_tick(), Some(20));
}

#[test]
fn the_end_of_time_never_comes() {
    let tree =
        Tree::Any(vec![Tree::Every { period: 1, priority: 0 }, Tree::After { delay: u64::MAX, priority: 0 }]);
    let mut desk = Desk::new(&tree, ConsumerSettings::default());
    for _ in 0..3 {
        desk.channel.tick(u64::MAX);
    }
    assert_eq!(desk.channel.waiting(desk.consumer), Some(1));
    assert_eq!(desk.channel.next_tick(), None);
}
