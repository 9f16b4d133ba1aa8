//! Checks certificates in exact arithmetic, slowly and without the code that found the bounds.
//!
//! Work is counted in bits times picoseconds per second, so that a link of `rate` bits per second does exactly `rate`
//! of it in a picosecond and nothing is divided or rounded. A claimed delay is not computed again: for every instant
//! at which a frame may come it is shown that the link has finished all that precedes the frame early enough.
//!
//! What a flow offers to each hop is derived a second time, too, from its samples, its shares and what guards the first switch; so is
//! what that guard must let through. Of a bundle the sum of its flows is believed, which the certificate does not name.
mod buffers;
mod left;
mod offered;
mod repairs;
mod way;

use alloc::vec::Vec;

pub use repairs::{Repaired, check_repaired};

use crate::certificate::{Certificate, Claim, PortCertificate, Proof};
use crate::network::Port;
use crate::port::{Arrival, Contender, Control, Ingress};

/// What is wrong with a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Lists that belong together have different lengths, or a port or the flow is missing.
    Shape,
    /// The server assumed for the hop is faster, or blocked by less, than the port.
    Server {
        /// Index of the hop.
        hop: usize,
    },
    /// The flow may offer more to the hop than the certificate says; at the first hop also: what guards the first switch may drop what
    /// keeps the contract.
    Offered {
        /// Index of the hop.
        hop: usize,
    },
    /// A flow's level has no claim, or one above the flow's share.
    Share {
        /// Index of the hop.
        hop: usize,
    },
    /// A busy period may be longer than claimed.
    Pause {
        /// Index of the hop.
        hop: usize,
        /// The level.
        level: u8,
    },
    /// A frame that comes so long after the start of a busy period could not be shown to leave in time.
    Delay {
        /// Index of the hop.
        hop: usize,
        /// The level.
        level: u8,
        /// Picoseconds after the start.
        after: u64,
    },
    /// Shares, propagation and multiplexing exceed the limit of a subscriber, and no other bound in the certificate is within it.
    Limit {
        /// Index of the subscriber.
        subscriber: usize,
    },
    /// The buffer of a port may be too small.
    Buffer {
        /// Index of the hop.
        hop: usize,
        /// The level, the lowest one if queues share the buffer.
        level: u8,
    },
    /// Numbers too large to check, or too many instants.
    TooLarge {
        /// Index of the hop.
        hop: usize,
    },
}

/// A port with more flows is beyond the checker.
pub const MOST_FLOWS: usize = 1 << 10;

