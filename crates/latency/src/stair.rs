//! What comes message by message, as a stair over the length of the window, and what all stairs of a port come to.
use alloc::vec::Vec;
use core::ops::Range;

/// Messages: `work` at 0 and whenever `x + jitter` is a multiple of `period`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stair {
    pub(crate) work: u64,
    pub(crate) period: u64,
    pub(crate) jitter: u64,
}

/// What has come, and the ends of windows for which it stays that.
#[derive(Clone, Debug)]
struct Step {
    come: u64,
    windows: Range<u64>,
}

impl Stair {
    /// The first instant after 0 at which it jumps.
    pub(crate) fn first_jump(&self) -> u64 {
        self.period - self.jitter % self.period
    }

    /// The step on which closed windows `[0, x]` are.
    fn step(&self, x: u64) -> Option<Step> {
        let since = x.checked_add(self.jitter)?;
        // Most windows are shorter than the period, and a comparison is much faster than a division.
        if since < self.period {
            return Some(Step { come: self.work, windows: 0..self.period - self.jitter });
        }
        let periods = since / self.period;
        let next = periods.checked_add(1)?;
        Some(Step {
            come: self.work.checked_mul(next)?,
            windows: (periods * self.period).saturating_sub(self.jitter)
                ..next.saturating_mul(self.period).saturating_sub(self.jitter),
        })
    }
}

/// What groups of stairs come to. Searches ask for windows that are close to each other: what was last asked for is
/// kept, for all of them and for each.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    stairs: Vec<Placed>,
    /// What has come of each group in windows of these.
    come: Vec<u64>,
    windows: Range<u64>,
}

/// A stair in its group, and its step that was last asked for.
#[derive(Debug)]
struct Placed {
    stair: Stair,
    group: usize,
    step: Step,
}

impl Sums {
    /// Adds a group without stairs.
    pub(crate) fn add_group(&mut self) {
        self.come.push(0);
    }

    /// Adds a stair to a group; `None` if there is no such group.
    pub(crate) fn add(&mut self, group: usize, stair: Stair) -> Option<()> {
        self.come.get(group)?;
        self.stairs.push(Placed { stair, group, step: Step { come: 0, windows: 0..0 } });
        self.windows = 0..0;
        Some(())
    }

    /// How many stairs there are.
    pub(crate) fn len(&self) -> usize {
        self.stairs.len()
    }

    pub(crate) fn stairs(&self) -> impl Iterator<Item = &Stair> {
        self.stairs.iter().map(|placed| &placed.stair)
    }

    /// What has come of each group in the closed window `[0, x]`; `None` if that does not fit.
    pub(crate) fn at(&mut self, x: u64) -> Option<&[u64]> {
        if x < self.windows.start || self.windows.end <= x {
            self.find(x)?;
        }
        Some(&self.come)
    }

    fn find(&mut self, x: u64) -> Option<()> {
        // Until all is right again nothing is.
        self.windows = 0..0;
        self.come.fill(0);
        let (mut start, mut end) = (0, u64::MAX);
        for Placed { stair, group, step } in &mut self.stairs {
            if x < step.windows.start || step.windows.end <= x {
                *step = stair.step(x)?;
            }
            let come = self.come.get_mut(*group)?;
            *come = come.checked_add(step.come)?;
            start = start.max(step.windows.start);
            end = end.min(step.windows.end);
        }
        self.windows = start..end;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(groups: &[Vec<Stair>]) -> Sums {
        let mut sums = Sums::default();
        for (index, stairs) in groups.iter().enumerate() {
            sums.add_group();
            for stair in stairs {
                sums.add(index, *stair).unwrap();
            }
        }
        assert_eq!(sums.add(groups.len(), Stair { work: 1, period: 1, jitter: 0 }), None);
        sums
    }

    /// From one number the next, for tests.
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    /// The definition: a message at 0, and at each multiple of the period that the window, longer by the jitter, holds.
    fn come(stair: &Stair, x: u64) -> u64 {
        stair.work * ((x + stair.jitter) / stair.period + 1)
    }

    #[test]
    fn sums_are_those_of_the_definition_whatever_was_asked_before() {
        for seed in 0..300 {
            let mut state = seed;
            let most = [3, 40, 1_000][seed as usize % 3];
            let mut stair = || Stair {
                work: next(&mut state) % 50,
                period: 1 + next(&mut state) % most,
                jitter: next(&mut state) % (2 * most),
            };
            let groups: Vec<Vec<Stair>> =
                (0..seed % 4).map(|n| (0..n + seed % 3).map(|_| stair()).collect()).collect();
            let mut all = sums(&groups);
            assert_eq!(all.len(), all.stairs().count());
            let mut x = 0;
            for _ in 0..300 {
                x = match next(&mut state) % 4 {
                    0 => next(&mut state) % (5 * most),
                    1 => x.saturating_sub(1),
                    _ => x + next(&mut state) % 3,
                };
                let right: Vec<u64> =
                    groups.iter().map(|group| group.iter().map(|stair| come(stair, x)).sum()).collect();
                assert_eq!(all.at(x).unwrap(), right, "seed {seed}, window {x}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_none_and_what_fits_is_right_afterwards() {
        let stair = |work, period, jitter| Stair { work, period, jitter };
        let mut all = sums(&[Vec::from([stair(u64::MAX / 2, 10, 0), stair(5, 10, 3)])]);
        let at = |sums: &mut Sums, x| sums.at(x).map(|come| come[0]);
        assert_eq!(at(&mut all, 9), Some(u64::MAX / 2 + 10));
        assert_eq!(at(&mut all, 20), None);
        assert_eq!(at(&mut all, 10), None);
        assert_eq!(at(&mut all, u64::MAX), None);
        assert_eq!(at(&mut all, 6), Some(u64::MAX / 2 + 5));
        let mut last = sums(&[Vec::from([stair(1, u64::MAX, 0)])]);
        assert_eq!([u64::MAX - 1, u64::MAX, 0].map(|x| at(&mut last, x)), [Some(1), Some(2), Some(1)]);
    }

    #[test]
    fn the_first_jump_is_after_the_start() {
        let jump = |period, jitter| Stair { work: 1, period, jitter }.first_jump();
        assert_eq!([jump(10, 0), jump(10, 3), jump(10, 10), jump(10, 29)], [10, 7, 10, 1]);
    }
}
