//! Times, rates and losses as people write them: `2 ms`, `1.5 us`, `1 Gb/s`, `0.1 %`. Exact, or refused.
use std::fmt;

use diagnostics::{bits_per_second, parts_per_million, picoseconds};
use latency::units::SECOND;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// Picoseconds, at most an hour.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Time(pub(crate) u64);

/// Bits per second, from 1 to 10^12.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Rate(pub(crate) u64);

/// Frames that are lost of a million.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Loss(pub(crate) u32);

/// The number by which a switch names itself in OpenFlow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Datapath(pub(crate) u64);

/// A part of a link, in parts of a million, above none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Share(pub(crate) u32);

/// By how much clocks run apart, in parts of a million, at most a tenth.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Drift(pub(crate) u32);

impl Time {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expected = "a time such as \"2 ms\": a number and ps, ns, us, ms, s or min, at most an hour";
        let time = picoseconds(text).filter(|time| *time <= 3_600 * SECOND);
        time.map(Self).ok_or_else(|| format!("\"{text}\" is not {expected}"))
    }
}

impl Rate {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expected = "a rate such as \"1 Gb/s\": a number and b/s, kb/s, Mb/s or Gb/s, at most 1000 Gb/s";
        let rate = bits_per_second(text).filter(|rate| (1..=1_000_000_000_000).contains(rate));
        rate.map(Self).ok_or_else(|| format!("\"{text}\" is not {expected}"))
    }
}

/// Bits per second of a text such as `100 Mb/s`.
///
/// # Errors
/// It is no rate.
pub fn rate(text: &str) -> Result<u64, String> {
    Rate::parse(text).map(|rate| rate.0)
}

impl Loss {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expected = "a loss such as \"0.1 %\": a number and % or ppm, at most all";
        parts_per_million(text).map(Self).ok_or_else(|| format!("\"{text}\" is not {expected}"))
    }
}

impl Share {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expected = "a share of a link such as \"5 %\": a number and % or ppm, above 0, at most all";
        let share = parts_per_million(text).filter(|share| *share > 0);
        share.map(Self).ok_or_else(|| format!("\"{text}\" is not {expected}"))
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a share of a link in quotes such as \"5 %\"";
        deserializer.deserialize_str(Text { parse: Self::parse, expected })
    }
}

impl Drift {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expected = "a drift of clocks such as \"200 ppm\": a number and ppm or %, at most 10 %";
        let drift = parts_per_million(text).filter(|drift| *drift <= 100_000);
        drift.map(Self).ok_or_else(|| format!("\"{text}\" is not {expected}"))
    }
}

impl Datapath {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expected = "a datapath id such as \"0x2a\" or \"42\"";
        let digits = text.trim();
        let id = match digits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        id.map(Self).map_err(|_| format!("\"{text}\" is not {expected}"))
    }
}

impl<'de> Deserialize<'de> for Datapath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text {
            parse: Self::parse,
            expected: "a datapath id in quotes such as \"0x2a\"",
        })
    }
}

impl<'de> Deserialize<'de> for Drift {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a drift of clocks in quotes such as \"200 ppm\"";
        deserializer.deserialize_str(Text { parse: Self::parse, expected })
    }
}

impl<'de> Deserialize<'de> for Loss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_str(Text { parse: Self::parse, expected: "a loss in quotes such as \"0.1 %\"" })
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_str(Text { parse: Self::parse, expected: "a time in quotes such as \"2 ms\"" })
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_str(Text { parse: Self::parse, expected: "a rate in quotes such as \"1 Gb/s\"" })
    }
}

/// Reads text; what is not text is told with what is expected.
struct Text<Q> {
    parse: fn(&str) -> Result<Q, String>,
    expected: &'static str,
}

impl<Q> Visitor<'_> for Text<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Q, E> {
        (self.parse)(text).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latency::units::MILLISECOND;

    #[test]
    fn what_people_write_is_read_exactly() {
        for (text, picoseconds) in [
            ("2 ms", 2 * MILLISECOND),
            ("1.5us", 1_500_000),
            ("0.001 ns", 1),
            ("0s", 0),
            (" 60 min", 3_600 * SECOND),
        ] {
            assert_eq!(Time::parse(text), Ok(Time(picoseconds)), "{text}");
        }
        assert_eq!(Rate::parse("2.5 Gb/s"), Ok(Rate(2_500_000_000)));
        assert_eq!(Rate::parse("100Mbit/s"), Ok(Rate(100_000_000)));
        assert_eq!(Loss::parse("0.25 %"), Ok(Loss(2_500)));
        assert_eq!(Loss::parse("100%"), Ok(Loss(1_000_000)));
        assert_eq!(Loss::parse("3 ppm"), Ok(Loss(3)));
        assert_eq!(Drift::parse("0.02 %"), Ok(Drift(200)));
        assert_eq!(Datapath::parse("0xffffffffffffffff"), Ok(Datapath(u64::MAX)));
        assert_eq!(Datapath::parse("42"), Ok(Datapath(42)));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in
            ["", "2", "ms", "2 hours", "-1 ms", "1.2.3 ms", "1. ms", ".5 ms", "61 min", "0.5 ps", "1e3 s"]
        {
            assert!(Time::parse(text).is_err(), "{text}");
        }
        for text in ["0 b/s", "1001 Gb/s", "1 GB/s", "99999999999999999999 b/s"] {
            assert!(Rate::parse(text).is_err(), "{text}");
        }
        for text in ["1", "0.00001 %", "101 %", "1000001 ppm", "-1 %"] {
            assert!(Loss::parse(text).is_err(), "{text}");
            assert!(Drift::parse(text).is_err(), "{text}");
        }
        for text in ["", "0x", "s1", "-1", "0x10000000000000000"] {
            assert!(Datapath::parse(text).is_err(), "{text}");
        }
        assert!(Drift::parse("10.0001 %").is_err() && Drift::parse("10 %").is_ok());
    }
}
