//! How much work has been done, counted in steps and not in time: the same on every machine.
use core::cell::Cell;

/// Counts steps: a flow, a level or a link that was looked at once, more or less. May have a limit, behind which searches
/// stop and bounds are not found; then what is said about flows is not to be used.
#[derive(Clone, Debug)]
pub struct Work {
    done: Cell<u64>,
    most: u64,
}

impl Work {
    /// Counts without a limit.
    pub const fn unlimited() -> Self {
        Self::limited(u64::MAX)
    }

    /// No more than so many steps.
    pub const fn limited(most: u64) -> Self {
        Self { done: Cell::new(0), most }
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

    /// The limit.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Whether there was more to do than the limit.
    pub fn is_exhausted(&self) -> bool {
        self.done.get() > self.most
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
        assert!(!work.is_exhausted());
        assert_eq!(work.charge(1), None);
        assert!(work.is_exhausted() && work.done() == 11);
        assert_eq!(Work::unlimited().charge(u64::MAX), Some(()));
    }
}
