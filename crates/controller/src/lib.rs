//! The resource manager.
#![forbid(unsafe_code)]
mod connection;
mod gates;
mod topics;
pub mod store;
