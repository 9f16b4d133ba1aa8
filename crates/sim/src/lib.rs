//! The simulator: many participants on one thread, one virtual clock and one seed.
//!
//! A [`scenario`] draws a configuration and a mix of faults from a seed, builds a [`World`](world::World) of nodes and lets it run.
//! Nodes are the protocol machines themselves, or participants of the public API on a virtual host, without sockets, threads and clocks.
//! After every event a judge compares what was delivered with what was written; the first broken rule ends the run, and the seed repeats it.
//!
//! What is simulated: hosts with several addresses, links that lose, repeat, delay and reorder, receive buffers, partitions,
//! crashes, slow and stopped processes, full sockets. What is not: calls that block, bytes that are damaged on the way (UDP's checksum drops those) and the bandwidth of links.
#![forbid(unsafe_code)]

pub mod clock;
pub mod coverage;
pub mod faults;
pub mod invariants;
pub mod monitor;
pub mod network;
pub mod node;
pub mod payload;
pub mod queue;
pub mod random;
pub mod report;
pub mod runner;
pub mod sabotage;
pub mod scenario;
pub mod trace;
pub mod violation;
pub mod world;
