//! The channel: what it does step by step, and any sequence of steps beside a slow model that shares nothing with it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod filters;
mod model;
mod peers;
mod queues;
mod random;
mod timers;

use channel::{
    Batch, Channel, ConsumerId, ConsumerSettings, Header, Limits, Part, PublisherId, PublisherSettings, Tree,
    Worker,
};
use filter::{Expression, Field, Fields, Kind, Path, Program, Schema, Value};

/// What events are in these tests: a number.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Body(pub(crate) i64);

impl Fields for Body {
    fn value(&self, _: u32) -> Option<Value<'_>> {
        Some(Value::Signed(self.0))
    }
}

struct Number;

impl Schema for Number {
    fn field(&self, _: Path<'_>) -> Option<Field> {
        Some(Field { slot: 0, kind: Kind::Integer })
    }

    fn label(&self, _: u32, _: &str) -> Option<i64> {
        None
    }
}

/// The filter `number > 3`, which the model knows by heart.
pub(crate) fn above_three() -> Program {
    above(3)
}

/// The filter that lets larger numbers pass.
pub(crate) fn above(least: i64) -> Program {
    Expression::parse("number > %0").unwrap().compile(&Number, &[&least.to_string()]).unwrap()
}

/// Events of a type, from any source.
pub(crate) fn of(kind: u32) -> Tree {
    Tree::Header { kind: Some(kind), source: None }
}

/// A channel with one publisher and one consumer, told what happens in short words.
pub(crate) struct Desk {
    pub(crate) channel: Channel<Body>,
    pub(crate) publisher: PublisherId,
    pub(crate) consumer: ConsumerId,
    pub(crate) now: u64,
}

impl Desk {
    pub(crate) fn new(tree: &Tree, settings: ConsumerSettings) -> Self {
        let mut channel = Channel::new(Limits::default());
        let publisher = channel.add_publisher(0, PublisherSettings::default());
        let consumer = channel.subscribe(0, tree, settings).unwrap();
        while channel.poll_signal().is_some() {}
        Self { channel, publisher, consumer, now: 0 }
    }

    /// Pushes an event of a type, whose body is `10 * type + priority`.
    pub(crate) fn push(
        &mut self,
        kind: u32,
        priority: u8,
        deadline: Option<u64>,
    ) -> Result<u64, channel::Refused> {
        let header = Header { kind, priority, deadline, ..Header::default() };
        let body = Body(i64::from(kind) * 10 + i64::from(priority));
        self.channel.push(self.now, self.publisher, &header, &body)
    }

    /// Takes and handles all that there is on the publisher's thread: each delivery as the bodies of its events, and timeouts as `-1 - timer`.
    pub(crate) fn taken(&mut self) -> Vec<Vec<i64>> {
        let mut all = Vec::new();
        let mut batch = Batch::new();
        while let Some(consumer) = self.channel.take(self.now, Worker::Publisher, &mut batch) {
            all.extend(batch.deliveries().map(short));
            self.channel.done(self.now, consumer);
        }
        all
    }
}

/// A delivery as numbers.
pub(crate) fn short(delivery: &[Part<Body>]) -> Vec<i64> {
    let number = |part: &Part<Body>| match part {
        Part::Event { body, .. } => body.0,
        Part::Timeout { timer, .. } => -1 - i64::from(*timer),
    };
    delivery.iter().map(number).collect()
}
