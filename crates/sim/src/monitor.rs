//! Reads every datagram that is sent: what it shows is counted, and can be told in words.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

use wire::message::{Message, Submessage};
use wire::{EntityId, Guid, GuidPrefix, SequenceNumber};

use crate::coverage::{Coverage, Situation};
use crate::trace::Trace;

/// What was seen so far.
#[derive(Debug, Default)]
pub struct Monitor {
    writers: BTreeMap<Guid, Seen>,
    watched: BTreeMap<IpAddr, u64>,
    names: BTreeMap<GuidPrefix, String>,
}

/// What a writer has sent.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    newest: SequenceNumber,
    first: SequenceNumber,
}

impl Monitor {
    /// Nothing seen.
    pub const fn new() -> Self {
        Self { writers: BTreeMap::new(), watched: BTreeMap::new(), names: BTreeMap::new() }
    }

    /// Gives a participant a short name for descriptions.
    pub fn name(&mut self, prefix: GuidPrefix, name: String) {
        self.names.insert(prefix, name);
    }

    /// Begins to count bytes that are sent to an address.
    pub fn watch(&mut self, address: IpAddr) {
        self.watched.entry(address).or_default();
    }

    /// Bytes sent to a watched address.
    pub fn octets_to(&self, address: IpAddr) -> u64 {
        self.watched.get(&address).copied().unwrap_or(0)
    }

    /// A datagram leaves for a destination.
    pub fn addressed(&mut self, destination: SocketAddr, bytes: usize) {
        if let Some(count) = self.watched.get_mut(&destination.ip()) {
            *count += bytes as u64;
        }
    }

    /// A datagram leaves.
    pub fn sent(&mut self, bytes: &[u8], coverage: &mut Coverage) {
        let Ok(message) = Message::parse(bytes) else { return };
        let prefix = message.header().prefix;
        let mut samples = 0;
        for submessage in message.submessages().map_while(Result::ok) {
            match submessage {
                Submessage::Data(data) => {
                    samples += 1;
                    let seen = self.writers.entry(Guid::new(prefix, data.writer_id)).or_default();
                    // Announcements are repeated by design.
                    if data.sequence_number <= seen.newest && data.writer_id != EntityId::SPDP_WRITER {
                        coverage.hit(Situation::Repair);
                    }
                    seen.newest = seen.newest.max(data.sequence_number);
                }
                Submessage::DataFrag(_) => coverage.hit(Situation::DataFrag),
                Submessage::Gap(_) => coverage.hit(Situation::Gap),
                Submessage::Heartbeat(heartbeat) => {
                    coverage.hit(Situation::Heartbeat);
                    let seen = self.writers.entry(Guid::new(prefix, heartbeat.writer_id)).or_default();
                    if seen.first > SequenceNumber::ZERO && heartbeat.first > seen.first {
                        coverage.hit(Situation::HeartbeatJump);
                    }
                    seen.first = seen.first.max(heartbeat.first);
                }
                Submessage::AckNack(acknack) if !acknack.set.bitmap().is_empty() => {
                    coverage.hit(Situation::AckNackAsks);
                }
                Submessage::NackFrag(_) => coverage.hit(Situation::NackFrag),
                _ => {}
            }
        }
        if samples > 1 {
            coverage.hit(Situation::Batch);
        }
    }

    /// What a datagram without samples says, leaving out its counts; `None` for others.
    pub fn said(bytes: &[u8]) -> Option<u64> {
        let message = Message::parse(bytes).ok()?;
        let mut trace = Trace::silent();
        for submessage in message.submessages() {
            match submessage.ok()? {
                Submessage::Data(_) | Submessage::DataFrag(_) => return None,
                Submessage::Heartbeat(heartbeat) => {
                    trace.fold_bytes(&heartbeat.writer_id.0);
                    trace.fold_bytes(&heartbeat.reader_id.0);
                    trace.fold(&[heartbeat.first.0 as u64, heartbeat.last.0 as u64]);
                }
                Submessage::AckNack(acknack) => {
                    trace.fold_bytes(&acknack.reader_id.0);
                    trace.fold(&[acknack.set.base().0 as u64]);
                    acknack.set.iter().for_each(|number| trace.fold(&[number.0 as u64]));
                }
                Submessage::NackFrag(nack) => {
                    trace.fold(&[nack.sequence_number.0 as u64, u64::from(nack.missing.base().0)]);
                }
                Submessage::HeartbeatFrag(heartbeat) => {
                    trace.fold(&[heartbeat.sequence_number.0 as u64, u64::from(heartbeat.last_fragment.0)]);
                }
                Submessage::Gap(gap) => trace.fold(&[gap.start.0 as u64, gap.list.base().0 as u64]),
                _ => {}
            }
        }
        Some(trace.hash())
    }

