//! Publishers and DataWriters.
mod builder;
mod closures;
mod entity;
mod listener;
mod loan;
mod publisher;
mod raw;
mod writer;

pub use builder::WriterBuilder;
pub use listener::{AnyDataWriterListener, DataWriterListener, PublisherListener};
pub use loan::Loan;
pub use publisher::Publisher;
pub(crate) use publisher::PublisherEntity;
pub use raw::RawDataWriter;
pub use writer::DataWriter;
pub(crate) use writer::{encoding, not_encoded};
