//! What is plugged in where, as LLDP tells it, compared with the network file.
//!
//! `Cabling` keeps it. It is told which ports there are and what came in by them; it says which cables are plugged elsewhere than the file has them, and
//! what else cannot be. A frame counts only if it is the manager's own (`frame.rs`), fresh, and came in by a port where the file has another switch or nothing: what
//! comes in by the port of a host, a host may have sent again.
mod frame;
mod odd;
mod silent;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::time::Duration;

use lldp::Frame;
use openflow::port::{Port, PortConfig, PortState};
use openflow::words::PortNo;

use crate::network::Network;
use crate::note::Note;
use crate::report::{CablingAlarm, Plugged};

pub use frame::Digest;
pub(crate) use frame::{Seal, Whose};
use odd::Odd;
use silent::Silence;

/// How often each port sends LLDP at least; those between switches do once in [`Config::rounds`](crate::config::Config::rounds).
pub(crate) const PERIOD: Duration = Duration::from_secs(5);
/// How often they do at most.
pub(crate) const LEAST_PERIOD: Duration = Duration::from_millis(100);
/// How old an own frame may be that counts.
const FRESH: Duration = Duration::from_secs(10);
/// How long what was heard counts, unless it is heard again.
const COUNTS: Duration = Duration::from_secs(20);
/// How long after it was last seen to lead elsewhere a cable is right at the earliest: two that are there in turn are both wrong.
const HOLD: Duration = Duration::from_secs(10);
/// Ports of a switch that are known, and those of them that tell who they are.
const KNOWN_PORTS: usize = 4_096;
const MOST_PORTS: usize = 512;

/// A port: the index of its switch, and its number.
pub(crate) type Place = (usize, u32);

/// What is known of cables.
#[derive(Default, Debug)]
pub(crate) struct Cabling {
    pub(crate) seal: Option<Seal>,
    /// Ports that are up, with their addresses.
    ports: BTreeMap<Place, [u8; 6]>,
    /// By which port what was sent by another one came in, where the file has it so, and when.
    heard: BTreeMap<Place, (Place, Duration)>,
    /// Cables that are plugged elsewhere, by their first link.
    wrong: BTreeMap<usize, Wrong>,
    /// Cables that lose what they carry.
    silence: Silence,
    /// When all ports last sent LLDP.
    told_all: Option<Duration>,
    /// What else cannot be, by the ports it is about.
    odd: BTreeMap<String, Odd>,
    /// What says that it is plugged in, until when.
    plugged: BTreeMap<Place, (Frame, Duration)>,
}

/// A cable that is plugged elsewhere.
#[derive(Debug)]
struct Wrong {
    what: String,
    /// It is not right before.
    until: Duration,
}

impl Cabling {
    /// A port is so now; false if it was so before, or does not matter.
    pub(crate) fn see_port(&mut self, network: &Network, switch: usize, port: &Port, deleted: bool) -> bool {
        let place = (switch, port.number.0);
        let is_down =
            port.state.contains(PortState::LINK_DOWN) || port.config.contains(PortConfig::PORT_DOWN);
        let of_switch = || self.ports.range((switch, 0)..=(switch, u32::MAX)).count();
        let has_room = || self.ports.contains_key(&place) || of_switch() < KNOWN_PORTS;
        if port.number.0 == 0 || port.number.0 > PortNo::MAX.0 || !has_room() {
            return false;
        }
        if deleted || is_down {
            self.ports.remove(&place);
            self.silence.interrupted(network, |at| at == place);
            self.heard.remove(&place);
            self.plugged.remove(&place);
            // Whatever it was plugged into, it is not any more: the next frame says what is.
            if let Some(wrong) = cable_at(network, place).and_then(|cable| self.wrong.get_mut(&cable)) {
                wrong.until = Duration::ZERO;
            }
            return false;
        }
        self.ports.insert(place, port.address).is_none()
    }

    /// The ports of a switch are not known any more.
    pub(crate) fn forget_ports(&mut self, network: &Network, switch: usize) {
        self.silence.interrupted(network, |at| at.0 == switch);
        self.ports.retain(|(of, _), _| *of != switch);
    }

    /// Whether it is time for all ports to send LLDP, and not only those between switches.
    pub(crate) fn tells_all(&mut self, now: Duration) -> bool {
        let is_due = self.told_all.is_none_or(|at| now.saturating_sub(at) >= PERIOD);
        if is_due {
            self.told_all = Some(now);
        }
        is_due
    }

    /// A port has sent LLDP.
    pub(crate) fn told(&mut self, now: Duration, network: &Network, at: Place) {
        self.silence.told(now, network, at);
    }

    /// A switch has answered a question that was asked then, and has counted so many frames from each port.
    pub(crate) fn answered(
        &mut self,
        times: (Duration, Duration),
        network: &Network,
        switch: usize,
        counted: &BTreeMap<u32, u64>,
    ) -> Vec<Note> {
        let wrong = &self.wrong;
        self.silence.answered(times, network, switch, counted, |cable| wrong.contains_key(&cable))
    }

