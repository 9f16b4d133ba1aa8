//! What became of each writer's samples at the interface of a reader's host: when they were written, when they were whole, and which are missing.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use experiment::stalls::Stalls;
use lab::Lab;
use lab::tap::Tap;
use lab::train::Heard;

use crate::packets::{Datagrams, Seen, samples};

/// How long a tap waits before it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// A sample of which something came. Times are in nanoseconds since 1970.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Sample {
    pub(crate) written: i64,
    /// When the last frame of it came.
    pub(crate) whole: Option<i64>,
    parts: BTreeSet<u32>,
}

/// The samples of a writer by number.
#[derive(Clone, Default, Debug)]
pub(crate) struct Account(BTreeMap<u64, Sample>);

/// What became of the samples of a writer that were written in a time. Latencies are in nanoseconds.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Outcome {
    pub(crate) written: u64,
    /// Of these, those that met a stall of the machine.
    pub(crate) disturbed: u64,
    pub(crate) lost: u64,
    pub(crate) late: u64,
    /// The same of those that met a stall.
    pub(crate) excused: u64,
    /// Latencies of undisturbed samples, the least first.
    pub(crate) latencies: Vec<i64>,
}

impl Outcome {
    /// The latency that so many of a thousand do not exceed.
    pub(crate) fn permille(&self, permille: usize) -> i64 {
        let rank = (self.latencies.len() * permille).div_ceil(1_000).max(1);
        self.latencies.get(rank - 1).copied().unwrap_or(0)
    }
}

impl Account {
    fn note(&mut self, seen: &Seen, at: i64) {
        let Some(written) = seen.written else { return };
        let sample = self.0.entry(seen.number).or_default();
        sample.written = written;
        sample.parts.extend(seen.fragments.0..=seen.fragments.1);
        if sample.whole.is_none() && sample.parts.len() >= seen.of as usize {
            sample.whole = Some(at);
        }
    }

    /// Whole samples that were written from `from` on.
    pub(crate) fn since(&self, from: i64) -> usize {
        self.0.values().filter(|sample| sample.whole.is_some() && sample.written >= from).count()
    }

    /// The numbers of whole samples that were written from `from` to `to`, both included.
    pub(crate) fn whole(&self, from: i64, to: i64) -> BTreeSet<u64> {
        let is = |sample: &Sample| sample.whole.is_some() && (from..=to).contains(&sample.written);
        self.0.iter().filter(|(_, sample)| is(sample)).map(|(number, _)| *number).collect()
    }

    /// How many numbers there are between the last sample that was written before `from` and the first one behind it: of samples of which nothing came,
    /// if they were sent at all. A writer that has lost its reader sends nothing.
    pub(crate) fn between(&self, from: i64) -> u64 {
        let last = self.0.iter().filter(|(_, sample)| sample.written < from).map(|(number, _)| *number).max();
        let first =
            self.0.iter().filter(|(_, sample)| sample.written >= from).map(|(number, _)| *number).min();
        last.zip(first).map_or(0, |(last, first)| first.saturating_sub(last + 1))
    }

    /// Judges what was written from `from` to `to`, both included, by a bound. A number between two others is of a sample that is lost: it was written
    /// between them, and what met a stall then, or within the bound after, is not counted against the network.
    pub(crate) fn judge(&self, from: i64, to: i64, bound: i64, stalls: &Stalls) -> Outcome {
        let mut outcome = Outcome::default();
        let mut before: Option<(u64, i64)> = None;
        let lose = |outcome: &mut Outcome, count: u64, from: i64, to: i64| {
            let met = stalls.meet(from, to.saturating_add(bound));
            outcome.written += count;
            outcome.disturbed += if met { count } else { 0 };
            *(if met { &mut outcome.excused } else { &mut outcome.lost }) += count;
        };
        for (number, sample) in self.0.range(..).filter(|(_, sample)| (from..=to).contains(&sample.written)) {
            if let Some((last, written)) = before
                && number - last > 1
            {
                lose(&mut outcome, number - last - 1, written, sample.written);
            }
            before = Some((*number, sample.written));
            let Some(whole) = sample.whole else {
                lose(&mut outcome, 1, sample.written, sample.written);
                continue;
            };
            outcome.written += 1;
            let (latency, is_late) = (whole - sample.written, whole - sample.written > bound);
            if stalls.meet(sample.written, whole) {
                outcome.disturbed += 1;
                outcome.excused += u64::from(is_late);
            } else {
                outcome.late += u64::from(is_late);
                outcome.latencies.push(latency);
            }
        }
        outcome.latencies.sort_unstable();
        outcome
    }

