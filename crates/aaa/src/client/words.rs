//! What a client is told, asks and answers.
use std::fmt;

use diameter::qos::QosResources;
use diameter::result_code::ResultCode;
use diameter::session::client::EndReason;
use diameter::value::Identity;

use crate::entry::SpoolEntry;
use crate::peers::{ConnectionId, Known};

/// Who asks whom.
#[derive(Clone, Debug)]
pub struct Settings {
    /// This client.
    pub host: Identity,
    /// Its realm.
    pub realm: Identity,
    /// The addresses that it tells peers.
    pub addresses: Vec<std::net::IpAddr>,
    /// Servers, or agents that know the way to one. The first that can be asked is asked.
    pub servers: Vec<Known>,
    /// The realm that decides and keeps records.
    pub server_realm: Identity,
    /// Nanoseconds in which a request is granted, or counts as refused.
    pub limit: u64,
    /// How often the watchdog looks at a quiet peer, in nanoseconds.
    pub watchdog: u64,
    /// Most records that wait for the server.
    pub most_records: usize,
    /// Most sessions at a time.
    pub most_sessions: usize,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The name of the user, or of its certificate, which the owner has verified.
    pub user: String,
    /// The user's secret, if the server is to verify it.
    pub secret: Option<Vec<u8>>,
    /// The flows and their traffic.
    pub resources: QosResources,
}

/// What is granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permit {
    /// The session.
    pub session: String,
    /// The flows and their traffic, which may be less than what was asked for.
    pub resources: Option<QosResources>,
    /// How often interim records are wanted, in seconds.
    pub interim: Option<u32>,
    /// When it ends unless it is renewed, by the clock that does not go back; `None` if the server has said no end.
    pub until: Option<u64>,
}

/// Why nothing is granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The server has refused.
    Denied {
        /// Its code.
        code: ResultCode,
        /// What it says to people.
        reason: String,
    },
    /// No server can be asked now.
    NoServer,
    /// There was no answer in so many nanoseconds.
    NoAnswer(u64),
    /// There is no room: as many sessions or records as allowed.
    Full(&'static str),
    /// It was aborted, or given up here, before it was granted.
    Ended,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied { code, reason } if reason.is_empty() => write!(f, "the server refuses it: {code}"),
            Self::Denied { code, reason } => write!(f, "the server refuses it: {reason}; {code}"),
            Self::NoServer => f.write_str("no server can be asked now: nothing is granted without one"),
            Self::NoAnswer(limit) => {
                write!(f, "no answer in {} ms: nothing is granted without one", limit / 1_000_000)
            }
            Self::Full(what) => write!(f, "as many {what} as allowed: nothing more is granted"),
            Self::Ended => f.write_str("it was ended before it was granted"),
        }
    }
}

impl std::error::Error for Refusal {}

/// What the owner has to do or to know.
#[derive(Debug)]
pub enum Output {
    /// Open a connection to a peer, then call [`super::Client::connected`] or [`super::Client::connect_failed`].
    Connect(Identity),
    /// Send these last bytes and close.
    Close {
        /// Which one.
        connection: ConnectionId,
        /// What is left to send.
        last: Vec<u8>,
    },
    /// Store this durably, after all that has a smaller number, then call [`super::Client::stored`].
    Store {
        /// Grows by one each time.
        number: u64,
        /// What.
        entry: SpoolEntry,
    },
    /// A request is decided.
    Decided {
        /// The session.
        session: String,
        /// What is granted, or why nothing is.
        result: Result<Permit, Refusal>,
    },
    /// A grant was renewed, maybe with less.
    Renewed(Permit),
    /// The session is over: stop serving, and call [`super::Client::stop_accounting`] if it is accounted.
    Ended {
        /// The session.
        session: String,
        /// Why.
        reason: EndReason,
    },
    /// A record is stored. After the first one the session may be served.
    Accounted {
        /// The session.
        session: String,
        /// The number of the record.
        number: u32,
    },
    /// The time for an interim record has come: call [`super::Client::interim`].
    InterimDue(String),
    /// For the log.
    Log(String),
}
