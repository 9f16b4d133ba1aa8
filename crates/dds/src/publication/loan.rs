//! Samples that are written where they are sent from.
use std::ops::{Deref, DerefMut};

use crate::bytes::Memory;

/// Memory for one serialized sample, encapsulation header included, lent by [`RawDataWriter::loan`](super::RawDataWriter::loan) and given
/// back by [`RawDataWriter::write_loaned`](super::RawDataWriter::write_loaned), or by being dropped.
///
/// Where memory is shared with another process of the host, it lies there, and readers of that process copy it out once; else it is a
/// buffer. Its bytes are not cleared: they are zeros, or those of an earlier sample of the participant.
#[derive(Debug)]
pub struct Loan {
    memory: Memory,
}

impl Loan {
    pub(super) const fn new(memory: Memory) -> Self {
        Self { memory }
    }

    pub(super) fn into_memory(self) -> Memory {
        self.memory
    }

    /// The sample has only so many bytes; it never has more than the loan was for.
    pub fn truncate(&mut self, len: usize) {
        self.memory.truncate(len);
    }

    /// True if it lies in memory that is shared with other processes.
    pub const fn is_shared(&self) -> bool {
        matches!(self.memory, Memory::Shared(_))
    }
}

impl Deref for Loan {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.bytes()
    }
}

impl DerefMut for Loan {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.memory.bytes_mut()
    }
}
