//! Where Ethernet addresses have been seen at a switch, and what the first packets of hosts say of themselves.
use super::entries::{ADVERTISEMENT, SOLICITATION};
use alloc::collections::{BTreeMap, VecDeque};
use core::net::IpAddr;
use core::time::Duration;
use wire::admission::Address;

use openflow::words::MacAddress;

/// How many addresses a switch may learn in a burst, and per second after that: packets that ask for more are forwarded
/// without being learned.
const BURST: u32 = 256;

/// What is known of addresses at a switch.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Addresses {
    known: BTreeMap<MacAddress, u32>,
    /// In the order of their coming; those that have gone since are passed over.
    order: VecDeque<(MacAddress, u32)>,
    /// What may be learned now, and when that was counted.
    room: u32,
    counted: Option<Duration>,
}

/// What a packet teaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lesson {
    /// Nothing new.
    Nothing,
    /// As many are known at this port as may be.
    Crowded,
    /// The address is at this port. If it was elsewhere, that is over; if there was no room, another has been forgotten.
    Learned {
        /// Where it was so far.
        before: Option<u32>,
        /// Who has been forgotten for it, and where it was.
        forgotten: Option<(MacAddress, u32)>,
    },
}

impl Addresses {
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn clear(&mut self) {
        self.known.clear();
        self.order.clear();
    }

    /// A packet from the address has come by the port: so many addresses are known at most, and so many of them at this port.
    pub(crate) fn see(
        &mut self,
        now: Duration,
        address: MacAddress,
        port: u32,
        most: usize,
        most_here: usize,
    ) -> Lesson {
        if address[0] & 1 != 0 || most == 0 {
            return Lesson::Nothing;
        }
        let here = || self.known.values().filter(|at| **at == port).count();
        if self.known.get(&address) != Some(&port) && here() >= most_here {
            return Lesson::Crowded;
        }
        if !self.may_learn(now) {
            return Lesson::Nothing;
        }
        let before = self.known.insert(address, port).filter(|before| *before != port);
        self.order.push_back((address, port));
        let mut forgotten = None;
        while self.known.len() > most {
            let Some((old, at)) = self.order.pop_front() else { break };
            if old != address && self.known.get(&old) == Some(&at) {
                self.known.remove(&old);
                forgotten = Some((old, at));
            }
        }
        if self.order.len() > most.saturating_mul(4) {
            self.order.retain(|(address, port)| self.known.get(address) == Some(port));
        }
        Lesson::Learned { before, forgotten }
    }

    /// The port at which an address is known.
    pub(crate) fn at(&self, address: MacAddress) -> Option<u32> {
        self.known.get(&address).copied()
    }

    /// The switch has forgotten the address at this port. True if it was known there.
    pub(crate) fn forget(&mut self, address: MacAddress, port: u32) -> bool {
        let there = self.known.get(&address) == Some(&port);
        if there {
            self.known.remove(&address);
        }
        there
    }

    fn may_learn(&mut self, now: Duration) -> bool {
        let counted = self.counted.get_or_insert(now);
        let seconds = now.saturating_sub(*counted).as_secs();
        if seconds > 0 || self.order.is_empty() {
            *counted = now;
            self.room = BURST;
        }
        let may = self.room > 0;
        self.room = self.room.saturating_sub(1);
        may
    }
}

/// The Ethernet address that a frame comes from.
pub(crate) fn source(frame: &[u8]) -> Option<MacAddress> {
    frame.get(6..12)?.try_into().ok()
}

/// The address that the sender of a frame has, by ARP, IPv4, IPv6 or as what it advertises itself (RFC 4861, 4.4); `None` for others, and for
/// addresses that no host has, or that hosts of several links have.
pub(crate) fn sender(frame: &[u8]) -> Option<Address> {
    advertised(frame).or_else(|| source_address(frame)).filter(|address| is_of_host(*address))
}

/// The address that a packet, or ARP, says that it comes from.
pub(crate) fn source_address(frame: &[u8]) -> Option<Address> {
    let four = |at: usize| frame.get(at..)?.first_chunk::<4>().map(|bytes| Address::from(*bytes));
    match frame.get(12..14)? {
        [0x08, 0x06] => four(28),
        [0x08, 0x00] => four(26),
        [0x86, 0xdd] => frame.get(22..)?.first_chunk().map(|bytes| Address::from_bytes(*bytes)),
        _ => None,
    }
}

/// The address that a neighbour advertisement is about.
pub(crate) fn advertised(frame: &[u8]) -> Option<Address> {
    let target = || frame.get(62..)?.first_chunk().map(|bytes| Address::from_bytes(*bytes));
    if is_neighbour(frame) && frame.get(54) == Some(&ADVERTISEMENT) { target() } else { None }
}

/// Whether it is a neighbour solicitation or advertisement, without extension headers, from this link.
pub(crate) fn is_neighbour(frame: &[u8]) -> bool {
    let is_icmp = frame.get(12..14) == Some(&[0x86, 0xdd]) && frame.get(20) == Some(&58);
    let is_near = frame.get(21) == Some(&255);
    is_icmp && is_near && matches!(frame.get(54), Some(&(SOLICITATION | ADVERTISEMENT)))
}

fn is_of_host(address: Address) -> bool {
    match address.ip() {
        IpAddr::V4(four) => {
            let [first, ..] = four.octets();
            first != 0 && first < 224 && first != 127
        }
        IpAddr::V6(six) => {
            let is_none = six.is_unspecified() || six.is_multicast() || six.is_loopback();
            !is_none && !six.is_unicast_link_local()
        }
    }
}
