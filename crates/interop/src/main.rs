//! Punctual behind the language of `crates/interop/peers/README.md`.
fn main() {}
