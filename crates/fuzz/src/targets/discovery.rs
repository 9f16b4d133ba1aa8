//! Parameter lists and the announcements made of them.
use std::fmt::Debug;

use wire::cursor::Endianness;
use wire::discovery::{EndpointData, EndpointRole, MAX_LOCATORS, ParticipantData, ParticipantMessage};
use wire::parameter::ParameterList;

use super::messages::check_list;

/// Reads a payload as a parameter list in both byte orders, and as an announcement of every kind.
pub fn discovery_data(payload: &[u8]) {
    let bytes = payload.get(4..).unwrap_or(&[]);
    for endianness in [Endianness::Little, Endianness::Big] {
        if let Ok((list, consumed)) = ParameterList::parse(bytes, endianness) {
            assert!(consumed <= bytes.len(), "{consumed} bytes read of {}", bytes.len());
            check_list(&list, bytes);
        }
    }
    announcement(payload);
}

/// Reads a payload as an announcement of every kind. What we write again is read as the same.
pub(super) fn announcement(payload: &[u8]) {
    if let Ok(data) = ParticipantData::decode(payload) {
        let lists = [
            &data.metatraffic_unicast,
            &data.metatraffic_multicast,
            &data.default_unicast,
            &data.default_multicast,
        ];
        assert!(lists.iter().all(|list| list.len() <= MAX_LOCATORS), "more locators than we keep");
        same_again(&data, |out| data.encode(out), ParticipantData::decode);
    }
    for role in [EndpointRole::Writer, EndpointRole::Reader] {
        if let Ok(data) = EndpointData::decode(payload, role) {
            assert!(data.unicast.len() <= MAX_LOCATORS && data.multicast.len() <= MAX_LOCATORS);
            assert_eq!(data.participant, data.guid.prefix);
            same_again(&data, |out| data.encode(out), |bytes| EndpointData::decode(bytes, role));
        }
    }
    if let Ok(message) = ParticipantMessage::decode(payload) {
        same_again(&message, |out| message.encode(out), ParticipantMessage::decode);
    }
    if let Ok(prefix) = ParticipantData::decode_key(payload) {
        let encode = |out: &mut Vec<u8>| ParticipantData::new(prefix).encode_key(out);
        same_again(&prefix, encode, ParticipantData::decode_key);
    }
    // A key that is no key of an endpoint is read as well: what it names is looked up, and not found.
    let _ = EndpointData::decode_key(payload);
}

fn same_again<T: PartialEq + Debug, E: PartialEq + Debug>(
    value: &T,
    encode: impl FnOnce(&mut Vec<u8>),
    decode: impl FnOnce(&[u8]) -> Result<T, E>,
) {
    let mut out = Vec::new();
    encode(&mut out);
    assert_eq!(decode(&out).as_ref(), Ok(value), "what is written is read as the same");
}
