//! The target `zenoh_type` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::zenoh_type(bytes));
