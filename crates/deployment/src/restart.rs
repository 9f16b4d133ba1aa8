//! When a process that ended is started again.
use alloc::collections::VecDeque;

use assembly::{Restart, RestartPolicy};

const SECOND: u64 = 1_000_000_000_000;
/// The longest time before a start.
const LONGEST: u64 = 60 * SECOND;

/// The policy of a process whose plan states none: after a failure, five times within a minute, the first time after 200 ms.
pub const RESTART: Restart = Restart {
    policy: RestartPolicy::OnFailure,
    limit: Some(5),
    within: Some(60 * SECOND),
    delay: Some(SECOND / 5),
};

/// The starts of a process. Times are picoseconds.
#[derive(Clone, Debug, Default)]
pub struct Restarts {
    /// When it was started again, within the time that counts.
    recent: VecDeque<u64>,
}

impl Restarts {
    /// The process ended by itself. Says when it is started again, if it is.
    pub fn next(&mut self, policy: Option<&Restart>, is_failure: bool, now: u64) -> Option<u64> {
        let policy = policy.unwrap_or(&RESTART);
        let may = match policy.policy {
            RestartPolicy::Never => false,
            RestartPolicy::OnFailure => is_failure,
            RestartPolicy::Always => true,
        };
        if !may {
            return None;
        }
        let within = policy.within.unwrap_or(60 * SECOND);
        while self.recent.front().is_some_and(|start| now.saturating_sub(*start) > within) {
            self.recent.pop_front();
        }
        let count = self.recent.len();
        if u32::try_from(count).is_ok_and(|count| policy.limit.is_some_and(|limit| count >= limit)) {
            return None;
        }
        let doubled =
            u32::try_from(count).ok().and_then(|count| 1_u64.checked_shl(count)).unwrap_or(u64::MAX);
        let delay = policy.delay.or(RESTART.delay).unwrap_or_default().saturating_mul(doubled).min(LONGEST);
        let at = now.saturating_add(delay);
        self.recent.push_back(at);
        // Without a limit only the delay is counted, which does not grow any more.
        if self.recent.len() > 1_000 {
            self.recent.pop_front();
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_within_a_time() {
        let policy = Restart {
            policy: RestartPolicy::OnFailure,
            limit: Some(2),
            within: Some(10 * SECOND),
            delay: Some(SECOND),
        };
        let mut restarts = Restarts::default();
        assert_eq!(restarts.next(Some(&policy), false, 0), None);
        assert_eq!(restarts.next(Some(&policy), true, 0), Some(SECOND));
        assert_eq!(restarts.next(Some(&policy), true, SECOND), Some(3 * SECOND));
        assert_eq!(restarts.next(Some(&policy), true, 4 * SECOND), None);
        // The first start is forgotten.
        assert_eq!(restarts.next(Some(&policy), true, 12 * SECOND), Some(14 * SECOND));
    }

    #[test]
    fn policies_differ_in_what_counts() {
        let always = Restart { policy: RestartPolicy::Always, limit: None, within: None, delay: None };
        let never = Restart { policy: RestartPolicy::Never, ..always.clone() };
        let mut restarts = Restarts::default();
        assert_eq!(restarts.next(Some(&never), true, 0), None);
        for _ in 0..2_000 {
            let at = restarts.next(Some(&always), false, 7);
            assert!(at.is_some_and(|at| at <= 7 + LONGEST), "{at:?}");
        }
        let mut restarts = Restarts::default();
        let times: alloc::vec::Vec<_> = (0..6).map(|_| restarts.next(None, true, 0)).collect();
        assert_eq!(times.iter().flatten().count(), 5);
        assert_eq!(times.last(), Some(&None));
    }
}
