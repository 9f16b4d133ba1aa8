//! The channel: publishers push, consumers are served, time passes.
mod changes;
mod push;
mod room;
mod serve;

use alloc::vec::Vec;

use filter::Fields;

use crate::event::Part;
use crate::fan_out::FanOut;
use crate::index::Index;
use crate::interest::{self, Interest};
use crate::matching::{Node, Outcome};
use crate::peers::{ConsumerId, ConsumerSettings, Counts, PublisherId, PublisherSettings, Signal, Worker};
use crate::queue::Waiting;
use crate::ready::Ready;
use crate::subscription::Subscription;
use crate::tree::{Limits, Tree, TreeError};
use crate::verdicts::Verdicts;

/// An event channel. `E` is what events are: it is cloned for each consumer, so large ones are shared by a handle.
///
/// All times are nanoseconds since any start. Time does not run backwards: an earlier time is taken as the latest that there was.
#[derive(Debug)]
pub struct Channel<E> {
    limits: Limits,
    publishers: Vec<Publisher>,
    consumers: Vec<Consumer<E>>,
    ready: Ready,
    /// The deliveries of the last event that no queue holds.
    fan_out: FanOut<E>,
    verdicts: Verdicts,
    index: Index,
    /// The consumers that an event may concern, while it is pushed.
    found: Vec<u32>,
    /// How many consumers have queues that may refuse events.
    strict: usize,
    /// How many consumers are suspended.
    suspended: usize,
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

/// The subscription of a consumer that is there: what else the channel has is free to be changed with it.
#[inline]
fn subscription_of<E>(consumers: &mut [Consumer<E>], id: ConsumerId) -> Option<&mut Subscription<E>> {
    let consumer = consumers.get_mut(id.index as usize)?;
    if consumer.generation == id.generation { consumer.subscription.as_mut() } else { None }
}

impl<E: Clone + Fields> Channel<E> {
    /// A channel without publishers and consumers.
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            publishers: Vec::new(),
            consumers: Vec::new(),
            ready: Ready::new(),
            fan_out: FanOut::new(),
            verdicts: Verdicts::new(),
            index: Index::new(),
            found: Vec::new(),
            strict: 0,
            suspended: 0,
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
            test: self.verdicts.enter(tree),
            is_timed: true,
            is_plain: false,
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
        self.settle();
        let Some(there) = self.consumers.get_mut(consumer.index as usize) else { return };
        if there.generation != consumer.generation {
            return;
        }
        let Some(mut subscription) = there.subscription.take() else { return };
        there.generation = there.generation.wrapping_add(1);
        self.strict -= usize::from(subscription.is_strict());
        self.suspended -= usize::from(subscription.is_suspended);
        self.shares -= usize::from(subscription.settings.share.is_some());
        self.ready.leave(consumer, &mut subscription);
        self.index.leave(consumer.index);
        self.verdicts.leave(subscription.test);
        self.ready.retract(|signal| {
            signal == Signal::SilentConsumer(consumer) || signal == Signal::Work(Worker::Own(consumer))
        });
        self.tell_of_room();
        self.compare_interest();
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
        Some(subscription.queue.len() + usize::from(self.fan_out.holds(consumer)))
    }

    /// How many deliveries wait for a consumer, and for how many times that a worker took it is not done; `None` if there is no such consumer.
    pub fn unfinished(&self, consumer: ConsumerId) -> Option<usize> {
        let there = self.consumers.get(consumer.index as usize)?;
        let subscription = there.subscription.as_ref().filter(|_| there.generation == consumer.generation)?;
        Some(self.waiting(consumer)? + subscription.busy as usize)
    }

    fn publisher(&mut self, id: PublisherId) -> Option<&mut Publisher> {
        let publisher = self.publishers.get_mut(id.index as usize)?;
        (publisher.is_there && publisher.generation == id.generation).then_some(publisher)
    }

    fn subscription(&mut self, id: ConsumerId) -> Option<&mut Subscription<E>> {
        subscription_of(&mut self.consumers, id)
    }

    /// Puts the deliveries of the last event that no queue holds into the queues, as if they had been there from the beginning: before anything
    /// else than takes, and the end of what was taken, happens to their consumers.
    #[inline]
    fn settle(&mut self) {
        if !self.fan_out.is_empty() {
            self.fill_queues();
        }
    }

    #[cold]
    fn fill_queues(&mut self) {
        let since = self.fan_out.since;
        while let Some((consumer, number)) = self.fan_out.next() {
            let Some(part) = self.fan_out.part() else { return };
            let Some(there) = self.consumers.get_mut(consumer.index as usize) else { continue };
            let Some(subscription) = &mut there.subscription else { continue };
            subscription.queue.restore(number, since, part);
            self.ready.restore(consumer, subscription, self.now);
        }
    }

    /// Has the index find a consumer by its tree.
    fn index_tree(&mut self, index: u32, tree: &Tree) {
        let mut patterns = Vec::new();
        interest::add(tree, &mut patterns);
        self.index.enter(index, &patterns);
    }

    /// Lets time pass for a consumer, and says when that is to be done again.
    fn tick_consumer(&mut self, index: u32, now: u64) -> u64 {
        const NEVER: u64 = u64::MAX;
        let there = self.consumers.get_mut(index as usize).and_then(|there| there.subscription.as_mut());
        let Some(subscription) = there else { return NEVER };
        let (late, is_suspended) = (subscription.queue.lapse(now), subscription.is_suspended);
        subscription.counts.late += late;
        if late > 0 {
            self.tell_of_room();
        }
        if !is_suspended {
            self.fire_timers(index);
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

    /// Lets the timers of a consumer that are due act.
    fn fire_timers(&mut self, index: u32) {
        let now = self.now;
        loop {
            let Some(there) = self.consumers.get_mut(index as usize) else { return };
            let Some(subscription) = &mut there.subscription else { return };
            let Some(at) = subscription.timer_at.filter(|at| *at <= now) else { return };
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
