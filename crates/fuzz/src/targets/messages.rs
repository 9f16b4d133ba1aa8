//! Whole messages and inline QoS.
use wire::cursor::Endianness;
use wire::message::{Message, Submessage, encode};
use wire::parameter::{InlineQos, Parameter, ParameterList};
use wire::{GuidPrefix, SequenceNumber, SequenceNumberSet};

use super::discovery::announcement;

/// Reads a whole message. What is read keeps its rules, and what we write again is read as the same.
pub fn rtps_message(bytes: &[u8]) {
    let Ok(message) = Message::parse(bytes) else { return };
    let mut submessages = message.submessages();
    let mut octets = 0;
    while let Some(submessage) = submessages.next() {
        octets += 4;
        match submessage {
            Ok(submessage) => check_submessage(&submessage, bytes),
            Err(error) => {
                assert!(error.offset <= bytes.len(), "the error is at {} of {}", error.offset, bytes.len());
                assert!(submessages.next().is_none(), "an error ends the message");
                break;
            }
        }
        assert!(octets <= bytes.len(), "more submessages than fit into the bytes");
    }
}

fn check_submessage(submessage: &Submessage<'_>, bytes: &[u8]) {
    match submessage {
        Submessage::Data(data) => {
            assert!(data.sequence_number >= SequenceNumber::FIRST);
            if let Some(list) = &data.inline_qos {
                check_list(list, bytes);
            }
            if let Some(payload) = &data.payload {
                assert!(payload.bytes.len() >= 4, "no place for the encapsulation header");
                assert_within(payload.bytes, bytes);
                if data.writer_id.is_builtin() {
                    announcement(payload.bytes);
                }
            }
        }
        Submessage::DataFrag(fragments) => {
            assert!(fragments.sequence_number >= SequenceNumber::FIRST);
            assert_within(fragments.bytes, bytes);
            let size = u64::from(fragments.fragment_size);
            let start = u64::from(fragments.first_fragment.0 - 1) * size;
            let end = start + fragments.bytes.len() as u64;
            assert!(end <= u64::from(fragments.sample_size), "fragments end at {end}");
            let whole = u64::from(fragments.fragment_count) * size;
            assert!(end - start == whole || end == u64::from(fragments.sample_size), "a fragment is short");
        }
        Submessage::Heartbeat(heartbeat) => {
            assert!(heartbeat.first >= SequenceNumber::FIRST);
            assert!(heartbeat.last >= heartbeat.first.prev());
            same_again(submessage, |out| encode::heartbeat(out, heartbeat));
        }
        Submessage::AckNack(acknack) => {
            check_set(&acknack.set);
            same_again(submessage, |out| encode::acknack(out, acknack));
        }
        Submessage::Gap(gap) => {
            assert!(gap.start >= SequenceNumber::FIRST && gap.list.base() >= gap.start);
            check_set(&gap.list);
            same_again(submessage, |out| encode::gap(out, gap));
        }
        Submessage::HeartbeatFrag(heartbeat) => {
            same_again(submessage, |out| encode::heartbeat_frag(out, heartbeat));
        }
        Submessage::NackFrag(nack) => {
            assert!(nack.missing.iter().count() <= 256);
            assert!(nack.missing.iter().all(|number| number.0 >= 1));
            same_again(submessage, |out| encode::nack_frag(out, nack));
        }
        Submessage::InfoTimestamp(timestamp) => {
            same_again(submessage, |out| encode::info_timestamp(out, *timestamp));
        }
        Submessage::InfoDestination(prefix) => {
            same_again(submessage, |out| encode::info_destination(out, *prefix));
        }
        Submessage::InfoSource(source) => {
            same_again(submessage, |out| encode::info_source(out, source));
        }
        Submessage::InfoReply(reply) => {
            for locators in [Some(reply.unicast), reply.multicast].into_iter().flatten() {
                assert_eq!(locators.iter().count(), locators.len());
                assert!(locators.len() * 24 <= bytes.len(), "more locators than bytes");
            }
        }
        Submessage::Pad => {}
        Submessage::Secure { body, .. } | Submessage::Other { body, .. } => assert_within(body, bytes),
    }
}

fn check_set(set: &SequenceNumberSet) {
    let mut before = None;
    for number in set.iter() {
        assert!(number >= set.base() && set.contains(number), "{number} of a set from {}", set.base());
        assert!(number.distance_from(set.base()) < 256);
        assert!(before < Some(number), "numbers in order");
        before = Some(number);
    }
}

pub(super) fn check_list(list: &ParameterList<'_>, bytes: &[u8]) {
    let mut octets = 0;
    for Parameter { value, .. } in list {
        octets += 4 + value.len();
        assert!(value.len() % 4 == 0, "a value of {} bytes", value.len());
        assert_within(value, bytes);
    }
    assert!(octets <= bytes.len(), "more parameters than fit into the bytes");
    if let Ok(qos) = InlineQos::read(list) {
        let mut out = Vec::with_capacity(InlineQos::MAX_ENCODED_LEN);
        qos.encode(&mut out);
        assert!(out.len() <= InlineQos::MAX_ENCODED_LEN, "{} bytes of inline QoS", out.len());
        let again = ParameterList::parse(&out, Endianness::Little).map(|(list, _)| InlineQos::read(&list));
        assert_eq!(again, Ok(Ok(qos)), "inline QoS that is written is read as the same");
    }
}

/// What `encode` writes is read as `submessage`.
fn same_again(submessage: &Submessage<'_>, encode: impl FnOnce(&mut Vec<u8>)) {
    let mut out = Vec::with_capacity(128);
    encode::header(&mut out, GuidPrefix::UNKNOWN);
    encode(&mut out);
    assert_eq!(out.len() % 4, 0, "submessages are aligned");
    let message = Message::parse(&out);
    let again: Vec<_> = message.iter().flat_map(Message::submessages).collect();
    assert_eq!(again, [Ok(*submessage)]);
}

fn assert_within(part: &[u8], whole: &[u8]) {
    let (part, whole) = (part.as_ptr_range(), whole.as_ptr_range());
    assert!(part.start >= whole.start && part.end <= whole.end, "octets from outside the input");
}
