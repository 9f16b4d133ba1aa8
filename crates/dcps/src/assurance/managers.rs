//! The resource managers of a domain as a participant knows them, and which of them it asks.
//!
//! A participant with a writer of verdicts counts as a manager; nothing of that is authenticated. So the one that was asked first is asked for
//! as long as it answers, and nothing that another one says changes that.
use alloc::vec::Vec;

use wire::admission::{State, Verdict};
use wire::sorted::sort_by;
use wire::{Duration, Guid, GuidPrefix, Instant};

use super::pair::duration;

/// See the module above.
#[derive(Debug)]
pub(super) struct Managers {
    /// In the order in which they are tried: the last one next.
    known: Vec<Known>,
    asked: Option<GuidPrefix>,
    /// The one that is asked has said something since it is.
    has_answered: bool,
    /// It has not said what it should have: any other one is better.
    is_silent: bool,
    /// It has to answer what it was asked until then.
    answer_by: Instant,
    /// It has to repeat what it has admitted until then.
    repeat_by: Instant,
}

#[derive(Debug)]
struct Known {
    writer: Guid,
    /// The largest epoch that it has said: each start of a manager has another writer.
    epoch: u64,
}

impl Managers {
    pub(super) const fn new() -> Self {
        Self {
            known: Vec::new(),
            asked: None,
            has_answered: false,
            is_silent: false,
            answer_by: Instant::NEVER,
            repeat_by: Instant::NEVER,
        }
    }