/// Checks a certificate against the ports of the network.
pub fn check(certificate: &Certificate, ports: &[Port]) -> Result<(), Fault> {
    let flow = &certificate.flow;
    if certificate.ports.len() != flow.tree.len() || certificate.shares.len() != flow.tree.len() {
        return Err(Fault::Shape);
    }
    let mut claimed = Vec::with_capacity(certificate.ports.len());
    for (hop, evidence) in certificate.ports.iter().enumerate() {
        let port = ports.get(evidence.port).ok_or(Fault::Shape)?;
        if flow.tree.get(hop).map(|hop| hop.port) != Some(evidence.port) {
            return Err(Fault::Shape);
        }
        // Where there are several queues, a frame below may be as large as the link carries; and whatever is on the wire, behind it a card
        // may have taken what is below.
        let any = port.queues > 1 || port.imperfections.ring > 0;
        let below = if any { port.largest_frame.max(port.best_effort) } else { port.best_effort };
        let assumed = evidence.server;
        let real = port.imperfections;
        // The link could send so much while it wakes, and of what is in the card so much is sent first.
        let waking = u128::from(real.wake) * u128::from(port.rate);
        let ahead = waking.div_ceil(UNIT as u128) + u128::from(real.ring) * 8;
        if assumed.rate != port.rate
            || assumed.best_effort < u64::from(below) * 8
            || assumed.control != port.control
            || assumed.beside != real.beside
            // No server is as slow as a link that is stopped.
            || real.pauses
            || u128::from(assumed.ahead) < ahead
        {
            return Err(Fault::Server { hop });
        }
        let at = evidence.flows.iter().position(|flow| *flow == certificate.id).ok_or(Fault::Shape)?;
        claimed.push(*evidence.contenders.get(at).ok_or(Fault::Shape)?);
        if evidence.shares.get(at) != certificate.shares.get(hop) {
            return Err(Fault::Offered { hop });
        }
        check_port(evidence, hop)?;
        buffers::check(evidence, port).map_err(|level| match level {
            Some(level) => Fault::Buffer { hop, level },
            None => Fault::TooLarge { hop },
        })?;
    }
    offered::check(flow, ports, &certificate.shares, &certificate.enforcement, &claimed)
        .map_err(|hop| Fault::Offered { hop })?;
    for (index, subscriber) in flow.subscribers.iter().enumerate() {
        let mut sum = u128::from(offered::emitting(flow).ok_or(Fault::Shape)?);
        for hop in flow.way_to(subscriber.hop) {
            let port = flow.tree.get(hop).and_then(|hop| ports.get(hop.port)).ok_or(Fault::Shape)?;
            let share = certificate.shares.get(hop).ok_or(Fault::Shape)?;
            sum += u128::from(*share) + u128::from(port.propagation) + u128::from(port.most_multiplexing);
        }
        let limit = u128::from(subscriber.limit);
        let proof = certificate.proofs.get(index).and_then(Option::as_ref);
        let other = || match proof? {
            Proof::Concatenation => left::concatenated(certificate, ports, index),
            Proof::Facts(facts) => way::bound(certificate, ports, index, facts),
        };
        if sum > limit && other().is_none_or(|bound| bound > limit) {
            return Err(Fault::Limit { subscriber: index });
        }
    }
    Ok(())
}

fn check_port(evidence: &PortCertificate, hop: usize) -> Result<(), Fault> {
    if evidence.contenders.len() != evidence.shares.len() || evidence.contenders.len() != evidence.flows.len()
    {
        return Err(Fault::Shape);
    }
    if !evidence.contenders.iter().all(in_range)
        || evidence.contenders.len() > MOST_FLOWS
        || evidence.server.rate > MOST_RATE
        || evidence.server.best_effort.max(evidence.server.ahead) > MOST_BITS
        || [evidence.server.control, evidence.server.beside]
            .into_iter()
            .flatten()
            .any(|bucket| bucket.burst > MOST_BITS || bucket.rate > MOST_RATE)
        || evidence.claims.iter().any(|claim| claim.delay.max(claim.pause) > MOST_TIME)
    {
        return Err(Fault::TooLarge { hop });
    }
    for (contender, share) in evidence.contenders.iter().zip(&evidence.shares) {
        let claim = evidence.claims.iter().find(|claim| claim.level == contender.level);
        if claim.is_none_or(|claim| claim.delay > *share) {
            return Err(Fault::Share { hop });
        }
    }
    evidence.claims.iter().try_for_each(|claim| check_claim(evidence, claim, hop))
}

/// Numbers up to these cannot overflow: products of bits, picoseconds per second and counts of messages stay below
/// 2^123.
const MOST_BITS: u64 = 1 << 40;
const MOST_RATE: u64 = 1 << 44;
/// 2.5 hours.
const MOST_TIME: u64 = 1 << 53;
/// A microsecond: messages come less often.
const LEAST_SEPARATION: u64 = 1 << 20;

fn in_range(contender: &Contender) -> bool {
    let arrival = match contender.arrival {
        Arrival::Messages { bits, separation, jitter } => {
            bits <= MOST_BITS && (LEAST_SEPARATION..=MOST_TIME).contains(&separation) && jitter <= MOST_TIME
        }
        Arrival::Bucket { burst, rate } => burst <= MOST_BITS && rate <= MOST_RATE,
    };
    let ingress = |ingress: Ingress| ingress.rate <= MOST_RATE && ingress.variation <= MOST_TIME;
    arrival
        && contender.largest_frame <= MOST_BITS
        && contender.smallest_frame <= MOST_BITS
        && contender.ingress.is_none_or(ingress)
}

