//! The target `participant_stranger` for libFuzzer: a new participant for every input.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (fuzz::targets::PARTICIPANT_STRANGER.session)()(bytes));
