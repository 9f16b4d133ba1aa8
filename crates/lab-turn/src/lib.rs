//! Labs in tests. One at a time: two cores carry one network, and what one test measures another one would disturb. Each under a name of its
//! own, so that tests of several programs at the same time do not meet.
#![forbid(unsafe_code)]
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used)]

pub mod text;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lab::{Lab, Options, check_programs, check_rights};
use network::Network;

static ONE: Mutex<()> = Mutex::new(());
static COUNT: AtomicU32 = AtomicU32::new(0);

/// The turn of a test, until it is dropped; `None` if no lab can be built here, which is said.
///
/// # Panics
/// In continuous integration, where labs can be built.
pub fn turn() -> Option<MutexGuard<'static, ()>> {
    let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = check_rights().and_then(|()| check_programs(true)) {
        assert!(std::env::var_os("CI").is_none(), "{error}");
        eprintln!("passed over: {error}");
        return None;
    }
    Some(turn)
}

/// A name that no other lab of this machine has.
pub fn name() -> String {
    format!("t{}x{}", std::process::id() % 1_000_000, COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The network of a file with this text.
///
/// # Panics
/// The text is wrong.
pub fn network(text: &str) -> Network {
    Network::parse("test.toml", text, |_| Err("no files".to_owned())).unwrap()
}

/// Builds a lab, whose own processes are started from this program (`punctual-lab` or `punctual`).
///
/// # Panics
/// It cannot be built.
pub fn up(text: &str, program: &Path) -> Lab {
    up_with(text, program, None)
}

/// The same, whose switches and gates have keys of this folder.
///
/// # Panics
/// It cannot be built.
pub fn up_with(text: &str, program: &Path, keys: Option<&Path>) -> Lab {
    let (program, keys) = (Some(program.to_owned()), keys.map(Path::to_owned));
    let options = Options { program, keys, ..Options::default() };
    Lab::up_with(&network(text), &name(), &options).unwrap()
}

/// A folder that is gone when this is dropped.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    /// A new one, empty.
    ///
    /// # Panics
    /// It cannot be made.
    #[allow(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Self {
        let path = std::env::temp_dir().join(format!("punctual-{}", name()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file in it; its path.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
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
