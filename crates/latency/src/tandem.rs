//! The ports on the way of a flow together, and all that is known of a frame on it, as the rows of a linear program (in the literature
//! PLP, polynomial-size linear program for first-in first-out tandems: Bouillard, Performance Evaluation 153, 2022).
//!
//! Take the last frame of a message. At each hop `k` it is sent at some instant. The first bit of its level that has not left then waited in
//! a queue since [`Date::Starts`] of `k` at `k`, and since that instant the link has sent what it may send of higher levels, what stood in
//! the way once, and the level: so it has served the level at the rate that is left. The same holds at the hop before of the instant
//! [`Date::Starts`] of `k` at `k`, and so on to the first hop, but for a frame that was not whole then. What had left a hop at such an instant is what came to it before
//! [`Date::Comes`], since frames of a level leave in the order of their arrival. Between two such instants no more comes of a
//! flow than it offers there, no more by a link than it brings, and each hop keeps the delay that was promised there.
//!
//! A flow that goes on to the next hop with the frame's is followed: what it brings there from [`Date::Starts`] on has come to this hop from [`Date::Comes`] on. So its
//! burst is not paid for at each hop. If the time from reception to the queue varies, frames of other flows may overtake the frame there: no more than the
//! link sends in that time. Those of its own flow must not, or there is no bound. Frames must not change their sizes along the way (tags, padding): then there is no
//! bound either, or others are not followed. Nor are others followed out of the publisher's host, behind which gates and meters may drop some of what they bring.
//!
//! Every row holds for all that may happen. So each sum of rows with factors that are not negative holds, too, and if what it says of the
//! columns is that the latency is at most a number, then it is: [`crate::plp`].
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::facts::{Column, Date, Fact, Who};
use crate::ledger::FlowId;
use crate::network::Flow;
use crate::path::keeps_shape;
use crate::port::{Contender, Server, blocking};
use crate::resting::Station;
use crate::units::SECOND;

/// A way with more hops, or with more flows that are told apart, is not looked at.
const MOST_HOPS: usize = 8;
const MOST_WHO: usize = 48;

/// Work that a picosecond of one bit per second does, in parts of a bit.
const UNIT: i128 = SECOND as i128;

/// A hop, in bits, bits per second and picoseconds.
#[derive(Clone, Debug)]
struct Stage {
    /// What is left to the level.
    rate: i128,
    /// What may stand in its way.
    held: i128,
    /// The largest frame of the level.
    frame: i128,
    /// Bits per second of the link.
    link: i128,
    /// What no frame of the level exceeds.
    delay: i128,
    /// No queue of the level is in use for longer.
    busy: i128,
    /// How much the time to its queue varies.
    varies: i128,
    /// Who is in the queue, with burst and rate there.
    offers: BTreeMap<Who, [i128; 2]>,
    /// What links bring: a frame and a rate, and who comes by them.
    links: BTreeMap<u32, ([i128; 2], BTreeSet<Who>)>,
}

/// The hops of a way.
#[derive(Clone, Debug)]
pub(crate) struct Tandem {
    stages: Vec<Stage>,
}

/// Columns with their factors, and the most that their sum is.
pub(crate) type Line = (Vec<(Column, i128)>, i128);

fn small(hop: usize) -> u8 {
    // There are no more than a few.
    u8::try_from(hop).unwrap_or(u8::MAX)
}

