//! What a check found, and how it is shown.
use std::fmt;
use std::time::Duration;

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    /// The file (with a line) or the crate.
    pub(crate) place: String,
    /// What is wrong there.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) remedy: String,
}

impl Problem {
    pub(crate) fn new(place: impl Into<String>, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}. To do: {}.", self.place, self.what, self.remedy)
    }
}

/// The outcome of one check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outcome {
    /// What was looked at, in a few words.
    pub(crate) looked_at: String,
    /// What is wrong; the check holds if there is nothing.
    pub(crate) problems: Vec<Problem>,
    /// What should be mended soon.
    pub(crate) warnings: Vec<String>,
}

/// Prints an outcome; true if the check holds.
pub(crate) fn print(name: &str, outcome: &Outcome, took: Duration) -> bool {
    let holds = outcome.problems.is_empty();
    let word = if holds { "ok  " } else { "FAIL" };
    println!("{word}  {name:<9} {:>6.1} s  {}", took.as_secs_f64(), outcome.looked_at);
    for warning in &outcome.warnings {
        println!("      warning: {warning}");
    }
    for problem in &outcome.problems {
        println!("      {problem}");
    }
    holds
}

#[cfg(test)]
impl Outcome {
    /// Asserts that exactly one problem is there and that it names all of `words`.
    pub(crate) fn assert_one(&self, words: &[&str]) {
        let [problem] = self.problems.as_slice() else { panic!("expected one problem: {:?}", self.problems) };
        let text = problem.to_string();
        for word in words {
            assert!(text.contains(word), "{word:?} is not in {text:?}");
        }
    }
}
