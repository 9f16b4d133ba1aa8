//! How much work has been done, counted in steps and not in time: the same on every machine.
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many steps work may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Behind so many the exact tests are left out, and the linear ones decide: less is admitted, and no bound is wrong.
    pub exact: u64,
    /// Behind so many, running sums alone decide, which takes a few steps for each level and hop.
    pub all: u64,
    /// So many of them a plan may take to split shares again where more than a few flows hang together; where few do, it takes
    /// what it takes.
    pub again: u64,
}

impl Limits {
    /// No limits; shares are split again where few flows hang together.
    pub const NONE: Self = Self { exact: u64::MAX, all: u64::MAX, again: 0 };
    /// What a request may cost that others wait for: ten milliseconds of one processor, more or less.
    ///
    /// What is refused, or has to find a place beside others, takes some more: no more than [`Self::MOST`] in all.
    pub const REQUEST: Self = Self { exact: 2_000_000, all: 4_000_000, again: 300_000 };
    /// The most steps that a request takes within [`Self::REQUEST`].
    pub const MOST: u64 = 5_000_000;
}

/// Counts steps: a flow, a level or a link that was looked at once, more or less. May have limits, for all there is to do
/// and for each request.
#[derive(Debug)]
pub struct Work {
    done: Count,
    most: Limits,
    /// Up to how many steps in all the present request may go, and how many it may take to split shares again.
    exact: Count,
    all: Count,
    again: Count,
    /// Not 0 while shares are not split again at all.
    spares: Count,
}

/// A number that copies of a ledger share. One thread at a time counts, so that nothing is added at once.
#[derive(Debug)]
struct Count(AtomicU64);

impl Count {
    const fn new(count: u64) -> Self {
        Self(AtomicU64::new(count))
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    fn set(&self, count: u64) {
        self.0.store(count, Relaxed);
    }
}

impl Work {
    /// Counts without a limit.
    pub const fn unlimited() -> Self {
        Self::within(Limits::NONE)
    }

    /// No more than so many steps; up to there all tests are exact.
    pub const fn limited(most: u64) -> Self {
        Self::within(Limits { exact: most, all: most, again: 0 })
    }

    /// No more than that in all.
    pub const fn within(most: Limits) -> Self {
        let (exact, all) = (Count::new(most.exact), Count::new(most.all));
        Self { done: Count::new(0), most, exact, all, again: Count::new(most.again), spares: Count::new(0) }
    }

    /// A request begins, which may take so many steps: what the one before has left is no matter.
    pub fn begin(&self, request: Limits) {
        let done = self.done.get();
        self.set(Limits {
            exact: done.saturating_add(request.exact).min(self.most.exact),
            all: done.saturating_add(request.all).min(self.most.all),
            again: request.again,
        });
    }

    /// Does something that is no part of what there is to do, such as answering what would be, within limits of its own; its answer, and how many
    /// steps it took. What follows has all the steps that it had before.
    pub fn apart<T>(&self, limits: Limits, part: impl FnOnce() -> T) -> (T, u64) {
        let (until, before) = (self.until(), self.done.get());
        self.begin(limits);
        let answer = part();
        let steps = self.done.get().saturating_sub(before);
        self.done.set(before);
        self.set(until);
        (answer, steps)
    }

    fn until(&self) -> Limits {
        Limits { exact: self.exact.get(), all: self.all.get(), again: self.again.get() }
    }

    fn set(&self, until: Limits) {
        self.exact.set(until.exact);
        self.all.set(until.all);
        self.again.set(until.again);
    }

    /// Does a part within other limits.
    fn within_others<T>(&self, limits: Limits, part: impl FnOnce() -> T) -> T {
        let until = self.until();
        self.set(limits);
        let answer = part();
        self.set(until);
        answer
    }

    /// Does a part of a request, which may take so many of its steps; without an answer if that is not enough.
    pub(crate) fn part<T>(&self, steps: u64, part: impl FnOnce() -> Option<T>) -> Option<T> {
        let (until, most) = (self.until(), self.done.get().saturating_add(steps));
        let limits = Limits { exact: until.exact.min(most), all: until.all.min(most), ..until };
        self.within_others(limits, part)
    }

    /// Does a part in which shares are not split again.
    pub(crate) fn sparing<T>(&self, part: impl FnOnce() -> T) -> T {
        let before = self.spares.get();
        self.spares.set(1);
        let answer = part();
        self.spares.set(before);
        answer
    }

    /// Whether shares are not split again for now.
    pub(crate) fn is_sparing(&self) -> bool {
        self.spares.get() > 0
    }

    /// Does a part whatever work it is.
    pub(crate) fn freely<T>(&self, part: impl FnOnce() -> T) -> T {
        self.within_others(Limits::NONE, part)
    }

    /// How many steps may be taken to split shares again where many flows hang together.
    pub(crate) fn again(&self) -> u64 {
        self.again.get()
    }

    /// Counts steps; `None` if that is more than the limit.
    pub fn charge(&self, steps: u64) -> Option<()> {
        self.done.set(self.done.get().saturating_add(steps));
        (!self.is_exhausted()).then_some(())
    }

    /// Counts as many steps as there are things.
    pub fn charge_each(&self, things: usize) -> Option<()> {
        self.charge(u64::try_from(things).unwrap_or(u64::MAX))
    }

    /// Steps so far.
    pub fn done(&self) -> u64 {
        self.done.get()
    }

    /// The limits of all there is to do.
    pub fn most(&self) -> Limits {
        self.most
    }

    /// Steps that exact tests may still take; 0 if the linear ones have to do.
    pub fn exact_left(&self) -> u64 {
        if self.is_exhausted() { 0 } else { self.exact.get().saturating_sub(self.done.get()) }
    }

    /// Whether exact tests may be made.
    pub fn is_exact(&self) -> bool {
        self.exact_left() > 0
    }

    /// Whether there was more to do than the limit.
    pub fn is_exhausted(&self) -> bool {
        self.done.get() > self.all.get()
    }
}

/// What two ledgers promise is the same, however much work it was.
impl PartialEq for Work {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Work {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_itself_may_be_used() {
        let work = Work::limited(10);
        assert_eq!((work.charge(4), work.charge_each(6)), (Some(()), Some(())));
        assert!(!work.is_exhausted() && !work.is_exact());
        assert_eq!(work.charge(1), None);
        assert!(work.is_exhausted() && work.done() == 11);
        assert_eq!(Work::unlimited().charge(u64::MAX), Some(()));
    }

    #[test]
    fn each_request_has_limits_of_its_own_within_those_of_all() {
        let work = Work::within(Limits { exact: 100, all: 150, again: 0 });
        let request = Limits { exact: 10, all: 20, again: 0 };
        work.begin(request);
        assert_eq!((work.charge(9), work.exact_left()), (Some(()), 1));
        assert_eq!((work.charge(11), work.exact_left(), work.is_exhausted()), (Some(()), 0, false));
        assert_eq!((work.charge(75), work.is_exhausted()), (None, true));
        work.begin(request);
        assert_eq!((work.exact_left(), work.is_exhausted()), (5, false));
        assert_eq!((work.charge(20), work.is_exact()), (Some(()), false));
        work.begin(Limits::NONE);
        assert_eq!((work.charge(36), work.is_exhausted()), (None, true));
    }
}
