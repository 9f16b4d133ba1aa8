//! A segment that is written at will, as a process may write its own that lies: for tests, simulation and fuzzing of its readers.
use std::os::fd::BorrowedFd;

use crate::segment::{RING, Segment, SegmentError};
use crate::sync::atomic::Ordering::SeqCst;

/// A segment of ours that nothing honest is made of.
#[derive(Debug)]
pub struct Scribble {
    segment: Segment,
}

impl Scribble {
    /// Where the ring begins.
    pub const RING: usize = RING;

    /// It begins as an honest one, with an empty ring.
    ///
    /// # Errors
    ///
    /// As [`Segment::new`].
    pub fn new(nonce: u64, capacity: usize) -> Result<Self, SegmentError> {
        Segment::new(nonce, capacity).map(|segment| Self { segment })
    }

    /// What the other side has to be given.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.segment.file()
    }

    /// Writes a word; false if it is not aligned, or not inside.
    pub fn put(&self, at: usize, word: u64) -> bool {
        self.segment.own.map.word(at).map(|place| place.store(word, SeqCst)).is_some()
    }

    /// Writes bytes, in words, the last filled up with zeros; false if they begin at no word, or are not all inside.
    pub fn put_bytes(&self, at: usize, bytes: &[u8]) -> bool {
        let inside = self.segment.own.map.word(at + bytes.len().saturating_sub(1) / 8 * 8).is_some();
        inside
            && bytes.chunks(8).enumerate().all(|(index, part)| {
                let mut word = [0; 8];
                let (front, _) = word.split_at_mut(part.len());
                front.copy_from_slice(part);
                self.put(at + index * 8, u64::from_ne_bytes(word))
            })
    }
}
