//! A futex: threads sleep on a word as long as it has a value.
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::atomic::{AtomicU32, Ordering};
use crate::lock::{Mutex, Waiting};

/// Who sleeps on which word, behind the lock under which the kernel compares the word.
type Sleepers = Mutex<HashMap<usize, Vec<Arc<Waiting>>>>;

thread_local! {
    /// All threads of a model run on one thread of the system.
    static SLEEPERS: RefCell<Option<Rc<Sleepers>>> = const { RefCell::new(None) };
}

/// A new model begins.
pub(crate) fn begin() {
    SLEEPERS.set(Some(Rc::default()));
}

/// Sleeps until [`wake`] if the word has this value, however long that takes: a wake-up that is lost is found by that.
#[track_caller]
pub fn wait(word: &AtomicU32, value: u32, _limit: Duration) {
    let sleepers = sleepers();
    let mut sleepers = sleepers.lock().unwrap_or_else(|_| unreachable!());
    // What was stored before the last wake-up is seen because of the lock, whatever the order of the load.
    if word.load(Ordering::Relaxed) != value {
        return;
    }
    let waiting = Waiting::new(false);
    sleepers.entry(place(word)).or_default().push(Arc::clone(&waiting));
    drop(sleepers);
    waiting.sleep(None);
}

/// Wakes all that sleep on the word.
#[track_caller]
pub fn wake(word: &AtomicU32) {
    let sleepers = sleepers();
    let woken = sleepers.lock().unwrap_or_else(|_| unreachable!()).remove(&place(word));
    woken.iter().flatten().for_each(|waiting| waiting.wake());
}

fn place(word: &AtomicU32) -> usize {
    std::ptr::from_ref(word).addr()
}

fn sleepers() -> Rc<Sleepers> {
    SLEEPERS.with_borrow(Clone::clone).expect("there is a futex in models only")
}
