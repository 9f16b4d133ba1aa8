//! Messages and discovery data, against captures, TShark and what nobody should send.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test stops at once")]

#[path = "../pcap/mod.rs"]
mod pcap;
#[path = "../samples/mod.rs"]
mod samples;

mod attacks;
mod cdr_to_key;
mod discovery;
mod golden;
mod message;
mod mutation;
mod sorted;
mod tshark;
