//! What commands and programs of callees say to a manager at its local socket, and what it answers: one JSON text a line.
mod paths;

use std::net::IpAddr;

pub use paths::{BgpStatus, PathStatus, Paths};
use serde::{Deserialize, Serialize};

/// Most bytes of a line to a manager.
pub(crate) const LONGEST_ASKED: u64 = 64 << 10;
/// Most bytes of a line from a manager.
pub(crate) const LONGEST_ANSWER: u64 = 256 << 20;

/// What is wanted of a manager.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ask {
    /// A session is set up.
    Establish(SessionAsked),
    /// A session ends.
    Stop {
        /// As it was told when the session was admitted.
        session: String,
    },
    /// A session of a caller of this domain is to last longer.
    Extend {
        /// As it was told when the session was admitted.
        session: String,
        /// Nanoseconds after the end that it has.
        by: u64,
    },
    /// An endpoint of a session of a caller of this domain has another address: answered as [`Ask::Establish`] is. The new session has a name of its
    /// own, and the one before ends when it is let in.
    Move {
        /// As it was told when the session was admitted.
        session: String,
        /// The caller or one of the callees.
        from: IpAddr,
        /// Its address from now on.
        to: IpAddr,
    },
    /// What is free on the way to a domain?
    Query {
        /// The domain.
        asn: u32,
        /// The class: `ef`, `af4` or `af1`.
        class: String,
    },
    /// What there is.
    Status,
    /// Which paths to other domains there are.
    Paths,
    /// Each session that begins, is refused or ends from now on.
    Monitor,
    /// A program has measured how long a flow takes.
    Measured(Measured),
    /// Asks me about sessions whose callees are among these addresses. Each question is a [`Question`] in a line, each answer a [`Reply`].
    Callee {
        /// The addresses.
        prefix: String,
    },
}

/// How long samples of a flow took, as a program of its callees or callers has measured. The manager does not verify it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Measured {
    /// The session, as it was told when it was admitted.
    pub session: String,
    /// Which of its flows, from 0.
    pub flow: u8,
    /// The domain that the flow goes to.
    pub to: u32,
    /// How many samples were measured since the session began.
    pub samples: u64,
    /// Their median, in nanoseconds.
    pub median: u64,
    /// The longest of them, in nanoseconds.
    pub worst: u64,
}

/// A session that is asked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SessionAsked {
    /// Its user, by name.
    pub user: String,
    /// The session service, by name.
    pub service: String,
    /// The address that data comes from.
    pub caller: IpAddr,
    /// The addresses that it goes to.
    pub callees: Vec<IpAddr>,
    /// All flows.
    pub flows: Vec<Flow>,
    /// Nanoseconds that it lasts.
    pub lasts: u64,
}

/// One flow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Flow {
    /// `data`, `acknack` or `discovery`.
    pub kind: String,
    /// `forward`, to the callees, or `reverse`.
    pub direction: String,
    /// The protocol of IP.
    pub protocol: u8,
    /// The port it leaves from; 0 is any.
    pub source_port: u16,
    /// The port it goes to.
    pub destination_port: u16,
    /// `ef`, `af4` or `af1`.
    pub class: String,
    /// Bits per second of IP packets.
    pub rate: u64,
    /// Bytes at once.
    pub bucket: u64,
    /// Bytes of the largest packet.
    pub largest_packet: u32,
    /// Bits per second that are enough.
    pub least_rate: u64,
    /// Nanoseconds from edge to edge at most.
    pub limit: u64,
    /// Packets of a million that agreements of the path may lose together; a million is no limit.
    #[serde(default = "any_loss")]
    pub most_loss: u32,
    /// How many copies of each packet go at once, over paths that share no domain on the way: 1 or 2.
    #[serde(default = "one")]
    pub copies: u8,
    /// `hop-by-hop`: each domain of the path asks the next one; `direct`: the first one asks each of them, where agreements let it.
    #[serde(default = "hop_by_hop")]
    pub asking: String,
}

fn any_loss() -> u32 {
    wan::ANY_LOSS
}

fn one() -> u8 {
    1
}

fn hop_by_hop() -> String {
    "hop-by-hop".to_owned()
}

/// What a manager answers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// A session is there.
    Admitted(Admitted),
    /// There is none, or nothing is free.
    Refused(Refused),
    /// A session has ended.
    Stopped {
        /// Which.
        session: String,
    },
    /// A session lasts longer.
    Extended {
        /// Nanoseconds since 1970 when it ends now.
        ends: u64,
    },
    /// What could be reserved.
    Free {
        /// Bits per second.
        rate: u64,
        /// Nanoseconds from edge to edge.
        delay: u64,
        /// Nanoseconds by which that varies.
        jitter: u64,
        /// Packets of a million that agreements of the path may lose.
        loss: u32,
    },
    /// What there is.
    Status(Box<Status>),
    /// Which paths to other domains there are.
    Paths(Box<Paths>),
    /// What was measured is taken down.
    Noted {
        /// Of which session.
        session: String,
    },
    /// To `monitor`, each time.
    Event(Event),
    /// There is no session of this name.
    Unknown {
        /// The name.
        session: String,
        /// The same in words, and what to do.
        what: String,
    },
    /// The manager does not take questions now; this one has not reached it.
    Unavailable {
        /// Why, and what to do.
        what: String,
    },
    /// The question makes no sense: what is wrong, and what to do.
    Wrong {
        /// That.
        what: String,
    },
}

