//! Turns: what a thread does from the outermost handler on. Deliveries that are for the thread that pushes wait until the turn ends, because the
//! thread holds components meanwhile, and one of these may be the one that they are for.
use std::cell::{Cell, RefCell};
use std::sync::Arc;

use channel::Worker;

use crate::channel_service::Core;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static PUT_OFF: RefCell<Vec<Arc<Core>>> = const { RefCell::new(Vec::new()) };
}

/// Ends a turn also where a panic ends it.
struct Turn;

impl Drop for Turn {
    fn drop(&mut self) {
        if DEPTH.get() == 1 && !std::thread::panicking() {
            while let Some(core) = PUT_OFF.with_borrow_mut(Vec::pop) {
                core.serve(Worker::Publisher, usize::MAX);
            }
        }
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Does it as a turn, or as a part of the one that this thread is in.
pub(crate) fn run<R>(act: impl FnOnce() -> R) -> R {
    DEPTH.set(DEPTH.get() + 1);
    let _turn = Turn;
    act()
}

/// Whether this thread is in a turn.
pub(crate) fn is_within() -> bool {
    DEPTH.get() > 0
}

/// Has what waits for the thread that pushes served at the end of the turn.
pub(crate) fn put_off(core: &Arc<Core>) {
    PUT_OFF.with_borrow_mut(|cores| {
        if !cores.iter().any(|other| Arc::ptr_eq(other, core)) {
            cores.push(Arc::clone(core));
        }
    });
}
