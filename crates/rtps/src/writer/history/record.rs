//! What is known of a change that is held, and where its bytes lie.
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use wire::message::PayloadKind;
use wire::{SequenceNumber, Timestamp};

use crate::Payload;

/// A change that is still held.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) number: SequenceNumber,
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) kind: PayloadKind,
    /// What all changes before this one cost a receive buffer, in bytes.
    pub(crate) offset: u64,
    pub(crate) place: Place,
}

impl Record {
    /// The slab that it is in, if it is in one.
    pub(crate) const fn slab(&self) -> Option<u64> {
        match self.place {
            Place::Slab { slab, .. } => Some(slab),
            Place::Large(_) | Place::Removed => None,
        }
    }
}

/// Where the bytes of a change are.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// Removed; the entry goes with the next sweep.
    Removed,
    /// A DATA submessage at `data` in a slab, its payload at `payload` inside it.
    Slab { slab: u64, data: Range<u32>, payload: Range<u32>, own_timestamp: bool },
    /// A large sample by its handle's number.
    Large(u64),
}

/// A large sample.
#[derive(Debug)]
pub(crate) struct Large<P> {
    pub(crate) payload: P,
    pub(crate) inline_qos: Vec<u8>,
    /// Bytes of a fragment, or 0 if the sample fits a datagram whole.
    pub(crate) fragment_size: u32,
}

#[derive(Debug)]
pub(crate) struct Slab {
    pub(crate) bytes: Arc<Vec<u8>>,
    /// Bytes of header, INFO_TS and DATA; a HEARTBEAT may follow.
    pub(crate) end: usize,
    pub(crate) last: SequenceNumber,
    /// The timestamp that holds at `end`.
    pub(super) timestamp: Option<Timestamp>,
    pub(super) live: u32,
    pub(super) live_bytes: usize,
}

/// Where a payload can be taken from.
#[derive(Debug)]
pub(crate) enum Source<'a, P> {
    Slab(&'a Arc<Vec<u8>>, Range<usize>),
    Handle(&'a P),
}

impl<P: Payload> Source<'_, P> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Slab(_, range) => range.len(),
            Self::Handle(payload) => payload.size(),
        }
    }
}

/// What a write brings, apart from its payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) kind: PayloadKind,
    pub(crate) inline_qos: Option<&'a [u8]>,
    pub(crate) timestamp: Option<Timestamp>,
}
