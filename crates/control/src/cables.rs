//! Cables are watched: each port tells who it is, and what others hear of it is compared with the network file.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use openflow::Message;
use openflow::oxm::OxmField;
use openflow::packet::{PacketIn, PacketOut};
use openflow::port::Port;
use openflow::words::{BufferId, PortNo};

use crate::action::{Action, SwitchContent};
use crate::cabling::{Digest, LEAST_PERIOD, PERIOD, Seal};
use crate::fabric::Site;
use crate::operations::Timer;
use crate::report::CablingAlarm;
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// Cables are watched from now on, by LLDP. `secret` is random, and another one at each start of a manager: with its keyed digest the manager
    /// knows its own frames.
    pub fn watch_cables(&mut self, now: Duration, secret: [u8; 32], digest: Digest) {
        let is_first = self.cabling.seal.is_none();
        self.cabling.seal = Some(Seal { secret, digest });
        if is_first {
            self.tell_cables(now);
        }
    }

    /// Ports between switches send LLDP, now and then all others too. What has not been heard for long expires.
    pub(crate) fn tell_cables(&mut self, now: Duration) {
        let all = self.cabling.tells_all(now);
        for switch in 0..self.fabric.network().switches.len() {
            let mut ports = self.cabling.telling(self.fabric.network(), switch);
            let network = self.fabric.network();
            let is_trunk =
                |number| network.link_at(switch, number).is_some_and(|link| network.is_trunk(link));
            ports.retain(|(number, _)| all || is_trunk(*number));
            self.tell(now, switch, &ports);
        }
        let over = self.cabling.forget_old(now, self.fabric.network());
        over.into_iter().for_each(|note| self.note(note));
        self.use_cables(now);
        let rounds = self.config.rounds;
        let period = if rounds.is_zero() { PERIOD } else { rounds.clamp(LEAST_PERIOD, PERIOD) };
        self.operations.wake(now.saturating_add(period), Timer::Cabling);
    }

    /// A switch was read, and has counted so many frames: links over which nothing comes are silent.
    pub(crate) fn cables_after_reading(&mut self, now: Duration, switch: usize, content: &SwitchContent) {
        let Some(asked) = self.fabric.looked_at(Site::Switch(switch)) else { return };
        if self.config.rounds.is_zero() || self.cabling.seal.is_none() {
            return;
        }
        let mut counted = BTreeMap::new();
        for flow in content.flows.iter().filter(|flow| flow.table.0 == 0) {
            let port = flow.matching.get(OxmField::InPort).and_then(|oxm| u32::try_from(oxm.value()).ok());
            if let Some(port) = port {
                let frames: &mut u64 = counted.entry(port).or_default();
                *frames = frames.wrapping_add(flow.traffic.packets);
            }
        }
        let notes = self.cabling.answered((asked, now), self.fabric.network(), switch, &counted);
        if !notes.is_empty() {
            notes.into_iter().for_each(|note| self.note(note));
            // The reading is not over: what follows from it comes after it.
            self.operations.wake(now, Timer::Cables);
        }
    }

    /// Flows leave cables that are wrong or lose what they carry, and may come back to those that are right. Whether any of that is new.
    pub(crate) fn use_cables(&mut self, now: Duration) -> bool {
        let (elsewhere, silent) = (self.cabling.elsewhere(), self.cabling.silent());
        let is_new = self.fabric.set_wrong_cables(elsewhere, silent);
        if is_new {
            self.links_changed(now);
        }
        is_new
    }

    /// The ports of a switch tell who they are, if it has what it is to have: else frames might be forwarded.
    pub(crate) fn tell_cables_of(&mut self, now: Duration, switch: usize) {
        let ports = self.cabling.telling(self.fabric.network(), switch);
        self.tell(now, switch, &ports);
    }

    fn tell(&mut self, now: Duration, switch: usize, ports: &[(u32, [u8; 6])]) {
        let Some(seal) = self.cabling.seal.as_ref().filter(|_| self.fabric.is_ready(Site::Switch(switch)))
        else {
            return;
        };
        let datapath = self.fabric.datapath(switch);
        let told = ports.iter().filter_map(|(number, address)| {
            let data = seal.frame(datapath, *number, *address, now)?;
            let actions = alloc::vec![openflow::action::Action::output(PortNo(*number))];
            let packet = PacketOut { buffer: BufferId::NONE, in_port: PortNo::CONTROLLER, actions, data };
            Some(Message::PacketOut(packet))
        });
        let messages: Vec<Message> = told.collect();
        for (number, _) in ports {
            self.cabling.told(now, self.fabric.network(), (switch, *number));
        }
        if !messages.is_empty() {
            self.operations.act(Action::Send { switch: datapath, messages });
        }
    }

    /// A switch has connected, with these ports.
    pub(crate) fn see_ports(&mut self, now: Duration, switch: usize, ports: &[Port]) {
        self.cabling.forget_ports(self.fabric.network(), switch);
        for port in ports {
            self.see_port_change(now, switch, port, false);
        }
    }

    /// A port is so now. One that has come up tells who it is at once, so that a wrong cable is seen before flows come to it.
    pub(crate) fn see_port_change(&mut self, now: Duration, switch: usize, port: &Port, deleted: bool) {
        self.see_speed(switch, port);
        if self.cabling.see_port(self.fabric.network(), switch, port, deleted) {
            let number = port.number.0;
            let mut ports = self.cabling.telling(self.fabric.network(), switch);
            ports.retain(|(telling, _)| *telling == number);
            self.tell(now, switch, &ports);
        }
    }

    /// What is wrong with cables, and with the speed of ports.
    pub(crate) fn cabling_alarms(&self) -> Vec<CablingAlarm> {
        let cabling = self.cabling.alarms(self.fabric.network());
        cabling.into_iter().chain(self.fabric.slow_alarms()).collect()
    }

    /// A frame of LLDP has come in.
    pub(crate) fn hear_of_cable(&mut self, now: Duration, datapath: u64, packet: &PacketIn) {
        let port = packet.matching.get(OxmField::InPort).and_then(|oxm| u32::try_from(oxm.value()).ok());
        let (Some(switch), Some(port)) = (self.fabric.switch_index(datapath), port) else { return };
        let notes = self.cabling.hear(now, self.fabric.network(), (switch, port), &packet.data);
        notes.into_iter().for_each(|note| self.note(note));
        if self.use_cables(now) {
            self.work(now);
        }
    }
}
