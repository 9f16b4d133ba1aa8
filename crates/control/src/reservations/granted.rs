//! A grant: a flow that has a place in the ledger, how far it is, and where it ends.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use latency::ledger::{Admitted, Move};
use latency::policing::Enforcement;
use latency::units::NANOSECOND;
use openflow::words::MacAddress;
use wire::Guid;
use wire::admission::{Contract, Socket};

use crate::action::{GateKey, Pair};
use crate::fabric::Site;
use crate::foreign::aggregate::Aggregate;
use crate::losses::Role;
use crate::requests::{Goal, Wish};
use crate::tunnels::Tunnel;

/// How far a grant is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum GrantPhase {
    /// On its way into the switches.
    Installing {
        /// Why it cannot stay once it is in force.
        doomed: Option<String>,
    },
    /// In force.
    Held,
    /// Restored, and not yet seen in all switches.
    Restored,
    /// On its way out.
    Leaving {
        /// What has to come back before it is gone.
        awaiting: BTreeSet<Site>,
        /// It is to be released when what changes it has come or failed.
        release_waits: bool,
    },
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
    /// The MAC address of their host, if it is known: the last switch writes it into the frame, so that nothing that the writer's host
    /// believes of it matters.
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
    /// What goes from host to host, if it is all of that.
    pub(crate) aggregate: Option<Aggregate>,
    /// Which packets, of a tunnel.
    pub(crate) tunnel: Option<Tunnel>,
    /// Its role in a flow with losses.
    pub(crate) role: Role,
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
    /// Bytes of a message on the wire.
    pub(crate) octets: u32,
    pub(crate) phase: GrantPhase,
    /// The grants that this one takes the place of when it is in force.
    pub(crate) replaces: Vec<u64>,
    /// The grant whose place in the ledger is that of this one, too: a tree that has this one in it.
    pub(crate) covered_by: Option<u64>,
    /// A change of this tree has failed a moment ago: no branch is cut off until that is over.
    pub(crate) prune_waits: bool,
    /// A pair that it has lost on its way in, or while it moves to other levels: what is stored may know it, or not where it is.
    pub(crate) lost_pair: Option<Pair>,
}

impl Granted {
    /// Whether it is on its way into the switches.
    pub(crate) const fn is_installing(&self) -> bool {
        matches!(self.phase, GrantPhase::Installing { .. })
    }

    /// Whether it is in force.
    pub(crate) const fn is_held(&self) -> bool {
        matches!(self.phase, GrantPhase::Held)
    }

    /// Whether it is restored, and not yet seen in all switches.
    pub(crate) const fn is_restored(&self) -> bool {
        matches!(self.phase, GrantPhase::Restored)
    }

    /// Whether it is on its way out.
    pub(crate) const fn is_leaving(&self) -> bool {
        matches!(self.phase, GrantPhase::Leaving { .. })
    }

    /// Whether it is on its way out, and nothing has to come back before it is gone.
    pub(crate) fn will_be_gone(&self) -> bool {
        matches!(&self.phase, GrantPhase::Leaving { awaiting, .. } if awaiting.is_empty())
    }

    /// Whether it is one flow for readers at several places, or was: its destination is a group.
    pub(crate) const fn is_tree(&self) -> bool {
        self.destination.address.is_multicast()
    }

    /// Where the flow of a pair ends.
    pub(crate) fn end_of(&self, pair: Pair) -> Option<&End> {
        self.ends.get(*self.at.get(&pair)?)
    }

    /// What a pair is promised, in nanoseconds; more than anything if it is not served.
    pub(crate) fn promised_to(&self, pair: Pair) -> u64 {
        self.end_of(pair).map_or(u64::MAX, |end| end.promised)
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

/// A grant whose latency is shared out in another way, and its gate with that.
pub(crate) fn with_shares(grant: &Granted, admitted: &Admitted) -> Granted {
    let mut after = grant.clone();
    after.hops.iter_mut().zip(&admitted.shares).for_each(|(hop, share)| hop.share = *share);
    if let (Some((_, contract)), Enforcement::Gate(limits)) = (&mut after.gate, admitted.enforcement) {
        contract.tolerance = limits.tolerance / NANOSECOND;
        contract.window = limits.window / NANOSECOND;
    }
    after
}

/// A grant of which a hop has another level.
pub(crate) fn with_level(grant: &Granted, change: &Move) -> Granted {
    let mut after = grant.clone();
    after.hops.iter_mut().filter(|hop| hop.link == change.port).for_each(|hop| hop.level = change.to);
    after
}

/// Whether a flow that keeps the old contract keeps the new one, also as gates see it.
pub(crate) fn covers(new: &Granted, old: &Granted) -> bool {
    let (ours, theirs) = (&new.contract, &old.contract);
    let contract = ours.largest_message >= theirs.largest_message
        && ours.smallest_message <= theirs.smallest_message
        && ours.datagram == theirs.datagram
        && ours.minimum_separation <= theirs.minimum_separation
        && ours.jitter >= theirs.jitter
        && ours.emission >= theirs.emission;
    let gate = match (new.gate, old.gate) {
        (Some((key, ours)), Some((old_key, theirs))) => {
            key == old_key
                && ours.octets >= theirs.octets
                && ours.separation <= theirs.separation
                && ours.tolerance >= theirs.tolerance
                && ours.window >= theirs.window
        }
        (None, None) => true,
        _ => false,
    };
    contract && gate && new.meter.is_none() && new.aggregate == old.aggregate
}

/// Whether a grant can take the place of another one for the same flow whose way is cut: it is held by a gate, which may be set to less first.
pub(crate) fn takes_over(new: &Granted, old: &Granted) -> bool {
    let key = |grant: &Granted| grant.gate.map(|(key, _)| key);
    key(new).is_some() && key(new) == key(old) && new.meter.is_none() && new.aggregate == old.aggregate
}

/// Whether what an end of a flow is promised is enough for a wish.
pub(crate) fn suits(end: Option<&End>, wish: &Wish) -> bool {
    let suits = |end: &End, goal: &Goal| {
        let separation =
            goal.maximum_separation == 0 || (1..=goal.maximum_separation).contains(&end.maximum_separation);
        end.promised <= goal.maximum_latency && separation
    };
    end.is_some_and(|end| wish.goals.iter().all(|goal| suits(end, goal)))
}

/// The shares and the levels of hops.
pub(super) fn shares_and_levels(hops: &[GrantedHop]) -> (Vec<u64>, Vec<u8>) {
    hops.iter().map(|hop| (hop.share, hop.level)).unzip()
}

/// The DSCP of a level.
pub(crate) fn dscp(level: u8) -> u8 {
    gate::class::of_level(level).unwrap_or(gate::class::BEST_EFFORT)
}
