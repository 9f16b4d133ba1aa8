//! The target `quality_on_demand_body` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::quality_on_demand_body(bytes));
