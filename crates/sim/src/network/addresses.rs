//! Interfaces and the addresses that they are given.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{HostId, SegmentId};

/// How a host is connected to a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attachment {
    /// The segment.
    pub segment: SegmentId,
    /// With an IPv4 address.
    pub ipv4: bool,
    /// With an IPv6 address.
    pub ipv6: bool,
}

/// An interface of a host: one attachment and the addresses that it has now.
#[derive(Clone, Debug)]
pub struct Interface {
    host: HostId,
    attachment: Attachment,
    renumbered: u8,
    addresses: Vec<IpAddr>,
}

impl Interface {
    /// Length of the network part of every IPv4 address.
    pub const PREFIX_V4: u8 = 16;
    /// Length of the network part of every IPv6 address.
    pub const PREFIX_V6: u8 = 64;

    pub(super) fn new(host: HostId, attachment: Attachment) -> Self {
        let mut interface = Self { host, attachment, renumbered: 0, addresses: Vec::new() };
        interface.number();
        interface
    }

    /// The segment that it is attached to.
    pub const fn segment(&self) -> SegmentId {
        self.attachment.segment
    }

    /// The addresses that it has now, IPv4 first.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// The length of the network part of one of its addresses.
    pub const fn prefix_len(address: &IpAddr) -> u8 {
        if address.is_ipv4() { Self::PREFIX_V4 } else { Self::PREFIX_V6 }
    }

    /// The source address of a datagram: the one asked for if it is here, otherwise the one of the right family.
    pub(super) fn source(&self, asked: Option<IpAddr>, ipv4: bool) -> Option<IpAddr> {
        let mut fitting = self.addresses.iter().filter(|address| address.is_ipv4() == ipv4);
        match asked {
            Some(asked) => fitting.find(|address| **address == asked).copied(),
            None => fitting.next().copied(),
        }
    }

    /// Replaces every address by one that no host had before.
    pub(super) fn renumber(&mut self) {
        self.renumbered = self.renumbered.wrapping_add(1);
        self.number();
    }

    fn number(&mut self) {
        let Attachment { segment, ipv4, ipv6 } = self.attachment;
        let host = self.host.0 as u8 + 1;
        self.addresses.clear();
        if ipv4 {
            self.addresses.push(Ipv4Addr::new(10, segment.0 as u8, self.renumbered, host).into());
        }
        if ipv6 {
            let (segment, renumbered) = (segment.0 as u16, u16::from(self.renumbered));
            self.addresses
                .push(Ipv6Addr::new(0xfd00, 0, 0, segment, 0, 0, renumbered, u16::from(host)).into());
        }
    }
}

/// The loopback address of a family.
pub(super) const fn loopback(ipv4: bool) -> IpAddr {
    if ipv4 { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { IpAddr::V6(Ipv6Addr::LOCALHOST) }
}
