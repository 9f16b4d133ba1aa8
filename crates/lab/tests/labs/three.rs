//! The lab of most tests: three hosts at a switch.
use std::path::PathBuf;

use lab::Lab;

/// Models and three hosts at a switch. `MODEL` is replaced.
pub(crate) const THREE: &str = r#"
host-defaults = { queues = 8, ring = 0 }
[[switch-model]]
name = "gated"
ports = 8
queues = 4
rate = "100 Mb/s"
queue-buffer = 400_000
cell = 1
energy-efficient = false
pause = "off"
gates = {}

[[switch-model]]
name = "plain"
ports = 8
queues = 4
rate = "100 Mb/s"
queue-buffer = 400_000
cell = 1
energy-efficient = false
pause = "off"

[[host]]
name = "a"
[[host]]
name = "b"
[[host]]
name = "c"
[[switch]]
name = "s1"
model = "MODEL"
[[link]]
ends = ["a", "s1:1"]
[[link]]
ends = ["b", "s1:2"]
[[link]]
ends = ["c", "s1:3"]
rate = "20 Mb/s"
"#;

pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_punctual-lab"))
}

/// Builds a lab.
pub(crate) fn up(text: &str) -> Lab {
    lab_turn::up(text, &program())
}
