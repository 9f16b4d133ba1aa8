//! Running sums of a port, level by level: the linear test of an admission without a look at the other flows.
//!
//! The figures of [`linear_delay`](crate::linear::linear_delay) with the blocking of a plan, which is constant: so a
//! level has three bounds, as it is, with a new flow in it, and with a new flow above it, wherever above that is.
//! Sums have room for any number of flows, so that taking out is the exact inverse of putting in.
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::network::{Buffer, Port};
use crate::port::Contender;
use crate::units::SECOND;

/// What a flow adds to the sums of its level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Terms {
    /// Bits at once.
    burst: u64,
    /// Bits that it delays lower levels by at once.
    interference: u64,
    /// Bits per second.
    rate: u64,
    /// Bits of its smallest frame.
    smallest: u64,
    /// Bits of its largest frame.
    largest: u64,
}

/// A level.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Level {
    flows: usize,
    burst: u128,
    interference: u128,
    rate: u128,
}

/// The sums of a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sums {
    levels: Vec<Level>,
}

/// What the flows of a port ask for besides sums: extremes, which are looked up again when a flow leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Extremes {
    /// For each level, the least share of its flows in picoseconds; the largest number if it is empty.
    limits: Vec<u64>,
    /// Bits of the smallest frame of the port's flows; the largest number without flows.
    smallest: u64,
    /// Bits of the largest frame.
    largest: u64,
}

/// A port with its flows added up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Book {
    sums: Sums,
    extremes: Extremes,
}

/// What a level promises, and its linear bounds, in picoseconds; `None` where there is none.
struct Outlook {
    empty: bool,
    limit: u64,
    /// As it is.
    now: Option<u64>,
    /// With the new flow in it.
    joined: Option<u64>,
    /// With the new flow above it.
    below: Option<u64>,
}

/// A place for a new flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) level: u8,
    /// Linear bound there, in picoseconds.
    pub(crate) delay: u64,
    /// The least margin of any level of the port, in parts of [`WHOLE`] of its limit.
    margin: u64,
}

/// The margin of a level without delay.
const WHOLE: u64 = 1 << 20;

impl Terms {
    /// `None` if numbers do not fit.
    pub(crate) fn of(contender: &Contender, port_rate: u64) -> Option<Self> {
        let burst = contender.arrival.burst()?;
        Some(Self {
            burst,
            // A flow that asks for more than the port leaves nothing to lower levels, whatever this is.
            interference: contender.arrival.interference(port_rate).unwrap_or(burst),
            rate: contender.arrival.rate()?,
            smallest: contender.smallest_frame,
            largest: contender.largest_frame,
        })
    }
}

impl Book {
    /// A port without flows.
    pub(crate) fn new(queues: u8) -> Self {
        let levels = alloc::vec![Level::default(); usize::from(queues)];
        let extremes = Extremes::none(levels.len());
        Self { sums: Sums { levels }, extremes }
    }

    /// Adds a flow.
    pub(crate) fn add(&mut self, level: u8, share: u64, terms: &Terms) {
        if let Some(level) = self.sums.levels.get_mut(usize::from(level)) {
            level.flows += 1;
            level.burst += u128::from(terms.burst);
            level.interference += u128::from(terms.interference);
            level.rate += u128::from(terms.rate);
        }
        self.extremes.raise(level, share, terms);
    }

    /// Takes out a flow that was added at the level; `rest` are the flows that stay, with levels and shares.
    pub(crate) fn take(&mut self, level: u8, terms: &Terms, rest: impl Iterator<Item = (u8, u64, Terms)>) {
        if let Some(level) = self.sums.levels.get_mut(usize::from(level)) {
            level.flows -= 1;
            level.burst -= u128::from(terms.burst);
            level.interference -= u128::from(terms.interference);
            level.rate -= u128::from(terms.rate);
        }
        self.look_up(rest);
    }