/// Work that a picosecond of one bit per second does.
const UNIT: i128 = 1_000_000_000_000;
/// How many intervals may be examined for a claim.
const INTERVALS: u32 = 50_000;
/// How many instants at which something jumps a claim may have: together they bound the time a check takes.
const MOST_INSTANTS: usize = 5_000;

/// A flow as a line with jumps: `base + slope * t`, and `step` more at each multiple of the period, jitter earlier.
struct Source {
    base: i128,
    slope: i128,
    step: i128,
    period: i128,
    jitter: i128,
}

/// Flows of one link, and the line that the link draws: base and slope.
struct Bundle {
    link: Option<u32>,
    line: Option<(i128, i128)>,
    sources: Vec<Source>,
}

/// One of the two lines of a bundle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Link,
    Flows,
}

impl Bundle {
    /// Base and slope of a side just after the jumps at `t`, as a line through time 0.
    fn side(&self, side: Side, t: i128) -> (i128, i128) {
        match (side, self.line) {
            (Side::Link, Some(line)) => line,
            _ => self.sources.iter().fold((0, 0), |(base, slope), source| {
                let count = (t + source.jitter).div_euclid(source.period) + 1;
                (base + source.base + source.step * count, slope + source.slope)
            }),
        }
    }

    /// What has come before `t`.
    fn before(&self, t: i128) -> i128 {
        self.with_jumps(t - 1, t)
    }

    /// What has come by `t` with the jumps until `jumped`.
    fn with_jumps(&self, jumped: i128, t: i128) -> i128 {
        let at = |(base, slope): (i128, i128)| base + slope * t;
        let flows = at(self.side(Side::Flows, jumped));
        self.line.map_or(flows, |line| flows.min(at(line)))
    }

    /// The least of the sides at `x / rate`, times `rate`, with the jumps until `t`.
    fn lower_side(&self, t: i128, x: i128, rate: i128) -> Option<Side> {
        let value = |side| {
            let (base, slope): (i128, i128) = self.side(side, t);
            base.checked_mul(rate)?.checked_add(slope.checked_mul(x)?)
        };
        Some(if self.line.is_some() && value(Side::Link)? < value(Side::Flows)? {
            Side::Link
        } else {
            Side::Flows
        })
    }
}

fn bundles<'a>(contenders: impl Iterator<Item = &'a Contender>) -> Option<Vec<Bundle>> {
    let mut bundles: Vec<Bundle> = Vec::new();
    for contender in contenders {
        let ingress = contender.ingress;
        let link = ingress.map(|ingress| ingress.link);
        let at = bundles.iter().position(|bundle| bundle.link == link).unwrap_or_else(|| {
            bundles.push(Bundle { link, line: None, sources: Vec::new() });
            bundles.len() - 1
        });
        let bundle = bundles.get_mut(at)?;
        if let Some(ingress) = ingress {
            let rate = i128::from(ingress.rate);
            let base = i128::from(contender.largest_frame) * UNIT + rate * i128::from(ingress.variation);
            let line = bundle.line.get_or_insert((base, rate));
            *line = (line.0.max(base), line.1.max(rate));
        }
        bundle.sources.push(match contender.arrival {
            Arrival::Messages { separation: 0, .. } => return None,
            Arrival::Messages { bits, separation, jitter } => Source {
                base: 0,
                slope: 0,
                step: i128::from(bits) * UNIT,
                period: i128::from(separation),
                jitter: i128::from(jitter),
            },
            Arrival::Bucket { burst, rate } => Source {
                base: i128::from(burst) * UNIT,
                slope: i128::from(rate),
                step: 0,
                period: 1,
                jitter: 0,
            },
        });
    }
    Some(bundles)
}

