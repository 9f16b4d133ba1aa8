//! Cases with known worst cases: how close the simulator comes to them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod behaviour;
mod exhaustive;
mod networks;
mod reference;
mod table_two;
