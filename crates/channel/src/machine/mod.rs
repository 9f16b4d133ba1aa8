//! The channel: publishers push, consumers are served, time passes.
mod changes;
mod room;

use alloc::vec::Vec;

use filter::Fields;

use crate::batch::{Batch, Run};
use crate::event::{Header, Part};
use crate::index::Index;
use crate::interest::{self, Interest};
use crate::matching::{Node, Offer, Outcome};
use crate::peers::{
    ConsumerId, ConsumerSettings, Counts, PublisherId, PublisherSettings, Refused, Signal, Worker,
};
use crate::queue::{Order, Parts, Waiting};
use crate::ready::{Place, Ready};
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
    index: Index,
    /// The consumers that an event may concern, while it is pushed.
    found: Vec<u32>,
    /// How many consumers have queues that may refuse events.
    strict: usize,
    /// How many publishers wait for room.
    waiters: usize,
    /// How many consumers have room in common with others.
    shares: usize,
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
            index: Index::new(),
            found: Vec::new(),
            strict: 0,
            waiters: 0,
            shares: 0,
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
        self.wait_for(publisher, None);
        if let Some(there) = self.publisher(publisher) {
            *there = Publisher {
                generation: there.generation.wrapping_add(1),
                is_there: false,
                is_suspended: false,
                waits_for: None,
                silent_at: None,
                settings: there.settings,
            };
            self.ready.retract(|signal| {
                signal == Signal::Room(publisher) || signal == Signal::SilentPublisher(publisher)
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
        let mut subscription = Subscription {
            tree: tree.clone(),
            is_timed: true,
            timer_at: node.due(),
            node,
            settings,
            queue: Waiting::new(settings.queue, settings.window),
            is_suspended: false,
            busy: 0,
            place: self.ready.place(settings.dispatch),
            entered: None,
            is_said: false,
            silent_at: None,
            counts: Counts::default(),
        };
        subscription.look_at_time();
        self.due = self.due.min(subscription.timer_at.unwrap_or(u64::MAX));
        let free = self.consumers.iter().position(|consumer| consumer.subscription.is_none());
        let index = free.unwrap_or(self.consumers.len());
        if free.is_none() {
            self.consumers.push(Consumer { generation: 0, subscription: None });
        }
        let mut generation = 0;
        if let Some(consumer) = self.consumers.get_mut(index) {
            self.strict += usize::from(subscription.is_strict());
            self.shares += usize::from(settings.share.is_some());
            consumer.subscription = Some(subscription);
            generation = consumer.generation;
        }
        self.index_tree(index as u32, tree);
        self.compare_interest();
        Ok(ConsumerId { index: index as u32, generation })
    }

    /// Ends a consumer, and what waits for it.
    pub fn unsubscribe(&mut self, consumer: ConsumerId) {
        let Some(there) = self.consumers.get_mut(consumer.index as usize) else { return };
        if there.generation != consumer.generation {
            return;
        }
        let Some(mut subscription) = there.subscription.take() else { return };
        there.generation = there.generation.wrapping_add(1);
        self.strict -= usize::from(subscription.is_strict());
        self.shares -= usize::from(subscription.settings.share.is_some());
        self.ready.leave(consumer, &mut subscription);
        self.index.leave(consumer.index);
        self.ready.retract(|signal| {
            signal == Signal::SilentConsumer(consumer) || signal == Signal::Work(Worker::Own(consumer))
        });
        self.tell_of_room();
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
        self.due = self.due.min(silent_at);
        if self.waiters > 0 {
            self.wait_for(publisher, None);
        }
        self.index.find(header, &mut self.found);
        if self.strict > 0
            && let Some(refused) = self.who_refuses(header, body)
        {
            if let Refused::Wait { consumer, .. } = refused {
                self.wait_for(publisher, Some(consumer));
            }
            return Err(refused);
        }
        let number = self.events;
        self.events += 1;
        let found = core::mem::take(&mut self.found);
        for index in &found {
            self.offer(*index, &Offer { now, number, header, body }, false);
        }
        self.found = found;
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
            _ => self.ready.first(worker)?,
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

    /// Whether there is something to take for a worker.
    pub fn has_work(&mut self, worker: Worker) -> bool {
        match worker {
            Worker::Own(consumer) => self
                .subscription(consumer)
                .is_some_and(|there| there.place == Place::Own && there.entered.is_some()),
            _ => self.ready.first(worker).is_some(),
        }
    }

    /// A worker has handled what it took for a consumer.
    #[inline]
    pub fn done(&mut self, now: u64, consumer: ConsumerId) {
        self.tick(now);
        self.free(consumer, |_| {});
    }

    /// A worker gives back what it took for a consumer and has not begun to handle. It waits again where it waited before, above the depth of
    /// the queue if that was filled meanwhile; the batch is empty then.
    pub fn give_back(&mut self, now: u64, consumer: ConsumerId, batch: &mut Batch<E>) {
        self.tick(now);
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
        let Some(there) = self.consumers.get_mut(consumer.index as usize) else { return };
        if there.generation != consumer.generation {
            return;
        }
        let Some(subscription) = &mut there.subscription else { return };
        act(subscription);
        subscription.busy = subscription.busy.saturating_sub(1);
        subscription.watch_silence(now);
        self.due = self.due.min(subscription.due(now));
        self.ready.enter(consumer, subscription, now);
    }

    /// Lets time pass: timers fire, silent peers are found, batches that have waited enough are ready. Every other call does so, too.
    #[inline]
    pub fn tick(&mut self, now: u64) {
        // The last moment never comes: what is due then is never due.
        self.now = self.now.max(now).min(u64::MAX - 1);
        if self.now >= self.due {
            self.act_in_time();
        }
    }

    /// Does what is due.
    #[cold]
    fn act_in_time(&mut self) {
        let now = self.now;
        let mut due = u64::MAX;
        for index in 0..self.publishers.len() {
            let Some(publisher) = self.publishers.get_mut(index) else { continue };
            if publisher.silent_at.is_some_and(|at| at <= now) {
                publisher.silent_at = None;
                let id = PublisherId { index: index as u32, generation: publisher.generation };
                self.ready.say(Signal::SilentPublisher(id));
            } else {
                due = due.min(publisher.silent_at.unwrap_or(u64::MAX));
            }
        }
        for index in 0..self.consumers.len() {
            due = due.min(self.tick_consumer(index as u32, now));
        }
        self.due = due;
    }

    /// When [`Channel::tick`] is to be called at the latest, unless another call comes before; `None` if time changes nothing. It may be
    /// too early.
    pub fn next_tick(&self) -> Option<u64> {
        (self.due < u64::MAX).then_some(self.due)
    }

    /// The next signal, if there is one.
    #[inline]
    pub fn poll_signal(&mut self) -> Option<Signal> {
        let signal = self.ready.poll()?;
        if let Signal::Work(Worker::Own(consumer)) = signal
            && let Some(subscription) = self.subscription(consumer)
        {
            subscription.is_said = false;
        }
        Some(signal)
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

    /// How many deliveries wait for a consumer, and for how many times that a worker took it is not done; `None` if there is no such consumer.
    pub fn unfinished(&self, consumer: ConsumerId) -> Option<usize> {
        let there = self.consumers.get(consumer.index as usize)?;
        let subscription = there.subscription.as_ref().filter(|_| there.generation == consumer.generation)?;
        Some(subscription.queue.len() + subscription.busy as usize)
    }

    fn publisher(&mut self, id: PublisherId) -> Option<&mut Publisher> {
        let publisher = self.publishers.get_mut(id.index as usize)?;
        (publisher.is_there && publisher.generation == id.generation).then_some(publisher)
    }

    fn subscription(&mut self, id: ConsumerId) -> Option<&mut Subscription<E>> {
        let consumer = self.consumers.get_mut(id.index as usize)?;
        if consumer.generation == id.generation { consumer.subscription.as_mut() } else { None }
    }

    /// Has the index find a consumer by its tree.
    fn index_tree(&mut self, index: u32, tree: &Tree) {
        let mut patterns = Vec::new();
        interest::add(tree, &mut patterns);
        self.index.enter(index, &patterns);
    }

    /// Shows an event to a subscription, and queues what it gives; with `is_owed`, also above the depth of a queue that drops nothing.
    #[inline]
    fn offer(&mut self, index: u32, offer: &Offer<'_, E>, is_owed: bool) {
        let Some(there) = self.consumers.get_mut(index as usize) else { return };
        let Some(subscription) = &mut there.subscription else { return };
        let parts = if let Node::Test(tree) = &subscription.node {
            if !tree.fits(offer.header, offer.body) {
                return;
            }
            if subscription.is_timed && subscription.is_late(Some(offer.header.created), offer.now) {
                return;
            }
            Parts::One(offer.part())
        } else {
            let outcome = subscription.node.offer(offer, &mut self.out);
            if outcome != Outcome::Refused {
                subscription.timer_at = subscription.node.due();
                self.due = self.due.min(subscription.timer_at.unwrap_or(u64::MAX));
            }
            if outcome != Outcome::Delivered {
                return;
            }
            if subscription.is_late(self.out.iter().filter_map(Part::created).min(), offer.now) {
                return self.out.clear();
            }
            subscription.queue.gather(&mut self.out)
        };
        self.queue(index, parts, is_owed);
    }

    /// Puts what a subscription has given into its queue.
    #[inline]
    fn queue(&mut self, index: u32, parts: Parts<E>, is_owed: bool) {
        let number = self.deliveries;
        self.deliveries += 1;
        let now = self.now;
        let has_room = self.shares == 0 || self.has_room_at(index);
        let Some(there) = self.consumers.get_mut(index as usize) else { return };
        let Some(subscription) = &mut there.subscription else { return };
        let gave_way = subscription.queue.add(number, now, parts, is_owed, has_room);
        subscription.counts.queued += 1;
        subscription.counts.dropped += u64::from(gave_way);
        self.due = self.due.min(subscription.due(now));
        self.ready.enter(ConsumerId { index, generation: there.generation }, subscription, now);
    }

    /// Lets time pass for a consumer, and says when that is to be done again.
    fn tick_consumer(&mut self, index: u32, now: u64) -> u64 {
        const NEVER: u64 = u64::MAX;
        let there = self.consumers.get_mut(index as usize).and_then(|there| there.subscription.as_mut());
        if let Some(subscription) = there {
            let late = subscription.queue.lapse(now);
            subscription.counts.late += late;
            if late > 0 {
                self.tell_of_room();
            }
        }
        loop {
            let Some(there) = self.consumers.get_mut(index as usize) else { return NEVER };
            let Some(subscription) = &mut there.subscription else { return NEVER };
            let Some(at) = subscription.timer_at.filter(|at| *at <= now) else { break };
            let expired = &mut subscription.counts.expired;
            let outcome = subscription.node.fire(at, now, &mut self.out, expired);
            subscription.timer_at = subscription.node.due();
            if outcome == Outcome::Delivered {
                if subscription.is_late(self.out.iter().filter_map(Part::created).min(), now) {
                    self.out.clear();
                    continue;
                }
                let parts = subscription.queue.gather(&mut self.out);
                self.queue(index, parts, false);
            }
        }
        let Some(there) = self.consumers.get_mut(index as usize) else { return NEVER };
        let Some(subscription) = &mut there.subscription else { return NEVER };
        let consumer = ConsumerId { index, generation: there.generation };
        if subscription.silent_at.is_some_and(|at| at <= now) {
            subscription.silent_at = None;
            self.ready.say(Signal::SilentConsumer(consumer));
        }
        self.ready.enter(consumer, subscription, now);
        subscription.due(now)
    }

    fn compare_interest(&mut self) {
        let mut all = Vec::new();
        for subscription in self.consumers.iter().filter_map(|there| there.subscription.as_ref()) {
            interest::add(&subscription.tree, &mut all);
        }
        let all = interest::reduce(all);
        if all != self.interest {
            self.interest = all;
            self.ready.say(Signal::Interest);
        }
    }
}
