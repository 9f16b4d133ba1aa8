//! Cables: what LLDP tells of them, wrong ones, and hosts that lie.
use std::time::Duration;
use wire::admission::Address;

use control::network::Network;
use control::note::Note;
use openflow::packet::PacketOut;
use wire::admission::State;

use crate::cases::{MS, at_once, pair};
use crate::faults::two_ways;
use crate::world::{World, mac, request};
use testkit::openflow_switch::Packet;

/// What a manager knows its frames by.
pub(crate) fn digest(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key);
    ring::hmac::sign(&key, message).as_ref().try_into().unwrap()
}

/// Longer than what was heard counts.
const LONG: Duration = Duration::from_secs(30);

impl World {
    /// The manager watches cables, and so does each one after it.
    pub(crate) fn watch(&mut self) {
        self.watches = true;
        self.manager.watch_cables(self.now, [u8::try_from(self.epoch).unwrap_or(7); 32], digest);
        self.collect();
    }

    /// The link by whose far end comes what a link carries.
    pub(crate) fn arrives(&self, link: usize) -> usize {
        self.swapped.get(&link).copied().unwrap_or(link)
    }

    /// The cables that are swapped.
    pub(crate) fn is_swapped(&self) -> Option<(usize, usize)> {
        let (one, other) = self.swapped.first_key_value()?;
        Some((*one & !1, *other & !1))
    }

    /// The far ends of two cables are swapped, or swapped back.
    pub(crate) fn swap(&mut self, one: usize, other: usize) {
        let is_swapped = !self.swapped.is_empty();
        self.swapped.clear();
        if !is_swapped {
            let back = Network::back;
            self.swapped =
                [(one, other), (other, one), (back(one), back(other)), (back(other), back(one))].into();
        }
        // Who pulls a cable breaks it.
        for link in [one, other] {
            self.cable(link, false);
            self.cable(link, true);
        }
    }

    /// A switch sends a frame of the manager's.
    pub(crate) fn send_out(&mut self, switch: usize, packet: &PacketOut) {
        let node = self.network.switch_node(switch);
        for action in &packet.actions {
            let openflow::action::Action::Output { port, .. } = action else { panic!("{action:?}") };
            let out = self.network.leaving(node).find(|(_, link)| link.number == port.0);
            match out {
                Some((link, _)) => self.bring(link, packet.data.clone()),
                None => self.bring_extra((switch, port.0), packet.data.clone()),
            }
        }
    }

    /// A frame that only switches look at goes along a link: what the switch at its other end does with it.
    pub(crate) fn bring(&mut self, link: usize, data: Vec<u8>) {
        if let Some((_, recorded)) = self.recorded.as_mut().filter(|(of, _)| *of == link) {
            recorded.clone_from(&data);
        }
        let arrives = self.arrives(link);
        if self.silent.contains(&link) || [link, arrives].iter().any(|link| self.down.contains(link)) {
            return;
        }
        let Some(switch) = self.network.switch_of(self.network.links[arrives].to) else {
            self.heard_by_hosts.push((self.network.links[arrives].to, data));
            return;
        };
        let in_port = self.network.links[Network::back(arrives)].number;
        self.enter(switch, in_port, data);
    }

    /// A frame comes in by a port of a switch.
    pub(crate) fn enter(&mut self, switch: usize, in_port: u32, data: Vec<u8>) {
        let packet = Packet {
            to: data[..6].try_into().unwrap(),
            from: data[6..12].try_into().unwrap(),
            tag: None,
            kind: u16::from_be_bytes([data[12], data[13]]),
            source: Address::default(),
            destination: Address::default(),
            protocol: 0,
            ports: (0, 0),
            dscp: 0,
        };
        let fate = self.switches[switch].forward(in_port, packet);
        self.switches[switch].count(&fate);
        assert!(fate.out.is_empty(), "LLDP goes to the manager alone: {fate:?}");
        for (table, cookie, _) in fate.copies {
            self.copy(switch, in_port, (table, cookie), data.clone());
        }
    }

    fn bring_extra(&mut self, from: (usize, u32), data: Vec<u8>) {
        let Some([one, other]) = self.extra else { return };
        let (switch, in_port) = if from == one { other } else { one };
        self.enter(switch, in_port, data);
    }

    /// A host sends a frame to the switch alone.
    pub(crate) fn say_lldp(&mut self, host: usize, data: Vec<u8>) {
        let (link, _) = self.network.leaving(host).next().unwrap();
        self.bring(link, data);
        self.settle();
    }

