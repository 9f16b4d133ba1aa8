//! Who reads, who sends, who is called and who is woken, under every schedule of a few threads, with what the memory model lets each load see: the
//! shipped files, on locks, condition variables and time that are modelled.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code, unreachable_pub)]

mod alarm;
mod condition;
mod driver;
mod host;
#[path = "../../src/lock.rs"]
mod lock;
mod node;

mod sync {
    pub(crate) use models::{Condvar, Mutex, MutexGuard, atomic};

    pub(crate) use crate::alarm::{Alarm, Rung};
}

mod thread {
    pub(crate) use models::thread_number as this_thread;
}
