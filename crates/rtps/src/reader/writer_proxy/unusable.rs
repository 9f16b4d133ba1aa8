//! Changes that never get on: larger than the reader can hold, not readable, or never complete.
use wire::{Instant, SequenceNumber};

use super::super::order::REACH;
use super::super::{Sink, Store, Unusable};
use super::{IDLE, Leap, WriterProxy};

impl WriterProxy {
    /// A change has come, or a part of it, that cannot be taken, now or later: it is told once, and not asked for again.
    pub(in crate::reader) fn refuse(
        &mut self,
        number: SequenceNumber,
        why: Unusable,
        store: &mut Store,
        sink: &mut impl Sink,
    ) {
        if self.is_known(number) {
            store.counters.duplicates += 1;
            return;
        }
        let pending = self.unusable.filter(|(pending, _)| !self.order.knows(*pending));
        let noted = pending.is_some_and(|(pending, _)| pending == number);
        if !noted {
            let counters = &mut store.counters;
            match why {
                Unusable::TooLarge { .. } => counters.too_large += 1,
                Unusable::InlineQos => counters.bad_inline_qos += 1,
            }
        }
        if !self.reliable {
            self.skip_best_effort(number, store, sink);
            sink.refused(self.guid, number, why);
            self.forget_assemblies(store);
        } else if number <= self.last {
            self.pass_over(number, why, store, sink);
        } else if pending.is_none_or(|(pending, _)| number < pending) {
            // The writer has to say that it has written this one at all.
            self.unusable = Some((number, why));
        }
    }

    /// The writer has written every change up to `last`, or has begun to send this one.
    pub(super) fn confirm_unusable(&mut self, last: SequenceNumber, store: &mut Store, sink: &mut impl Sink) {
        if let Some((number, why)) = self.unusable.take_if(|(number, _)| *number <= last)
            && !self.order.knows(number)
        {
            self.pass_over(number, why, store, sink);
        }
    }

    fn pass_over(&mut self, number: SequenceNumber, why: Unusable, store: &mut Store, sink: &mut impl Sink) {
        // What is further ahead comes again.
        if number.distance_from(self.order.next()) >= REACH {
            return;
        }
        self.order.skip(number, number.next());
        if self.order.knows(number) {
            sink.refused(self.guid, number, why);
        }
        let leap = self.leap;
        self.drain(store, sink);
        // That was no GAP of the writer.
        if leap == Leap::None {
            self.leap = Leap::None;
        }
    }

    /// The turn of a best-effort writer's change has come: those before it are lost, and it is not taken again.
    pub(super) fn skip_best_effort(
        &mut self,
        number: SequenceNumber,
        store: &mut Store,
        sink: &mut impl Sink,
    ) {
        // Of those before the first one that came, some may have begun to come.
        let begun = self.assemblies.iter().map(|assembly| assembly.number).min();
        let first = if self.started { Some(self.order.next()) } else { begun };
        if let Some(first) = first.filter(|first| *first < number) {
            self.report_lost(first, number, store, sink);
        }
        self.started = true;
        self.order.delivered(number);
    }

    /// When the first incomplete change of a best-effort writer is given up, unless more of it comes.
    #[inline]
    pub(in crate::reader) fn expires(&self) -> Instant {
        if self.reliable || self.assemblies.is_empty() {
            return Instant::NEVER;
        }
        let first = self.assemblies.iter().min_by_key(|assembly| assembly.number);
        first.map_or(Instant::NEVER, |assembly| assembly.touched.after(IDLE))
    }

    /// Gives up what is due by [`WriterProxy::expires`].
    pub(in crate::reader) fn expire(&mut self, now: Instant, store: &mut Store, sink: &mut impl Sink) {
        while self.expires() <= now
            && let Some(number) = self.assemblies.iter().map(|assembly| assembly.number).min()
        {
            self.skip_best_effort(number, store, sink);
            self.report_lost(number, number.next(), store, sink);
            self.forget_assemblies(store);
        }
    }
}