    pub(crate) fn notes(&mut self) -> Vec<Note> {
        std::iter::from_fn(|| self.manager.poll_note()).collect()
    }

    pub(crate) fn cabling(&self) -> Vec<String> {
        self.manager.report().cabling.into_iter().map(|alarm| alarm.what).collect()
    }

    pub(crate) fn cable_of(&self, link: usize) -> &'static str {
        self.manager.link_reports()[link].cable
    }
}

/// The first link that leads from one switch to another one.
pub(crate) fn trunk(world: &World, from: usize, to: usize) -> usize {
    let network = &world.network;
    let ends = (network.switch_node(from), network.switch_node(to));
    network.links.iter().position(|link| (link.from, link.to) == ends).unwrap()
}

pub(crate) fn watched() -> World {
    let mut world = World::up(two_ways());
    world.watch();
    world.pass(Duration::from_secs(1));
    world
}

#[test]
fn cables_that_are_as_planned_are_known_to_be() {
    let mut world = World::up(two_ways());
    let trunks: Vec<usize> = (0..world.network.links.len())
        .filter(|link| {
            let link = &world.network.links[*link];
            [link.from, link.to].iter().all(|node| world.network.switch_of(*node).is_some())
        })
        .collect();
    assert!(trunks.iter().all(|link| world.cable_of(*link) == "unknown"), "no port has told yet");
    world.watch();
    world.settle();
    for link in &trunks {
        assert_eq!(world.cable_of(*link), "as planned", "{}", world.network.port_name(*link));
    }
    // A host's link stays unknown: it tells nothing that the manager could believe.
    let (access, _) = world.network.leaving(0).next().unwrap();
    assert_eq!(world.cable_of(access), "unknown");
    world.pass(LONG);
    assert!(trunks.iter().all(|link| world.cable_of(*link) == "as planned"), "it is told again and again");
    // What is not heard any more is not known any more.
    let switch = world.network.switch_of(world.network.links[trunks[0]].from).unwrap();
    world.disconnect(switch);
    world.pass(LONG);
    assert_eq!(world.cable_of(trunks[0]), "unknown");
    assert_eq!(world.cabling(), Vec::<String>::new());
}

#[test]
fn a_cable_that_is_plugged_elsewhere_carries_no_flow_until_it_is_right() {
    let mut world = watched();
    let asked = request(pair(1), 1, 0, 2, (5000, 6000), at_once(8_004, 5 * MS), 5 * MS);
    world.ask(asked.clone());
    world.settle();
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
    world.notes();
    // The straight way and one part of the way round.
    let (one, other) = (trunk(&world, 0, 2), trunk(&world, 0, 1));
    world.swap(one, other);
    world.pass(Duration::from_secs(1));
    assert_eq!((world.cable_of(one), world.cable_of(other)), ("elsewhere", "elsewhere"));
    assert_ne!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts);
    let said: Vec<String> = world.notes().iter().map(ToString::to_string).collect();
    let wrong = said.iter().filter(|said| said.contains("a cable is plugged wrong")).count();
    assert_eq!(wrong, 2, "once for each cable: {said:?}");
    world.pass(LONG);
    let said: Vec<String> = world.notes().iter().map(ToString::to_string).collect();
    assert!(said.iter().all(|said| !said.contains("plugged wrong")), "{said:?}");
    assert_eq!(world.cabling().len(), 2);
    assert_ne!(world.state(pair(1)), Some(State::Admitted));
    assert!(world.verdicts[&pair(1)].reason.contains("plugged elsewhere"), "{:?}", world.verdicts);
    // Put right it is used again.
    world.swap(one, other);
    world.pass(Duration::from_secs(1));
    assert_eq!((world.cable_of(one), world.cabling().len()), ("as planned", 0));
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts);
    assert!(world.notes().iter().any(|note| matches!(note, Note::CablingRight(_))));
}