impl Tandem {
    /// The way of a flow; `None` if there is no bound along it, or it is too long.
    pub(crate) fn new(id: FlowId, flow: &Flow, stations: &[Station<'_>]) -> Option<Self> {
        if stations.is_empty() || stations.len() > MOST_HOPS {
            return None;
        }
        keeps_shape(flow, stations.iter().map(|station| station.port)).then_some(())?;
        let names = names(id, stations)?;
        let kinds: BTreeSet<Who> = names.iter().flat_map(BTreeMap::values).copied().collect();
        if kinds.len() > MOST_WHO {
            return None;
        }
        let stages = stations.iter().zip(&names).enumerate();
        let stages = stages.map(|(hop, (station, names))| Stage::new(hop, station, names));
        Some(Self { stages: stages.collect::<Option<_>>()? })
    }

    /// How many hops there are.
    fn hops(&self) -> usize {
        self.stages.len()
    }

    /// The instant when the frame has been sent by the last hop.
    pub(crate) fn end(&self) -> Column {
        Column::Date(Date::Passes(small(self.hops())))
    }

    /// No instant is further from the first one than this, in picoseconds.
    pub(crate) fn longest(&self) -> Option<i128> {
        self.stages.iter().try_fold(0_i128, |sum, stage| {
            sum.checked_add(stage.delay)?.checked_add(stage.busy)?.checked_add(stage.varies)
        })
    }

    /// The fastest of its links.
    pub(crate) fn fastest(&self) -> i128 {
        self.stages.iter().map(|stage| stage.link).max().unwrap_or(1)
    }

    /// A column is no further from 0 than this; bits are not negative.
    pub(crate) fn most(&self, column: Column) -> Option<i128> {
        let longest = self.longest()?;
        match column {
            Column::Date(_) => Some(longest),
            Column::Bits(who, date) => {
                let [burst, rate] = self.stages.get(usize::from(date.hop()))?.offers.get(&who)?;
                burst.checked_mul(UNIT)?.checked_add(rate.checked_mul(longest.checked_mul(2)?)?)
            }
        }
    }

    /// All rows.
    pub(crate) fn lines(&self) -> Option<Vec<(Fact, Line)>> {
        self.facts().into_iter().map(|fact| Some((fact, self.line(fact)?))).collect()
    }

    fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        for (at, stage) in self.stages.iter().enumerate() {
            let hop = small(at);
            facts.push(Fact::Delays { hop });
            for of in hop..small(self.hops()) {
                facts.push(Fact::Serves { of, hop });
                let starts = Date::Starts { of, hop };
                let mut pairs = alloc::vec![(starts, Date::Passes(hop))];
                if of > hop {
                    let (comes, next) = (Date::Comes { of, hop }, Date::Starts { of, hop: hop + 1 });
                    facts.push(Fact::DelaysOf { of, hop });
                    facts.push(Fact::Before { earlier: comes, later: next });
                    pairs.extend([(starts, comes), (comes, Date::Passes(hop))]);
                    let behind = self.stages.get(at + 1);
                    let carried: Vec<Who> = stage
                        .offers
                        .keys()
                        .filter(|who| behind.is_some_and(|behind| behind.offers.contains_key(who)))
                        .copied()
                        .collect();
                    facts.extend(carried.iter().map(|who| Fact::Carries { who: *who, of, hop }));
                    let varies = behind.is_some_and(|behind| behind.varies > 0);
                    if varies && carried.iter().filter(|who| **who != Who::Own).count() > 1 {
                        facts.push(Fact::CarriesAll { of, hop });
                    }
                }
                for (from, to) in pairs {
                    facts.push(Fact::Before { earlier: from, later: to });
                    // What is beside flows was not looked at for the instant when a bit came.
                    let is_known =
                        |who: &&Who| !matches!((who, from), (Who::Beside { .. }, Date::Comes { .. }));
                    let offering = stage.offers.keys().filter(is_known);
                    facts.extend(offering.map(|who| Fact::Offers { who: *who, from, to }));
                    facts.extend(stage.links.keys().map(|link| Fact::Brings { link: *link, from, to }));
                    if !matches!(to, Date::Passes(_)) {
                        facts.extend(stage.offers.keys().map(|who| Fact::Grows { who: *who, from, to }));
                    }
                }
            }
        }
        facts
    }

    /// What a fact says.
    fn line(&self, fact: Fact) -> Option<Line> {
        let stage = |hop: u8| self.stages.get(usize::from(hop));
        let mut sum = Sum::default();
        let most = match fact {
            Fact::Serves { of, hop } => {
                let stage = stage(hop)?;
                let starts = Date::Starts { of, hop };
                let until = if of == hop { Date::Passes(hop + 1) } else { Date::Starts { of, hop: hop + 1 } };
                sum.window(stage.rate, starts, until);
                for who in stage.offers.keys() {
                    sum.bits(-1, *who, starts);
                    if of > hop {
                        sum.bits(1, *who, Date::Comes { of, hop });
                    }
                }
                // The frame itself is whole when it has been sent; at another instant a frame may not be.
                let partial = if of == hop { 0 } else { stage.frame };
                stage.held.checked_add(partial)?.checked_mul(UNIT)?
            }
            Fact::Delays { hop } => {
                sum.window(1, Date::Passes(hop), Date::Passes(hop + 1));
                stage(hop)?.delay
            }
            Fact::DelaysOf { of, hop } => {
                sum.window(1, Date::Comes { of, hop }, Date::Starts { of, hop: hop + 1 });
                stage(hop)?.delay
            }
            Fact::Before { earlier, later } => {
                sum.window(1, later, earlier);
                0
            }
            Fact::Offers { who, from, to } => {
                let [burst, rate] = *stage(from.hop())?.offers.get(&who)?;
                sum.between(who, from, to);
                sum.window(-rate, from, to);
                burst.checked_mul(UNIT)?
            }
            Fact::Brings { link, from, to } => {
                let ([frame, rate], all) = stage(from.hop())?.links.get(&link)?;
                all.iter().for_each(|who| sum.between(*who, from, to));
                sum.window(-*rate, from, to);
                *frame
            }
            Fact::Grows { who, from, to } => {
                sum.between(who, to, from);
                0
            }
            Fact::Carries { who, of, hop } => {
                sum.between(who, Date::Starts { of, hop: hop + 1 }, Date::Comes { of, hop });
                if who == Who::Own { 0 } else { self.overtaking(hop)? }
            }
            Fact::CarriesAll { of, hop } => {
                let behind = stage(hop + 1)?;
                let all = stage(hop)?.offers.keys().filter(|who| behind.offers.contains_key(who));
                for who in all.filter(|who| **who != Who::Own) {
                    sum.between(*who, Date::Starts { of, hop: hop + 1 }, Date::Comes { of, hop });
                }
                self.overtaking(hop)?
            }
        };
        Some((sum.0.into_iter().filter(|(_, factor)| *factor != 0).collect(), most))
    }

