//! Workers take deliveries, and are done with them.
use filter::Fields;

use super::{Channel, subscription_of};
use crate::batch::{Batch, Multicast, Run};
use crate::peers::{ConsumerId, Worker};
use crate::queue::Order;
use crate::ready::Place;
use crate::subscription::Subscription;

impl<E: Clone + Fields> Channel<E> {
    /// The next deliveries for a worker, and their consumer; `None` if there are none. The worker says [`Channel::done`] when it has handled them.
    #[inline]
    pub fn take(&mut self, now: u64, worker: Worker, batch: &mut Batch<E>) -> Option<ConsumerId> {
        self.take_next(now, worker, &mut Run::new(), batch)
    }

    /// The same for a worker that takes for several consumers before it handles anything. What the takes of a run give is what they would give
    /// if the worker were done with each before the next, and nothing else happened meanwhile. `None` also means that what waits is to be
    /// taken by another run, after this one is done: it would come too early, or may be overtaken by what comes meanwhile, or its consumer is
    /// watched and would seem to be silent.
    pub fn take_next(
        &mut self,
        now: u64,
        worker: Worker,
        run: &mut Run,
        batch: &mut Batch<E>,
    ) -> Option<ConsumerId> {
        self.tick(now);
        let now = self.now;
        batch.clear();
        let index = match worker {
            Worker::Own(consumer) => {
                self.subscription(consumer).filter(|subscription| subscription.place == Place::Own)?;
                consumer.index
            }
            _ => {
                let (line, first) = self.ready.first(worker)?;
                match self.fan_out.key(line) {
                    Some(key) if first.is_none_or(|(other, _)| key < other) => {
                        if run.is_begun && key > run.until {
                            return None;
                        }
                        run.is_begun = true;
                        return self.take_of_fan_out(batch);
                    }
                    _ => first?.1,
                }
            }
        };
        let there = self.consumers.get_mut(index as usize)?;
        let subscription = there.subscription.as_mut()?;
        let consumer = ConsumerId { index, generation: there.generation };
        let key = subscription.entered?;
        let settings = &subscription.settings;
        if run.is_begun {
            if key > run.until || settings.patience.is_some() || settings.queue.order != Order::Fifo {
                return None;
            }
        } else if settings.patience.is_some() {
            run.until = (0, 0);
        }
        run.is_begun = true;
        for _ in 0..settings.gather.most.max(1) {
            if !subscription.queue.take(now, batch) {
                break;
            }
            subscription.counts.taken += 1;
        }
        if let Some(next) = subscription.next_key(now) {
            run.until = run.until.min(next);
        }
        subscription.busy = subscription.busy.saturating_add(1);
        subscription.watch_silence(now);
        self.due = self.due.min(subscription.due(now));
        self.ready.enter(consumer, subscription, now);
        self.tell_of_room();
        Some(consumer)
    }

    /// One event for several consumers, if that is what a worker that serves several would take next: for so many of them at most. These are
    /// what as many takes of a [`Run`] would give. The worker is [`Channel::done`] with each of them. `false` if there is none; what there is is
    /// to be taken one by one then.
    pub fn take_multicast(
        &mut self,
        now: u64,
        worker: Worker,
        most: usize,
        multicast: &mut Multicast<E>,
    ) -> bool {
        self.tick(now);
        multicast.clear();
        let Some((line, first)) = self.ready.first(worker) else { return false };
        let ahead = self.fan_out.ahead(line, first.map(|(key, _)| key), most);
        if ahead.is_empty() {
            return false;
        }
        multicast.consumers.extend_from_slice(ahead);
        for (consumer, _) in ahead {
            let there = self.consumers.get_mut(consumer.index as usize);
            if let Some(subscription) = there.and_then(|there| there.subscription.as_mut()) {
                subscription.was_taken();
            }
        }
        self.fan_out.pass(multicast.consumers.len());
        multicast.since = self.fan_out.since;
        multicast.part = self.fan_out.part();
        true
    }

    /// The next delivery of the event that several consumers share.
    fn take_of_fan_out(&mut self, batch: &mut Batch<E>) -> Option<ConsumerId> {
        let (consumer, number) = self.fan_out.next()?;
        self.subscription(consumer)?.was_taken();
        batch.set(self.fan_out.part()?, number, self.fan_out.since);
        Some(consumer)
    }

    /// Whether there is something to take for a worker.
    pub fn has_work(&mut self, worker: Worker) -> bool {
        match worker {
            Worker::Own(consumer) => self
                .subscription(consumer)
                .is_some_and(|there| there.place == Place::Own && there.entered.is_some()),
            _ => self
                .ready
                .first(worker)
                .is_some_and(|(line, first)| first.is_some() || self.fan_out.key(line).is_some()),
        }
    }

    /// A worker has handled what it took for a consumer.
    #[inline]
    pub fn done(&mut self, now: u64, consumer: ConsumerId) {
        self.tick(now);
        if let Some(subscription) = self.subscription(consumer)
            && subscription.has_nothing()
        {
            subscription.busy = subscription.busy.saturating_sub(1);
            return;
        }
        self.free(consumer, |_| {});
    }

    /// A worker gives back what it took for a consumer and has not begun to handle. It waits again where it waited before, above the depth of
    /// the queue if that was filled meanwhile; the batch is empty then.
    pub fn give_back(&mut self, now: u64, consumer: ConsumerId, batch: &mut Batch<E>) {
        self.tick(now);
        self.settle();
        self.free(consumer, |subscription| {
            subscription.counts.taken -= batch.taken.len() as u64;
            subscription.queue.put_back(batch);
        });
        batch.clear();
    }

    /// A worker is done with a consumer.
    #[inline]
    fn free(&mut self, consumer: ConsumerId, act: impl FnOnce(&mut Subscription<E>)) {
        let now = self.now;
        let Some(subscription) = subscription_of(&mut self.consumers, consumer) else { return };
        act(subscription);
        subscription.busy = subscription.busy.saturating_sub(1);
        subscription.watch_silence(now);
        self.due = self.due.min(subscription.due(now));
        self.ready.enter(consumer, subscription, now);
    }
}
