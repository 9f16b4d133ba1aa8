//! What a manager keeps in its store: enough to go on after a crash.
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::request::{FlowRequest, SessionRequest};
use crate::words::{AggregateId, Asking, Asn, LegId, LinkId, MessageId, SessionId, TSpec};

/// What a record is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    /// An aggregate that passes this domain.
    Aggregate(AggregateId),
    /// A session whose caller is here.
    Own(SessionId),
    /// A session whose callees are here.
    Hosted(SessionId),
}

/// What is known of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// Of [`Key::Aggregate`].
    Aggregate(HeldAggregate),
    /// Of [`Key::Own`].
    Own(OwnSession),
    /// Of [`Key::Hosted`].
    Hosted(HostedSession),
}

/// What was asked of this domain for an aggregate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Of the RESERVE.
    pub id: MessageId,
    /// The path.
    pub path: Vec<Asn>,
    /// The place of this domain in it.
    pub position: u8,
    /// The link by which it comes.
    pub link_in: Option<LinkId>,
    /// The traffic at its origin.
    pub traffic: TSpec,
    /// The limit of its delay.
    pub limit: u64,
    /// The limit of its loss: packets of a million.
    pub most_loss: u32,
    /// The delay before this domain.
    pub delay: u64,
    /// The jitter before this domain.
    pub jitter: u64,
    /// Packets of a million that may be lost before this domain.
    pub loss: u32,
    /// How long it lives.
    pub lifetime: u64,
    /// Who asks for it: the domain before, or the origin itself.
    pub asking: Asking,
}

/// An aggregate that this domain holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldAggregate {
    /// What was asked.
    pub asked: Asked,
    /// The border link by which it leaves; none at the last domain.
    pub link_out: Option<LinkId>,
    /// Nanoseconds through this domain, as its back-end said.
    pub delay: u64,
    /// Nanoseconds by which that varies.
    pub jitter: u64,
    /// Packets of a million that may be lost inside this domain; 0 if an older record does not say it.
    pub loss: u32,
    /// The label that comes in; 0 at the first domain, which has none.
    pub label_in: u32,
    /// The label that goes out; none at the last domain, nor where the origin has asked for it itself and has not told it yet.
    pub label_out: Option<u32>,
}

/// A flow of a session that this domain is the origin of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenLeg {
    /// Which.
    pub leg: LegId,
    /// What carries it.
    pub aggregate: AggregateId,
    /// The path of that.
    pub path: Vec<Asn>,
    /// The flow, with the rate that is reserved.
    pub flow: FlowRequest,
    /// The delay that was granted.
    pub delay: u64,
    /// Packets of a million that may be lost; [`ANY_LOSS`](crate::ANY_LOSS) if an older record does not say it.
    pub loss: u32,
    /// For a million bits per second and hour, in the smallest coin; none if it was not told.
    pub price: Option<u64>,
}

/// A session of a caller of this domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnSession {
    /// What was asked.
    pub request: SessionRequest,
    /// Bits per second of each flow.
    pub rates: Vec<u64>,
    /// Domains of callees.
    pub peers: Vec<Asn>,
    /// Flows that leave this domain.
    pub legs: Vec<OpenLeg>,
    /// When it ends.
    pub ends: u64,
    /// Until when the AAA server has granted it, or longer; none if none was asked.
    pub grant: Option<u64>,
    /// The session whose place it has taken, because an endpoint has another address.
    pub replaces: Option<SessionId>,
}

/// A session of callees of this domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostedSession {
    /// The caller.
    pub caller: IpAddr,
    /// Callees of this domain.
    pub callees: Vec<IpAddr>,
    /// All flows of the session.
    pub flows: Vec<FlowRequest>,
    /// Bits per second of each flow.
    pub rates: Vec<u64>,
    /// Flows that leave this domain.
    pub legs: Vec<OpenLeg>,
}
