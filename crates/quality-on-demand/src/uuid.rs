//! Names of sessions: UUIDs of version 4.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A UUID (RFC 9562).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Uuid(u128);

/// Digits between hyphens.
const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

impl Uuid {
    /// Of random bits, six of which give way to version and variant.
    pub const fn random(bits: u128) -> Self {
        Self(bits & !(0xf << 76) & !(0b11 << 62) | 4 << 76 | 0b10 << 62)
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:032x}", self.0);
        let mut rest = digits.as_str();
        for (index, length) in GROUPS.iter().enumerate() {
            let (group, after) = rest.split_at_checked(*length).unwrap_or((rest, ""));
            write!(f, "{}{group}", if index == 0 { "" } else { "-" })?;
            rest = after;
        }
        Ok(())
    }
}

impl FromStr for Uuid {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let groups: Vec<&str> = text.split('-').collect();
        let is_good = groups.iter().map(|group| group.len()).eq(GROUPS)
            && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let digits = groups.concat();
        u128::from_str_radix(&digits, 16).ok().filter(|_| is_good).map(Self).ok_or(())
    }
}

impl From<Uuid> for String {
    fn from(uuid: Uuid) -> Self {
        uuid.to_string()
    }
}

impl TryFrom<String> for Uuid {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map_err(|()| "it is no UUID")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bits_have_their_version_and_are_read_again() {
        for (bits, text) in
            [(0, "00000000-0000-4000-8000-000000000000"), (u128::MAX, "ffffffff-ffff-4fff-bfff-ffffffffffff")]
        {
            assert_eq!(Uuid::random(bits).to_string(), text);
            assert_eq!(text.parse(), Ok(Uuid::random(bits)));
            assert_eq!(text.to_uppercase().parse(), Ok(Uuid::random(bits)));
        }
        for wrong in [
            "",
            "x",
            "00000000000040008000000000000000",
            "00000000-0000-4000-8000-00000000000",
            "+0000000-0000-4000-8000-000000000000",
        ] {
            assert_eq!(wrong.parse::<Uuid>(), Err(()), "{wrong}");
        }
    }
}
