//! Bounds that are put together of facts along a way: each fact is looked at whether it holds, and what they say together is added up again.
//! Written from what [`crate::facts`] says of each; it calls nothing of the code that finds them.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::left::{bucket, is_steady};
use super::{UNIT, offered};
use crate::certificate::{Certificate, PortCertificate};
use crate::facts::{Column, Date, Fact, PARTS, Who};
use crate::ledger::FlowId;
use crate::network::Port;
use crate::port::Contender;

/// How many facts a bound may rest on.
const MOST_FACTS: usize = 10_000;
/// Hops of a way.
const MOST_HOPS: usize = 64;

/// A hop of the way.
struct Place<'c> {
    evidence: &'c PortCertificate,
    port: &'c Port,
    /// The place of the flow among those of the port.
    own: usize,
}

/// The way to a subscriber.
struct Way<'c> {
    id: FlowId,
    places: Vec<Place<'c>>,
}

/// What facts have said so far.
struct Total {
    most: i128,
    columns: BTreeMap<Column, i128>,
    parts: i128,
}

impl Total {
    /// So many times an instant.
    fn time(&mut self, factor: i128, date: Date) -> Option<()> {
        if date == Date::Passes(0) { Some(()) } else { self.add(factor, Column::Date(date)) }
    }

    /// So many times what comes of a flow from an instant on.
    fn bits(&mut self, factor: i128, who: Who, date: Date) -> Option<()> {
        if matches!(date, Date::Passes(_)) { Some(()) } else { self.add(factor, Column::Bits(who, date)) }
    }

    fn add(&mut self, factor: i128, column: Column) -> Option<()> {
        let sum = self.columns.entry(column).or_insert(0);
        *sum = sum.checked_add(factor.checked_mul(self.parts)?)?;
        Some(())
    }

    fn at_most(&mut self, most: i128) -> Option<()> {
        self.most = self.most.checked_add(most.checked_mul(self.parts)?)?;
        Some(())
    }
}

/// Picoseconds from the first frame to the last one's reception, if the facts hold and say so.
pub(super) fn bound(
    certificate: &Certificate,
    ports: &[Port],
    subscriber: usize,
    facts: &[(Fact, u128)],
) -> Option<u128> {
    let flow = &certificate.flow;
    let hops = flow.way_to(flow.subscribers.get(subscriber)?.hop);
    let along: Vec<&Port> =
        hops.iter().map(|hop| ports.get(flow.tree.get(*hop)?.port)).collect::<Option<_>>()?;
    if facts.len() > MOST_FACTS || hops.len() > MOST_HOPS || !is_steady(certificate, &along) {
        return None;
    }
    let mut places = Vec::with_capacity(hops.len());
    for (hop, port) in hops.iter().zip(&along) {
        let evidence = certificate.ports.get(*hop)?;
        let mut flows = evidence.flows.clone();
        flows.sort_unstable();
        // A flow that is there twice could be counted as another one.
        flows.windows(2).all(|two| two.first() != two.last()).then_some(())?;
        let own = evidence.flows.iter().position(|flow| *flow == certificate.id)?;
        places.push(Place { evidence, port, own });
    }
    let way = Way { id: certificate.id, places };
    let mut total = Total { most: 0, columns: BTreeMap::new(), parts: 0 };
    for (fact, parts) in facts {
        total.parts = i128::try_from(*parts).ok()?;
        way.say(*fact, &mut total)?;
    }
    let whole = i128::try_from(PARTS).ok()?;
    // Once the last instant is asked for; what is said of anything else besides counts as much as that can be.
    total.parts = 1;
    total.add(whole.checked_neg()?, Column::Date(Date::Passes(u8::try_from(way.places.len()).ok()?)))?;
    let furthest = way.furthest()?;
    for (column, said) in &total.columns {
        let besides = match *column {
            Column::Date(_) => said.checked_abs()?.checked_mul(furthest)?,
            Column::Bits(who, date) => {
                let [burst, rate] = way.offer(who, date.hop())?;
                let most =
                    burst.checked_mul(UNIT)?.checked_add(rate.checked_mul(furthest.checked_mul(2)?)?)?;
                said.checked_neg()?.max(0).checked_mul(most)?
            }
        };
        total.most = total.most.checked_add(besides)?;
    }
    let queued = total.most.checked_add(whole - 1)?.div_euclid(whole);
    let fixed = along.iter().map(|port| i128::from(port.propagation) + i128::from(port.most_multiplexing));
    u128::try_from(queued.checked_add(fixed.sum::<i128>() + i128::from(offered::emitting(flow)?))?).ok()
}

