//! The announcement of a writer or reader.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::content_filter::ContentFilterProperty;
use super::punctual::Extension;
use super::{DiscoveryError, add_locator, begin, endpoint_qos, key, list, name, put_locators, required};
use crate::admission::{OfferedAssurance, RequestedAssurance};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::locator::Locator;
use crate::parameter::{pid, skip_unknown, value};
use crate::qos::EndpointQos;

/// Which of the two kinds of endpoint a record announces. It decides the defaults of absent parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EndpointRole {
    /// DiscoveredWriterData.
    Writer,
    /// DiscoveredReaderData.
    Reader,
}

impl EndpointRole {
    /// The role of an entity, from the kind in its id; `None` for what is no endpoint.
    pub const fn of(id: EntityId) -> Option<Self> {
        if id.is_writer() {
            Some(Self::Writer)
        } else if id.is_reader() {
            Some(Self::Reader)
        } else {
            None
        }
    }

    /// The standard's default QoS.
    pub const fn default_qos(self) -> EndpointQos {
        match self {
            Self::Writer => EndpointQos::writer(),
            Self::Reader => EndpointQos::reader(),
        }
    }
}

/// The announcement of a writer or reader, DiscoveredWriterData or DiscoveredReaderData (RTPS 2.5, 8.5.4.4, 9.6.2.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndpointData {
    /// The endpoint.
    pub guid: Guid,
    /// Its participant; always that of `guid`.
    pub participant: GuidPrefix,
    /// Topic name.
    pub topic_name: String,
    /// Type name.
    pub type_name: String,
    /// Its QoS.
    pub qos: EndpointQos,
    /// Its own unicast addresses; without any, those of the participant are used.
    pub unicast: Vec<Locator>,
    /// Its own multicast addresses.
    pub multicast: Vec<Locator>,
    /// The reader wants QoS inline.
    pub expects_inline_qos: bool,
    /// Bytes of the writer's largest serialized sample, if it has a bound.
    pub max_serialized_size: Option<u32>,
    /// Type information of XTypes as it came, opaque here.
    pub type_information: Option<Vec<u8>>,
    /// Name of the endpoint.
    pub entity_name: Option<String>,
    /// Its publisher or subscriber.
    pub group: Option<EntityId>,
    /// The content filter of the reader.
    pub content_filter: Option<Box<ContentFilterProperty>>,
    /// Bytes that the reader can take in at once; a parameter of ours, see docs/wire.md.
    pub receive_buffer: Option<u32>,
    /// Bytes of the largest serialized sample that the reader can take; a parameter of ours.
    pub largest_sample: Option<u32>,
    /// What the writer promises about its messages; a parameter of ours.
    pub offered_assurance: Option<OfferedAssurance>,
    /// What the reader asks for; a parameter of ours.
    pub requested_assurance: Option<RequestedAssurance>,
}

impl EndpointData {
    /// An endpoint with these names that announces nothing else: all defaults.
    pub const fn new(guid: Guid, topic_name: String, type_name: String, qos: EndpointQos) -> Self {
        Self {
            guid,
            participant: guid.prefix,
            topic_name,
            type_name,
            qos,
            unicast: Vec::new(),
            multicast: Vec::new(),
            expects_inline_qos: false,
            max_serialized_size: None,
            type_information: None,
            entity_name: None,
            group: None,
            content_filter: None,
            receive_buffer: None,
            largest_sample: None,
            offered_assurance: None,
            requested_assurance: None,
        }
    }

