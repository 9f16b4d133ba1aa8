//! How a search changes an attack: one choice at a time, of those that make a difference in the system.
use alloc::vec::Vec;

use frames::Random;

use crate::attack::{Attack, Emission, Extent, Pattern, Ties, lateness, stall_distances, window_periods};
use crate::system::{Entry, SourceKind, Step, System};

/// A choice that can be made anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Move {
    Source(usize),
    Steps(usize),
    Transfer(usize),
    Costs,
    Slack,
    Skips,
    Ties,
    Stall(usize),
    Window(usize),
    Rate(usize),
    Origin(usize),
}

/// The choices of a system, and the times that it names.
#[derive(Debug)]
pub(crate) struct Moves<'a> {
    system: &'a System,
    all: Vec<Move>,
    times: Vec<u64>,
}

/// Where things happened to what the goal is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near<'a> {
    /// In order.
    pub(crate) marks: &'a [u64],
    /// When the worst case was known.
    pub(crate) until: u64,
}

fn extent(random: &mut Random) -> Extent {
    [Extent::Most, Extent::Most, Extent::Least, Extent::Either, Extent::Any][random.index(5)]
}

impl<'a> Moves<'a> {
    pub(crate) fn new(system: &'a System) -> Self {
        let parts = system.description();
        let mut all = Vec::new();
        for source in 0..parts.sources.len() {
            // Most of what there is to find is in phases.
            all.extend([Move::Source(source); 3]);
        }
        for (index, port) in parts.ports.iter().enumerate() {
            let is_free = port.steps.iter().any(|step| match step {
                Step::Run { least, most } => least < most,
                Step::Push { optional, .. } => *optional,
            });
            all.extend(is_free.then_some(Move::Steps(index)));
        }
        for (index, connection) in parts.connections.iter().enumerate() {
            let is_free = connection.transfer.is_some_and(|(least, most)| least < most);
            all.extend(is_free.then_some(Move::Transfer(index)));
        }
        let (mut costs, mut slack) = (false, false);
        for (index, host) in parts.hosts.iter().enumerate() {
            costs |= host.wake + host.switch + host.dispatch > 0;
            slack |= host.slack > 0;
            all.extend((host.drift > 0).then_some(Move::Rate(index)));
        }
        let phased = parts
            .sources
            .iter()
            .filter(|source| matches!(source.kind, SourceKind::Timer { phase: Some(_), .. }));
        all.extend(phased.map(|source| Move::Origin(system.host(source.port))));
        all.extend(costs.then_some(Move::Costs));
        all.extend(slack.then_some(Move::Slack));
        all.extend([Move::Skips, Move::Ties, Move::Ties]);
        for stall in 0..stall_distances(system).count() {
            all.extend([Move::Stall(stall); 2]);
        }
        for (core, period) in window_periods(system).enumerate() {
            all.extend((period > 0).then_some(Move::Window(core)));
        }
        Self { system, all, times: times(system) }
    }

    /// An attack with a choice or two changed.
    pub(crate) fn change(&self, attack: &Attack, near: Near<'_>, random: &mut Random) -> Attack {
        let mut attack = attack.clone();
        attack.seed = random.bits();
        for _ in 0..[1, 1, 2][random.index(3)] {
            let instant = self.instant(near, random);
            let chosen = self.all.get(random.index(self.all.len())).copied();
            self.make(&mut attack, chosen.unwrap_or(Move::Ties), instant, random);
        }
        attack
    }

    fn make(&self, attack: &mut Attack, chosen: Move, instant: u64, random: &mut Random) {
        match chosen {
            Move::Source(source) => {
                let kind = &self.system.description().sources[source].kind;
                move_source(&mut attack.sources[source], kind, instant, random);
            }
            Move::Steps(port) => attack.steps[port] = extent(random),
            Move::Transfer(connection) => attack.transfers[connection] = extent(random),
            Move::Costs => attack.costs = extent(random),
            Move::Slack => attack.slack = extent(random),
            Move::Skips => attack.skips = !attack.skips,
            Move::Ties => attack.ties = [Ties::LowFirst, Ties::HighFirst, Ties::Random][random.index(3)],
            Move::Stall(stall) => {
                // Kinds and cores together, or one alone.
                let together = random.once_in(2);
                let never = random.once_in(6);
                for (other, distance) in stall_distances(self.system).enumerate() {
                    if together || other == stall {
                        attack.stalls[other] = if never { u64::MAX } else { instant % distance };
                    }
                }
                attack.stalls_count = random.once_in(2);
            }
            Move::Window(core) => {
                let period = window_periods(self.system).nth(core).unwrap_or(0);
                attack.windows[core] = if random.once_in(2) { instant } else { random.below(period) };
                attack.deadlines_count = random.once_in(2);
            }
            Move::Rate(host) => {
                let drift = self.system.description().hosts[host].drift as i64;
                attack.rates[host] = [-drift, 0, drift][random.index(3)];
            }
            Move::Origin(host) => {
                let phases =
                    self.system.description().sources.iter().filter_map(|source| match source.kind {
                        SourceKind::Timer { phase: Some(phase), period, .. } => Some((phase, period)),
                        _ => None,
                    });
                // One of the timers is due then.
                let phases: Vec<(u64, u64)> = phases.collect();
                let (phase, period) = phases.get(random.index(phases.len())).copied().unwrap_or((0, 1));
                attack.origins[host] = instant + period - phase % period;
            }
        }
    }

    /// An instant that matters for the worst case so far, one a little before or after it, or so much as some time of the system.
    fn instant(&self, near: Near<'_>, random: &mut Random) -> u64 {
        let before = near.marks.partition_point(|mark| *mark <= near.until);
        let place = before.saturating_sub(1 + random.index(8.min(before.max(1))));
        let mark = near.marks.get(place).copied().unwrap_or(0);
        let mut time = || self.times.get(random.index(self.times.len())).copied().unwrap_or(0);
        let (one, other) = (time(), time());
        match random.below(10) {
            0..=3 => mark,
            4 | 5 => mark.saturating_sub(1),
            6 => mark + 1,
            7 => mark.saturating_sub(one),
            8 => mark + one,
            _ => (mark + one).saturating_sub(other),
        }
    }
}

fn move_source(emission: &mut Emission, kind: &SourceKind, instant: u64, random: &mut Random) {
    match random.below(6) {
        0..=2 => emission.at = instant,
        3 => emission.at = instant + random.below(kind.period()),
        4 => {
            let steady = Pattern::Steady(extent(random));
            emission.pattern = if random.once_in(2) { Pattern::Burst } else { steady };
        }
        _ => {
            // The one before it comes then, so that its own burst is as late as it can be.
            emission.at = match kind {
                SourceKind::Sporadic { separation } => instant.saturating_sub(*separation),
                _ => instant + kind.period(),
            };
        }
    }
}

/// Times that a system names.
fn times(system: &System) -> Vec<u64> {
    let parts = system.description();
    let mut times = Vec::new();
    for source in &parts.sources {
        times.push(source.kind.period());
        times.push(lateness(system, source));
    }
    for port in &parts.ports {
        times.extend(port.interval);
        if let Entry::Queued { join, deadline, .. } = port.entry {
            times.push(deadline);
            times.extend(join.and_then(|join| join.within));
        }
        times.extend(port.steps.iter().filter_map(|step| match step {
            Step::Run { most, .. } => Some(*most),
            Step::Push { .. } => None,
        }));
    }
    times.extend(parts.connections.iter().filter_map(|connection| Some(connection.transfer?.1)));
    times.sort_unstable();
    times.dedup();
    times
}
