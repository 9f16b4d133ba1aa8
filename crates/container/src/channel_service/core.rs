//! A container's channel: the state machine under one lock, and the threads that are woken for what it says.
use std::fmt;
use std::sync::{Arc, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

use channel::{
    Batch, Channel, ConsumerId, ConsumerSettings, Header, Limits, Part, PublisherId, PublisherSettings,
    Refused, Signal, Tree, Worker,
};
use threads::{Guard, Lock};

use super::link::Source;
use super::workers::{self, Slot};
use crate::cell::Target;
use crate::context::{Clock, Context};
use crate::event::Body;
use crate::outcome::{Failure, Outcome};
use crate::policy::Container;
use crate::reports::Fault;
use crate::service::ServiceError;
use crate::turn;

/// A container's channel.
pub struct Core {
    /// That of a handler is never held with it.
    inner: Lock<Inner>,
    pub(super) container: Arc<Container>,
    me: Weak<Self>,
}

pub(super) struct Inner {
    pub(super) machine: Channel<Body>,
    /// By their places.
    consumers: Vec<Option<(ConsumerId, Arc<Served>)>>,
    /// The sources: their names, for reports.
    sources: Vec<(PublisherId, String)>,
    /// How many sources there have been.
    numbers: u32,
    pub(super) slots: Vec<Slot>,
    /// Publishers that wait for room, and their threads.
    waiting: Vec<(PublisherId, Thread)>,
    /// Emptied batches of threads that are no workers.
    spare: Vec<Batch<Body>>,
}

/// A consumer.
pub(crate) struct Served {
    pub(crate) target: Arc<dyn Target>,
    pub(crate) patience: Option<u64>,
}

impl Core {
    pub(crate) fn new(container: Arc<Container>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            inner: Lock::new(Inner {
                machine: Channel::new(Limits::default()),
                consumers: Vec::new(),
                sources: Vec::new(),
                numbers: 0,
                slots: Vec::new(),
                waiting: Vec::new(),
                spare: Vec::new(),
            }),
            container,
            me: Weak::clone(me),
        })
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.container.clock
    }

    /// The lock; `None`, which is reported, only where the system has none that inherits priority.
    pub(super) fn lock(&self) -> Option<Guard<'_, Inner>> {
        match self.inner.lock() {
            Ok(inner) => Some(inner),
            Err(refused) => {
                self.container.reports.add(&self.container.name, Fault::Lock(refused));
                None
            }
        }
    }

    pub(super) fn add_publisher(&self, name: &str, settings: PublisherSettings) -> Source {
        let now = self.clock().now();
        let Some(mut inner) = self.lock() else { return Source::new(PublisherId::NONE, 0) };
        let publisher = inner.machine.add_publisher(now, settings);
        inner.sources.push((publisher, name.to_owned()));
        inner.numbers += 1;
        let number = inner.numbers;
        self.heed(&mut inner);
        Source::new(publisher, number)
    }

    pub(super) fn remove_publisher(&self, publisher: PublisherId) {
        if let Some(mut inner) = self.lock() {
            inner.machine.remove_publisher(publisher);
            inner.sources.retain(|(other, _)| *other != publisher);
        }
    }

    /// A consumer that is suspended unless its component is active.
    pub(super) fn subscribe(
        &self,
        tree: &Tree,
        settings: ConsumerSettings,
        served: Served,
    ) -> Result<ConsumerId, ServiceError> {
        let is_active = served.target.is_active();
        let name = served.target.name().to_owned();
        let now = self.clock().now();
        let unable = || ServiceError::Unable("the channel's lock cannot be had".to_owned());
        let mut inner = self.lock().ok_or_else(unable)?;
        let consumer = inner.machine.subscribe(now, tree, settings).map_err(ServiceError::Tree)?;
        inner.machine.suspend_consumer(now, consumer, !is_active);
        if inner.consumers.len() <= consumer.place() {
            inner.consumers.resize_with(consumer.place() + 1, || None);
        }
        if let Some(place) = inner.consumers.get_mut(consumer.place()) {
            *place = Some((consumer, Arc::new(served)));
        }
        self.heed(&mut inner);
        drop(inner);
        if let Clock::Monotonic(_) = self.clock() {
            workers::start(self, settings.dispatch, consumer, &name)
                .inspect_err(|_| self.unsubscribe(consumer))?;
        }
        Ok(consumer)
    }

    pub(super) fn unsubscribe(&self, consumer: ConsumerId) {
        let Some(mut inner) = self.lock() else { return };
        inner.machine.unsubscribe(consumer);
        let served = inner.remove(consumer);
        for slot in inner.slots.iter_mut().filter(|slot| slot.worker == Worker::Own(consumer)) {
            slot.is_over = true;
            slot.thread.unpark();
        }
        self.heed(&mut inner);
        drop(inner);
        drop(served);
    }

    /// Ends the threads if there is neither a source nor a consumer left.
    pub(super) fn close_unused(&self) {
        let Some(mut inner) = self.lock() else { return };
        if inner.consumers.iter().all(Option::is_none) && inner.sources.is_empty() {
            let slots = std::mem::take(&mut inner.slots);
            drop(inner);
            workers::stop(slots);
        }
    }

    /// Counts of a consumer's deliveries.
    pub(super) fn counts(&self, consumer: ConsumerId) -> channel::Counts {
        self.lock().and_then(|inner| inner.machine.counts(consumer)).unwrap_or_default()
    }

    pub(super) fn suspend(&self, consumer: ConsumerId, is_suspended: bool) {
        if let Some(mut inner) = self.lock() {
            let now = self.clock().now();
            inner.machine.suspend_consumer(now, consumer, is_suspended);
            self.heed(&mut inner);
        }
    }

    /// An event, from the thread that calls. If the policy of a queue says so, it waits for room.
    pub(super) fn push(&self, publisher: PublisherId, header: &Header, body: &Body) -> Outcome {
        let mut limit = None;
        loop {
            let mut inner = self.lock().ok_or(Failure::Lock)?;
            let now = self.clock().now();
            let pushed = inner.machine.push(now, publisher, header, body);
            self.heed(&mut inner);
            match pushed {
                Ok(_) => {
                    // Another thread that waits with the same publisher is not told of room any more.
                    inner.wake_publisher(publisher);
                    return Ok(());
                }
                Err(Refused::Wait { until, .. }) => {
                    let limit = *limit.get_or_insert(until);
                    // In virtual time no other thread could make room meanwhile.
                    if now >= limit || matches!(self.clock(), Clock::Virtual(_)) {
                        return Err(Failure::Late);
                    }
                    inner.waiting.push((publisher, thread::current()));
                    drop(inner);
                    thread::park_timeout(Duration::from_nanos(limit - now));
                    let this = thread::current().id();
                    let mut inner = self.lock().ok_or(Failure::Lock)?;
                    inner.waiting.retain(|(other, thread)| *other != publisher || thread.id() != this);
                }
                Err(Refused::Full(_)) => return Err(Failure::Full),
                Err(Refused::Suspended) => return Err(Failure::Suspended),
                Err(Refused::Unknown) => return Err(Failure::NotConnected),
            }
        }
    }

    /// Serves a worker on the calling thread until there is nothing for it, but so many batches at most. Says how many it was.
    pub(crate) fn serve(&self, worker: Worker, most: usize) -> usize {
        let Some(mut inner) = self.lock() else { return 0 };
        let mut batch = inner.spare.pop().unwrap_or_default();
        let mut count = 0;
        while count < most {
            let taken = inner.machine.take(self.clock().now(), worker, &mut batch);
            self.heed(&mut inner);
            let Some(consumer) = taken else { break };
            let served = inner.served(consumer);
            drop(inner);
            count += 1;
            self.deliver(served.as_deref(), &batch);
            let Some(again) = self.lock() else { return count };
            inner = again;
            inner.end(self.clock().now(), consumer, served.as_deref());
        }
        self.heed(&mut inner);
        inner.spare.push(batch);
        count
    }

    /// Every worker that a consumer asks for, the first one first.
    pub(crate) fn workers(&self) -> Vec<Worker> {
        let Some(inner) = self.lock() else { return Vec::new() };
        let policy = &self.container.policy;
        let mut lanes = policy.lanes.clone();
        lanes.sort_by_key(|(number, threads)| (std::cmp::Reverse(threads.priority), *number));
        let mut all = vec![Worker::Publisher];
        all.extend(lanes.iter().map(|(number, _)| Worker::Lane(*number)));
        all.extend([Worker::Deadline, Worker::Pool]);
        let mut own: Vec<_> =
            inner.consumers.iter().flatten().map(|(consumer, _)| Worker::Own(*consumer)).collect();
        own.sort_unstable();
        all.extend(own);
        all
    }

    /// Lets time pass, and says when it is to be done again.
    pub(crate) fn tick(&self) -> Option<u64> {
        let now = self.clock().now();
        let mut inner = self.lock()?;
        inner.machine.tick(now);
        self.heed(&mut inner);
        inner.machine.next_tick()
    }

    /// Gives a consumer what was taken for it.
    pub(super) fn deliver(&self, served: Option<&Served>, batch: &Batch<Body>) {
        let Some(served) = served else { return };
        turn::run(|| {
            for delivery in batch.deliveries() {
                for (index, part) in delivery.iter().enumerate() {
                    let header = match part {
                        Part::Event { header, .. } => *header,
                        Part::Timeout { at, priority, .. } => {
                            Header { created: *at, priority: *priority, ..Header::default() }
                        }
                    };
                    let at = Context::of(self.clock(), &header, delivery.len() - index - 1);
                    served.target.deliver(part, &at);
                }
            }
        });
    }

    /// Does what the channel says, after each change.
    pub(super) fn heed(&self, inner: &mut Inner) {
        while let Some(signal) = inner.machine.poll_signal() {
            match signal {
                Signal::Work(Worker::Publisher) => {
                    if let Some(me) = self.me.upgrade() {
                        turn::put_off(&me);
                    }
                }
                Signal::Work(worker) => workers::wake(&mut inner.slots, worker),
                Signal::Room(publisher) => inner.wake_publisher(publisher),
                Signal::SilentPublisher(publisher) => {
                    let source = inner.sources.iter().find(|(other, _)| *other == publisher);
                    if let Some((_, name)) = source {
                        let text = "has published nothing for longer than its connection allows".to_owned();
                        self.container.reports.add(name, Fault::Service(text));
                    }
                }
                Signal::SilentConsumer(consumer) => {
                    inner.machine.unsubscribe(consumer);
                    if let Some(served) = inner.remove(consumer) {
                        let limit = Duration::from_nanos(served.patience.unwrap_or_default());
                        served.target.is_silent(limit);
                    }
                }
                // It is for gateways that bring events from elsewhere; a container has none.
                Signal::Interest => {}
            }
        }
        workers::keep_time(&mut inner.slots, inner.machine.next_tick());
    }

    /// The channel, for a method that has a reference only.
    pub(super) fn myself(&self) -> Option<Arc<Self>> {
        self.me.upgrade()
    }
}

impl Inner {
    fn wake_publisher(&mut self, publisher: PublisherId) {
        for (_, thread) in self.waiting.iter().filter(|(other, _)| *other == publisher) {
            thread.unpark();
        }
    }

    pub(super) fn served(&self, consumer: ConsumerId) -> Option<Arc<Served>> {
        let (there, served) = self.consumers.get(consumer.place())?.as_ref()?;
        (*there == consumer).then(|| Arc::clone(served))
    }

    fn remove(&mut self, consumer: ConsumerId) -> Option<Arc<Served>> {
        let place = self.consumers.get_mut(consumer.place())?;
        place.take_if(|(there, _)| *there == consumer).map(|(_, served)| served)
    }

    /// A worker is done with a consumer, which gets nothing more if its component is over.
    pub(super) fn end(&mut self, now: u64, consumer: ConsumerId, served: Option<&Served>) {
        self.machine.done(now, consumer);
        if served.is_some_and(|served| served.target.is_over()) {
            self.machine.unsubscribe(consumer);
            self.remove(consumer);
        }
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Core of {}", self.container.name)
    }
}
