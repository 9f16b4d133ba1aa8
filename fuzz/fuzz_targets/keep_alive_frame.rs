//! The target `keep_alive_frame` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::keep_alive_frame(bytes));
