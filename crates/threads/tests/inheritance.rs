//! What the kernel does with the lock.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::fs;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use threads::{Lock, Refused};

/// What the scheduler takes as the priority of a thread: -1 less the real-time priority (proc(5), stat, field 18).
fn effective(thread: i64) -> i64 {
    let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
    let behind = stat.rsplit_once(')').unwrap().1;
    behind.split_whitespace().nth(15).unwrap().parse().unwrap()
}

fn number() -> i64 {
    let link = fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

#[test]
fn who_holds_the_lock_runs_with_the_priority_of_who_waits() {
    let lock = Arc::new(Lock::new(()));
    let held = lock.lock().unwrap();
    if let Err(error) = thread::scope(|scope| scope.spawn(|| udp::thread::set_real_time(1)).join().unwrap()) {
        assert!(std::env::var_os("CI").is_none(), "needs the right to priorities: {error}");
        return eprintln!("passed over: {error}");
    }
    let holder = number();
    let before = effective(holder);
    assert!(before > 0, "the test's thread has a real-time priority already: {before}");
    let other = Arc::clone(&lock);
    let waits = thread::spawn(move || {
        udp::thread::set_real_time(30).unwrap();
        drop(other.lock().unwrap());
    });
    // It ends as soon as the other thread waits; without inheritance, never.
    let inherits = (0..12_000).any(|_| {
        thread::sleep(Duration::from_millis(5));
        effective(holder) == -31
    });
    assert!(inherits, "still {}", effective(holder));
    drop(held);
    assert_eq!(effective(holder), before);
    waits.join().unwrap();
}

#[test]
fn locks_that_cannot_be_had_are_refused() {
    let locks = Arc::new((Lock::new(()), Lock::new(())));
    let held = locks.0.lock().unwrap();
    assert_eq!(locks.0.lock().err(), Some(Refused::Mine));
    let (both, others) = (Arc::new(Barrier::new(2)), Arc::clone(&locks));
    let barrier = Arc::clone(&both);
    let (tell, ends) = channel();
    let thread = thread::spawn(move || {
        assert_eq!(others.0.lock_for(Duration::from_millis(1)).err(), Some(Refused::Late));
        let _held = others.1.lock().unwrap();
        barrier.wait();
        tell.send(others.0.lock().map(drop)).unwrap();
    });
    both.wait();
    let here = locks.1.lock().map(drop);
    drop(held);
    let there = ends.recv().unwrap();
    assert!(
        matches!((here, there), (Ok(()), Err(Refused::Circle)) | (Err(Refused::Circle), Ok(()))),
        "{here:?} {there:?}"
    );
    thread.join().unwrap();
    let leaked = Arc::clone(&locks);
    thread::spawn(move || std::mem::forget(leaked.0.lock().unwrap())).join().unwrap();
    assert_eq!(locks.0.lock().err(), Some(Refused::Abandoned));
}

#[test]
fn many_threads_count_without_losing_one() {
    let lock = Lock::new(0_u64);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20_000).for_each(|_| *lock.lock().unwrap() += 1));
        }
    });
    assert_eq!(*lock.lock().unwrap(), 80_000);
}

#[test]
fn a_panic_frees_the_lock() {
    let lock = Arc::new(Lock::new(1));
    let other = Arc::clone(&lock);
    let end = thread::spawn(move || {
        let _held = other.lock().unwrap();
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(end.join().is_err());
    assert_eq!(*lock.lock().unwrap(), 1);
}
