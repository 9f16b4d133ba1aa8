//! The announcement of a participant.
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::BitOr;

use super::punctual::Extension;
use super::{DiscoveryError, add_locator, begin, key, list, name, put_locators, required};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::locator::Locator;
use crate::parameter::{pid, skip_unknown, value};
use crate::sequence_number::SequenceNumber;
use crate::time::Duration;
use crate::vendor::{ProtocolVersion, VendorId};

/// Which built-in endpoints a participant has (RTPS 2.5, 9.3.2.12).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct BuiltinEndpointSet(pub u32);

impl BuiltinEndpointSet {
    /// SPDP writer.
    pub const PARTICIPANT_ANNOUNCER: Self = Self(1);
    /// SPDP reader.
    pub const PARTICIPANT_DETECTOR: Self = Self(1 << 1);
    /// SEDP publications writer.
    pub const PUBLICATIONS_ANNOUNCER: Self = Self(1 << 2);
    /// SEDP publications reader.
    pub const PUBLICATIONS_DETECTOR: Self = Self(1 << 3);
    /// SEDP subscriptions writer.
    pub const SUBSCRIPTIONS_ANNOUNCER: Self = Self(1 << 4);
    /// SEDP subscriptions reader.
    pub const SUBSCRIPTIONS_DETECTOR: Self = Self(1 << 5);
    /// Liveliness writer.
    pub const PARTICIPANT_MESSAGE_WRITER: Self = Self(1 << 10);
    /// Liveliness reader.
    pub const PARTICIPANT_MESSAGE_READER: Self = Self(1 << 11);
    /// Writer of type lookup requests (XTypes 1.3, 7.6.3.3.4).
    pub const TYPE_LOOKUP_REQUEST_WRITER: Self = Self(1 << 12);
    /// Reader of type lookup requests.
    pub const TYPE_LOOKUP_REQUEST_READER: Self = Self(1 << 13);
    /// Writer of type lookup replies.
    pub const TYPE_LOOKUP_REPLY_WRITER: Self = Self(1 << 14);
    /// Reader of type lookup replies.
    pub const TYPE_LOOKUP_REPLY_READER: Self = Self(1 << 15);
    /// SEDP topics writer.
    pub const TOPICS_ANNOUNCER: Self = Self(1 << 28);
    /// SEDP topics reader.
    pub const TOPICS_DETECTOR: Self = Self(1 << 29);

    /// True if all bits of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for BuiltinEndpointSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Where a participant can be met by processes of its host, to exchange samples through shared memory (docs/wire.md).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SharedMemory {
    /// Stands for the host since it was started: a hash, so that its identification does not leave it.
    pub host: u64,
    /// The network namespace on that host, by the kernel's number.
    pub network_namespace: u64,
    /// Random: names the place to meet, and is found again in the memory that is given there.
    pub nonce: u64,
    /// The effective user of the process.
    pub user: u32,
}

/// What a participant has announced of its writers, or of its readers: a receiver whose digest differs was told what the participant did not say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EndpointsSummary {
    /// The last change of the SEDP writer; 0 if it has written none.
    pub last: SequenceNumber,
    /// MD5 of the MD5 digests of the serialized announcements in force, in the order of entity ids.
    pub digest: [u8; 16],
}

/// The announcement of a participant, SPDPdiscoveredParticipantData (RTPS 2.5, 8.5.3.2, 9.6.2.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParticipantData {
    /// The participant. The only parameter that has no default.
    pub prefix: GuidPrefix,
    /// Protocol version; 2.0 if absent.
    pub version: ProtocolVersion,
    /// Vendor; unknown if absent.
    pub vendor: VendorId,
    /// The participant's readers want QoS inline.
    pub expects_inline_qos: bool,
    /// Its built-in endpoints.
    pub builtin_endpoints: BuiltinEndpointSet,
    /// Where its built-in endpoints are reached by unicast.
    pub metatraffic_unicast: Vec<Locator>,
    /// Where its built-in endpoints are reached by multicast.
    pub metatraffic_multicast: Vec<Locator>,
    /// Where user endpoints without locators of their own are reached by unicast.
    pub default_unicast: Vec<Locator>,
    /// Where user endpoints without locators of their own are reached by multicast.
    pub default_multicast: Vec<Locator>,
    /// Without a sign of life for this long the participant is gone; 100 s if absent.
    pub lease_duration: Duration,
    /// Grows with each assertion of MANUAL_BY_PARTICIPANT liveliness.
    pub manual_liveliness_count: i32,
    /// Domain; `None` means that of the port it came in by.
    pub domain_id: Option<u32>,
    /// Domain tag; empty if absent. Participants with different tags ignore each other.
    pub domain_tag: String,
    /// Name of the participant.
    pub entity_name: Option<String>,
    /// USER_DATA of the participant.
    pub user_data: Vec<u8>,
    /// Where processes of the same host meet it; only Punctual announces that.
    pub shared_memory: Option<SharedMemory>,
    /// Ports that it sends from besides those of its locators, for IPv4 and for IPv6; 0 for none. Only Punctual announces that.
    pub sending_ports: [u16; 2],
    /// What its writers and its readers amount to; only Punctual announces that, and to participants that it has validated.
    pub endpoints: Option<[EndpointsSummary; 2]>,
}

