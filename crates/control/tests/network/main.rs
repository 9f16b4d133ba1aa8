//! The manager with model switches, end to end, in virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod binding;
mod by_hand;
mod cases;
mod changes;
mod counts;
mod doing;
mod faults;
mod foreign;
mod foreign_seeds;
mod holds;
mod hostile;
mod judge;
mod line;
mod mutants;
mod networks;
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
