//! The target `shared_memory_ring` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::shared_memory_ring(bytes));
