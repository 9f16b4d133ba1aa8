//! What a caller asks for, and what it is answered.
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::words::{Asking, Asn, Class, Direction, FlowKind, LegId, Refusal, SessionId, TSpec};

/// One flow of a session. Its addresses are those of the caller and the callees, in the order of its direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowRequest {
    /// What it carries.
    pub kind: FlowKind,
    /// Which way.
    pub direction: Direction,
    /// The protocol of IP.
    pub protocol: u8,
    /// The port it leaves from; 0 is any.
    pub source_port: u16,
    /// The port it goes to.
    pub destination_port: u16,
    /// Its class.
    pub class: Class,
    /// The traffic that is desired.
    pub desired: TSpec,
    /// Bits per second that are enough; the callee or a network with less room may lower to it.
    pub least_rate: u64,
    /// Nanoseconds from edge to edge.
    pub limit: u64,
    /// Packets of a million that agreements of the path may lose together; [`ANY_LOSS`] is no limit.
    pub most_loss: u32,
    /// How many copies of each packet go at once over paths that have no domain in common but the first and the last: 1 or 2. Each copy alone has
    /// the rate and keeps the limit.
    pub copies: u8,
    /// How domains of the path are asked.
    pub asking: Asking,
}

/// `establishSession` and `performReservation` of a caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionRequest {
    /// Who asks. The owner has authenticated it.
    pub user: u32,
    /// The session service it is a session of.
    pub service: u32,
    /// The address that data comes from.
    pub caller: IpAddr,
    /// The addresses that data goes to: one copy goes to each of their domains.
    pub callees: Vec<IpAddr>,
    /// All flows of the session.
    pub flows: Vec<FlowRequest>,
    /// Nanoseconds that it lasts.
    pub lasts: u64,
}

/// All packets of a million: as a limit it is none, and as what may be lost it says that nothing is known.
pub const ANY_LOSS: u32 = 1_000_000;

/// Most flows of a session, and most callees.
pub(crate) const MOST_FLOWS: usize = 8;
pub(crate) const MOST_CALLEES: usize = 64;

impl SessionRequest {
    /// It makes sense by itself.
    pub(crate) fn is_valid(&self) -> bool {
        let counts = !self.flows.is_empty()
            && self.flows.len() <= MOST_FLOWS
            && !self.callees.is_empty()
            && self.callees.len() <= MOST_CALLEES;
        let data =
            self.flows.iter().any(|flow| flow.kind == FlowKind::Data && flow.direction == Direction::Forward);
        counts && data && self.lasts > 0 && flows_are_valid(&self.flows)
    }
}

/// Each flow makes sense by itself.
pub(crate) fn flows_are_valid(flows: &[FlowRequest]) -> bool {
    flows.len() <= MOST_FLOWS
        && flows.iter().all(|flow| {
            let rates = 0 < flow.least_rate && flow.least_rate <= flow.desired.rate;
            flow.class.is_reservable()
                && flow.desired.is_valid()
                && rates
                && flow.limit > 0
                && flow.most_loss <= ANY_LOSS
                && matches!(flow.copies, 1 | 2)
        })
}

/// One reserved flow of an admitted session, or one copy of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// Which flow, to or from which domain.
    pub leg: LegId,
    /// The domains that it passes, both ends included. That is what BGP tells anyway; what is inside a domain stays its own.
    pub path: Vec<Asn>,
    /// Nanoseconds from edge to edge at most.
    pub delay: u64,
    /// Packets of a million that the path may lose at most: its links, and the insides of its domains.
    pub loss: u32,
    /// What agreements of the path cost for a million bits per second and hour, in the smallest coin; none if a domain of it does not tell.
    pub price: Option<u64>,
    /// What is reserved.
    pub traffic: TSpec,
    /// The mark of its packets.
    pub dscp: u8,
}

/// The answer to a caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QosAnswer {
    /// All flows are reserved, and let in.
    Admitted {
        /// The session.
        session: SessionId,
        /// The domains of the callees.
        peers: Vec<Asn>,
        /// Of flows that leave the caller's domain; those in the other direction have the limits that they asked for.
        bounds: Vec<Bound>,
        /// When it ends.
        ends: u64,
    },
    /// Nothing is reserved.
    Refused(Refusal),
}
