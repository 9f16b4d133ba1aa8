//! What threads meet by. Models of this crate bring another module of this name (`tests/models`).
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, atomic};

pub(crate) use udp::{Alarm, Rung};
