//! What entries and gates of grants have counted, as it is read back: frames of a flow that pass one place and are not counted at the next one, and
//! frames that are dropped because their writer sends more than it may.
//!
//! Both places count from beginnings of their own. What the first one has counted beyond the other one is the least difference between a count of the
//! entry and one of the guard that was read after it; a difference that is larger, though the entry was read a lag later, is of frames that are missing.
use alloc::collections::{BTreeMap, VecDeque};
use core::time::Duration;

use crate::dropped::{Dropped, PAUSE};

/// How long frames and counters may take from one place to the next one: switches bring their counters up to date once or twice in a second.
const LAG: Duration = Duration::from_secs(1);
/// Readings of the first place that are kept at most, until they are longer ago than the lag.
const KEPT: usize = 16;

/// A place that counts the frames of a grant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    /// The gate, or the meter.
    Guard,
    /// The entry of a switch, by its index.
    Entry(usize),
}

/// What was read at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reading {
    /// When it was asked for.
    pub(crate) asked: Duration,
    /// When the answer was there.
    pub(crate) answered: Duration,
    /// Since when it counts, if the place says so: later than before if it was made anew.
    pub(crate) since: Duration,
    /// The frames.
    pub(crate) frames: u64,
}

impl Reading {
    /// True if the place counts from another beginning than at the reading before. Ages are told in full seconds by some.
    fn is_anew(&self, before: &Self) -> bool {
        self.frames < before.frames || self.since > before.since.saturating_add(LAG)
    }
}

/// A place behind the first one.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Behind {
    last: Option<Reading>,
    /// A reading that waits for one of the first place after it.
    held: Option<Reading>,
    /// So many frames the first place has counted that this one need not have, if that is known.
    ahead: Option<i128>,
    told_at: Option<Duration>,
    /// Missing, and not told yet.
    missing: u64,
}

impl Behind {
    const fn begin(&mut self) {
        (self.held, self.ahead, self.missing) = (None, None, 0);
    }
}

/// What has been counted of a grant.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct OfGrant {
    /// The first place that counts it, and its latest readings, the oldest first.
    first: Option<(Place, VecDeque<Reading>)>,
    behind: BTreeMap<usize, Behind>,
    dropped: Dropped,
}

/// All of it, by the number of the grant.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Counted {
    grants: BTreeMap<u64, OfGrant>,
}

impl Counted {
    /// The first place that counts the frames of a grant has counted so many.
    pub(crate) fn first(&mut self, grant: u64, place: Place, reading: Reading) {
        let grant = self.grants.entry(grant).or_default();
        let is_anew = |(at, readings): &(Place, VecDeque<Reading>)| {
            *at != place || readings.back().is_some_and(|before| reading.is_anew(before))
        };
        if grant.first.as_ref().is_some_and(is_anew) {
            grant.first = None;
            grant.behind.values_mut().for_each(Behind::begin);
        }
        // Gates count at once; what an entry counts may be shown later than what others have counted since.
        let lag = if place == Place::Guard { Duration::ZERO } else { LAG };
        for behind in grant.behind.values_mut() {
            let is_before = |held: &mut Reading| held.answered.saturating_add(lag) <= reading.asked;
            if let Some(held) = behind.held.take_if(is_before) {
                let ahead = i128::from(reading.frames) - i128::from(held.frames);
                behind.ahead = Some(behind.ahead.map_or(ahead, |before| before.min(ahead)));
            }
        }
        let (_, readings) = grant.first.get_or_insert_with(|| (place, VecDeque::new()));
        let is_passed = |first: &Reading| first.answered.saturating_add(LAG) <= reading.asked;
        while readings.get(1).is_some_and(is_passed) {
            readings.pop_front();
        }
        if readings.len() < KEPT {
            readings.push_back(reading);
        }
    }

