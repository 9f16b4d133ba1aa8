//! Switches that come, go and change, and the tree that carries what is not admitted.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use wire::admission::Address;

use openflow::flow::FlowRemoved;
use openflow::packet::PacketIn;
use openflow::port::{PortReason, PortStatus};
use openflow::words::MacAddress;

use crate::action::{Action, SwitchReport};
use crate::fabric::{Heard, MOST_OF_A_HOST, Phase, Site, SwitchRefusal};
use crate::note::Note;
use crate::operations::{Chore, Timer};
use crate::reservations::End;
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// A switch has connected and said what it is. It is read, put right, and used after that.
    ///
    /// # Errors
    /// It is not what the network says; its connection should be closed. Nothing has been changed in it.
    pub fn switch_up(&mut self, now: Duration, report: &SwitchReport) -> Result<(), SwitchRefusal> {
        let switch = self.fabric.take_switch(report)?;
        self.goes_away(now, Site::Switch(switch));
        for port in &report.ports {
            self.fabric.see_port(switch, port, false);
        }
        self.see_ports(now, switch, &report.ports);
        self.fabric.forget_addresses(switch);
        let groups = report.groups.as_ref().map_or(u32::MAX, |groups| groups.max_groups[0]);
        // Those of VLANs are always there.
        let of_vlans = u32::try_from(self.fabric.network().vlans().len()).unwrap_or(u32::MAX);
        let groups = groups.saturating_sub(of_vlans);
        self.reservations.set_room_for_groups(switch, groups);
        self.links_changed(now);
        self.prepare(now, Site::Switch(switch));
        self.work(now);
        Ok(())
    }

    /// The connection to a switch has ended. What it forwards it forwards; its grants are held for a while.
    pub fn switch_down(&mut self, now: Duration, datapath: u64) {
        if let Some(switch) = self.fabric.switch_index(datapath) {
            self.goes_away(now, Site::Switch(switch));
        }
        self.work(now);
    }

    /// The agent of a switch's gates has connected; it has room for so many contracts, if it says so.
    ///
    /// # Errors
    /// The switch is unknown, has no gates, or too few; the connection should be closed.
    pub fn gates_up(&mut self, now: Duration, datapath: u64, room: Option<u32>) -> Result<(), SwitchRefusal> {
        let switch = self.fabric.take_gates(datapath, room)?;
        self.goes_away(now, Site::Gates(switch));
        self.prepare(now, Site::Gates(switch));
        self.work(now);
        Ok(())
    }

    /// The connection to the agent of a switch's gates has ended.
    pub fn gates_down(&mut self, now: Duration, datapath: u64) {
        if let Some(switch) =
            self.fabric.switch_index(datapath).filter(|switch| self.fabric.has_gates(*switch))
        {
            self.goes_away(now, Site::Gates(switch));
        }
        self.work(now);
    }

    fn goes_away(&mut self, now: Duration, site: Site) {
        if self.fabric.goes_away(now, site) {
            self.operations.wake(now.saturating_add(self.config.grace), Timer::Away(site));
            self.abandon(now, site);
            self.fabric.rebuild_topology();
        }
    }

    /// What a site has is not known: it has to come back and be put right.
    pub(crate) fn disconnect(&mut self, now: Duration, site: Site) {
        let (Site::Switch(switch) | Site::Gates(switch)) = site;
        if matches!(self.fabric.phase(site), Phase::Away(_)) {
            return;
        }
        self.operations.act(Action::Disconnect { switch: self.fabric.datapath(switch) });
        self.goes_away(now, Site::Switch(switch));
        if self.fabric.has_gates(switch) {
            self.goes_away(now, Site::Gates(switch));
        }
    }

    fn prepare(&mut self, now: Duration, site: Site) {
        if let Some((kind, step)) = self.fabric.prepare(site) {
            self.start(now, kind, alloc::vec![step]);
        }
    }

    /// A site has been put right, or has failed to be.
    pub(crate) fn prepared(&mut self, now: Duration, site: Site, version: u64, failed: Option<String>) {
        if let Some(why) = failed {
            if self.fabric.phase(site) == Phase::Preparing {
                let site = self.fabric.site_name(site);
                self.note(Note::NotReady { site, why });
            }
            self.disconnect(now, site);
            return;
        }
        if self.fabric.phase(site) != Phase::Preparing {
            return;
        }
        if self.fabric.is_outdated(site, version) {
            self.prepare(now, site);
            return;
        }
        self.fabric.becomes_ready(site);
        let name = self.fabric.site_name(site);
        self.note(Note::Ready(name));
        self.inspect_later(now, site);
        for number in self.reservations.site_is_back(site) {
            self.operations.add_chore(Chore::Release(number));
        }
        if let Site::Switch(switch) = site {
            self.tell_cables_of(now, switch);
        }
        self.fabric.rebuild_topology();
        self.want_tree();
        self.hold_restored();
        self.requests.look_again();
    }

    /// A packet for the manager: where an address is.
    pub fn packet_in(&mut self, now: Duration, datapath: u64, packet: &PacketIn) {
        if lldp::Frame::is_one(&packet.data) {
            return self.hear_of_cable(now, datapath, packet);
        }
        let Some(heard) = self.fabric.packet_in(now, datapath, packet, &self.config) else { return };
        self.hear_of_move(now, datapath, packet);
        let Heard { news, learned: messages, renewed, note, crowded } = heard;
        if let Some((address, mac)) = renewed {
            self.has_new_mac(now, address, mac);
        }
        if let Some(note) = note {
            self.note(note);
        }
        if let Some(link) = crowded {
            self.has_a_crowd(now, link);
        }
        (0..news).for_each(|_| self.requests.look_again());
        if !messages.is_empty() {
            self.operations.act(Action::Send { switch: datapath, messages });
        }
        self.work(now);
    }

    /// A host speaks from more Ethernet addresses than are learned of one.
    fn has_a_crowd(&mut self, now: Duration, link: usize) {
        let network = self.fabric.network();
        let host = network.links.get(link).map_or(usize::MAX, |link| link.to);
        let (port, host) = (network.port_name(link), network.node_name(host));
        let subject = format!("Ethernet addresses of {host}");
        let what = format!(
            "{port}: frames of {host} come from more than {MOST_OF_A_HOST} Ethernet addresses: no more of them are learned, and what is sent to the \
             others goes everywhere"
        );
        let notes = self.cabling.note_odd(now, subject, what);
        notes.into_iter().for_each(|note| self.note(note));
    }

    /// A host has another MAC address than before: what is written into frames for it is wrong.
    fn has_new_mac(&mut self, now: Duration, address: Address, mac: MacAddress) {
        let is_wrong =
            |end: &End| end.to.address == address && end.address.is_some_and(|former| former != mac);
        let wrong = self.reservations.all().filter(|grant| grant.ends.iter().any(is_wrong));
        let wrong: Vec<u64> = wrong.map(|grant| grant.number).collect();
        let reason = format!("{} has another MAC address than before", self.fabric.host_name(address));
        for number in wrong {
            self.revoke(now, number, &reason);
        }
        self.requests.look_again();
    }

    /// A flow has gone from a switch: a source that was quiet for long is forgotten, with the way to it.
    pub fn flow_removed(&mut self, datapath: u64, removed: &FlowRemoved) {
        if let Some(messages) = self.fabric.flow_removed(datapath, removed) {
            self.operations.act(Action::Send { switch: datapath, messages });
        }
    }

    /// A port of a switch has changed.
    pub fn port_status(&mut self, now: Duration, datapath: u64, status: &PortStatus) {
        let Some(switch) = self.fabric.switch_index(datapath) else { return };
        let deleted = status.reason == PortReason::Delete;
        self.fabric.see_port(switch, &status.port, deleted);
        self.see_port_change(now, switch, &status.port, deleted);
        self.links_changed(now);
        self.work(now);
    }

    /// A site has been away for as long as grants can wait for it.
    pub(crate) fn away_for_long(&mut self, now: Duration, site: Site) {
        let Phase::Away(Some(since)) = self.fabric.phase(site) else { return };
        if now < since.saturating_add(self.config.grace) {
            return;
        }
        let (Site::Switch(switch) | Site::Gates(switch)) = site;
        let node = self.fabric.network().switch_node(switch);
        let uses = |link: usize, first: bool| {
            self.fabric.network().links.get(link).is_some_and(|link| match site {
                Site::Switch(_) => link.from == node,
                Site::Gates(_) => first && link.to == node,
            })
        };
        let gone: Vec<u64> = self
            .reservations
            .all()
            .filter(|grant| grant.hops.iter().enumerate().any(|(index, hop)| uses(hop.link, index == 0)))
            .map(|grant| grant.number)
            .collect();
        self.fabric.lose(site);
        let reason = format!("{} has been away for too long", self.fabric.site_name(site));
        for number in gone {
            self.revoke(now, number, &reason);
        }
        self.want_tree();
    }
}
