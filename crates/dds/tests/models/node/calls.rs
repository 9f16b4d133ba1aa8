//! Callbacks: each status is told of, by one call at a time, and none after the callback was taken away.
use std::sync::Arc;

use dcps::status::StatusMask;
use models::atomic::Ordering::Relaxed;
use models::atomic::{AtomicBool, AtomicU32};
use models::{Alone, thread};

use super::watch::{Callback, Watch};
use super::work::Work;

const ONE: StatusMask = StatusMask::DATA_AVAILABLE;
const OTHER: StatusMask = StatusMask::SAMPLE_LOST;

/// A callback, and the statuses that it was called for.
fn callback(inside: impl Fn() + Send + Sync + 'static) -> (Callback, Arc<AtomicU32>) {
    let told = Arc::new(AtomicU32::new(0));
    let tell = Arc::clone(&told);
    // Two who are in it at once are found.
    let alone = Alone::new();
    let call = move |statuses: StatusMask| {
        alone.act();
        inside();
        tell.fetch_or(statuses.0, Relaxed);
    };
    (Arc::new(call), told)
}

fn set(watch: &Watch, callback: Option<Callback>) {
    let former = watch.set_callback(|| (StatusMask(ONE.0 | OTHER.0), callback));
    drop(former);
}

fn change(watch: &Arc<Watch>, status: StatusMask) {
    let mut work = Work::default();
    if status.0 == ONE.0 {
        watch.changed_last(status, &mut work);
    } else {
        watch.changed(status, &mut work);
    }
    work.settle();
}

#[test]
fn each_of_two_changes_is_told_of() {
    models::check(3, || {
        let watch = Arc::new(Watch::default());
        let (call, told) = callback(|| ());
        set(&watch, Some(call));
        let other = Arc::clone(&watch);
        let other = thread::spawn(move || change(&other, OTHER));
        change(&watch, ONE);
        other.join().unwrap();
        assert_eq!(told.load(Relaxed), ONE.0 | OTHER.0);
    });
}

#[test]
fn no_call_is_in_progress_or_follows_once_a_callback_was_taken_away_and_waited_for() {
    models::check(3, || {
        let watch = Arc::new(Watch::default());
        let gone = Arc::new(AtomicBool::new(false));
        let is_gone = Arc::clone(&gone);
        let (call, _) = callback(move || {
            thread::yield_now();
            assert!(!is_gone.load(Relaxed));
        });
        let weak = Arc::downgrade(&call);
        set(&watch, Some(call));
        let other = Arc::clone(&watch);
        let other = thread::spawn(move || change(&other, ONE));
        set(&watch, None);
        watch.wait_for_call();
        gone.store(true, Relaxed);
        // What it holds ends with it.
        let kept = weak.upgrade().is_some();
        other.join().unwrap();
        assert!(weak.upgrade().is_none(), "kept: {kept}");
    });
}