    /// The entry of a switch has counted so many: how many frames are missing there and are to be told now.
    pub(crate) fn behind(&mut self, grant: u64, switch: usize, reading: Reading) -> Option<u64> {
        let grant = self.grants.entry(grant).or_default();
        let behind = grant.behind.entry(switch).or_default();
        if behind.last.is_some_and(|before| reading.is_anew(&before)) {
            behind.begin();
        }
        (behind.last, behind.held) = (Some(reading), behind.held.or(Some(reading)));
        let (_, readings) = grant.first.as_ref()?;
        let is_passed = |first: &&Reading| first.answered.saturating_add(LAG) <= reading.asked;
        let passed = readings.iter().rev().find(is_passed)?;
        let ahead = behind.ahead.as_mut()?;
        let more = i128::from(passed.frames) - i128::from(reading.frames) - *ahead;
        if more > 0 {
            *ahead = ahead.saturating_add(more);
            behind.missing = behind.missing.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
        }
        if behind.missing == 0 || behind.told_at.is_some_and(|at| reading.answered < at.saturating_add(PAUSE))
        {
            return None;
        }
        behind.told_at = Some(reading.answered);
        Some(core::mem::take(&mut behind.missing))
    }

    /// So many frames of a grant have been dropped in all; how many of them are to be told now.
    pub(crate) fn dropped(&mut self, now: Duration, grant: u64, frames: u64) -> Option<u64> {
        self.grants.entry(grant).or_default().dropped.count(now, frames)
    }

    /// A grant is gone.
    pub(crate) fn forget(&mut self, grant: u64) {
        self.grants.remove(&grant);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const fn reading(millis: u64, frames: u64) -> Reading {
        Reading { asked: at(millis), answered: at(millis + 5), since: Duration::ZERO, frames }
    }

    /// Reads a gate and an entry in turns, each every 250 ms, for 30 s; what they have counted at a time is given. When what was told.
    fn told(first: impl Fn(u64) -> u64, behind: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
        let mut counted = Counted::default();
        let mut told = Vec::new();
        for now in (0..30_000).step_by(250) {
            counted.first(1, Place::Guard, reading(now, first(now)));
            let now = now + 125;
            told.extend(counted.behind(1, 0, reading(now, behind(now))).map(|frames| (now, frames)));
        }
        told
    }

    /// The count of a switch that shows it every half second.
    const fn shown(now: u64) -> u64 {
        now / 500 * 500
    }

    #[test]
    fn frames_that_are_not_counted_behind_are_told_within_two_seconds() {
        for fault in (5_000..6_000).step_by(50) {
            let told = told(|now| 70 + now / 10, |now| shown(now.min(fault + 499)).min(fault) / 10);
            let (first, frames) = told[0];
            assert!(first > fault && first <= fault + 2_000, "{fault}: {first}");
            assert!(frames <= (first - fault) / 10, "{fault}: {frames}");
            assert!(told.windows(2).all(|pair| pair[1].0 >= pair[0].0 + 10_000), "{told:?}");
        }
    }

    #[test]
    fn a_single_frame_that_is_missing_is_told() {
        let told = told(|now| now / 3_000, |now| now / 3_000 - u64::from(now >= 9_000));
        assert_eq!(told.iter().map(|(_, frames)| frames).collect::<Vec<_>>(), [&1], "{told:?}");
    }

    #[test]
    fn flows_that_pause_are_counted_late_or_begin_anew_miss_nothing() {
        for period in [1, 3, 10, 700, 7_000] {
            assert_eq!(told(|now| now / period, |now| shown(now) / period), [], "{period}");
            assert_eq!(told(|now| now / period, |now| 9_000 + shown(now) / period), [], "{period}");
            // The entry is made anew, the gate is, both are.
            let anew = |now: u64| now / period - if now < 9_000 { 0 } else { 9_000 / period };
            assert_eq!(told(|now| 5_000 + now / period, |now| anew(shown(now))), [], "{period}");
            assert_eq!(told(anew, |now| shown(now) / period), [], "{period}");
            assert_eq!(told(anew, |now| anew(shown(now))), [], "{period}");
        }
    }

    #[test]
    fn entries_are_compared_where_no_gate_counts() {
        let mut counted = Counted::default();
        let mut told = Vec::new();
        for now in (0..30_000).step_by(250) {
            counted.first(1, Place::Entry(0), reading(now, shown(now + 200) / 7));
            let behind = shown(now.min(20_000)) / 7;
            told.extend(counted.behind(1, 1, reading(now, behind)).map(|_| now));
        }
        assert!(told[0] > 20_000 && told[0] <= 23_000, "{told:?}");
    }

    #[test]
    fn drops_are_told_from_the_first_on_as_they_become_more_and_not_each_second() {
        let mut counted = Counted::default();
        let told = (0..30).filter_map(|second| counted.dropped(at(second * 1_000), 1, 5 + 2 * second));
        assert_eq!(told.collect::<Vec<_>>(), [5, 20, 20]);
    }
}
