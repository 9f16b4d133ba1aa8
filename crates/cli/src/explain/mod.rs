//! What is wrong in a domain, as text made of what was seen. No socket, no clock: a [`Scene`] is all that an explanation needs.
mod assurance;
mod host;
mod json;
mod names;
mod pairs;
mod people;
mod samples;
mod scene;
mod topics;
mod types;
mod ways;

use std::fmt;

use crate::exit::in_options;

pub use json::json;
pub(crate) use samples::UNREADABLE;
pub use scene::{Admission, Neighbour, Received, Scene};

/// What a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum About {
    /// A writer and a reader of one topic that do not match.
    Pairs,
    /// A reader that asks for a latency, and a writer that it is not assured of.
    Assurance,
    /// A topic that lacks writers or readers.
    Topics,
    /// Participants that do not meet.
    Participants,
    /// Samples that did not get through.
    Samples,
    /// This host.
    Host,
}

impl About {
    /// Its name, for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pairs => "pairs",
            Self::Assurance => "assurance",
            Self::Topics => "topics",
            Self::Participants => "participants",
            Self::Samples => "samples",
            Self::Host => "host",
        }
    }
}

/// Something that is wrong, or that may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What it is about.
    pub about: About,
    /// It keeps data from a reader; otherwise it is only worth knowing.
    pub problem: bool,
    /// What is wrong, with the values of both sides.
    pub what: String,
    /// What to do.
    pub todo: String,
}

impl Finding {
    pub(crate) fn problem(about: About, what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { about, problem: true, what: what.into(), todo: todo.into() }
    }

    pub(crate) fn note(about: About, what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { about, problem: false, what: what.into(), todo: todo.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.problem { "!" } else { "-" };
        write!(f, "{mark} {}\n  {}", self.what, self.todo)
    }
}

/// Everything that is wrong, what matters most first.
pub fn explain(scene: &Scene) -> Vec<Finding> {
    let mut findings = pairs::findings(scene);
    findings.extend(types::findings(scene));
    findings.extend(assurance::findings(scene));
    findings.extend(topics::findings(scene));
    findings.extend(people::findings(scene));
    findings.extend(samples::findings(scene));
    findings.extend(host::findings(scene));
    findings.sort_by_key(|finding| !finding.problem);
    findings
}

/// What was seen, in a line for each topic: how many writers and readers, and how many pairs of them match. Then a line for each of the first
/// pairs, with the way that its samples take, and one for each pair whose latency is assured.
pub fn summary(scene: &Scene) -> Vec<String> {
    let mut lines = topics::summary(scene);
    lines.extend(ways::summary(scene));
    lines.extend(assurance::summary(scene));
    lines
}

/// The finding that a participant cannot be made here.
pub fn cannot_join(error: &dds::Error) -> Finding {
    let what = in_options(&format!("this host: {}: {}", error.place, error.what));
    Finding::problem(About::Host, what, sentence(&in_options(error.advice)))
}

/// What is wrong with a pair, and what to do.
pub(crate) fn mismatch(mismatch: &rtps::discovery::Mismatch) -> (String, String) {
    pairs::told(mismatch)
}

/// Advice as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    first.chain(letters).chain(['.']).collect()
}
