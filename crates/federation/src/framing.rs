//! Datagrams in a stream of bytes, as TCP carries them: four bytes of length before each.
use alloc::vec::Vec;
use core::fmt;

/// Bytes of the largest datagram in a stream.
const LARGEST: usize = 65_536;

/// Appends a datagram to bytes that go into a stream.
pub fn frame(datagram: &[u8], to: &mut Vec<u8>) {
    to.extend_from_slice(&(datagram.len() as u32).to_le_bytes());
    to.extend_from_slice(datagram);
}

/// The stream is none of datagrams; the connection has to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameError {
    /// The length that was said.
    pub length: u32,
}

impl fmt::Display for FrameError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "a datagram of {} bytes, above the most of {LARGEST}: the peer is no gateway",
            self.length
        )
    }
}

impl core::error::Error for FrameError {}

/// Takes datagrams out of a stream. It holds one that is not whole at most.
#[derive(Clone, Default, Debug)]
pub struct Frames {
    bytes: Vec<u8>,
    start: usize,
}

impl Frames {
    /// Bytes have come.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next datagram that is whole.
    ///
    /// # Errors
    /// The stream is broken.
    pub fn next_datagram(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let rest = self.bytes.get(self.start..).unwrap_or_default();
        let Some((length, _)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let said = u32::from_le_bytes(*length);
        let length = usize::try_from(said).unwrap_or(usize::MAX);
        if length > LARGEST {
            return Err(FrameError { length: said });
        }
        let from = self.start + 4;
        if self.bytes.len() < from + length {
            return Ok(None);
        }
        self.start = from + length;
        Ok(self.bytes.get(from..self.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_come_out_however_the_stream_is_cut() {
        let mut stream = Vec::new();
        let all: [&[u8]; 4] = [b"one", b"", b"three", &[7; 65_536]];
        all.iter().for_each(|datagram| frame(datagram, &mut stream));
        for cut in [1, 2, 5, 1_000, 70_000] {
            let (mut frames, mut out) = (Frames::default(), Vec::new());
            for part in stream.chunks(cut) {
                frames.push(part);
                while let Some(datagram) = frames.next_datagram().unwrap() {
                    out.push(datagram.to_vec());
                }
            }
            assert_eq!(out, all);
        }
        let mut frames = Frames::default();
        frames.push(&65_537_u32.to_le_bytes());
        assert_eq!(frames.next_datagram(), Err(FrameError { length: 65_537 }));
    }
}
