//! A consumer inside a channel: the state of its subscription tree, its queue, and its place in the order of service.
use crate::matching::Node;
use crate::peers::{ConsumerId, ConsumerSettings, Counts, Dispatch, Worker};
use crate::queue::Waiting;
use crate::ready::Key;
use crate::tree::Tree;

#[derive(Debug)]
pub(crate) struct Subscription<E> {
    pub(crate) tree: Tree,
    pub(crate) node: Node<E>,
    /// When the first of its timers is due.
    pub(crate) timer_at: Option<u64>,
    pub(crate) settings: ConsumerSettings,
    pub(crate) queue: Waiting<E>,
    pub(crate) is_suspended: bool,
    /// How many times its deliveries were taken without being done.
    pub(crate) busy: u32,
    /// As a worker can serve it.
    pub(crate) entered: Option<(Worker, Key)>,
    pub(crate) silent_at: Option<u64>,
    pub(crate) counts: Counts,
}

impl<E> Subscription<E> {
    /// When its batch has waited enough; `None` if that changes nothing.
    pub(crate) fn gathered_at(&self, now: u64) -> Option<u64> {
        let gather = self.settings.gather;
        if gather.wait == 0 || self.queue.len() >= usize::from(gather.most) {
            return None;
        }
        self.queue.oldest().map(|since| since.saturating_add(gather.wait)).filter(|at| *at > now)
    }

    /// By which worker it can be served now, and with which key.
    pub(crate) fn turn(&self, consumer: ConsumerId, now: u64) -> Option<(Worker, Key)> {
        let is_free = self.busy == 0 || self.settings.is_parallel;
        if self.is_suspended || !is_free || self.gathered_at(now).is_some() {
            return None;
        }
        let front = self.queue.front()?;
        Some(match self.settings.dispatch {
            Dispatch::Publisher => (Worker::Publisher, (0, front.number)),
            Dispatch::Pool => (Worker::Pool, (0, front.number)),
            Dispatch::Lane(lane) => (Worker::Lane(lane), (0, front.number)),
            Dispatch::Own => (Worker::Own(consumer), (0, front.number)),
            Dispatch::Deadline => (Worker::Deadline, (front.deadline, front.number)),
        })
    }

    pub(crate) fn watch_silence(&mut self, now: u64) {
        let patience = self.settings.patience.filter(|_| self.busy > 0);
        self.silent_at = patience.map(|patience| now.saturating_add(patience));
    }
}
