//! Behaviour that is changed on purpose, so that it can be shown that the judge notices.

/// What the endpoints of every participant do otherwise than the judge is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutation {
    /// Readers keep one sample of each instance, whatever their HISTORY.
    Shallow,
    /// Readers are VOLATILE.
    NoHistory,
    /// The weakest writer is the strongest.
    UpsideDown,
    /// Samples do not expire.
    Immortal,
    /// Readers wait for ever: DEADLINE is infinite.
    Patient,
    /// Readers are in a partition of their own.
    Elsewhere,
    /// Writers are not let go of.
    Hoard,
}
