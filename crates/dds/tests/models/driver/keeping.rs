//! Whoever wants to be called at a time is called then, although the thread that keeps the time sleeps for longer.
use std::sync::Arc;

use models::atomic::AtomicBool;
use models::atomic::Ordering::SeqCst;
use models::{Mutex, thread};
use wire::Instant;

use super::clock;
use super::timer::{Due, Timer};
use crate::alarm::RINGS;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Who wants to be called when.
struct Engine {
    timer: Timer,
    due: Mutex<Vec<u64>>,
}

impl Engine {
    fn new() -> Arc<Self> {
        Arc::new(Self { timer: Timer::new().unwrap(), due: Mutex::default() })
    }

    /// Something has to be done at that time.
    fn add(&self, nanos: u64) {
        self.due.lock().unwrap().push(nanos);
        self.timer.wish(at(nanos));
    }

    /// Keeps the time until so many things were done.
    fn keep(self: &Arc<Self>, mut count: usize) -> thread::JoinHandle<()> {
        let engine = Arc::clone(self);
        thread::spawn(move || {
            while count > 0 {
                if engine.timer.next(Instant::NEVER, &[]) != Due::Engine {
                    continue;
                }
                let now = clock::monotonic().as_nanos();
                let mut due = engine.due.lock().unwrap();
                let before = due.len();
                due.retain(|nanos| *nanos > now);
                count -= before - due.len();
                let next = due.iter().min().copied();
                drop(due);
                next.iter().for_each(|next| engine.timer.wish(at(*next)));
            }
        })
    }
}

#[test]
fn wishes_are_granted_in_time_whoever_wishes_when() {
    models::check(2, || {
        let engine = Engine::new();
        let keeper = engine.keep(2);
        let other = Arc::clone(&engine);
        let other = thread::spawn(move || other.add(10));
        engine.add(20);
        other.join().unwrap();
        models::time::advance(10);
        models::time::advance(20);
        keeper.join().unwrap();
    });
}

#[test]
fn a_wish_that_comes_while_another_one_is_granted_is_granted_too() {
    models::check(2, || {
        let engine = Engine::new();
        engine.add(5);
        let keeper = engine.keep(2);
        let time = thread::spawn(|| models::time::advance(5));
        engine.add(10);
        time.join().unwrap();
        models::time::advance(10);
        keeper.join().unwrap();
    });
}

#[test]
fn a_later_wish_wakes_nobody() {
    models::check(3, || {
        let engine = Engine::new();
        engine.add(5);
        let keeper = engine.keep(2);
        let rings = RINGS.get();
        engine.add(10);
        assert_eq!(RINGS.get(), rings);
        models::time::advance(10);
        keeper.join().unwrap();
    });
}

#[test]
fn a_reader_and_a_full_socket_wake_the_keeper() {
    models::check(3, || {
        let timer = Arc::new(Timer::new().unwrap());
        let keeper = thread::spawn({
            let timer = Arc::clone(&timer);
            move || {
                while timer.next(Instant::NEVER, &[]) != Due::Reader {}
                while timer.next(at(20), &[]) != Due::Limit {}
            }
        });
        assert_eq!(timer.set_reader(at(10)), Instant::NEVER);
        timer.wait_for_room();
        models::time::advance(10);
        models::time::advance(20);
        keeper.join().unwrap();
    });
}

#[test]
fn who_closes_wakes_the_keeper_for_good() {
    models::check(3, || {
        let timer = Arc::new(Timer::new().unwrap());
        let closing = Arc::new(AtomicBool::new(false));
        let keeper = thread::spawn({
            let (timer, closing) = (Arc::clone(&timer), Arc::clone(&closing));
            move || {
                while !closing.load(SeqCst) {
                    timer.next(Instant::NEVER, &[]);
                }
            }
        });
        closing.store(true, SeqCst);
        timer.close();
        keeper.join().unwrap();
    });
}
