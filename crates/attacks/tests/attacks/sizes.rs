//! Samples of all sizes, with limits below, at and above them: each arrives or is told at both sides, and afterwards the topic works.
use std::time::{Duration, Instant};

use crate::expected::expected;
use crate::place::{Lan, Place, turn};
use crate::program::Program;
use crate::random::Random;
use crate::relay::{Path, Relay};

const MEBI: usize = 1 << 20;
/// How long a sample may take.
const PATIENCE: Duration = Duration::from_secs(40);
/// How long what comes after it may take.
const AFTERWARDS: Duration = Duration::from_secs(10);
/// What a sample costs in a cache beside its bytes, at most.
const EXTRA: usize = 2_000;
/// Numbers of the small samples that follow.
const SMALL: u64 = 1_000_000;
/// Number of the small samples that come before all others.
const BEFORE: u64 = SMALL / 2;

/// A writer and a reader, and what is written.
struct Trial<'a> {
    name: &'static str,
    places: [&'a Place; 2],
    /// Terms of both.
    terms: &'a str,
    /// Most bytes in the caches of the writer and of the reader; `None` for the defaults. What has room in both arrives if it is reliable.
    limits: [Option<usize>; 2],
    sizes: &'a [usize],
}

impl Trial<'_> {
    /// What went wrong.
    fn faults(&self) -> Vec<String> {
        let words = |role: &str, limit: Option<usize>| {
            let limit = limit.map_or(String::new(), |limit| format!(" bytes={limit}"));
            format!("{role} Sizes{limit} {}", self.terms).trim_end().to_owned()
        };
        let reader = Program::start("the reader", self.places[1], &words("sub", self.limits[1]));
        let mut writer = Program::start("the writer", self.places[0], &words("pub", self.limits[0]));
        reader.wait("matched 1");
        writer.wait("matched 1");
        let mut faults = Vec::new();
        // A best-effort reader counts from the first sample that arrives: a loss before it cannot be told.
        if !self.works(&mut writer, &reader, BEFORE) {
            faults.push(format!("{}: nothing arrives", self.name));
        }
        let is_reliable = !self.terms.contains("best-effort");
        let room = self.limits.iter().flatten().min().map_or(0, |limit| limit.saturating_sub(EXTRA));
        for (number, size) in (1..).zip(self.sizes) {
            let (told, start) = (reader.told(), Instant::now());
            writer.tell(&format!("write {number} {size}"));
            let Some(wrote) =
                writer.either([&format!("wrote {number}"), &format!("refused {number} ")], PATIENCE)
            else {
                faults.push(format!("{}: the write of {size} bytes does not return", self.name));
                break;
            };
            let arrived = format!("got {number} ");
            if wrote == 0 && is_reliable {
                reader.until(PATIENCE, || reader.has(&arrived) || reader.told() > told);
            }
            if reader.has(&arrived) {
                eprintln!("{}: {size} bytes have arrived after {:?}", self.name, start.elapsed());
            } else if is_reliable && *size <= room {
                faults.push(format!(
                    "{}: {size} bytes have not arrived after {:?}",
                    self.name,
                    start.elapsed()
                ));
            }
            let after = SMALL * number;
            let works = self.works(&mut writer, &reader, after);
            let is_told = wrote == 1 || reader.told() > told;
            if !reader.has(&arrived) && !is_told {
                faults.push(format!("{}: {size} bytes neither arrived nor were told", self.name));
            }
            if reader.has(&arrived) && wrote == 1 {
                faults.push(format!("{}: {size} bytes were refused and arrived", self.name));
            }
            if !works {
                faults.push(format!("{}: the topic is dead after {size} bytes", self.name));
                break;
            }
        }
        for (_, got) in reader.samples() {
            if got != expected(got.number, got.size) {
                faults.push(format!("{}: {got:?} is not what was written", self.name));
            }
        }
        faults
    }

    /// True if a small sample arrives; best-effort ones are repeated.
    fn works(&self, writer: &mut Program, reader: &Program, first: u64) -> bool {
        let repeats = if self.terms.contains("best-effort") { 50 } else { 1 };
        (first..first + repeats).any(|number| {
            writer.tell(&format!("write {number} 10"));
            reader
                .wait_within(&format!("got {number} 10 "), AFTERWARDS / u32::try_from(repeats).unwrap())
                .is_some()
        })
    }
}

