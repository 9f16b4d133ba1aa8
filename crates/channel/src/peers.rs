//! Publishers and consumers: their names, their settings, and what is said about them.
use core::fmt;

use crate::queue::{Full, Order, Queue, Window};

/// A publisher of a channel. After it was removed its name means nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PublisherId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl ConsumerId {
    /// Its place among the consumers of its channel, from 0. Places of consumers that are gone are taken again.
    pub const fn place(self) -> usize {
        self.index as usize
    }
}

impl PublisherId {
    /// That of no publisher.
    pub const NONE: Self = Self { index: u32::MAX, generation: 0 };
}

/// A consumer of a channel. After it was removed its name means nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConsumerId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// The threads that handle the deliveries of a consumer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dispatch {
    /// The thread that pushes, right after it has pushed. What a timer delivers waits for the next thread that takes for this worker.
    Publisher,
    /// Any thread of a pool; the delivery that was made first is next.
    Pool,
    /// The threads of a lane, as [`Dispatch::Pool`]. The lane's number says nothing here: its threads have a priority.
    Lane(u8),
    /// A thread of its own.
    Own,
    /// Any thread of those that take the earliest deadline first.
    Deadline,
}

/// A thread, or a pool of them, as the channel knows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Worker {
    /// The thread that pushes.
    Publisher,
    /// The pool.
    Pool,
    /// A lane.
    Lane(u8),
    /// The thread of one consumer.
    Own(ConsumerId),
    /// Those that take the earliest deadline first.
    Deadline,
}

/// How many deliveries a worker takes at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gather {
    /// So many at most; 1 or more.
    pub most: u16,
    /// So long, in nanoseconds, the first one waits for `most` to come together. With 0 a worker takes the deliveries that wait at that moment.
    pub wait: u64,
}

/// How a consumer is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConsumerSettings {
    /// The threads that handle its deliveries.
    pub dispatch: Dispatch,
    /// The queue of its deliveries.
    pub queue: Queue,
    /// How deliveries are gathered into batches.
    pub gather: Gather,
    /// Whether several workers may work on its deliveries at the same time. Without, the next one is taken when the last one is done.
    pub is_parallel: bool,
    /// It is silent if it has not been done for so long with what was taken, in nanoseconds; `None` is never.
    pub patience: Option<u64>,
    /// When its events may be delivered.
    pub window: Window,
    /// The consumers with which it has room for deliveries in common.
    pub share: Option<Share>,
}

/// Room for deliveries that several consumers of a channel have in common. What a delivery takes of it counts for all of them: if it is used up, the
/// queue of each counts as full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Which one: consumers with the same number have it in common.
    pub number: u32,
    /// Deliveries that wait at most, of all these consumers together.
    pub most: u32,
}

impl Default for ConsumerSettings {
    /// On the publisher's thread, one by one, a queue of 16 that drops the oldest.
    fn default() -> Self {
        Self {
            dispatch: Dispatch::Publisher,
            queue: Queue { depth: 16, full: Full::DropOldest, order: Order::Fifo },
            gather: Gather { most: 1, wait: 0 },
            is_parallel: false,
            patience: None,
            window: Window::default(),
            share: None,
        }
    }
}

/// How a publisher is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PublisherSettings {
    /// It is silent if it has not pushed for so long, in nanoseconds; `None` is never.
    pub patience: Option<u64>,
}

/// Counts of a consumer's deliveries since it subscribed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Put into its queue.
    pub queued: u64,
    /// Taken by a worker.
    pub taken: u64,
    /// Given way because the queue was full, new ones and others.
    pub dropped: u64,
    /// Joins that gave up what they had kept.
    pub expired: u64,
    /// Too late to be delivered: [`Window::stop`].
    pub late: u64,
}

/// Why an event is not accepted. No consumer has got it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There is no such publisher.
    Unknown,
    /// The publisher is suspended.
    Suspended,
    /// The queue of this consumer is full, and it may want the event. The publisher may try again once [`Signal::Room`] comes, or give up
    /// at `until`.
    Wait {
        /// The consumer whose queue is full.
        consumer: ConsumerId,
        /// When waiting makes no sense any more.
        until: u64,
    },
    /// The queue of this consumer is full, it may want the event, and it refuses what is too much.
    Full(ConsumerId),
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Unknown => "there is no such publisher",
            Self::Suspended => "the publisher is suspended",
            Self::Wait { .. } => "a queue is full; wait",
            Self::Full(_) => "a queue is full",
        })
    }
}

impl core::error::Error for Refused {}

/// A signal of a channel. It waits until it is polled, and is not repeated meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// This worker has something to take that was not there before.
    Work(Worker),
    /// A queue for which this publisher was told to wait has room.
    Room(PublisherId),
    /// This publisher has not pushed for too long. Said once, until it pushes again.
    SilentPublisher(PublisherId),
    /// This consumer has not been done for too long. Said once, until it is done.
    SilentConsumer(ConsumerId),
    /// [`crate::Channel::interest`] is different.
    Interest,
}