impl ParticipantData {
    /// Lease duration of a participant that announces none.
    pub const DEFAULT_LEASE: Duration = Duration::from_secs(100);

    /// A participant that announces nothing but itself: all defaults.
    pub const fn new(prefix: GuidPrefix) -> Self {
        Self {
            prefix,
            version: ProtocolVersion { major: 2, minor: 0 },
            vendor: VendorId::UNKNOWN,
            expects_inline_qos: false,
            builtin_endpoints: BuiltinEndpointSet(0),
            metatraffic_unicast: Vec::new(),
            metatraffic_multicast: Vec::new(),
            default_unicast: Vec::new(),
            default_multicast: Vec::new(),
            lease_duration: Self::DEFAULT_LEASE,
            manual_liveliness_count: 0,
            domain_id: None,
            domain_tag: String::new(),
            entity_name: None,
            user_data: Vec::new(),
            shared_memory: None,
            sending_ports: [0; 2],
            endpoints: None,
        }
    }

    /// Appends the announcement as a serialized payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.encode_padded(0, out);
    }

    /// Appends the announcement with as many bytes of padding more (PID_PAD), a multiple of 4 from 4 on; 0 is without.
    /// A participant that answers with no more bytes than it gets may answer such an announcement with a larger one.
    pub fn encode_padded(&self, padding: usize, out: &mut Vec<u8>) {
        const HEADER: usize = 4;
        let mut list = begin(out);
        list.octets(pid::PROTOCOL_VERSION, &[self.version.major, self.version.minor]);
        list.octets(pid::VENDOR_ID, &self.vendor.0);
        list.octets(pid::PARTICIPANT_GUID, &Guid::new(self.prefix, EntityId::PARTICIPANT).to_bytes());
        list.octets(pid::BUILTIN_ENDPOINT_SET, &self.builtin_endpoints.0.to_le_bytes());
        list.with(pid::PARTICIPANT_LEASE_DURATION, |out| value::put_duration(out, self.lease_duration));
        if let Some(id) = self.domain_id {
            list.octets(pid::DOMAIN_ID, &id.to_le_bytes());
        }
        if !self.domain_tag.is_empty() {
            list.with(pid::DOMAIN_TAG, |out| value::put_text(out, &self.domain_tag));
        }
        put_locators(&mut list, pid::METATRAFFIC_UNICAST_LOCATOR, &self.metatraffic_unicast);
        put_locators(&mut list, pid::METATRAFFIC_MULTICAST_LOCATOR, &self.metatraffic_multicast);
        put_locators(&mut list, pid::DEFAULT_UNICAST_LOCATOR, &self.default_unicast);
        put_locators(&mut list, pid::DEFAULT_MULTICAST_LOCATOR, &self.default_multicast);
        if self.expects_inline_qos {
            list.octets(pid::EXPECTS_INLINE_QOS, &[1]);
        }
        if self.manual_liveliness_count != 0 {
            let count = self.manual_liveliness_count.to_le_bytes();
            list.octets(pid::PARTICIPANT_MANUAL_LIVELINESS_COUNT, &count);
        }
        if let Some(name) = &self.entity_name {
            list.with(pid::ENTITY_NAME, |out| value::put_text(out, name));
        }
        if !self.user_data.is_empty() {
            list.with(pid::USER_DATA, |out| value::put_octets(out, &self.user_data));
        }
        let sending_ports = Some(self.sending_ports).filter(|ports| *ports != [0; 2]);
        let (shared_memory, endpoints) = (self.shared_memory, self.endpoints);
        if shared_memory.is_some() || sending_ports.is_some() || endpoints.is_some() {
            let extension = Extension { shared_memory, sending_ports, endpoints, ..Extension::default() };
            list.with(pid::PUNCTUAL, |out| extension.encode(out));
        }
        if let Some(content) = padding.checked_sub(HEADER) {
            list.with(pid::PAD, |out| out.resize(out.len() + content, 0));
        }
        list.finish();
    }

    /// Reads an announcement.
    ///
    /// # Errors
    /// The payload is no PL_CDR parameter list, lacks the participant's guid, or has a parameter that must be refused.
    pub fn decode(payload: &[u8]) -> Result<Self, DiscoveryError> {
        let mut data = Self::new(GuidPrefix::UNKNOWN);
        for parameter in &list(payload)? {
            let (pid, fields) = (parameter.pid, &mut parameter.cursor());
            match pid {
                pid::PROTOCOL_VERSION => {
                    let [major, minor] = required(pid, fields.array())?;
                    data.version = ProtocolVersion { major, minor };
                }
                pid::VENDOR_ID => data.vendor = VendorId(required(pid, fields.array())?),
                pid::PARTICIPANT_GUID => {
                    let guid = value::guid(fields).filter(|guid| guid.prefix != GuidPrefix::UNKNOWN);
                    data.prefix = required(pid, guid)?.prefix;
                }
                pid::BUILTIN_ENDPOINT_SET => {
                    data.builtin_endpoints = BuiltinEndpointSet(required(pid, fields.u32())?);
                }
                pid::PARTICIPANT_LEASE_DURATION => {
                    data.lease_duration = required(pid, value::duration(fields))?;
                }
                pid::DOMAIN_ID => data.domain_id = Some(required(pid, fields.u32())?),
                pid::DOMAIN_TAG => data.domain_tag = name(pid, fields)?,
                pid::METATRAFFIC_UNICAST_LOCATOR => add_locator(&mut data.metatraffic_unicast, pid, fields)?,
                pid::METATRAFFIC_MULTICAST_LOCATOR => {
                    add_locator(&mut data.metatraffic_multicast, pid, fields)?;
                }
                pid::DEFAULT_UNICAST_LOCATOR => add_locator(&mut data.default_unicast, pid, fields)?,
                pid::DEFAULT_MULTICAST_LOCATOR => add_locator(&mut data.default_multicast, pid, fields)?,
                pid::EXPECTS_INLINE_QOS => data.expects_inline_qos = required(pid, value::boolean(fields))?,
                pid::PARTICIPANT_MANUAL_LIVELINESS_COUNT => {
                    data.manual_liveliness_count = required(pid, fields.i32())?;
                }
                pid::ENTITY_NAME => data.entity_name = Some(name(pid, fields)?),
                pid::USER_DATA => data.user_data = required(pid, value::octets(fields))?,
                pid::PUNCTUAL => {
                    let extension = Extension::decode(parameter.value);
                    data.shared_memory = extension.shared_memory.or(data.shared_memory);
                    data.sending_ports = extension.sending_ports.unwrap_or(data.sending_ports);
                    data.endpoints = extension.endpoints.or(data.endpoints);
                }
                unknown => skip_unknown(unknown)?,
            }
        }
        if data.prefix == GuidPrefix::UNKNOWN {
            return Err(DiscoveryError::Missing(pid::PARTICIPANT_GUID));
        }
        Ok(data)
    }

    /// Appends the key of the announcement as a serialized payload, to dispose and unregister it.
    pub fn encode_key(&self, out: &mut Vec<u8>) {
        let mut list = begin(out);
        list.octets(pid::PARTICIPANT_GUID, &Guid::new(self.prefix, EntityId::PARTICIPANT).to_bytes());
        list.finish();
    }

    /// Reads the key of an announcement. Some peers put the participant's guid under ENDPOINT_GUID there: it counts too.
    ///
    /// # Errors
    /// The payload is no PL_CDR parameter list or lacks the participant's guid.
    pub fn decode_key(payload: &[u8]) -> Result<GuidPrefix, DiscoveryError> {
        let guid = match key(payload, pid::PARTICIPANT_GUID)? {
            Some(guid) => Some(guid),
            None => key(payload, pid::ENDPOINT_GUID)?.filter(|guid| guid.entity_id == EntityId::PARTICIPANT),
        };
        guid.map(|guid| guid.prefix).ok_or(DiscoveryError::Missing(pid::PARTICIPANT_GUID))
    }
}
