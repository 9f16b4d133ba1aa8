//! A chain that is followed in this process: where its events begin, and where they are answered.
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Weak};
use std::time::Duration;

use threads::Lock;

use super::followed::instant;
use super::score::{EARLIER, Excess, Limit, MOST_HOPS, Quantiles, Scorer, Spent, Stamp, Times};
use super::stalls::{Stalled, Stalls};
use crate::context::{Clock, nanos};
use crate::reports::{Fault, Report, Reports};

/// A chain of events through ports, to be followed while it runs.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Chain {
    /// Its name.
    pub name: String,
    /// The time from an event to the first answer to it, or to a later one, at most.
    pub reaction: Option<Duration>,
    /// The age of the oldest event behind an answer at most.
    pub age: Option<Duration>,
    /// The period, if the first port is a timer: events that later ones took the place of are known by it.
    pub period: Option<Duration>,
    /// The ports that events pass, in this order; some of them may be in other processes.
    pub hops: Vec<Hop>,
    /// It is one connection, of this name in all processes, and has one port: events begin when they are pushed over the connection, and each
    /// that comes has a latency, whose limit is `reaction`.
    pub connection: Option<String>,
}

/// A port of a chain.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Hop {
    /// `instance.port`.
    pub port: String,
    /// The names of the connections by which events come to it: that of a timer, or those of both ends if it is in another process.
    pub connections: Vec<String>,
    /// Its handler works with what that of the port before, of the same component, has left there the last time. What calls it, a timer for
    /// example, is of no matter for the chain.
    pub samples: bool,
}

impl Hop {
    /// Whether it is a port of this component.
    pub(super) fn is_of(&self, instance: &str) -> bool {
        self.port.split('.').next() == Some(instance)
    }
}

/// The score of a chain that ends in this process, or of a connection. The latency of a connection is its `reaction`, and it has no `age`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainScore {
    /// The chain.
    pub name: String,
    /// How often its last handler has ended.
    pub completions: u64,
    /// The reaction, for each event that was answered.
    pub reaction: Quantiles,
    /// The age, for each completion.
    pub age: Quantiles,
    /// Events that were answered by later ones, and of which is not known when they began. They are not in `reaction`.
    pub unknown: u64,
    /// How long the oldest event that was not answered has waited, if that is longer than the limit of the reaction.
    pub overdue: Option<Duration>,
    /// Completions that say nothing, since their stamps are of the clock of another machine.
    pub foreign: u64,
    /// The times at each port, summed over all completions.
    pub hops: Vec<(String, Times)>,
}

/// A limit of a chain or a connection that is exceeded, and where the time went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exceeded {
    /// Which limit.
    pub limit: Limit,
    /// What is allowed.
    pub most: Duration,
    /// The time that it was; of several since the last report, that which is furthest above.
    pub time: Duration,
    /// How often since the last report.
    pub count: u64,
    /// Whether there was an answer. If not, nothing was answered for so long, and no port is known to be the reason.
    pub is_answered: bool,
    /// The part of the time in which later events took the place of this one.
    pub gave_way: Duration,
    /// The times at each port.
    pub hops: Vec<(String, Times)>,
    /// By how much the time may be wrong, since clocks of several machines were read.
    pub error: Duration,
    /// How long the host stood still meanwhile, if probes look for that.
    pub stalled: Option<Stalled>,
}

impl Exceeded {
    /// Whether the limit is exceeded for certain, and not only by less than the error of clocks.
    pub fn is_certain(&self) -> bool {
        self.time.saturating_sub(self.error) > self.most
    }
}

/// A chain that is followed.
pub(crate) struct Track {
    pub(super) id: u64,
    pub(super) chain: Chain,
    clock: Clock,
    reports: Weak<Reports>,
    /// Which run of its source it is.
    run: AtomicU64,
    source: Lock<Stream>,
    scorer: Lock<Scorer>,
    /// For each port what the port before has left for it, if it samples.
    left: Vec<Lock<Option<Stamp>>>,
    /// There is something to tell.
    has_excess: AtomicBool,
    foreign: AtomicU64,
}

