//! Samples on their way to the application, and where they go.
use alloc::sync::Arc;
use alloc::vec::Vec;

use wire::parameter::InlineQos;
use wire::{Guid, SequenceNumber, Timestamp};

use crate::Value;

/// A sample on its way to the application.
#[derive(Debug)]
pub struct Sample<'a> {
    /// The writer.
    pub writer: Guid,
    /// Its number.
    pub sequence_number: SequenceNumber,
    /// When it was written.
    pub source_timestamp: Option<Timestamp>,
    /// Its inline QoS.
    pub inline_qos: InlineQos,
    /// The payload is a serialized key.
    pub is_key: bool,
    /// The bytes.
    pub payload: SamplePayload<'a>,
}

/// Where the bytes of a sample are, encapsulation header included; up to three bytes of padding may follow.
#[derive(Debug, Default)]
pub enum SamplePayload<'a> {
    /// There are none.
    #[default]
    None,
    /// In the datagram that is being read.
    Datagram(&'a [u8]),
    /// Nowhere yet: this is a sample of the same process.
    Value(Arc<dyn Value>),
    /// In a buffer of their own; give it back by [`Reader::recycle`](super::Reader::recycle) when done.
    Owned(Vec<u8>),
}

impl SamplePayload<'_> {
    /// How many bytes there are.
    #[inline]
    pub fn size(&self) -> usize {
        match self {
            Self::Value(value) => value.size(),
            _ => self.bytes().len(),
        }
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::None => &[],
            Self::Value(value) => value.bytes(),
            Self::Datagram(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// What a sink did with a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accept {
    /// It has it, or does not want it. The payload may have been moved out.
    Taken,
    /// It has no room. A reliable reader keeps it and offers it again by [`Reader::resume`](super::Reader::resume); for a best-effort one it is lost.
    Full,
}

/// Why a sample that came, or whose beginning came, can never be taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unusable {
    /// It is larger than the reader can ever hold.
    TooLarge {
        /// Bytes of the serialized sample.
        size: usize,
        /// Most bytes that the reader takes.
        limit: usize,
    },
    /// Its inline QoS cannot be read.
    InlineQos,
}

/// Where a reader's samples go.
pub trait Sink {
    /// Takes the next sample of a writer, or refuses it.
    fn deliver(&mut self, sample: &mut Sample<'_>) -> Accept;
    /// As [`Sink::deliver`], of a sample without inline QoS that lies in the datagram that is being read. False if that is not so simple,
    /// as always by default; then nothing has changed but what was due, and [`Sink::deliver`] is to follow.
    #[inline]
    fn deliver_next(
        &mut self,
        writer: Guid,
        number: SequenceNumber,
        source: Option<Timestamp>,
        bytes: &[u8],
    ) -> bool {
        let _ = (writer, number, source, bytes);
        false
    }
    /// `count` samples from `first` on will never come.
    fn lost(&mut self, writer: Guid, first: SequenceNumber, count: u64);
    /// A sample can never be taken, and the reader goes on without it; told once for each. By default it counts as lost.
    fn refused(&mut self, writer: Guid, number: SequenceNumber, why: Unusable) {
        let _ = why;
        self.lost(writer, number, 1);
    }
}