    /// Appends the announcement as a serialized payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut list = begin(out);
        list.octets(pid::ENDPOINT_GUID, &self.guid.to_bytes());
        let participant = Guid::new(self.guid.prefix, EntityId::PARTICIPANT);
        list.octets(pid::PARTICIPANT_GUID, &participant.to_bytes());
        if let Some(group) = self.group {
            list.octets(pid::GROUP_ENTITY_ID, &group.0);
        }
        list.with(pid::TOPIC_NAME, |out| value::put_text(out, &self.topic_name));
        list.with(pid::TYPE_NAME, |out| value::put_text(out, &self.type_name));
        endpoint_qos::write(&mut list, &self.qos);
        put_locators(&mut list, pid::UNICAST_LOCATOR, &self.unicast);
        put_locators(&mut list, pid::MULTICAST_LOCATOR, &self.multicast);
        if self.expects_inline_qos {
            list.octets(pid::EXPECTS_INLINE_QOS, &[1]);
        }
        if let Some(size) = self.max_serialized_size {
            list.octets(pid::TYPE_MAX_SIZE_SERIALIZED, &size.to_le_bytes());
        }
        if let Some(name) = &self.entity_name {
            list.with(pid::ENTITY_NAME, |out| value::put_text(out, name));
        }
        if let Some(filter) = &self.content_filter {
            list.with(pid::CONTENT_FILTER_PROPERTY, |out| filter.encode(out));
        }
        if let Some(information) = &self.type_information {
            list.octets(pid::TYPE_INFORMATION, information);
        }
        let extension = Extension {
            shared_memory: None,
            sending_ports: None,
            endpoints: None,
            largest_sample: self.largest_sample,
            receive_buffer: self.receive_buffer,
            offered: self.offered_assurance,
            requested: self.requested_assurance,
        };
        if extension != Extension::default() {
            list.with(pid::PUNCTUAL, |out| extension.encode(out));
        }
        list.finish();
    }

    /// Reads an announcement from the publications (`Writer`) or subscriptions (`Reader`) topic.
    ///
    /// # Errors
    /// The payload is no PL_CDR parameter list, lacks the endpoint's guid, topic name or type name, contradicts itself about
    /// its role or participant, or has a parameter that must be refused.
    #[inline(never)]
    pub fn decode(payload: &[u8], role: EndpointRole) -> Result<Self, DiscoveryError> {
        let mut data = Self::new(Guid::UNKNOWN, String::new(), String::new(), role.default_qos());
        let (mut topic_name, mut type_name, mut participant) = (None, None, None);
        let mut partition = None;
        for parameter in &list(payload)? {
            let (pid, fields) = (parameter.pid, &mut parameter.cursor());
            match pid {
                pid::ENDPOINT_GUID => data.guid = required(pid, value::guid(fields))?,
                pid::PARTICIPANT_GUID => participant = Some(required(pid, value::guid(fields))?.prefix),
                pid::GROUP_ENTITY_ID => data.group = Some(EntityId(required(pid, fields.array())?)),
                pid::GROUP_GUID => data.group = Some(required(pid, value::guid(fields))?.entity_id),
                pid::TOPIC_NAME => topic_name = Some(name(pid, fields)?),
                pid::TYPE_NAME => type_name = Some(name(pid, fields)?),
                pid::PARTITION => partition = Some(*fields),
                pid::UNICAST_LOCATOR => add_locator(&mut data.unicast, pid, fields)?,
                pid::MULTICAST_LOCATOR => add_locator(&mut data.multicast, pid, fields)?,
                pid::EXPECTS_INLINE_QOS => data.expects_inline_qos = required(pid, value::boolean(fields))?,
                pid::TYPE_MAX_SIZE_SERIALIZED => {
                    data.max_serialized_size = Some(required(pid, fields.u32())?)
                }
                pid::CONTENT_FILTER_PROPERTY if role == EndpointRole::Reader => {
                    data.content_filter = ContentFilterProperty::decode(fields).map(Box::new);
                }
                pid::ENTITY_NAME => data.entity_name = Some(name(pid, fields)?),
                pid::TYPE_INFORMATION => data.type_information = Some(parameter.value.to_vec()),
                pid::PUNCTUAL => {
                    let extension = Extension::decode(parameter.value);
                    data.receive_buffer = extension.receive_buffer;
                    data.largest_sample = extension.largest_sample;
                    data.offered_assurance = extension.offered;
                    data.requested_assurance = extension.requested;
                }
                unknown => {
                    if !endpoint_qos::read(&mut data.qos, &parameter)? {
                        skip_unknown(unknown)?;
                    }
                }
            }
        }
        if let Some(mut fields) = partition {
            data.qos.partition = endpoint_qos::partition(&mut fields)?;
        }
        data.topic_name = topic_name.ok_or(DiscoveryError::Missing(pid::TOPIC_NAME))?;
        data.type_name = type_name.ok_or(DiscoveryError::Missing(pid::TYPE_NAME))?;
        if data.guid == Guid::UNKNOWN {
            return Err(DiscoveryError::Missing(pid::ENDPOINT_GUID));
        }
        if EndpointRole::of(data.guid.entity_id) != Some(role) {
            return Err(DiscoveryError::Role(data.guid.entity_id));
        }
        data.participant = data.guid.prefix;
        match participant {
            Some(prefix) if prefix != data.participant => Err(DiscoveryError::Participant(prefix)),
            _ => Ok(data),
        }
    }

    /// Appends the key of the announcement as a serialized payload, to dispose and unregister it.
    pub fn encode_key(&self, out: &mut Vec<u8>) {
        let mut list = begin(out);
        list.octets(pid::ENDPOINT_GUID, &self.guid.to_bytes());
        list.finish();
    }

    /// Reads the key of an announcement.
    ///
    /// # Errors
    /// The payload is no PL_CDR parameter list or lacks the endpoint's guid.
    pub fn decode_key(payload: &[u8]) -> Result<Guid, DiscoveryError> {
        key(payload, pid::ENDPOINT_GUID)?.ok_or(DiscoveryError::Missing(pid::ENDPOINT_GUID))
    }
}