#[test]
fn a_host_that_sends_again_what_it_has_heard_is_an_alarm_and_no_link() {
    let mut world = watched();
    let heard: Vec<(usize, Vec<u8>)> = std::mem::take(&mut world.heard_by_hosts);
    let of_host = |host: usize| heard.iter().find(|(at, _)| *at == host).unwrap().1.clone();
    world.notes();
    // Its own port's, and one that another host has passed on to it.
    world.say_lldp(0, of_host(0));
    assert_eq!(world.cabling().len(), 1, "{:?}", world.cabling());
    world.say_lldp(0, of_host(2));
    world.say_lldp(0, of_host(2));
    let alarms = world.cabling();
    assert!(
        alarms.len() == 1 && alarms[0].contains("it is no link") && alarms[0].contains("h0"),
        "{alarms:?}"
    );
    assert_eq!(world.notes().len(), 2, "each once");
    assert!(world.manager.link_reports().iter().all(|link| link.up && link.cable != "elsewhere"));
    // It is over once it has ended.
    world.pass(LONG);
    assert_eq!(world.cabling().len(), 0);
    assert!(world.notes().iter().any(|note| matches!(note, Note::CablingRight(_))));
}

#[test]
fn a_forged_or_old_frame_is_no_link() {
    let mut world = watched();
    let frame = std::mem::take(&mut world.heard_by_hosts).remove(0).1;
    // A byte of the digest, of the time, of the port's number.
    let digest = frame.len() - 3;
    for at in [digest, digest - 33] {
        let mut forged = frame.clone();
        forged[at] ^= 1;
        world.say_lldp(0, forged);
        let alarms = world.cabling();
        assert!(alarms.len() == 1 && alarms[0].contains("says it is of this manager"), "{at}: {alarms:?}");
        world.pass(LONG);
    }
    // By a port between switches what is old counts for nothing, whatever it says.
    let link = trunk(&world, 0, 2);
    let before = world.manager.report().cabling;
    world.bring(link, frame);
    world.settle();
    assert_eq!(world.manager.report().cabling, before);
    assert_eq!(world.cable_of(link), "as planned");
    // Another manager has another secret: what was sent before it began is not its own.
    world.heard_by_hosts.clear();
    world.pass(Duration::from_secs(6));
    let frame = world.heard_by_hosts[0].1.clone();
    world.restart();
    world.connect_all();
    world.say_lldp(0, frame);
    assert!(world.cabling()[0].contains("says it is of this manager"), "{:?}", world.cabling());
}

#[test]
fn what_is_plugged_in_by_its_own_word_is_shown() {
    let mut world = watched();
    let mut frame =
        lldp::Frame::new(mac(0), lldp::ChassisId::mac(mac(0)), lldp::PortId::local("eth0").unwrap(), 10);
    frame.system_name = Some("camera".to_owned());
    world.say_lldp(0, frame.write().unwrap());
    let plugged = world.manager.report().plugged;
    assert_eq!(plugged.len(), 1);
    assert_eq!((plugged[0].switch.as_str(), plugged[0].planned.as_str()), ("s0", "h0"));
    assert_eq!((plugged[0].system_name.as_str(), plugged[0].port_id.as_str()), ("camera", "eth0"));
    assert_eq!(world.cabling().len(), 0);
    world.pass(LONG);
    assert_eq!(world.manager.report().plugged, [], "it was to be believed for ten seconds");
    world.say_lldp(0, frame.write().unwrap());
    let whole = frame.write().unwrap();
    world.say_lldp(0, whole[..whole.len() - 3].to_vec());
    frame.ttl = 0;
    world.say_lldp(0, frame.write().unwrap());
    assert_eq!(world.manager.report().plugged, [], "it takes its word back");
}

#[test]
fn a_link_that_the_file_does_not_have_is_an_alarm() {
    let mut world = World::up(two_ways());
    // A cable that the manager's file lacks: its ports are there.
    let extra = [(0, 40), (2, 41)];
    for (switch, number) in extra {
        let mut port = world.port(trunk(&world, 0, 1));
        port.number = openflow::words::PortNo(number);
        let status = openflow::port::PortStatus { reason: openflow::port::PortReason::Add, port };
        world.say(switch, &openflow::Message::PortStatus(status));
    }
    world.extra = Some(extra);
    world.settle();
    world.watch();
    world.settle();
    let alarms = world.cabling();
    assert_eq!(alarms.len(), 1, "{alarms:?}");
    let words = "port 40 of s0 and port 41 of s2 are connected, and the network file has no such link";
    assert!(alarms[0].starts_with(words), "{alarms:?}");
    assert!(world.manager.link_reports().iter().all(|link| link.up));
    world.extra = None;
    world.pass(LONG);
    assert_eq!(world.cabling().len(), 0, "it is gone");
}
