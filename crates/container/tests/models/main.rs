//! Workers of a lane under every schedule of a few threads: the shipped loop of a worker, and the channel's machine, on locks and
//! a bell that are modelled. The shipped bell has models of its own (`threads`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code, unreachable_pub)]

mod bell;
mod core;
#[path = "../../src/channel_service/duty.rs"]
mod duty;

mod sync {
    pub(crate) use models::atomic;
    pub(crate) use models::thread::{JoinHandle, ThreadId};

    pub(crate) use crate::bell::Bell;

    pub(crate) fn this_thread() -> ThreadId {
        models::thread::current().id()
    }
}

mod context {
    pub(crate) fn nanos(time: std::time::Duration) -> u64 {
        u64::try_from(time.as_nanos()).unwrap()
    }
}

mod policy {
    pub(crate) struct Threads {
        pub(crate) count: u16,
        pub(crate) spin: std::time::Duration,
    }
}

mod turn {
    pub(crate) fn run(act: impl FnOnce()) {
        act();
    }
}

mod hands {
    use channel::{Batch, ConsumerId};

    pub(crate) const AT_ONCE: usize = 8;

    /// What a worker has taken: of one consumer after the other.
    #[derive(Default)]
    pub(crate) struct Hands(pub(crate) Vec<(ConsumerId, Batch<crate::core::Body>)>);

    impl Hands {
        pub(crate) fn is_empty(&self) -> bool {
            self.0.is_empty()
        }
    }
}

use std::sync::Arc;
use std::time::Duration;

use channel::{Channel, ConsumerId, ConsumerSettings, Dispatch, Limits, Tree, Worker};
use models::thread;

use self::core::{Body, Core};
use self::duty::{Slot, work};
use self::policy::Threads;
use self::sync::Bell;
use self::sync::atomic::AtomicBool;
use self::sync::atomic::Ordering::Release;

/// The number of the lane that is served.
const LANE: u8 = 1;

fn subscribe(channel: &mut Channel<Body>, is_parallel: bool) -> ConsumerId {
    let settings = ConsumerSettings { dispatch: Dispatch::Lane(LANE), is_parallel, ..Default::default() };
    channel.subscribe(0, &Tree::Header { kind: None, source: None }, settings).unwrap()
}

/// So many events are pushed to these consumers while so many workers serve the lane. Each consumer handles each event once, one at a time and
/// in the order of the pushes unless it is parallel. If a wake were lost, all threads would sleep, which is a failure of the model.
fn every_event_once(workers: u16, consumers: &'static [bool], events: u64, preemptions: usize) {
    models::check(preemptions, move || {
        let mut channel = Channel::new(Limits::default());
        let publisher = channel.add_publisher(0, channel::PublisherSettings::default());
        let ids: Vec<_> = consumers.iter().map(|parallel| subscribe(&mut channel, *parallel)).collect();
        let core = Arc::new(Core::new(channel, ids.iter().copied().zip(consumers.iter().copied())));
        let started: Vec<_> = (0..workers)
            .map(|_| {
                let (bell, ends) = (Arc::new(Bell::new()), Arc::new(AtomicBool::new(false)));
                let (its_bell, ended) = (Arc::clone(&bell), Arc::clone(&ends));
                let served = Arc::downgrade(&core);
                // As in the container, no worker sees the channel before its slot is there.
                let mut inner = core.lock().unwrap();
                let handle = thread::spawn(move || {
                    let threads = Threads { count: workers, spin: Duration::ZERO };
                    work(&served, Worker::Lane(LANE), &threads, &its_bell, &ended);
                });
                inner.slots.push(Slot {
                    worker: Worker::Lane(LANE),
                    bell: Arc::clone(&bell),
                    thread: handle.thread().id(),
                    handle: None,
                    is_idle: false,
                    wakes_at: None,
                    is_over: false,
                    ends: Arc::clone(&ends),
                });
                drop(inner);
                (handle, bell, ends)
            })
            .collect();
        for event in 0..events {
            core.push(publisher, event);
        }
        let mut handled = core.wait_for(consumers.len() * usize::try_from(events).unwrap());
        for (handle, bell, ends) in started {
            ends.store(true, Release);
            bell.ring();
            handle.join().unwrap();
        }
        for (id, is_parallel) in ids.iter().zip(consumers) {
            let mut of_one: Vec<u64> =
                handled.extract_if(.., |(consumer, _)| consumer == id).map(|(_, event)| event).collect();
            if *is_parallel {
                of_one.sort_unstable();
            }
            assert_eq!(of_one, (0..events).collect::<Vec<_>>());
        }
        assert_eq!(handled, []);
    });
}

#[test]
fn one_worker_misses_no_event() {
    every_event_once(1, &[false], 2, 3);
}

#[test]
fn two_workers_share_a_consumer_that_is_served_one_by_one() {
    every_event_once(2, &[false], 2, 2);
}

#[test]
fn two_workers_share_a_parallel_consumer() {
    every_event_once(2, &[true], 2, 2);
}

#[test]
fn two_workers_share_two_consumers() {
    every_event_once(2, &[false, true], 1, 2);
}
