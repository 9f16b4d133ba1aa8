//! Recordings of topics as MCAP files (version 0 of that format): samples with their times, types and QoS.
//!
//! A channel of the file is a topic as one or several writers with the same type and QoS write it. Its samples are kept as they were on the
//! wire, encapsulation header included, which other tools know as `cdr`; its schema is the type in IDL, which they know as `omgidl`. What
//! else is needed to write the samples again is in the metadata of the channel.
#![forbid(unsafe_code)]

mod channel;
mod read;
mod record;
mod write;

pub use channel::{Channel, End};
pub use read::{Entry, Item, ReadError, Recording};
pub use write::Recorder;
