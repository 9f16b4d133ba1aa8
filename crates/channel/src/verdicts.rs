//! What decides about an event for consumers that look at one event only: consumers with the same filter are asked once.
use alloc::vec::Vec;

use filter::{Fields, Program};

use crate::tree::Tree;

/// How a consumer decides, in short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Test {
    /// As [`Tree::Header`].
    Header { kind: Option<u32>, source: Option<u32> },
    /// The same, and a filter, by its number.
    Filter { kind: Option<u32>, source: Option<u32>, filter: u32 },
    /// By its tree.
    Node,
}

/// Filters, each once, with what they said of the last event.
#[derive(Debug)]
pub(crate) struct Verdicts(Vec<Verdict>);

#[derive(Debug)]
struct Verdict {
    program: Program,
    /// How many consumers have it.
    users: usize,
    /// The event that it was asked about last.
    event: Option<u64>,
    passes: bool,
}

impl Verdicts {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// How a consumer with this tree decides.
    pub(crate) fn enter(&mut self, tree: &Tree) -> Test {
        match tree {
            Tree::Everything => Test::Header { kind: None, source: None },
            Tree::Header { kind, source } => Test::Header { kind: *kind, source: *source },
            Tree::Content(program) => Test::Filter { kind: None, source: None, filter: self.number(program) },
            Tree::All(parts) => match parts.as_slice() {
                [Tree::Header { kind, source }, Tree::Content(program)] => {
                    Test::Filter { kind: *kind, source: *source, filter: self.number(program) }
                }
                _ => Test::Node,
            },
            _ => Test::Node,
        }
    }

    fn number(&mut self, program: &Program) -> u32 {
        let known = self.0.iter().position(|verdict| verdict.users > 0 && verdict.program == *program);
        let free = || self.0.iter().position(|verdict| verdict.users == 0);
        let new = || Verdict { program: program.clone(), users: 0, event: None, passes: false };
        let place = match known.or_else(free) {
            Some(place) => place,
            None => {
                self.0.push(new());
                self.0.len() - 1
            }
        };
        if let Some(verdict) = self.0.get_mut(place) {
            if verdict.users == 0 {
                *verdict = new();
            }
            verdict.users += 1;
        }
        place as u32
    }

    /// A consumer that decided so is gone, or decides otherwise.
    pub(crate) fn leave(&mut self, test: Test) {
        if let Test::Filter { filter, .. } = test
            && let Some(verdict) = self.0.get_mut(filter as usize)
        {
            verdict.users -= 1;
        }
    }

    /// Whether an event of this number passes a filter.
    #[inline]
    pub(crate) fn passes<E: Fields>(&mut self, filter: u32, number: u64, body: &E) -> bool {
        let Some(verdict) = self.0.get_mut(filter as usize) else { return false };
        if verdict.event != Some(number) {
            verdict.event = Some(number);
            verdict.passes = verdict.program.passes(body);
        }
        verdict.passes
    }
}
