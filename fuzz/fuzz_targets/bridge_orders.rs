//! The target `bridge_orders` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::bridge_orders(bytes));
