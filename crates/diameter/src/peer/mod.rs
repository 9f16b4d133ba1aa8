//! The connections to one peer, as a state machine: RFC 6733, 5.6, with the watchdog of RFC 3539.
//!
//! The owner opens, accepts and closes connections when [`Event`]s say so, hands in received bytes, and sends what
//! [`Peer::unsent`] has. Time is nanoseconds of a clock that does not go back. After each call events are taken by
//! [`Peer::poll_event`] until there is none.
//!
//! A request that has no answer when the peer becomes suspect, the connection ends, or its time is up goes back to the owner
//! with the T flag: the owner sends it to another peer, or here again later.
//!
//! RFC 3539 throws away what comes while a connection that was opened again proves itself. Requests are handed to the owner
//! here all the same: the peer may trust the connection already, and would wait in vain.
mod exchange;
mod traffic;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::fmt;

use crate::command::{CapabilitiesExchangeRequest, DisconnectCause};
use crate::error::DecodeError;
use crate::framer::{Framer, Longest};
use crate::header::{ApplicationId, CommandCode, Header};
use crate::local::Local;
use crate::message::Message;
use crate::result_code::ResultCode;
use crate::value::Identity;
use crate::watchdog::{Action, State as Liveness, Watchdog};

/// How a peer is talked to.
#[derive(Clone, Debug)]
pub struct Config {
    /// This node.
    pub local: Local,
    /// The peer. A node with another name is refused.
    pub peer: Identity,
    /// Whether connections are opened from here; they are always accepted.
    pub connect: bool,
    /// True if no other peer does for it: requests are sent as soon as the peers talk, also while a connection that was opened
    /// again proves itself, for which RFC 3539 would have them go elsewhere.
    pub is_only_way: bool,
    /// Nanoseconds between watchdog messages on a quiet connection; at least six seconds.
    pub watchdog_interval: u64,
    /// Nanoseconds until a connection has to be open, and until one that is being closed is closed.
    pub exchange_timeout: u64,
    /// Nanoseconds until a request without answer goes back to the owner.
    pub request_timeout: u64,
    /// The longest message that is taken or sent.
    pub largest_message: usize,
    /// How many requests may wait for answers of the peer.
    pub most_pending: usize,
    /// How many requests of the peer may wait for answers of the owner; more are refused as DIAMETER_TOO_BUSY.
    pub most_requested: usize,
    /// How many bytes may wait to be sent. From half of it on, requests are refused; above it, the connection is closed.
    pub most_unsent: usize,
}

impl Config {
    /// The times that the RFCs recommend, and limits for a node with a few hundred requests at once.
    pub const fn new(local: Local, peer: Identity, connect: bool) -> Self {
        const SECOND: u64 = 1_000_000_000;
        Self {
            local,
            peer,
            connect,
            is_only_way: false,
            watchdog_interval: 30 * SECOND,
            exchange_timeout: 10 * SECOND,
            request_timeout: 10 * SECOND,
            largest_message: 65_536,
            most_pending: 1024,
            most_requested: 1024,
            most_unsent: 4 << 20,
        }
    }
}

/// One of the two connections that there may be at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// The one that was opened from here.
    Initiated,
    /// The one that the peer opened.
    Accepted,
}

/// What the peer has told of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Its name.
    pub host: Identity,
    /// Its realm.
    pub realm: Identity,
    /// What it calls itself.
    pub product_name: Option<alloc::string::String>,
    /// A number that grows when it has lost its sessions.
    pub origin_state_id: Option<u32>,
    /// The applications that both know; a relay knows all of the other's.
    pub common: Vec<ApplicationId>,
}

/// Why the peers do not talk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DownReason {
    /// The connection could not be opened.
    ConnectFailed,
    /// It was not open in time.
    Timeout,
    /// The transport is gone.
    Lost,
    /// The peer did not answer the watchdog.
    Silent,
    /// The peer sent bytes that are no message, or one that cannot be here.
    BadBytes(DecodeError),
    /// The peer sent a message that does not belong here.
    Unexpected(CommandCode),
    /// The node at the other end has another name.
    OtherPeer(Identity),
    /// The peers have nothing in common, or the peer said why not.
    Refused(ResultCode),
    /// The peer takes no bytes.
    NotReading,
    /// The peer said good-bye.
    PeerLeft(DisconnectCause),
    /// [`Peer::stop`] was called.
    Stopped,
}