    /// Puts a flow of the port into another level; `all` are the port's flows as they are then.
    pub(crate) fn change(
        &mut self,
        from: u8,
        to: u8,
        terms: &Terms,
        all: impl Iterator<Item = (u8, u64, Terms)>,
    ) {
        self.take(from, terms, core::iter::empty());
        self.add(to, u64::MAX, terms);
        self.look_up(all);
    }

    /// Finds the extremes anew, of all flows of the port.
    pub(crate) fn look_up(&mut self, flows: impl Iterator<Item = (u8, u64, Terms)>) {
        self.extremes = Extremes::none(self.sums.levels.len());
        for (level, share, terms) in flows {
            self.extremes.raise(level, share, &terms);
        }
    }

    /// Bits per second of all flows.
    pub(crate) fn load(&self) -> u64 {
        let sum: u128 = self.sums.levels.iter().map(|level| level.rate).sum();
        u64::try_from(sum).unwrap_or(u64::MAX)
    }

    /// The least delay of a new flow at any place that leaves all others their shares, in picoseconds.
    pub(crate) fn quickest(&self, port: &Port, new: &Terms) -> Option<u64> {
        self.places(port, new, u64::MAX)?.into_iter().map(|place| place.delay).min()
    }

    /// The place for a new flow with a share that leaves the least margin of the port largest, if the buffers hold what
    /// the queues may hold then. Of several such places it is the one that suits the flow: at the top if it has no margin
    /// itself, at the bottom if it has almost all of its share left, so that those to come find their places.
    pub(crate) fn roomiest(&self, port: &Port, new: &Terms, share: u64) -> Option<u8> {
        self.best_of(self.places(port, new, share)?, port, new, share)
    }

    /// The place of the first flow of a port, whose delay is known to be no more than this wherever it goes: chosen as in
    /// [`Self::roomiest`].
    pub(crate) fn opening_level(&self, port: &Port, new: &Terms, share: u64, delay: u64) -> Option<u8> {
        let margin = margin(delay, share)?;
        let places = (0..port.queues).map(|level| Place { level, delay, margin }).collect();
        self.best_of(places, port, new, share)
    }

    fn best_of(&self, places: Vec<Place>, port: &Port, new: &Terms, share: u64) -> Option<u8> {
        let top = u64::from(port.queues.saturating_sub(1));
        let suits = |place: &Place| {
            let wanted = (WHOLE - margin(place.delay, share).unwrap_or(0)) * top / WHOLE;
            u64::from(place.level).abs_diff(wanted)
        };
        let best = places.into_iter().max_by_key(|place| (place.margin, Reverse(suits(place))))?;
        self.has_room(port, new, best).then_some(best.level)
    }

    /// All places where a new flow keeps its share and leaves all others theirs, by linear bounds alone.
    fn places(&self, port: &Port, new: &Terms, share: u64) -> Option<Vec<Place>> {
        let outlooks = self.outlooks(port, new)?;
        // The bounds of levels above count with the smallest frame of the port.
        let same_frame = self.extremes.smallest <= new.smallest;
        let mut places = Vec::with_capacity(outlooks.len());
        let mut below = WHOLE;
        // For each level, the least margin of those above; `None` if they cannot be told to keep their limits.
        let mut above = Some(WHOLE);
        let mut least_above = Vec::with_capacity(outlooks.len());
        for outlook in outlooks.iter().rev() {
            least_above.push(above);
            if !outlook.empty {
                above = match outlook.now.and_then(|now| margin(now, outlook.limit)) {
                    // A level that keeps its limit by another test than the linear one has no margin to speak of.
                    None if !same_frame => None,
                    margin => above.map(|above| above.min(margin.unwrap_or(0))),
                };
            }
        }
        for ((index, outlook), above) in outlooks.iter().enumerate().zip(least_above.into_iter().rev()) {
            let limit = share.min(outlook.limit);
            let own = outlook.joined.and_then(|delay| Some((delay, margin(delay, limit)?)));
            if let Some((delay, own)) = own {
                let least = above.map(|above| above.min(below).min(own));
                if let (Some(margin), Ok(level)) = (least, u8::try_from(index)) {
                    places.push(Place { level, delay, margin });
                }
            }
            // Further up the new flow is above this level.
            if !outlook.empty {
                match outlook.below.and_then(|delay| margin(delay, outlook.limit)) {
                    Some(margin) => below = below.min(margin),
                    None => break,
                }
            }
        }
        Some(places)
    }