/// A session that is there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Admitted {
    /// What it is called.
    pub session: String,
    /// Domains of its callees.
    pub peers: Vec<u32>,
    /// Flows that leave the caller's domain.
    pub bounds: Vec<Bound>,
    /// Nanoseconds since 1970 when it ends.
    pub ends: u64,
    /// What the bounds depend on beside the reservations.
    pub caveat: Option<String>,
}

/// What a bound promises. The two are never the same promise, and no number is made of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundKind {
    /// Each packet arrives, and is in time.
    EveryPacket,
    /// Each packet that arrives is in time. How many do not is said beside it.
    #[default]
    WhatArrives,
}

impl BoundKind {
    /// That of a bound on a way that may lose so many packets of a million.
    pub const fn of(loss: u32) -> Self {
        if loss == 0 { Self::EveryPacket } else { Self::WhatArrives }
    }
}

/// One reserved flow, or one copy of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Bound {
    /// Which of the flows that were asked for, from 0.
    pub flow: u8,
    /// The domain that it goes to.
    pub to: u32,
    /// Which copy of it: 1, and 2 for the second one of two.
    #[serde(default = "one")]
    pub copy: u8,
    /// The domains that it passes, both ends included; none where an earlier version has kept what was answered.
    #[serde(default)]
    pub path: Vec<u32>,
    /// What its delay is about; if a record of an earlier version does not say it, the lesser promise.
    #[serde(default)]
    pub kind: BoundKind,
    /// Nanoseconds from edge to edge at most.
    pub delay: u64,
    /// Packets of a million that the path may lose at most: its links, and the domains inside.
    pub loss: u32,
    /// What agreements of the path cost for a million bits per second and hour, in the smallest coin; none if a domain does not tell.
    pub price: Option<u64>,
    /// Bits per second that are reserved.
    pub rate: u64,
    /// Bytes that are reserved at once.
    pub bucket: u64,
    /// The mark of its packets.
    pub dscp: u8,
}

/// Why something is refused or has ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Refused {
    /// The domain that refuses.
    pub asn: u32,
    /// The border link that is the reason, if one is.
    pub link: Option<u32>,
    /// One word for each kind of reason.
    pub reason: String,
    /// How much is missing, in the unit.
    pub missing: Option<u64>,
    /// How much could be had, in the unit.
    pub offer: Option<u64>,
    /// `bit/s`, `bytes` or `ns`.
    pub unit: Option<String>,
    /// The domain that is to be asked instead, or that is no destination.
    pub other: Option<u32>,
    /// All of it, for people.
    pub text: String,
}

/// A session has begun, was refused, has ended or goes another way, or a border link has changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// It was admitted.
    Admitted(Admitted),
    /// None was set up.
    Refused {
        /// Who asked, by name.
        user: String,
        /// The caller.
        caller: IpAddr,
        /// The callees.
        callees: Vec<IpAddr>,
        /// Why.
        why: Refused,
    },
    /// It has ended, and why.
    Ended {
        /// Which.
        session: String,
        /// Why.
        why: Refused,
    },
    /// A flow goes another way, because the one before is no more.
    Rerouted {
        /// The session.
        session: String,
        /// Which of its flows, from 0.
        flow: u8,
        /// The domain of callees.
        to: u32,
        /// Nanoseconds from edge to edge at most, from now on.
        delay: u64,
        /// Packets of a million that the way may lose, from now on.
        loss: u32,
        /// What became of the way before.
        why: Refused,
    },
    /// One copy of a flow is no more; the other one goes on.
    CopyLost {
        /// The session.
        session: String,
        /// Which of its flows, from 0.
        flow: u8,
        /// The domain of callees.
        to: u32,
        /// What became of the copy.
        why: Refused,
    },
    /// Two copies of a flow go again.
    CopyBack {
        /// The session.
        session: String,
        /// Which of its flows, from 0.
        flow: u8,
        /// The domain of callees.
        to: u32,
        /// Nanoseconds from edge to edge at most of the copy that goes again.
        delay: u64,
    },
    /// A border link of this domain is cut, or works again.
    Link {
        /// Which.
        link: u32,
        /// It works.
        is_up: bool,
        /// What is seen of it.
        what: String,
    },
    /// So many events were left out, because they were read too slowly.
    Missed {
        /// How many.
        count: u64,
    },
}

