//! The types of values that AVPs have. RFC 6733, 4.2 and 4.3.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::avp::Avp;
use crate::error::{DecodeError, Problem};

/// A type of values.
pub trait Value: Sized {
    /// Reads the value of an AVP.
    ///
    /// # Errors
    /// A length or a value that the type does not have.
    fn read(avp: &Avp<'_>) -> Result<Self, DecodeError>;
    /// Appends the value, without padding.
    fn write(&self, out: &mut Vec<u8>);
}

fn array<const N: usize>(avp: &Avp<'_>) -> Result<[u8; N], DecodeError> {
    <[u8; N]>::try_from(avp.value).map_err(|_| avp.error(Problem::ValueLength))
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl Value for $type {
            fn read(avp: &Avp<'_>) -> Result<Self, DecodeError> {
                array(avp).map(Self::from_be_bytes)
            }
            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }
        })*
    };
}

integers!(i32, u32, u64);

/// OctetString.
impl Value for Vec<u8> {
    fn read(avp: &Avp<'_>) -> Result<Self, DecodeError> {
        Ok(avp.value.to_vec())
    }
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

/// UTF8String; also IPFilterRule, which is kept as text.
impl Value for String {
    fn read(avp: &Avp<'_>) -> Result<Self, DecodeError> {
        core::str::from_utf8(avp.value).map(Self::from).map_err(|_| avp.error(Problem::Value))
    }
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
}

/// A text that is no identity or URI, and what such a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextError {
    /// No DiameterIdentity: 1 to 255 letters, digits, `.`, `-` and `_`.
    Identity,
    /// No DiameterURI: `aaa://` or `aaas://`, a host, and optionally `:port` and parameters.
    Uri,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Identity => "a DiameterIdentity has 1 to 255 letters, digits, `.`, `-` and `_`",
            Self::Uri => {
                "a DiameterURI is aaa:// or aaas://, a host, and maybe :port, ;transport=… and ;protocol=…"
            }
        })
    }
}

impl core::error::Error for TextError {}

/// DiameterIdentity: the name of a host or realm. Case does not count when identities are compared.
#[derive(Clone, Debug)]
pub struct Identity(String);

