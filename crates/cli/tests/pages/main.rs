//! Commands whose pages show what they print: what a page shows is what comes, and others read the files that are written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::ops::Deref;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

mod advise;
mod predict;

/// A folder of a test, gone when this is dropped.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.0.path()
    }
}

/// Runs the command in a folder: its exit code, and what it says on both outputs.
fn run(folder: &Path, words: &[&str]) -> (i32, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_punctual")).args(words).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// The block of a page that begins with this line.
fn block(page: &'static str, fence: &str) -> &'static str {
    let after = page.split_once(fence).unwrap_or_else(|| panic!("no {fence}")).1;
    after.split_once("\n```").unwrap().0.trim_start_matches('\n')
}