impl fmt::Display for DownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConnectFailed => f.write_str("no connection could be opened"),
            Self::Timeout => f.write_str("the exchange of capabilities or the good-bye took too long"),
            Self::Lost => f.write_str("the connection is gone"),
            Self::Silent => f.write_str("the peer did not answer the watchdog"),
            Self::BadBytes(error) => write!(f, "the peer sent what is no message: {error}"),
            Self::Unexpected(command) => write!(f, "the peer sent {command} where it may not"),
            Self::OtherPeer(identity) => {
                write!(f, "the node calls itself {identity}: check the address of the peer")
            }
            Self::Refused(code) => write!(f, "no agreement about capabilities: {code}"),
            Self::NotReading => f.write_str("the peer takes no more bytes"),
            Self::PeerLeft(cause) => write!(f, "the peer said good-bye: {cause:?}"),
            Self::Stopped => f.write_str("stopped from here"),
        }
    }
}

/// Why a request has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unanswered {
    /// Its time is up.
    Timeout,
    /// The peer does not answer the watchdog.
    Suspect,
    /// The connection has ended.
    Down,
}

/// Where the answer to a received request goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket {
    connection: u64,
    hop_by_hop: u32,
}

/// What has happened, or what the owner has to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Open a connection, then call [`Peer::connected`] or [`Peer::connect_failed`].
    Connect,
    /// Send these last bytes and close the connection. Nothing more is to be told of it.
    Close {
        /// Which one.
        side: Side,
        /// What is left to send.
        last: Vec<u8>,
    },
    /// The peers talk.
    Open {
        /// By which connection.
        side: Side,
        /// What the peer is and can.
        capabilities: Capabilities,
    },
    /// They do not any more, or could not begin to.
    Down(DownReason),
    /// The peer does not answer, or has to prove itself after a pause: requests go elsewhere.
    Suspended,
    /// Requests may be sent here (again).
    Available,
    /// The peer asks.
    Request {
        /// Where the answer goes.
        ticket: Ticket,
        /// The request.
        message: Vec<u8>,
    },
    /// The peer has answered.
    Answer {
        /// What the owner called the request.
        token: u64,
        /// The answer.
        message: Vec<u8>,
    },
    /// A request has no answer. Send it to another peer, or here again.
    Unanswered {
        /// What the owner called the request.
        token: u64,
        /// The request, with the T flag.
        message: Vec<u8>,
        /// Why.
        reason: Unanswered,
    },
}

/// Why a message was not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SendError {
    /// Requests cannot be sent now: the peers do not talk, or the peer is suspect.
    Unavailable,
    /// As many requests as allowed wait for answers, or as many bytes to be sent.
    Busy,
    /// The message is no request, no answer, or longer than the limit.
    Unfit(&'static str),
    /// The connection that the request came by is gone, or the request is answered: forget the answer.
    Gone,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable => f.write_str("the peer takes no requests now: send it to another one"),
            Self::Busy => f.write_str("the peer has enough to do: send it to another one, or later"),
            Self::Unfit(why) => f.write_str(why),
            Self::Gone => f.write_str("the request has been answered, or its connection is gone"),
        }
    }
}

impl core::error::Error for SendError {}

/// The states of RFC 6733, 5.6.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Closed,
    WaitConnAck,
    WaitConnAckElect,
    WaitInitiatedCea,
    WaitReturns,
    Open(Side),
    Closing(Side),
}

#[derive(Clone, Debug)]
struct Connection {
    framer: Framer,
    unsent: Vec<u8>,
    /// Tells its tickets from those of other connections.
    number: u64,
}

#[derive(Clone, Debug)]
struct Pending {
    token: u64,
    message: Vec<u8>,
    due: u64,
}

/// One peer.
#[derive(Debug)]
pub struct Peer {
    config: Config,
    state: State,
    /// Until when the state has to change.
    state_due: Option<u64>,
    /// False after a good-bye for good: no connections are opened from here by the watchdog.
    wanted: bool,
    watchdog: Watchdog,
    initiated: Option<Connection>,
    accepted: Option<Connection>,
    /// The CER of the accepted connection, until its answer is sent.
    introduction: Option<(Header, CapabilitiesExchangeRequest)>,
    pending: BTreeMap<u32, Pending>,
    requested: BTreeMap<Ticket, CommandCode>,
    events: VecDeque<Event>,
    hop_by_hop: u32,
    connections: u64,
    unmatched: u64,
}

impl Peer {
    /// A peer without connection. `random` makes hop-by-hop numbers and intervals differ from those of others.
    pub fn new(config: Config, now: u64, random: u64) -> Self {
        let watchdog = Watchdog::new(now, config.watchdog_interval, random);
        Self {
            config,
            state: State::Closed,
            state_due: None,
            wanted: true,
            watchdog,
            initiated: None,
            accepted: None,
            introduction: None,
            pending: BTreeMap::new(),
            requested: BTreeMap::new(),
            events: VecDeque::new(),
            hop_by_hop: (random >> 32) as u32,
            connections: 0,
            unmatched: 0,
        }
    }

    /// How it is talked to.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// True if the peers talk.
    pub const fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// True if requests may be sent.
    pub fn is_available(&self) -> bool {
        let proves_itself = self.config.is_only_way && self.watchdog.state() == Liveness::Reopen;
        self.is_open() && (proves_itself || self.watchdog.state() == Liveness::Okay)
    }

