//! What threads and processes meet by. Models of this crate bring another module of this name (`tests/models`).
pub(crate) use std::sync::{Mutex, MutexGuard, atomic};