    /// The participant of the manager that is asked.
    pub(super) const fn asked(&self) -> Option<GuidPrefix> {
        self.asked
    }

    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.known.len()
    }

    /// Discovery has found a writer of verdicts; true if its manager is asked from now on.
    pub(super) fn found(&mut self, writer: Guid) -> bool {
        if !self.known.iter().any(|known| known.writer == writer) {
            self.known.push(Known { writer, epoch: 0 });
        }
        self.choose()
    }

    /// Discovery has lost it; true if another manager is asked from now on.
    pub(super) fn lost(&mut self, writer: Guid) -> bool {
        self.known.retain(|known| known.writer != writer);
        self.choose()
    }

    /// Something was asked, and an answer is expected within `patience`.
    pub(super) fn expect_answer(&mut self, now: Instant, patience: Duration) {
        if self.answer_by == Instant::NEVER && !self.is_silent {
            self.answer_by = now.after(patience);
        }
    }

    /// False if the manager itself has said since that this counts no longer.
    pub(super) fn is_present(&mut self, from: GuidPrefix, epoch: u64) -> bool {
        let Some(known) = self.known.iter_mut().find(|known| known.writer.prefix == from) else {
            return true;
        };
        let is_present = epoch >= known.epoch;
        known.epoch = known.epoch.max(epoch);
        is_present
    }

    /// The manager that is asked has said something about a pair of ours.
    pub(super) fn heard(&mut self, now: Instant, verdict: &Verdict) {
        self.has_answered = true;
        self.is_silent = false;
        self.answer_by = Instant::NEVER;
        if verdict.state == State::Admitted {
            self.repeat_by = now.after(duration(verdict.lease / 2));
        }
    }

    /// A manager that was asked before goes on as if nothing had been, and the one that is asked has not said a word: true if that
    /// former one is asked from now on.
    pub(super) fn returns(&mut self, from: GuidPrefix) -> bool {
        let returns = self.asked != Some(from) && !self.has_answered && self.is_known(from);
        if returns {
            self.ask(from);
        }
        returns
    }

    /// When [`Managers::on_timeout`] has to be called; grants have to be repeated if there are some.
    pub(super) fn poll_timeout(&self, has_grants: bool) -> Instant {
        self.answer_by.min(if has_grants { self.repeat_by } else { Instant::NEVER })
    }

    /// True if another manager is asked from now on.
    pub(super) fn on_timeout(&mut self, now: Instant, has_grants: bool) -> bool {
        if self.poll_timeout(has_grants) > now {
            return false;
        }
        self.is_silent = true;
        (self.answer_by, self.repeat_by) = (Instant::NEVER, Instant::NEVER);
        self.choose()
    }

    fn is_known(&self, prefix: GuidPrefix) -> bool {
        self.known.iter().any(|known| known.writer.prefix == prefix)
    }

    /// Stays with the manager that is asked for as long as it is there and answers; true if it is another one from now on.
    fn choose(&mut self) -> bool {
        let asked = self.asked.filter(|asked| self.is_known(*asked));
        if asked.is_some() && !self.is_silent {
            return false;
        }
        let next = self.known.iter().rev().map(|known| known.writer.prefix).find(|next| Some(*next) != asked);
        let Some(next) = next else {
            self.asked = asked;
            return false;
        };
        // One that was silent comes last when the next one is looked for.
        let is_other = |known: &Known| Some(known.writer.prefix) != asked;
        sort_by(&mut self.known, |one, other| is_other(one).cmp(&is_other(other)));
        self.ask(next);
        true
    }

    const fn ask(&mut self, prefix: GuidPrefix) {
        self.asked = Some(prefix);
        (self.has_answered, self.is_silent) = (false, false);
        (self.answer_by, self.repeat_by) = (Instant::NEVER, Instant::NEVER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::EntityId;

    const PATIENCE: Duration = Duration::from_secs(3);

    fn writer(octet: u8) -> Guid {
        Guid::new(GuidPrefix([octet; 12]), EntityId([0, 0, 1, 2]))
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    fn asked(managers: &Managers) -> Option<u8> {
        managers.asked().map(|prefix| prefix.0[0])
    }

    #[test]
    fn the_first_one_is_asked_while_it_answers() {
        let mut managers = Managers::new();
        assert!(managers.found(writer(1)));
        assert!(!managers.found(writer(2)) && !managers.found(writer(1)));
        for second in [0, 2, 4, 6] {
            managers.expect_answer(at(second), PATIENCE);
            assert!(!managers.on_timeout(at(second + 2), true));
            managers.heard(at(second + 2), &Verdict::default());
        }
        assert_eq!((asked(&managers), managers.len()), (Some(1), 2));
        assert!(managers.lost(writer(1)));
        assert_eq!(asked(&managers), Some(2));
        assert!(!managers.lost(writer(2)));
        assert_eq!(asked(&managers), None);
    }

    #[test]
    fn silent_ones_are_tried_in_turn_and_a_new_one_first() {
        let mut managers = Managers::new();
        (1..=3).for_each(|number| {
            managers.found(writer(number));
        });
        let mut tried = Vec::new();
        for round in 0..6 {
            tried.extend(asked(&managers));
            managers.expect_answer(at(round * 3), PATIENCE);
            assert!(managers.on_timeout(at(round * 3 + 3), false));
        }
        assert_eq!(tried, [1, 3, 2, 1, 3, 2]);
        managers.expect_answer(at(18), PATIENCE);
        managers.found(writer(4));
        managers.on_timeout(at(21), false);
        assert_eq!(asked(&managers), Some(4));
    }

    #[test]
    fn one_that_is_alone_and_silent_is_left_for_the_next_that_comes() {
        let mut managers = Managers::new();
        managers.found(writer(1));
        managers.expect_answer(at(0), PATIENCE);
        assert_eq!(managers.poll_timeout(true), at(3));
        assert!(!managers.on_timeout(at(3), true));
        assert_eq!((asked(&managers), managers.poll_timeout(true)), (Some(1), Instant::NEVER));
        assert!(managers.found(writer(2)));
        assert_eq!(asked(&managers), Some(2));
    }

    #[test]
    fn what_is_admitted_has_to_be_repeated_within_half_of_its_lease() {
        let mut managers = Managers::new();
        managers.found(writer(1));
        managers.found(writer(2));
        let admitted = Verdict { state: State::Admitted, lease: 6_000_000_000, ..Verdict::default() };
        managers.heard(at(0), &admitted);
        assert_eq!((managers.poll_timeout(true), managers.poll_timeout(false)), (at(3), Instant::NEVER));
        assert!(!managers.on_timeout(at(2), true) && managers.on_timeout(at(3), true));
        // It was only late.
        assert!(managers.returns(GuidPrefix([1; 12])));
        assert_eq!(asked(&managers), Some(1));
        managers.heard(at(4), &admitted);
        assert!(!managers.returns(GuidPrefix([2; 12])), "one that answers is not left");
    }

    #[test]
    fn epochs_count_for_each_manager_alone() {
        let mut managers = Managers::new();
        managers.found(writer(1));
        managers.found(writer(2));
        assert!(managers.is_present(GuidPrefix([2; 12]), u64::MAX));
        assert!(managers.is_present(GuidPrefix([1; 12]), 7));
        assert!(!managers.is_present(GuidPrefix([1; 12]), 6) && managers.is_present(GuidPrefix([1; 12]), 7));
    }
}