    /// How many requests wait for answers of the peer.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// How many requests of the peer wait for answers of the owner.
    pub fn requested(&self) -> usize {
        self.requested.len()
    }

    /// Answers that belonged to no request, and requests that came again: dropped.
    pub const fn unmatched(&self) -> u64 {
        self.unmatched
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Bytes to send by a connection.
    pub fn unsent(&self, side: Side) -> &[u8] {
        self.connection(side).map_or(&[], |connection| &connection.unsent)
    }

    /// So many of the bytes of [`Self::unsent`] have been sent.
    pub fn sent(&mut self, side: Side, count: usize) {
        if let Some(connection) = self.connection_mut(side) {
            connection.unsent.drain(..count.min(connection.unsent.len()));
        }
    }

    /// When [`Self::on_timer`] is to be called.
    pub fn due(&self) -> u64 {
        let requests = self.pending.values().map(|pending| pending.due).min();
        [self.state_due, requests].into_iter().flatten().fold(self.watchdog.due(), u64::min)
    }

    /// Something of [`Self::due`] has come.
    pub fn on_timer(&mut self, now: u64) {
        let overdue: Vec<u32> =
            self.pending.iter().filter(|(_, one)| one.due <= now).map(|(number, _)| *number).collect();
        for number in overdue {
            self.give_back(number, Unanswered::Timeout);
        }
        if self.state_due.is_some_and(|due| due <= now) {
            self.state_due = None;
            self.on_state_timeout(now);
        }
        if let Some(action) = self.watchdog.on_timer(now) {
            self.act(now, action);
        }
    }

    fn act(&mut self, now: u64, action: Action) {
        match action {
            Action::SendWatchdog => {
                if let State::Open(side) = self.state {
                    let message = self.config.local.watchdog_request();
                    let number = self.next_number();
                    self.queue_message(
                        now,
                        side,
                        &message,
                        Header { end_to_end: number, ..number_of(&message, number) },
                    );
                }
            }
            Action::Failover => {
                self.give_back_all(Unanswered::Suspect);
                if self.is_open() {
                    self.events.push_back(Event::Suspended);
                }
            }
            Action::Failback => self.events.push_back(Event::Available),
            Action::Close => self.down(now, DownReason::Silent),
            Action::AttemptOpen => {
                if self.wanted {
                    self.open(now);
                }
            }
        }
    }

    fn connection(&self, side: Side) -> Option<&Connection> {
        match side {
            Side::Initiated => self.initiated.as_ref(),
            Side::Accepted => self.accepted.as_ref(),
        }
    }

    fn connection_mut(&mut self, side: Side) -> Option<&mut Connection> {
        match side {
            Side::Initiated => self.initiated.as_mut(),
            Side::Accepted => self.accepted.as_mut(),
        }
    }

    fn new_connection(&mut self) -> Connection {
        self.connections = self.connections.wrapping_add(1);
        Connection {
            framer: Framer::of(Longest(self.config.largest_message)),
            unsent: Vec::new(),
            number: self.connections,
        }
    }

    fn next_number(&mut self) -> u32 {
        self.hop_by_hop = self.hop_by_hop.wrapping_add(1);
        self.hop_by_hop
    }

    /// Takes a connection away and tells the owner to close it.
    fn close(&mut self, side: Side) {
        let connection = match side {
            Side::Initiated => self.initiated.take(),
            Side::Accepted => {
                self.introduction = None;
                self.accepted.take()
            }
        };
        if let Some(connection) = connection {
            self.events.push_back(Event::Close { side, last: connection.unsent });
        }
    }

    /// Closes what there is; requests without answer go back.
    fn down(&mut self, now: u64, reason: DownReason) {
        let tell = !matches!(self.state, State::Closing(_) | State::Closed);
        self.close(Side::Initiated);
        self.close(Side::Accepted);
        self.enter(State::Closed, None);
        if tell {
            self.events.push_back(Event::Down(reason));
        }
        self.ended(now);
    }

    /// The peers do not talk any more: nothing that was under way will be answered.
    fn ended(&mut self, now: u64) {
        self.requested.clear();
        self.give_back_all(Unanswered::Down);
        self.watchdog.on_down(now);
    }

    const fn enter(&mut self, state: State, due: Option<u64>) {
        self.state = state;
        self.state_due = due;
    }

    fn give_back_all(&mut self, reason: Unanswered) {
        let numbers: Vec<u32> = self.pending.keys().copied().collect();
        for number in numbers {
            self.give_back(number, reason);
        }
    }
}

/// The header of a request with a hop-by-hop number.
fn number_of(message: &Message, hop_by_hop: u32) -> Header {
    Header { hop_by_hop, ..message.request_header() }
}