impl Identity {
    /// Checks the text.
    ///
    /// # Errors
    /// [`TextError::Identity`].
    pub fn new(text: &str) -> Result<Self, TextError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        if text.is_empty() || text.len() > 255 || !text.bytes().all(allowed) {
            return Err(TextError::Identity);
        }
        Ok(Self(text.into()))
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn folded(&self) -> impl Iterator<Item = u8> {
        self.0.bytes().map(|byte| byte.to_ascii_lowercase())
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Identity {}

impl PartialOrd for Identity {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Identity {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.folded().cmp(other.folded())
    }
}

impl core::hash::Hash for Identity {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        for byte in self.folded() {
            state.write_u8(byte);
        }
        state.write_u8(0xff);
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Value for Identity {
    fn read(avp: &Avp<'_>) -> Result<Self, DecodeError> {
        let text = core::str::from_utf8(avp.value).map_err(|_| avp.error(Problem::Value))?;
        Self::new(text).map_err(|_| avp.error(Problem::Value))
    }
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

/// DiameterURI, kept as text whose parts have been checked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Uri(String);

impl Uri {
    /// Checks the text.
    ///
    /// # Errors
    /// [`TextError::Uri`].
    pub fn new(text: &str) -> Result<Self, TextError> {
        let rest =
            text.strip_prefix("aaa://").or_else(|| text.strip_prefix("aaas://")).ok_or(TextError::Uri)?;
        let mut parts = rest.split(';');
        let place = parts.next().unwrap_or_default();
        let (host, port) = place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port)));
        let is_port =
            |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
        let is_parameter = |part: &str| {
            matches!(
                part.split_once('='),
                Some(("transport", "tcp" | "sctp" | "udp") | ("protocol", "diameter" | "radius" | "tacacs+"))
            )
        };
        let right = Identity::new(host).is_ok() && port.is_none_or(is_port) && parts.all(is_parameter);
        if right { Ok(Self(text.into())) } else { Err(TextError::Uri) }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for Uri {
    fn read(avp: &Avp<'_>) -> Result<Self, DecodeError> {
        let text = core::str::from_utf8(avp.value).map_err(|_| avp.error(Problem::Value))?;
        Self::new(text).map_err(|_| avp.error(Problem::Value))
    }
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

/// Address, of the two families of IP.
impl Value for IpAddr {
    fn read(avp: &Avp<'_>) -> Result<Self, DecodeError> {
        match avp.value {
            [0, 1, rest @ ..] => <[u8; 4]>::try_from(rest)
                .map(|four| Self::V4(Ipv4Addr::from(four)))
                .map_err(|_| avp.error(Problem::ValueLength)),
            [0, 2, rest @ ..] => <[u8; 16]>::try_from(rest)
                .map(|sixteen| Self::V6(Ipv6Addr::from(sixteen)))
                .map_err(|_| avp.error(Problem::ValueLength)),
            [_, _, ..] => Err(avp.error(Problem::Value)),
            _ => Err(avp.error(Problem::ValueLength)),
        }
    }
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::V4(address) => {
                out.extend_from_slice(&[0, 1]);
                out.extend_from_slice(&address.octets());
            }
            Self::V6(address) => {
                out.extend_from_slice(&[0, 2]);
                out.extend_from_slice(&address.octets());
            }
        }
    }
}

/// Seconds from 1900 to 1970.
const FROM_NTP_TO_UNIX: u64 = 2_208_988_800;
/// Times with the highest bit clear are of the era that begins in February 2036 (RFC 6733, 4.3.1).
const ERA: u64 = 1 << 32;

/// Time: the seconds of NTP, which wrap in 2036. Times from 1968 to 2104 can be told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Time(pub u32);

impl Time {
    /// The time of so many seconds after 1970; `None` after 2104.
    pub const fn from_unix(seconds: u64) -> Option<Self> {
        match seconds.checked_add(FROM_NTP_TO_UNIX) {
            Some(ntp) if ntp < ERA + ERA / 2 => Some(Self(ntp as u32)),
            _ => None,
        }
    }

    /// Seconds after 1970; 0 for the two years before.
    pub const fn to_unix(self) -> u64 {
        let ntp = if self.0 as u64 >= ERA / 2 { self.0 as u64 } else { self.0 as u64 + ERA };
        ntp.saturating_sub(FROM_NTP_TO_UNIX)
    }
}

impl Value for Time {
    fn read(avp: &Avp<'_>) -> Result<Self, DecodeError> {
        u32::read(avp).map(Self)
    }
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }
}

/// A Float32 that stands for a whole number, read and written without floating point. What is no whole number, or needs
/// more than 24 bits, is rounded up: traffic is described as at least what it is. Infinity is [`Amount::UNLIMITED`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Amount(pub u64);

impl Amount {
    /// No limit: positive infinity.
    pub const UNLIMITED: Self = Self(u64::MAX);

    /// The bits of the smallest float that is not below the number.
    pub const fn to_bits(self) -> u32 {
        const INFINITY: u32 = 0x7f80_0000;
        if self.0 == u64::MAX {
            return INFINITY;
        }
        if self.0 == 0 {
            return 0;
        }
        let exponent = 63 - self.0.leading_zeros();
        let mantissa = if exponent <= 23 {
            (self.0 as u32) << (23 - exponent)
        } else {
            let shift = exponent - 23;
            let kept = (self.0 >> shift) as u32;
            if (kept as u64) << shift == self.0 { kept } else { kept + 1 }
        };
        // A mantissa that became 2^24 carries into the exponent, as the layout intends.
        ((exponent + 127) << 23) + (mantissa - (1 << 23))
    }

