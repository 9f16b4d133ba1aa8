//! The target `openflow_stream` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::openflow_stream(bytes));
