//! What is planned, and why not.
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::ledger::{Admitted, FlowId};
use crate::network::FlowError;
use crate::port::Contender;

/// A flow that changes its level at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// Index of the port.
    pub port: usize,
    /// Which flow.
    pub flow: FlowId,
    /// Its level so far.
    pub from: u8,
    /// Its level after.
    pub to: u8,
}

/// A flow whose shares are split in another way. What it is promised in all stays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reshare {
    /// Which flow.
    pub flow: FlowId,
    /// Its shares so far, and what is programmed with them.
    pub from: Arc<Admitted>,
    /// Those after.
    pub to: Arc<Admitted>,
}

/// Changes to others that make room, in the order in which they are done; every flow keeps its promise after each of them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Phase {
    /// Flows whose shares are split again. Where what holds a flow to its contract becomes narrower, that comes first; then
    /// [`Self::settles`] passes; what becomes wider follows.
    pub shares: Vec<Reshare>,
    /// Picoseconds after which frames keep shares that are less than those before; 0 if none are.
    pub settles: u64,
    /// Flows that change their levels then, in an order in which every flow keeps its share after each step.
    pub moves: Vec<Move>,
    /// Picoseconds that have to pass after each of the moves.
    pub pause: u64,
}

/// What an admission does: nothing has happened before [`Ledger::commit`](crate::ledger::Ledger::commit).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Which flow.
    pub id: FlowId,
    /// The flow with its shares.
    pub admitted: Admitted,
    /// What it offers to each hop, with its level there.
    pub contenders: Vec<Contender>,
    /// What others change for it, before the flow itself begins.
    pub phases: Vec<Phase>,
    /// Whether tests were left out that would have taken too much work: with them the answer might be a better one.
    pub coarse: bool,
    /// What its ports were when it was made.
    pub(crate) basis: Vec<Seen>,
}

/// A port as a plan has seen it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub(crate) port: usize,
    pub(crate) stamp: u64,
}

impl Plan {
    /// A plan for what has its place already: no flow moves.
    pub const fn still(id: FlowId, admitted: Admitted) -> Self {
        Self { id, admitted, contenders: Vec::new(), phases: Vec::new(), coarse: false, basis: Vec::new() }
    }

    /// For each phase, whether its shares and how many of its moves are among the first changes of so many: its new shares are one change,
    /// and each of its moves is one.
    pub fn kept(&self, mut changes: usize) -> Vec<(bool, usize)> {
        let mut kept = Vec::with_capacity(self.phases.len());
        for phase in &self.phases {
            let moves = changes.saturating_sub(1).min(phase.moves.len());
            kept.push((changes > 0, moves));
            changes = changes.saturating_sub(1 + moves);
        }
        kept
    }

    /// The flows that change their levels, in their order.
    pub fn moves(&self) -> impl DoubleEndedIterator<Item = &Move> {
        self.phases.iter().flat_map(|phase| &phase.moves)
    }

    /// The flows whose shares are split again, in their order.
    pub fn shares(&self) -> impl DoubleEndedIterator<Item = &Reshare> {
        self.phases.iter().flat_map(|phase| &phase.shares)
    }
}

impl Phase {
    /// Whether it does anything.
    pub fn changes_something(&self) -> bool {
        !self.moves.is_empty() || !self.shares.is_empty()
    }
}

/// Why a flow is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The flow does not fit the model.
    Flow(FlowError),
    /// The identity is taken.
    Known,
    /// A flow would miss its share or limit.
    Delay {
        /// Index of the port.
        port: usize,
        /// The level there, 0 the lowest.
        level: u8,
        /// The flow that would miss.
        flow: FlowId,
        /// By how many picoseconds; `None` if it would have no bound at all.
        by: Option<u64>,
    },
    /// The port has too few queues.
    Queues {
        /// Index of the port.
        port: usize,
        /// Queues needed.
        needed: usize,
    },
    /// A buffer could overflow.
    Buffer {
        /// Index of the port.
        port: usize,
        /// The level there, or the lowest one if the buffer is shared.
        level: u8,
        /// Bytes needed; `None` if there is no bound.
        needed: Option<u64>,
        /// Bytes reserved.
        reserved: u64,
    },
    /// Flows would have to change their levels, and no order of that keeps all shares in between.
    Order {
        /// Index of the port.
        port: usize,
    },
    /// The first switch has no gate or meter left.
    Guards {
        /// Index of the publisher's port.
        port: usize,
    },
    /// The port takes no further flows: see [`Ledger::declare_full`](crate::ledger::Ledger::declare_full).
    Full {
        /// Index of the port.
        port: usize,
    },
    /// A subscriber may have to wait longer for the next message than it accepts.
    Separation {
        /// Index of the subscriber.
        subscriber: usize,
        /// By how many picoseconds; `None` if the writer promises no maximum separation.
        by: Option<u64>,
    },
    /// Without tests that take more work than there may be, no place was found: see [`Ledger::begin`](crate::ledger::Ledger::begin).
    Work {
        /// Index of the port where it ran out.
        port: usize,
    },
}

/// What would be admitted instead. Each alternative has been tried.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Offer {
    /// The flow as asked for, with this maximum latency for every subscriber that asks for less, in picoseconds.
    pub latency: Option<u64>,
    /// The flow as asked for, with this minimum separation, in picoseconds.
    pub separation: Option<u64>,
}

/// A refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// What would be possible.
    pub offer: Offer,
}
