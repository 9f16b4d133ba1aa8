//! Keys of the built-in topics: the GUID of a participant or endpoint, the names of a topic and its type.
use dcps::{CdrTypeSupport, KeyError, TypeSupport, canonical_key};
use derive::DdsType;
use wire::cdr::{DdsType as _, KeyHash, Representation};
use wire::discovery::{EndpointData, EndpointRole, ParticipantData};
use wire::{EntityId, EntityKind, Guid, GuidPrefix};

use super::BuiltinTopic;

/// The key of "DCPSTopic".
#[derive(DdsType, Clone, PartialEq, Eq, Debug)]
struct TopicKey {
    #[dds(key)]
    name: String,
    #[dds(key)]
    type_name: String,
}

impl TopicKey {
    fn of(endpoint: EndpointData) -> Self {
        Self { name: endpoint.topic_name, type_name: endpoint.type_name }
    }
}

/// The keys of one built-in topic.
pub(crate) struct Support {
    topic: BuiltinTopic,
    names: CdrTypeSupport<TopicKey>,
    payload: Vec<u8>,
}

impl Support {
    pub(crate) fn new(topic: BuiltinTopic) -> Self {
        Self { topic, names: CdrTypeSupport::new(), payload: Vec::new() }
    }
}

impl TypeSupport for Support {
    fn has_key(&self) -> bool {
        true
    }

    fn key(&mut self, payload: &[u8], _: bool, key: &mut Vec<u8>) -> Result<(), KeyError> {
        let guid = match self.topic {
            BuiltinTopic::Participant => ParticipantData::decode_key(payload).map(participant_guid),
            BuiltinTopic::Publication | BuiltinTopic::Subscription => EndpointData::decode_key(payload),
            BuiltinTopic::Topic => {
                return canonical_key(&TopicKey::of(endpoint_of_topic(payload)?), key);
            }
        };
        key.extend_from_slice(&guid.map_err(KeyError::Announcement)?.to_bytes());
        Ok(())
    }

    fn key_hash(&mut self, key: &[u8], representation: Representation) -> Result<KeyHash, KeyError> {
        match self.topic {
            BuiltinTopic::Topic => self.names.key_hash(key, representation),
            _ => Ok(KeyHash(guid_of(key).to_bytes())),
        }
    }

    fn key_payload(
        &mut self,
        key: &[u8],
        representation: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), KeyError> {
        match self.topic {
            BuiltinTopic::Participant => ParticipantData::new(guid_of(key).prefix).encode_key(out),
            BuiltinTopic::Publication | BuiltinTopic::Subscription => {
                super::unnamed(guid_of(key)).encode_key(out);
            }
            BuiltinTopic::Topic => {
                self.payload.clear();
                self.names.key_payload(key, representation, &mut self.payload)?;
                let names = TopicKey::decode_key_payload(&self.payload).map_err(KeyError::Decode)?;
                nobodys_endpoint(&names.name, &names.type_name).encode(out);
            }
        }
        Ok(())
    }
}

/// The hash of the instance of "DCPSTopic" that an endpoint is an example of.
pub(super) fn topic_hash(endpoint: &EndpointData) -> Option<KeyHash> {
    let names = TopicKey { name: endpoint.topic_name.clone(), type_name: endpoint.type_name.clone() };
    names.key_hash(Representation::Xcdr2, &mut Vec::new()).ok()
}

/// A topic is told of by the announcement of one of its endpoints.
pub(super) fn endpoint_of_topic(payload: &[u8]) -> Result<EndpointData, KeyError> {
    let guid = EndpointData::decode_key(payload).map_err(KeyError::Announcement)?;
    let role = EndpointRole::of(guid.entity_id).unwrap_or(EndpointRole::Reader);
    EndpointData::decode(payload, role).map_err(KeyError::Announcement)
}

/// An endpoint that says of its topic no more than the names.
pub(super) fn nobodys_endpoint(topic_name: &str, type_name: &str) -> EndpointData {
    let guid = Guid::new(GuidPrefix([0; 12]), EntityId::user(1, EntityKind::ReaderNoKey));
    EndpointData::new(guid, topic_name.to_owned(), type_name.to_owned(), EndpointRole::Reader.default_qos())
}

fn participant_guid(prefix: GuidPrefix) -> Guid {
    Guid::new(prefix, EntityId::PARTICIPANT)
}

fn guid_of(key: &[u8]) -> Guid {
    Guid::from_bytes(key.first_chunk().copied().unwrap_or_default())
}
