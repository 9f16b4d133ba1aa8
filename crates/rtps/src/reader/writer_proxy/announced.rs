//! What may be asked for of a writer whose repairs are conducted: only what was announced so long ago that its frames have come or are lost.
use alloc::boxed::Box;
use alloc::collections::VecDeque;

use wire::{Instant, SequenceNumber};

use super::WriterProxy;
use crate::conduct::Conduct;
use crate::pace::Pace;

/// Announcements that are remembered; later ones join the last.
const MOST: usize = 16;

/// See the module.
#[derive(Debug)]
pub(in crate::reader) struct Announced {
    conduct: Conduct,
    /// Holds the answers apart.
    apart: Pace,
    /// Last numbers of HEARTBEATs, and when they may be asked for.
    waiting: VecDeque<(SequenceNumber, Instant)>,
    /// Everything up to this number may be asked for.
    ripe: SequenceNumber,
}

impl Announced {
    pub(in crate::reader) const fn conduct(&self) -> &Conduct {
        &self.conduct
    }
}

impl WriterProxy {
    pub(in crate::reader) fn set_conduct(&mut self, conduct: Option<Conduct>) {
        let ripe = self.last;
        self.announced = conduct.map(|conduct| {
            let apart = Pace::new(conduct.spacing);
            Box::new(Announced { conduct, apart, waiting: VecDeque::new(), ripe })
        });
    }

    /// The last number that may be asked for.
    pub(in crate::reader) fn asks_until(&self) -> SequenceNumber {
        self.announced.as_ref().map_or(self.last, |announced| announced.ripe.min(self.last))
    }

    /// A HEARTBEAT says that everything up to `last` was sent.
    pub(super) fn announce(&mut self, now: Instant, last: SequenceNumber) {
        let next = self.next();
        let Some(announced) = &mut self.announced else { return };
        let known = announced.waiting.back().map_or(announced.ripe, |(number, _)| *number);
        if last < next || last <= known {
            return;
        }
        if announced.waiting.len() >= MOST {
            announced.waiting.pop_back();
        }
        announced.waiting.push_back((last, now.after(announced.conduct.patience)));
    }

    /// It is `now`, after everything that was handed out has left: what has waited long enough is asked for if it has not come.
    pub(in crate::reader) fn ripen(&mut self, now: Instant, may_ask_at: Instant) {
        let Some(announced) = &mut self.announced else { return };
        announced.apart.returned(now);
        let mut is_more = false;
        while let Some((number, _)) = announced.waiting.pop_front_if(|(_, at)| *at <= now) {
            announced.ripe = announced.ripe.max(number);
            is_more = true;
        }
        if is_more && !self.blocked && self.is_missing_any() {
            self.answer_at = self.answer_at.min(may_ask_at.max(now));
        }
    }

    /// An answer is handed out.
    pub(in crate::reader) fn hand_out(&mut self, now: Instant) {
        if let Some(announced) = &mut self.announced {
            announced.apart.hand_out(now);
        }
    }

    /// When something is to be done.
    pub(in crate::reader) fn due(&self) -> Instant {
        let Some(announced) = &self.announced else { return self.answer_at };
        let ripens_at = announced.waiting.front().map_or(Instant::NEVER, |(_, at)| *at);
        let answers_at = match self.answer_at {
            Instant::NEVER => Instant::NEVER,
            at => at.max(announced.apart.opens_at()),
        };
        answers_at.min(ripens_at)
    }
}
