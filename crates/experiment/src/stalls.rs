//! When the machine stood still, from wakes of its probes that were late.

use lab::probe;

/// A wake that is later than this is part of a stall, in nanoseconds, if the stall as a whole is long enough.
pub const LATE: u64 = 75_000;
/// Late wakes of a core with no more than this between them, in nanoseconds, are of one stall: a probe that was late sleeps for 200 us, and is late
/// again.
const BETWEEN: u64 = 250_000;

/// A time in which a core of the machine stood still, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stall {
    /// When a probe on it should have run.
    pub from: i64,
    /// When it ran in time again, and what it had held up was gone.
    pub to: i64,
}

/// The stalls of a phase.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Stalls {
    /// In order; those that touch each other are put together.
    apart: Vec<Stall>,
    /// How many there were.
    pub count: usize,
    /// The most time of one of them in which its core did not run, in nanoseconds.
    pub longest: u64,
}

impl Stalls {
    /// Those that late wakes tell of: a core that was late by more than `least` nanoseconds in all stood still. Wakes are of a clock that is
    /// `ahead` nanoseconds behind that of the samples.
    pub fn of(mut wakes: Vec<probe::Stall>, ahead: i64, least: u64) -> Self {
        wakes.sort_unstable_by_key(|wake| (wake.core, wake.from));
        let (mut stalls, mut longest) = (Vec::new(), 0);
        for of_one in
            wakes.chunk_by(|one, next| one.core == next.core && next.from.saturating_sub(one.to) <= BETWEEN)
        {
            let late: u64 = of_one.iter().map(|wake| wake.to.saturating_sub(wake.from)).sum();
            let (Some(first), Some(last)) = (of_one.first(), of_one.last()) else { continue };
            if late > least {
                let at = |time: u64| time.cast_signed().saturating_add(ahead);
                // What it held up comes in a heap after it, and is in the way of others for as long again.
                stalls.push(Stall { from: at(first.from), to: at(last.to.saturating_add(late)) });
                longest = late.max(longest);
            }
        }
        Self { count: stalls.len(), longest, ..Self::new(stalls) }
    }

    pub(crate) fn new(mut stalls: Vec<Stall>) -> Self {
        stalls.sort_unstable_by_key(|stall| stall.from);
        let mut apart: Vec<Stall> = Vec::with_capacity(stalls.len());
        for stall in stalls {
            match apart.last_mut() {
                Some(last) if stall.from <= last.to => last.to = last.to.max(stall.to),
                _ => apart.push(stall),
            }
        }
        Self { apart, ..Self::default() }
    }

    /// True if a stall and the time from `from` to `to`, both included, have an instant in common.
    pub fn meet(&self, from: i64, to: i64) -> bool {
        let first = self.apart.partition_point(|stall| stall.to < from);
        self.apart.get(first).is_some_and(|stall| stall.from <= to)
    }

    /// How long all stalls are that have an instant in common with the time from `from` to `to`, in nanoseconds.
    pub(crate) fn time(&self, from: i64, to: i64) -> i64 {
        let first = self.apart.partition_point(|stall| stall.to < from);
        let met = self.apart.iter().skip(first).take_while(|stall| stall.from <= to);
        met.fold(0_i64, |time, stall| time.saturating_add(stall.to.saturating_sub(stall.from)))
    }

    /// The stalls in order, those that touch each other as one.
    pub(crate) fn apart(&self) -> impl Iterator<Item = Stall> {
        self.apart.iter().copied()
    }

    /// The end of the last stall that ended before `at`.
    pub(crate) fn end_before(&self, at: i64) -> Option<i64> {
        let first = self.apart.partition_point(|stall| stall.to < at);
        first.checked_sub(1).and_then(|last| self.apart.get(last)).map(|stall| stall.to)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LEAST: u64 = 300_000;

    fn of(wakes: &[(usize, u64, u64)]) -> (Vec<(i64, i64)>, u64) {
        let wakes =
            wakes.iter().map(|(core, from, late)| probe::Stall { from: *from, to: from + late, core: *core });
        let stalls = Stalls::of(wakes.collect(), 7, LEAST);
        assert!(stalls.count >= stalls.apart.len());
        (stalls.apart.iter().map(|stall| (stall.from, stall.to)).collect(), stalls.longest)
    }

    #[test]
    fn a_core_that_was_late_for_long_stood_still() {
        assert_eq!(of(&[(0, 1_000, LEAST)]), (vec![], 0));
        let more = LEAST + 1;
        assert_eq!(of(&[(0, 1_000, more)]), (vec![(1_007, 1_007 + 2 * more.cast_signed())], more));
    }

    #[test]
    fn wakes_that_are_late_one_after_the_other_are_one_stall() {
        let third = LEAST / 3;
        let wakes =
            |core: usize, between: u64| [0, 1, 2].map(|number| (core, number * (third + between), third + 1));
        let one = (7, 7 + (6 * third + 2 * BETWEEN + 4).cast_signed());
        assert_eq!(of(&wakes(0, BETWEEN)), (vec![one], 3 * third + 3));
        assert_eq!(of(&wakes(0, BETWEEN + 2)).0, []);
        // Each core for itself, in any order; what is at the same time is one disturbance.
        let [first, second, third_wake] = wakes(0, BETWEEN);
        assert_eq!(of(&[third_wake, (1, second.1, second.2), first]).0, []);
        let both: Vec<_> = wakes(1, BETWEEN).into_iter().chain(wakes(0, BETWEEN)).rev().collect();
        assert_eq!(of(&both).0, [one]);
    }
}
