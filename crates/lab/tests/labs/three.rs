//! The lab of most tests: three hosts at a switch.
use std::path::PathBuf;

use lab::Lab;
use lab_turn::text::{GATED, Text};

/// Three hosts at a switch of a model, which is `gated` or `plain`: without gates. The link of the third is slower.
pub(crate) fn three(model: &str) -> String {
    let plain = GATED.replace("\"gated\"", "\"plain\"").replace("gates = {}\n", "");
    Text::new("host-defaults = { queues = 8, ring = 0 }")
        .host("a", "", "s1:1")
        .host("b", "", "s1:2")
        .node("c", "")
        .link("c", "s1:3", "rate = \"20 Mb/s\"")
        .switch("s1", model)
        .with(&format!("{GATED}{plain}"))
}

pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_punctual-lab"))
}

/// Builds a lab.
pub(crate) fn up(text: &str) -> Lab {
    lab_turn::up(text, &program())
}
