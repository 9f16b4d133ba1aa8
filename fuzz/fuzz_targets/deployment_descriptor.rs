//! The target `deployment_descriptor` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::deployment_descriptor(bytes));
