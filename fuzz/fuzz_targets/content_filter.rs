//! The target `content_filter` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::targets::content_filter(&fuzz::targets::filtered_types(), bytes)
});
