//! Everything that an adversary may choose within a system.
use alloc::vec;
use alloc::vec::Vec;

use frames::Random;

use crate::outcome::Goal;
use crate::system::{Source, SourceKind, System};

/// Where in their intervals values are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// The least each time.
    Least,
    /// The most each time.
    Most,
    /// The least or the most, by chance.
    Either,
    /// Anything between, by chance.
    Any,
}

impl Extent {
    /// A value from `low` to `high`, the same for the same `random`.
    pub(crate) fn choose(self, low: u64, high: u64, random: impl FnOnce() -> u64) -> u64 {
        match self {
            Self::Least => low,
            Self::Most => high,
            _ if low >= high => low,
            Self::Either => {
                if random() & 1 == 0 {
                    low
                } else {
                    high
                }
            }
            Self::Any => low + random() % (high - low + 1),
        }
    }
}

/// How late the events of a source are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// As many as can come at [`Emission::at`] do so, and those after it come as early as they may. A sporadic stream begins there.
    Burst,
    /// Each within its jitter; a sporadic stream keeps distances from its separation to twice of that.
    Steady(Extent),
}

/// The arrivals of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Emission {
    /// An instant of true time, in nanoseconds, at which an event comes. Those of a timer with a phase are where the origin of its host
    /// puts them.
    pub at: u64,
    /// How late the others are.
    pub pattern: Pattern,
}

/// In which order events of one instant happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ties {
    /// Those of lanes with lower priority first, so that they hold locks; of equal ones that of the goal last.
    LowFirst,
    /// Those of lanes with higher priority first.
    HighFirst,
    /// By chance.
    Random,
}

/// A run of a system: all that is free.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attack {
    /// For what is chosen by chance.
    pub seed: u64,
    /// When the run ends, in nanoseconds.
    pub horizon: u64,
    /// Its goal.
    pub goal: Goal,
    /// For each source.
    pub sources: Vec<Emission>,
    /// For each port: its steps, and whether optional pushes are made.
    pub steps: Vec<Extent>,
    /// For each connection: its transfer time.
    pub transfers: Vec<Extent>,
    /// Wake-up, switch and dispatch times.
    pub costs: Extent,
    /// For each host: lateness of what waits for its timers beside sources.
    pub slack: Extent,
    /// For each host, core and kind of stall: when the first one begins; `u64::MAX` is never. Others follow as soon as they may.
    pub stalls: Vec<u64>,
    /// For each host and core: where the first window of throttling ends.
    pub windows: Vec<u64>,
    /// Whether stalls count as time of the thread that they meet (P9).
    pub stalls_count: bool,
    /// Whether time of deadline threads counts as that of fifo threads (P10).
    pub deadlines_count: bool,
    /// Whether instants of timers that may be skipped are (S2).
    pub skips: bool,
    /// For each host: how fast its clock is, in parts of 10^9; at most its drift either way.
    pub rates: Vec<i64>,
    /// For each host: the origin of its timers with phases, in nanoseconds of its clock.
    pub origins: Vec<u64>,
    /// Order of equal instants.
    pub ties: Ties,
    /// For each component: from when on, and until when, its sources make events and it takes what comes over connections; its end is excluded.
    /// What is in its queues then is still handled. So modes change.
    pub presence: Vec<(u64, u64)>,
}

/// An event of a source, in nanoseconds of true time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    /// The instant of the event (B1).
    pub(crate) due: u64,
    /// When it fires or arrives.
    pub(crate) at: u64,
    /// The end of the interval of logical execution time, if there is one.
    pub(crate) publish: u64,
}

/// How late events of a source can be.
pub(crate) fn lateness(system: &System, source: &Source) -> u64 {
    match source.kind {
        SourceKind::Timer { jitter, .. } => jitter + system.parts.hosts[system.host(source.port)].slack,
        SourceKind::Periodic { jitter, .. } => jitter,
        SourceKind::Sporadic { .. } => 0,
    }
}

