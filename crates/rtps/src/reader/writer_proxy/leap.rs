//! What a reader expects next may lie beyond where the writer has got to: a HEARTBEAT that was forged or late has skipped numbers, or the
//! reader goes on where an earlier match had ended, and the writer is not the one that it was.
use wire::message::Heartbeat;
use wire::{Instant, SequenceNumber};

use super::super::Store;
use super::WriterProxy;

/// How a reader came to what it expects next, until a sample there has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::reader) enum Leap {
    /// In turn.
    None,
    /// A HEARTBEAT has skipped numbers; where it stood before.
    Skipped(SequenceNumber),
    /// A GAP has: a change that comes all the same contradicts it, unless it came with it.
    Gap(SequenceNumber),
    /// By an earlier match, and the writer has not said yet that it has got so far.
    Resumed(Doubt),
    /// By changes in turn, and the writer is asked whether it has got so far.
    Verified(Doubt),
}

/// Whether a writer that is found again has said that it has not got to where it had been.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::reader) enum Doubt {
    /// It has not been heard.
    None,
    /// It has; that may be late.
    Raised,
    /// It was asked since.
    Asked,
}

impl WriterProxy {
    /// The lowest number that this reader has neither delivered nor passed over for good.
    pub(in crate::reader) const fn place(&self) -> SequenceNumber {
        match self.leap {
            // That may have been forged; what was given up is not given twice.
            Leap::Skipped(from) | Leap::Gap(from) => from,
            Leap::None | Leap::Resumed(_) | Leap::Verified(_) => self.order.next(),
        }
    }

    /// It acknowledges nothing: what came before this match may be of another writer.
    pub(in crate::reader) const fn is_resumed(&self) -> bool {
        matches!(self.leap, Leap::Resumed(_) | Leap::Verified(_))
    }

    /// A HEARTBEAT is asked for, and compared with where the writer has got to by what came from it.
    pub(in crate::reader) fn verify(&mut self, now: Instant) {
        if self.leap == Leap::None {
            self.leap = Leap::Verified(Doubt::None);
        }
        self.ask(now);
    }

    /// A HEARTBEAT was asked for.
    pub(in crate::reader) const fn asked_in_doubt(&mut self) {
        match self.leap {
            Leap::Resumed(Doubt::Raised) => self.leap = Leap::Resumed(Doubt::Asked),
            Leap::Verified(Doubt::Raised) => self.leap = Leap::Verified(Doubt::Asked),
            _ => {}
        }
    }

    /// True if a HEARTBEAT does not count, since the writer has not got to where it had been before this match. If it says the same when it is
    /// asked, this is another writer under the same name, and its changes are all new. With `is_ours` it is the same: a participant of
    /// Punctual never has the prefix of another one, and its HEARTBEATs end where this reader was served, though it may have got more by
    /// what went to others.
    pub(super) fn is_behind_itself(
        &mut self,
        now: Instant,
        heartbeat: &Heartbeat,
        is_ours: bool,
        store: &mut Store,
    ) -> bool {
        let (doubt, is_resumed) = match self.leap {
            Leap::Resumed(doubt) => (doubt, true),
            Leap::Verified(doubt) => (doubt, false),
            _ => return false,
        };
        let end = heartbeat.last.next();
        if (is_ours && is_resumed) || end >= self.order.next() {
            self.leap = Leap::None;
            return false;
        }
        if doubt == Doubt::Asked {
            self.leap = Leap::None;
            // The same writer repeats nothing: what it has not written came from elsewhere.
            self.restart(if is_resumed { heartbeat.first.min(end) } else { end }, store);
            return false;
        }
        store.counters.implausible += 1;
        self.leap = if is_resumed { Leap::Resumed(Doubt::Raised) } else { Leap::Verified(Doubt::Raised) };
        self.answer_at = now;
        true
    }
}
