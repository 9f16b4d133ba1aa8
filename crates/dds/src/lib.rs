//! Data Distribution Service: participants that write and read typed topics (DDS 1.4), on a driver of sockets and threads.
//!
//! Protocol and meaning are in the pure crates below; here they are joined with locks, and with a [`host`].
#![forbid(unsafe_code)]

mod bytes;
pub mod host;

pub use bytes::Bytes;