/// True time of an instant of a clock that is `rate` parts of 10^9 slow.
fn true_time(instant: u64, rate: i64) -> u64 {
    let late = i128::from(instant) * i128::from(rate);
    (i128::from(instant) + late.div_euclid(1_000_000_000)).max(0) as u64
}

/// The instant of a clock at which it is a true time, or the first after it.
fn clock_time(instant: u64, rate: i64) -> u64 {
    let scaled = i128::from(instant) * 1_000_000_000 / (1_000_000_000 + i128::from(rate));
    let mut clock = scaled.max(1) as u64 - 1;
    while true_time(clock, rate) < instant {
        clock += 1;
    }
    clock
}

impl Attack {
    /// Everything at once and for as long as possible: bursts at the first instant at which all can come together.
    pub fn critical(system: &System, goal: Goal, horizon: u64) -> Self {
        let parts = system.description();
        // Late enough that what is late, and what came just before, can have been.
        let late = |source: &Source| lateness(system, source) + source.kind.period();
        let at = parts.sources.iter().map(late).max().unwrap_or(0);
        let kinds = parts.hosts.iter().map(|host| host.cores * host.stalls.len()).sum();
        let cores = parts.hosts.iter().map(|host| host.cores).sum();
        Self {
            seed: 0,
            horizon: horizon.saturating_add(at),
            goal,
            sources: vec![Emission { at, pattern: Pattern::Burst }; parts.sources.len()],
            steps: vec![Extent::Most; parts.ports.len()],
            transfers: vec![Extent::Most; parts.connections.len()],
            costs: Extent::Most,
            slack: Extent::Most,
            stalls: vec![at; kinds],
            windows: vec![at; cores],
            stalls_count: true,
            deadlines_count: true,
            skips: false,
            rates: vec![0; parts.hosts.len()],
            origins: vec![at; parts.hosts.len()],
            ties: Ties::LowFirst,
            presence: vec![(0, u64::MAX); parts.components.len()],
        }
    }

    /// Everything by chance.
    pub fn random(system: &System, goal: Goal, horizon: u64, seed: u64) -> Self {
        let mut attack = Self::critical(system, goal, horizon);
        let mut random = Random::new(seed);
        attack.seed = seed;
        let parts = system.description();
        let extent = |random: &mut Random| match random.below(6) {
            0 => Extent::Least,
            1 => Extent::Either,
            2 => Extent::Any,
            _ => Extent::Most,
        };
        for (emission, source) in attack.sources.iter_mut().zip(&parts.sources) {
            emission.at += random.below(source.kind.period());
            emission.pattern = match random.below(3) {
                0 => Pattern::Burst,
                _ => Pattern::Steady(extent(&mut random)),
            };
        }
        attack.steps.iter_mut().for_each(|steps| *steps = extent(&mut random));
        attack.transfers.iter_mut().for_each(|transfer| *transfer = extent(&mut random));
        attack.costs = extent(&mut random);
        attack.slack = extent(&mut random);
        let distances: Vec<u64> = stall_distances(system).collect();
        for (first, distance) in attack.stalls.iter_mut().zip(distances) {
            *first = if random.once_in(4) { u64::MAX } else { *first + random.below(distance) };
        }
        let windows: Vec<u64> = window_periods(system).collect();
        for (end, period) in attack.windows.iter_mut().zip(windows) {
            *end = random.below(period);
        }
        attack.stalls_count = random.once_in(2);
        attack.deadlines_count = random.once_in(2);
        attack.skips = random.once_in(2);
        for (rate, host) in attack.rates.iter_mut().zip(&parts.hosts) {
            let drift = host.drift as i64;
            *rate = [-drift, 0, drift][random.index(3)];
        }
        attack.ties = [Ties::LowFirst, Ties::HighFirst, Ties::Random][random.index(3)];
        attack
    }

