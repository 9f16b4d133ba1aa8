//! The gate between what discovery matches and what is matched: pairs of an assured writer and an assured reader wait for the verdict of
//! a resource manager (docs/decisions/0009-admission.md).
//!
//! The participant of the reader asks, and decides how the pair runs; it says so in its request ([`Stage`]), and the participant of the
//! writer follows. So the reader takes part before the writer sends, and no first sample is lost or late for that.
mod gate;
mod managers;
mod pair;
mod trust;
mod verdict;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rtps::{Conduct, Path};
use wire::admission::{Request, Stage, State};
use wire::discovery::EndpointData;
use wire::{Duration, EntityId, Guid};

use crate::reader::Bound;

pub use gate::{Gate, GateCounters};
pub use trust::{DISTRUST, Opinion, Signed, Trust, TrustCounters};

/// The assurance between a writer and a reader, as a participant of one of them knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PairAssurance {
    /// The writer.
    pub writer: Guid,
    /// The reader.
    pub reader: Guid,
    /// What was decided about it last.
    pub state: State,
    /// How it runs now.
    pub stage: Stage,
    /// Most time from the send call to the reception of the last frame, while it is admitted.
    pub bound: Option<Duration>,
    /// So many frames may be lost with that, and the time in which no more may be.
    pub losses: Option<(u8, Duration)>,
    /// Why it is refused or revoked; empty otherwise.
    pub reason: String,
    /// A maximum latency that would be admitted, if the manager knows one.
    pub offered_latency: Option<Duration>,
    /// A minimum separation with which it would be admitted, if the manager knows one.
    pub offered_separation: Option<Duration>,
}

/// How a remote endpoint is reached.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Way {
    /// Where fresh changes, or acknowledgements, go.
    pub paths: Vec<Path>,
    /// Where goes what is for it alone, if `paths` lead to a group.
    pub direct: Option<Path>,
}

/// What the owner of a [`Gate`] has to do, in this order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// A local endpoint is matched with a remote one, or reaches it otherwise from now on.
    Match {
        /// The local endpoint.
        local: EntityId,
        /// The other.
        remote: Arc<EndpointData>,
        /// How it is reached.
        way: Way,
        /// How repairs are conducted, if their latency has a bound.
        conduct: Option<Conduct>,
    },
    /// They are not matched any more.
    Unmatch {
        /// The local endpoint.
        local: EntityId,
        /// The other.
        remote: Guid,
    },
    /// The messages of a writer keep this separation from now on; zero: it has no flow.
    Separate {
        /// The writer.
        writer: EntityId,
        /// Least time from the return of a send call to the beginning of the next message.
        separation: Duration,
    },
    /// The samples of a writer are promised within a bound, or not any more.
    Promise {
        /// The reader.
        reader: EntityId,
        /// The writer.
        writer: Guid,
        /// What is promised.
        bound: Option<Bound>,
    },
    /// A request is to be published.
    Ask(Request),
    /// A request is to be disposed: the pair is no more.
    Withdraw(Request),
    /// The assurance of a local endpoint with another is not what it was.
    Changed {
        /// The local endpoint.
        local: EntityId,
        /// The other.
        remote: Guid,
    },
}
