//! Data Distribution Service: participants that write and read typed topics (DDS 1.4) over RTPS, on a driver of sockets and threads.
//!
//! A program joins a *domain* as a *participant*; it writes samples of a Rust type to a *topic*, and all readers of that topic in the domain
//! get them, on the same machine or over the network, without a server. *QoS policies* say what is kept and repeated. With the policy
//! ASSURANCE a reader asks for a latency: the resource manager of a [managed network](config::AssuranceConfig) says yes, with a bound, or no.
//!
//! ```no_run
//! use dds::prelude::*;
//!
//! #[derive(DdsType, Debug)]
//! struct Reading {
//!     #[dds(key)]
//!     sensor: u32,
//!     celsius: f64,
//! }
//!
//! fn main() -> Result<(), dds::Error> {
//!     let participant = Participant::new(0)?;
//!     let reader = participant.reader::<Reading>("Readings").reliable().keep_last(10).create()?;
//!     let writer = participant.writer::<Reading>("Readings").keep_last(10).create()?;
//!     writer.write(&Reading { sensor: 1, celsius: 21.5 })?;
//!     for reading in reader.wait_samples(Duration::from_secs(1)) {
//!         println!("{reading:?}");
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # Where to find what
//!
//! | to | see |
//! |---|---|
//! | make a participant | [`Participant::new`], [`Participant::builder`]; interfaces, buffers, threads: [`Config`] |
//! | say what samples are | [`DdsType`](derive@DdsType), with the table of `#[dds(…)]` |
//! | write | [`Participant::writer`], [`DataWriter`]; by handle [`DataWriter::write_shared`], in place [`RawDataWriter::loan`] |
//! | read | [`Participant::reader`], [`DataReader::samples`], [`DataReader::wait_samples`] |
//! | be called | [`ReaderBuilder::on_sample`], [`DataReaderListener`] |
//! | read in an asynchronous program | [`DataReader::stream`] |
//! | wait for several things | [`WaitSet`] with [`ReadCondition`], [`StatusCondition`], [`QueryCondition`], [`GuardCondition`] |
//! | wait for the other side | [`RawDataWriter::wait_for_readers`], [`RawDataReader::wait_for_writers`] |
//! | ask for a latency | [`ReaderBuilder::within`], [`WriterBuilder::every`]; what was decided: [`RawDataReader::assurance`] |
//! | know who is there | [`DomainParticipant::get_discovered_participants`], [`DomainParticipant::get_builtin_subscriber`] |
//!
//! # Two ways to say the same
//!
//! Builders ([`WriterBuilder`], [`ReaderBuilder`]) make the standard's entities, and their methods have names of their own.
//! The operations of the standard have its names (`get_qos`, `take_w_condition`), so that its text can be read as documentation. Both work on
//! the same entities: what a builder made can be asked for its [`Publisher`], and the other way round [`Publisher::writer`] begins a builder.
//!
//! # What is true of all entities
//!
//! - Handles are cheap to clone and mean the same entity; they can be sent to other threads and used by several at once. A writer or reader
//!   lives until it is deleted ([`Publisher::delete_datawriter`]) or the last handle of its participant, and of everything in it, is dropped.
//! - Errors are [`Error`]: a code of the standard, what is wrong, and what to do. A `main` that returns one prints that as text.
//! - Times are [`Duration`], from which and into which [`std::time::Duration`] is converted; calls take either. [`WallTime`] does the same for
//!   timestamps and [`std::time::SystemTime`].
//!
//! # QoS and configuration from files
//!
//! With the feature `serde` the QoS of all entities and [`Config`] can be read from files and written to them, in any format that `serde` has.
//! Names are those of the fields with dashes (`keep-last`, `static-peers`), durations are texts (`"100 ms"`, `"infinite"`), and what is not said
//! is the default of its kind of entity. An unknown name is an error. What values make sense is checked when the entity is made.
//!
//! Protocol and meaning are in the pure crates below; here they are joined with locks, and with a [`host`].
#![forbid(unsafe_code)]
#![deny(missing_debug_implementations)]

mod builtin;
mod bytes;
mod callback;
mod condition;
pub mod config;
mod content_filter;
mod debug;
pub mod driver;
mod entity;
mod factory;
mod group;
pub mod host;
pub mod links;
mod lock;
mod matching;
mod name;
mod node;
mod participant;
pub mod prelude;
mod publication;
mod shared;
mod subscription;
mod sync;
mod thread;
mod topic;
mod transport;
mod types;
mod wall_time;

pub use builtin::{
    BuiltinTopic, ParticipantBuiltinTopicData, PublicationBuiltinTopicData, SubscriptionBuiltinTopicData,
    TopicBuiltinTopicData,
};
pub use bytes::Bytes;
pub use condition::{Condition, GuardCondition, QueryCondition, ReadCondition, StatusCondition, WaitSet};
pub use config::Config;
pub use content_filter::{ContentFilteredTopic, TopicDescription};
pub use dcps::status::StatusMask;
pub use dcps::writer::WriteOptions;
pub use dcps::{
    CdrTypeSupport, Error, InstanceHandle, InstanceState, InstanceStates, KeyError, KeylessTypeSupport,
    ReturnCode, SampleInfo, SampleState, SampleStates, States, TypeSupport, ViewState, ViewStates,
};
pub use entity::{Held, QosKind};
pub use factory::DomainParticipantFactory;
/// The same as [`DomainParticipant`], in a word.
pub use participant::DomainParticipant as Participant;
pub use participant::{
    DiscoveredParticipant, DomainParticipant, DomainParticipantListener, FoundType, IgnoredTopic, NotMatched,
    ParticipantBuilder,
};
pub use publication::{
    AnyDataWriterListener, DataWriter, DataWriterListener, Loan, Publisher, PublisherListener, RawDataWriter,
    WriterBuilder,
};
pub use subscription::{
    AnyDataReaderListener, DataReader, DataReaderListener, RawDataReader, ReaderBuilder, Sample,
    SampleStream, SampleType, Samples, Subscriber, SubscriberListener, WithInfo,
};
pub use topic::{Topic, TopicListener};
pub use transport::Transport;
pub use wall_time::WallTime;

#[doc = include_str!("dds_type.md")]
pub use derive::DdsTypeByDds as DdsType;
pub use wire::cdr;
pub use wire::cdr::DdsType;
pub use wire::{Duration, Guid, GuidPrefix, SequenceNumber, Timestamp};
pub use xtypes;

/// QoS of all entities, and the policies that it consists of.
pub mod qos {
    pub use dcps::qos::*;
    pub use wire::qos::*;
}

/// Assurance of latency between writers and readers that have ASSURANCE among their QoS.
pub mod assurance {
    pub use dcps::assurance::{GateCounters, PairAssurance};
    pub use wire::admission::{Stage, State};
}

/// Sessions over domains, as participants hear of them from `punctual reserve`.
pub mod session {
    pub use dcps::session::PairSession;
    pub use rtps::writer::TokenBucket;
    pub use wire::session::SessionState;
}

/// Communication statuses.
pub mod status {
    pub use dcps::status::*;
}

/// What the untyped readers and writers take and give: samples as bytes.
pub mod serialized {
    pub use dcps::reader::{DropCount, DropReason, Payload, Request, Sample, Which};
    pub use dcps::writer::InstanceOf;
}

/// No status: nothing is to be called for.
pub const NO_STATUS: StatusMask = StatusMask::NONE;
