//! Samples of all sizes, with limits below, at and above them: each arrives or is told at both sides, and afterwards the topic works.
use std::time::Duration;

use crate::expected::expected;
use crate::place::{Lan, Place, turn};
use crate::program::Program;
use crate::relay::{Path, Relay};

const MEBI: usize = 1 << 20;
/// How long a sample may take.
const PATIENCE: Duration = Duration::from_secs(40);
/// How long what comes after it may take.
const AFTERWARDS: Duration = Duration::from_secs(10);
/// Numbers of the small samples that follow.
const SMALL: u64 = 1_000_000;

/// A writer and a reader, and what is written.
struct Trial<'a> {
    name: &'static str,
    places: [&'a Place; 2],
    /// Terms of both.
    terms: &'a str,
    /// Most bytes in the caches of the writer and of the reader; `None` for the defaults.
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
        for (number, size) in (1..).zip(self.sizes) {
            let told = reader.told();
            writer.tell(&format!("write {number} {size}"));
            let Some(wrote) =
                writer.either([&format!("wrote {number}"), &format!("refused {number} ")], PATIENCE)
            else {
                faults.push(format!("{}: the write of {size} bytes does not return", self.name));
                break;
            };
            let arrived = format!("got {number} ");
            if wrote == 0 && !self.terms.contains("best-effort") {
                reader.until(PATIENCE, || reader.has(&arrived) || reader.told() > told);
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

/// The trials on a path: sizes up to what both hold, and limits around what is written.
fn sizes(places: [&Place; 2], shm: &str, largest: usize) {
    let best_effort = format!("best-effort {shm}");
    let room = Some(2 * largest + 4 * MEBI);
    let large = [1, 1_400, 65_000, 200_000, MEBI, 15 * MEBI, 16 * MEBI, 17 * MEBI, largest];
    let around = [1_000, MEBI - 2_000, MEBI, MEBI + 2_000, 2 * MEBI, 3 * MEBI];
    judge(&[
        Trial { name: "reliable", places, terms: shm, limits: [room; 2], sizes: &large },
        Trial { name: "best effort", places, terms: &best_effort, limits: [room; 2], sizes: &large },
        Trial {
            name: "reliable, small writer",
            places,
            terms: shm,
            limits: [Some(MEBI), room],
            sizes: &around,
        },
        Trial {
            name: "reliable, small reader",
            places,
            terms: shm,
            limits: [room, Some(MEBI)],
            sizes: &around,
        },
        Trial {
            name: "best effort, small reader",
            places,
            terms: &best_effort,
            limits: [room, Some(MEBI)],
            sizes: &around,
        },
    ]);
}

#[test]
fn samples_of_all_sizes_arrive_or_are_told_by_udp() {
    let _turn = turn();
    let Some(lan) = Lan::of(2) else { return };
    let largest = usize::try_from(tiers::current().number("attacks.largest_sample")).unwrap();
    sizes([&lan.hosts[0], &lan.hosts[1]], "shm=off", largest);
}

#[test]
fn samples_of_all_sizes_arrive_or_are_told_by_shared_memory() {
    let _turn = turn();
    let Some(lan) = Lan::of(1) else { return };
    let largest = usize::try_from(tiers::current().number("attacks.largest_sample")).unwrap();
    sizes([&lan.hosts[0], &lan.hosts[0]], "shm=on", largest);
}

#[test]
fn samples_of_all_sizes_arrive_or_are_told_where_one_frame_of_a_hundred_is_lost() {
    let _turn = turn();
    let path = Path { loss: 10, largest: usize::MAX, seed: tiers::current().first_seed() };
    let Some(relay) = Relay::new(path) else { return };
    let places = [&relay.hosts[0], &relay.hosts[1]];
    let largest = usize::try_from(tiers::current().number("attacks.largest_lossy_sample")).unwrap();
    let room = Some(2 * largest + 4 * MEBI);
    let sizes = [1, 1_400, 65_000, 200_000, MEBI, largest];
    let around = [1_000, MEBI - 2_000, MEBI, MEBI + 2_000, 2 * MEBI];
    judge(&[
        Trial { name: "reliable", places, terms: "shm=off", limits: [room; 2], sizes: &sizes },
        Trial { name: "best effort", places, terms: "best-effort shm=off", limits: [room; 2], sizes: &sizes },
        Trial {
            name: "reliable, small reader",
            places,
            terms: "shm=off",
            limits: [room, Some(MEBI)],
            sizes: &around,
        },
    ]);
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
