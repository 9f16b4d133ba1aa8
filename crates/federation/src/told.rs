//! What a gateway tells of its work.
use alloc::string::String;

use crate::event::GatewayId;

/// What happened, for people who look after a federation.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// The connection to a peer works.
    Up(GatewayId),
    /// The connection to a peer has ended; it is tried again. Either nothing has come for the lease, or the peer began anew.
    Down {
        /// The peer.
        peer: GatewayId,
        /// Whether nothing has come for the lease; otherwise the peer began anew.
        is_silent: bool,
    },
    /// The peer has suspended the connection, or resumed it.
    Suspended {
        /// The peer.
        peer: GatewayId,
        /// Whether it is suspended.
        is_suspended: bool,
    },
    /// Events for a peer or a group were given up, because what is kept for it is full. It is told once until there is room again.
    Full {
        /// The peer, or one that is reached through it.
        peer: GatewayId,
    },
    /// A filter of a subscription does not suit the events: they are sent without it, and the subscriber judges them.
    Filter {
        /// The gateway of the subscriber.
        subscriber: GatewayId,
        /// The type of the events.
        kind: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Counts since the start of a gateway.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Counts {
    /// Events that its process published.
    pub published: u64,
    /// Transfers of events: to a peer, or to a group. What is sent again counts once.
    pub transfers: u64,
    /// Events that came for its process.
    pub delivered: u64,
    /// Events that had come before, and were refused.
    pub doubles: u64,
    /// Events that came although its process subscribes to them no more.
    pub unwanted: u64,
    /// Destinations of events that were given up: there was no room, no way to them, or the peer died.
    pub given_up: u64,
    /// Fragments that were sent again.
    pub repairs: u64,
    /// Datagrams that were handed out to be sent: events and all that keeps a federation together.
    pub datagrams: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Datagrams of strangers, or that could not be read.
    pub refused: u64,
}
