//! A request as it is known: how far it is, what was said last, and where it stands among others.
use alloc::format;
use core::cmp::Reverse;
use core::time::Duration;
use wire::admission::Address;

use wire::admission::{Measured, Request, State, Verdict};

use super::displaces::Displaces;
use super::{Obstacle, dotted};
use crate::action::{Facts, Pair};
use crate::foreign::aggregate::Aggregate;

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
    pub(super) looked: u64,
    pub(crate) request: Request,
    pub(crate) facts: Facts,
    /// What was said last.
    pub(crate) verdict: Verdict,
    pub(crate) progress: Progress,
    /// The serial of the request that is under way or answered.
    pub(crate) serial: u64,
    pub(crate) grant: Option<u64>,
    /// What others go for to make room for it, see [`crate::displace`].
    pub(super) displaces: Displaces,
    /// Until then it gets a flow of its own: it had no luck with a tree.
    pub(super) alone_until: Duration,
    /// When it is refused if what it waits for has not come.
    pub(super) deadline: Option<Duration>,
    /// When its verdict is said again.
    pub(super) repeat_at: Option<Duration>,
    pub(crate) measured: Option<Measured>,
    /// The address of the host that asks.
    pub(super) asker: Address,
    /// An operator has revoked it: it stays so as long as it asks for the same.
    pub(super) barred: bool,
    /// The serial and state that were noted last.
    pub(super) noted: Option<(u64, State)>,
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

    /// Whether what it asks for was answered, is served by this grant, and is what it asks for now.
    pub(crate) fn is_settled(&self, number: u64) -> bool {
        let answered = matches!(self.progress, Progress::Answered { .. });
        answered && self.grant == Some(number) && self.serial == self.request.serial
    }

    /// The address of the host that asks.
    pub(crate) const fn asker(&self) -> Address {
        self.asker
    }

    /// Whether it is under way.
    pub(crate) fn is_working(&self) -> bool {
        self.progress == Progress::Working
    }

    /// Whether it has been told that it is admitted.
    pub(crate) fn is_admitted(&self) -> bool {
        self.verdict.state == State::Admitted
    }

    /// All that goes from host to host, if it asks for a part of that.
    pub(crate) fn aggregate(&self) -> Option<Aggregate> {
        self.facts.aggregate.as_ref()?.as_ref().ok().copied()
    }

    /// Where it stands among those that want the same.
    pub(crate) const fn turn(&self, pair: Pair) -> Turn {
        (Reverse(self.request.contract.importance), self.age, pair)
    }

    /// Whether it is in itself what can be asked, and about what is announced.
    pub(crate) fn check(&self) -> Result<(), Obstacle> {
        let wrong = |reason: &str| Err(Obstacle::Wrong(reason.into()));
        let (request, facts) = (&self.request, &self.facts);
        let contract = request.contract;
        if let Some(Err(why)) = &facts.aggregate {
            return Err(Obstacle::Wrong(why.clone()));
        }
        if facts.contract.is_some_and(|announced| announced != contract) {
            return wrong("the request is not about what the writer has announced: ask again");
        }
        // It may ask for less: what the writer holds back for batching is taken off.
        if facts.maximum_latency.is_some_and(|announced| announced < request.maximum_latency) {
            return wrong("the request is not about the latency that the reader has announced: ask again");
        }
        if request.maximum_latency == 0 || contract.minimum_separation == 0 {
            return wrong("a maximum latency and a minimum separation are needed");
        }
        if contract.smallest_message > contract.largest_message {
            return wrong("the smallest message of the contract is larger than the largest");
        }
        if request.source.address.is_ipv4() != request.destination.address.is_ipv4() {
            return wrong("the writer's flow and the reader have addresses of different versions of IP");
        }
        for (what, socket, known) in [
            ("writer", request.source, &facts.writer_addresses),
            ("reader", request.destination, &facts.reader_addresses),
        ] {
            let no_port = socket.port == 0 && facts.aggregate.is_none();
            if no_port || socket.address.is_unspecified() {
                return Err(Obstacle::Wrong(format!("the request has no address and port of the {what}")));
            }
            if !known.is_empty() && !known.contains(&socket.address) {
                let address = dotted(socket.address);
                return Err(Obstacle::Wrong(format!("{address} is no address of the {what}'s participant")));
            }
        }
        Ok(())
    }
}
