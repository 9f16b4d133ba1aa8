//! The rules, by name, and what is said when one is broken.
use std::fmt;

use wire::Instant;

/// A rule that holds in every run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Invariant {
    /// What a reliable writer keeps for a matched reliable reader is delivered to it.
    NoLoss,
    /// Nothing is delivered twice within a match.
    NoDuplicate,
    /// Samples of a writer are delivered in the order of their numbers.
    InOrder,
    /// A delivered payload is the one that was written.
    Intact,
    /// Nothing is delivered without a match, and nothing that was not written.
    NoPhantom,
    /// Exactly those endpoints match that should.
    Matches,
    /// A match does not end while both sides live and hear each other.
    StableMatch,
    /// Once faults have ended, everything required has arrived and been acknowledged in time.
    Converges,
    /// Caches and datagrams stay within their limits.
    WithinLimits,
    /// Polling ends, and timers lie in the future.
    NoLivelock,
    /// When nothing happens, little is sent.
    Quiet,
    /// An address that was not validated gets no more octets than came from it.
    NoAmplification,
    /// The same seed gives the same run.
    Deterministic,
    /// Nothing panics.
    NoPanic,
}

impl Invariant {
    /// The rule's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoLoss => "no-loss",
            Self::NoDuplicate => "no-duplicate",
            Self::InOrder => "in-order",
            Self::Intact => "intact",
            Self::NoPhantom => "no-phantom",
            Self::Matches => "matches",
            Self::StableMatch => "stable-match",
            Self::Converges => "converges",
            Self::WithinLimits => "within-limits",
            Self::NoLivelock => "no-livelock",
            Self::Quiet => "quiet",
            Self::NoAmplification => "no-amplification",
            Self::Deterministic => "deterministic",
            Self::NoPanic => "no-panic",
        }
    }
}

/// A rule that was broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// When.
    pub at: Instant,
    /// How.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.at.as_nanos() / 1_000_000;
        write!(f, "{} at {}.{:03} s: {}", self.invariant.name(), millis / 1_000, millis % 1_000, self.what)
    }
}
