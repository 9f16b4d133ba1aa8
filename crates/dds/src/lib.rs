//! Data Distribution Service: participants that write and read typed topics (DDS 1.4), on a driver of sockets and threads.
//!
//! Protocol and meaning are in the pure crates below; here they are joined with locks, and with a [`host`].
#![forbid(unsafe_code)]

mod builtin;
mod bytes;
mod condition;
pub mod config;
pub mod driver;
mod entity;
mod factory;
pub mod host;
pub mod links;
mod lock;
mod name;
mod node;
mod participant;
mod publication;
mod shared;
mod subscription;
mod sync;
mod thread;
mod topic;
mod transport;
mod types;

pub use builtin::{
    BuiltinTopic, ParticipantBuiltinTopicData, PublicationBuiltinTopicData, SubscriptionBuiltinTopicData,
    TopicBuiltinTopicData,
};
pub use bytes::Bytes;
pub use condition::{Condition, GuardCondition, QueryCondition, ReadCondition, StatusCondition, WaitSet};
pub use config::Config;
pub use dcps::status::StatusMask;
pub use dcps::writer::WriteOptions;
pub use dcps::{
    CdrTypeSupport, Error, InstanceHandle, InstanceState, InstanceStates, KeyError, KeylessTypeSupport,
    ReturnCode, SampleInfo, SampleState, SampleStates, States, TypeSupport, ViewState, ViewStates,
};
pub use entity::{Held, QosKind};
pub use factory::DomainParticipantFactory;
pub use participant::{
    DiscoveredParticipant, DomainParticipant, DomainParticipantListener, FoundType, IgnoredTopic, NotMatched,
};
pub use publication::{
    AnyDataWriterListener, DataWriter, DataWriterListener, Loan, Publisher, PublisherListener, RawDataWriter,
};
pub use subscription::{
    AnyDataReaderListener, DataReader, DataReaderListener, RawDataReader, Sample, SampleType, Subscriber,
    SubscriberListener,
};
pub use topic::{Topic, TopicListener};
pub use transport::Transport;

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

/// Communication statuses.
pub mod status {
    pub use dcps::status::*;
}

/// What the untyped readers and writers take and give: samples as octets.
pub mod serialized {
    pub use dcps::reader::{DropCount, DropReason, Payload, Request, Sample, Which};
    pub use dcps::writer::InstanceOf;
}

/// No status: nothing is to be called for.
pub const NO_STATUS: StatusMask = StatusMask::NONE;