    /// A datagram in words.
    pub fn describe(&self, bytes: &[u8]) -> String {
        let message = match Message::parse(bytes) {
            Ok(message) => message,
            Err(error) => return format!("{} bytes: {error:?}", bytes.len()),
        };
        let mut text = format!("{} bytes of {}:", bytes.len(), self.called(message.header().prefix));
        for submessage in message.submessages() {
            // Writing to a string cannot fail.
            let _ = match submessage {
                Ok(Submessage::Data(data)) => {
                    let len = data.payload.map_or(0, |payload| payload.bytes.len());
                    let id = data.writer_id;
                    write!(text, " DATA {id}>{} {:?} {len}", data.reader_id, data.sequence_number)
                }
                Ok(Submessage::DataFrag(frag)) => write!(
                    text,
                    " DATA_FRAG {}>{} {:?}/{} of {}x{}",
                    frag.writer_id,
                    frag.reader_id,
                    frag.sequence_number,
                    frag.first_fragment.0,
                    frag.sample_size,
                    frag.fragment_size
                ),
                Ok(Submessage::Heartbeat(hb)) => write!(
                    text,
                    " HEARTBEAT {}>{} {}..{} count {}{}{}",
                    hb.writer_id,
                    hb.reader_id,
                    hb.first,
                    hb.last,
                    hb.count,
                    if hb.is_final { " final" } else { "" },
                    if hb.liveliness { " liveliness" } else { "" }
                ),
                Ok(Submessage::AckNack(ack)) => {
                    let missing: Vec<_> = ack.set.iter().map(|number| number.0).collect();
                    let end = if ack.is_final { " final" } else { "" };
                    let base = ack.set.base();
                    let (reader, writer) = (ack.reader_id, ack.writer_id);
                    write!(text, " ACKNACK {reader}>{writer} {base} {missing:?} count {}{end}", ack.count)
                }
                Ok(Submessage::Gap(gap)) => {
                    let list: Vec<_> = gap.list.iter().map(|number| number.0).collect();
                    let (start, base) = (gap.start, gap.list.base());
                    write!(text, " GAP {}>{} {start}..{base} {list:?}", gap.writer_id, gap.reader_id)
                }
                Ok(Submessage::NackFrag(nack)) => {
                    let missing: Vec<_> = nack.missing.iter().map(|number| number.0).collect();
                    let (reader, writer) = (nack.reader_id, nack.writer_id);
                    write!(text, " NACK_FRAG {reader}>{writer} {:?} {missing:?}", nack.sequence_number)
                }
                Ok(Submessage::HeartbeatFrag(hb)) => write!(
                    text,
                    " HEARTBEAT_FRAG {}>{} {:?} ..{}",
                    hb.writer_id, hb.reader_id, hb.sequence_number, hb.last_fragment.0
                ),
                Ok(Submessage::InfoDestination(prefix)) => write!(text, " to {}", self.called(prefix)),
                Ok(Submessage::InfoTimestamp(_)) => Ok(()),
                Ok(other) => write!(text, " {other:?}"),
                Err(error) => write!(text, " {error}"),
            };
        }
        text
    }

    fn called(&self, prefix: GuidPrefix) -> String {
        self.names.get(&prefix).cloned().unwrap_or_else(|| prefix.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::EntityKind;
    use wire::message::encode::{self, DataHeader};
    use wire::message::{Heartbeat, PayloadKind};

    fn message(numbers: &[i64], first: i64) -> Vec<u8> {
        let writer_id = EntityId::user(1, EntityKind::WriterNoKey);
        let mut bytes = Vec::new();
        encode::header(&mut bytes, GuidPrefix([1; 12]));
        for number in numbers {
            let header = DataHeader {
                reader_id: EntityId::UNKNOWN,
                writer_id,
                sequence_number: SequenceNumber(*number),
                inline_qos: None,
                kind: PayloadKind::Data,
            };
            encode::data(&mut bytes, &header, &[0, 1, 0, 0, 9, 9, 9, 9]);
        }
        let heartbeat = Heartbeat {
            reader_id: EntityId::UNKNOWN,
            writer_id,
            first: SequenceNumber(first),
            last: SequenceNumber(9),
            count: 1,
            is_final: true,
            liveliness: false,
        };
        encode::heartbeat(&mut bytes, &heartbeat);
        bytes
    }

    #[test]
    fn what_datagrams_show_is_counted_and_told() {
        let mut monitor = Monitor::new();
        let mut coverage = Coverage::new();
        monitor.sent(&message(&[1], 1), &mut coverage);
        monitor.sent(&message(&[2, 3], 1), &mut coverage);
        assert_eq!((coverage.count(Situation::Batch), coverage.count(Situation::Repair)), (1, 0));
        monitor.sent(&message(&[2], 2), &mut coverage);
        assert_eq!(coverage.count(Situation::Repair), 1);
        assert_eq!(coverage.count(Situation::HeartbeatJump), 1);
        assert_eq!(coverage.count(Situation::Heartbeat), 3);
        monitor.name(GuidPrefix([1; 12]), "n1".into());
        let text = monitor.describe(&message(&[2], 2));
        assert!(text.contains("of n1: DATA 00000103>00000000 #2 8 HEARTBEAT"), "{text}");
    }

    #[test]
    fn what_is_said_leaves_out_counts() {
        let of = |first: i64, count: i32| {
            let mut bytes = message(&[], first);
            let end = bytes.len();
            bytes[end - 4..].copy_from_slice(&count.to_le_bytes());
            Monitor::said(&bytes)
        };
        assert!(of(1, 1).is_some());
        assert_eq!(of(1, 1), of(1, 2));
        assert_ne!(of(1, 1), of(2, 1));
        assert_eq!(Monitor::said(&message(&[1], 1)), None);
    }

    #[test]
    fn octets_are_counted_for_watched_addresses_only() {
        let mut monitor = Monitor::new();
        let address: SocketAddr = "10.0.0.9:7410".parse().unwrap();
        monitor.addressed(address, 5);
        monitor.watch(address.ip());
        monitor.addressed(address, 7);
        assert_eq!(monitor.octets_to(address.ip()), 7);
    }
}
