//! What a server is told, and what it tells.
use diameter::value::Identity;

use crate::entry::{Record, RecordKind, SessionEntry};
use crate::peers::{ConnectionId, Known};

/// The time, by two clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Now {
    /// Nanoseconds of a clock that does not go back.
    pub monotonic: u64,
    /// Seconds of Unix time.
    pub unix: u64,
}

/// What an operator says.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server.
    pub host: Identity,
    /// Its realm.
    pub realm: Identity,
    /// The addresses that it tells peers.
    pub addresses: Vec<std::net::IpAddr>,
    /// Peers, each with the clients that it may speak for besides itself.
    pub peers: Vec<(Known, Vec<Identity>)>,
    /// How long a grant holds without being renewed, in seconds.
    pub lifetime: u32,
    /// How long a client may go on after that while it asks again, in seconds.
    pub grace: u32,
    /// How long a session may last, in seconds.
    pub session_timeout: u32,
    /// How often interim records are wanted, in seconds.
    pub interim: u32,
    /// How often the watchdog looks at a quiet peer, in nanoseconds.
    pub watchdog: u64,
    /// Most sessions that are granted at a time.
    pub most_sessions: usize,
    /// Most sessions whose records are remembered.
    pub most_accounts: usize,
}

/// What a server has to know of a record that was stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// The session.
    pub session: String,
    /// Its number in the session.
    pub number: u32,
    /// What kind of record.
    pub kind: RecordKind,
    /// Whether the server knew a grant.
    pub granted: bool,
}

impl From<&Record> for Kept {
    fn from(record: &Record) -> Self {
        let Record { session, number, kind, granted, .. } = record;
        Self { session: session.clone(), number: *number, kind: *kind, granted: *granted }
    }
}

/// What is to be stored durably.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stored {
    /// Among the sessions.
    Session(SessionEntry),
    /// Among the records.
    Record(Box<Record>),
}

/// What the owner has to do.
#[derive(Debug)]
pub enum Output {
    /// Open a connection to a peer, then call [`super::Server::connected`] or [`super::Server::connect_failed`].
    Connect(Identity),
    /// Send these last bytes and close.
    Close {
        /// Which one.
        connection: ConnectionId,
        /// What is left to send.
        last: Vec<u8>,
    },
    /// Store this durably, after all that has a smaller number, then call [`super::Server::stored`].
    Store {
        /// Grows by one each time.
        number: u64,
        /// What.
        what: Stored,
    },
    /// What an operator asked for is done, or why it is not.
    Done {
        /// As the operator's question was called.
        command: u64,
        /// What to tell.
        result: Result<String, String>,
    },
    /// For the log.
    Log(String),
}
