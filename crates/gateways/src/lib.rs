//! Gateways of federations on sockets.
//!
//! A [`Federated`] is the [`federation::Gateway`] of a process with its sockets and threads: a thread for the UDP socket, one for that of groups, one
//! that looks after the time, and two for each connection of TCP. A publishing thread sends. Events that come are handed out on the
//! thread that received them.
//!
//! No lock is held while a datagram is sent, or while a subscriber is called.
mod config;
mod draining;
mod running;
mod streams;

pub use config::{Config, Group, Peer, StartError, Transport};
pub use federation::{
    Counts, Filter, GatewayId, Header, Interest, KindId, LimitError, Notice, Published, Settings,
};
pub use running::{Federated, Received, Subscription};
