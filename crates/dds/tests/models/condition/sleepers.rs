//! Who sleeps until a condition changes is woken by who changes it.
use std::sync::Arc;

use models::atomic::AtomicU64;
use models::atomic::Ordering::SeqCst;
use models::thread;
use wire::Duration;

use super::signal::Signal;
use crate::node::watch::{Waiter as _, Watch};

/// Waits until the value is that, as a WaitSet does that may not receive.
fn wait(signal: &Signal, value: &AtomicU64, wanted: u64) {
    loop {
        let generation = signal.generation();
        if value.load(SeqCst) >= wanted {
            return;
        }
        signal.sleep(Duration::INFINITE, || signal.generation() != generation);
    }
}

#[test]
fn who_waits_is_woken_by_each_of_two_changes() {
    models::check(3, || {
        let (signal, value) = (Arc::new(Signal::default()), Arc::new(AtomicU64::new(0)));
        let changes: Vec<_> = (0..2)
            .map(|_| {
                let (signal, value) = (Arc::clone(&signal), Arc::clone(&value));
                thread::spawn(move || {
                    value.fetch_add(1, SeqCst);
                    signal.wake();
                })
            })
            .collect();
        wait(&signal, &value, 2);
        changes.into_iter().for_each(|change| change.join().unwrap());
    });
}

#[test]
fn who_is_attached_while_an_entity_changes_sees_the_change_or_is_woken() {
    models::check(3, || {
        let (signal, value) = (Arc::new(Signal::default()), Arc::new(AtomicU64::new(0)));
        let watch = Arc::new(Watch::default());
        let (entity, changed) = (Arc::clone(&watch), Arc::clone(&value));
        let change = thread::spawn(move || {
            changed.store(1, SeqCst);
            entity.wake_waiters();
        });
        let weak: std::sync::Weak<Signal> = Arc::downgrade(&signal);
        watch.attach(weak);
        wait(&signal, &value, 1);
        change.join().unwrap();
    });
}
