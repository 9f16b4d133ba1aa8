//! Writing in network byte order, with lengths that are filled in afterwards.
use alloc::vec::Vec;
use core::fmt;

/// A message of more than 65,535 bytes, which the length of OpenFlow cannot express. Split it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong {
    /// Bytes that the message would have.
    pub len: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a message of {} octets, and OpenFlow ends at 65535: split it", self.len)
    }
}

impl core::error::Error for TooLong {}

/// What encoders need of a vector.
pub(crate) trait Put {
    fn u8(&mut self, value: u8);
    fn u16(&mut self, value: u16);
    fn u32(&mut self, value: u32);
    fn u64(&mut self, value: u64);
    fn octets(&mut self, bytes: &[u8]);
    fn zeros(&mut self, count: usize);
    /// Zeros until what began at `start` is a multiple of eight bytes long.
    fn pad_8(&mut self, start: usize);
    /// Writes the bytes since `start` as a number of two bytes at `at`. What does not fit is seen when the message is
    /// finished, since no part is longer than the message.
    fn fill_len(&mut self, start: usize, at: usize);
}

impl Put for Vec<u8> {
    fn u8(&mut self, value: u8) {
        self.push(value);
    }

    fn u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn octets(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn zeros(&mut self, count: usize) {
        self.resize(self.len().saturating_add(count), 0);
    }

    fn pad_8(&mut self, start: usize) {
        let len = self.len().saturating_sub(start);
        self.zeros(len.wrapping_neg() & 7);
    }

    fn fill_len(&mut self, start: usize, at: usize) {
        let len = self.len().saturating_sub(start) as u16;
        if let Some(place) = self.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
            *place = len.to_be_bytes();
        }
    }
}
