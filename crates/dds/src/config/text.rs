//! What is a text in files: peers, and spans of the standard library.
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Peer;

impl Serialize for Peer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Peer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Peer {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Peer".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "An address, as \"192.0.2.7\", \"192.0.2.7:7410\" or \"[2001:db8::7]:7410\".",
        })
    }
}

/// As the other durations are written: `"20 us"`.
pub(super) mod span {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        span: &std::time::Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        wire::Duration::from(*span).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<std::time::Duration, D::Error> {
        wire::Duration::deserialize(deserializer).map(Into::into)
    }
}
