//! The target `reader_cache` for libFuzzer: new readers for every input.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (fuzz::targets::READER_CACHE.session)()(bytes));
