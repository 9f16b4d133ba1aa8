//! Who is compared: what is started for each, and where its files are.
use std::path::PathBuf;
use std::process::Command;

use crate::cell::{Cell, Kind};

/// Who the ratios refer to.
pub(crate) const REFERENCE: &str = "raw-udp";

/// Which of them is Punctual.
pub(crate) const OWN: &str = "punctual";

/// Whether a name is that of what the machine itself can do.
pub(crate) fn is_raw(name: &str) -> bool {
    name.starts_with("raw-")
}

/// Somebody who is compared.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    /// For the command line and the table.
    pub(crate) name: String,
    /// What it is, with its version.
    pub(crate) about: String,
    /// How it is started, or why it is not.
    pub(crate) program: Result<Program, String>,
    /// What it is for.
    pub(crate) scope: Scope,
}

/// The cells that a contender is for; it has no line in others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    /// Every one.
    All,
    /// Many samples through the network.
    Rates,
    /// Shared memory, and starts.
    Memory,
}

impl Scope {
    /// Whether a cell is one of them.
    pub(crate) fn has(self, cell: &Cell) -> bool {
        match self {
            Self::All => true,
            Self::Rates => cell.kind == Kind::Rate && !cell.in_memory(),
            Self::Memory => cell.in_memory() || cell.kind == Kind::Start,
        }
    }
}

/// What is started.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) words: Vec<String>,
}

impl Contender {
    /// One of this program.
    pub(crate) fn own(name: &str, about: &str, scope: Scope, own: &Result<PathBuf, String>) -> Self {
        let words = ["perf", "driver", name].map(str::to_owned).to_vec();
        let program = own.clone().map(|path| Program { path, words });
        Self { name: name.to_owned(), about: about.to_owned(), program, scope }
    }
}

impl Program {
    /// The command for a side of a cell.
    pub(crate) fn command(&self, role: &str, cell: &Cell, more: &[String]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.words).arg(role).arg(format!("size={}", cell.size)).args(cell.terms).args(more);
        command
    }
}
