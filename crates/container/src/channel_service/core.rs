//! A container's channel: the state machine under one lock, and the threads that are woken for what it says.
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Release;
use std::sync::{Arc, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

use channel::{
    Channel, ConsumerId, ConsumerSettings, Dispatch, Header, Limits, PublisherId, PublisherSettings, Refused,
    Signal, Tree, Worker,
};
use threads::{Guard, Lock};

use super::duty::{self, Slot, Wakes};
use super::hands::{AT_ONCE, Hands};
use super::link::Source;
use super::workers;
use crate::aside::Aside;
use crate::context::Clock;
use crate::event::Body;
use crate::outcome::{Failure, Outcome};
use crate::policy::{Container, Threads};
use crate::reports::Fault;
use crate::service::ServiceError;
use crate::target::Target;
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
    /// Of a channel that several containers share: the threads that they ask for. Those at a place are the lane of the next number.
    common: Vec<Threads>,
    /// The names of room that connections have in common: the place of one is its number.
    rooms: Vec<String>,
    pub(super) slots: Vec<Slot>,
    /// Publishers that wait for room, and their threads.
    waiting: Vec<(PublisherId, Thread)>,
    /// Empty hands of threads that are no workers.
    spare: Vec<Hands>,
}

/// A consumer.
pub(crate) struct Served {
    pub(super) target: Arc<dyn Target>,
    patience: Option<u64>,
    /// It is suspended, or gone: what was taken for it before is not for it now.
    pub(super) is_held: AtomicBool,
    /// The numbers of its sources, in the order of the connection.
    pub(super) sources: Vec<u32>,
}

impl Served {
    pub(crate) fn new(target: Arc<dyn Target>, patience: Option<u64>, sources: Vec<u32>) -> Self {
        Self { target, patience, is_held: AtomicBool::new(false), sources }
    }
}

