//! The target `lldp_frame` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::lldp_frame(bytes));
