//! A lab for a test. One at a time: two cores carry one network, and what one test measures another one would disturb.
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lab::{Lab, Options, check_programs, check_rights};
use plan::Network;

static ONE: Mutex<()> = Mutex::new(());
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Models and three hosts at a switch. `MODEL` is replaced.
pub(crate) const THREE: &str = r#"
[[switch-model]]
name = "gated"
ports = 8
queues = 4
rate = "100 Mb/s"
queue-buffer = 400_000
gates = {}

[[switch-model]]
name = "plain"
ports = 8
queues = 4
rate = "100 Mb/s"
queue-buffer = 400_000

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

/// The turn of a test, if labs can be built here at all.
pub(crate) fn turn() -> Option<MutexGuard<'static, ()>> {
    let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = check_rights().and_then(|()| check_programs(true)) {
        assert!(std::env::var_os("CI").is_none(), "{error}");
        eprintln!("passed over: {error}");
        return None;
    }
    Some(turn)
}

/// A name that no other lab of this machine has.
pub(crate) fn name() -> String {
    format!("t{}x{}", std::process::id() % 1_000_000, COUNT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn network(text: &str) -> Network {
    Network::parse("test.toml", text, |_| Err("no files".to_owned())).unwrap()
}

pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_punctual-lab"))
}

/// Builds a lab.
pub(crate) fn up(text: &str) -> Lab {
    let options = Options { program: Some(program()), ..Options::default() };
    Lab::up_with(&network(text), &name(), &options).unwrap()
}

/// A folder that is gone when this is dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let path = std::env::temp_dir().join(format!("punctual-{}", name()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