    /// What may overtake the frame between a hop and the next queue.
    fn overtaking(&self, hop: u8) -> Option<i128> {
        let (stage, behind) = (self.stages.get(usize::from(hop))?, self.stages.get(usize::from(hop) + 1)?);
        stage.link.checked_mul(behind.varies)
    }
}

/// Columns and factors of a row.
#[derive(Default)]
struct Sum(BTreeMap<Column, i128>);

impl Sum {
    fn date(&mut self, factor: i128, date: Date) {
        // From this one all others are counted.
        if date != Date::Passes(0) {
            *self.0.entry(Column::Date(date)).or_default() += factor;
        }
    }

    fn bits(&mut self, factor: i128, who: Who, date: Date) {
        // Behind the frame nothing matters.
        if !matches!(date, Date::Passes(_)) {
            *self.0.entry(Column::Bits(who, date)).or_default() += factor;
        }
    }

    /// A factor times the time between two instants.
    fn window(&mut self, factor: i128, from: Date, to: Date) {
        self.date(factor, to);
        self.date(-factor, from);
    }

    /// What comes between two instants.
    fn between(&mut self, who: Who, from: Date, to: Date) {
        self.bits(1, who, from);
        self.bits(-1, who, to);
    }
}

fn level(station: &Station<'_>) -> Option<u8> {
    Some(station.contenders.get(station.own)?.level)
}

/// The place of a flow that is at a port once, and at the level.
fn place<'s>(station: &'s Station<'_>, flow: FlowId) -> Option<(usize, &'s Contender)> {
    let mut places = (0..).zip(&station.flows).filter(|(_, other)| **other == flow);
    let (place, _) = places.next()?;
    let contender = station.contenders.get(place)?;
    (places.next().is_none() && Some(contender.level) == level(station)).then_some((place, contender))
}

