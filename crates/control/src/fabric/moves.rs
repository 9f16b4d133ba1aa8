//! Hosts that move to another port: addresses that were learned follow, once their former place does not answer for them any more.
//!
//! Who speaks with an address that another port has is believed at once if that port is down. Else the former place is asked by ARP, and keeps the address if it
//! answers within a second: so no host takes an address away from a host that is there. An address that the network file gives moves never.
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};
use core::time::Duration;
use wire::admission::Address;

use openflow::Message;
use openflow::action::Action as Forward;
use openflow::packet::PacketOut;
use openflow::words::{BufferId, MacAddress, PortNo};

use super::entries::{IPV6, SOLICITATION};
use super::{ARP, Fabric, Site};
use crate::network::Network;

/// How long the former place has to answer.
pub(crate) const ANSWER: Duration = Duration::from_secs(1);
/// Addresses that are asked for at a time.
const MOST_CLAIMS: usize = 1_024;
/// The address from which the manager asks: a locally administered one.
const ASKER: MacAddress = [0x02, 0x50, 0x55, 0x4e, 0x43, 0x54];
const BROADCAST: MacAddress = [0xff; 6];

/// A host speaks with an address that another port has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Claim {
    /// The host by whose port it speaks.
    host: usize,
    /// The Ethernet address that it has.
    source: Option<MacAddress>,
    until: Duration,
}

/// What is to be done about a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Claimed {
    /// Nothing that is new.
    Known,
    /// The address is at the other port now; which host it was at before.
    Moved(usize),
    /// The former place is asked: this switch is told so.
    Asked(u64, Vec<Message>),
    /// The address stays where it was: the network file says so, or it answers there.
    Stays(usize),
}

impl Fabric {
    /// Whether the network file says where an address is.
    pub(crate) fn is_fixed(&self, address: Address) -> bool {
        self.network.hosts.iter().any(|host| host.has(address))
    }

    /// A host's port has said that it has an address: what that means if another port has it.
    pub(crate) fn claim(
        &mut self,
        now: Duration,
        host: usize,
        address: Address,
        source: Option<MacAddress>,
    ) -> Claimed {
        let Some(before) = self.located.get(&address).copied() else { return Claimed::Known };
        if before == host {
            // It is there: the other port was wrong.
            return match self.claims.remove(&address) {
                Some(_) => Claimed::Stays(before),
                None => Claimed::Known,
            };
        }
        if self.network.hosts.get(host).is_none() {
            return Claimed::Known;
        }
        if self.is_fixed(address) {
            return Claimed::Stays(before);
        }
        let Some((access, back)) = self.network.access(before) else { return Claimed::Known };
        if self.down.contains(&access) || self.down.contains(&back) {
            self.relocate(host, address, source);
            return Claimed::Moved(before);
        }
        if self.claims.contains_key(&address) || self.claims.len() >= MOST_CLAIMS {
            return Claimed::Known;
        }
        let link = self.network.links.get(back);
        let place = link.and_then(|link| Some((self.network.switch_of(link.from)?, link.number)));
        // A switch that is away cannot send the question.
        let Some((switch, number)) = place.filter(|(switch, _)| self.is_ready(Site::Switch(*switch))) else {
            return Claimed::Known;
        };
        self.claims.insert(address, Claim { host, source, until: now.saturating_add(ANSWER) });
        let known = self.ethernet.get(&address).copied();
        let data = match address.ip() {
            IpAddr::V4(four) => question(known.unwrap_or(BROADCAST), four.octets()),
            IpAddr::V6(six) => solicitation(known, six),
        };
        let actions = alloc::vec![Forward::output(PortNo(number))];
        let packet = PacketOut { buffer: BufferId::NONE, in_port: PortNo::CONTROLLER, actions, data };
        Claimed::Asked(self.datapath(switch), alloc::vec![Message::PacketOut(packet)])
    }

