//! What went wrong, told so that it can be repeated.
use std::fmt;
use std::time::Duration;

use alloc_meter::Usage;

/// Why an input counts as failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The code panicked, or a rule of the target did not hold.
    Panic(String),
    /// It took too much from the heap.
    Memory {
        /// What it took.
        usage: Usage,
        /// What it may hold at one time.
        allowed: usize,
    },
    /// The session keeps too much of all its inputs.
    Growth {
        /// Bytes it keeps.
        kept: isize,
        /// Bytes it may keep.
        allowed: isize,
    },
    /// It did not end within this time.
    Hang(Duration),
}

impl Cause {
    /// True if both are of one kind.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(message) => f.write_str(message),
            Self::Memory { usage, allowed } => write!(
                f,
                "held {} octets of the heap, {} of them in one allocation; {allowed} are allowed",
                usage.peak, usage.largest
            ),
            Self::Growth { kept, allowed } => {
                write!(f, "keeps {kept} octets of the heap of the inputs so far; {allowed} are allowed")
            }
            Self::Hang(limit) => write!(f, "did not end within {} s", limit.as_secs_f64()),
        }
    }
}

/// A failed case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The name of the target.
    pub target: &'static str,
    /// The seed of the run.
    pub seed: u64,
    /// The number of the case.
    pub case: u64,
    /// Why.
    pub cause: Cause,
    /// The input, as short as it could be made.
    pub input: Vec<u8>,
    /// The length of the input of the case if `input` alone fails on a new session; `None` if that is not so or not known.
    pub shrunk_from: Option<usize>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, seed, case, cause, input, shrunk_from } = self;
        writeln!(f, "{target}, case {case} of seed {seed}: {cause}")?;
        let hex = to_hex(input);
        let command = format!("cargo run --package punctual-fuzz -- {target}");
        match shrunk_from {
            Some(full) => {
                writeln!(f, "input, {} octets (shrunk from {full}): {hex}", input.len())?;
                writeln!(f, "repeat this input: {command} --input {hex}")?;
            }
            None => writeln!(f, "input, {} octets, in the place of its case: {hex}", input.len())?,
        }
        write!(f, "repeat the case: {command} --seed {seed} --case {case}")
    }
}

impl std::error::Error for Failure {}

/// Two digits for each byte.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// The bytes of a text of hexadecimal digits; `None` if it is something else.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|value| u8::try_from(value).ok())).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    let (pairs, _) = digits.as_chunks::<2>();
    Some(pairs.iter().map(|pair| pair.iter().fold(0, |octet, digit| octet << 4 | digit)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_there_and_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&to_hex(&bytes)), Some(bytes));
        assert_eq!(from_hex("0g"), None);
        assert_eq!(from_hex("123"), None);
    }

    #[test]
    fn a_failure_tells_how_to_repeat_it() {
        let mut failure = Failure {
            target: "rtps_message",
            seed: 7,
            case: 9,
            cause: Cause::Panic("index out of bounds".to_owned()),
            input: vec![0xab, 1],
            shrunk_from: Some(100),
        };
        let text = failure.to_string();
        for words in ["index out of bounds", "rtps_message --seed 7 --case 9", "rtps_message --input ab01"] {
            assert!(text.contains(words), "{text}");
        }
        failure.shrunk_from = None;
        assert!(!failure.to_string().contains("--input"));
    }
}
