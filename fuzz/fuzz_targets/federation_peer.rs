//! The target `federation_peer` for libFuzzer: a new gateway for every input.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (fuzz::targets::FEDERATION_PEER.session)()(bytes));
