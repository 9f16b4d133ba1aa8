//! What the manager keeps of switches, flows and requests.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::time::Duration;

use openflow::words::MacAddress;
use wire::Guid;
use wire::admission::{Contract, Measured, Request, Socket, State, Verdict};

use crate::action::{Facts, GateKey, Pair};
use crate::displace::Displaces;
use crate::fabric::Site;
use crate::operations::Chore;

/// How far a grant is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum GrantPhase {
    /// On its way into the switches.
    Installing,
    /// In force.
    Held,
    /// Restored, and not yet seen in all switches.
    Restored,
    /// On its way out. What is away has to come back before it is gone.
    Leaving(BTreeSet<Site>),
}

/// A hop of a granted flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GrantedHop {
    pub(crate) link: usize,
    /// Index of the hop before, which is smaller; `None` for the first one only.
    pub(crate) parent: Option<usize>,
    /// Picoseconds.
    pub(crate) share: u64,
    /// The level that it has in the switches.
    pub(crate) level: u8,
    /// Number of the group of the switch that the hop leads to, if the flow forks there.
    pub(crate) group: Option<u32>,
}

/// Where a granted flow ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct End {
    /// Index of its last hop.
    pub(crate) hop: usize,
    /// Where the readers receive.
    pub(crate) to: Socket,
    /// The Ethernet address of their host, which the last switch of a tree writes into the frame.
    pub(crate) address: Option<MacAddress>,
    /// Nanoseconds.
    pub(crate) maximum_latency: u64,
    /// Nanoseconds, 0 if it does not matter.
    pub(crate) maximum_separation: u64,
    /// Nanoseconds.
    pub(crate) promised: u64,
}

/// A flow that has a place in the ledger.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    pub(crate) number: u64,
    pub(crate) source: Socket,
    pub(crate) destination: Socket,
    pub(crate) writer: Guid,
    pub(crate) contract: Contract,
    pub(crate) pairs: BTreeSet<Pair>,
    /// The end of each pair that it serves or has served, by its index.
    pub(crate) at: BTreeMap<Pair, usize>,
    /// What was last answered to each pair.
    pub(crate) serials: BTreeMap<Pair, u64>,
    /// A hop stands after the one before it.
    pub(crate) hops: Vec<GrantedHop>,
    /// One, but for trees.
    pub(crate) ends: Vec<End>,
    pub(crate) meter: Option<u32>,
    pub(crate) gate: Option<(GateKey, gate::Contract)>,
    /// Octets of a message on the wire.
    pub(crate) octets: u32,
    pub(crate) phase: GrantPhase,
    /// The grants that this one takes the place of when it is in force.
    pub(crate) replaces: Vec<u64>,
    /// The grant whose place in the ledger is that of this one, too: a tree that has this one in it.
    pub(crate) covered_by: Option<u64>,
    /// It is to be released when what changes it has come or failed.
    pub(crate) release_waits: bool,
    /// A change of this tree has failed a moment ago: no branch is cut off until that is over.
    pub(crate) prune_waits: bool,
    /// A pair that it has lost on its way in, or while it moves to other levels: what is stored may know it, or not where it is.
    pub(crate) lost_pair: Option<Pair>,
    /// Why it cannot stay once it is in force.
    pub(crate) doomed: Option<String>,
}

impl Granted {
    /// Whether it is one flow for readers at several places, or was: its destination is a group.
    pub(crate) const fn is_tree(&self) -> bool {
        let [first, ..] = self.destination.address;
        first >= 224
    }

    /// Where the flow of a pair ends.
    pub(crate) fn end_of(&self, pair: Pair) -> Option<&End> {
        self.ends.get(*self.at.get(&pair)?)
    }

    /// Whether what a pair asks for by now is more than it is promised here.
    pub(crate) fn gives_too_little(&self, pair: Pair, asked: &Asked) -> bool {
        let promised = self.end_of(pair).map_or(u64::MAX, |end| end.promised);
        asked.serial == asked.request.serial && promised > asked.request.maximum_latency
    }

    /// The hops to one of its ends, the first one first.
    pub(crate) fn way_to(&self, end: &End) -> Vec<&GrantedHop> {
        let hop = |at: usize| self.hops.get(at);
        let mut way: Vec<_> = core::iter::successors(hop(end.hop), |last| hop(last.parent?)).collect();
        way.reverse();
        way
    }

    /// The longest time that a frame may be on its way, in nanoseconds.
    pub(crate) fn longest(&self) -> u64 {
        self.ends.iter().map(|end| end.maximum_latency).max().unwrap_or(0)
    }

    /// Whether packets of the other one are packets of this one.
    pub(crate) fn is_same_flow(&self, other: &Self) -> bool {
        (self.source, self.destination) == (other.source, other.destination)
    }
}

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

/// The DSCP of a level.
pub(crate) fn dscp(level: u8) -> u8 {
    gate::class::of_level(level).unwrap_or(gate::class::BEST_EFFORT)
}
