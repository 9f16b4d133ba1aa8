//! Flows with losses (docs/decisions/0016-losses.md): beside the flow of a writer go one of its repairs to the reader and one of the reader's questions to
//! it. Each is a grant with a number, a gate and entries of its own; the three are admitted, installed, stored and ended together.
mod admit;
mod asked;
mod install;
mod restore;
mod verdict;

use wire::admission::Losses;

pub use restore::{StoredRole, StoredTogether};

/// The role of a grant in a flow with losses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// It is no part of one.
    Alone,
    /// The flow of samples. It leads: what becomes of it becomes of the others.
    Samples(Together),
    /// The flow of repairs, or that of questions, of the grant with this number.
    Beside(u64),
}

/// The data that the three flows share. Times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Together {
    /// The request.
    pub(crate) asked: Losses,
    /// The grants of repairs and of questions.
    pub(crate) beside: [u64; 2],
    /// The bound, with losses.
    pub(crate) promised: u64,
    pub(crate) heartbeat: u64,
    pub(crate) patience: u64,
    pub(crate) again: u64,
    pub(crate) spacing: u64,
    /// The most bytes of a repair.
    pub(crate) datagram: u32,
}

/// The role of a flow in the analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// Samples of which nothing is lost.
    Whole,
    /// Samples of which frames may be lost before their gate.
    Samples,
    /// Datagrams beside them.
    Beside,
}

impl Role {
    pub(crate) const fn part(&self) -> Part {
        match self {
            Self::Alone => Part::Whole,
            Self::Samples(_) => Part::Samples,
            Self::Beside(_) => Part::Beside,
        }
    }

    /// The shared data of the three flows that this one leads.
    pub(crate) const fn together(&self) -> Option<&Together> {
        match self {
            Self::Samples(together) => Some(together),
            Self::Alone | Self::Beside(_) => None,
        }
    }

    /// The grant that leads this one.
    pub(crate) const fn leader(&self) -> Option<u64> {
        match self {
            Self::Beside(leader) => Some(*leader),
            Self::Alone | Self::Samples(_) => None,
        }
    }
}
