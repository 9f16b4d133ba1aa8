//! Bridges as processes between domains of one namespace: what is written at one site is read at the others (needs root).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod crossing;
mod foreign;
mod gate;
mod handover;
mod plant;
mod ring;
mod slow;
mod tls;
mod types;