    /// Links, in both directions, that lose what they carry.
    pub(crate) fn silent(&self) -> BTreeSet<usize> {
        self.silence.links()
    }

    /// The ports of a switch that tell who they are. One where nothing may be sent besides flows does not.
    pub(crate) fn telling(&self, network: &Network, switch: usize) -> Vec<(u32, [u8; 6])> {
        let ports = self.ports.range((switch, 0)..=(switch, u32::MAX));
        let may = |place: Place| {
            let link = network.link_at(place.0, place.1).and_then(|link| network.links.get(link));
            link.is_none_or(|link| link.port.best_effort > 0)
        };
        let ports = ports.filter(|(place, _)| may(**place)).take(MOST_PORTS);
        ports.map(|((_, number), address)| (*number, *address)).collect()
    }

    /// A frame has come in by a port: what an operator should know. Which cables are plugged elsewhere may be different after it.
    pub(crate) fn hear(&mut self, now: Duration, network: &Network, at: Place, bytes: &[u8]) -> Vec<Note> {
        let Some(seal) = &self.seal else { return Vec::new() };
        if !self.ports.contains_key(&at) {
            return Vec::new();
        }
        let Ok(frame) = Frame::read(bytes) else { return Vec::new() };
        let link = network.link_at(at.0, at.1);
        let host = link.filter(|link| !network.is_trunk(*link)).map(|link| far_end(network, link));
        match seal.whose(&frame) {
            Whose::Own(datapath, port, sent) => {
                let index = network.switches.iter().position(|switch| switch.datapath == datapath);
                let Some(from) = index.map(|switch| (switch, port)) else { return Vec::new() };
                let is_fresh = sent <= now && now.saturating_sub(sent) <= FRESH;
                match host {
                    Some(host) => self.replayed(now, network, (from, at), &host, is_fresh),
                    None if is_fresh => {
                        if planned(network, from) == Some(at) {
                            self.silence.heard(now, network, from, sent);
                        }
                        self.connected(now, network, from, at)
                    }
                    None => Vec::new(),
                }
            }
            Whose::Forged => {
                let subject = port_name(network, at);
                let what = format!(
                    "{subject} hears LLDP that says it is of this manager, and is not: it was made by {}, or by another manager; it is no link",
                    host.unwrap_or_else(|| "what is plugged in there".into())
                );
                self.note_odd(now, subject, what)
            }
            Whose::Foreign => {
                let until = now.saturating_add(Duration::from_secs(frame.ttl.into()));
                match frame.ttl {
                    0 => self.plugged.remove(&at),
                    _ => self.plugged.insert(at, (frame, until)),
                };
                Vec::new()
            }
        }
    }

    /// An own frame has come in by the port of a host: nothing of that is a link, and one between switches that it came by is not where it
    /// should be.
    fn replayed(
        &mut self,
        now: Duration,
        network: &Network,
        (from, at): (Place, Place),
        host: &str,
        is_fresh: bool,
    ) -> Vec<Note> {
        let (subject, sender) = (port_name(network, at), port_name(network, from));
        let what = format!(
            "by {subject}, where the network file has {host}, came what the manager has sent by {sender}: a cable is plugged wrong, or {host} \
             sends again what it has heard; it is no link"
        );
        let mut notes = self.note_odd(now, subject, what);
        if is_fresh && is_of_trunk(network, from) {
            notes.extend(self.note_wrong(now, network, from, at));
        }
        notes
    }

    /// A cable leads from one port to another one.
    fn connected(&mut self, now: Duration, network: &Network, from: Place, at: Place) -> Vec<Note> {
        if planned(network, from) == Some(at) {
            self.heard.insert(at, (from, now));
            return self.is_right(now, network, at);
        }
        let mut notes = Vec::new();
        let mut is_known = false;
        for (end, other) in [(from, at), (at, from)] {
            if is_of_trunk(network, end) {
                is_known = true;
                notes.extend(self.note_wrong(now, network, end, other));
            }
        }
        if !is_known {
            let (one, other) = (from.min(at), from.max(at));
            let subject = format!("{} and {}", port_name(network, one), port_name(network, other));
            let what = format!(
                "{subject} are connected, and the network file has no such link: nothing is sent over it"
            );
            notes.extend(self.note_odd(now, subject, what));
        }
        notes
    }

    /// The cable that ends at a port leads there.
    fn is_right(&mut self, now: Duration, network: &Network, at: Place) -> Vec<Note> {
        let Some(cable) = cable_at(network, at) else { return Vec::new() };
        if self.wrong.get(&cable).is_none_or(|wrong| wrong.until > now) {
            return Vec::new();
        }
        self.wrong.remove(&cable);
        alloc::vec![Note::CablingRight(cable_name(network, cable))]
    }

