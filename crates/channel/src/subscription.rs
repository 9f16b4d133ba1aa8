//! A consumer inside a channel: the state of its subscription tree, its queue, and its place in the order of service.
use crate::matching::Node;
use crate::peers::{ConsumerSettings, Counts, Dispatch};
use crate::queue::{Entry, Full, Order, Waiting, Window};
use crate::ready::{Key, Place};
use crate::tree::Tree;
use crate::verdicts::Test;

#[derive(Debug)]
pub(crate) struct Subscription<E> {
    pub(crate) tree: Tree,
    pub(crate) node: Node<E>,
    pub(crate) test: Test,
    /// Whether time may change anything of it: with neither joins and timers nor a patience nor batches that wait nor times of events, it does not.
    pub(crate) is_timed: bool,
    /// Whether it can share an event with others while it is free: an event leads to one delivery or none, which is taken in its order.
    pub(crate) is_plain: bool,
    /// When the first of its timers is due.
    pub(crate) timer_at: Option<u64>,
    pub(crate) settings: ConsumerSettings,
    pub(crate) queue: Waiting<E>,
    pub(crate) is_suspended: bool,
    /// How many times its deliveries were taken without being done.
    pub(crate) busy: u32,
    /// Where it waits for its worker.
    pub(crate) place: Place,
    /// As a worker can serve it.
    pub(crate) entered: Option<Key>,
    /// That its own worker has work was said, and is not polled yet.
    pub(crate) is_said: bool,
    pub(crate) silent_at: Option<u64>,
    pub(crate) counts: Counts,
}

impl<E> Subscription<E> {
    /// When its batch has waited enough; `None` if that changes nothing.
    fn gathered_at(&self, now: u64) -> Option<u64> {
        let gather = self.settings.gather;
        if gather.wait == 0 || self.queue.ready(now) >= usize::from(gather.most) {
            return None;
        }
        self.queue.oldest(now).map(|since| since.saturating_add(gather.wait)).filter(|at| *at > now)
    }

    /// When time changes something of it.
    #[inline]
    pub(crate) fn due(&self, now: u64) -> u64 {
        if !self.is_timed {
            return u64::MAX;
        }
        let at = |time: Option<u64>| time.unwrap_or(u64::MAX);
        let gathered_at = if self.is_suspended { None } else { self.gathered_at(now) };
        self.timers_due().min(at(self.silent_at)).min(at(gathered_at)).min(self.queue.changes_at(now))
    }

    /// When its timers are to act by themselves. While it is suspended they act only before what depends on them.
    #[inline]
    pub(crate) fn timers_due(&self) -> u64 {
        self.timer_at.filter(|_| !self.is_suspended).unwrap_or(u64::MAX)
    }

    /// The key by which it can be served now.
    #[inline]
    pub(crate) fn turn(&self, now: u64) -> Option<Key> {
        let is_free = self.busy == 0 || self.settings.is_parallel;
        if self.is_suspended || !is_free || (self.is_timed && self.gathered_at(now).is_some()) {
            return None;
        }
        self.next_key(now)
    }

    /// The key of its next delivery.
    #[inline]
    pub(crate) fn next_key(&self, now: u64) -> Option<Key> {
        let front: &Entry<E> = self.queue.first(now)?;
        let rank = if self.settings.dispatch == Dispatch::Deadline { front.deadline() } else { 0 };
        Some((rank, front.number))
    }

    /// Whether a delivery, of whose events the first was made then, comes too late. It is counted.
    #[cold]
    pub(crate) fn is_late(&mut self, created: Option<u64>, now: u64) -> bool {
        let stop = self.settings.window.stop.zip(created).map(|(stop, created)| created.saturating_add(stop));
        let is_late = stop.is_some_and(|stop| stop <= now);
        self.counts.late += u64::from(is_late);
        is_late
    }

    /// Whether its queue may refuse events.
    pub(crate) fn is_strict(&self) -> bool {
        matches!(self.settings.queue.full, Full::Block { .. } | Full::Reject)
    }

    /// Finds out whether time may change anything of it.
    pub(crate) fn look_at_time(&mut self) {
        let settings = &self.settings;
        let is_plain = matches!(self.node, Node::Test(_));
        let is_bounded = settings.window != Window::default();
        self.is_plain = is_plain && settings.queue.order == Order::Fifo && settings.share.is_none();
        self.is_timed = !is_plain || settings.patience.is_some() || settings.gather.wait > 0 || is_bounded;
        self.is_plain &= !self.is_timed;
    }

    /// Whether it can share an event now: nothing waits for it, and a worker may take at once.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        let is_free = self.busy == 0 || self.settings.is_parallel;
        self.is_plain && is_free && !self.is_suspended && self.queue.is_empty()
    }

    /// Whether nothing waits for it in its queue, and time does not matter.
    #[inline]
    pub(crate) fn has_nothing(&self) -> bool {
        !self.is_timed && self.queue.is_empty()
    }

    /// A worker has taken an event for it that it shares.
    #[inline]
    pub(crate) fn was_taken(&mut self) {
        self.busy = self.busy.saturating_add(1);
        self.counts.taken += 1;
    }

    #[inline]
    pub(crate) fn watch_silence(&mut self, now: u64) {
        if !self.is_timed {
            return;
        }
        let patience = self.settings.patience.filter(|_| self.busy > 0);
        self.silent_at = patience.map(|patience| now.saturating_add(patience));
    }
}
