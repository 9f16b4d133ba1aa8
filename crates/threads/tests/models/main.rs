//! The lock under every schedule of a few threads: the shipped file, on a word and a kernel that are modelled.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code, unreachable_pub)]

mod futex;
#[path = "../../src/lock.rs"]
mod lock;

mod sync {
    pub(crate) use models::atomic;
}

use std::sync::Arc;
use std::time::Duration;

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
