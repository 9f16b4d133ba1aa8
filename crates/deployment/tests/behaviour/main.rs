//! Plans carried out by a supervisor and component servers that are both real, between processes that are not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod adoption;
mod changes;
mod executor;
mod gates;
mod hand_over;
mod modes;
mod order;
mod plans;
mod quiesce;
mod quiesce_hosts;
mod refusals;
mod restarts;
mod simulation;
mod standalone;
mod suspending;
mod traffic;
mod world;
