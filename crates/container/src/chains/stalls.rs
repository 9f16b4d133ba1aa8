//! When the host stood still, as probes saw it, and how much of that is in a time that was too long. It knows no clock and no thread.
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use threads::Lock;

use super::score::between;

/// Stalls that are kept of each core.
const KEPT: usize = 256;
/// How long what is to be told waits for a probe to look, in nanoseconds.
const PATIENCE: u64 = 1_000_000_000;

/// How long the host stood still within a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stalled {
    /// How long one of the cores that are watched, or several, did not run their probe.
    pub time: Duration,
    /// Whether stalls of the whole time were still known.
    pub is_whole: bool,
    /// Whether the probes run before all lanes. If not, other threads delay them, too.
    pub is_first: bool,
}

impl Stalled {
    /// Says what it means for a time above its limit.
    pub(super) fn told(self, time: Duration, most: Duration, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time: stalled, is_whole, is_first } = self;
        match (stalled.is_zero(), stalled >= time.saturating_sub(most)) {
            (true, _) => {
                out.write_str("; not explained by a stall of the host: a defect, or a wrong cost")?
            }
            (false, true) => write!(out, "; host stall of {stalled:?}")?,
            (false, false) => write!(
                out,
                "; host stall of {stalled:?}, which does not explain the rest: a defect, or a wrong cost"
            )?,
        }
        if !is_whole {
            out.write_str(" (older stalls are forgotten)")?;
        }
        if !is_first {
            out.write_str(
                " (the probe has no priority above all lanes: what delays it may be another thread)",
            )?;
        }
        Ok(())
    }
}

/// What the probe of a core has seen.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Latest last, in nanoseconds of the server's time.
    stalls: VecDeque<(i64, i64)>,
    /// When the last one was over that is forgotten.
    forgotten: i64,
    /// When it looked last.
    woke: i64,
    /// When it is to look next.
    next: i64,
}

impl Seen {
    pub(crate) fn new(now: i64) -> Self {
        let stalls = VecDeque::with_capacity(KEPT);
        Self { stalls, forgotten: i64::MIN, woke: now, next: i64::MAX }
    }

    /// The probe was due, and woke; it is to wake again after a period. Later than `late` nanoseconds is a stall. Takes no memory.
    pub(crate) fn woke(&mut self, due: i64, woke: i64, late: u64, period: u64) {
        if between(due, woke) > late {
            if self.stalls.len() >= KEPT
                && let Some((_, end)) = self.stalls.pop_front()
            {
                self.forgotten = end;
            }
            self.stalls.push_back((due, woke));
        }
        self.woke = woke;
        self.next = woke.saturating_add_unsigned(period);
    }

    /// The stalls that meet a time; one that is not over yet is among them once it is longer than `late`.
    fn within(&self, begin: i64, end: i64, late: u64) -> impl Iterator<Item = (i64, i64)> {
        let lasts = (self.woke < end && between(self.next, end) > late).then_some((self.next, end));
        let all = self.stalls.iter().copied().chain(lasts);
        let clipped = all.map(move |(from, to)| (from.max(begin), to.min(end)));
        clipped.filter(|(from, to)| from < to)
    }
}

/// The length of what times cover together.
fn together(mut times: Vec<(i64, i64)>) -> u64 {
    times.sort_unstable();
    let (mut sum, mut covered) = (0_u64, i64::MIN);
    for (from, to) in times {
        sum = sum.saturating_add(between(from.max(covered), to));
        covered = covered.max(to);
    }
    sum
}

/// Where a probe writes what it sees.
type Place = Arc<Lock<Seen>>;

/// What the probes of a process have seen, by core; `None` is all cores on which the process may run.
pub(crate) struct Stalls {
    cores: Lock<Vec<(Option<usize>, Place)>>,
    /// Later than so many nanoseconds is a stall.
    pub(crate) late: u64,
    is_first: AtomicBool,
    is_over: AtomicBool,
}

impl Stalls {
    pub(crate) fn new(late: u64) -> Self {
        let (is_first, is_over) = (AtomicBool::new(true), AtomicBool::new(false));
        Self { cores: Lock::new(Vec::new()), late, is_first, is_over }
    }

    /// A place for what the probe of a core sees, unless there is one.
    pub(crate) fn add(&self, core: Option<usize>, now: i64) -> Option<Place> {
        let mut cores = self.cores.lock().ok()?;
        if cores.iter().any(|(other, _)| *other == core) {
            return None;
        }
        let seen = Arc::new(Lock::new(Seen::new(now)));
        cores.push((core, Arc::clone(&seen)));
        Some(seen)
    }

    /// A probe could not be put above all lanes.
    pub(crate) fn is_late(&self) {
        self.is_first.store(false, Relaxed);
    }

