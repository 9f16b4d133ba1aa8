//! Who is compared: what is started for each, and where its files are.
use std::path::PathBuf;
use std::process::Command;

use crate::cell::{Cell, Kind};

/// Who the ratios refer to, but for figures.
pub(crate) const REFERENCE: &str = "raw-udp";

/// Who they refer to in figures.
pub(crate) const FLOOR: &str = "floor";

/// Which of them is Punctual.
pub(crate) const OWN: &str = "punctual";

/// Whether a name is that of what the machine itself can do.
pub(crate) fn is_raw(name: &str) -> bool {
    name.starts_with("raw-") || name == FLOOR
}

/// Middleware or plain sockets, as one side of a comparison.
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
    /// Some figures.
    Figures(&'static [u8]),
    /// Some figures, as far as nothing is lost: what repairs nothing does not end there.
    Lossless(&'static [u8]),
}

impl Scope {
    /// Whether a cell is one of them. What other middleware can do of figures is in one process for each side: round trips of which half is
    /// taken, and rates of one reader.
    pub(crate) fn has(self, cell: &Cell) -> bool {
        let is_pair = || cell.subscribers == 1 && matches!(cell.figure, Some(15 | 17));
        match (self, cell.figure) {
            (Self::Figures(figures), Some(figure)) => figures.contains(&figure),
            (Self::Lossless(figures), Some(figure)) => figures.contains(&figure) && !cell.is_lossy(),
            (Self::Figures(_) | Self::Lossless(_), None) => false,
            (Self::All, Some(_)) => is_pair(),
            (Self::Memory, Some(15)) => true,
            (Self::Memory | Self::Rates, Some(_)) => false,
            (Self::All, None) => true,
            (Self::Rates, None) => cell.kind == Kind::Rate && !cell.in_memory(),
            (Self::Memory, None) => cell.in_memory() || cell.kind == Kind::Start,
        }
    }
}

/// What is started.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) words: Vec<String>,
    /// It is told how many subscribers there are, and where.
    pub(crate) knows_figures: bool,
}

impl Contender {
    /// One of this program.
    pub(crate) fn own(name: &str, about: &str, scope: Scope, own: &Result<PathBuf, String>) -> Self {
        let words = ["perf", "driver", name].map(str::to_owned).to_vec();
        let knows_figures = matches!(scope, Scope::Figures(_) | Scope::Lossless(_));
        let program = own.clone().map(|path| Program { path, words, knows_figures });
        Self { name: name.to_owned(), about: about.to_owned(), program, scope }
    }
}

impl Program {
    /// The command for a side of a cell.
    pub(crate) fn command(&self, role: &str, cell: &Cell, more: &[String]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.words).arg(role).arg(format!("size={}", cell.size)).args(cell.terms).args(more);
        if self.knows_figures {
            command.args(cell.more());
        }
        command
    }
}
