//! What filter expressions mean: their grammar, their types, and any of them against an evaluator that shares nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod evaluator;
mod grammar;
mod sample;
mod types;
