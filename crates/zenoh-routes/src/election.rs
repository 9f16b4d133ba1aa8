//! Which of the bridges of a site works: the oldest that has a connection to other sites, one that works already before all others.
use crate::key::BridgeId;

/// How many milliseconds a bridge looks around at its begin before it works: others of its group may be there.
pub const LOOK_AROUND: u64 = 500;
/// For how many milliseconds a bridge may have no connection before it lets another one work: sessions that are lost for a moment come again, and then
/// nothing is lost.
pub const GRACE: u64 = 2_000;

/// What a bridge tells others of its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Which one; the lower, the older.
    pub id: BridgeId,
    /// Routers and bridges that it is connected to.
    pub connections: u32,
    /// It works.
    pub leads: bool,
}

/// Whether a bridge works.
#[derive(Debug)]
pub struct Election {
    id: BridgeId,
    leads: bool,
    begun: Option<u64>,
    /// Since when there has been no connection.
    alone_since: Option<u64>,
    connections: u32,
}

impl Election {
    /// A bridge that stands by.
    pub const fn new(id: BridgeId) -> Self {
        Self { id, leads: false, begun: None, alone_since: None, connections: 0 }
    }

    /// Looks at the others of its group, at this time in milliseconds; true if the bridge works from now on. What it told of itself before is known to
    /// the others or not.
    pub fn look(&mut self, now: u64, connections: u32, others: impl IntoIterator<Item = Standing>) -> bool {
        let begun = *self.begun.get_or_insert(now);
        self.alone_since = if connections > 0 { None } else { self.alone_since.or(Some(now)) };
        // A connection that is gone for a moment is still told.
        let is_over = self.alone_since.is_some_and(|since| now.saturating_sub(since) >= GRACE);
        self.connections = match connections {
            0 if !is_over => self.connections,
            known => known,
        };
        let (mut older, mut better, mut works, mut older_works) = (false, false, false, false);
        for other in others {
            works |= other.leads;
            let is_better = (other.connections > 0) != (self.connections > 0);
            let is_worse = is_better && self.connections > 0;
            better |= is_better && !is_worse;
            older |= !is_better && other.id < self.id;
            older_works |= !is_worse && other.leads && other.id < self.id;
        }
        self.leads = match self.leads {
            // One that is no better off takes nothing over, unless both have begun.
            true => !better && !older_works,
            // Two that work would both write: one waits until the other has ended.
            false => !works && !better && !older && now.saturating_sub(begun) >= LOOK_AROUND,
        };
        self.leads
    }

    /// What others are told.
    pub const fn standing(&self) -> Standing {
        Standing { id: self.id, connections: self.connections, leads: self.leads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: BridgeId = BridgeId([1; 16]);
    const YOUNG: BridgeId = BridgeId([2; 16]);

    /// Two bridges that hear of each other at each look, and how many connections they have at each of the times, in steps of 100 ms. Gives who works.
    fn play(connections: impl Fn(u64) -> [u32; 2]) -> alloc::vec::Vec<[bool; 2]> {
        let mut both = [Election::new(OLD), Election::new(YOUNG)];
        let mut worked = alloc::vec::Vec::new();
        for now in (0..20_000).step_by(100) {
            let told = [both[1].standing(), both[0].standing()];
            for at in 0..2 {
                both[at].look(now, connections(now)[at], [told[at]]);
            }
            worked.push([both[0].leads, both[1].leads]);
        }
        worked
    }

    #[test]
    fn the_oldest_works_and_stays_while_no_other_is_better_off() {
        for connections in [[1, 1], [0, 0], [2, 1], [1, 0]] {
            let worked = play(|_| connections);
            assert_eq!(worked.last(), Some(&[true, false]), "{connections:?}");
            assert!(worked.iter().all(|worked| !worked[1]), "{connections:?}");
        }
        assert_eq!(play(|_| [0, 1]).last(), Some(&[false, true]));
    }

    #[test]
    fn a_bridge_that_is_cut_off_for_long_stands_down_and_does_not_take_back() {
        let for_a_moment = play(|now| [u32::from(!(5_000..6_500).contains(&now)), 1]);
        assert!(for_a_moment.iter().all(|worked| !worked[1]));
        let worked = play(|now| [u32::from(!(5_000..12_000).contains(&now)), 1]);
        let first = worked.iter().position(|worked| worked[1]).unwrap() as u64 * 100;
        assert!((5_000 + GRACE..5_500 + GRACE).contains(&first), "{first}");
        assert!(worked.iter().all(|worked| !(worked[0] && worked[1])));
        assert_eq!(worked.last(), Some(&[false, true]));
    }

    #[test]
    fn of_two_that_work_one_ends() {
        let mut both = [Election::new(OLD), Election::new(YOUNG)];
        for now in [0, LOOK_AROUND] {
            for one in &mut both {
                one.look(now, 1, []);
            }
        }
        assert!(both[0].leads && both[1].leads);
        let told = [both[1].standing(), both[0].standing()];
        assert!(both[0].look(1_000, 1, [told[0]]) && !both[1].look(1_000, 1, [told[1]]));
    }
}