/// Traffic of no flow: of control, or beside the flows of a level.
fn bucket(bucket: Option<Control>) -> Option<Bundle> {
    bucket.map(|bucket| Bundle {
        link: None,
        line: None,
        sources: alloc::vec![Source {
            base: i128::from(bucket.burst) * UNIT,
            slope: i128::from(bucket.rate),
            step: 0,
            period: 1,
            jitter: 0,
        }],
    })
}

/// A claim under examination.
struct Case<'c> {
    rate: i128,
    /// Blocking less the frame that is delayed.
    fixed: i128,
    /// From arrival to the latest start of transmission, times the rate.
    patience: i128,
    own: &'c [Bundle],
    higher: &'c [Bundle],
    /// Instants at which higher levels jump.
    jumps: &'c [i128],
    left: u32,
}

fn check_claim(evidence: &PortCertificate, claim: &Claim, hop: usize) -> Result<(), Fault> {
    let level = claim.level;
    let too_large = Fault::TooLarge { hop };
    let flows = &evidence.contenders;
    let rate = i128::from(evidence.server.rate);
    let below = flows.iter().filter(|flow| flow.level < level).map(|flow| flow.largest_frame).max();
    let lower = i128::from(evidence.server.best_effort.max(below.unwrap_or(0)));
    let lower = (lower + i128::from(evidence.server.ahead)) * UNIT;
    let of_level = flows.iter().filter(|flow| flow.level == level);
    let frame =
        i128::from(of_level.clone().map(|flow| flow.smallest_frame).min().ok_or(Fault::Shape)?) * UNIT;
    let (control, beside) = (|| bucket(evidence.server.control), || bucket(evidence.server.beside));
    let mut own = bundles(of_level).ok_or(Fault::Shape)?;
    own.extend(beside());
    let mut higher = bundles(flows.iter().filter(|flow| flow.level > level)).ok_or(Fault::Shape)?;
    higher.extend(control());
    let pause = i128::from(claim.pause);
    // Everything that has come before the pause has been sent by then.
    let mut all = bundles(flows.iter().filter(|flow| flow.level >= level)).ok_or(Fault::Shape)?;
    all.extend(control());
    all.extend(beside());
    let come: i128 = all.iter().map(|bundle| bundle.before(pause)).sum();
    if pause < 1 || pause * rate < lower + come {
        return Err(Fault::Pause { hop, level });
    }
    let patience = i128::from(claim.delay) * rate - frame;
    let latest = pause + i128::from(claim.delay);
    let jumps = instants(&higher, latest).ok_or(too_large)?;
    let mut breaks = instants(&own, pause).ok_or(too_large)?;
    // Where the latest start passes a jump of a higher level.
    breaks.extend(
        jumps.iter().map(|jump| (jump * rate - patience).div_euclid(rate)).flat_map(|at| [at, at + 1]),
    );
    breaks.retain(|at| 0 < *at && *at < pause);
    breaks.push(pause);
    breaks.sort_unstable();
    breaks.dedup();
    let mut case = Case {
        rate,
        fixed: lower - frame,
        patience,
        own: &own,
        higher: &higher,
        jumps: &jumps,
        left: INTERVALS,
    };
    let mut start = 0;
    for end in breaks {
        case.holds(start, end).ok_or(too_large)?.map_err(|after| Fault::Delay {
            hop,
            level,
            after: u64::try_from(after).unwrap_or(0),
        })?;
        start = end;
    }
    Ok(())
}

/// The instants in `(0, end)` at which flows jump; `None` if there are too many.
fn instants(bundles: &[Bundle], end: i128) -> Option<Vec<i128>> {
    let mut instants = Vec::new();
    for source in bundles.iter().flat_map(|bundle| &bundle.sources).filter(|source| source.step > 0) {
        let mut next = source.period - source.jitter.rem_euclid(source.period);
        while next < end {
            instants.push(next);
            next += source.period;
            if instants.len() > MOST_INSTANTS {
                return None;
            }
        }
    }
    Some(instants)
}

