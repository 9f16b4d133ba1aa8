//! What a file says of a channel.
use std::collections::BTreeMap;

use wire::qos::{EndpointQos, SaidQos};

/// A topic as some writers write it.
#[derive(Clone, PartialEq, Debug)]
pub struct Channel {
    /// Name of the topic.
    pub topic: String,
    /// Name of the type in the domain.
    pub type_name: String,
    /// Its samples belong to instances. `None` if the file does not say.
    pub keyed: Option<bool>,
    /// What its writers offered. `None` if the file does not say.
    pub qos: Option<EndpointQos>,
    /// The type in IDL, and others that it needs. `None` if the file does not say.
    pub idl: Option<String>,
}

/// How an instance ended, or a writer's part in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It exists no more.
    Disposed,
    /// A writer has no more to say of it.
    Unregistered,
}

/// Encoding of samples.
pub(crate) const CDR: &str = "cdr";
/// Encoding of what tells of the end of instances: a byte that says how, then the serialized key.
pub(crate) const ENDS: &str = "punctual-end";
/// Encoding of types.
pub(crate) const IDL: &str = "omgidl";

const TYPE: &str = "punctual.type";
const KEYED: &str = "punctual.keyed";
const QOS: &str = "punctual.qos";
/// The channel whose instances end here.
pub(crate) const OF: &str = "punctual.of";

impl Channel {
    pub(crate) fn metadata(&self) -> BTreeMap<String, String> {
        let mut metadata = BTreeMap::from([(TYPE.to_owned(), self.type_name.clone())]);
        if let Some(keyed) = self.keyed {
            metadata.insert(KEYED.to_owned(), keyed.to_string());
        }
        if let Some(qos) = self.qos.as_ref().and_then(|qos| serde_json::to_string(qos).ok()) {
            metadata.insert(QOS.to_owned(), qos);
        }
        metadata
    }

    /// What a file says. An error says what of it is not understood.
    pub(crate) fn of(
        topic: &str,
        metadata: &BTreeMap<String, String>,
        schema: Option<(&str, &str, &[u8])>,
    ) -> Result<Self, String> {
        let idl = match schema {
            Some((_, IDL, text)) => {
                let text = str::from_utf8(text).map_err(|_| "its type is no text".to_owned())?;
                Some(text.to_owned())
            }
            _ => None,
        };
        let Some(type_name) = metadata.get(TYPE) else { return Self::of_another_tool(topic, schema, idl) };
        let qos = metadata.get(QOS).map(|text| serde_json::from_str::<SaidQos>(text)).transpose();
        let qos = qos.map_err(|error| format!("its QoS is not understood: {error}"))?;
        let keyed = match metadata.get(KEYED).map(String::as_str) {
            None => None,
            Some("true") => Some(true),
            Some("false") => Some(false),
            Some(other) => return Err(format!("whether it has a key is not understood: {other:?}")),
        };
        let qos = qos.map(|said| said.over(EndpointQos::writer()));
        Ok(Self { topic: topic.to_owned(), type_name: type_name.clone(), keyed, qos, idl })
    }

    /// A channel that something else wrote, with names as DDS would have them.
    fn of_another_tool(
        topic: &str,
        schema: Option<(&str, &str, &[u8])>,
        idl: Option<String>,
    ) -> Result<Self, String> {
        match schema {
            Some((name, IDL, _)) => {
                let (topic, type_name) = (topic.to_owned(), name.replace('/', "::"));
                Ok(Self { topic, type_name, keyed: None, qos: None, idl })
            }
            // ROS 2 has names of its own in DDS: `rt/chatter`, `std_msgs::msg::dds_::String_`; its types have no keys.
            Some((name, "ros2msg" | "ros2idl", _)) => {
                let parts: Vec<&str> = name.split('/').collect();
                let &[package, kind, name] = parts.as_slice() else {
                    return Err(format!("{name:?} is no type of ROS 2"));
                };
                Ok(Self {
                    topic: format!("rt/{}", topic.trim_start_matches('/')),
                    type_name: format!("{package}::{kind}::dds_::{name}_"),
                    keyed: Some(false),
                    qos: None,
                    idl: None,
                })
            }
            Some((_, encoding, _)) => {
                Err(format!("its type is described as {encoding:?}, which is not read"))
            }
            None => Err("its type is not described".to_owned()),
        }
    }
}

impl End {
    pub(crate) const fn byte(self) -> u8 {
        match self {
            Self::Disposed => 1,
            Self::Unregistered => 2,
        }
    }

    pub(crate) const fn of(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Disposed),
            2 => Some(Self::Unregistered),
            _ => None,
        }
    }
}
