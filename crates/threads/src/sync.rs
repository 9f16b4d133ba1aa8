//! What models bring another one of (`tests/models`).
pub(crate) use std::sync::atomic;