impl Way<'_> {
    fn place(&self, hop: u8) -> Option<&Place<'_>> {
        self.places.get(usize::from(hop))
    }

    /// Whether an instant exists.
    fn exists(&self, date: Date) -> bool {
        let among = |hop: u8| usize::from(hop) < self.places.len();
        match date {
            Date::Passes(hop) => usize::from(hop) <= self.places.len(),
            Date::Starts { of, hop } => hop <= of && among(of),
            Date::Comes { of, hop } => hop < of && among(of),
        }
    }

    /// Whether one instant is not after the other, both by the clock of one hop, and what had come to that hop by the one had come by the
    /// other.
    fn precedes(&self, one: Date, other: Date) -> bool {
        let at_one_hop = one.hop() == other.hop() && self.exists(one) && self.exists(other);
        at_one_hop
            && usize::from(one.hop()) < self.places.len()
            && match (one, other) {
                (Date::Starts { .. } | Date::Comes { .. }, Date::Passes(_)) => true,
                // Of a later hop it is an earlier instant.
                (Date::Starts { of, .. }, Date::Starts { of: less, .. } | Date::Comes { of: less, .. })
                | (Date::Comes { of, .. }, Date::Comes { of: less, .. }) => less <= of,
                (Date::Passes(_), _) | (Date::Comes { .. }, Date::Starts { .. }) => false,
            }
    }

    /// What of a flow is in the queue of a hop.
    fn of_level(&self, hop: u8) -> Option<impl Iterator<Item = (FlowId, &Contender)>> {
        let place = self.place(hop)?;
        let level = place.evidence.contenders.get(place.own)?.level;
        let all = place.evidence.flows.iter().copied().zip(&place.evidence.contenders);
        Some(all.filter(move |(_, contender)| contender.level == level))
    }

    /// Whether a flow of the level at a hop goes on to the next one with the frame's, unchanged.
    fn goes_on(&self, flow: FlowId, hop: u8) -> bool {
        let (Some(here), Some(next)) = (self.place(hop), hop.checked_add(1).and_then(|hop| self.place(hop)))
        else {
            return false;
        };
        let is_here = self.of_level(hop).is_some_and(|mut all| all.any(|(other, _)| other == flow));
        let there = self.of_level(hop + 1).and_then(|mut all| all.find(|(other, _)| *other == flow));
        let ingress = there.and_then(|(_, contender)| contender.ingress);
        // Out of the host, or where frames may grow, it is another one: a tag that they grow by is in the rate that they come with.
        let grows = ingress.is_none_or(|ingress| ingress.rate != here.port.rate);
        let link = ingress.map(|ingress| ingress.link);
        hop > 0
            && here.port.tag == 0
            && next.port.tag == 0
            && !grows
            && is_here
            && link.and_then(|link| usize::try_from(link).ok()) == Some(here.evidence.port)
    }

    /// What a flow of the level counts as at a hop.
    fn who(&self, flow: FlowId, hop: u8) -> Option<Who> {
        if flow == self.id {
            return Some(Who::Own);
        }
        let (mut first, mut last) = (hop, hop);
        while first > 0 && self.goes_on(flow, first - 1) {
            first -= 1;
        }
        while self.goes_on(flow, last) {
            last += 1;
        }
        let (_, contender) = self.of_level(first)?.find(|(other, _)| *other == flow)?;
        Some(Who::Crossing { first, last, link: contender.ingress.map(|ingress| ingress.link) })
    }

    /// All that is told apart at a hop, with burst and rate.
    fn offers(&self, hop: u8) -> Option<BTreeMap<Who, [i128; 2]>> {
        let mut offers = BTreeMap::new();
        for (flow, contender) in self.of_level(hop)? {
            let [burst, rate] = bucket(contender.arrival)?;
            let sum = offers.entry(self.who(flow, hop)?).or_insert([0, 0]);
            *sum = [sum[0] + burst, sum[1] + rate];
        }
        if let Some(beside) = self.place(hop)?.evidence.server.beside {
            offers.insert(Who::Beside { hop }, [beside.burst.into(), beside.rate.into()]);
        }
        Some(offers)
    }

    fn offer(&self, who: Who, hop: u8) -> Option<[i128; 2]> {
        self.offers(hop)?.get(&who).copied()
    }

    /// Bits in the way of the level at a hop, the rate that is left to it, and its largest frame.
    fn service(&self, hop: u8) -> Option<[i128; 3]> {
        let place = self.place(hop)?;
        let server = &place.evidence.server;
        let level = place.evidence.contenders.get(place.own)?.level;
        let (mut below, mut above, mut rate) = (i128::from(server.best_effort), 0, i128::from(server.rate));
        let largest = i128::from(port_frame(place.port));
        let mut frame = server.beside.map_or(0, |beside| largest.min(beside.burst.into()));
        for contender in &place.evidence.contenders {
            let its = i128::from(contender.largest_frame);
            match contender.level.cmp(&level) {
                core::cmp::Ordering::Less => below = below.max(its),
                core::cmp::Ordering::Equal => frame = frame.max(its),
                core::cmp::Ordering::Greater => {
                    let [burst, asked] = bucket(contender.arrival)?;
                    above += burst;
                    rate -= asked;
                }
            }
        }
        if let Some(control) = server.control {
            above += i128::from(control.burst);
            rate -= i128::from(control.rate);
        }
        Some([below + i128::from(server.ahead) + above, rate, frame])
    }

    /// What no frame of the level exceeds at a hop: each of its flows has been promised that there.
    fn delay(&self, hop: u8) -> Option<i128> {
        let place = self.place(hop)?;
        let level = place.evidence.contenders.get(place.own)?.level;
        let all = place.evidence.contenders.iter().zip(&place.evidence.shares);
        all.filter(|(flow, _)| flow.level == level).map(|(_, share)| i128::from(*share)).min()
    }

    /// How much later than a frame others may come to the next hop that overtake it.
    fn varies(&self, hop: u8) -> Option<i128> {
        let port = self.place(hop)?.port;
        Some(
            i128::from(port.most_multiplexing)
                - i128::from(port.least_multiplexing.min(port.most_multiplexing)),
        )
    }

    /// No instant is further from the first one: the frame's delays, and for how long queues may be in use before.
    fn furthest(&self) -> Option<i128> {
        let mut sum = 0_i128;
        for hop in 0..u8::try_from(self.places.len()).ok()? {
            let [held, rate, _] = self.service(hop)?;
            let (mut burst, mut spare) = (held, rate);
            for [more, asked] in self.offers(hop)?.into_values() {
                burst += more;
                spare -= asked;
            }
            if spare <= 0 {
                return None;
            }
            let varies = if hop == 0 { 0 } else { self.varies(hop)? };
            sum =
                sum.checked_add(self.delay(hop)? + varies + burst.checked_mul(UNIT)?.div_euclid(spare) + 1)?;
        }
        Some(sum)
    }

    /// Adds what a fact says, if it holds.
    fn say(&self, fact: Fact, total: &mut Total) -> Option<()> {
        match fact {
            Fact::Serves { of, hop } => {
                let (starts, at_once) = (Date::Starts { of, hop }, of == hop);
                let until = if at_once {
                    Date::Passes(hop.saturating_add(1))
                } else {
                    Date::Starts { of, hop: hop.saturating_add(1) }
                };
                (self.exists(starts) && self.exists(until)).then_some(())?;
                let [held, rate, frame] = self.service(hop)?;
                // At least rate * time - what is in the way has been served of what had come.
                total.time(rate, until)?;
                total.time(-rate, starts)?;
                for who in self.offers(hop)?.into_keys() {
                    total.bits(-1, who, starts)?;
                    if !at_once {
                        total.bits(1, who, Date::Comes { of, hop })?;
                    }
                }
                total.at_most((held + if at_once { 0 } else { frame }).checked_mul(UNIT)?)
            }
            Fact::Delays { hop } => {
                let delay = self.delay(hop)?;
                total.time(1, Date::Passes(hop.saturating_add(1)))?;
                total.time(-1, Date::Passes(hop))?;
                total.at_most(delay)
            }
            Fact::DelaysOf { of, hop } => {
                let comes = Date::Comes { of, hop };
                self.exists(comes).then_some(())?;
                total.time(1, Date::Starts { of, hop: hop.saturating_add(1) })?;
                total.time(-1, comes)?;
                total.at_most(self.delay(hop)?)
            }
            Fact::Before { earlier, later } => {
                let leaves = match earlier {
                    Date::Comes { of, hop } => {
                        later == Date::Starts { of, hop: hop.saturating_add(1) } && self.exists(earlier)
                    }
                    Date::Passes(_) | Date::Starts { .. } => false,
                };
                (leaves || self.precedes(earlier, later)).then_some(())?;
                total.time(1, earlier)?;
                total.time(-1, later)
            }
            Fact::Offers { who, from, to } => {
                self.precedes(from, to).then_some(())?;
                let is_unknown = matches!((who, from), (Who::Beside { .. }, Date::Comes { .. }));
                let [burst, rate] = self.offer(who, from.hop()).filter(|_| !is_unknown)?;
                total.bits(1, who, from)?;
                total.bits(-1, who, to)?;
                total.time(-rate, to)?;
                total.time(rate, from)?;
                total.at_most(burst.checked_mul(UNIT)?)
            }
            Fact::Brings { link, from, to } => {
                self.precedes(from, to).then_some(())?;
                let hop = from.hop();
                let (mut at_once, mut rate, mut all) = (0, 0, BTreeMap::new());
                for (flow, contender) in self.of_level(hop)? {
                    let Some(ingress) = contender.ingress.filter(|ingress| ingress.link == link) else {
                        continue;
                    };
                    let late = i128::from(ingress.rate) * i128::from(ingress.variation);
                    at_once = at_once.max(i128::from(contender.largest_frame) * UNIT + late);
                    rate = rate.max(i128::from(ingress.rate));
                    all.insert(self.who(flow, hop)?, ());
                }
                for who in all.into_keys() {
                    total.bits(1, who, from)?;
                    total.bits(-1, who, to)?;
                }
                total.time(-rate, to)?;
                total.time(rate, from)?;
                total.at_most(at_once)
            }
            Fact::Grows { who, from, to } => {
                self.precedes(from, to).then_some(())?;
                self.offer(who, from.hop())?;
                total.bits(1, who, to)?;
                total.bits(-1, who, from)
            }
            Fact::Carries { who, of, hop } => {
                self.carries(who, of, hop, total)?;
                total.at_most(if who == Who::Own { 0 } else { self.overtaking(hop)? })
            }
            Fact::CarriesAll { of, hop } => {
                for who in self.offers(hop)?.into_keys().filter(|who| *who != Who::Own) {
                    if self.offer(who, hop.saturating_add(1)).is_some() {
                        self.carries(who, of, hop, total)?;
                    }
                }
                total.at_most(self.overtaking(hop)?)
            }
        }
    }

    fn carries(&self, who: Who, of: u8, hop: u8, total: &mut Total) -> Option<()> {
        let comes = Date::Comes { of, hop };
        self.exists(comes).then_some(())?;
        self.offer(who, hop)?;
        self.offer(who, hop.saturating_add(1))?;
        total.bits(1, who, Date::Starts { of, hop: hop.saturating_add(1) })?;
        total.bits(-1, who, comes)
    }

    /// What the link of a hop sends while frames may overtake each other behind it.
    fn overtaking(&self, hop: u8) -> Option<i128> {
        i128::from(self.place(hop)?.port.rate).checked_mul(self.varies(hop.saturating_add(1))?)
    }
}

/// Bits of the largest frame that the link carries.
fn port_frame(port: &Port) -> u64 {
    u64::from(port.largest_frame) * 8
}
