//! What managers tell each other. A reservation is told as a whole, never as a difference, and numbered; so what is lost, late or doubled does no
//! harm.
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::request::FlowRequest;
use crate::words::{AggregateId, Asking, Asn, LinkId, MessageId, Refusal, SessionId, TSpec};

/// A message between two managers, which the owner authenticates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Who says it.
    pub from: Asn,
    /// To whom.
    pub to: Asn,
    /// What.
    pub body: Body,
}

/// What is said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// To the next domain of the path.
    Reserve(Reserve),
    /// To the domain before.
    Response(Response),
    /// To the domain before: what was reserved is no more.
    Notify(Notify),
    /// To the next domain of the path: what is free?
    Query(Query),
    /// To the domain before.
    QueryResponse(QueryResponse),
    /// Between the domains of caller and callee.
    Session(SessionId, SessionBody),
}

/// Asks for an aggregate, keeps it alive, or ends it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reserve {
    /// Which.
    pub aggregate: AggregateId,
    /// Greater than those before, unless it repeats the last.
    pub id: MessageId,
    /// The time at the origin when it was sent, which responses repeat.
    pub echo: u64,
    /// All domains from the origin to the destination.
    pub path: Vec<Asn>,
    /// Which of them this message goes to.
    pub position: u8,
    /// The border link by which the traffic comes; none at the origin.
    pub link: Option<LinkId>,
    /// All that the aggregate sends at the origin. None ends it.
    pub traffic: Option<TSpec>,
    /// Nanoseconds that the delay over the whole path may have.
    pub limit: u64,
    /// Packets of a million that may be lost over the whole path.
    pub most_loss: u32,
    /// Nanoseconds of delay so far.
    pub delay: u64,
    /// Nanoseconds of jitter so far.
    pub jitter: u64,
    /// Packets of a million that may be lost so far.
    pub loss: u32,
    /// Nanoseconds that state lives without another RESERVE.
    pub lifetime: u64,
    /// Who sends it: the domain before, or the origin to each domain.
    pub asking: Asking,
    /// With which label the next domain wants packets, where the origin asks each domain and knows it.
    pub label: Option<u32>,
}

/// Says what became of a [`Reserve`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    /// Which aggregate.
    pub aggregate: AggregateId,
    /// Of the RESERVE.
    pub id: MessageId,
    /// Of the RESERVE.
    pub echo: u64,
    /// Granted by all domains from the sender on, or refused by one of them.
    pub verdict: Result<Granted, Refusal>,
}

/// What all domains grant together; where the origin asks each of them, what those up to the one that answers do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granted {
    /// What is reserved.
    pub reserved: TSpec,
    /// Nanoseconds from edge to edge, over the whole path.
    pub delay: u64,
    /// Nanoseconds by which that varies.
    pub jitter: u64,
    /// Packets of a million that may be lost, over the whole path.
    pub loss: u32,
    /// What agreements from the sender of the response on cost for a million bits per second and hour, in the smallest coin; none if one of
    /// their domains does not tell.
    pub price: Option<u64>,
    /// The label with which the sender of the response wants its packets.
    pub label: u32,
    /// The link by which they leave its domain, where the origin asks each domain. Delay, jitter and loss are those at the end of it, and the price
    /// is its own.
    pub link: Option<LinkId>,
}

/// Tells the origin that a domain no longer holds an aggregate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notify {
    /// Which.
    pub aggregate: AggregateId,
    /// Of the RESERVE that had been granted.
    pub id: MessageId,
    /// Why.
    pub refusal: Refusal,
}

/// Asks what could be reserved. Nothing is kept of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query {
    /// Of the origin's.
    pub number: u64,
    /// What the class and the tunnel would be; no tunnel has this number.
    pub aggregate: AggregateId,
    /// All domains from the origin to the destination.
    pub path: Vec<Asn>,
    /// Which of them this message goes to.
    pub position: u8,
    /// The border link by which the traffic would come.
    pub link: Option<LinkId>,
    /// Bits per second that all domains so far have.
    pub available: u64,
    /// Nanoseconds of delay so far.
    pub delay: u64,
    /// Nanoseconds of jitter so far.
    pub jitter: u64,
    /// Packets of a million that may be lost so far.
    pub loss: u32,
}

/// The answer to a [`Query`], which goes back over the same domains.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueryResponse {
    /// Of the query.
    pub number: u64,
    /// All domains from the origin to the destination.
    pub path: Vec<Asn>,
    /// Which of them this message goes to.
    pub position: u8,
    /// Bits per second, delay and jitter of all domains together, or why nothing is free.
    pub verdict: Result<Available, Refusal>,
}

/// What could be reserved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Available {
    /// Bits per second.
    pub rate: u64,
    /// Nanoseconds from edge to edge.
    pub delay: u64,
    /// Nanoseconds by which that varies.
    pub jitter: u64,
    /// Packets of a million that may be lost.
    pub loss: u32,
}

/// What the domains of caller and callee tell each other of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SessionBody {
    /// Caller: would your callees take part?
    Establish(Establish),
    /// Callee: yes, with these rates for its flows, or no.
    Established(Result<Vec<u64>, Refusal>),
    /// Caller: reserve the flows that come from you at these rates. Repeated, it keeps the session alive.
    Commit {
        /// The caller's time, which the answer repeats.
        echo: u64,
        /// Bits per second of each flow.
        rates: Vec<u64>,
    },
    /// Callee: they are reserved and let in.
    Committed {
        /// Of the commit.
        echo: u64,
    },
    /// Caller: the session ends, and why.
    Stop(Refusal),
    /// Callee: it has ended.
    Ended(Refusal),
    /// The domain that a flow comes from: it goes another way now.
    Rerouted {
        /// Which of the flows.
        flow: u8,
        /// Nanoseconds from edge to edge at most.
        delay: u64,
        /// Packets of a million that may be lost.
        loss: u32,
        /// What became of the way before.
        refusal: Refusal,
    },
    /// The domain that a flow comes from: one copy of it is left, or two go again.
    Copies {
        /// Which of the flows; the second copy has 128 added.
        flow: u8,
        /// Nanoseconds from edge to edge at most of this copy, which goes again, or what became of it.
        said: Result<u64, Refusal>,
    },
}

/// What a callee's domain is told of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Establish {
    /// The address of the caller.
    pub caller: IpAddr,
    /// Callees of this domain alone.
    pub callees: Vec<IpAddr>,
    /// All flows.
    pub flows: Vec<FlowRequest>,
}
