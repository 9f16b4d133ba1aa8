//! What entries and gates of grants have counted, as it is read back: a flow that passes one place and is not seen at the next one, and frames
//! that are dropped because their writer sends more than it may.
use alloc::collections::BTreeMap;
use core::time::Duration;

/// How long frames and counters may take from one place to the next one: switches bring their counters up to date about once in a second.
const LAG: Duration = Duration::from_millis(1_500);
/// The least time between two notes about the same frames that are dropped.
const PAUSE: Duration = Duration::from_secs(10);
/// So many readings are longer ago than the lag.
const KEPT: usize = 4;

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
struct Count {
    frames: u64,
    /// When it was read last.
    read: Duration,
    /// Since when it is the same.
    still_since: Duration,
    /// Between which readings it became larger, the last times.
    grew: [Option<(Duration, Duration)>; KEPT],
    is_told: bool,
}

/// All of it, by the number of the grant.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Counted {
    counts: BTreeMap<(u64, Place), Count>,
    /// Frames dropped, when they were told, and how many had been dropped then.
    dropped: BTreeMap<u64, (u64, Option<Duration>, u64)>,
}

impl Counted {
    /// A place has counted so many frames, since whenever.
    pub(crate) fn read(&mut self, now: Duration, grant: u64, place: Place, frames: u64) {
        let new = Count { frames, read: now, still_since: now, grew: [None; KEPT], is_told: false };
        let count = self.counts.entry((grant, place)).or_insert(new);
        if frames > count.frames {
            count.grew.rotate_right(1);
            if let Some(first) = count.grew.first_mut() {
                *first = Some((count.read, now));
            }
            (count.still_since, count.is_told) = (now, false);
        } else if frames < count.frames {
            // It was made anew.
            *count = new;
        }
        (count.frames, count.read) = (frames, now);
    }

    /// True if frames have passed at one place that must have been counted at the other one since, and were not. Once, until it counts again.
    pub(crate) fn is_silent(&mut self, grant: u64, before: Place, place: Place) -> bool {
        let Some(grew) = self.counts.get(&(grant, before)).map(|count| count.grew) else { return false };
        let Some(count) = self.counts.get_mut(&(grant, place)) else { return false };
        let (since, read) = (count.still_since, count.read);
        let missed = |(from, to): (Duration, Duration)| since <= from && to.saturating_add(LAG) <= read;
        let is_silent = grew.into_iter().flatten().any(missed) && !count.is_told;
        count.is_told |= is_silent;
        is_silent
    }

    /// So many frames of a grant have been dropped in all; how many of them are to be told now.
    pub(crate) fn dropped(&mut self, now: Duration, grant: u64, frames: u64) -> Option<u64> {
        let (before, told_at, told) = self.dropped.entry(grant).or_insert((frames, None, frames));
        if frames < *before {
            (*before, *told) = (frames, frames);
        }
        *before = frames;
        let more = frames - *told;
        if more == 0 || told_at.is_some_and(|at| now < at.saturating_add(PAUSE)) {
            return None;
        }
        (*told_at, *told) = (Some(now), frames);
        Some(more)
    }

    /// A grant is gone.
    pub(crate) fn forget(&mut self, grant: u64) {
        self.counts.retain(|(number, _), _| *number != grant);
        self.dropped.remove(&grant);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn what_passes_and_is_not_counted_behind_is_told_once() {
        let mut counted = Counted::default();
        let mut told = Vec::new();
        for second in 0..10 {
            counted.read(at(second * 1_000), 1, Place::Guard, 20 * second);
            counted.read(at(second * 1_000 + 500), 1, Place::Entry(0), 7);
            told.extend(counted.is_silent(1, Place::Guard, Place::Entry(0)).then_some(second));
        }
        assert_eq!(told, [3], "grown between 0 and 1, still from 0.5 on: the next growth counts");
        counted.read(at(11_000), 1, Place::Entry(0), 8);
        assert!(!counted.is_silent(1, Place::Guard, Place::Entry(0)));
    }

    #[test]
    fn a_flow_that_pauses_or_is_counted_late_is_not_silent() {
        let mut counted = Counted::default();
        for step in 0..100 {
            // It sends every 7 s; the entry counts what the gate has counted a second before.
            counted.read(at(step * 1_000), 1, Place::Guard, step / 7);
            counted.read(at(step * 1_000 + 900), 1, Place::Entry(0), step.saturating_sub(1) / 7);
            assert!(!counted.is_silent(1, Place::Guard, Place::Entry(0)), "{step}");
        }
        // Made anew, it begins from 0.
        counted.read(at(200_000), 1, Place::Entry(0), 0);
        assert!(!counted.is_silent(1, Place::Guard, Place::Entry(0)));
    }

    #[test]
    fn drops_are_told_as_they_become_more_and_not_each_second() {
        let mut counted = Counted::default();
        let told = (0..30).filter_map(|second| counted.dropped(at(second * 1_000), 1, 5 + 2 * second));
        assert_eq!(told.collect::<Vec<_>>(), [2, 20, 20]);
    }
}
