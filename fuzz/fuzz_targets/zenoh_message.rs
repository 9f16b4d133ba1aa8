//! The target `zenoh_message` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::zenoh_message(bytes));
