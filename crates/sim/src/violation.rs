//! The rules, by name, and what is said when one is broken.
use std::fmt;

use wire::Instant;

macro_rules! rules {
    ($($name:ident, $label:literal, $about:literal;)+) => {
        /// A rule that holds in every run.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Invariant { $(#[doc = $about] $name,)+ }

        impl Invariant {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The rule's name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $label,)+ }
            }

            /// What it says.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$name => $about,)+ }
            }
        }
    };
}

rules! {
    NoLoss, "no-loss", "What a reliable writer keeps for a matched reliable reader is delivered to it.";
    NoDuplicate, "no-duplicate", "Nothing is delivered twice: to a reliable reader, of a reliable writer that it loses and finds again, in no match; else within a match.";
    InOrder, "in-order", "Samples of a writer are delivered in the order of their numbers.";
    History, "history", "A late reader does not say that it has its history before it has.";
    Intact, "intact", "A delivered payload is the one that was written.";
    NoPhantom, "no-phantom", "Nothing is delivered without a match, and nothing that was not written.";
    Matches, "matches", "Exactly those endpoints match that should.";
    StableMatch, "stable-match", "A match does not end while both sides live and hear each other.";
    Converges, "converges", "Once faults have ended, everything required has arrived and been acknowledged in time.";
    WithinLimits, "within-limits", "Caches and datagrams stay within their limits.";
    NoLivelock, "no-livelock", "Polling ends, and timers lie in the future.";
    Quiet, "quiet", "When nothing happens, little is sent.";
    NoAmplification, "no-amplification", "An address that was not validated gets no more bytes than came from it.";
    Generations, "generations", "Data after the end of an instance begin a new generation, and its last state is the last that was written.";
    Ownership, "ownership", "Of an exclusive instance only the strongest live writer gets through.";
    Lifespan, "lifespan", "Nothing is given to the application after its LIFESPAN.";
    Deadlines, "deadlines", "A missed deadline is counted if and only if a period passed.";
    Statuses, "statuses", "Counts of matches, incompatible QoS and liveliness are what they should be.";
    NothingHeld, "nothing-held", "Nothing is held for those who have left, and nothing after leaving.";
    Deterministic, "deterministic", "The same seed gives the same run.";
    NoPanic, "no-panic", "Nothing panics.";
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
