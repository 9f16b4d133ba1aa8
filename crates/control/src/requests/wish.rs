//! What a request comes to: where a flow is to go, and what is in the way.
use alloc::string::String;
use alloc::vec::Vec;

use openflow::words::MacAddress;
use wire::admission::{Contract, Losses, Socket};

use crate::action::Pair;
use crate::foreign::aggregate::Aggregate;
use crate::losses::Part;
use crate::tunnels::Tunnel;

/// What a request comes to, once it is known where its ends are.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) pair: Pair,
    pub(crate) from: usize,
    pub(crate) source: Socket,
    pub(crate) destination: Socket,
    pub(crate) contract: Contract,
    /// What goes from host to host, if the flow is all of that.
    pub(crate) aggregate: Option<Aggregate>,
    /// Which packets, of a tunnel.
    pub(crate) tunnel: Option<Tunnel>,
    /// The losses that its latency is to allow for.
    pub(crate) losses: Option<Losses>,
    /// Its role in the analysis.
    pub(crate) part: Part,
    /// One, but for trees.
    pub(crate) goals: Vec<Goal>,
}

/// A place that a flow is to reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Goal {
    pub(crate) host: usize,
    /// Where readers receive.
    pub(crate) to: Socket,
    /// The Ethernet address of the host, for trees.
    pub(crate) address: Option<MacAddress>,
    /// Nanoseconds.
    pub(crate) maximum_latency: u64,
    /// Nanoseconds, 0 if it does not matter.
    pub(crate) maximum_separation: u64,
}

impl Goal {
    /// What another reader asks for at the same place counts, too. In nanoseconds; a separation of 0 does not matter.
    pub(crate) fn tighten(&mut self, latency: u64, separation: u64) {
        self.maximum_latency = self.maximum_latency.min(latency);
        let separations = [self.maximum_separation, separation];
        self.maximum_separation =
            separations.into_iter().filter(|separation| *separation > 0).min().unwrap_or(0);
    }
}

impl Wish {
    /// The hosts that it is to reach.
    pub(crate) fn hosts(&self) -> Vec<usize> {
        self.goals.iter().map(|goal| goal.host).collect()
    }
}

/// Why a request cannot be taken further.
#[derive(Clone, Debug)]
pub(crate) enum Obstacle {
    /// It is wrong.
    Wrong(String),
    /// Something is not there that may come.
    Missing(String),
}
