//! What the process cost its host.
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde_json::{Value, json};

/// What was used up to some moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    at: Instant,
    user: Duration,
    system: Duration,
    waits: u64,
}

impl Usage {
    /// Up to now.
    pub(super) fn now() -> Self {
        let time = |value: nix::sys::time::TimeVal| {
            Duration::from_micros(u64::try_from(value.num_microseconds()).unwrap_or(0))
        };
        let at = Instant::now();
        match getrusage(UsageWho::RUSAGE_SELF) {
            Ok(usage) => Self {
                at,
                user: time(usage.user_time()),
                system: time(usage.system_time()),
                waits: u64::try_from(usage.voluntary_context_switches()).unwrap_or(0),
            },
            Err(_) => Self { at, user: Duration::ZERO, system: Duration::ZERO, waits: 0 },
        }
    }

    /// What was used since then.
    pub(super) fn since(&self, earlier: &Self) -> Used {
        Used {
            wall: self.at.saturating_duration_since(earlier.at),
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            waits: self.waits.saturating_sub(earlier.waits),
        }
    }
}

/// What was used in some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    pub(super) wall: Duration,
    user: Duration,
    system: Duration,
    waits: u64,
}

impl Used {
    /// Processor time of all threads.
    fn cpu(&self) -> Duration {
        self.user + self.system
    }

    /// Percent of one core.
    pub(super) fn percent(&self) -> f64 {
        100.0 * self.cpu().as_secs_f64() / self.wall.as_secs_f64().max(1e-9)
    }

    /// A line for people; `each` is what was done `count` times: with none there is nothing to be said for each.
    pub(super) fn text(&self, count: u64, each: &str) -> String {
        let (user, system) = (self.user.as_secs_f64(), self.system.as_secs_f64());
        let all = format!("cpu {:.0} % of a core (user {user:.2} s, system {system:.2} s)", self.percent());
        if count == 0 {
            return all;
        }
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let (count, waits) = (count as f64, self.waits as f64);
        let micros = self.cpu().as_secs_f64() * 1e6 / count;
        format!("{all}, {micros:.2} us and {:.2} waits for each {each}", waits / count)
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        json!({
            "wall_s": self.wall.as_secs_f64(),
            "user_s": self.user.as_secs_f64(),
            "system_s": self.system.as_secs_f64(),
            "waits": self.waits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_processor_time() {
        let before = Usage::now();
        let mut sum = 0_u64;
        while Usage::now().since(&before).cpu() < Duration::from_millis(20) {
            sum = (0..10_000).fold(sum, u64::wrapping_add);
        }
        let used = Usage::now().since(&before);
        assert!(std::hint::black_box(sum) > 0 && used.percent() > 0.0);
        assert!(used.text(10, "turn").contains("for each turn"));
        assert!(!used.text(0, "turn").contains("for each"));
    }
}
