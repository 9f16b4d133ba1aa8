//! Scenarios: what is set up, what happens to it and what is required of it.
pub mod dds;
pub mod pair;

use wire::Instant;

use crate::coverage::{Coverage, Situation};
use crate::trace::Trace;
use crate::violation::Violation;

/// A family of runs, one for each seed.
pub trait Scenario: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// One sentence about it.
    fn about(&self) -> &'static str;
    /// What must be reached by at least one seed of a large run.
    fn required(&self) -> &'static [Situation];
    /// What a seed has drawn, in words.
    fn describe(&self, seed: u64) -> String;
    /// Runs a seed.
    fn run(&self, seed: u64, trace: Trace<'_>) -> Outcome;
}

/// What came of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The first rule that was broken.
    pub violation: Option<Violation>,
    /// What was reached.
    pub coverage: Coverage,
    /// The hash of the trace.
    pub hash: u64,
    /// Events of the engine.
    pub events: u64,
    /// Samples written.
    pub written: u64,
    /// Samples delivered.
    pub delivered: u64,
    /// Virtual time at the end.
    pub end: Instant,
}

/// Every scenario.
pub const ALL: &[&dyn Scenario] = &[&pair::Pair, &dds::Dds, &dds::Links];

/// The scenario of a name.
pub fn by_name(name: &str) -> Option<&'static dyn Scenario> {
    ALL.iter().copied().find(|scenario| scenario.name() == name)
}
