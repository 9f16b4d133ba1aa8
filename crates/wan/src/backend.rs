//! The words between a manager and the back-end of its domain, which knows devices and their ledgers, and neither users, agreements nor
//! neighbours.
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::request::FlowRequest;
use crate::words::{AggregateId, Class, DeviceFault, Direction, LegId, LinkId};

/// What a back-end holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Holding {
    /// Capacity through the domain, and in transit a label that is swapped and a policer.
    Aggregate(AggregateId),
    /// A flow that edges classify and police, and put into its tunnel. Its capacity is that of the aggregate.
    Flow(LegId),
}

/// Where traffic enters or leaves the domain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// Any edge with hosts. The manager does not say how much goes to which, so all may go to each.
    Edges,
    /// A border link.
    Border(LinkId),
}

/// Traffic of one class through the domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Where it comes in.
    pub from: Place,
    /// Where it goes out.
    pub to: Place,
    /// Its class.
    pub class: Class,
    /// Bits per second.
    pub rate: u64,
    /// Bytes that may come in at once.
    pub burst: u64,
    /// Bytes: a smaller packet counts as this.
    pub least_packet: u32,
    /// Bytes of the largest packet.
    pub largest_packet: u32,
}

/// Between what a flow goes: from any of the sources to any of the destinations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// Where it comes from, in the domain of the flow's origin.
    pub sources: Vec<IpAddr>,
    /// Where it goes to, in one domain.
    pub destinations: Vec<IpAddr>,
}

impl Addresses {
    /// Those of a flow between a caller and callees of one domain.
    pub fn of(direction: Direction, caller: IpAddr, callees: &[IpAddr]) -> Self {
        let (caller, callees) = (Vec::from([caller]), callees.to_vec());
        match direction {
            Direction::Forward => Self { sources: caller, destinations: callees },
            Direction::Reverse => Self { sources: callees, destinations: caller },
        }
    }
}

/// What the manager wants. A back-end does these in the order in which they come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BackendCommand {
    /// What could be reserved? Answered by [`BackendAnswer::Offered`].
    Offer {
        /// Of the answer.
        ticket: u64,
        /// With the least rate and burst.
        demand: Demand,
    },
    /// Hold capacity, in place of what this aggregate held. Less than was held is never refused. A refusal leaves what was held.
    Reserve {
        /// Of the answer.
        ticket: u64,
        /// For whom.
        aggregate: AggregateId,
        /// How much.
        demand: Demand,
    },
    /// Forward it, with these labels. What is forwarded already gets the labels.
    Commit {
        /// Which.
        aggregate: AggregateId,
        /// The label that packets have; none at the first domain.
        label_in: Option<u32>,
        /// The label that they get; none at the last domain.
        label_out: Option<u32>,
    },
    /// Let a flow in at the edge. One that is let in already goes into this aggregate from now on.
    Open {
        /// Of the answer.
        ticket: u64,
        /// Which.
        leg: LegId,
        /// The aggregate that carries it.
        aggregate: AggregateId,
        /// Its ports and its traffic.
        flow: FlowRequest,
        /// Its addresses.
        addresses: Addresses,
    },
    /// Hold it no more. It is done when it is answered, and is not answered before: a back-end that cannot do it tries again. Flows that an aggregate
    /// carries are let in no more with it, and not held.
    Release {
        /// Of the answer.
        ticket: u64,
        /// Which.
        holding: Holding,
    },
    /// What do you hold?
    Observe {
        /// Of the answer.
        ticket: u64,
    },
}

/// What the back-end says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BackendAnswer {
    /// To [`BackendCommand::Offer`].
    Offered {
        /// Of the command.
        ticket: u64,
        /// Bits per second that are free.
        rate: u64,
        /// Nanoseconds through the domain.
        delay: u64,
        /// Nanoseconds by which that varies.
        jitter: u64,
        /// Packets of a million that devices may lose inside the domain, at most. The delay is one of those that arrive.
        loss: u32,
    },
    /// Capacity is held, with a budget that stays true whatever is reserved later.
    Reserved {
        /// Of the command.
        ticket: u64,
        /// Nanoseconds through the domain at most.
        delay: u64,
        /// Nanoseconds by which that varies at most.
        jitter: u64,
        /// Packets of a million that devices may lose inside the domain, at most. The delay is one of those that arrive.
        loss: u32,
    },
    /// There is too little.
    Refused {
        /// Of the command.
        ticket: u64,
        /// Bits per second that are missing.
        missing: u64,
        /// Bits per second that this aggregate could have.
        offer: u64,
    },
    /// A device did not do what was wanted of it, to any command but [`BackendCommand::Release`]: all that was done for this command is taken
    /// back, and what was held before is held.
    Failed {
        /// Of the command.
        ticket: u64,
        /// Which device, and what was wrong.
        fault: DeviceFault,
    },
    /// To no command: a device does not hold this any more, or cannot forward it. It is to be released.
    Lost {
        /// What.
        holding: Holding,
        /// Which device, and what was wrong.
        fault: DeviceFault,
    },
    /// Opened or released.
    Done {
        /// Of the command.
        ticket: u64,
    },
    /// To [`BackendCommand::Observe`]: all that is held.
    Observed {
        /// Of the command.
        ticket: u64,
        /// In any order.
        holdings: Vec<Holding>,
    },
}
