//! Subscribers and DataReaders.
mod builtin;
mod entity;
mod listener;
mod raw;
mod reader;
mod sample;
mod subscriber;

pub use listener::{AnyDataReaderListener, DataReaderListener, SubscriberListener};
pub use raw::RawDataReader;
pub use reader::DataReader;
pub use sample::{Sample, SampleType};
pub use subscriber::Subscriber;
pub(crate) use subscriber::SubscriberEntity;
