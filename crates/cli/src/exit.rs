//! How a command ends: what the exit code says, and what is printed for a failure.
use std::process::ExitCode;

/// How a command that could be done ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// As asked, or ended by Ctrl-C: exit code 0.
    Done,
    /// It was done, and the answer is bad news, which was printed: exit code 1.
    BadNews,
}

/// Why a command could not be done.
#[derive(Clone, PartialEq, Debug)]
pub enum Failure {
    /// The command line makes no sense: exit code 2. The text says what is wrong and what to do.
    Usage(String),
    /// The middleware refused something: exit code 3.
    Dds(dds::Error),
    /// The system refused something: exit code 3. The text says what is wrong and what to do.
    System(String),
}

impl From<dds::Error> for Failure {
    fn from(error: dds::Error) -> Self {
        Self::Dds(error)
    }
}

/// The exit code, after the failure was told.
pub(crate) fn code(done: Result<Outcome, Failure>) -> ExitCode {
    match done {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::BadNews) => ExitCode::from(1),
        Err(failure) => {
            eprintln!("punctual: {failure}");
            ExitCode::from(if matches!(failure, Failure::Usage(_)) { 2 } else { 3 })
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(text) | Self::System(text) => f.write_str(text),
            Self::Dds(error) => error.fmt(f),
        }
    }
}