impl Core {
    pub(crate) fn new(container: Arc<Container>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            inner: Lock::new(Inner {
                machine: Channel::new(Limits::default()),
                consumers: Vec::new(),
                sources: Vec::new(),
                numbers: 0,
                common: Vec::new(),
                rooms: Vec::new(),
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
        drop(self.heed(&mut inner));
        Source::new(publisher, number)
    }

    /// The number of room that connections have in common, by its name.
    pub(super) fn room(&self, name: &str) -> u32 {
        let Some(mut inner) = self.lock() else { return u32::MAX };
        let known = inner.rooms.iter().position(|known| known == name);
        let place = known.unwrap_or(inner.rooms.len());
        if known.is_none() {
            inner.rooms.push(name.to_owned());
        }
        u32::try_from(place).unwrap_or(u32::MAX)
    }

    pub(super) fn remove_publisher(&self, publisher: PublisherId) {
        if let Some(mut inner) = self.lock() {
            inner.machine.remove_publisher(publisher);
            inner.sources.retain(|(other, _)| *other != publisher);
        }
    }

    /// A consumer of a container, which is suspended unless its component is active.
    pub(super) fn subscribe(
        &self,
        tree: &Tree,
        settings: ConsumerSettings,
        served: Served,
        of: &Container,
    ) -> Result<ConsumerId, ServiceError> {
        let is_active = served.target.port().is_active();
        let name = served.target.name().to_owned();
        let now = self.clock().now();
        let unable = || ServiceError::Unable("the channel's lock cannot be had".to_owned());
        let mut inner = self.lock().ok_or_else(unable)?;
        let threads = of.policy.threads(&of.name, settings.dispatch);
        let threads = match self.clock() {
            // There are none.
            Clock::Virtual(_) => threads.unwrap_or_default(),
            Clock::Monotonic(_) => threads?,
        };
        let is_whole = self.container.is_whole();
        let dispatch = if is_whole { inner.common(settings.dispatch, &threads)? } else { settings.dispatch };
        let settings = ConsumerSettings { dispatch, ..settings };
        let consumer = inner.machine.subscribe(now, tree, settings).map_err(ServiceError::Tree)?;
        inner.machine.suspend_consumer(now, consumer, !is_active);
        served.is_held.store(!is_active, Release);
        if inner.consumers.len() <= consumer.place() {
            inner.consumers.resize_with(consumer.place() + 1, || None);
        }
        if let Some(place) = inner.consumers.get_mut(consumer.place()) {
            *place = Some((consumer, Arc::new(served)));
        }
        let wakes = self.heed(&mut inner);
        drop(inner);
        drop(wakes);
        if let Clock::Monotonic(_) = self.clock() {
            workers::start(self, dispatch, threads, consumer, &name)
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
            slot.bell.ring();
        }
        let wakes = self.heed(&mut inner);
        drop(inner);
        drop((wakes, served));
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

    /// Deliveries that wait for a consumer, or that a worker has taken and is not done with. There are none once its component has failed.
    pub(super) fn unfinished(&self, consumer: ConsumerId) -> usize {
        let Some(inner) = self.lock() else { return 0 };
        if inner.served(consumer).is_some_and(|served| served.target.port().is_over()) {
            return 0;
        }
        inner.machine.unfinished(consumer).unwrap_or_default()
    }

    pub(super) fn suspend(&self, consumer: ConsumerId, is_suspended: bool) {
        self.change(|inner, now| inner.suspend(now, consumer, is_suspended));
    }

    /// Drops what waits for a consumer, and what its joins have kept.
    pub(super) fn discard(&self, consumer: ConsumerId) {
        self.change(|inner, now| inner.machine.discard(now, consumer));
    }

    /// The same, and lets it go on, so that nothing comes between both.
    pub(super) fn resume_anew(&self, consumer: ConsumerId) {
        self.change(|inner, now| {
            inner.machine.discard(now, consumer);
            inner.suspend(now, consumer, false);
        });
    }

    /// Takes out what the joins of a consumer have kept.
    pub(super) fn set_aside(&self, consumer: ConsumerId) -> Option<Aside> {
        let mut aside = None;
        self.change(|inner, now| {
            let Some(served) = inner.served(consumer) else { return };
            let kept = inner.machine.set_aside(now, consumer);
            aside = kept.map(|kept| Aside::of(kept, &served.sources));
        });
        aside
    }

    /// Gives the joins of a consumer back what was taken out. Says whether it suits.
    pub(super) fn put_back(&self, consumer: ConsumerId, aside: Aside) -> bool {
        let mut is_back = false;
        self.change(|inner, now| {
            let kept = inner.served(consumer).and_then(|served| aside.kept(&served.sources));
            is_back = kept.is_some_and(|kept| inner.machine.put_back(now, consumer, kept));
        });
        is_back
    }

    /// Changes something at once, and does what the channel says then.
    fn change(&self, act: impl FnOnce(&mut Inner, u64)) {
        if let Some(mut inner) = self.lock() {
            let now = self.clock().now();
            act(&mut inner, now);
            let wakes = self.heed(&mut inner);
            drop(inner);
            drop(wakes);
        }
    }

    /// An event, from the thread that calls, which has looked at the clock just now. If the policy of a queue says so, it waits for room.
    pub(super) fn push(&self, now: u64, publisher: PublisherId, header: &Header, body: &Body) -> Outcome {
        let (mut now, mut limit) = (now, None);
        loop {
            let mut inner = self.lock().ok_or(Failure::Lock)?;
            let mut pushed = inner.machine.push(now, publisher, header, body);
            if matches!(pushed, Err(Refused::Wait { .. } | Refused::Full(_))) && inner.discard_of_failed(now)
            {
                pushed = inner.machine.push(now, publisher, header, body);
            }
            let wakes = self.heed(&mut inner);
            match pushed {
                Ok(_) => {
                    // Another thread that waits with the same publisher is not told of room any more.
                    inner.wake_publisher(publisher);
                    drop(inner);
                    drop(wakes);
                    return Ok(());
                }
                Err(Refused::Wait { until, .. }) => {
                    let limit = *limit.get_or_insert(until);
                    now = self.clock().now();
                    // In virtual time no other thread could make room meanwhile.
                    if now >= limit || matches!(self.clock(), Clock::Virtual(_)) {
                        return Err(Failure::Late);
                    }
                    inner.waiting.push((publisher, thread::current()));
                    drop(inner);
                    drop(wakes);
                    thread::park_timeout(Duration::from_nanos(limit - now));
                    now = self.clock().now();
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
        let mut hands = inner.spare.pop().unwrap_or_default();
        let (mut count, mut now) = (0, 0);
        loop {
            // Where time changes nothing, and nothing is left, the clock need not be looked at.
            let is_timeless = hands.has_shared() && inner.machine.next_tick().is_none();
            if is_timeless {
                inner.end(now, &mut hands);
            }
            if !is_timeless || inner.machine.has_work(worker) {
                now = self.clock().now();
                inner.end(now, &mut hands);
                inner.take(now, worker, AT_ONCE.min(most - count), &mut hands);
            }
            let wakes = self.heed(&mut inner);
            if hands.is_empty() {
                inner.spare.push(hands);
                drop(inner);
                drop(wakes);
                return count;
            }
            drop(inner);
            drop(wakes);
            count += hands.len();
            self.deliver(&mut hands);
            let Some(again) = self.lock() else { return count };
            inner = again;
        }
    }

    /// Every worker that a consumer asks for, the first one first.
    pub(crate) fn workers(&self) -> Vec<Worker> {
        let Some(inner) = self.lock() else { return Vec::new() };
        let mut lanes = self.container.policy.lanes.clone();
        lanes.extend((1..=u8::MAX).zip(inner.common.iter().cloned()));
        lanes.sort_by_key(|(number, threads)| (std::cmp::Reverse(threads.rank()), *number));
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
        let wakes = self.heed(&mut inner);
        let next = inner.machine.next_tick();
        drop(inner);
        drop(wakes);
        next
    }

    /// Does what the channel says, after each change. The threads that are to work are woken by what it returns, once the lock is free: so they
    /// do not wait for it at once.
    pub(super) fn heed(&self, inner: &mut Inner) -> Wakes {
        let mut wakes = Wakes::default();
        while let Some(signal) = inner.machine.poll_signal() {
            match signal {
                Signal::Work(Worker::Publisher) => {
                    if let Some(me) = self.me.upgrade() {
                        turn::put_off(&me);
                    }
                }
                Signal::Work(worker) => duty::wake(&mut inner.slots, worker, &mut wakes),
                Signal::Room(publisher) => inner.wake_publisher(publisher),
                Signal::SilentPublisher(publisher) => {
                    let source = inner.sources.iter().find(|(other, _)| *other == publisher);
                    if let Some((_, name)) = source {
                        let text = "has published nothing for longer than its connection allows".to_owned();
                        self.container.reports.add(name, Fault::Service(text));
                    }
                }
                Signal::SilentConsumer(consumer) => {
                    if let Some(served) = inner.served(consumer) {
                        let limit = Duration::from_nanos(served.patience.unwrap_or_default());
                        served.target.port().is_silent(limit);
                    }
                    // Publishers that wait for it go on: no worker may take for it as long as its handler is at work.
                    inner.machine.discard(self.clock().now(), consumer);
                }
                // It is for gateways that bring events from elsewhere; a container has none.
                Signal::Interest => {}
            }
        }
        duty::keep_time(&mut inner.slots, inner.machine.next_tick());
        wakes
    }

    /// The channel, for a method that has a reference only.
    pub(super) fn myself(&self) -> Option<Arc<Self>> {
        self.me.upgrade()
    }
}

impl Inner {
    /// Where a channel that several containers share serves a consumer whose container has these threads for it: those that are the same in several
    /// containers are there once.
    fn common(&mut self, dispatch: Dispatch, threads: &Threads) -> Result<Dispatch, ServiceError> {
        if !matches!(dispatch, Dispatch::Pool | Dispatch::Lane(_)) {
            return Ok(dispatch);
        }
        let known = self.common.iter().position(|known| known == threads);
        let place = known.unwrap_or(self.common.len());
        let number = u8::try_from(place + 1);
        let number =
            number.map_err(|_| ServiceError::Unable("a channel has at most 255 lanes".to_owned()))?;
        if known.is_none() {
            self.common.push(threads.clone());
        }
        Ok(Dispatch::Lane(number))
    }

    /// Drops what waits for components that have failed, so that they hold up no publisher. Says whether that was anything.
    #[cold]
    fn discard_of_failed(&mut self, now: u64) -> bool {
        let mut is_any = false;
        for (consumer, served) in self.consumers.iter().flatten() {
            if served.target.port().is_over()
                && self.machine.waiting(*consumer).is_some_and(|count| count > 0)
            {
                self.machine.discard(now, *consumer);
                is_any = true;
            }
        }
        is_any
    }

    fn suspend(&mut self, now: u64, consumer: ConsumerId, is_suspended: bool) {
        self.machine.suspend_consumer(now, consumer, is_suspended);
        if let Some(served) = self.served(consumer) {
            served.is_held.store(is_suspended, Release);
        }
    }

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
        let (_, served) = place.take_if(|(there, _)| *there == consumer)?;
        served.is_held.store(true, Release);
        Some(served)
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Core of {}", self.container.name)
    }
}
