//! What a process hands over to one of another build, which goes on in its place: the states of its components, and how far it has come with
//! the events of each publisher elsewhere.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::protocol::Order;

/// Bytes of all states that a process hands over at most: as hexadecimal digits they fit into a line.
pub const MOST_STATE: usize = 2 << 20;

/// What a process hands over.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HandedOver {
    /// Endpoints elsewhere that its ends of connections are matched with.
    #[serde(default)]
    pub matches: Vec<Matched>,
    /// From which event of each publisher elsewhere on the process in its place has all.
    #[serde(default)]
    pub starts: Vec<Position>,
    /// The states of its components.
    #[serde(default)]
    pub states: Vec<Frozen>,
    /// The last event of each publisher elsewhere that it has handled.
    #[serde(default)]
    pub positions: Vec<Position>,
    /// The last event that it has published by each connection to other processes; the end is the connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Position>,
    /// What conjunctions give up if the change is decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<GivenUp>,
}

/// What the conjunctions of a port had kept until others came, and give up.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GivenUp {
    /// The port, as `component.port`.
    pub port: String,
    /// How many events.
    pub events: u64,
}

/// Endpoints that an end of a connection is matched with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Matched {
    /// The name of the end.
    pub end: String,
    /// The GUIDs of the endpoints, in hexadecimal digits.
    pub peers: Vec<String>,
}

/// The state of a component, as its hook `freeze` has written it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Frozen {
    /// The component.
    pub component: String,
    /// Its state.
    #[serde(with = "digits")]
    pub state: Vec<u8>,
}

/// Where an end of a connection is in the events of a publisher.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Position {
    /// The name of the end.
    pub end: String,
    /// The GUID of the writer, in hexadecimal digits.
    pub source: String,
    /// The sequence number of an event: of the last one that was handed on, or of the first one that comes.
    pub sequence: i64,
}

impl HandedOver {
    /// Adds what was handed over later.
    pub(crate) fn extend(&mut self, later: Self) {
        self.matches.extend(later.matches);
        self.starts.extend(later.starts);
        self.states.extend(later.states);
        self.positions.extend(later.positions);
        self.published.extend(later.published);
        self.given_up.extend(later.given_up);
    }

    /// Gives orders what they are to work with.
    pub(crate) fn fill(&self, orders: &mut [Order]) {
        for order in orders {
            match order {
                Order::AwaitMatched(matches) => matches.clone_from(&self.matches),
                Order::HandOver(_, starts) => starts.clone_from(&self.starts),
                Order::TakeOver(frozen) => frozen.clone_from(&self.states),
                Order::Release(positions) => positions.clone_from(&self.positions),
                _ => {}
            }
        }
    }
}

/// Bytes as hexadecimal digits.
mod digits {
    use super::{String, ToString, Vec};
    use core::fmt::Write as _;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            // A text takes everything.
            let _ = write!(text, "{byte:02x}");
        }
        to.serialize_str(&text)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        let digit = |digit: &u8| char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let byte = |pair: &[u8]| match pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
        bytes.ok_or_else(|| D::Error::custom("a state is pairs of hexadecimal digits".to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{line, read};
    use alloc::borrow::ToOwned;
    use alloc::vec;

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let frozen = Frozen { component: "a".to_owned(), state: vec![0, 0x0f, 0xf0, 255] };
        let text = line(&frozen).unwrap();
        assert_eq!(text, "{\"component\":\"a\",\"state\":\"000ff0ff\"}\n");
        assert_eq!(read(&text), Ok(frozen));
        for wrong in ["0", "0g", "é", "000"] {
            let text = text.replace("000ff0ff", wrong);
            assert!(read::<Frozen>(&text).is_err(), "{wrong}");
        }
    }
}