    /// A number that is always the same for the same `what`, `index` and `count`.
    pub(crate) fn chance(&self, what: u64, index: usize, count: u64) -> u64 {
        let key = what << 56 ^ (index as u64) << 40 ^ count;
        Random::new(self.seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ key).bits()
    }

    /// Whether the component of a port takes part.
    pub(crate) fn is_present(&self, system: &System, port: usize, at: u64) -> bool {
        let (from, until) = self.presence[system.parts.ports[port].component];
        (from..until).contains(&at)
    }

    /// The events of a source up to the horizon, in order, as long as its component is present.
    pub(crate) fn arrivals(&self, system: &System, source: usize) -> Vec<Arrival> {
        let port = system.parts.sources[source].port;
        let mut all = self.all_arrivals(system, source);
        all.retain(|arrival| {
            self.is_present(system, port, arrival.due) && self.is_present(system, port, arrival.at)
        });
        all
    }

    fn all_arrivals(&self, system: &System, source: usize) -> Vec<Arrival> {
        let Emission { at, pattern } = self.sources[source];
        let what = &system.parts.sources[source];
        let late = lateness(system, what);
        let chance = |count: u64| self.chance(1, source, count);
        let mut all: Vec<Arrival> = Vec::new();
        if let SourceKind::Sporadic { separation } = what.kind {
            let (mut next, extent) = match pattern {
                Pattern::Burst => (at, Extent::Least),
                Pattern::Steady(extent) => (at % separation, extent),
            };
            while next <= self.horizon {
                all.push(Arrival { due: next, at: next, publish: 0 });
                let count = all.len() as u64;
                next += separation + extent.choose(0, separation, || chance(count));
            }
            return all;
        }
        let host = system.host(what.port);
        let interval = system.parts.ports[what.port].interval.unwrap_or(0);
        let period = what.kind.period();
        let rate = if matches!(what.kind, SourceKind::Timer { .. }) { self.rates[host] } else { 0 };
        // What is as late as it may be then.
        let met = at.checked_sub(late).unwrap_or_else(|| at + period * (late / period + 1) - late);
        let (first, gap) = match what.kind {
            SourceKind::Timer { phase: Some(phase), .. } => (self.origins[host] + phase, 0),
            SourceKind::Periodic { gap, .. } => (met, gap),
            _ => (clock_time(met, rate), 0),
        };
        // Sources have been there for long when a run begins (S1).
        let first = first % period;
        let meeting = at;
        for count in 0.. {
            let local = first + count * period;
            let due = true_time(local, rate);
            if due > self.horizon {
                break;
            }
            let wanted = match pattern {
                Pattern::Burst if due + late < meeting => due + late,
                Pattern::Burst => due.max(meeting),
                Pattern::Steady(extent) => due + extent.choose(0, late, || chance(count)),
            };
            let soonest = all.last().map_or(0, |last| last.at + gap);
            let arrival = wanted.max(soonest);
            if arrival > self.horizon {
                break;
            }
            let instant = if matches!(what.kind, SourceKind::Timer { .. }) { due } else { arrival };
            all.push(Arrival { due: instant, at: arrival, publish: true_time(local + interval, rate) });
        }
        all
    }
}

/// For each entry of [`Attack::stalls`] its least distance.
pub(crate) fn stall_distances(system: &System) -> impl Iterator<Item = u64> {
    system
        .parts
        .hosts
        .iter()
        .flat_map(|host| (0..host.cores).flat_map(|_| host.stalls.iter().map(|stall| stall.distance)))
}

/// For each entry of [`Attack::windows`] its period; 0 without throttling.
pub(crate) fn window_periods(system: &System) -> impl Iterator<Item = u64> {
    system.parts.hosts.iter().flat_map(|host| {
        let period = host.throttling.map_or(0, |window| window.period);
        (0..host.cores).map(move |_| period)
    })
}
