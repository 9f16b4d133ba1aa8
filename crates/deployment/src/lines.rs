//! Cuts bytes into lines of a limited length.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Bytes that came, until a line is whole.
#[derive(Clone, Debug)]
pub struct Lines {
    waiting: Vec<u8>,
    /// Of the bytes that wait, so many have no end of a line.
    looked_at: usize,
    longest: usize,
}

/// Why there are no more lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LineError {
    /// A line is longer than this.
    TooLong(usize),
    /// A line is no UTF-8.
    NotText,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(longest) => write!(f, "a line has more than {longest} bytes: end the connection"),
            Self::NotText => f.write_str("a line is no UTF-8: end the connection"),
        }
    }
}

impl core::error::Error for LineError {}

impl Lines {
    /// Lines of at most so many bytes, without their end.
    pub const fn new(longest: usize) -> Self {
        Self { waiting: Vec::new(), looked_at: 0, longest }
    }

    /// These bytes came.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// The next line that is whole. After an error nothing that comes later can be trusted.
    ///
    /// # Errors
    /// A line is too long, or no text.
    pub fn next_line(&mut self) -> Result<Option<String>, LineError> {
        let rest = self.waiting.get(self.looked_at..).unwrap_or_default();
        let Some(end) = rest.iter().position(|byte| *byte == b'\n').map(|end| end + self.looked_at) else {
            self.looked_at = self.waiting.len();
            let is_too_long = self.waiting.len() > self.longest;
            return if is_too_long { Err(LineError::TooLong(self.longest)) } else { Ok(None) };
        };
        if end > self.longest {
            return Err(LineError::TooLong(self.longest));
        }
        let line: Vec<u8> = self.waiting.drain(..=end).take(end).collect();
        self.looked_at = 0;
        String::from_utf8(line).map(Some).map_err(|_| LineError::NotText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn lines_come_as_they_are_cut() {
        let mut lines = Lines::new(4);
        for byte in b"ab\n\nabcd\nx" {
            lines.feed(&[*byte]);
        }
        for expected in ["ab", "", "abcd"] {
            assert_eq!(lines.next_line(), Ok(Some(expected.to_string())));
        }
        assert_eq!(lines.next_line(), Ok(None));
        lines.feed(b"y\nz");
        assert_eq!(lines.next_line(), Ok(Some("xy".to_string())));
    }

    #[test]
    fn long_lines_and_other_bytes_are_refused() {
        for bytes in [&b"abcde"[..], b"abcde\n"] {
            let mut lines = Lines::new(4);
            lines.feed(bytes);
            assert_eq!(lines.next_line(), Err(LineError::TooLong(4)), "{bytes:?}");
        }
        let mut lines = Lines::new(4);
        lines.feed(b"\xff\n");
        assert_eq!(lines.next_line(), Err(LineError::NotText));
    }
}
