//! How fast connections are accepted: a flood of them, or a lack of descriptors, costs a small part of a core.
use wire::{Duration, Instant};

/// Connections of other users that are accepted one after the other.
const BURST: u32 = 16;
/// The pause after that: at most 2,000 are accepted in a second then.
const PAUSE: Duration = Duration::from_millis(8);
/// First pause after an error of the system; doubles up to 64 times as much.
const AFTER_ERROR: Duration = Duration::from_millis(20);

/// Whether connections are accepted now.
#[derive(Debug)]
pub(super) struct Door {
    /// Closed until then.
    opens: Option<Instant>,
    /// Connections of other users since the last pause.
    foreign: u32,
    after_error: Duration,
}

impl Door {
    pub(super) fn new() -> Self {
        Self { opens: None, foreign: 0, after_error: AFTER_ERROR }
    }

    pub(super) fn is_open(&mut self, now: Instant) -> bool {
        if self.opens.is_some_and(|opens| opens <= now) {
            self.opens = None;
        }
        self.opens.is_none()
    }

    /// When it opens, if it is closed.
    pub(super) fn opens(&self) -> Option<Instant> {
        self.opens
    }

    /// A connection was accepted.
    pub(super) fn count(&mut self, now: Instant, is_ours: bool) {
        self.after_error = AFTER_ERROR;
        if is_ours {
            return;
        }
        self.foreign += 1;
        if self.foreign == BURST {
            self.foreign = 0;
            self.opens = Some(now.after(PAUSE));
        }
    }

    /// The system could not accept: the connection waits, and would be ready again at once.
    pub(super) fn close_after_error(&mut self, now: Instant) {
        self.opens = Some(now.after(self.after_error));
        self.after_error = self.after_error.scaled(2, 1).min(AFTER_ERROR.scaled(64, 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_users_are_accepted_at_a_bounded_rate_and_our_own_at_once() {
        let (mut door, begun) = (Door::new(), Instant::START);
        let mut now = begun;
        let mut accepted = 0_u32;
        while now < begun.after(Duration::from_secs(1)) {
            if door.is_open(now) {
                door.count(now, true);
                door.count(now, false);
                accepted += 1;
            }
            now = now.after(Duration::from_micros(10));
        }
        assert!((1_500..=2_016).contains(&accepted), "{accepted} in a second");
    }

    #[test]
    fn pauses_after_errors_grow_until_it_works_again() {
        let (mut door, mut now) = (Door::new(), Instant::START);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            door.close_after_error(now);
            let opens = door.opens().unwrap();
            assert!(!door.is_open(now));
            pauses.push((opens.as_nanos() - now.as_nanos()) / 1_000_000);
            now = opens;
            assert!(door.is_open(now));
        }
        assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1_280, 1_280, 1_280]);
        door.count(now, true);
        door.close_after_error(now);
        assert_eq!(door.opens(), Some(now.after(AFTER_ERROR)));
    }
}
