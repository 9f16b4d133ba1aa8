//! Hosts that move: flows of an address that is at another port now are revoked, and admitted along their new way if there is one.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use wire::admission::Address;

use openflow::oxm::OxmField;
use openflow::packet::PacketIn;

use crate::action::Action;
use crate::fabric::{ARP, Claimed, Fabric, MOVES_ANSWER, is_neighbour, sender, source};
use crate::operations::Timer;
use crate::requests::dotted;
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// A packet has come in: its sender may be at another port than it was.
    pub(crate) fn hear_of_move(&mut self, now: Duration, datapath: u64, packet: &PacketIn) {
        let port = packet.matching.get(OxmField::InPort).and_then(|oxm| u32::try_from(oxm.value()).ok());
        let switch = self.fabric.switch_index(datapath);
        let Some((switch, port)) = switch.zip(port) else { return };
        // What else hosts send says nothing of where they are: it may come from further away.
        let is_arp = packet.data.get(12..14) == Some(&ARP.to_be_bytes());
        let tells = is_arp || is_neighbour(&packet.data);
        let Some(address) = sender(&packet.data).filter(|_| tells) else { return };
        let Some(host) = self.fabric.host_at(switch, port) else { return };
        let ethernet = source(&packet.data).filter(|source| source[0] & 1 == 0);
        match self.fabric.claim(now, host, address, ethernet) {
            Claimed::Known => {}
            Claimed::Moved(before) => self.has_moved(now, address, before, host),
            Claimed::Asked(switch, messages) => {
                self.operations.act(Action::Send { switch, messages });
                self.operations.wake(now.saturating_add(MOVES_ANSWER), Timer::Moved);
            }
            Claimed::Stays(before) => {
                let name = |host: usize| self.fabric.network().node_name(host).into();
                let claimed = address;
                let (before, address): (String, _) = (name(before), dotted(address));
                let subject = format!("the address {address}");
                let what = format!(
                    "{address} speaks at more than one place, last at the port of {}: it stays with {before}, where the network file has it or where it answers",
                    self.fabric.network().node_name(host)
                );
                let notes = self.cabling.note_odd(now, subject, what);
                // A claim that was dropped at its port is told there, and that the address stays: in the report is both.
                if !(Fabric::has_refused(packet) && self.fabric.is_fixed(claimed)) {
                    notes.into_iter().for_each(|note| self.note(note));
                }
            }
        }
    }

    /// Former places of addresses have had the time to answer.
    pub(crate) fn moves_are_due(&mut self, now: Duration) {
        for (address, before, host) in self.fabric.unanswered(now) {
            self.has_moved(now, address, before, host);
        }
    }

    fn has_moved(&mut self, now: Duration, address: Address, before: usize, host: usize) {
        let network = self.fabric.network();
        let reason = format!(
            "{} has moved from the port of {} to that of {}",
            dotted(address),
            network.node_name(before),
            network.node_name(host)
        );
        let moved: Vec<u64> = self
            .reservations
            .all()
            .filter(|grant| {
                let asked = grant.pairs.iter().filter_map(|pair| self.requests.get(*pair));
                let mut sockets = asked.flat_map(|asked| [asked.request.source, asked.request.destination]);
                sockets.any(|socket| socket.address == address) || grant.source.address == address
            })
            .map(|grant| grant.number)
            .collect();
        for number in moved {
            self.revoke(now, number, &reason);
        }
        self.requests.look_again();
    }
}