    /// The time to answer is over: the addresses that have moved, each with the host that it was at and the one that it is at.
    pub(crate) fn unanswered(&mut self, now: Duration) -> Vec<(Address, usize, usize)> {
        let over = self.claims.iter().filter(|(_, claim)| claim.until <= now);
        let over: Vec<(Address, Claim)> = over.map(|(address, claim)| (*address, *claim)).collect();
        let mut moved = Vec::new();
        for (address, Claim { host, source, .. }) in over {
            self.claims.remove(&address);
            let before = self.located.get(&address).copied().filter(|before| *before != host);
            // A switch that has gone meanwhile may have kept the answer.
            let could_answer = |before: &usize| {
                let back = self.network.access(*before).and_then(|(_, back)| self.network.links.get(back));
                let switch = back.and_then(|link| self.network.switch_of(link.from));
                switch.is_some_and(|switch| self.is_ready(Site::Switch(switch)))
            };
            if let Some(before) = before.filter(could_answer) {
                self.relocate(host, address, source);
                moved.push((address, before, host));
            }
        }
        moved
    }

    fn relocate(&mut self, host: usize, address: Address, source: Option<MacAddress>) {
        self.claims.remove(&address);
        self.located.insert(address, host);
        match source {
            Some(source) => self.ethernet.insert(address, source),
            None => self.ethernet.remove(&address),
        };
    }

    /// The host that the network file has at the other end of a link from a switch.
    pub(crate) fn host_at(&self, switch: usize, port: u32) -> Option<usize> {
        let link = self.network.link_at(switch, port)?;
        let to = self.network.links.get(Network::back(link))?.from;
        (to < self.network.hosts.len()).then_some(to)
    }
}

/// Asks by ARP who has an address, without an address of its own (RFC 5227, 2.1.1).
fn question(to: MacAddress, address: [u8; 4]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(60);
    frame.extend(to);
    frame.extend(ASKER);
    frame.extend(ARP.to_be_bytes());
    // Ethernet and IPv4, a request.
    frame.extend([0, 1, 8, 0, 6, 4, 0, 1]);
    frame.extend(ASKER);
    frame.extend([0; 10]);
    frame.extend(address);
    frame.resize(60, 0);
    frame
}

/// Asks by a neighbour solicitation who has an address, without an address of its own, as a host does that wants the address (RFC 4862, 5.4.2): its
/// owner answers to all.
fn solicitation(to: Option<MacAddress>, address: Ipv6Addr) -> Vec<u8> {
    let [.., a, b, c] = address.octets();
    // The group of all that have an address with this end (RFC 4291, 2.7.1), and its Ethernet address (RFC 2464, 7).
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from_be_bytes([b, c]));
    let mut message = alloc::vec![SOLICITATION, 0, 0, 0, 0, 0, 0, 0];
    message.extend(address.octets());
    // The sum is over the addresses, the length, the next header and the message (RFC 8200, 8.1).
    let mut summed = group.octets().to_vec();
    summed.extend([0, 0, 0, 24, 0, 0, 0, 58]);
    summed.extend(&message);
    let (words, _) = summed.as_chunks::<2>();
    let mut sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let sum = !u16::try_from(sum).unwrap_or(0);
    message.splice(2..4, sum.to_be_bytes());
    let mut frame = Vec::with_capacity(78);
    frame.extend(to.unwrap_or([0x33, 0x33, 0xff, a, b, c]));
    frame.extend(ASKER);
    frame.extend(IPV6.to_be_bytes());
    frame.extend([0x60, 0, 0, 0, 0, 24, 58, 255]);
    frame.extend([0; 16]);
    frame.extend(group.octets());
    frame.extend(message);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solicitation_is_known_by_its_bytes() {
        let frame = solicitation(None, "fd00::12:3456".parse().unwrap());
        assert_eq!(frame[..6], [0x33, 0x33, 0xff, 0x12, 0x34, 0x56]);
        assert_eq!(frame.len(), 14 + 40 + 24);
        let mut summed = frame[22..].to_vec();
        summed.extend([0, 24, 0, 58]);
        let (words, rest) = summed.as_chunks::<2>();
        let sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
        assert_eq!(((sum & 0xffff) + (sum >> 16), rest.len()), (0xffff, 0));
        assert!(super::super::learning::is_neighbour(&frame));
        assert_eq!(super::super::learning::sender(&frame), None);
    }
}