    /// The cable that ends at a port leads to another one than it should.
    fn note_wrong(&mut self, now: Duration, network: &Network, end: Place, other: Place) -> Option<Note> {
        let cable = cable_at(network, end)?;
        let wanted = planned(network, end).map_or_else(String::new, |wanted| port_name(network, wanted));
        let (end, other) = (port_name(network, end), port_name(network, other));
        let what = format!(
            "{end} is connected with {other}, and the network file says with {wanted}: a cable is plugged wrong, or the file is; the link is not used until they \
             agree"
        );
        let until = now.saturating_add(HOLD);
        let before = self.wrong.insert(cable, Wrong { what: what.clone(), until });
        let subject = cable_name(network, cable);
        before.is_none().then_some(Note::Cabling { subject, what })
    }

    /// Links, in both directions, that are plugged elsewhere.
    pub(crate) fn elsewhere(&self) -> BTreeSet<usize> {
        self.wrong.keys().flat_map(|cable| [*cable, Network::back(*cable)]).collect()
    }

    /// What LLDP says of a link.
    pub(crate) fn cable(&self, network: &Network, link: usize) -> &'static str {
        if self.wrong.contains_key(&(link & !1)) {
            return "elsewhere";
        }
        if self.silence.has(link & !1) {
            return "silent";
        }
        let heard = |link: usize| {
            let from = place_of(network, link)?;
            let to = place_of(network, Network::back(link))?;
            self.heard.get(&to).filter(|(other, _)| *other == from)
        };
        let both = heard(link).is_some() && heard(Network::back(link)).is_some();
        let undecided = [link, Network::back(link)].iter().any(|link| self.silence.is_undecided(*link));
        match (both, undecided) {
            (_, true) => "undecided",
            (true, false) => "as planned",
            (false, false) => "unknown",
        }
    }

    /// What is wrong.
    pub(crate) fn alarms(&self, network: &Network) -> Vec<CablingAlarm> {
        let wrong = self.wrong.iter().map(|(cable, wrong)| (cable_name(network, *cable), wrong.what.clone()));
        let odd = self.odd.iter().map(|(subject, odd)| (subject.clone(), odd.what().to_string()));
        let silent = self.silence.alarms(network);
        wrong.chain(silent).chain(odd).map(|(subject, what)| CablingAlarm { subject, what }).collect()
    }

    /// What says that it is plugged in.
    pub(crate) fn plugged(&self, network: &Network) -> Vec<Plugged> {
        let plugged = |((switch, port), (frame, _)): (&Place, &(Frame, Duration))| Plugged {
            switch: network.node_name(network.switch_node(*switch)).into(),
            port: *port,
            planned: network.link_at(*switch, *port).map_or_else(String::new, |link| far_end(network, link)),
            chassis: frame.chassis.to_string(),
            port_id: frame.port.to_string(),
            system_name: frame.system_name.clone().unwrap_or_default(),
        };
        self.plugged.iter().map(plugged).collect()
    }

    /// Time has passed: what was not heard again is over.
    pub(crate) fn forget_old(&mut self, now: Duration, network: &Network) -> Vec<Note> {
        self.heard.retain(|_, (_, at)| now.saturating_sub(*at) <= COUNTS);
        self.plugged.retain(|_, (_, until)| *until > now);
        let mut notes = self.silence.back(now, network);
        notes.extend(self.forget_odd(now));
        notes
    }
}

/// The port at the near end of a link, if that is a switch.
fn place_of(network: &Network, link: usize) -> Option<Place> {
    let link = network.links.get(link)?;
    Some((network.switch_of(link.from)?, link.number))
}

/// Where a port should lead, if to another switch.
fn planned(network: &Network, place: Place) -> Option<Place> {
    place_of(network, Network::back(network.link_at(place.0, place.1)?))
}

/// The first link of the cable between switches that ends at a port by the file.
fn cable_at(network: &Network, place: Place) -> Option<usize> {
    let link = network.link_at(place.0, place.1).filter(|link| network.is_trunk(*link))?;
    Some(link & !1)
}

fn is_of_trunk(network: &Network, place: Place) -> bool {
    cable_at(network, place).is_some()
}

/// What is at the far end of a link by the file.
fn far_end(network: &Network, link: usize) -> String {
    network.links.get(link).map_or_else(String::new, |link| network.node_name(link.to).into())
}

fn port_name(network: &Network, (switch, number): Place) -> String {
    format!("port {number} of {}", network.node_name(network.switch_node(switch)))
}

/// What a cable is called.
fn cable_name(network: &Network, cable: usize) -> String {
    let (from, to) = network.links.get(cable).map_or((0, 0), |link| (link.from, link.to));
    format!("the cable between {} and {}", network.node_name(from), network.node_name(to))
}
