//! When the host stood still, as probes saw it, and how much of that is in a time that was too long. It knows no clock and no thread.
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
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
    /// Whether all probes have looked at the whole time, and still know of its stalls.
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
            out.write_str(" (not all stalls are known)")?;
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
    /// What was before is not known: the last stall that is forgotten was over, or the probe began.
    forgotten: i64,
    /// When it looked last.
    woke: i64,
    /// When it is to look next; not known before it has looked.
    next: Option<i64>,
    /// Whether the probe has a priority above all lanes.
    pub(crate) is_first: bool,
    /// The probe is to end.
    pub(crate) is_over: bool,
}

impl Seen {
    pub(crate) fn new(now: i64) -> Self {
        let stalls = VecDeque::with_capacity(KEPT);
        Self { stalls, forgotten: now, woke: now, next: None, is_first: true, is_over: false }
    }

    /// There is no thread that looks.
    pub(crate) fn give_up(&mut self) {
        self.woke = i64::MAX;
    }

    fn is_without_thread(&self) -> bool {
        self.woke == i64::MAX
    }

    /// The probe was due, and woke; it is to wake again after a period. Later than `late` nanoseconds is a stall. Takes no memory.
    pub(crate) fn woke(&mut self, due: i64, woke: i64, late: u64, period: u64) {
        if self.next.is_none() {
            // The first time is a period after it began.
            self.forgotten = self.forgotten.max(due.saturating_sub_unsigned(period));
        }
        if between(due, woke) > late {
            if self.stalls.len() >= KEPT
                && let Some((_, end)) = self.stalls.pop_front()
            {
                self.forgotten = end;
            }
            self.stalls.push_back((due, woke));
        }
        self.woke = woke;
        self.next = Some(woke.saturating_add_unsigned(period));
    }

    /// Whether it knows of all stalls from an instant on.
    fn knows(&self, begin: i64) -> bool {
        self.next.is_some() && self.forgotten <= begin
    }

    /// The stalls that meet a time; one that is not over yet is among them once it is longer than `late`.
    fn within(&self, begin: i64, end: i64, late: u64) -> impl Iterator<Item = (i64, i64)> {
        let next = self.next.filter(|next| self.woke < end && between(*next, end) > late);
        let lasts = next.map(|next| (next, end));
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
}

impl Stalls {
    pub(crate) fn new(late: u64) -> Self {
        Self { cores: Lock::new(Vec::new()), late }
    }

    /// A place for what the probe of a core sees, unless there is one with a thread.
    pub(crate) fn add(&self, core: Option<usize>, now: i64) -> Option<Place> {
        let mut cores = self.cores.lock().ok()?;
        cores.retain(|(other, seen)| {
            *other != core || !seen.lock().is_ok_and(|seen| seen.is_without_thread())
        });
        if cores.iter().any(|(other, _)| *other == core) {
            return None;
        }
        let seen = Arc::new(Lock::new(Seen::new(now)));
        cores.push((core, Arc::clone(&seen)));
        Some(seen)
    }

    /// The probes of all other cores are to end.
    pub(crate) fn keep(&self, kept: &[Option<usize>]) {
        let Ok(mut cores) = self.cores.lock() else { return };
        for (_, seen) in cores.iter().filter(|(core, _)| !kept.contains(core)) {
            if let Ok(mut seen) = seen.lock() {
                seen.is_over = true;
            }
        }
        cores.retain(|(core, _)| kept.contains(core));
    }

    /// Whether there is a probe that looks.
    pub(crate) fn are_seen(&self) -> bool {
        self.any(|seen| !seen.is_without_thread())
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
        let (mut is_whole, mut is_first) = (true, true);
        if let Ok(cores) = self.cores.lock() {
            for (_, seen) in &*cores {
                let Ok(seen) = seen.lock() else {
                    is_whole = false;
                    continue;
                };
                is_whole &= seen.knows(begin);
                is_first &= seen.is_first;
                times.extend(seen.within(begin, end, self.late));
            }
        } else {
            is_whole = false;
        }
        let time = Duration::from_nanos(together(times));
        Stalled { time, is_whole, is_first }
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
    fn what_a_probe_has_not_looked_at_counts_as_not_known() {
        let stalls = Stalls::new(LATE);
        let seen = stalls.add(Some(0), 1_000).unwrap();
        assert!(!stalls.within(1_000, 1_100).is_whole, "it has not looked yet");
        // The thread began to run 30 after it was asked for.
        seen.lock().unwrap().woke(1_080, 1_080, LATE, PERIOD);
        assert!(!stalls.within(1_029, 1_080).is_whole && stalls.within(1_030, 1_080).is_whole);
        // Of another core there is no thread: the report does not wait for it, and does not take it for one that saw nothing.
        stalls.add(Some(1), 1_000).unwrap().lock().unwrap().give_up();
        assert!(!stalls.has_to_look(1_070, 1_090) && !stalls.within(1_030, 1_080).is_whole);
        assert!(stalls.are_seen() && stalls.add(Some(0), 1_000).is_none());
        // It is tried again.
        stalls.add(Some(1), 1_090).unwrap().lock().unwrap().give_up();
        stalls.keep(&[Some(1)]);
        assert!(!stalls.are_seen(), "there is no thread on the only core that is left");
        assert!(seen.lock().unwrap().is_over);
    }

    #[test]
    fn probes_of_cores_that_are_not_kept_end() {
        let stalls = Stalls::new(LATE);
        let [first, second] = [0, 1].map(|core| stalls.add(Some(core), 0).unwrap());
        second.lock().unwrap().is_first = false;
        assert!(!stalls.within(0, 10).is_first);
        stalls.keep(&[Some(0)]);
        assert!(stalls.within(0, 10).is_first, "what was delayed has ended");
        assert!(!first.lock().unwrap().is_over && second.lock().unwrap().is_over);
        // One that is asked for again is another one.
        assert!(!stalls.add(Some(1), 20).unwrap().lock().unwrap().is_over && stalls.are_seen());
        stalls.keep(&[]);
        assert!(first.lock().unwrap().is_over && !stalls.are_seen());
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