impl Case<'_> {
    /// Whether all frames that come in `[start, end)`, where nothing jumps after `start`, begin in time; else the
    /// instant where that could not be shown. `None` for numbers too large.
    fn holds(&mut self, start: i128, end: i128) -> Option<Result<(), i128>> {
        self.left = self.left.checked_sub(1)?;
        if self.by_lines(start, end)? || self.by_an_earlier_start(start, end)? {
            return Some(Ok(()));
        }
        if end - start <= 1 {
            return Some(Err(start));
        }
        let middle = self.bend(start, end).unwrap_or(start + (end - start) / 2);
        match self.holds(start, middle)? {
            Ok(()) => self.holds(middle, end),
            fault => Some(fault),
        }
    }

    /// Before the latest start the link has done all work: a linear inequality, which holds between two instants if it
    /// holds at both.
    fn by_lines(&self, start: i128, end: i128) -> Option<bool> {
        let (first, last) = (start * self.rate + self.patience, end * self.rate + self.patience);
        if first < 0 {
            return Some(false);
        }
        // Jumps count until the instant before the end, or at a single instant until it.
        let jumped =
            if end - start <= 1 { last.div_euclid(self.rate) } else { (last - 1).div_euclid(self.rate) };
        let jumped =
            if end - start <= 1 || !self.jumps_in(first, last) { jumped } else { return Some(false) };
        let mut sums = [self.fixed.checked_mul(self.rate)?; 2];
        let (mut own_slope, mut higher_slope) = (0, 0);
        for bundle in self.own {
            let middle = (start + end).checked_mul(self.rate)? / 2;
            let (base, slope) = bundle.side(bundle.lower_side(start, middle, self.rate)?, start);
            sums = [sums[0].checked_add(base.checked_mul(self.rate)?)?; 2];
            own_slope += slope;
        }
        for bundle in self.higher {
            let (base, slope) =
                bundle.side(bundle.lower_side(jumped, (first + last) / 2, self.rate)?, jumped);
            sums = [sums[0].checked_add(base.checked_mul(self.rate)?)?; 2];
            higher_slope += slope;
        }
        let holds = |at: i128, x: i128, sum: i128| {
            let work = own_slope.checked_mul(at)?.checked_mul(self.rate)?.checked_add(sum)?;
            Some(x.checked_mul(self.rate - higher_slope)? >= work)
        };
        Some(holds(start, first, sums[0])? && holds(end, last, sums[1])?)
    }

    /// Just before some jump of a higher level, in time for the first frame, the work for the last one was done.
    fn by_an_earlier_start(&self, start: i128, end: i128) -> Option<bool> {
        let first = start * self.rate + self.patience;
        let work = self.own.iter().fold(self.fixed, |work, bundle| work + bundle.with_jumps(start, end));
        Some(self.jumps.iter().filter(|jump| **jump * self.rate <= first).any(|jump| {
            let higher: i128 = self.higher.iter().map(|bundle| bundle.before(*jump)).sum();
            jump * self.rate - higher >= work
        }))
    }

    /// Whether a higher level jumps after `first` and not after the instant before `last` (both times the rate).
    fn jumps_in(&self, first: i128, last: i128) -> bool {
        self.jumps.iter().any(|jump| (first + 1..last).contains(&(jump * self.rate)))
    }

    /// An instant strictly between, at or just before or after which the lines of a bundle of the level cross.
    fn bend(&self, start: i128, end: i128) -> Option<i128> {
        self.own.iter().find_map(|bundle| {
            let (link_base, link_slope) = bundle.line?;
            let (base, slope) = bundle.side(Side::Flows, start);
            let at = (base - link_base).checked_div(link_slope - slope)?;
            [at, at + 1].into_iter().find(|at| start < *at && *at < end)
        })
    }
}
