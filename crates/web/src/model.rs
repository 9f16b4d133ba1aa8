//! What the manager hands over, and what it is asked.
use control::action::Pair;
use control::change_network::Reloaded;
use control::drain::Drained;
use control::operator::ByHand;
use control::report::{LinkReport, Report};
use control::tunnels::{TunnelStatus, TunnelsWanted};
use control::what_if::{Answer, Question};
use serde::Serialize;
use tokio::sync::oneshot::Sender;

/// What there is at a moment. Times in milliseconds since 1970, UTC, by the clock of the manager's host; latencies in nanoseconds.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When it was taken.
    pub time: u64,
    /// When the manager started.
    pub started: u64,
    /// The manager's view.
    pub report: Report,
    /// All directions of all links.
    pub links: Vec<LinkReport>,
    /// What is wrong and has been told to the log.
    pub alarms: Vec<Alarm>,
}

/// Something that is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Alarm {
    /// What it is about.
    pub subject: String,
    /// What is wrong, and what to do.
    pub text: String,
    /// Since when, in milliseconds since 1970.
    pub since: u64,
}

/// Something has happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    /// When, in milliseconds since 1970.
    pub time: u64,
    /// Who made it happen.
    pub who: String,
    /// What it was, in a word.
    pub what: &'static str,
    /// The same in a sentence.
    pub text: String,
    /// It needs the attention of an operator.
    pub warning: bool,
    /// The flow that it is about.
    pub flow: Option<Pair>,
    /// Frames that are dropped or missing.
    pub frames: Option<Place>,
}

/// Where frames of a flow are dropped or missing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Place {
    /// The gates, meter or switch.
    pub place: String,
    /// What is written.
    pub topic: String,
    /// `dropped`: they were more than the contract says. `missing`: they have passed the place before and not come.
    pub how: &'static str,
    /// How many, since the manager started.
    pub frames: u64,
}

/// What the manager is asked, with where it answers.
#[derive(Debug)]
pub enum Command {
    /// What would be answered to a request. Changes nothing.
    WhatIf(Question, Sender<Result<Answer, String>>),
    /// The network file is read again, and applied if all that is promised can be kept; why it cannot be read, if it cannot.
    Reload {
        /// It is not applied.
        check: bool,
        /// It is applied also if flows cannot be kept: they are revoked.
        force: bool,
        /// Who wants it.
        who: String,
        /// Where it is answered.
        answer: Sender<Result<Reloaded, String>>,
    },
    /// A flow ends by hand; what was done in words, or why it cannot be.
    ByHand {
        /// The flow.
        pair: Pair,
        /// How it ends.
        how: ByHand,
        /// Why.
        reason: String,
        /// Who wants it.
        who: String,
        /// Where the answer goes.
        answer: Sender<Result<String, Refused>>,
    },
    /// An owner of tunnels says what it wants; how far each is, or what is wrong with it.
    Tunnels {
        /// Who wants them.
        owner: u32,
        /// All that it wants.
        wanted: TunnelsWanted,
        /// Where the answer goes, as soon as all of it is decided, or after a while.
        answer: Sender<Result<TunnelsHeld, String>>,
    },
    /// Flows leave a switch, or may come back to it.
    Drain {
        /// The switch, by its name.
        switch: String,
        /// Whether what cannot leave is cut; `None`: flows may come back.
        force: Option<bool>,
        /// Why.
        reason: String,
        /// Who wants it.
        who: String,
        /// Where the answer goes: how far it is, or why it cannot be.
        answer: Sender<Result<Drained, String>>,
    },
}

/// What an owner of tunnels has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TunnelsHeld {
    /// Of the manager: a larger one after each of its starts.
    pub epoch: u64,
    /// All that it has wanted, with how far each is.
    pub tunnels: Vec<TunnelStatus>,
}

/// Why a flow is not ended by hand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There is no such flow.
    Unknown,
    /// It cannot be now; why, in words.
    Now(String),
}
