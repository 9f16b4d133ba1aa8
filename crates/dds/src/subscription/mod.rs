//! Subscribers and DataReaders.
mod builder;
mod builtin;
mod closures;
mod entity;
mod listener;
mod raw;
mod reader;
mod sample;
mod samples;
mod stream;
mod subscriber;

pub use builder::ReaderBuilder;
pub(crate) use entity::ReaderEntity;
pub use listener::{AnyDataReaderListener, DataReaderListener, SubscriberListener};
pub use raw::RawDataReader;
pub use reader::DataReader;
pub use sample::{Sample, SampleType};
pub use samples::{Samples, WithInfo};
pub use stream::SampleStream;
pub use subscriber::Subscriber;
pub(crate) use subscriber::SubscriberEntity;
