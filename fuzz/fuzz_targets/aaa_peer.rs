//! The target `aaa_peer` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::aaa_peer(bytes));
