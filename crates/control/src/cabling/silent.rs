//! Cables that lose what they carry although both of their ports are up.
//!
//! Ports between switches send LLDP in rounds. A round of a link begins when its frame is sent. The switch there has sent it once it has answered a question that
//! was asked later, since it does things in order; what comes is there once the switch at the other end has answered a question that was asked after that. If the frame has
//! not come by then, and no other frame either, the round is missed: so a connection that is slow, a manager that was stopped, and a switch that is away miss nothing.
//!
//! Frames that others send prove nothing but that the cable carries: a flood may push the manager's own out of a queue, or its copy out of what a switch
//! may send the manager. A round in which frames have come, and not that of the manager, is neither missed nor kept.
//!
//! A link of which nothing was heard yet is not judged: a device between both ends may keep LLDP for itself. After some rounds without a word of LLDP a link is undecided, which is
//! an alarm: it is not known whether it is plugged as the network file says.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::{Place, cable_name, planned};
use crate::network::Network;
use crate::note::Note;

/// So many rounds in a row are missed until a link is silent: a single frame may be lost for other reasons.
const MISSED: u32 = 3;
/// How long frames have to come again, without a round that is missed, until a cable carries flows again.
const HOLD: Duration = Duration::from_secs(10);
/// It is twice as long each time that a cable is silent again so soon after it came back, up to the longest.
const SOON: Duration = Duration::from_secs(300);
const LONGEST_HOLD: Duration = Duration::from_secs(320);
/// After so many rounds in which frames came, and none of the manager's, or in which none of the manager's came and none ever had, a link is undecided.
const UNDECIDED: u32 = 30;
/// The resolution of the time that frames carry.
const MILLISECOND: Duration = Duration::from_millis(1);

/// A round of one direction of a cable.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// When its frame was sent, in whole milliseconds, as frames say it.
    sent: Duration,
    /// When it was known that the switch has sent it.
    carried: Option<Duration>,
    /// Frames that the switch at the other end had counted from the port by then, if that was known.
    before: Option<u64>,
}

/// One direction of a cable between switches.
#[derive(Default, Debug)]
struct Way {
    /// When the latest frame was sent that has come.
    latest: Option<Duration>,
    round: Option<Round>,
    missed: u32,
    undecided: u32,
    /// The operator was told that it is undecided.
    told: bool,
    /// Since when frames come, if the cable is silent.
    good: Option<Duration>,
    /// Frames from the port that its switch has counted.
    counted: Option<u64>,
}

/// A cable that was found to lose what it carries.
#[derive(Debug)]
struct Cut {
    /// The present alarm.
    what: Option<String>,
    /// How long frames have to come until it is used.
    hold: Duration,
    /// When it came back last.
    back: Duration,
}

/// The state of rounds, by links and by cables.
#[derive(Default, Debug)]
pub(super) struct Silence {
    ways: BTreeMap<usize, Way>,
    cuts: BTreeMap<usize, Cut>,
}

/// The link that leads from a port to another switch.
fn link_from(network: &Network, place: Place) -> Option<usize> {
    network.link_at(place.0, place.1).filter(|link| network.is_trunk(*link))
}

impl Silence {
    /// A frame has been sent by a port.
    pub(super) fn told(&mut self, now: Duration, network: &Network, at: Place) {
        let Some(link) = link_from(network, at) else { return };
        let way = self.ways.entry(link).or_default();
        let before = way.counted;
        // Of a round that is not over a later frame counts as well.
        way.round.get_or_insert(Round { sent: milliseconds(now), carried: None, before });
    }

    /// A frame that was sent then has come by the port where it should. One that came before, or is older, is no news: it was sent again.
    pub(super) fn heard(&mut self, now: Duration, network: &Network, from: Place, sent: Duration) {
        let Some(link) = link_from(network, from) else { return };
        let way = self.ways.entry(link).or_default();
        if way.latest.is_some_and(|latest| latest >= sent) {
            return;
        }
        way.latest = Some(sent);
        if way.round.is_some_and(|round| round.sent <= sent) {
            (way.round, way.missed, way.undecided) = (None, 0, 0);
            way.good.get_or_insert(now);
        }
    }

    /// A port has gone down, or its switch has connected again: what was under way is not judged.
    pub(super) fn interrupted(&mut self, network: &Network, is_meant: impl Fn(Place) -> bool) {
        for (link, way) in &mut self.ways {
            let ends = [*link, Network::back(*link)].map(|link| super::place_of(network, link));
            if ends.into_iter().flatten().any(&is_meant) {
                (way.round, way.missed, way.counted, way.good) = (None, 0, None, None);
                way.undecided = 0;
            }
        }
    }

    /// A switch has answered a question that was asked then, and has counted so many frames from each port: what is new of the cables at it. Those that are plugged
    /// elsewhere are not judged.
    pub(super) fn answered(
        &mut self,
        (asked, now): (Duration, Duration),
        network: &Network,
        switch: usize,
        counted: &BTreeMap<u32, u64>,
        is_elsewhere: impl Fn(usize) -> bool,
    ) -> Vec<Note> {
        let node = network.switch_node(switch);
        let mut notes = Vec::new();
        for (index, link) in network.leaving(node).filter(|(index, _)| network.is_trunk(*index)) {
            if let Some(round) = self.ways.get_mut(&index).and_then(|way| way.round.as_mut())
                && round.carried.is_none()
                && round.sent.saturating_add(MILLISECOND) <= asked
            {
                round.carried = Some(now);
            }
            let (incoming, is_elsewhere) = (Network::back(index), is_elsewhere(index & !1));
            let Some(way) = self.ways.get_mut(&incoming) else { continue };
            way.counted = Some(counted.get(&link.number).copied().unwrap_or(0));
            let Some(round) = way.round.filter(|round| round.carried.is_some_and(|at| at < asked)) else {
                continue;
            };
            way.round = None;
            if is_elsewhere {
                continue;
            }
            way.good = None;
            // What has been taken out of a table since has taken its count along: that proves nothing.
            if way.latest.is_none() || round.before != way.counted {
                way.undecided = way.undecided.saturating_add(1);
                if way.is_undecided() && !way.told {
                    way.told = true;
                    let (subject, what) = undecided(network, incoming, way);
                    notes.push(Note::Cabling { subject, what });
                }
                continue;
            }
            way.undecided = 0;
            way.missed = way.missed.saturating_add(1);
            if way.missed >= MISSED {
                notes.extend(self.is_silent(now, network, incoming));
            }
        }
        notes
    }

