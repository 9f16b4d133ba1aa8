//! What the manager keeps of switches, flows and requests.
use core::cmp::Reverse;
use core::time::Duration;

use wire::admission::{Measured, Request, State, Verdict};

use crate::action::{Facts, Pair};
use crate::displace::Displaces;
use crate::operations::Chore;

/// How far a request is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// In the queue.
    Queued,
    /// It waits for something under way.
    Parked,
    /// It waits for something that is away.
    Waiting,
    /// Under way.
    Working,
    /// Answered. A refusal is looked at again when things change if that is true.
    Answered { retry: bool },
}

/// The place of a request among others: importance, then age.
pub(crate) type Turn = (Reverse<u8>, u64, Pair);

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The how-manieth request it is.
    pub(crate) age: u64,
    /// How many changes there had been when it was last looked at.
    pub(crate) looked: u64,
    pub(crate) request: Request,
    pub(crate) facts: Facts,
    /// What was said last.
    pub(crate) verdict: Verdict,
    pub(crate) progress: Progress,
    /// The serial of the request that is under way or answered.
    pub(crate) serial: u64,
    pub(crate) grant: Option<u64>,
    /// What others go for to make room for it, see [`crate::displace`].
    pub(crate) displaces: Displaces,
    /// Until then it gets a flow of its own: it had no luck with a tree.
    pub(crate) alone_until: Duration,
    /// When it is refused if what it waits for has not come.
    pub(crate) deadline: Option<Duration>,
    /// When its verdict is said again.
    pub(crate) repeat_at: Option<Duration>,
    pub(crate) measured: Option<Measured>,
    /// The address of the host that asks.
    pub(crate) asker: [u8; 4],
    /// The serial and state that were noted last.
    pub(crate) noted: Option<(u64, State)>,
}

impl Asked {
    /// Whether what it asks for by now is more than this promise, in nanoseconds.
    pub(crate) const fn wants_more_than(&self, promised: u64) -> bool {
        self.serial == self.request.serial && promised > self.request.maximum_latency
    }

    /// Whether what it asks for was answered with no.
    pub(crate) fn is_refused(&self) -> bool {
        self.verdict.serial == self.serial && matches!(self.verdict.state, State::Refused | State::Revoked)
    }
}

/// Something that waits for its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    Chore(Chore),
    Request(Pair),
    /// A pair with a flow of its own may join others of its writer.
    Unite(Pair),
}
