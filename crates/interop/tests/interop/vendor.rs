//! The implementations that take part, and how their programs are started.
use std::path::PathBuf;
use std::process::Command;

use crate::place::Place;

/// An implementation; its program speaks the language of `crates/interop/peers/README.md`, if nothing else is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Vendor {
    Punctual,
    Cyclone,
    FastDds,
    /// Of the third generation, which announces types.
    FastDds3,
    /// With the program that it brings along: see `shape_main`.
    RustDds,
}

impl Vendor {
    /// Adds the program to a command that runs it in a place. `None` if `scripts/peers` has not brought it.
    fn program(self, command: &mut Command) -> Option<()> {
        match self {
            Self::Punctual => {
                command.arg(env!("CARGO_BIN_EXE_punctual-interop"));
            }
            Self::Cyclone => {
                command.arg(installed("cyclone/bin/python")?);
                command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/cyclone.py"));
            }
            Self::FastDds => {
                command.arg(installed("fastdds/peer")?);
            }
            Self::FastDds3 => {
                command.arg(installed("fastdds3/peer")?);
            }
            Self::RustDds => {
                command.arg(installed("rustdds/bin/shape_main")?);
            }
        }
        Some(())
    }

    /// A command that runs its program in a place.
    pub(crate) fn command(self, place: &Place) -> Option<Command> {
        let mut command = place.command();
        self.program(&mut command)?;
        Some(command)
    }
}

/// A file that `scripts/peers` has installed. Without it a test is passed over, but not in continuous integration.
fn installed(file: &str) -> Option<PathBuf> {
    // The folder beside the one that cargo has for files of tests.
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("peers").join(file);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is missing: run scripts/peers", path.display());
    eprintln!("passed over: {} is missing: run scripts/peers", path.display());
    None
}