/// What a chain has to tell.
pub(crate) enum Next {
    None,
    /// Something, once probes have looked.
    Later,
    Report(Report),
}

/// The events of a source without a period.
#[derive(Default)]
struct Stream {
    number: u64,
    earlier: [i64; EARLIER],
    known: u8,
}

/// The number of a text, the same in all programs (FNV-1a).
pub(super) fn id(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

impl Track {
    pub(super) fn new(chain: Chain, clock: &Clock, reports: &Arc<Reports>) -> Self {
        let nanos = |time: Option<Duration>| time.map(nanos);
        let (reaction, age, period) = (nanos(chain.reaction), nanos(chain.age), nanos(chain.period));
        let (scorer, id) = match &chain.connection {
            // No chain has such a name.
            Some(connection) => (Scorer::of_connection(reaction), id(&format!("connection {connection}\n"))),
            None => (Scorer::new(reaction, age, period), id(&chain.name)),
        };
        Self {
            id,
            left: chain.hops.iter().map(|_| Lock::new(None)).collect(),
            chain,
            clock: clock.clone(),
            reports: Arc::downgrade(reports),
            // No other process has begun at the same time and is the source of the same chain.
            run: AtomicU64::new(udp::monotonic()),
            source: Lock::new(Stream::default()),
            scorer: Lock::new(scorer),
            has_excess: AtomicBool::new(false),
            foreign: AtomicU64::new(0),
        }
    }

    pub(super) const fn is_connection(&self) -> bool {
        self.chain.connection.is_some()
    }

    pub(super) fn is_last(&self, hop: u8) -> bool {
        usize::from(hop) + 1 == self.chain.hops.len()
    }

    fn stamp(&self, number: u64, start: i64) -> Stamp {
        Stamp {
            chain: self.id,
            run: self.run.load(Relaxed),
            number,
            newest: start,
            oldest: start,
            earlier: [0; EARLIER],
            known: 0,
            hop: 0,
            ends_here: false,
            is_foreign: false,
            error: 0,
            drift: 0,
            since: start,
            spent: [Spent::default(); MOST_HOPS],
        }
    }

    /// An event that begins when a timer is due.
    pub(super) fn due(&self, start: i64) -> Stamp {
        let period = self.chain.period.map_or(1, nanos).max(1);
        self.stamp(u64::try_from(start).unwrap_or(0) / period, start)
    }

    /// An event that is pushed over the connection.
    pub(super) fn pushed(&self, now: i64) -> Stamp {
        self.stamp(0, now)
    }

    /// An event that begins when it comes.
    pub(super) fn came(&self, start: i64) -> Stamp {
        let Ok(mut source) = self.source.lock() else { return self.stamp(0, start) };
        source.number += 1;
        let mut stamp = self.stamp(source.number, start);
        (stamp.earlier, stamp.known) = (source.earlier, source.known);
        source.earlier.rotate_right(1);
        if let Some(first) = source.earlier.first_mut() {
            *first = start;
        }
        source.known = source.known.saturating_add(1).min(EARLIER as u8);
        stamp
    }

    /// A component is made, or made anew: what one of this name had left for its ports is gone.
    pub(super) fn made(&self, instance: &str) {
        for (_, left) in self.chain.hops.iter().zip(&self.left).filter(|(hop, _)| hop.is_of(instance)) {
            if let Ok(mut left) = left.lock() {
                *left = None;
            }
        }
    }

    /// A component of it begins to work, or goes on: what was not answered before was not to be.
    pub(super) fn renew(&self) {
        self.run.fetch_add(1, Relaxed);
        if let Ok(mut source) = self.source.lock() {
            source.known = 0;
        }
        if let Ok(mut scorer) = self.scorer.lock() {
            scorer.forget();
        }
    }

    pub(super) fn samples(&self, hop: u8) -> bool {
        self.chain.hops.get(usize::from(hop)).is_some_and(|hop| hop.samples)
    }

    /// A handler has ended whose component keeps what it worked with for the next port.
    pub(super) fn leave(&self, mut stamp: Stamp, end: i64) {
        stamp.pushed(end);
        if let Some(Ok(mut left)) = self.left.get(usize::from(stamp.hop)).map(Lock::lock) {
            *left = Some(stamp);
        }
    }

    /// What was left for a port the last time.
    pub(super) fn left(&self, hop: u8) -> Option<Stamp> {
        self.left.get(usize::from(hop)).and_then(|left| *left.lock().ok()?)
    }

    /// The last handler has ended.
    pub(super) fn complete(&self, mut stamp: Stamp, end: i64) {
        if stamp.is_foreign {
            self.foreign.fetch_add(1, Relaxed);
            return;
        }
        stamp.ran(end);
        let is_new = self.scorer.lock().is_ok_and(|mut scorer| scorer.complete(&stamp, end));
        if is_new && !self.has_excess.swap(true, Relaxed) {
            self.reports.upgrade().inspect(|reports| reports.call());
        }
    }

    /// The exceeded limit that is to be told. What probes do not know yet waits.
    pub(crate) fn next_report(&self, stalls: Option<&Stalls>) -> Next {
        let now = instant(self.clock.now());
        let excess = {
            let Ok(mut scorer) = self.scorer.lock() else { return Next::None };
            scorer.look(now);
            let Some(excess) = scorer.excess() else {
                self.has_excess.store(false, Relaxed);
                return Next::None;
            };
            if stalls.is_some_and(|stalls| stalls.has_to_look(excess.end, now)) {
                return Next::Later;
            }
            self.has_excess.store(false, Relaxed);
            scorer.forget_excess();
            excess
        };
        let Excess { limit, time, most, count, is_answered, gave_way, error, end, spent } = excess;
        let begin = end.saturating_sub(instant(time.saturating_add(error)));
        let stalled = stalls.map(|stalls| stalls.within(begin, end));
        let of = Duration::from_nanos;
        let (most, time, gave_way, error) = (of(most), of(time), of(gave_way), of(error));
        let hops = self.named(&spent);
        let exceeded = Exceeded { limit, most, time, count, is_answered, gave_way, hops, error, stalled };
        let name = &self.chain.name;
        let of = if self.is_connection() { name.clone() } else { format!("chain {name}") };
        Next::Report(Report { of, fault: Fault::Exceeded(Box::new(exceeded)) })
    }

    fn named(&self, spent: &[Spent]) -> Vec<(String, Times)> {
        let ports = self.chain.hops.iter().map(|hop| hop.port.clone());
        ports.zip(spent.iter().map(|spent| spent.times())).collect()
    }

    /// The score; `None` if its lock cannot be had.
    pub(super) fn score(&self) -> Option<ChainScore> {
        let now = instant(self.clock.now());
        let scorer = self.scorer.lock().ok()?;
        let (completions, unknown) = scorer.counts();
        let (reaction, age) = scorer.quantiles();
        let overdue = scorer.overdue(now).map(|(waited, _)| Duration::from_nanos(waited));
        let spent: Vec<Spent> = scorer.spent().to_vec();
        drop(scorer);
        let foreign = self.foreign.load(Relaxed);
        let (name, hops) = (self.chain.name.clone(), self.named(&spent));
        Some(ChainScore { name, completions, reaction, age, unknown, overdue, foreign, hops })
    }
}

impl std::fmt::Display for Exceeded {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { limit, most, time, count, is_answered, gave_way, hops, error, stalled } = self;
        let what = match limit {
            Limit::Reaction => "reaction",
            Limit::Age => "age",
            Limit::Latency => "latency",
        };
        if !is_answered {
            write!(out, "nothing was answered for {time:?}; its {what} may be {most:?}")?;
            return stalled.map_or(Ok(()), |stalled| stalled.told(*time, *most, out));
        }
        let possibly = if self.is_certain() { "" } else { "possibly exceeded: " };
        write!(out, "{possibly}{what} {time:?}")?;
        if !error.is_zero() {
            write!(out, " ± {error:?}")?;
        }
        write!(out, ", limit {most:?}")?;
        if *count > 1 {
            write!(out, ", and {} more above it", count - 1)?;
        }
        let mut separator = ": ";
        for (port, Times { transfer, wait, run }) in hops {
            for (time, how) in [(transfer, "on the way to"), (wait, "waiting for"), (run, "in")] {
                if !time.is_zero() {
                    write!(out, "{separator}{time:?} {how} {port}")?;
                    separator = ", ";
                }
            }
        }
        if !gave_way.is_zero() {
            write!(out, "{separator}{gave_way:?} until an event that was not lost")?;
        }
        stalled.map_or(Ok(()), |stalled| stalled.told(time.saturating_sub(*error), *most, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Random(u64);
    impl Random {
        fn below(&mut self, limit: i64) -> i64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) % limit.max(1) as u64) as i64
        }
    }

    fn track(chain: Chain) -> (Track, Arc<Reports>) {
        let reports = Arc::<Reports>::default();
        let hops = vec![Hop { port: "x.in".to_owned(), ..Hop::default() }];
        let clock = Clock::Virtual(Arc::new(AtomicU64::new(5_000_000_000)));
        (Track::new(Chain { hops, ..chain }, &clock, &reports), reports)
    }

    fn connection(limit: u64) -> Chain {
        let (name, reaction) = ("connection c to x.in".to_owned(), Some(Duration::from_micros(limit)));
        Chain { name, reaction, connection: Some("c".to_owned()), ..Chain::default() }
    }

    fn told(next: Next) -> String {
        match next {
            Next::Report(report) => report.to_string(),
            Next::Later => "later".to_owned(),
            Next::None => String::new(),
        }
    }

    #[test]
    fn only_what_is_certain_exceeds_a_limit() {
        let (track, _reports) = track(connection(12_000));
        let complete =
            |time: i64, error: u64| track.complete(Stamp { error, ..track.pushed(100) }, 100 + time);
        complete(11_700_000, 300_000);
        complete(12_100_000, 300_000);
        complete(12_100_000, 300_000);
        assert_eq!(
            told(track.next_report(None)),
            "connection c to x.in: possibly exceeded: latency 12.1ms ± 300µs, limit 12ms, and 1 more above it: 12.1ms in x.in"
        );
        // What is certain comes before what is only possible, however far that is above.
        complete(12_900_000, 2_000_000);
        complete(12_301_000, 300_000);
        complete(12_900_000, 2_000_000);
        assert_eq!(
            told(track.next_report(None)),
            "connection c to x.in: latency 12.301ms ± 300µs, limit 12ms: 12.301ms in x.in"
        );
        let score = track.score().unwrap().reaction;
        assert_eq!((score.count, score.exceeded, score.possibly), (6, 1, 4));
        assert_eq!(score.error, Duration::from_millis(2));
    }

    /// The judge knows when events truly began; what is measured is wrong by at most the error.
    #[test]
    fn what_truly_exceeds_is_between_what_is_certain_and_what_is_possible() {
        const PERIOD: i64 = 1_000;
        let (mut certain, mut possible) = (0, 0);
        for seed in 0..500 {
            let mut random = Random(seed * 7_919 + 11);
            let limit = 500 + random.below(5_000);
            let nanos = |time: i64| Some(Duration::from_nanos(time as u64));
            let (age, period) = (nanos(limit), nanos(PERIOD));
            let is_connection = random.below(2) == 0;
            let chain = Chain {
                name: "n".to_owned(),
                reaction: age,
                age,
                period,
                connection: is_connection.then(|| "n".to_owned()),
                ..Chain::default()
            };
            let (track, _reports) = track(chain);
            let (mut end, mut answered, mut true_ages, mut true_reactions) = (0, None, 0, 0);
            let mut number = 10;
            for _ in 0..40 {
                number += random.below(4);
                let begun = number * PERIOD;
                end = (begun + random.below(6_000)).max(end);
                let error = random.below(900);
                let wrong = random.below(2 * error + 1) - error;
                let newest = begun + wrong;
                let stamp = Stamp { number: number as u64, error: error as u64, ..track.due(newest) };
                track.complete(stamp, end);
                // No clamping: what is before its begin is no time.
                true_ages += u64::from(end - begun > limit);
                for back in answered.map_or(number, |last| last + 1)..=number {
                    true_reactions += u64::from(end - back * PERIOD > limit);
                }
                answered = answered.max(Some(number));
            }
            let score = track.score().unwrap();
            let within = |quantiles: Quantiles, truth: u64| {
                assert!(quantiles.exceeded <= truth, "seed {seed}: {quantiles:?}, {truth}");
                assert!(
                    truth <= quantiles.exceeded + quantiles.possibly,
                    "seed {seed}: {quantiles:?}, {truth}"
                );
            };
            if is_connection {
                within(score.reaction, true_ages);
            } else {
                within(score.age, true_ages);
                within(score.reaction, true_reactions);
            }
            certain += score.reaction.exceeded;
            possible += score.reaction.possibly;
        }
        assert!(certain > 1_000 && possible > 1_000, "{certain} {possible}");
    }

    #[test]
    fn what_is_too_long_is_held_against_stalls_once_probes_have_looked() {
        let (track, _reports) = track(connection(1_000));
        let stalls = Stalls::new(100_000);
        let end = 4_999_999_000;
        let seen = stalls.add(Some(0), 0).unwrap();
        let complete = || track.complete(track.pushed(end - 3_000_000), end);
        complete();
        assert_eq!(told(track.next_report(Some(&stalls))), "later");
        // It stood still for 2.5 ms of the 3 ms, and wakes after the end.
        seen.lock().unwrap().woke(end - 2_500_000, end + 10, 100_000, 500_000);
        let text = told(track.next_report(Some(&stalls)));
        assert!(text.ends_with("limit 1ms: 3ms in x.in; host stall of 2.5ms"), "{text}");
        assert_eq!(told(track.next_report(Some(&stalls))), "");
        // A little of it does not explain all, and a stall before it nothing.
        for (from, to, expected) in [
            (1_000_000, 0, "; host stall of 1ms, which does not explain the rest: a defect, or a wrong cost"),
            (9_000_000, 6_000_000, "; not explained by a stall of the host: a defect, or a wrong cost"),
        ] {
            let stalls = Stalls::new(100_000);
            let seen = stalls.add(None, 0).unwrap();
            for (due, woke) in [(0, 0), (end - from, end - to), (end + 20, end + 20)] {
                seen.lock().unwrap().woke(due, woke, 100_000, 500_000);
            }
            complete();
            let text = told(track.next_report(Some(&stalls)));
            assert!(text.ends_with(expected), "{text}");
        }
    }

    /// What a component has left for a port that samples is gone with the component, and with no other one.
    #[test]
    fn a_component_that_is_made_anew_has_left_nothing() {
        let hop =
            |port: &str| Hop { port: port.to_owned(), samples: port.ends_with("tick"), ..Hop::default() };
        let hops = ["x.in", "x.tick", "y.in", "y.tick"].map(hop).to_vec();
        let clock = Clock::Virtual(Arc::new(AtomicU64::new(0)));
        let track = Track::new(Chain { hops, ..Chain::default() }, &clock, &Arc::default());
        let leave = || {
            for hop in [0, 2] {
                track.leave(Stamp { hop, ..track.came(10) }, 20);
            }
        };
        let left = || [1, 3].map(|hop| track.left(hop).is_some());
        leave();
        assert_eq!(left(), [true, true]);
        track.made("y");
        assert_eq!(left(), [true, false]);
        leave();
        track.made("x");
        assert_eq!(left(), [false, true]);
        track.made("in");
        assert_eq!(left(), [false, true]);
    }
}
