//! The resource manager.
#![forbid(unsafe_code)]
mod connection;
mod topics;
pub mod store;