    /// The probes are to end.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Release);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Acquire)
    }

    /// Whether a probe has not looked since the end of a time, and may yet.
    pub(super) fn has_to_look(&self, end: i64, now: i64) -> bool {
        between(end, now) < PATIENCE && self.any(|seen| seen.woke <= end)
    }

    fn any(&self, is_it: impl Fn(&Seen) -> bool) -> bool {
        let Ok(cores) = self.cores.lock() else { return false };
        cores.iter().any(|(_, seen)| seen.lock().is_ok_and(|seen| is_it(&seen)))
    }

    /// How long the host stood still between two instants.
    pub(super) fn within(&self, begin: i64, end: i64) -> Stalled {
        let mut times = Vec::new();
        let mut is_whole = true;
        if let Ok(cores) = self.cores.lock() {
            for (_, seen) in &*cores {
                let Ok(seen) = seen.lock() else { continue };
                is_whole &= seen.forgotten <= begin;
                times.extend(seen.within(begin, end, self.late));
            }
        }
        let time = Duration::from_nanos(together(times));
        Stalled { time, is_whole, is_first: self.is_first.load(Relaxed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 50;
    const LATE: u64 = 20;

    struct Random(u64);
    impl Random {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % limit
        }
    }

    /// Cores stand still at random. The judge marks, instant by instant, when a probe of any core was due and did not run.
    #[test]
    fn what_is_told_is_what_a_judge_sees_instant_by_instant() {
        let (mut nothing, mut something, mut unfinished) = (0, 0, 0);
        for seed in 0..300 {
            let mut random = Random(seed * 7_919 + 1);
            let stalls = Stalls::new(LATE);
            let ends = 6_000_i64;
            let mut late = vec![false; ends as usize];
            let cores = 1 + random.below(3) as usize;
            for core in 0..cores {
                let seen = stalls.add(Some(core), 0).unwrap();
                assert!(stalls.add(Some(core), 0).is_none());
                let mut now = 0_i64;
                seen.lock().unwrap().woke(0, 0, LATE, PERIOD);
                loop {
                    let due = now + PERIOD as i64;
                    let by = if random.below(8) == 0 { random.below(300) } else { random.below(LATE + 1) };
                    let woke = due + by as i64;
                    if woke.min(ends) - due > LATE as i64 {
                        for instant in due..woke.min(ends) {
                            late[instant as usize] = true;
                        }
                    }
                    if woke >= ends {
                        unfinished += u32::from(ends - due > LATE as i64);
                        break;
                    }
                    seen.lock().unwrap().woke(due, woke, LATE, PERIOD);
                    now = woke;
                }
            }
            for _ in 0..20 {
                let begin = random.below(ends as u64) as i64;
                // A probe that is late only at the end is known to be so only there.
                let end = if random.below(4) == 0 { ends } else { begin + random.below(400) as i64 };
                if end > ends - 400 && end != ends || end < begin {
                    continue;
                }
                let expected = (begin..end).filter(|instant| late[*instant as usize]).count() as u64;
                let told = stalls.within(begin, end);
                assert_eq!(told.time.as_nanos() as u64, expected, "seed {seed}: {begin} to {end}");
                assert!(told.is_whole && told.is_first);
                if expected == 0 { nothing += 1 } else { something += 1 }
            }
            assert!(stalls.has_to_look(ends, ends) && !stalls.has_to_look(ends, ends + PATIENCE as i64));
            assert!(!stalls.has_to_look(-1, 0));
        }
        assert!(nothing > 100 && something > 1_000 && unfinished > 50, "{nothing} {something} {unfinished}");
    }

    #[test]
    fn a_probe_that_has_seen_much_forgets_and_says_so() {
        let stalls = Stalls::new(LATE);
        let seen = stalls.add(None, 0).unwrap();
        for number in 0..=KEPT as i64 {
            seen.lock().unwrap().woke(number * 100, number * 100 + 30, LATE, PERIOD);
        }
        assert!(!stalls.within(0, 200).is_whole);
        assert_eq!(stalls.within(0, 200).time, Duration::from_nanos(30));
        assert!(stalls.within(100, 200).is_whole);
    }

    #[test]
    fn what_a_stall_means_is_told() {
        struct Shown(Stalled, Duration, Duration);
        impl fmt::Display for Shown {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.told(self.1, self.2, out)
            }
        }
        let of = Duration::from_millis;
        let told = |stalled: u64, is_first| {
            let stalled = Stalled { time: of(stalled), is_whole: true, is_first };
            Shown(stalled, of(15), of(10)).to_string()
        };
        assert_eq!(told(0, true), "; not explained by a stall of the host: a defect, or a wrong cost");
        assert_eq!(told(5, true), "; host stall of 5ms");
        assert!(told(4, true).starts_with("; host stall of 4ms, which does not explain the rest"));
        assert!(told(5, false).contains("no priority above all lanes"));
    }
}
