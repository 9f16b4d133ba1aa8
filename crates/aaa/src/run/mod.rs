//! Sockets, TLS, clocks and files around the machines.
mod clock;
pub mod control;
pub mod handle;
pub mod serve;
mod sockets;
mod storage;
