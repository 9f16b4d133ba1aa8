//! Writing parameter lists.
use alloc::vec::Vec;

use super::pid;

/// Appends a parameter list, little endian, to a buffer of the caller. A buffer with enough capacity is never reallocated.
#[derive(Debug)]
pub struct ParameterWriter<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> ParameterWriter<'a> {
    /// Begins a list at the end of `out`.
    pub const fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Appends one parameter, padded with zeros to a multiple of four bytes. A value of more than 65,532 bytes does not
    /// fit into a parameter: it is left out.
    #[inline(never)]
    pub fn octets(&mut self, pid: u16, value: &[u8]) {
        self.with(pid, |out| out.extend_from_slice(value));
    }

    /// Appends one parameter whose value is what `write` appends.
    pub(crate) fn with(&mut self, pid: u16, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.begin(pid);
        write(self.out);
        self.end(start);
    }

    /// Appends the header of a parameter, and says where it is.
    #[inline(never)]
    fn begin(&mut self, pid: u16) -> usize {
        let start = self.out.len();
        let [low, high] = pid.to_le_bytes();
        self.out.extend_from_slice(&[low, high, 0, 0]);
        start
    }

    /// Pads the parameter that begins at `start`, and puts down its length.
    #[inline(never)]
    fn end(&mut self, start: usize) {
        let written = self.out.len().saturating_sub(start).saturating_sub(4);
        let Ok(len) = u16::try_from(written.next_multiple_of(4)) else {
            self.out.truncate(start);
            return;
        };
        let padding = usize::from(len).saturating_sub(written);
        self.out.extend_from_slice([0, 0, 0].get(..padding).unwrap_or(&[]));
        if let Some([_, _, length @ ..]) = self.out.get_mut(start..)
            && let Some(length) = length.first_chunk_mut()
        {
            *length = len.to_le_bytes();
        }
    }

    /// Appends the sentinel.
    pub fn finish(self) {
        let [low, high] = pid::SENTINEL.to_le_bytes();
        self.out.extend_from_slice(&[low, high, 0, 0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_padded_and_too_long_ones_left_out() {
        let mut out = Vec::from([9]);
        let mut list = ParameterWriter::new(&mut out);
        list.octets(0x8001, &[1, 2, 3]);
        list.octets(0x8002, &[0; 65_533]);
        list.octets(0x8003, &[]);
        list.finish();
        assert_eq!(out, [9, 1, 0x80, 4, 0, 1, 2, 3, 0, 3, 0x80, 0, 0, 1, 0, 0, 0]);
    }
}