fn judge(trials: &[Trial<'_>]) {
    let faults: Vec<String> = trials.iter().flat_map(Trial::faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The trials between two places: sizes up to what both hold, limits around what is written, and sizes from a seed.
fn sizes(places: [&Place; 2], shm: &str, largest: &str) {
    let tier = tiers::current();
    let largest = usize::try_from(tier.number(largest)).unwrap();
    let best_effort = format!("best-effort {shm}");
    let room = Some(2 * largest + 4 * MEBI);
    let mut random = Random::new(tier.first_seed());
    let mut large = vec![1, 1_400, 65_000, 200_000, MEBI, 15 * MEBI, 16 * MEBI, 17 * MEBI, largest];
    // As many of one magnitude as of another.
    let magnitudes = u64::from(largest.ilog2());
    large.extend((0..tier.number("attacks.random_sizes")).map(|_| {
        let magnitude = 1 << random.below(magnitudes);
        usize::try_from(magnitude + random.below(magnitude)).unwrap()
    }));
    large.retain(|size| *size <= largest);
    let mut around = vec![1_000, 2 * MEBI, 3 * MEBI];
    around.extend([EXTRA, 512, 100, 32, 24, 20, 16, 12, 8, 4, 1, 0].map(|less| MEBI - less));
    around.extend([1, 8, 100, EXTRA].map(|more| MEBI + more));
    let trial = |name, terms, limits, sizes| Trial { name, places, terms, limits, sizes };
    let small = Some(MEBI);
    judge(&[
        trial("reliable", shm, [room; 2], &large),
        trial("best effort", &best_effort, [room; 2], &large),
        trial("reliable, small writer", shm, [small, room], &around),
        trial("reliable, small reader", shm, [room, small], &around),
        trial("best effort, small writer", &best_effort, [small, room], &around),
        trial("best effort, small reader", &best_effort, [room, small], &around),
    ]);
}

#[test]
fn samples_of_all_sizes_arrive_or_are_told_by_udp() {
    let _turn = turn();
    let Some(lan) = Lan::of(2) else { return };
    sizes([&lan.hosts[0], &lan.hosts[1]], "shm=off", "attacks.largest_sample");
}

#[test]
fn samples_of_all_sizes_arrive_or_are_told_by_shared_memory() {
    let _turn = turn();
    let Some(lan) = Lan::of(1) else { return };
    sizes([&lan.hosts[0], &lan.hosts[0]], "shm=on", "attacks.largest_sample");
}

#[test]
fn samples_of_all_sizes_arrive_or_are_told_where_one_frame_of_a_hundred_is_lost() {
    let _turn = turn();
    let path = Path { loss: 10, largest: usize::MAX, seed: tiers::current().first_seed() };
    let Some(relay) = Relay::new(path) else { return };
    sizes([&relay.hosts[0], &relay.hosts[1]], "shm=off", "attacks.largest_lossy_sample");
}

impl Program {
    /// Which of two beginnings of a line comes, `None` if neither does in time.
    fn either(&self, begins: [&str; 2], patience: Duration) -> Option<usize> {
        let mut found = None;
        self.until(patience, || {
            found = begins.iter().position(|begin| self.has(begin));
            found.is_some()
        });
        found
    }

    /// How often it was told of samples that are lost or rejected.
    fn told(&self) -> usize {
        self.said("lost ").len() + self.said("rejected ").len()
    }
}
