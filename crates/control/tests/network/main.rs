//! The manager with model switches, end to end, in virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod by_hand;
mod cases;
mod changes;
mod counts;
mod doing;
mod faults;
mod holds;
mod hostile;
mod judge;
mod line;
mod mutants;
mod networks;
mod policy;
mod quotas;
mod random;
mod reserved;
mod room;
mod saboteur;
mod scarce;
mod seeds;
mod transitions;
mod trees;
mod world;
