//! Waits until nothing that was published by a gateway, or has come to it, is on its way.
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::thread;
use std::time::{Duration, Instant};

use federation::{Gateway, Passed};

use crate::running::{Federated, lock};

/// How long a thread that waits sleeps between two looks.
const NAP: Duration = Duration::from_micros(50);

/// Threads that hand on what has come. Those that began before an instant are told apart from later ones, so that one who waits for them need not find
/// a moment without any.
#[derive(Default)]
pub(crate) struct Inside {
    /// Those of even and of odd turns.
    counts: [AtomicUsize; 2],
    turn: AtomicUsize,
}

/// A thread that hands something on.
pub(crate) struct HandingOn<'a>(&'a AtomicUsize);

impl Inside {
    fn count(&self, turn: usize) -> &AtomicUsize {
        let [even, odd] = &self.counts;
        if turn.is_multiple_of(2) { even } else { odd }
    }

    /// A thread begins; the gateway is locked meanwhile.
    pub(crate) fn enter(&self, _: &Gateway) -> HandingOn<'_> {
        let count = self.count(self.turn.load(Acquire));
        count.fetch_add(1, AcqRel);
        HandingOn(count)
    }

    /// From now on threads are of another turn; the gateway is locked meanwhile. Gives those before.
    fn next_turn(&self, _: &Gateway) -> &AtomicUsize {
        self.count(self.turn.fetch_add(1, AcqRel))
    }
}

impl Drop for HandingOn<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, AcqRel);
    }
}

impl Federated {
    /// Waits until the next gateways on all ways have what this one has published, or passed on, by now, for so long at most. Says whether they do.
    /// What was given up, and counted, is not waited for; what is held for a suspended connection is.
    pub fn await_acknowledged(&self, limit: Duration) -> bool {
        let begun = Instant::now();
        let gateway = || lock(&self.shared().gateway);
        let mut mark = gateway().mark();
        loop {
            let now = gateway();
            match now.has_passed(&mark) {
                Passed::Yes => return true,
                Passed::NotYet => {}
                Passed::Elsewhere => mark = now.mark(),
            }
            drop(now);
            if begun.elapsed() > limit {
                return false;
            }
            thread::sleep(NAP);
        }
    }

    /// Waits until all that has come to this gateway by now was handed to those who subscribed to it, for so long at most. Says whether it was. One who is
    /// called with an event cannot wait for that.
    pub fn await_handed_on(&self, limit: Duration) -> bool {
        let (begun, shared) = (Instant::now(), self.shared());
        let waits = lock(&shared.waits);
        // Two turns: the count of the next one may have threads that were slow before.
        for _ in 0..2 {
            let before = shared.inside.next_turn(&lock(&shared.gateway));
            while before.load(Acquire) > 0 {
                if begun.elapsed() > limit {
                    return false;
                }
                thread::sleep(NAP);
            }
        }
        drop(waits);
        true
    }
}
