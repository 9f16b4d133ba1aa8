//! The channel: publishers push, consumers are served, time passes.
mod changes;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use filter::Fields;

use crate::batch::Batch;
use crate::event::{Header, Part};
use crate::interest::{self, Interest};
use crate::matching::{Node, Offer, Outcome};
use crate::peers::{
    ConsumerId, ConsumerSettings, Counts, PublisherId, PublisherSettings, Refused, Signal, Worker,
};
use crate::queue::{Full, Waiting};
use crate::ready::Ready;
use crate::subscription::Subscription;
use crate::tree::{Limits, Tree, TreeError};

/// An event channel. `E` is what events are: it is cloned for each consumer, so large ones are shared by a handle.
///
/// All times are nanoseconds since any start. Time does not run backwards: an earlier time is taken as the latest that there was.
#[derive(Debug)]
pub struct Channel<E> {
    limits: Limits,
    publishers: Vec<Publisher>,
    consumers: Vec<Consumer<E>>,
    ready: Ready,
    signals: VecDeque<Signal>,
    interest: Vec<Interest>,
    now: u64,
    /// When something is due; it may be too early, not too late.
    due: u64,
    events: u64,
    deliveries: u64,
    /// Parts that a subscription has put out, on their way into a queue.
    out: Vec<Part<E>>,
}

#[derive(Debug)]
struct Publisher {
    generation: u32,
    is_there: bool,
    is_suspended: bool,
    /// It was told to wait for this consumer.
    waits_for: Option<ConsumerId>,
    settings: PublisherSettings,
    /// When it is silent; `None` once that was said, and without patience.
    silent_at: Option<u64>,
}

#[derive(Debug)]
struct Consumer<E> {
    generation: u32,
    /// `None` if it is gone.
    subscription: Option<Subscription<E>>,
}

