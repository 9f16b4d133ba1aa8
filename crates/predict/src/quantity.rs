//! Quantities as files say them, with the limits that they have: what is wrong is told where it is read.
use alloc::format;
use alloc::string::{String, ToString as _};
use core::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A time in picoseconds, at most an hour.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Time(pub(crate) u64);

/// Bits each second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate(pub(crate) u64);

/// Parts of a million, at most all.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Parts(pub(crate) u32);

/// A whole number from 1 on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count<const MOST: u32>(pub(crate) u32);

/// A name.
#[derive(Clone, Debug)]
pub(crate) struct Name(pub(crate) String);

const HOUR: u64 = 3_600_000_000_000_000;
const FASTEST: u64 = 1_000_000_000_000;
const LONGEST_NAME: usize = 256;

/// Reads text.
struct Text<Q> {
    parse: fn(&str) -> Option<Q>,
    expected: &'static str,
}

impl<Q> Visitor<'_> for Text<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Q, E> {
        (self.parse)(text).ok_or_else(|| E::custom(format!("\"{text}\" is not {}", self.expected)))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| diagnostics::picoseconds(text).filter(|time| *time <= HOUR).map(Self);
        let expected =
            "a time in quotes such as \"2 ms\": a number and ps, ns, us, ms, s or min, at most an hour";
        deserializer.deserialize_str(Text { parse, expected })
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| {
            diagnostics::bits_per_second(text).filter(|rate| (1..=FASTEST).contains(rate)).map(Self)
        };
        let expected =
            "a rate in quotes such as \"1 Gb/s\": a number and b/s, kb/s, Mb/s or Gb/s, at most 1000 Gb/s";
        deserializer.deserialize_str(Text { parse, expected })
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| diagnostics::parts_per_million(text).map(Self);
        let expected = "a part in quotes such as \"5 %\": a number and % or ppm, at most all";
        deserializer.deserialize_str(Text { parse, expected })
    }
}

impl<'de, const MOST: u32> Deserialize<'de> for Count<MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        let count = u32::try_from(number).ok().filter(|count| (1..=MOST).contains(count));
        count.map(Self).ok_or_else(|| D::Error::custom(format!("{number} is not a number from 1 to {MOST}")))
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| {
            let is_plain = |c: char| !c.is_control() && c != '"' && c != '\\';
            let fits = !text.is_empty() && text.chars().count() <= LONGEST_NAME && text.chars().all(is_plain);
            fits.then(|| Self(text.to_string()))
        };
        let expected = "a name of 1 to 256 characters, without quotes and backslashes";
        deserializer.deserialize_str(Text { parse, expected })
    }
}
