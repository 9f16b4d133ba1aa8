//! The identifiers of chassis and ports (IEEE 802.1AB-2016, 8.5.2 and 8.5.3).
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

/// Bytes of an identifier at most.
const LONGEST: usize = 255;

/// An identifier: its subtype, and 1 to 255 bytes that the subtype gives a meaning.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Id {
    subtype: u8,
    value: Vec<u8>,
}

impl Id {
    /// An identifier; `None` if it has no bytes, or more than 255.
    pub fn new(subtype: u8, value: &[u8]) -> Option<Self> {
        (1..=LONGEST).contains(&value.len()).then(|| Self { subtype, value: value.to_vec() })
    }

    /// The subtype.
    pub const fn subtype(&self) -> u8 {
        self.subtype
    }

    /// The bytes.
    pub fn value(&self) -> &[u8] {
        &self.value
    }

    /// In the form that suits its kind: an address with colons or dots, text, or hexadecimal digits.
    fn show(&self, f: &mut fmt::Formatter<'_>, kind: Kind) -> fmt::Result {
        match (kind, self.value.as_slice()) {
            (Kind::Mac, [_, _, _, _, _, _]) => pairs(f, &self.value, ":"),
            // The first byte names the family of the address: 1 is IPv4, 2 is IPv6.
            (Kind::Network, [1, a, b, c, d]) => write!(f, "{a}.{b}.{c}.{d}"),
            (Kind::Network, [2, address @ ..]) if address.len() == 16 => {
                let bytes: [u8; 16] = address.try_into().unwrap_or_default();
                write!(f, "{}", core::net::Ipv6Addr::from(bytes))
            }
            (Kind::Text, value) if is_text(value) => f.write_str(&text(value)),
            (_, value) => pairs(f, value, ""),
        }
    }
}

/// What the bytes of an identifier are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Text,
    Mac,
    Network,
    Bytes,
}

fn pairs(f: &mut fmt::Formatter<'_>, value: &[u8], between: &str) -> fmt::Result {
    for (index, byte) in value.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        write!(f, "{byte:02x}")?;
    }
    Ok(())
}

/// Whether all of it can be shown.
fn is_text(value: &[u8]) -> bool {
    core::str::from_utf8(value).is_ok_and(|text| !text.chars().any(char::is_control))
}

/// Text that a station has sent, as it may be shown: without control characters, and what is no UTF-8 replaced.
pub(crate) fn text(value: &[u8]) -> String {
    let mut shown = String::new();
    for character in String::from_utf8_lossy(value).chars().filter(|character| !character.is_control()) {
        let _ = shown.write_char(character);
    }
    shown
}

macro_rules! identifier {
    ($(#[$about:meta])* $name:ident { $($subtype:literal => $kind:ident),* }) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub Id);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let kind = match self.0.subtype {
                    $($subtype => Kind::$kind,)*
                    _ => Kind::Bytes,
                };
                self.0.show(f, kind)
            }
        }
    };
}

identifier! {
    /// Names a chassis: a station, or what a port is part of.
    ChassisId { 1 => Text, 2 => Text, 3 => Text, 4 => Mac, 5 => Network, 6 => Text, 7 => Text }
}

identifier! {
    /// Names a port of a chassis.
    PortId { 1 => Text, 2 => Text, 3 => Mac, 4 => Network, 5 => Text, 6 => Bytes, 7 => Text }
}

impl ChassisId {
    /// A chassis that is known by an Ethernet address.
    pub fn mac(address: [u8; 6]) -> Self {
        Self(Id { subtype: 4, value: address.to_vec() })
    }

    /// A chassis with a name that means something where it is used; `None` if it is empty or has more than 255 bytes.
    pub fn local(name: &str) -> Option<Self> {
        Id::new(7, name.as_bytes()).map(Self)
    }
}

impl PortId {
    /// A port with a name that means something where it is used; `None` if it is empty or has more than 255 bytes.
    pub fn local(name: &str) -> Option<Self> {
        Id::new(7, name.as_bytes()).map(Self)
    }
}
