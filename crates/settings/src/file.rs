//! Files, as types; where in a file something stands.
use std::collections::BTreeMap;

use dds::config::Config;
use dds::qos::Publishing;
use serde::Deserialize;
use toml::de::{DeTable, DeValue};
use wire::qos::SaidQos;

use crate::problem::{Origin, Problem};

/// Bytes of the largest file that is read.
const MAX_TEXT: usize = 1 << 20;

/// All that a file can say.
#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct File {
    /// The domain, 0 to 232.
    pub(crate) domain: Option<u32>,
    /// Interfaces that are used, all by name or all by address. Shorter than `participant.network.interfaces`, which it is laid over.
    pub(crate) interfaces: Option<Vec<String>>,
    /// Participants to look for without multicast: hosts by name or address, with a port or none, as `robot.local`, `192.0.2.7:7410` or
    /// `[2001:db8::7]:7410`. They come to those of `participant.discovery.static-peers`.
    pub(crate) peers: Option<Vec<String>>,
    /// The rest about participants.
    pub(crate) participant: Config,
    /// QoS by topic. Where several are for a topic, the later ones are laid over those before.
    pub(crate) topics: Vec<Rule>,
}

/// QoS of some topics: what is not said is left as it is.
#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Rule {
    /// Name of the topic, or a pattern: `*`, `?`, `[a-z]` as in shells.
    pub(crate) name: String,
    /// QoS of writers and readers.
    pub(crate) qos: SaidQos,
    /// QoS of writers alone, over the other.
    pub(crate) writer: SaidQos,
    /// QoS of readers alone, over the other.
    pub(crate) reader: SaidQos,
    /// Most bytes that a writer or a reader holds, 1,024 or more.
    pub(crate) byte_limit: Option<usize>,
    /// Most instances, if RESOURCE_LIMITS does not limit them.
    pub(crate) instance_limit: Option<u32>,
    /// Writers keep to what their sessions over domains grant, while there are some, and a write does this where tokens are missing.
    pub(crate) session_flow_controller: Option<Sending>,
}

/// What a write does where tokens are missing.
#[derive(Deserialize, Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sending {
    /// It returns, and the sample leaves when there are tokens.
    Asynchronous,
    /// It waits until the samples before have left, at most for RELIABILITY max_blocking_time.
    Synchronous,
}

impl From<Sending> for Publishing {
    fn from(sending: Sending) -> Self {
        match sending {
            Sending::Asynchronous => Self::Asynchronous,
            Sending::Synchronous => Self::Synchronous,
        }
    }
}

/// The JSON schema of files.
#[cfg(feature = "schema")]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(File).into()
}

/// The tables of a file that is right by itself; what it says is noted with its place.
pub(crate) fn read(
    name: &str,
    text: &str,
    origins: &mut BTreeMap<String, Origin>,
) -> Result<toml::Table, Problem> {
    if text.len() > MAX_TEXT {
        let origin = Origin::at(name, "", 0);
        return Err(Problem { origin, what: format!("the file is longer than {MAX_TEXT} bytes") });
    }
    let wrong = |error: &toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        Problem { origin: Origin::at(name, text, at), what: error.message().trim().replace('\n', "; ") }
    };
    toml::from_str::<File>(text).map_err(|error| wrong(&error))?;
    let spanned = DeTable::parse(text).map_err(|error| wrong(&error))?;
    note(spanned.get_ref(), "", &mut |path, at| drop(origins.insert(path, Origin::at(name, text, at))));
    toml::from_str(text).map_err(|error| wrong(&error))
}

/// Calls `found` for all that a table says, with its path.
fn note(table: &DeTable<'_>, path: &str, found: &mut impl FnMut(String, usize)) {
    for (key, value) in table {
        let path =
            if path.is_empty() { key.get_ref().to_string() } else { format!("{path}.{}", key.get_ref()) };
        found(path.clone(), key.span().start);
        inside(value.get_ref(), &path, found);
    }
}

fn inside(value: &DeValue<'_>, path: &str, found: &mut impl FnMut(String, usize)) {
    match value {
        DeValue::Table(table) => note(table, path, found),
        DeValue::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                let path = format!("{path}.{number}");
                found(path.clone(), item.span().start);
                inside(item.get_ref(), &path, found);
            }
        }
        _ => {}
    }
}

/// What tables say. An error says what is wrong, and not where.
pub(crate) fn typed(table: toml::Table) -> Result<File, String> {
    File::deserialize(table).map_err(|error| error.message().trim().replace('\n', "; "))
}