/// What there is at a manager.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Status {
    /// The domain.
    pub asn: u32,
    /// The start of the manager.
    pub epoch: u32,
    /// Other managers.
    pub managers: Vec<ManagerStatus>,
    /// Border links on which this domain sends, by class.
    pub links: Vec<LinkStatus>,
    /// Sessions of callers of this domain.
    pub sessions: Vec<SessionStatus>,
    /// Sessions of other domains with callees in this one.
    pub hosted: Vec<String>,
    /// When edges were last asked what they have let in, in nanoseconds since 1970; none if they have not said it yet, or none counts.
    pub counted: Option<u64>,
    /// What they had let in then of each flow that enters the network in this domain.
    pub delivered: Vec<DeliveredStatus>,
    /// What passes this domain, by tunnel and class.
    pub aggregates: Vec<AggregateStatus>,
    /// Messages that were left out because they were no messages, or not of the domain that sent them.
    pub false_messages: u64,
    /// What bounds depend on beside the reservations.
    pub caveat: Option<String>,
}

/// Another manager.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ManagerStatus {
    /// Its domain.
    pub asn: u32,
    /// Where it is.
    pub address: String,
    /// A connection to it is there.
    pub is_connected: bool,
    /// Messages to it that were left out, because it was away or too slow.
    pub dropped: u64,
}

/// A class of a border link on which this domain sends.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LinkStatus {
    /// The link.
    pub link: u32,
    /// The domain that it goes to.
    pub to: u32,
    /// It works, as far as is known.
    pub is_up: bool,
    /// The class.
    pub class: String,
    /// Bits per second that are agreed.
    pub rate: u64,
    /// Bits per second that are reserved.
    pub reserved: u64,
    /// Bytes at once that are agreed.
    pub burst: u64,
    /// Bytes at once that are reserved.
    pub reserved_burst: u64,
    /// Nanoseconds over the link, as agreed.
    pub delay: u64,
    /// Nanoseconds by which that varies.
    pub jitter: u64,
    /// Packets of a million that may be lost, as agreed. No bound counts them: it is one of what arrives.
    pub loss: u32,
    /// `drop` or `demote`: what is agreed to happen to what is sent beyond it.
    pub excess: String,
    /// For a million bits per second and hour, in the smallest coin.
    pub price: u64,
    /// When the agreement ends, in nanoseconds since 1970, if it does.
    pub ends: Option<u64>,
}

/// A session of a caller of this domain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SessionStatus {
    /// What it is called.
    pub session: String,
    /// Whose it is, by name; the number where the file has no name for it any more.
    pub user: String,
    /// The caller.
    pub caller: IpAddr,
    /// The callees.
    pub callees: Vec<IpAddr>,
    /// Bits per second of each flow.
    pub rates: Vec<u64>,
    /// All flows, as they were asked for.
    pub flows: Vec<Flow>,
    /// Flows that leave this domain.
    pub bounds: Vec<Bound>,
    /// What programs have measured of them, and told last.
    pub measured: Vec<Measured>,
    /// Nanoseconds since 1970 when it was admitted; none if that was before the start of the manager.
    pub since: Option<u64>,
    /// Nanoseconds since 1970 when it ends.
    pub ends: u64,
}

/// What an edge has let in of a flow: a packet counts once, however many copies of it go on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DeliveredStatus {
    /// The session.
    pub session: String,
    /// Which of its flows, from 0.
    pub flow: u8,
    /// The domain that the flow goes to.
    pub to: u32,
    /// Packets.
    pub packets: u64,
    /// Bytes of IP.
    pub bytes: u64,
}

/// An aggregate: all that one tunnel carries in one class.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AggregateStatus {
    /// The domain that the tunnel begins in, and its number there.
    pub tunnel: String,
    /// The class.
    pub class: String,
    /// Its domains.
    pub path: Vec<u32>,
    /// Bits per second.
    pub rate: u64,
    /// Bytes at once, where it begins.
    pub bucket: u64,
    /// The label that its packets come with, if they have one.
    pub label_in: Option<u32>,
    /// The label that they leave with.
    pub label_out: Option<u32>,
    /// The border link that they leave by.
    pub link_out: Option<u32>,
}

/// A question to a program of callees.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Question {
    /// Of the answer.
    pub number: u64,
    /// The session.
    pub session: String,
    /// Who calls.
    pub caller: IpAddr,
    /// Who is asked.
    pub callees: Vec<IpAddr>,
    /// All flows.
    pub flows: Vec<Flow>,
}

/// What a program of callees says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Reply {
    /// Of the question.
    pub number: u64,
    /// Bits per second for each flow, none above what is desired; without them it refuses.
    #[serde(default)]
    pub rates: Option<Vec<u64>>,
}
