//! Pairs that were answered here and ask another manager now.
use std::collections::BTreeMap;
use std::time::Duration;

use control::action::Pair;

/// How long such a pair keeps what it has: its participant comes back if the other manager does not answer, and it tries another one as
/// soon as this one has been silent for a moment.
const STAY: Duration = Duration::from_secs(10);

/// See the module above. Times are since any moment, the same one in all calls.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere(BTreeMap<Pair, Duration>);

impl Elsewhere {
    /// The pair asks another manager.
    pub(crate) fn gone(&mut self, now: Duration, pair: Pair) {
        self.0.entry(pair).or_insert_with(|| now.saturating_add(STAY));
    }

    /// It asks here, or no manager any more.
    pub(crate) fn back(&mut self, pair: Pair) {
        self.0.remove(&pair);
    }

    /// The pairs that stay away.
    pub(crate) fn take_lost(&mut self, now: Duration) -> Vec<Pair> {
        let lost: Vec<Pair> =
            self.0.iter().filter(|(_, until)| **until <= now).map(|(pair, _)| *pair).collect();
        lost.iter().for_each(|pair| self.back(*pair));
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Guid;

    #[test]
    fn a_pair_that_comes_back_in_time_is_not_lost() {
        let pair = |octet: u8| (Guid::from_bytes([octet; 16]), Guid::from_bytes([octet + 1; 16]));
        let at = Duration::from_secs;
        let mut elsewhere = Elsewhere::default();
        elsewhere.gone(at(0), pair(1));
        elsewhere.gone(at(5), pair(1));
        elsewhere.gone(at(1), pair(3));
        elsewhere.gone(at(2), pair(5));
        elsewhere.back(pair(3));
        assert_eq!(elsewhere.take_lost(at(9)), []);
        assert_eq!(elsewhere.take_lost(at(10)), [pair(1)], "it was gone for the first time then");
        assert_eq!(elsewhere.take_lost(at(100)), [pair(5)]);
        assert_eq!(elsewhere.take_lost(at(200)), []);
    }
}
