//! What DDS means on top of RTPS, as state machines without input or output (DDS 1.4, 2.2.2).
//!
//! [`DataWriter`](writer::DataWriter) and [`DataReader`](reader::DataReader) know instances, history, resource limits and
//! the policies that are about time; `rtps` below them knows datagrams. Neither knows the type of a sample: they hold
//! bytes, and ask a [`TypeSupport`] for keys. The time comes in with every call, and the next timeout comes out.
//!
//! Every cache has a limit in samples, instances and bytes. What a reader does not hand on is counted with its reason.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod assurance;
mod error;
mod instance;
mod instance_table;
pub mod qos;
pub mod reader;
mod sample_info;
pub mod session;
pub mod status;
mod timers;
mod topic;
mod type_support;
pub mod writer;

pub use error::{Error, ReturnCode};
pub use instance::InstanceHandle;
pub use sample_info::{
    InstanceState, InstanceStates, SampleInfo, SampleState, SampleStates, States, ViewState, ViewStates,
};
pub use topic::Topic;
pub use type_support::{CdrTypeSupport, KeyError, KeylessTypeSupport, TypeSupport, canonical_key};
