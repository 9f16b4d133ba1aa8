//! An OpenFlow switch for tests: its tables, what they mean for packets, and its answers. It shares no code with the manager that programs it.
mod answers;
mod tables;

pub use tables::{Fate, Packet, Switch, Tag};