impl<E: Clone + Fields> Channel<E> {
    /// A channel without publishers and consumers.
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            publishers: Vec::new(),
            consumers: Vec::new(),
            ready: Ready::new(),
            signals: VecDeque::new(),
            interest: Vec::new(),
            now: 0,
            due: u64::MAX,
            events: 0,
            deliveries: 0,
            out: Vec::new(),
        }
    }

    /// A new publisher.
    pub fn add_publisher(&mut self, now: u64, settings: PublisherSettings) -> PublisherId {
        self.tick(now);
        let free = self.publishers.iter().position(|publisher| !publisher.is_there);
        let index = free.unwrap_or(self.publishers.len());
        if free.is_none() {
            self.publishers.push(Publisher {
                generation: 0,
                is_there: false,
                is_suspended: false,
                waits_for: None,
                settings,
                silent_at: None,
            });
        }
        let now = self.now;
        if let Some(publisher) = self.publishers.get_mut(index) {
            publisher.is_there = true;
            publisher.settings = settings;
            publisher.silent_at = settings.patience.map(|patience| now.saturating_add(patience));
            self.due = self.due.min(publisher.silent_at.unwrap_or(u64::MAX));
            return PublisherId { index: index as u32, generation: publisher.generation };
        }
        PublisherId::NONE
    }

    /// Ends a publisher. What it pushed before is delivered.
    pub fn remove_publisher(&mut self, publisher: PublisherId) {
        if let Some(there) = self.publisher(publisher) {
            *there = Publisher {
                generation: there.generation.wrapping_add(1),
                is_there: false,
                is_suspended: false,
                waits_for: None,
                silent_at: None,
                settings: there.settings,
            };
            self.signals.retain(|signal| {
                *signal != Signal::Room(publisher) && *signal != Signal::SilentPublisher(publisher)
            });
        }
    }

    /// A new consumer, which gets what comes from now on.
    ///
    /// # Errors
    /// The tree is not valid.
    pub fn subscribe(
        &mut self,
        now: u64,
        tree: &Tree,
        settings: ConsumerSettings,
    ) -> Result<ConsumerId, TreeError> {
        tree.check(&self.limits)?;
        self.tick(now);
        let node = Node::new(tree, self.now, &mut 0);
        let subscription = Subscription {
            tree: tree.clone(),
            timer_at: node.due(),
            node,
            settings,
            queue: Waiting::new(settings.queue),
            is_suspended: false,
            busy: 0,
            entered: None,
            silent_at: None,
            counts: Counts::default(),
        };
        self.due = self.due.min(subscription.timer_at.unwrap_or(u64::MAX));
        let free = self.consumers.iter().position(|consumer| consumer.subscription.is_none());
        let index = free.unwrap_or(self.consumers.len());
        if free.is_none() {
            self.consumers.push(Consumer { generation: 0, subscription: None });
        }
        let mut generation = 0;
        if let Some(consumer) = self.consumers.get_mut(index) {
            consumer.subscription = Some(subscription);
            generation = consumer.generation;
        }
        self.compare_interest();
        Ok(ConsumerId { index: index as u32, generation })
    }

    /// Ends a consumer, and what waits for it.
    pub fn unsubscribe(&mut self, consumer: ConsumerId) {
        let Some(subscription) = self.subscription(consumer) else { return };
        if let Some((worker, key)) = subscription.entered.take() {
            self.ready.remove(worker, key, consumer.index);
        }
        if let Some(there) = self.consumers.get_mut(consumer.index as usize) {
            there.subscription = None;
            there.generation = there.generation.wrapping_add(1);
        }
        self.ready.forget(Worker::Own(consumer));
        self.signals.retain(|signal| {
            *signal != Signal::SilentConsumer(consumer) && *signal != Signal::Work(Worker::Own(consumer))
        });
        self.tell_of_room(consumer);
        self.compare_interest();
    }

    /// An event, for all consumers that want it. Returns its number; numbers grow by one.
    ///
    /// # Errors
    /// Why it was refused; then no consumer has got it, and no subscription has seen it.
    pub fn push(
        &mut self,
        now: u64,
        publisher: PublisherId,
        header: &Header,
        body: &E,
    ) -> Result<u64, Refused> {
        self.tick(now);
        let now = self.now;
        let there = self.publisher(publisher).ok_or(Refused::Unknown)?;
        if there.is_suspended {
            return Err(Refused::Suspended);
        }
        there.silent_at = there.settings.patience.map(|patience| now.saturating_add(patience));
        let silent_at = there.silent_at.unwrap_or(u64::MAX);
        there.waits_for = None;
        self.due = self.due.min(silent_at);
        if let Some(refused) = self.who_refuses(header, body) {
            if let (Refused::Wait { consumer, .. }, Some(there)) = (refused, self.publisher(publisher)) {
                there.waits_for = Some(consumer);
            }
            return Err(refused);
        }
        let number = self.events;
        self.events += 1;
        for index in 0..self.consumers.len() {
            self.offer(index as u32, &Offer { now, number, header, body }, false);
        }
        Ok(number)
    }

    /// Several events, one after the other.
    ///
    /// # Errors
    /// How many were accepted before one was refused, and why it was.
    pub fn push_all(
        &mut self,
        now: u64,
        publisher: PublisherId,
        events: &[(Header, E)],
    ) -> Result<(), (usize, Refused)> {
        for (accepted, (header, body)) in events.iter().enumerate() {
            self.push(now, publisher, header, body).map_err(|refused| (accepted, refused))?;
        }
        Ok(())
    }

    /// The next deliveries for a worker, and their consumer; `None` if there are none. The worker says [`Channel::done`] when it has handled them.
    pub fn take(&mut self, now: u64, worker: Worker, batch: &mut Batch<E>) -> Option<ConsumerId> {
        self.tick(now);
        let now = self.now;
        batch.clear();
        let index = self.ready.first(worker)?;
        let there = self.consumers.get_mut(index as usize)?;
        let subscription = there.subscription.as_mut()?;
        let consumer = ConsumerId { index, generation: there.generation };
        for _ in 0..subscription.settings.gather.most.max(1) {
            if !subscription.queue.take(&mut batch.parts) {
                break;
            }
            batch.ends.push(batch.parts.len());
            subscription.counts.taken += 1;
        }
        subscription.busy = subscription.busy.saturating_add(1);
        subscription.watch_silence(now);
        self.due = self.due.min(self.consumer_due(index));
        self.enter(index);
        self.tell_of_room(consumer);
        Some(consumer)
    }

    /// Whether there is something to take for a worker.
    pub fn has_work(&mut self, worker: Worker) -> bool {
        self.ready.first(worker).is_some()
    }

    /// A worker has handled what it took for a consumer.
    pub fn done(&mut self, now: u64, consumer: ConsumerId) {
        self.tick(now);
        let now = self.now;
        let Some(subscription) = self.subscription(consumer) else { return };
        subscription.busy = subscription.busy.saturating_sub(1);
        subscription.watch_silence(now);
        self.due = self.due.min(self.consumer_due(consumer.index));
        self.enter(consumer.index);
    }

    /// Lets time pass: timers fire, silent peers are found, batches that have waited enough are ready. Every other call does so, too.
    pub fn tick(&mut self, now: u64) {
        // The last moment never comes: what is due then is never due.
        self.now = self.now.max(now).min(u64::MAX - 1);
        let now = self.now;
        if now < self.due {
            return;
        }
        let mut due = u64::MAX;
        for index in 0..self.publishers.len() {
            let Some(publisher) = self.publishers.get_mut(index) else { continue };
            if publisher.silent_at.is_some_and(|at| at <= now) {
                publisher.silent_at = None;
                let id = PublisherId { index: index as u32, generation: publisher.generation };
                self.say(Signal::SilentPublisher(id));
            } else {
                due = due.min(publisher.silent_at.unwrap_or(u64::MAX));
            }
        }
        for index in 0..self.consumers.len() {
            self.tick_consumer(index as u32, now);
            due = due.min(self.consumer_due(index as u32));
        }
        self.due = due;
    }

    /// When [`Channel::tick`] is to be called at the latest, unless another call comes before; `None` if time changes nothing. It may be
    /// too early.
    pub fn next_tick(&self) -> Option<u64> {
        (self.due < u64::MAX).then_some(self.due)
    }

    /// The next signal, if there is one.
    pub fn poll_signal(&mut self) -> Option<Signal> {
        self.signals.pop_front()
    }

    /// The interest of all subscriptions, sorted: an event that fits none of these leads to no delivery.
    pub fn interest(&self) -> &[Interest] {
        &self.interest
    }

    /// The counts of a consumer's deliveries; `None` if there is no such consumer.
    pub fn counts(&self, consumer: ConsumerId) -> Option<Counts> {
        let there = self.consumers.get(consumer.index as usize)?;
        let subscription = there.subscription.as_ref().filter(|_| there.generation == consumer.generation)?;
        Some(subscription.counts)
    }

    /// How many deliveries wait for a consumer; `None` if there is no such consumer.
    pub fn waiting(&self, consumer: ConsumerId) -> Option<usize> {
        let there = self.consumers.get(consumer.index as usize)?;
        let subscription = there.subscription.as_ref().filter(|_| there.generation == consumer.generation)?;
        Some(subscription.queue.len())
    }

    fn publisher(&mut self, id: PublisherId) -> Option<&mut Publisher> {
        let publisher = self.publishers.get_mut(id.index as usize)?;
        (publisher.is_there && publisher.generation == id.generation).then_some(publisher)
    }

    fn subscription(&mut self, id: ConsumerId) -> Option<&mut Subscription<E>> {
        let consumer = self.consumers.get_mut(id.index as usize)?;
        if consumer.generation == id.generation { consumer.subscription.as_mut() } else { None }
    }

    /// The first consumer whose full queue stands against an event.
    fn who_refuses(&self, header: &Header, body: &E) -> Option<Refused> {
        self.consumers.iter().enumerate().find_map(|(index, there)| {
            let subscription = there.subscription.as_ref()?;
            let full = subscription.settings.queue.full;
            let is_strict = matches!(full, Full::Block { .. } | Full::Reject);
            if !is_strict || !subscription.queue.is_full() || !subscription.node.may_take(header, body) {
                return None;
            }
            let consumer = ConsumerId { index: index as u32, generation: there.generation };
            Some(match full {
                Full::Block { limit } => Refused::Wait { consumer, until: self.now.saturating_add(limit) },
                _ => Refused::Full(consumer),
            })
        })
    }

    /// Shows an event to a subscription, and queues what it gives; with `is_owed`, also above the depth of a queue that drops nothing.
    fn offer(&mut self, index: u32, offer: &Offer<'_, E>, is_owed: bool) {
        let Some(there) = self.consumers.get_mut(index as usize) else { return };
        let Some(subscription) = &mut there.subscription else { return };
        let outcome = subscription.node.offer(offer, &mut self.out);
        if outcome != Outcome::Refused {
            self.watch_timers(index);
        }
        if outcome == Outcome::Delivered {
            self.queue(index, is_owed);
        }
    }

    /// Puts what a subscription has given into its queue.
    fn queue(&mut self, index: u32, is_owed: bool) {
        let number = self.deliveries;
        self.deliveries += 1;
        let Some(there) = self.consumers.get_mut(index as usize) else { return };
        let Some(subscription) = &mut there.subscription else { return };
        let gave_way = subscription.queue.add(number, self.now, &mut self.out, is_owed);
        subscription.counts.queued += 1;
        subscription.counts.dropped += u64::from(gave_way);
        self.due = self.due.min(self.consumer_due(index));
        self.enter(index);
    }

    fn tick_consumer(&mut self, index: u32, now: u64) {
        loop {
            let Some(there) = self.consumers.get_mut(index as usize) else { return };
            let Some(subscription) = &mut there.subscription else { return };
            let Some(at) = subscription.timer_at.filter(|at| *at <= now) else { break };
            let expired = &mut subscription.counts.expired;
            let outcome = subscription.node.fire(at, now, &mut self.out, expired);
            subscription.timer_at = subscription.node.due();
            if outcome == Outcome::Delivered {
                self.queue(index, false);
            }
        }
        let Some(there) = self.consumers.get_mut(index as usize) else { return };
        let Some(subscription) = &mut there.subscription else { return };
        if subscription.silent_at.is_some_and(|at| at <= now) {
            subscription.silent_at = None;
            let consumer = ConsumerId { index, generation: there.generation };
            self.say(Signal::SilentConsumer(consumer));
        }
        self.enter(index);
    }

    /// When time changes something of a consumer.
    fn consumer_due(&self, index: u32) -> u64 {
        let subscription = self.consumers.get(index as usize).and_then(|there| there.subscription.as_ref());
        let Some(subscription) = subscription else { return u64::MAX };
        let times = [subscription.timer_at, subscription.silent_at, subscription.gathered_at(self.now)];
        times.into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    fn watch_timers(&mut self, index: u32) {
        let Some(there) = self.consumers.get_mut(index as usize) else { return };
        let Some(subscription) = &mut there.subscription else { return };
        subscription.timer_at = subscription.node.due();
        self.due = self.due.min(subscription.timer_at.unwrap_or(u64::MAX));
    }

    /// Enters a consumer where its worker finds it, or takes it out.
    fn enter(&mut self, index: u32) {
        let now = self.now;
        let Some(there) = self.consumers.get_mut(index as usize) else { return };
        let Some(subscription) = &mut there.subscription else { return };
        let consumer = ConsumerId { index, generation: there.generation };
        let wanted = subscription.turn(consumer, now);
        if wanted == subscription.entered {
            return;
        }
        let before = core::mem::replace(&mut subscription.entered, wanted);
        if let Some((worker, key)) = before {
            self.ready.remove(worker, key, index);
        }
        if let Some((worker, key)) = wanted {
            self.ready.insert(worker, key, index);
            self.say(Signal::Work(worker));
        }
    }

    /// Tells publishers that wait for a consumer that is gone, or has room. They try again, and may have to wait for another one.
    fn tell_of_room(&mut self, consumer: ConsumerId) {
        let waits = |publisher: &Publisher| publisher.waits_for == Some(consumer);
        if !self.publishers.iter().any(waits) {
            return;
        }
        let is_in_the_way = self.subscription(consumer).is_some_and(|subscription| {
            subscription.queue.is_full() && matches!(subscription.settings.queue.full, Full::Block { .. })
        });
        if is_in_the_way {
            return;
        }
        for index in 0..self.publishers.len() {
            let Some(publisher) = self.publishers.get_mut(index).filter(|publisher| waits(publisher)) else {
                continue;
            };
            publisher.waits_for = None;
            let id = PublisherId { index: index as u32, generation: publisher.generation };
            self.say(Signal::Room(id));
        }
    }

    fn say(&mut self, signal: Signal) {
        if !self.signals.contains(&signal) {
            self.signals.push_back(signal);
        }
    }

    fn compare_interest(&mut self) {
        let mut all = Vec::new();
        for subscription in self.consumers.iter().filter_map(|there| there.subscription.as_ref()) {
            interest::add(&subscription.tree, &mut all);
        }
        let all = interest::reduce(all);
        if all != self.interest {
            self.interest = all;
            self.say(Signal::Interest);
        }
    }
}
