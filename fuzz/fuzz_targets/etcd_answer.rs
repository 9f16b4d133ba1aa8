//! The target `etcd_answer` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::etcd_answer(bytes));