    fn is_silent(&mut self, now: Duration, network: &Network, link: usize) -> Option<Note> {
        let cable = link & !1;
        let cut = self.cuts.entry(cable);
        let cut = cut.or_insert(Cut { what: None, hold: HOLD, back: Duration::ZERO });
        if cut.what.is_some() {
            return None;
        }
        let is_again = !cut.back.is_zero() && now.saturating_sub(cut.back) < SOON.max(cut.hold);
        cut.hold = if is_again { cut.hold.saturating_mul(2).min(LONGEST_HOLD) } else { HOLD };
        let (from, to) = network.links.get(link).map_or((0, 0), |link| (link.from, link.to));
        let (from, to) = (network.node_name(from), network.node_name(to));
        let what = format!(
            "nothing comes from {from} to {to} although both ports are up: {} carries no flows until frames come again for {} s; look at the cable, and at what is \
             between its ends",
            cable_name(network, cable),
            cut.hold.as_secs()
        );
        cut.what = Some(what.clone());
        for link in [cable, Network::back(cable)] {
            self.ways.entry(link).or_default().good = None;
        }
        Some(Note::Cabling { subject: subject(network, cable), what })
    }

    /// Time has passed: cables over which frames have come for long enough carry flows again.
    pub(super) fn back(&mut self, now: Duration, network: &Network) -> Vec<Note> {
        let mut notes = Vec::new();
        for (link, way) in self.ways.iter_mut().filter(|(_, way)| way.told && !way.is_undecided()) {
            way.told = false;
            notes.push(Note::CablingRight(lldp_at(network, *link)));
        }
        for (cable, cut) in self.cuts.iter_mut().filter(|(_, cut)| cut.what.is_some()) {
            let is_good = |link: usize| {
                let Some(way) = self.ways.get(&link) else { return true };
                let since = way.good.map(|good| now.saturating_sub(good));
                // A port that tells nothing was never heard.
                way.latest.is_none() || since.is_some_and(|since| since >= cut.hold)
            };
            if is_good(*cable) && is_good(Network::back(*cable)) {
                (cut.what, cut.back) = (None, now);
                notes.push(Note::CablingRight(subject(network, *cable)));
            }
        }
        notes
    }

    /// Links, in both directions, that lose what they carry.
    pub(super) fn links(&self) -> BTreeSet<usize> {
        let cut = self.cuts.iter().filter(|(_, cut)| cut.what.is_some());
        cut.flat_map(|(cable, _)| [*cable, Network::back(*cable)]).collect()
    }

    /// Whether a cable does.
    pub(super) fn has(&self, cable: usize) -> bool {
        self.cuts.get(&cable).is_some_and(|cut| cut.what.is_some())
    }

    /// Whether LLDP does not say of a link, in this direction, what is at its ends.
    pub(super) fn is_undecided(&self, link: usize) -> bool {
        self.ways.get(&link).is_some_and(Way::is_undecided)
    }

    /// The present alarms, each with its cable or port.
    pub(super) fn alarms(&self, network: &Network) -> Vec<(String, String)> {
        let cut = self.cuts.iter().filter_map(|(cable, cut)| Some((*cable, cut.what.clone()?)));
        let cut = cut.map(|(cable, what)| (subject(network, cable), what));
        let odd = self.ways.iter().filter(|(_, way)| way.is_undecided());
        cut.chain(odd.map(|(link, way)| undecided(network, *link, way))).collect()
    }
}

impl Way {
    const fn is_undecided(&self) -> bool {
        self.undecided >= UNDECIDED
    }
}

/// What an operator knows it by; what is plugged elsewhere is another matter.
fn subject(network: &Network, cable: usize) -> String {
    format!("frames over {}", cable_name(network, cable))
}

/// The port that a link leads to, as what an operator knows it by that LLDP does not come there.
fn lldp_at(network: &Network, link: usize) -> String {
    let place = planned(network, super::place_of(network, link).unwrap_or_default());
    let at = place.map_or_else(String::new, |place| super::port_name(network, place));
    format!("LLDP at {at}")
}

fn undecided(network: &Network, link: usize, way: &Way) -> (String, String) {
    let subject = lldp_at(network, link);
    let (from, to) = network.links.get(link).map_or((0, 0), |link| (link.from, link.to));
    let (from, to) = (network.node_name(from), network.node_name(to));
    let what = match way.latest {
        Some(_) => format!(
            "{subject}: frames come from {from} to {to}, and for {UNDECIDED} rounds none of the manager's LLDP: best effort is flooded, or something at the cable keeps LLDP for \
             itself; the link is used"
        ),
        None => format!(
            "{subject}: none of the manager's ever came from {from} to {to}, in {UNDECIDED} rounds: whether the cable is where the network file has it is not known, nor whether it \
             carries frames; look whether something between its ends keeps LLDP for itself; the link is used"
        ),
    };
    (subject, what)
}

/// A time as frames say it.
fn milliseconds(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
