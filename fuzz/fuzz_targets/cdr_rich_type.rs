//! The target `cdr_rich_type` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::cdr_rich_type(bytes));
