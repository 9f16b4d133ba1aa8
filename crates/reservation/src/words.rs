//! What sessions and those around them say to each other.
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use wan::Class;

use crate::pair::PairId;
use crate::plan::{Budget, Ends, Flow};

/// A question to the manager. Later ones are larger.
pub type Ticket = u64;

/// Times in nanoseconds, and how much at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// So long what is needed must not change before it is asked for.
    pub settle: u64,
    /// From one request between two addresses to the next at least.
    pub spacing: u64,
    /// After a refusal; twice as long after the next one, and so on.
    pub hold: u64,
    /// At most after a refusal.
    pub most_hold: u64,
    /// After an answer that did not come.
    pub retry: u64,
    /// From one look at what the manager holds to the next.
    pub look: u64,
    /// A session lasts so long; it is extended by half of that each time half is over.
    pub lasts: u64,
    /// Questions under way at a time.
    pub most_under_way: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let second = 1_000_000_000;
        Self {
            settle: second,
            spacing: 5 * second,
            hold: 10 * second,
            most_hold: 300 * second,
            retry: second,
            look: 10 * second,
            lasts: 120 * second,
            most_under_way: 8,
        }
    }
}

/// The bound of a flow that is admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// Which flow of the session.
    pub flow: usize,
    /// Nanoseconds from edge to edge at most, of packets that arrive.
    pub delay: u64,
    /// Packets of a million that do not arrive, at most.
    pub loss: u32,
    /// Bits per second.
    pub rate: u64,
}

/// What has become of a flow since it was admitted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Way {
    /// How often it has gone another way, because the one before was no more.
    pub detours: u32,
    /// It was admitted with two copies of each packet, and one of them is no more.
    pub has_one_copy_left: bool,
}

/// A flow of a session goes another way, or with another number of copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// Which flow of the session.
    pub flow: usize,
    /// The way before is no more.
    pub is_detour: bool,
    /// Whether one of two copies is no more; none if that is as before.
    pub has_one_copy_left: Option<bool>,
    /// Nanoseconds from edge to edge at most of the new way, if there is one.
    pub delay: Option<u64>,
    /// Packets of a million that the new way may lose, if that is told.
    pub loss: Option<u32>,
}

/// A session that the manager holds for this program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Its name.
    pub session: String,
    /// Where its data come from.
    pub caller: IpAddr,
    /// Where they go.
    pub callees: Vec<IpAddr>,
    /// Nanoseconds until it ends.
    pub left: u64,
}

/// What came of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A session is there.
    Admitted {
        /// Its name.
        session: String,
        /// Bounds of its flows.
        bounds: Vec<Bound>,
    },
    /// No, and why.
    Refused(String),
    /// It has been stopped or extended.
    Done,
    /// There is no such session.
    Unknown,
    /// All sessions of this program.
    Held(Vec<Listed>),
    /// So many bits per second could be reserved.
    Free(u64),
    /// None has come: what was asked for may have been done.
    Lost(String),
}

/// What a pair is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Its session is not there yet.
    Pending,
    /// It is in a session.
    Admitted {
        /// Which.
        session: String,
        /// How its limit is divided.
        budget: Budget,
        /// Nanoseconds from edge to edge at most, of packets that arrive.
        bound: u64,
        /// Packets of a million that do not arrive, at most.
        loss: u32,
        /// What has become of its flow since.
        way: Way,
    },
    /// It is in none: why.
    Without(String),
    /// Writer and reader match no more.
    Over,
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// The manager is asked for a session.
    Establish {
        /// Of the answer.
        ticket: Ticket,
        /// From where to where.
        ends: Ends,
        /// Its flows.
        flows: Vec<Flow>,
        /// Nanoseconds that it lasts.
        lasts: u64,
    },
    /// The manager is to stop a session.
    Stop {
        /// Of the answer.
        ticket: Ticket,
        /// Which.
        session: String,
    },
    /// The manager is to let a session last longer.
    Extend {
        /// Of the answer.
        ticket: Ticket,
        /// Which.
        session: String,
        /// Nanoseconds after the end that it has.
        by: u64,
    },
    /// The manager is asked how much could be reserved on the way to the second address.
    Query {
        /// Of the answer.
        ticket: Ticket,
        /// From where to where.
        ends: Ends,
        /// In which class.
        class: Class,
    },
    /// The manager is asked for all sessions of this program.
    Look {
        /// Of the answer.
        ticket: Ticket,
    },
    /// A pair is told what it has now.
    Tell(PairId, Verdict),
}