    /// The time in which samples are missing among those written from `from` on: from the last one that came before the first of them to the first one
    /// that came after the last of them, by when they were written; and how many are missing.
    pub(crate) fn outage(&self, from: i64) -> (i64, u64) {
        let came: Vec<(u64, i64)> = self
            .0
            .iter()
            .filter(|(_, sample)| sample.whole.is_some())
            .map(|(number, sample)| (*number, sample.written))
            .collect();
        let gaps: Vec<&[(u64, i64)]> =
            came.windows(2).filter(|pair| pair[1].1 >= from && pair[1].0 - pair[0].0 > 1).collect();
        let (Some(first), Some(last)) = (gaps.first(), gaps.last()) else { return (0, 0) };
        (last[1].1 - first[0].1, gaps.iter().map(|pair| pair[1].0 - pair[0].0 - 1).sum())
    }
}

/// Samples that come to a host, by the GUID of the writer as hexadecimal text.
pub(crate) type Accounts = BTreeMap<String, Account>;

/// Hears what comes to a host, until this is dropped.
pub(crate) struct Witness {
    accounts: Arc<Mutex<Accounts>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Witness {
    pub(crate) fn at(lab: &Lab, host: &str) -> Self {
        let tap = lab.on(host, || Tap::open("eth0")).unwrap().unwrap();
        let own = lab.host_address(host).unwrap();
        let (accounts, stop) = (Arc::new(Mutex::new(Accounts::new())), Arc::new(AtomicBool::new(false)));
        let (noting, stopped) = (Arc::clone(&accounts), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let (mut heard, mut frame, mut datagrams) = (Heard::default(), Vec::new(), Datagrams::default());
            while !stopped.load(Ordering::Relaxed) {
                let Ok(Some(at)) = tap.next(&mut heard, LOOK) else { continue };
                while heard.next(&mut frame) {
                    let Some(whole) = datagrams.take(&frame, at.cast_signed()) else { continue };
                    for seen in samples(&whole.payload).iter().filter(|_| whole.to == own) {
                        let writer = seen.writer.iter().map(|byte| format!("{byte:02x}")).collect();
                        noting.lock().unwrap().entry(writer).or_default().note(seen, whole.at);
                    }
                }
            }
        });
        Self { accounts, stop, thread: Some(thread) }
    }

    /// What it has heard until now.
    pub(crate) fn accounts(&self) -> Accounts {
        self.accounts.lock().unwrap().clone()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use lab::probe::Stall;

    use super::*;

    /// Fragments, and when they came.
    type Parts<'p> = &'p [(u32, i64)];

    /// Samples with number, when it was written, and when which fragment of two came.
    fn account(came: &[(u64, i64, Parts<'_>)]) -> Account {
        let mut account = Account::default();
        for (number, written, parts) in came {
            for (part, at) in *parts {
                let seen = Seen {
                    writer: [0; 16],
                    number: *number,
                    written: Some(*written),
                    fragments: (*part, *part),
                    of: 2,
                };
                account.note(&seen, *at);
            }
        }
        account
    }

    #[test]
    fn a_sample_counts_when_all_of_it_is_there_and_a_number_that_is_missing_is_lost() {
        let account = account(&[
            (1, 100, &[(1, 110), (2, 120)]),
            (2, 200, &[(2, 215), (1, 231)]),
            (3, 300, &[(1, 310)]),
            (6, 600, &[(1, 601), (2, 630)]),
        ]);
        let calm = Stalls::default();
        let outcome = account.judge(0, 1_000, 30, &calm);
        assert_eq!((outcome.written, outcome.lost, outcome.late, outcome.disturbed), (6, 3, 1, 0));
        assert_eq!(outcome.latencies, [20, 30, 31]);
        assert_eq!((outcome.permille(500), outcome.permille(1_000)), (30, 31));
        assert_eq!(account.judge(150, 250, 31, &calm).late, 0);
        assert_eq!(account.whole(100, 600), BTreeSet::from([1, 2, 6]));
        assert_eq!((account.between(150), account.between(400), account.between(700)), (0, 2, 0));
        assert_eq!((account.since(200), account.outage(250), account.outage(700)), (2, (400, 3), (0, 0)));
    }

    #[test]
    fn what_met_a_stall_is_told_apart() {
        const MS: i64 = 1_000_000;
        let account = account(&[
            (1, 1_000 * MS, &[(1, 1_010 * MS), (2, 1_900 * MS)]),
            (3, 5_000 * MS, &[(1, 5_010 * MS), (2, 5_020 * MS)]),
            (4, 6_000 * MS, &[(1, 6_100 * MS), (2, 6_900 * MS)]),
        ]);
        let wake = |from: u64, to: u64| Stall { from: from * 1_000_000, to: to * 1_000_000, core: 0 };
        let stalls = Stalls::of(vec![wake(1_500, 1_520), wake(5_050, 5_060)], 0, 5_000_000);
        let outcome = account.judge(0, 10_000 * MS, 100 * MS, &stalls);
        // The second one was written at some time in which the machine stood still.
        assert_eq!((outcome.written, outcome.disturbed, outcome.excused), (4, 2, 2), "{outcome:?}");
        assert_eq!((outcome.lost, outcome.late), (0, 1));
        assert_eq!(outcome.latencies, [20 * MS, 900 * MS]);
    }
}
