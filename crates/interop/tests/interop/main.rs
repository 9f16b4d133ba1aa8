//! Live tests with implementations of other vendors: each in network namespaces of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod place;
mod program;
mod script;
mod shapes;
mod stage;
mod strangers;
mod transcript;
mod vendor;

mod matrix;
