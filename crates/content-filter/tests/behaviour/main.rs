//! What content filters say of serialized samples, in every encoding and extensibility, against the values that were written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod errors;
mod fields;
mod versions;