    fn outlooks(&self, port: &Port, new: &Terms) -> Option<Vec<Outlook>> {
        let server = port.planning_server();
        let (control_burst, control_rate) =
            server.control.map_or((0, 0), |control| (u128::from(control.burst), u128::from(control.rate)));
        let (beside, beside_rate) = server.beside_level();
        let mut burst = u128::from(self.blocking(port, new)) + control_burst + u128::from(beside);
        let mut left = u128::from(server.rate).checked_sub(control_rate)?;
        let mut outlooks = Vec::with_capacity(self.sums.levels.len());
        let new_rate = u128::from(new.rate);
        let mut exhausted = false;
        for (level, limit) in self.sums.levels.iter().zip(&self.extremes.limits).rev() {
            let own = burst + level.burst;
            let bound = |bits: u128, left: u128, rate: u128| {
                if exhausted { None } else { delay_of(bits, left, rate) }
            };
            let rate = level.rate + u128::from(beside_rate);
            let below = left
                .checked_sub(new_rate)
                .and_then(|left| bound(own + u128::from(new.interference), left, rate));
            outlooks.push(Outlook {
                empty: level.flows == 0,
                limit: *limit,
                now: bound(own, left, rate),
                joined: bound(own + u128::from(new.burst), left, rate + new_rate),
                below,
            });
            burst += level.interference;
            match left.checked_sub(level.rate) {
                Some(rest) => left = rest,
                None => exhausted = true,
            }
        }
        outlooks.reverse();
        Some(outlooks)
    }

    /// Bits of the largest frame that a level may have to wait for, as a plan takes it, and of what no queue holds.
    fn blocking(&self, port: &Port, new: &Terms) -> u64 {
        let server = port.planning_server();
        let blocking = server.best_effort;
        let blocking =
            if port.queues > 1 { blocking.max(self.extremes.largest).max(new.largest) } else { blocking };
        blocking.saturating_add(server.ahead)
    }

    /// Whether the buffers hold what comes while the link sends lower frames and, queue by queue, what comes in the
    /// time of the linear bound.
    fn has_room(&self, port: &Port, new: &Terms, place: Place) -> bool {
        match port.buffer {
            Buffer::Shared(reserved) => {
                let server = port.planning_server();
                let Some(unadmitted) = server.unadmitted() else { return false };
                let (unadmitted, at_rate) = unadmitted.map_or((0, 0), |it| (it.burst, it.rate));
                let (mut burst, mut rate) = (
                    u128::from(unadmitted) + u128::from(new.burst),
                    u128::from(at_rate) + u128::from(new.rate),
                );
                for level in &self.sums.levels {
                    burst += level.burst;
                    rate += level.rate;
                }
                let blocked = (rate * u128::from(self.blocking(port, new))).div_ceil(u128::from(server.rate));
                let others = server.control_frame.max(server.beside_frame);
                let frame = u128::from(self.extremes.largest.max(new.largest).max(others));
                burst + blocked + frame <= u128::from(reserved) * 8
            }
            Buffer::PerQueue(reserved) => {
                let Some(outlooks) = self.outlooks(port, new) else { return false };
                let (beside, beside_rate) = port.server().beside_level();
                let at = usize::from(place.level);
                outlooks.iter().zip(&self.sums.levels).enumerate().all(|(index, (outlook, level))| {
                    let (delay, burst, rate) = if index == at {
                        let (burst, rate) = (u128::from(new.burst), u128::from(new.rate));
                        (outlook.joined, level.burst + burst, level.rate + rate)
                    } else {
                        let delay = if index < at { outlook.below } else { outlook.now };
                        (delay, level.burst, level.rate)
                    };
                    let holds = |delay: u64| {
                        let rate = rate + u128::from(beside_rate);
                        let grown = (rate * u128::from(delay)).div_ceil(u128::from(SECOND));
                        burst + u128::from(beside) + grown <= u128::from(reserved) * 8
                    };
                    (outlook.empty && index != at) || delay.is_some_and(holds)
                })
            }
        }
    }
}

