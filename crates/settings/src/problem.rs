//! What is wrong, and where values come from.
use std::fmt;
use std::path::Path;

/// Where a value comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It is the default: no layer said anything.
    Default,
    /// A place in a file: its name, line and column, both from 1.
    File {
        /// The name of the file.
        name: String,
        /// Line.
        line: usize,
        /// Column in characters.
        column: usize,
    },
    /// An environment variable.
    Variable(String),
}

/// Something that is wrong. Nothing of its source is used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Where it is.
    pub origin: Origin,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl Origin {
    /// The place of a byte of a text.
    pub(crate) fn at(name: &str, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self::File { name: name.to_owned(), line, column }
    }
}

impl Problem {
    pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        Self { origin: Origin::Default, what: format!("{}: {error}", path.display()) }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Self::Variable(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Default => f.write_str(&self.what),
            origin => write!(f, "{origin}: {}", self.what),
        }
    }
}

impl std::error::Error for Problem {}