    /// The smallest whole number that is not below a float; `None` for negative numbers, for what is none, and for finite
    /// numbers of 2^64 - 1 and more.
    pub const fn from_bits(bits: u32) -> Option<Self> {
        if bits == 0x8000_0000 || bits == 0 {
            return Some(Self(0));
        }
        if bits >> 31 != 0 || bits > 0x7f80_0000 {
            return None;
        }
        if bits == 0x7f80_0000 {
            return Some(Self::UNLIMITED);
        }
        let exponent = (bits >> 23) as i32 - 127;
        let mantissa = (bits & 0x7f_ffff | 0x80_0000) as u64;
        if exponent < 0 {
            return Some(Self(1));
        }
        if exponent > 63 {
            return None;
        }
        if exponent >= 23 {
            return Some(Self(mantissa << (exponent - 23)));
        }
        let shift = 23 - exponent;
        let whole = mantissa >> shift;
        Some(Self(if whole << shift == mantissa { whole } else { whole + 1 }))
    }
}

impl Value for Amount {
    fn read(avp: &Avp<'_>) -> Result<Self, DecodeError> {
        Self::from_bits(u32::read(avp)?).ok_or(avp.error(Problem::Value))
    }
    fn write(&self, out: &mut Vec<u8>) {
        self.to_bits().write(out);
    }
}

/// An Enumerated with a closed list of values; others are refused.
macro_rules! enumerated {
    ($($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $value:expr,)* })*) => {
        $(
            $(#[$about])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
            #[repr(i32)]
            pub enum $name {
                $($(#[$doc])* $variant = $value,)*
            }
            impl $name {
                /// All values.
                pub const ALL: &[Self] = &[$(Self::$variant,)*];
            }
            impl $crate::value::Value for $name {
                fn read(avp: &$crate::avp::Avp<'_>) -> Result<Self, $crate::error::DecodeError> {
                    let number = i32::read(avp)?;
                    let found = Self::ALL.iter().copied().find(|value| *value as i32 == number);
                    found.ok_or(avp.error($crate::error::Problem::Value))
                }
                fn write(&self, out: &mut alloc::vec::Vec<u8>) {
                    (*self as i32).write(out);
                }
            }
        )*
    };
}
pub(crate) use enumerated;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_rounded_up_and_exact_where_they_can_be() {
        for number in [0, 1, 2, 3, 1000, 125_000, (1 << 24) - 1, 1 << 24, 1 << 40, 3 << 62, u64::MAX] {
            assert_eq!(Amount::from_bits(Amount(number).to_bits()), Some(Amount(number)), "{number}");
            if number < 1 << 24 {
                assert_eq!(Amount(number).to_bits(), (number as f32).to_bits());
            }
        }
        for number in [(1 << 24) + 1, (1 << 30) + 1, u64::MAX >> 1, 0x0123_4567_89ab_cdef] {
            let bits = Amount(number).to_bits();
            let read = Amount::from_bits(bits).unwrap().0;
            assert!(read > number && read - number <= number >> 23, "{number} {read}");
            assert!(Amount::from_bits(bits - 1).unwrap().0 < number);
        }
        for (float, expected) in [(0.1, 1), (1.5, 2), (2.0, 2), (123_456.7, 123_457), (1e-40, 1), (-0.0, 0)] {
            assert_eq!(Amount::from_bits(f32::to_bits(float)), Some(Amount(expected)), "{float}");
        }
        assert_eq!(Amount::from_bits(f32::INFINITY.to_bits()), Some(Amount::UNLIMITED));
        for float in [-1.0, f32::NAN, f32::NEG_INFINITY, 1.9e19, f32::MAX] {
            assert_eq!(Amount::from_bits(float.to_bits()), None, "{float}");
        }
        // The largest numbers round up to 2^64, which is refused when it is read.
        assert_eq!(Amount::from_bits(Amount(u64::MAX - 1).to_bits()), None);
    }

    #[test]
    fn times_pass_2036() {
        assert_eq!(Time::from_unix(0), Some(Time(2_208_988_800)));
        for seconds in [0, 1_800_000_000, 2_085_978_495, 2_085_978_496, 4_000_000_000] {
            assert_eq!(Time::from_unix(seconds).unwrap().to_unix(), seconds);
        }
        assert_eq!(Time::from_unix(2_085_978_496), Some(Time(0)));
        assert_eq!(Time::from_unix(4_233_462_144), None);
        assert_eq!(Time::from_unix(u64::MAX), None);
    }

    #[test]
    fn identities_and_uris_are_checked() {
        let long = "a".repeat(256);
        for text in ["", "a b", "ä.example", "host:3868", "a@b", &long] {
            assert_eq!(Identity::new(text), Err(TextError::Identity), "{text}");
        }
        assert_eq!(Identity::new("AAA.Example"), Identity::new("aaa.example"));
        assert!(Identity::new("B.x").unwrap() > Identity::new("a.X").unwrap());
        for text in ["aaa://h.x", "aaas://h.x:3868", "aaa://h.x:1;transport=tcp;protocol=diameter"] {
            assert_eq!(Uri::new(text).unwrap().as_str(), text);
        }
        for text in
            ["h.x", "aaa://", "aaa://h:", "aaa://h:+1", "aaa://h:65536", "aaa://h;transport=ip", "aaa://h;"]
        {
            assert_eq!(Uri::new(text), Err(TextError::Uri), "{text}");
        }
    }
}
