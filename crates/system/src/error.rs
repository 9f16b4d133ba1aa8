//! What could not be done, and what to do about it.
use std::fmt;

/// Why something could not be done on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// What is wrong, and where.
    pub what: String,
    /// What to do; empty if that is plain.
    pub remedy: String,
}

impl Error {
    /// From what is wrong, and where, and what to do about it.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into() }
    }

    /// For what the system refused: `what` says what was tried.
    pub fn system(what: impl fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::new(format!("{what}: {error}"), "")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "\n  {}", self.remedy) }
    }
}

impl std::error::Error for Error {}
