//! How often the same is answered: the other side may ask again because of the answer.
use wire::{Duration, Instant};

/// Wait after an answer before the same is answered again; doubles each time.
const FIRST_WAIT: Duration = Duration::from_millis(20);
/// Shorter than the silence after which a reader believes that a writer is content with its last answer.
const LONGEST_WAIT: Duration = Duration::from_millis(640);

/// The spacing of answers to one endpoint. What is news may be answered at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Spacing {
    /// Not before then is the same answered again.
    next: Option<Instant>,
    wait: Duration,
}

impl Spacing {
    /// When an answer may leave.
    pub(crate) fn earliest(&self, now: Instant, is_news: bool) -> Instant {
        self.next.filter(|_| !is_news).map_or(now, |next| next.max(now))
    }

    /// An answer leaves.
    pub(crate) fn answered(&mut self, now: Instant, is_news: bool) {
        // After a silence of the other side it begins anew.
        let repeats = !is_news && self.next.is_some_and(|next| now < next.after(self.wait));
        let doubled = self.wait.saturating_add(self.wait);
        self.wait = if repeats { doubled.clamp(FIRST_WAIT, LONGEST_WAIT) } else { FIRST_WAIT };
        self.next = Some(now.after(self.wait));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_answered_ever_later_until_there_is_news_or_silence() {
        let mut spacing = Spacing::default();
        let mut now = Instant::START.after(Duration::from_secs(5));
        let mut waits = alloc::vec::Vec::new();
        for _ in 0..8 {
            let at = spacing.earliest(now, false);
            waits.push(at.since(now).as_nanos() / 1_000_000);
            now = at;
            spacing.answered(now, false);
        }
        assert_eq!(waits, [0, 20, 40, 80, 160, 320, 640, 640]);
        assert_eq!(spacing.earliest(now, true), now);
        spacing.answered(now, true);
        assert_eq!(spacing.earliest(now, false), now.after(FIRST_WAIT));
        (0..8).for_each(|_| spacing.answered(now, false));
        now = now.after(Duration::from_secs(3));
        spacing.answered(now, false);
        assert_eq!(spacing.earliest(now, false), now.after(FIRST_WAIT));
    }
}
