//! An event channel as a state machine: subscriptions of consumers, their queues, and which delivery a worker takes next.
//!
//! A [`Channel`] is told what happens, with the time: a publisher pushes, a worker takes deliveries and is done with them, time passes. It
//! has no threads, locks or clock. Which threads there are is decided outside; for each of them it is a [`Worker`], and the channel says
//! by [`Signal`]s which of them have work.
//!
//! ```
//! use channel::{Batch, Channel, ConsumerSettings, Full, Header, Limits, Order, Part, PublisherSettings, Queue, Tree, Worker};
//!
//! #[derive(Clone)]
//! struct Temperature(i64);
//! impl filter::Fields for Temperature {
//!     fn value(&self, _: u32) -> Option<filter::Value<'_>> {
//!         Some(filter::Value::Signed(self.0))
//!     }
//! }
//!
//! let mut channel = Channel::new(Limits::default());
//! let sensor = channel.add_publisher(0, PublisherSettings::default());
//! let settings = ConsumerSettings { queue: Queue { depth: 4, full: Full::DropOldest, order: Order::Fifo }, ..Default::default() };
//! let display = channel.subscribe(0, &Tree::Header { kind: Some(16), source: None }, settings)?;
//!
//! channel.push(10, sensor, &Header { kind: 16, source: 1, ..Header::default() }, &Temperature(21))?;
//! let mut batch = Batch::new();
//! assert_eq!(channel.take(10, Worker::Publisher, &mut batch), Some(display));
//! assert!(matches!(batch.deliveries().next(), Some([Part::Event { body: Temperature(21), .. }])));
//! channel.done(11, display);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Once the queues, joins and batches have been as full as they get, no event allocates.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod batch;
mod event;
mod fan_out;
mod index;
mod interest;
mod kept;
mod machine;
mod matching;
mod peers;
mod queue;
mod ready;
mod subscription;
mod tree;
mod verdicts;

pub use batch::{Batch, Multicast, Run};
pub use event::{Header, Part};
pub use interest::Interest;
pub use kept::{Kept, KeptByJoin, KeptByPart};
pub use machine::Channel;
pub use peers::{
    ConsumerId, ConsumerSettings, Counts, Dispatch, Gather, PublisherId, PublisherSettings, Refused, Share,
    Signal, Worker,
};
pub use queue::{Full, Order, Queue, Window};
pub use tree::{Keep, Limits, Tree, TreeError};
