//! What components, containers and services do: in virtual time where order is the point, with threads where threads are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod anew;
mod boundaries;
mod calls;
mod chains;
mod changes;
mod domains;
mod hand_over;
mod harness;
mod joins;
mod lanes;
mod latencies;
mod life;
mod logical;
mod machines;
mod pages;
mod parts;
mod placement;
mod ports;
mod stalls;
mod threads;
