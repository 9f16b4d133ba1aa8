//! Items that models replace (`tests/models`).
pub(crate) use std::sync::atomic;
