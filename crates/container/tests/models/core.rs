//! A channel under one lock, as far as its workers know it: the machine is the shipped one.
use channel::{Batch, Channel, ConsumerId, Header, Part, PublisherId, Run, Signal, Worker};
use models::{Alone, Condvar, Mutex, MutexGuard};

use crate::duty::{self, Slot, Wakes};
use crate::hands::Hands;

/// The number of an event.
#[derive(Clone)]
pub(crate) struct Body(pub(crate) u64);

impl filter::Fields for Body {
    fn value(&self, _: u32) -> Option<filter::Value<'_>> {
        None
    }
}

/// Time stands still.
#[derive(Clone)]
pub(crate) struct Clock;

impl Clock {
    pub(crate) fn now(&self) -> u64 {
        0
    }
}

pub(crate) struct Core {
    inner: Mutex<Inner>,
    /// What handlers were called with, in turn.
    handled: Mutex<Vec<(ConsumerId, u64)>>,
    more: Condvar,
    /// Those that are handled by one worker at a time.
    serial: Vec<(ConsumerId, Alone)>,
}

pub(crate) struct Inner {
    pub(crate) machine: Channel<Body>,
    pub(crate) slots: Vec<Slot>,
}

impl Core {
    /// With the consumers, and whether each is parallel.
    pub(crate) fn new(machine: Channel<Body>, consumers: impl Iterator<Item = (ConsumerId, bool)>) -> Self {
        let serial = consumers.filter(|(_, is_parallel)| !is_parallel).map(|(id, _)| (id, Alone::new()));
        Self {
            inner: Mutex::new(Inner { machine, slots: Vec::new() }),
            handled: Mutex::new(Vec::new()),
            more: Condvar::new(),
            serial: serial.collect(),
        }
    }

    pub(crate) fn lock(&self) -> Option<MutexGuard<'_, Inner>> {
        Some(self.inner.lock().unwrap())
    }

    pub(crate) fn clock(&self) -> &Clock {
        &Clock
    }

    pub(crate) fn heed(&self, inner: &mut Inner) -> Wakes {
        let mut wakes = Wakes::default();
        while let Some(signal) = inner.machine.poll_signal() {
            if let Signal::Work(worker) = signal {
                duty::wake(&mut inner.slots, worker, &mut wakes);
            }
        }
        duty::keep_time(&mut inner.slots, inner.machine.next_tick());
        wakes
    }

    pub(crate) fn push(&self, publisher: PublisherId, event: u64) {
        let mut inner = self.inner.lock().unwrap();
        inner.machine.push(0, publisher, &Header::default(), &Body(event)).unwrap();
        let wakes = self.heed(&mut inner);
        drop(inner);
        drop(wakes);
    }

    pub(crate) fn deliver(&self, hands: &mut Hands) {
        for (consumer, batch) in &hands.0 {
            if let Some((_, alone)) = self.serial.iter().find(|(id, _)| id == consumer) {
                alone.act();
            }
            let mut handled = self.handled.lock().unwrap();
            for delivery in batch.deliveries() {
                let [Part::Event { body, .. }] = delivery else { panic!("not one event") };
                handled.push((*consumer, body.0));
            }
            self.more.notify_all();
        }
    }

    /// What was handled, once it is so many.
    pub(crate) fn wait_for(&self, count: usize) -> Vec<(ConsumerId, u64)> {
        let mut handled = self.handled.lock().unwrap();
        while handled.len() < count {
            handled = self.more.wait(handled).unwrap();
        }
        handled.clone()
    }
}

impl Inner {
    pub(crate) fn take(&mut self, now: u64, worker: Worker, most: usize, hands: &mut Hands) {
        let mut run = Run::new();
        while hands.0.len() < most {
            let mut batch = Batch::new();
            let Some(consumer) = self.machine.take_next(now, worker, &mut run, &mut batch) else { return };
            hands.0.push((consumer, batch));
        }
    }

    pub(crate) fn end(&mut self, now: u64, hands: &mut Hands) {
        for (consumer, _) in hands.0.drain(..) {
            self.machine.done(now, consumer);
        }
    }
}
