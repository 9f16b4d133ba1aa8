//! The trace of a run: a hash of all that happened, and its text on demand.
use std::fmt;

use wire::Instant;

use crate::random::mix;

/// Folds everything that happens into one number, so that two runs of a seed can be compared, and writes it as text if asked.
pub struct Trace<'a> {
    hash: u64,
    lines: Option<&'a mut dyn FnMut(&str)>,
}

impl<'a> Trace<'a> {
    /// A trace that is only hashed.
    pub const fn silent() -> Self {
        Self { hash: 0x5049_4e47, lines: None }
    }

    /// A trace whose every line is also handed to `lines`.
    pub const fn to(lines: &'a mut dyn FnMut(&str)) -> Self {
        Self { hash: 0x5049_4e47, lines: Some(lines) }
    }

    /// The hash of all that was recorded up to here.
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// Folds numbers in.
    pub fn fold(&mut self, values: &[u64]) {
        for value in values {
            self.hash = mix(self.hash.rotate_left(23) ^ value);
        }
    }

    /// Folds bytes in.
    pub fn fold_bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.fold(&[u64::from_le_bytes(*word)]));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.fold(&[u64::from_le_bytes(last), bytes.len() as u64]);
    }

    /// True if lines are wanted: a caller asks before it does work for one.
    pub const fn is_verbose(&self) -> bool {
        self.lines.is_some()
    }

    /// Writes a line, with the time before it. Lines do not touch the hash.
    pub fn line(&mut self, at: Instant, text: fmt::Arguments<'_>) {
        if let Some(lines) = &mut self.lines {
            let nanos = at.as_nanos();
            lines(&format!("[{:>4}.{:09}] {text}", nanos / 1_000_000_000, nanos % 1_000_000_000));
        }
    }
}

impl fmt::Debug for Trace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({:016x})", self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_tells_content_length_and_order_apart() {
        let hash = |parts: &[&[u8]]| {
            let mut trace = Trace::silent();
            parts.iter().for_each(|part| trace.fold_bytes(part));
            trace.hash()
        };
        assert_eq!(hash(&[b"ab", b"c"]), hash(&[b"ab", b"c"]));
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"c", b"ab"]));
        assert_ne!(hash(&[b"a"]), hash(&[b"a\0"]));
    }

    #[test]
    fn lines_carry_the_time() {
        let mut text = String::new();
        let mut write = |line: &str| text.push_str(line);
        Trace::to(&mut write).line(Instant::from_nanos(1_000_000_001), format_args!("{}", "hello"));
        assert_eq!(text, "[   1.000000001] hello");
    }
}
