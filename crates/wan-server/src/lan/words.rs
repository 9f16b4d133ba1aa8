//! What is said to the manager of a LAN, and what it answers: `PUT /api/v1/tunnels/{owner}` of `docs/web.md`, as JSON.
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// Which packets go into a tunnel: of UDP over IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Packets {
    /// All with this codepoint.
    Codepoint(u8),
    /// Those of one flow; a port of 0 is any.
    Flow { source: Ipv4Addr, source_port: u16, destination: Ipv4Addr, destination_port: u16 },
}

/// A tunnel that is wanted. Times in nanoseconds, rates in bits per second of packets of IP, sizes in bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Wish {
    pub(super) id: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) packets: Packets,
    pub(super) rate: u64,
    pub(super) burst: u64,
    pub(super) least_packet: u32,
    pub(super) largest_packet: u32,
    pub(super) jitter: u64,
    pub(super) limit: u64,
    pub(super) importance: u8,
}

/// All that is wanted.
#[derive(Debug, Serialize)]
pub(super) struct Wanted<'w> {
    pub(super) lifetime: u64,
    pub(super) keep_others: bool,
    pub(super) tunnels: &'w [Wish],
}

/// How far a tunnel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    Pending,
    Admitted,
    Refused,
    Revoked,
}

/// What is said of one.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(super) struct Status {
    pub(super) id: String,
    pub(super) state: State,
    pub(super) reason: String,
    pub(super) bound: u64,
    pub(super) offered_limit: u64,
    pub(super) grant: u64,
}

/// What there is.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(super) struct Held {
    pub(super) tunnels: Vec<Status>,
}

/// Why nothing was done.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Wrong {
    #[serde(default)]
    pub(super) error: String,
}
