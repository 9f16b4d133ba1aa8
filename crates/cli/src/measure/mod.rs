//! Measuring: round trips (`ping`, `pong`) and what a writer and a reader can carry (`perf pub`, `perf sub`).
//!
//! No coordinated omission: with a rate, every sample has a time at which it is due, which does not depend on what became of the
//! samples before it, and `since due` counts from there. If anything stalls, all that were due meanwhile are late by what is
//! left of the stall. Without a rate there is no schedule that could be missed; the text that is printed says which it was.
mod clock;
mod compare;
mod latency;
mod one_way;
pub(crate) mod pace;
pub(crate) mod perf;
pub(crate) mod ping;
pub(crate) mod pong;
mod publish;
mod qos;
mod round_trips;
mod subscribe;
mod table;
mod topics;
mod types;
mod usage;
mod waiting;
