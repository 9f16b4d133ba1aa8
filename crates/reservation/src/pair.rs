//! A writer and a reader that match, and what is known of both.
use alloc::string::String;
use core::net::IpAddr;

use wan::{Asn, Class};

/// A writer and a reader, by their GUIDs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PairId {
    /// The writer.
    pub writer: [u8; 16],
    /// The reader.
    pub reader: [u8; 16],
}

/// What a host takes of a limit, in nanoseconds: from a write until the packet is on the wire, or from there until the sample can be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// The time.
    pub time: u64,
    /// The participant has announced it; otherwise the operator has said it. Neither is proved.
    pub is_announced: bool,
}

/// Where an endpoint is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// Its address.
    pub address: IpAddr,
    /// The port of UDP at which its participant takes samples, or acknowledgements.
    pub port: u16,
    /// The port at which its participant takes discovery, if it is known.
    pub discovery_port: Option<u16>,
    /// The domain of the address, if it is known.
    pub domain: Option<Asn>,
    /// What its host takes, if it is known.
    pub share: Option<Share>,
}

/// What a writer sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traffic {
    /// Bytes of the largest sample, serialized.
    pub size: u32,
    /// Nanoseconds between two samples in the long run.
    pub separation: u64,
    /// Samples that may come at once.
    pub burst: u32,
}

/// A writer and a reader that match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// Which.
    pub id: PairId,
    /// Their topic.
    pub topic: String,
    /// Where samples come from.
    pub from: End,
    /// Where they go.
    pub to: End,
    /// Samples are acknowledged.
    pub is_reliable: bool,
    /// What the writer sends, or why that is not known and what to do.
    pub traffic: Result<Traffic, String>,
    /// The class that is asked for, if one is.
    pub class: Option<Class>,
    /// Nanoseconds from write to read at most, if that is asked for.
    pub latency: Option<u64>,
}

/// What RTPS adds to samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overhead {
    /// Bytes of UDP payload around a sample at most.
    pub around: u32,
    /// Bytes of UDP payload of a datagram that acknowledges, or asks for an acknowledgement.
    pub control: u32,
    /// Nanoseconds between two HEARTBEATs that come by themselves.
    pub heartbeat: u64,
    /// Samples that each reliable writer may repeat in a second for a reader.
    pub repairs: u32,
    /// Bytes of the largest IP packet.
    pub packet: u32,
    /// Bits per second for discovery in each direction; 0 reserves nothing for it.
    pub discovery: u64,
}
