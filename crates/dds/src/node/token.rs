//! The right to send, which one thread has at a time: a thread that finds it taken leaves its datagrams to the thread that has it.
use crate::lock::try_lock;
use crate::sync::Mutex;
use crate::sync::atomic::AtomicBool;
use crate::sync::atomic::Ordering::{AcqRel, Relaxed};

/// See the module; with what is needed to send.
pub(super) struct Token<T> {
    held: Mutex<T>,
    /// Something was left to the thread that has it.
    left: AtomicBool,
}

impl<T> Token<T> {
    pub(super) fn new(needed: T) -> Self {
        Self { held: Mutex::new(needed), left: AtomicBool::new(false) }
    }

    /// Sends by `send`, which looks for all that there is, and once more as often as others have left something meanwhile: `again` then. `None` if another
    /// thread is at it: it sees what is new.
    pub(super) fn send<R>(&self, mut send: impl FnMut(&mut T, bool) -> R) -> Option<R> {
        let mut sent = None;
        loop {
            let token = try_lock(&self.held).or_else(|| {
                // Who holds it looks at that after letting go. If that look was before this, so was letting go, and is seen here.
                self.left.swap(true, AcqRel);
                try_lock(&self.held)
            });
            let Some(mut held) = token else { return sent };
            // Whatever was left until now is seen from here on.
            if self.left.load(Relaxed) {
                self.left.store(false, Relaxed);
            }
            let again = sent.is_some();
            sent = Some(send(&mut held, again));
            drop(held);
            if !self.was_left() {
                return sent;
            }
        }
    }

    /// Lets `act` have the right to send, unless another thread has it or something was left. The second value says that something is left now: then
    /// [`Token::send`] is to follow, whatever came of this.
    #[inline]
    pub(super) fn try_with<R>(&self, act: impl FnOnce(&mut T) -> Option<R>) -> (Option<R>, bool) {
        let Some(mut held) = try_lock(&self.held) else { return (None, false) };
        // What was left comes first.
        let done = if self.left.load(Relaxed) { None } else { act(&mut held) };
        drop(held);
        (done, self.was_left())
    }

    /// True if something was left before or while the right to send was held, by a thread that may have gone. A swap and not a load: that would
    /// be allowed to come before letting go.
    #[inline]
    fn was_left(&self) -> bool {
        self.left.swap(false, AcqRel)
    }
}
