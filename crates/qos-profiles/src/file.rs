//! A file, and the lines of its offsets.
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use diagnostics::{Problem, Source};

/// A file that was read.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: String,
    /// Offsets of the ends of lines.
    ends: Vec<usize>,
}

impl File {
    pub(crate) fn new(source: Source<'_>) -> Self {
        let ends = source.text.match_indices('\n').map(|(at, _)| at).collect();
        Self { name: source.file.to_owned(), text: source.text.to_owned(), ends }
    }

    /// The line of an offset, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.ends.partition_point(|end| *end < at) + 1
    }

    pub(crate) fn problem(&self, at: usize, what: impl Into<String>, remedy: impl Into<String>) -> Problem {
        Source { file: &self.name, text: &self.text }.problem(at, what, remedy)
    }
}
