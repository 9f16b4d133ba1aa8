//! The lock and the bell under every schedule of a few threads: the shipped files, on words and a kernel that are modelled.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code, unreachable_pub)]

#[path = "../../src/bell.rs"]
mod bell;
mod futex;
#[path = "../../src/lock.rs"]
mod lock;

mod sync {
    pub(crate) use models::atomic;
    pub(crate) use models::thread::yield_now as pause;

    pub(crate) const LEAST_LOOKS: u32 = 1;
    pub(crate) const MOST_LOOKS: u32 = 1;
}

use std::sync::Arc;
use std::time::Duration;

use bell::Bell;
use lock::{Lock, Refused};
use models::{Alone, thread};

#[test]
fn one_thread_at_a_time_and_each_sees_what_the_one_before_did() {
    models::check(3, || {
        futex::begin();
        let lock = Arc::new(Lock::new((0, Alone::new())));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let lock = Arc::clone(&lock);
                thread::spawn(move || {
                    let mut held = lock.lock().unwrap();
                    held.1.act();
                    held.0 += 1;
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(lock.lock().unwrap().0, 3);
    });
}

#[test]
fn who_gave_up_waiting_leaves_the_lock_usable() {
    models::check(4, || {
        futex::begin();
        let lock = Arc::new(Lock::new(Alone::new()));
        let other = Arc::clone(&lock);
        let holds = thread::spawn(move || {
            let held = other.lock().unwrap();
            held.act();
            models::time::advance(10);
            held.act();
        });
        match lock.lock_for(Duration::from_nanos(10)) {
            Ok(held) => held.act(),
            Err(refused) => assert_eq!(refused, Refused::Late),
        }
        holds.join().unwrap();
        lock.lock().unwrap().act();
    });
}

#[test]
fn two_locks_in_opposite_order_are_refused_to_one_of_both() {
    models::check(3, || {
        futex::begin();
        let locks = Arc::new((Lock::new(()), Lock::new(())));
        let other = Arc::clone(&locks);
        let thread = thread::spawn(move || {
            let _held = other.1.lock().unwrap();
            other.0.lock().map(drop)
        });
        let held = locks.0.lock().unwrap();
        let here = locks.1.lock().map(drop);
        drop(held);
        let there = thread.join().unwrap();
        assert!(here.is_ok() || there.is_ok());
        assert!([here, there].iter().all(|end| matches!(end, Ok(()) | Err(Refused::Circle))));
    });
}

#[test]
fn who_waits_for_a_bell_misses_no_ring_and_sees_what_was_done_before() {
    for looks in [0, 1] {
        models::check(4, move || {
            let shared = Arc::new(([Bell::new(), Bell::new()], [Alone::new(), Alone::new()]));
            let wait = move |bell: &Bell| {
                let mut looks_left = looks;
                let mut stays_awake = || {
                    looks_left -= 1;
                    looks_left >= 0
                };
                while !bell.wait(&mut stays_awake, || None) {}
            };
            let other = Arc::clone(&shared);
            let rings = thread::spawn(move || {
                let ([there, back], work) = &*other;
                for work in work {
                    work.act();
                    there.ring();
                    wait(back);
                    work.act();
                }
            });
            let ([there, back], work) = &*shared;
            for work in work {
                wait(there);
                work.act();
                back.ring();
            }
            rings.join().unwrap();
        });
    }
}
