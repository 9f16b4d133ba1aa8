//! The target `settings_toml` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::settings_toml(bytes));
