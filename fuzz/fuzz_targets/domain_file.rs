//! The target `domain_file` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::domain_file(bytes));
