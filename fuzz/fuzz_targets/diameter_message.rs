//! The target `diameter_message` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::diameter_message(bytes));