impl Extremes {
    fn none(levels: usize) -> Self {
        Self { limits: alloc::vec![u64::MAX; levels], smallest: u64::MAX, largest: 0 }
    }

    fn raise(&mut self, level: u8, share: u64, terms: &Terms) {
        if let Some(limit) = self.limits.get_mut(usize::from(level)) {
            *limit = share.min(*limit);
        }
        self.smallest = self.smallest.min(terms.smallest);
        self.largest = self.largest.max(terms.largest);
    }
}

/// Picoseconds that `bits` take at the rate `left`, of which the level itself asks for `rate`, rounded up.
fn delay_of(bits: u128, left: u128, rate: u128) -> Option<u64> {
    if rate >= left {
        return None;
    }
    match (u64::try_from(bits), u64::try_from(left)) {
        (Ok(bits), Ok(left)) => crate::units::time_of(bits, left),
        _ => None,
    }
}

/// What a delay leaves of a limit, in parts of [`WHOLE`]; `None` if it is above the limit.
fn margin(delay: u64, limit: u64) -> Option<u64> {
    let left = limit.checked_sub(delay)?;
    if limit == u64::MAX {
        return Some(WHOLE);
    }
    Some(match left.checked_mul(WHOLE) {
        Some(product) => product / limit.max(1),
        None => (left >> 20).saturating_mul(WHOLE) / (limit >> 20).max(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::planned_server;
    use crate::linear::linear_delay;
    use crate::network::Imperfections;
    use crate::port::Arrival;
    use crate::units::{MICROSECOND, MILLISECOND};

    /// SplitMix64.
    struct Random(testkit::random::Random);

    impl Random {
        fn range(&mut self, low: u64, high: u64) -> u64 {
            self.0.range(low, high)
        }

        fn contender(&mut self, queues: u8) -> Contender {
            let bits = self.range(84, 60_000) * 8;
            let arrival = if self.range(0, 2) == 0 {
                Arrival::Bucket { burst: bits, rate: self.range(1, 200_000_000) }
            } else {
                let separation = self.range(100, 5_000) * MICROSECOND;
                Arrival::Messages { bits, separation, jitter: self.range(0, 300) * MICROSECOND }
            };
            let largest_frame = bits.min(12_304);
            let smallest_frame = self.range(672, largest_frame.max(672));
            let level = self.range(0, u64::from(queues) - 1) as u8;
            Contender { level, arrival, smallest_frame, largest_frame, ingress: None }
        }
    }

    fn port(random: &mut Random) -> Port {
        Port {
            rate: [100_000_000, 1_000_000_000][random.range(0, 1) as usize],
            propagation: 0,
            least_multiplexing: 0,
            most_multiplexing: 0,
            keeps_order: true,
            queues: random.range(1, 8) as u8,
            best_effort: random.range(0, 1) as u32 * 1_538,
            control: (random.range(0, 1) == 0)
                .then_some(crate::port::Control { burst: 5_000, rate: 1_000_000 }),
            tag: 0,
            largest_frame: 1_538,
            buffer: Buffer::Shared(0),
            imperfections: Imperfections {
                beside: (random.range(0, 2) == 0)
                    .then_some(crate::port::Control { burst: 7_000, rate: 3_000_000 }),
                ring: random.range(0, 1) as u32 * 3_076,
                wake: random.range(0, 1) * 30 * MICROSECOND,
                drift: 0,
                pauses: false,
            },
        }
    }

    fn book(port: &Port, flows: &[(Contender, u64)]) -> Book {
        let mut book = Book::new(port.queues);
        for (contender, share) in flows {
            book.add(contender.level, *share, &Terms::of(contender, port.rate).unwrap());
        }
        book
    }

    /// The sums say what the linear test of all flows says, for every level with the new flow in and above it.
    #[test]
    fn sums_are_the_linear_test() {
        for seed in tiers::current().seeds("property.cases") {
            let mut random = Random(testkit::random::Random::new(seed));
            let port = port(&mut random);
            let flows: Vec<(Contender, u64)> =
                (0..random.range(0, 12)).map(|_| (random.contender(port.queues), u64::MAX)).collect();
            let new = random.contender(port.queues);
            let outlooks = book(&port, &flows).outlooks(&port, &Terms::of(&new, port.rate).unwrap()).unwrap();
            let delay = |at: Option<u8>, level: u8| {
                let mut all: Vec<Contender> = flows.iter().map(|(contender, _)| *contender).collect();
                all.extend(at.map(|level| Contender { level, ..new }));
                linear_delay(&planned_server(&port.planning_server(), &all, level), &all, level)
            };
            for (level, outlook) in (0..).zip(&outlooks) {
                assert_eq!(outlook.joined, delay(Some(level), level), "seed {seed}, level {level}");
                if !outlook.empty {
                    assert_eq!(outlook.now, delay(None, level), "seed {seed}, level {level}");
                    for above in level + 1..port.queues {
                        assert_eq!(outlook.below, delay(Some(above), level), "seed {seed}, level {level}");
                    }
                }
            }
        }
    }

    /// A place leaves every flow its share.
    #[test]
    fn places_keep_all_shares() {
        let mut found = 0;
        for seed in tiers::current().seeds("property.cases") {
            let mut random = Random(testkit::random::Random::new(seed));
            let port = port(&mut random);
            let flows: Vec<(Contender, u64)> = (0..random.range(0, 6))
                .map(|_| (random.contender(port.queues), random.range(1, 20) * MILLISECOND))
                .collect();
            let (new, share) = (random.contender(port.queues), random.range(1, 20) * MILLISECOND);
            let terms = Terms::of(&new, port.rate).unwrap();
            let all = |level| {
                let all = flows.iter().map(|(contender, _)| *contender);
                all.chain([Contender { level, ..new }]).collect::<Vec<_>>()
            };
            for place in book(&port, &flows).places(&port, &terms, share).unwrap() {
                found += 1;
                let all = all(place.level);
                let shares = flows.iter().map(|(_, share)| *share).chain([share]);
                let kept =
                    |level| linear_delay(&planned_server(&port.planning_server(), &all, level), &all, level);
                let missed = all
                    .iter()
                    .zip(shares)
                    // Levels above are as they were.
                    .filter(|(flow, _)| flow.level <= place.level)
                    .find(|(flow, share)| kept(flow.level).is_none_or(|delay| delay > *share));
                assert_eq!(missed, None, "seed {seed}, {place:?}");
            }
        }
        assert!(found > 0);
    }

    #[test]
    fn taking_out_is_the_inverse_of_putting_in() {
        for seed in tiers::current().seeds("property.cases") {
            let mut random = Random(testkit::random::Random::new(seed));
            let port = port(&mut random);
            let mut flows: Vec<(Contender, u64)> = (0..random.range(1, 9))
                .map(|_| (random.contender(port.queues), random.range(1, 99)))
                .collect();
            let mut book = book(&port, &flows);
            while !flows.is_empty() {
                let (gone, _) = flows.remove(random.range(0, flows.len() as u64 - 1) as usize);
                let terms = |contender: &Contender| Terms::of(contender, port.rate).unwrap();
                let rest = flows.iter().map(|(contender, share)| (contender.level, *share, terms(contender)));
                book.take(gone.level, &terms(&gone), rest);
                assert_eq!(book, self::book(&port, &flows), "seed {seed}");
            }
        }
    }
}