/// For each hop, the flows of the level and what they are counted as.
fn names(id: FlowId, stations: &[Station<'_>]) -> Option<Vec<BTreeMap<usize, Who>>> {
    let goes_on = |hop: usize, flow: FlowId| {
        let (here, there) = (stations.get(hop)?, stations.get(hop + 1)?);
        let (_, contender) = place(there, flow)?;
        place(here, flow)?;
        let ingress = contender.ingress?;
        let same_link = Some(ingress.link) == u32::try_from(here.index).ok();
        // Gates and meters are behind the first link; where there are tags, switches may pad. What comes faster than its link sends has one.
        let is_tagged = here.port.tag > 0 || there.port.tag > 0 || ingress.rate != here.port.rate;
        (hop > 0 && same_link && !is_tagged).then_some(())
    };
    let mut names: Vec<BTreeMap<usize, Who>> = Vec::with_capacity(stations.len());
    for (hop, station) in stations.iter().enumerate() {
        let mut here = BTreeMap::new();
        for (at, (flow, contender)) in station.flows.iter().zip(&station.contenders).enumerate() {
            if Some(contender.level) != level(station) {
                continue;
            }
            let who = if at == station.own {
                Who::Own
            } else if *flow == id {
                return None;
            } else if let Some(before) = hop.checked_sub(1).filter(|before| goes_on(*before, *flow).is_some())
            {
                let (place, _) = place(stations.get(before)?, *flow)?;
                *names.get(before)?.get(&place)?
            } else {
                let mut last = hop;
                while goes_on(last, *flow).is_some() {
                    last += 1;
                }
                let link = contender.ingress.map(|ingress| ingress.link);
                Who::Crossing { first: small(hop), last: small(last), link }
            };
            here.insert(at, who);
        }
        names.push(here);
    }
    Some(names)
}

impl Stage {
    fn new(hop: usize, station: &Station<'_>, names: &BTreeMap<usize, Who>) -> Option<Self> {
        let Station { port, contenders, .. } = station;
        let server: Server = port.planning_server();
        let level = contenders.get(station.own)?.level;
        let mut held = i128::from(blocking(&server, contenders, level));
        let mut rate = i128::from(server.rate);
        if let Some(control) = server.control {
            held += i128::from(control.burst);
            rate -= i128::from(control.rate);
        }
        for above in contenders.iter().filter(|flow| flow.level > level) {
            held += i128::from(above.arrival.burst()?);
            rate -= i128::from(above.arrival.rate()?);
        }
        let mut offers: BTreeMap<Who, [i128; 2]> = BTreeMap::new();
        let mut links: BTreeMap<u32, ([i128; 2], BTreeSet<Who>)> = BTreeMap::new();
        let mut frame = i128::from(server.beside_frame);
        if let Some(beside) = server.beside {
            offers.insert(Who::Beside { hop: small(hop) }, [beside.burst.into(), beside.rate.into()]);
        }
        for (at, who) in names {
            let flow = contenders.get(*at)?;
            let [burst, rate] = offers.entry(*who).or_default();
            *burst += i128::from(flow.arrival.burst()?);
            *rate += i128::from(flow.arrival.rate()?);
            frame = frame.max(flow.largest_frame.into());
            if let Some(ingress) = flow.ingress {
                let (cap, all) = links.entry(ingress.link).or_default();
                let rate = i128::from(ingress.rate);
                let brought = i128::from(flow.largest_frame) * UNIT + rate * i128::from(ingress.variation);
                *cap = [cap[0].max(brought), cap[1].max(rate)];
                all.insert(*who);
            }
        }
        let [burst, asked] = offers.values().fold([0, 0], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
        let spare = rate.checked_sub(asked).filter(|spare| *spare > 0)?;
        let busy = (held + burst).checked_mul(UNIT)?.div_euclid(spare) + 1;
        let varies = if hop == 0 { 0 } else { port.variation().into() };
        let (link, delay) = (i128::from(port.rate), i128::from(station.delay));
        Some(Self { rate, held, frame, link, delay, busy, varies, offers, links })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Buffer, Imperfections, Port};
    use crate::port::{Arrival, Ingress};
    use crate::units::MILLISECOND;

    const RATE: u64 = 100_000_000;

    fn port() -> Port {
        Port {
            rate: RATE,
            propagation: 0,
            least_multiplexing: 0,
            most_multiplexing: 0,
            keeps_order: true,
            queues: 2,
            best_effort: 1_538,
            control: None,
            tag: 0,
            largest_frame: 1_538,
            buffer: Buffer::Shared(0),
            imperfections: Imperfections::default(),
        }
    }

    /// What another flow is counted as at each of three hops that it has in common with a flow, where the links bring its frames at these rates.
    fn other(rates: [u64; 2]) -> Vec<Who> {
        let ports = [port(); 3];
        let contender = |hop: usize, rate: u64| Contender {
            level: 1,
            arrival: Arrival::Messages { bits: 8_000, separation: MILLISECOND, jitter: 0 },
            smallest_frame: 8_000,
            largest_frame: 8_000,
            ingress: hop.checked_sub(1).map(|link| Ingress { link: link as u32, rate, variation: 0 }),
        };
        let station = |hop: usize| Station {
            index: hop,
            port: &ports[hop],
            flows: alloc::vec![1, 2],
            contenders: alloc::vec![
                contender(hop, RATE),
                contender(hop, hop.checked_sub(1).map_or(RATE, |link| rates[link])),
            ],
            own: 0,
            delay: 0,
        };
        let stations: Vec<Station<'_>> = (0..3).map(station).collect();
        names(1, &stations).unwrap().iter().map(|names| names[&1]).collect()
    }

    /// A frame with a tag is counted as one that comes faster than its link sends. A switch may pad it when the tag is taken off, and then it is another
    /// frame behind.
    #[test]
    fn what_has_a_tag_is_another_flow_at_each_hop() {
        let crossing = |first, last, link| Who::Crossing { first, last, link };
        // Gates and meters are behind the first link.
        let from_memory = crossing(0, 0, None);
        assert_eq!(other([RATE; 2]), [from_memory, crossing(1, 2, Some(0)), crossing(1, 2, Some(0))]);
        assert_eq!(other([RATE, RATE + 1]), [from_memory, crossing(1, 1, Some(0)), crossing(2, 2, Some(1))]);
    }
}
