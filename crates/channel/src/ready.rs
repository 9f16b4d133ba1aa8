//! Which consumers a worker can serve, the next one first, and what was said of it.
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::peers::{ConsumerId, Dispatch, Signal, Worker};
use crate::subscription::Subscription;

/// By what consumers are served: first by the rank, then by the number of the delivery.
pub(crate) type Key = (u64, u64);

/// Where a consumer waits for its worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// In the line of this number, for a worker that serves several.
    Line(u32),
    /// Nowhere: its worker serves it alone.
    Own,
}

#[derive(Debug)]
struct Line {
    worker: Worker,
    /// The next one first.
    consumers: VecDeque<(Key, u32)>,
    /// That there is work was said, and is not polled yet.
    is_said: bool,
}

#[derive(Debug)]
pub(crate) struct Ready {
    /// There are as many as workers that serve several: a few. They stay.
    lines: Vec<Line>,
    signals: VecDeque<Signal>,
}

impl Ready {
    pub(crate) const fn new() -> Self {
        Self { lines: Vec::new(), signals: VecDeque::new() }
    }

    /// Where a consumer waits that is served so.
    pub(crate) fn place(&mut self, dispatch: Dispatch) -> Place {
        let worker = match dispatch {
            Dispatch::Own => return Place::Own,
            Dispatch::Publisher => Worker::Publisher,
            Dispatch::Pool => Worker::Pool,
            Dispatch::Lane(lane) => Worker::Lane(lane),
            Dispatch::Deadline => Worker::Deadline,
        };
        let there = self.lines.iter().position(|line| line.worker == worker);
        let number = there.unwrap_or_else(|| {
            self.lines.push(Line { worker, consumers: VecDeque::new(), is_said: false });
            self.lines.len() - 1
        });
        Place::Line(number as u32)
    }

    /// Enters a consumer where its worker finds it, or takes it out.
    #[inline]
    pub(crate) fn enter<E>(&mut self, consumer: ConsumerId, subscription: &mut Subscription<E>, now: u64) {
        let wanted = subscription.turn(now);
        if wanted != subscription.entered {
            self.change(consumer, subscription, wanted);
        }
    }

    /// Enters a consumer that a worker was told of already.
    pub(crate) fn restore<E>(&mut self, consumer: ConsumerId, subscription: &mut Subscription<E>, now: u64) {
        let wanted = subscription.turn(now);
        let Place::Line(number) = subscription.place else { return };
        if let (Some(key), Some(line)) = (wanted, self.lines.get_mut(number as usize)) {
            subscription.entered = wanted;
            line.insert((key, consumer.index));
        }
    }

    /// Takes a consumer out.
    pub(crate) fn leave<E>(&mut self, consumer: ConsumerId, subscription: &mut Subscription<E>) {
        self.change(consumer, subscription, None);
    }

    fn change<E>(&mut self, consumer: ConsumerId, subscription: &mut Subscription<E>, wanted: Option<Key>) {
        let before = core::mem::replace(&mut subscription.entered, wanted);
        let Place::Line(number) = subscription.place else {
            if wanted.is_some() && !subscription.is_said {
                subscription.is_said = true;
                self.signals.push_back(Signal::Work(Worker::Own(consumer)));
            }
            return;
        };
        let Some(line) = self.lines.get_mut(number as usize) else { return };
        if let Some(key) = before {
            line.remove((key, consumer.index));
        }
        if let Some(key) = wanted {
            line.insert((key, consumer.index));
            self.say_work(number);
        }
    }

    /// Says that there is work in a line.
    #[inline]
    pub(crate) fn say_work(&mut self, line: u32) {
        if let Some(line) = self.lines.get_mut(line as usize)
            && !line.is_said
        {
            line.is_said = true;
            self.signals.push_back(Signal::Work(line.worker));
        }
    }

    /// The line of a worker that serves several, and the consumer in it whose turn it is.
    #[inline]
    pub(crate) fn first(&self, worker: Worker) -> Option<(u32, Option<(Key, u32)>)> {
        let place = self.lines.iter().position(|line| line.worker == worker)?;
        let first = self.lines.get(place)?.consumers.front().copied();
        Some((place as u32, first))
    }

    /// Whether a line is served by deadlines.
    #[inline]
    pub(crate) fn is_by_deadline(&self, line: u32) -> bool {
        self.lines.get(line as usize).is_some_and(|line| line.worker == Worker::Deadline)
    }

    /// Says something, unless that waits to be polled already.
    pub(crate) fn say(&mut self, signal: Signal) {
        if !self.signals.contains(&signal) {
            self.signals.push_back(signal);
        }
    }

    /// Takes signals back.
    pub(crate) fn retract(&mut self, is_void: impl Fn(Signal) -> bool) {
        self.signals.retain(|signal| !is_void(*signal));
    }

    /// The next signal. Whether the work of a consumer's own worker is said is noted at the consumer.
    #[inline]
    pub(crate) fn poll(&mut self) -> Option<Signal> {
        let signal = self.signals.pop_front()?;
        if let Signal::Work(worker) = signal
            && let Some(line) = self.lines.iter_mut().find(|line| line.worker == worker)
        {
            line.is_said = false;
        }
        Some(signal)
    }
}

impl Line {
    #[inline]
    fn insert(&mut self, entry: (Key, u32)) {
        match self.consumers.back() {
            Some(last) if *last > entry => {
                let place = self.consumers.partition_point(|other| *other < entry);
                self.consumers.insert(place, entry);
            }
            _ => self.consumers.push_back(entry),
        }
    }

    #[inline]
    fn remove(&mut self, entry: (Key, u32)) {
        if self.consumers.front() == Some(&entry) {
            self.consumers.pop_front();
        } else if let Ok(place) = self.consumers.binary_search(&entry) {
            self.consumers.remove(place);
        }
    }
}
