//! Who may go next where each may wait for long: a lane has one piece of work under way at a time, and lanes that have been slow leave turns to
//! those that have not.
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;

/// From how many milliseconds on a piece of work was slow.
pub const SLOW: u64 = 100;

/// Lanes with work, in the order in which they came.
#[derive(Debug)]
pub struct Turns {
    /// Most lanes that have work under way.
    most: usize,
    ready: VecDeque<String>,
    is_ready: BTreeSet<String>,
    /// Lanes with work under way, and since when.
    under_way: BTreeMap<String, u64>,
    /// Lanes whose last work was slow.
    slow: BTreeSet<String>,
}

impl Turns {
    /// Nothing is under way. At most `most` lanes will have work under way, at least one.
    pub fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            ready: VecDeque::new(),
            is_ready: BTreeSet::new(),
            under_way: BTreeMap::new(),
            slow: BTreeSet::new(),
        }
    }

    /// A lane has work. It has one turn for it, however often this is said before that.
    pub fn wants(&mut self, lane: &str) {
        if !self.is_ready.contains(lane) && !self.under_way.contains_key(lane) {
            self.is_ready.insert(lane.into());
            self.ready.push_back(lane.into());
        }
    }

    /// The lane whose turn it is at this time, in milliseconds. Its work is under way until [`Turns::done`]. Lanes that are slow have half of the
    /// turns at most, as far as that was known when they began.
    pub fn next(&mut self, now: u64) -> Option<String> {
        if self.under_way.len() >= self.most {
            return None;
        }
        let is_slow = |(lane, since): &(&String, &u64)| {
            self.slow.contains(*lane) || now.saturating_sub(**since) >= SLOW
        };
        let slow = self.under_way.iter().filter(is_slow).count();
        let may_be_slow = slow < (self.most / 2).max(1);
        let at = self.ready.iter().position(|lane| may_be_slow || !self.slow.contains(lane))?;
        let lane = self.ready.remove(at)?;
        self.is_ready.remove(&lane);
        self.under_way.insert(lane.clone(), now);
        Some(lane)
    }

    /// The work of a lane has ended; it has more if `wants_more`.
    pub fn done(&mut self, lane: &str, now: u64, wants_more: bool) {
        let Some(since) = self.under_way.remove(lane) else { return };
        if now.saturating_sub(since) < SLOW || !wants_more {
            self.slow.remove(lane);
        } else {
            self.slow.insert(lane.into());
        }
        if wants_more {
            self.wants(lane);
        }
    }

    /// Lanes that have work under way.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_has_one_turn_at_a_time_and_lanes_take_turns() {
        let mut turns = Turns::new(2);
        for lane in ["a", "b", "a", "c"] {
            turns.wants(lane);
        }
        assert_eq!(
            (turns.next(0).as_deref(), turns.next(0).as_deref(), turns.next(0)),
            (Some("a"), Some("b"), None)
        );
        turns.wants("a");
        turns.done("a", 1, true);
        assert_eq!(turns.next(1).as_deref(), Some("c"));
        turns.done("b", 1, false);
        assert_eq!(turns.next(1).as_deref(), Some("a"));
        turns.done("x", 1, true);
        turns.done("a", 1, false);
        turns.done("c", 1, false);
        assert_eq!((turns.next(1), turns.under_way()), (None, 0));
    }

    #[test]
    fn slow_lanes_leave_half_of_the_turns_to_others() {
        let mut turns = Turns::new(4);
        for lane in ["a", "b", "c", "d"] {
            turns.wants(lane);
            assert_eq!(turns.next(0).as_deref(), Some(lane));
        }
        for lane in ["a", "b", "c", "d"] {
            turns.done(lane, SLOW, true);
        }
        turns.wants("fast");
        let begun: [Option<String>; 4] = core::array::from_fn(|_| turns.next(SLOW));
        assert_eq!(begun.map(|lane| lane.unwrap_or_default()), ["a", "b", "fast", ""]);
        // One that is under way for long is slow, too, and one that was fast is slow no more.
        turns.done("a", SLOW + 1, true);
        assert_eq!(turns.next(SLOW + 1).as_deref(), Some("c"));
        turns.done("b", 3 * SLOW, false);
        turns.wants("a");
        assert_eq!(turns.next(3 * SLOW).as_deref(), Some("a"), "those under way are slow, and may be so");
    }
}
