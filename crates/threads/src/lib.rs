//! A lock that inherits priority: the thread that holds it runs with the highest priority of those that wait for it, so that no thread
//! of a priority between the two keeps the more important one waiting. A bell, for which a thread waits awake or asleep. And a thread that wakes again and
//! again, and sees how late that is.
//!
//! ```
//! let lock = threads::Lock::new(1);
//! *lock.lock()? += 1;
//! // A thread that asks again for what it holds is told so.
//! let held = lock.lock()?;
//! assert_eq!(lock.lock().err(), Some(threads::Refused::Mine));
//! assert_eq!(*held, 2);
//! # Ok::<(), threads::Refused>(())
//! ```
mod bell;
mod futex;
mod lock;
mod sync;
mod wakes;

pub use bell::Bell;
pub use lock::{Guard, Lock, Refused, This};
pub use wakes::wakes;
