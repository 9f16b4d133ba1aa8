//! What flows of switches say that is held, in notes, so that a back-end that starts again knows it.
use linux_edge::entry::Tuple;
use linux_edge::record::FlowRecord;

/// A note as an action of Open vSwitch, which does nothing with it.
pub(crate) fn note(text: &str) -> String {
    let hex: Vec<String> = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("note:{}", hex.join("."))
}

/// The text of a note; Open vSwitch fills it with zeros.
pub fn read_note(action: &str) -> Option<String> {
    let hex = action.strip_prefix("note:")?;
    let bytes = hex.split('.').map(|byte| u8::from_str_radix(byte, 16).ok()).collect::<Option<Vec<u8>>>()?;
    let text = String::from_utf8(bytes).ok()?;
    Some(text.trim_end_matches('\0').to_owned())
}

/// A flow with its packets.
pub(crate) fn flow_text(record: &FlowRecord, tuples: &[Tuple]) -> String {
    let tuple = |it: &Tuple| {
        format!("{},{},{},{},{}", it.source, it.destination, it.protocol, it.source_port, it.destination_port)
    };
    let tuples: Vec<String> = tuples.iter().map(tuple).collect();
    format!("{}|{}", record.text(), tuples.join(";"))
}

/// A flow with its packets, from a note.
pub fn read_flow(text: &str) -> Option<(FlowRecord, Vec<Tuple>)> {
    let (record, tuples) = text.split_once('|')?;
    let tuple = |text: &str| {
        let fields: Vec<&str> = text.split(',').collect();
        let [source, destination, protocol, source_port, destination_port] = fields[..] else { return None };
        Some(Tuple {
            source: source.parse().ok()?,
            destination: destination.parse().ok()?,
            protocol: protocol.parse().ok()?,
            source_port: source_port.parse().ok()?,
            destination_port: destination_port.parse().ok()?,
        })
    };
    let tuples = tuples.split(';').map(tuple).collect::<Option<Vec<Tuple>>>()?;
    Some((FlowRecord::read(record)?, tuples))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wan::{AggregateId, Asn, Class, LegId, SessionId, TunnelId};

    #[test]
    fn a_flow_is_read_as_it_was_written() {
        let session = SessionId { origin: Asn(65_001), number: 9 };
        let tunnel = TunnelId { origin: Asn(65_001), number: u64::MAX };
        let record = FlowRecord {
            leg: LegId { session, flow: 2, peer: Asn(65_003) },
            aggregate: AggregateId { tunnel, class: Class::Af4 },
            slot: 7,
            rate: 100_000,
            bucket: 1_028,
            least: 64,
            largest: 1_028,
        };
        let tuple = |port| Tuple {
            source: std::net::IpAddr::from([10, 1, 0, 2]),
            destination: std::net::IpAddr::from([10, 3, 0, 2]),
            protocol: 17,
            source_port: port,
            destination_port: 7_411,
        };
        let tuples = vec![tuple(0), tuple(7_400)];
        let action = note(&flow_text(&record, &tuples));
        let padded = format!("{action}.00.00");
        for action in [&action, &padded] {
            assert_eq!(
                read_flow(&read_note(action).unwrap_or_default()),
                Some((record.clone(), tuples.clone()))
            );
        }
        for text in ["", "|", "f|", "f 1|1,2,3,4,5", &flow_text(&record, &[]), "note:zz"] {
            assert_eq!((read_flow(text), read_note(text)), (None, None), "{text}");
        }
    }
}
