//! When a port was not what it would be on a network of copper: the machine stood still, and what that left behind had not gone yet.
//!
//! The links make up for a stall in as long again; what waits then is gone when the port has nothing more to send. In a port that is
//! busy most of the time this takes many times the stall.
use std::collections::VecDeque;

/// Times that a port remembers; the oldest is forgotten first.
const MOST: usize = 512;

/// The stalls of the machine as a port has them, in nanoseconds of the monotonic clock.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Aftermath {
    /// When the first stall began that is not over for the port, and when it can be over at the earliest.
    open: Option<(u64, u64)>,
    past: VecDeque<[u64; 2]>,
}

impl Aftermath {
    /// The machine stood still.
    pub(crate) fn stood_still(&mut self, from: u64, to: u64) {
        let least = to.saturating_add(to.saturating_sub(from));
        let (first, earliest) = self.open.unwrap_or((from, least));
        self.open = Some((first.min(from), earliest.max(least)));
    }

    /// The links were late, for too short a time to leave anything behind that matters.
    pub(crate) fn late(&mut self, from: u64, to: u64) {
        if self.open.is_none() {
            self.keep(from, to.saturating_add(to.saturating_sub(from)));
        }
    }

    /// It is `now`, and the port has had nothing to send since then, or has something.
    pub(crate) fn look(&mut self, now: u64, idle_since: Option<u64>) {
        let (Some((from, least)), Some(idle)) = (self.open, idle_since) else { return };
        if now < least {
            return;
        }
        self.open = None;
        self.keep(from, least.max(idle));
    }

    fn keep(&mut self, from: u64, to: u64) {
        if self.past.len() == MOST {
            self.past.pop_front();
        }
        self.past.push_back([from, to]);
    }

    /// All of these times, the last one until now if it is not over.
    pub(crate) fn told(&self, now: u64) -> Vec<[u64; 2]> {
        let open = self.open.map(|(from, least)| [from, now.max(least)]);
        self.past.iter().copied().chain(open).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_over_after_as_long_again_when_the_port_is_idle() {
        let mut port = Aftermath::default();
        port.look(5, Some(0));
        assert_eq!(port.told(9), Vec::<[u64; 2]>::new());
        port.stood_still(100, 130);
        port.look(159, Some(0));
        assert_eq!(port.told(140), [[100, 160]]);
        port.look(170, None);
        assert_eq!(port.told(170), [[100, 170]]);
        // It became idle before anybody looked, and has had nothing to do since.
        port.look(500, Some(210));
        port.look(600, Some(210));
        assert_eq!(port.told(600), [[100, 210]]);
        // It had nothing to send all the time.
        port.stood_still(1_000, 1_100);
        port.look(1_300, Some(210));
        assert_eq!(port.told(1_400), [[100, 210], [1_000, 1_200]]);
    }

    #[test]
    fn stalls_that_follow_each_other_are_one() {
        let mut port = Aftermath::default();
        port.stood_still(100, 200);
        port.look(290, None);
        // Seen later, and begun before.
        port.stood_still(90, 120);
        port.stood_still(280, 290);
        port.look(299, Some(295));
        port.look(300, Some(295));
        assert_eq!(port.told(300), [[90, 300]]);
    }

    #[test]
    fn what_is_late_for_a_moment_is_kept_unless_it_is_within_a_longer_stall() {
        let mut port = Aftermath::default();
        port.late(100, 110);
        port.stood_still(200, 260);
        port.late(270, 280);
        port.look(330, Some(90));
        assert_eq!(port.told(330), [[100, 120], [200, 320]]);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut port = Aftermath::default();
        for stall in 0..600 {
            port.stood_still(stall * 10, stall * 10 + 1);
            port.look(stall * 10 + 5, Some(0));
        }
        let told = port.told(0);
        assert_eq!((told.len(), told[0]), (MOST, [880, 882]));
    }
}
