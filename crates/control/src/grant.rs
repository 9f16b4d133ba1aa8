//! What is stored of an admitted flow: enough to know it again after a start, and to put it back as it was.
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use serde::{Deserialize, Serialize};
use wire::admission::Address;

use crate::foreign::aggregate::Aggregate;
pub use crate::losses::{StoredRole, StoredTogether};
use crate::tunnels::Tunnel;

/// A stored grant. Nodes and ports are named, so that it can be told when the network is another one.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Grant {
    /// Its number, which no other stored grant has.
    pub number: u64,
    /// The pairs of writer and reader that it serves, and what they asked for.
    pub pairs: Vec<StoredPair>,
    /// Where the flow comes from: address and port.
    pub source: (StoredAddress, u16),
    /// Where it goes: address and port.
    pub destination: (StoredAddress, u16),
    /// The contract that it was admitted with.
    pub contract: StoredContract,
    /// What goes from host to host, if it is all of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<Aggregate>,
    /// Which packets, of a tunnel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<Tunnel>,
    /// Its role in a flow with losses, if it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<StoredRole>,
    /// Its maximum latency, in nanoseconds.
    pub maximum_latency: u64,
    /// The most time between messages that its readers accept, in nanoseconds; 0 if it does not matter.
    pub maximum_separation: u64,
    /// Its hops, the writer's host first.
    pub hops: Vec<StoredHop>,
    /// Where it ends, if it is a tree; what stands above about latency and separation is the least of all then. Without them the hops
    /// are one way, each the one after that before it.
    #[serde(default)]
    pub ends: Vec<StoredEnd>,
    /// The MAC address of the reader's host, if it is no tree; zeros if it is not known.
    #[serde(default)]
    pub address: [u8; 6],
    /// Number of its meter at the first switch; 0 if it has none.
    pub meter: u32,
}

/// An address: four bytes of IPv4, or sixteen of IPv6.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StoredAddress {
    /// Of IPv4.
    Four([u8; 4]),
    /// Of IPv6.
    Six([u8; 16]),
}

impl Default for StoredAddress {
    fn default() -> Self {
        Self::Four([0; 4])
    }
}

impl From<Address> for StoredAddress {
    fn from(address: Address) -> Self {
        match address.ip() {
            IpAddr::V4(four) => Self::Four(four.octets()),
            IpAddr::V6(six) => Self::Six(six.octets()),
        }
    }
}

impl From<StoredAddress> for Address {
    fn from(stored: StoredAddress) -> Self {
        match stored {
            StoredAddress::Four(four) => four.into(),
            StoredAddress::Six(six) => Self::from_bytes(six),
        }
    }
}

/// A pair of a grant.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct StoredPair {
    /// GUID of the writer.
    pub writer: [u8; 16],
    /// GUID of the reader.
    pub reader: [u8; 16],
    /// The request that was answered.
    pub serial: u64,
    /// What is written.
    pub topic: String,
    /// What the reader asked for, in nanoseconds.
    pub maximum_latency: u64,
    /// The same, 0 if it does not matter.
    pub maximum_separation: u64,
    /// Index of its end.
    #[serde(default)]
    pub end: usize,
}

/// A contract as it is stored; the fields are those of [`wire::admission::Contract`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct StoredContract {
    pub largest_message: u32,
    pub smallest_message: u32,
    pub datagram: u32,
    pub minimum_separation: u64,
    pub maximum_separation: u64,
    pub jitter: u64,
    pub emission: u64,
    #[serde(default)]
    pub slack: u64,
    pub importance: u8,
}

/// A hop of a grant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoredHop {
    /// The node that the port belongs to.
    pub from: String,
    /// The node that it leads to.
    pub to: String,
    /// The number that a switch gives the port; 0 at a host.
    pub number: u32,
    /// The delay that no frame exceeds there, in picoseconds.
    pub share: u64,
    /// The level there.
    pub level: u8,
    /// Index of the hop before, in a tree.
    #[serde(default)]
    pub parent: Option<usize>,
    /// Number of the group of the switch that it leads to; 0 if there is none.
    #[serde(default)]
    pub group: u32,
}

/// An end of a tree.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoredEnd {
    /// Index of its last hop.
    pub hop: usize,
    /// Where readers receive: address and port.
    pub to: (StoredAddress, u16),
    /// The Ethernet address of their host.
    pub address: [u8; 6],
    /// Its maximum latency, in nanoseconds.
    pub maximum_latency: u64,
    /// The most time between messages that readers accept, in nanoseconds; 0 if it does not matter.
    pub maximum_separation: u64,
}
