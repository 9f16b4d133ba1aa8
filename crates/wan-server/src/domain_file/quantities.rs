//! Quantities and words of a domain's file as text: exact, or rounded against the domain, or refused.
use std::fmt;
use std::net::IpAddr;

use diagnostics::{number, parts_per_million, picoseconds};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use wan::{Class, Prefix};

/// Bits per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate(pub(super) u64);

/// Nanoseconds, rounded up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Time(pub(super) u64);

/// Bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes(pub(super) u64);

/// Packets of a million.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loss(pub(super) u32);

/// A class in which sessions reserve.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionClass(pub(super) Class);

/// Addresses with the same first bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses(pub(super) Prefix);

/// No delay in a file is longer: an hour.
const LONGEST: u64 = 3_600_000_000_000;

/// Thousandths, rounded down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share(pub(super) u32);

/// An address of an interface, with the length of its range.
#[derive(Clone, Copy, Debug)]
pub(super) struct InterfaceAddress(pub(super) Prefix);

struct Text<T> {
    parse: fn(&str) -> Option<T>,
    expected: &'static str,
}

impl<T> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).ok_or_else(|| E::custom(format!("\"{text}\" is not {}", self.expected)))
    }
}

macro_rules! texts {
    ($($name:ident: $expected:literal, $parse:expr;)*) => { $(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Text { parse: $parse, expected: $expected })
            }
        }
    )* };
}

texts! {
    Rate: "a rate in quotes such as \"10 Mbit/s\"", |text| network::rate(text).ok().map(Rate);
    Time: "a time in quotes such as \"3 ms\", at most an hour", |text| {
        picoseconds(text).map(|time| time.div_ceil(1_000)).filter(|time| *time <= LONGEST).map(Time)
    };
    Bytes: "a number of bytes in quotes such as \"20 kB\", at most 1 TB", |text| {
        let units = [("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)];
        number(text, &units).filter(|bytes| *bytes <= 1_000_000_000_000).map(Bytes)
    };
    Loss: "a loss in quotes such as \"0.1 %\" or \"10 ppm\"", |text| parts_per_million(text).map(Loss);
    Share: "a share in quotes such as \"40 %\"", |text| {
        let thousandths = number(text, &[("%", 10)])?;
        u32::try_from(thousandths).ok().filter(|share| *share <= 1_000).map(Share)
    };
    InterfaceAddress: "an address in quotes with the length of its range, such as \"10.1.0.1/24\"", |text| {
        text.contains('/').then(|| range(text)).flatten().map(InterfaceAddress)
    };
    SessionClass: "a class: \"ef\", \"af4\" or \"af1\"", |text| class(text).map(SessionClass);
    Addresses: "a range of addresses in quotes such as \"10.1.0.0/16\", whose other bits are 0", |text| {
        prefix(text).map(Addresses)
    };
}

/// Names of classes in which sessions reserve.
const CLASSES: [(&str, Class); 3] = [("ef", Class::Ef), ("af4", Class::Af4), ("af1", Class::Af1)];

/// The class of a name.
pub(crate) fn class(text: &str) -> Option<Class> {
    CLASSES.iter().find(|(name, _)| *name == text).map(|(_, class)| *class)
}

/// The name of a class.
pub(crate) fn class_name(class: Class) -> &'static str {
    CLASSES.iter().find(|(_, other)| *other == class).map_or("be", |(name, _)| name)
}

/// A range such as `10.1.0.0/16`, or one address.
pub fn prefix(text: &str) -> Option<Prefix> {
    let Prefix { address, length } = range(text)?;
    let bits = match address {
        IpAddr::V4(address) => u128::from(u32::from(address)) << 96,
        IpAddr::V6(address) => u128::from(address),
    };
    let is_plain = bits.checked_shl(u32::from(length)).unwrap_or(0) == 0;
    is_plain.then_some(Prefix { address, length })
}

/// An address and a length that it may have.
fn range(text: &str) -> Option<Prefix> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let width = if address.is_ipv4() { 32 } else { 128 };
    let length =
        length.map_or(Some(width), |length| length.parse().ok()).filter(|length| *length <= width)?;
    Some(Prefix { address, length })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_no_bits_beyond_their_length() {
        for text in ["10.1.0.0/16", "0.0.0.0/0", "10.1.2.3", "10.1.2.3/32", "2001:db8::/32", "::1/128"] {
            assert!(prefix(text).is_some(), "{text}");
        }
        for text in ["10.1.0.1/16", "10.1.0.0/33", "::1/127", "::/129", "10.1.0.0/", "10.1/16", ""] {
            assert!(prefix(text).is_none(), "{text}");
        }
    }
}
