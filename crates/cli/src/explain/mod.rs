//! What is wrong in a domain, as text made of what was seen. No socket, no clock: whoever has a [`Scene`] has its explanation.
mod host;
mod names;
mod pairs;
mod people;
mod samples;
mod scene;
mod topics;

use std::fmt;

pub use scene::{Neighbour, Received, Scene};

/// Something that is wrong, or that may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// It keeps data from somebody; otherwise it is only worth knowing.
    pub problem: bool,
    /// What is wrong, with the values of both sides.
    pub what: String,
    /// What to do.
    pub todo: String,
}

impl Finding {
    pub(crate) fn problem(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { problem: true, what: what.into(), todo: todo.into() }
    }

    pub(crate) fn note(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { problem: false, what: what.into(), todo: todo.into() }
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
    findings.extend(topics::findings(scene));
    findings.extend(people::findings(scene));
    findings.extend(samples::findings(scene));
    findings.extend(host::findings(scene));
    findings.sort_by_key(|finding| !finding.problem);
    findings
}

/// What is there, in a line for each topic: how many writers and readers, and how many pairs of them match.
pub fn summary(scene: &Scene) -> Vec<String> {
    topics::summary(scene)
}

/// The finding that a participant cannot be made here.
pub fn cannot_join(error: &dds::Error) -> Finding {
    Finding::problem(format!("this host: {}: {}", error.place, error.what), sentence(error.advice))
}

/// Advice as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    first.chain(letters).chain(['.']).collect()
}
