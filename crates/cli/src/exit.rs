//! How a command ends: what the exit code says, and what is printed for a failure.
use std::process::ExitCode;

use crate::colour::{self, Tone};

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
            eprintln!("{}{failure}", colour::err(Tone::Bad, "punctual: "));
            ExitCode::from(if matches!(failure, Failure::Usage(_)) { 2 } else { 3 })
        }
    }
}

/// What the library says to programs, and the options that say the same here.
const OPTIONS: [(&str, &str); 7] = [
    (
        "choose another id, or ParticipantId::FirstFree",
        "give another --participant-id, or none for the first free one",
    ),
    ("choose others in the configuration", "choose others with --interface"),
    ("the configuration names others", "--interface or --loopback names others"),
    ("give static peers, or use an interface", "name hosts with --peer, or use an interface"),
    ("or multicast = false with static peers", "or --no-multicast with --peer"),
    ("or multicast = false", "or --no-multicast"),
    ("without IPv6 on this host use Family::V4", "without IPv6 on this host leave --ipv6 out"),
];

/// A text of the library in the words of the command line.
pub(crate) fn in_options(text: &str) -> String {
    OPTIONS.iter().fold(text.to_owned(), |text, (said, option)| text.replace(said, option))
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(text) | Self::System(text) => f.write_str(text),
            Self::Dds(error) => f.write_str(&in_options(&error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that the files of a folder say.
    fn said(folder: &std::path::Path, all: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.path().is_dir() {
                said(&entry.path(), all);
            } else {
                all.push_str(&std::fs::read_to_string(entry.path()).unwrap());
            }
        }
    }

    #[test]
    fn what_is_translated_is_what_the_library_says() {
        let mut all = String::new();
        said(std::path::Path::new("../dds/src"), &mut all);
        for (text, option) in OPTIONS {
            assert!(all.contains(text), "the library says this no more: {text}");
            assert!(!in_options(text).contains("::") && in_options(text).contains(option), "{text}");
        }
    }
}
