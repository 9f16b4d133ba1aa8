//! Where Ethernet addresses have been seen at a switch, and what the first packets of hosts say of themselves.
use alloc::collections::{BTreeMap, VecDeque};
use core::time::Duration;

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

    /// A packet from the address has come by the port.
    pub(crate) fn see(&mut self, now: Duration, address: MacAddress, port: u32, most: usize) -> Lesson {
        if address[0] & 1 != 0 || most == 0 || !self.may_learn(now) {
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

/// The IPv4 address that the sender of a frame has, by ARP or IPv4; `None` for others, and for addresses that no host has.
pub(crate) fn sender(frame: &[u8]) -> Option<[u8; 4]> {
    let kind = frame.get(12..14)?;
    let address: [u8; 4] = match kind {
        [0x08, 0x06] => frame.get(28..32)?.try_into().ok()?,
        [0x08, 0x00] => frame.get(26..30)?.try_into().ok()?,
        _ => return None,
    };
    let good = address[0] != 0 && address[0] < 224 && address[0] != 127;
    good.then_some(address)
}
