//! The instants of timers in logical execution time, as a state machine: when each is due, and when its run is published.
use std::collections::VecDeque;

/// Something to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// The run of this instant publishes.
    Publish {
        /// The timer.
        timer: u32,
        /// When it was due.
        due: u64,
    },
    /// A timer is due.
    Release {
        /// The timer.
        timer: u32,
        /// When.
        due: u64,
    },
}

/// Timers, all on multiples of their periods, in nanoseconds since the start of the server.
#[derive(Default, Debug)]
pub(super) struct Schedule {
    timers: Vec<Timed>,
    next: u32,
}

#[derive(Debug)]
struct Timed {
    timer: u32,
    period: u64,
    interval: u64,
    /// When it is due next.
    next: u64,
    /// Its component is at rest: it is not due.
    is_at_rest: bool,
    /// It is at rest behind the first instant from then on.
    ends: Option<u64>,
    /// The instants whose runs are not published yet.
    open: VecDeque<u64>,
}

impl Schedule {
    /// A timer that is due at the next multiple of its period.
    pub(super) fn add(&mut self, now: u64, period: u64, interval: u64) -> u32 {
        let (timer, period) = (self.next, period.max(1));
        self.next = self.next.wrapping_add(1);
        let (next, open) = (multiple_after(now, period), VecDeque::new());
        self.timers.push(Timed { timer, period, interval, next, is_at_rest: false, ends: None, open });
        timer
    }

    /// A timer is not due from now on, or is from its next multiple on.
    pub(super) fn rest(&mut self, now: u64, timer: u32, is_at_rest: bool) {
        for timed in self.timers.iter_mut().filter(|timed| timed.timer == timer) {
            if timed.is_at_rest && !is_at_rest {
                timed.next = timed.next.max(multiple_after(now, timed.period));
            }
            (timed.is_at_rest, timed.ends) = (is_at_rest, None);
        }
    }

    /// A timer is due once more at `since` or later, unless it is at rest, and is then at rest until [`Schedule::rest`] says something else.
    pub(super) fn end(&mut self, since: u64, timer: u32) {
        for timed in self.timers.iter_mut().filter(|timed| timed.timer == timer) {
            timed.ends = (!timed.is_at_rest).then_some(since);
        }
    }

    pub(super) fn remove(&mut self, timer: u32) {
        self.timers.retain(|timed| timed.timer != timer);
    }

    /// When the next act is due.
    pub(super) fn due(&self) -> Option<u64> {
        self.first().map(|(at, ..)| at)
    }

    /// The next act that is due; of one instant first what is published, so that timers which are due then read it.
    pub(super) fn pop(&mut self, now: u64) -> Option<Act> {
        let (at, is_release, timer) = self.first().filter(|(at, ..)| *at <= now)?;
        let timed = self.timers.iter_mut().find(|timed| timed.timer == timer)?;
        if !is_release {
            let due = timed.open.pop_front()?;
            return Some(Act::Publish { timer, due });
        }
        // Periods that passed unseen are not made up for.
        let missed = (now - at) / timed.period;
        timed.next = at.saturating_add(missed.saturating_add(1).saturating_mul(timed.period));
        timed.open.push_back(at);
        timed.is_at_rest |= timed.ends.take_if(|since| *since <= at).is_some();
        Some(Act::Release { timer, due: at })
    }

    fn first(&self) -> Option<(u64, bool, u32)> {
        let acts = self.timers.iter().flat_map(|timed| {
            let publish =
                timed.open.front().map(|due| (due.saturating_add(timed.interval), false, timed.timer));
            let release = (!timed.is_at_rest).then_some((timed.next, true, timed.timer));
            publish.into_iter().chain(release)
        });
        acts.min()
    }
}

fn multiple_after(now: u64, period: u64) -> u64 {
    (now / period).saturating_add(1).saturating_mul(period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_at_rest_is_not_due_but_publishes_what_it_has_begun() {
        let mut schedule = Schedule::default();
        let timer = schedule.add(0, 10, 4);
        assert_eq!(schedule.pop(10), Some(Act::Release { timer, due: 10 }));
        schedule.rest(11, timer, true);
        assert_eq!(schedule.pop(14), Some(Act::Publish { timer, due: 10 }));
        assert_eq!((schedule.due(), schedule.pop(1_000)), (None, None));
        schedule.rest(1_000, timer, false);
        assert_eq!(schedule.due(), Some(1_010));
        // One that has not rested is due when it was.
        schedule.rest(1_012, timer, false);
        assert_eq!(schedule.due(), Some(1_010));
    }

    #[test]
    fn one_that_ends_is_due_once_more_and_publishes_that() {
        let mut schedule = Schedule::default();
        let timer = schedule.add(0, 10, 10);
        let (release, publish) = (|due| Act::Release { timer, due }, |due| Act::Publish { timer, due });
        assert_eq!(schedule.pop(10), Some(release(10)));
        // An instant that passed before is not the last one.
        schedule.end(21, timer);
        assert_eq!(schedule.pop(20), Some(publish(10)));
        assert_eq!(schedule.pop(21), Some(release(20)));
        assert_eq!((schedule.pop(30), schedule.pop(30)), (Some(publish(20)), Some(release(30))));
        assert_eq!((schedule.pop(90), schedule.pop(90), schedule.due()), (Some(publish(30)), None, None));
        // What is at rest does not end once more, and what goes on does not end.
        schedule.end(90, timer);
        assert_eq!(schedule.due(), None);
        schedule.rest(90, timer, false);
        schedule.end(90, timer);
        schedule.rest(90, timer, false);
        for due in [100, 110] {
            assert_eq!(schedule.pop(due), Some(release(due)));
            assert_eq!(schedule.pop(due + 10), Some(publish(due)));
        }
    }

    #[test]
    fn publications_come_before_what_is_due_at_the_same_instant() {
        let mut schedule = Schedule::default();
        let (fast, slow) = (schedule.add(3, 10, 10), schedule.add(3, 20, 5));
        assert_eq!((schedule.due(), schedule.pop(9)), (Some(10), None));
        let mut acts = Vec::new();
        for now in [10, 20, 25, 30] {
            while let Some(act) = schedule.pop(now) {
                acts.push(act);
            }
        }
        let (publish, release) =
            (|timer, due| Act::Publish { timer, due }, |timer, due| Act::Release { timer, due });
        let wanted = [
            release(fast, 10),
            publish(fast, 10),
            release(fast, 20),
            release(slow, 20),
            publish(slow, 20),
            publish(fast, 20),
            release(fast, 30),
        ];
        assert_eq!(acts, wanted);
        schedule.remove(fast);
        assert_eq!(schedule.due(), Some(40));
    }

    #[test]
    fn instants_that_passed_unseen_are_one() {
        let mut schedule = Schedule::default();
        let timer = schedule.add(0, 10, 4);
        assert_eq!(schedule.pop(37), Some(Act::Release { timer, due: 10 }));
        assert_eq!(schedule.pop(37), Some(Act::Publish { timer, due: 10 }));
        assert_eq!((schedule.pop(37), schedule.due()), (None, Some(40)));
        let end = schedule.add(u64::MAX - 1, u64::MAX, u64::MAX);
        assert_eq!(schedule.pop(u64::MAX), Some(Act::Release { timer, due: 40 }));
        schedule.remove(timer);
        assert_eq!(schedule.pop(u64::MAX), Some(Act::Release { timer: end, due: u64::MAX }));
    }
}
