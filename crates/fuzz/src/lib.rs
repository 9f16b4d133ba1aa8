//! Throws mutated bytes at whatever reads bytes from the network, on stable Rust and from fixed seeds.
//!
//! A [`runner::Target`] is a function that reads bytes and panics when a rule is broken. The mutator makes inputs from
//! valid ones (our own encoders, and captures of other programs), knowing submessages and parameters so that it can move
//! whole parts and lie about lengths. The runner catches panics, counts what every input takes from the heap, and sees
//! when one does not end. The folder `fuzz/` of the repository wraps the same targets for libFuzzer.
#![forbid(unsafe_code)]

pub mod failure;
pub mod mutation;
pub mod runner;
pub mod seeds;
pub mod structure;
pub mod targets;
