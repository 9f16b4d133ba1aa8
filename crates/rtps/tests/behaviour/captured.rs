//! Recorded traffic of other vendors: we take the place of one of the recorded participants, with its prefix, and discover
//! the others from what they sent to it and to everybody.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use crate::domain::{BareParticipant, Forged, Recorder, at};
use rtps::discovery::{DiscoveryConfig, Event, LossReason, Rejection};
use rtps::transmit::Transmit;
use rtps::{Interface, Network};
use wire::discovery::EndpointData;
use wire::message::{Message, Submessage};
use wire::qos::{DataRepresentation, EndpointQos};
use wire::{Duration, EntityKind, GuidPrefix};

struct Captured {
    from: SocketAddr,
    bytes: Vec<u8>,
}

/// The UDP datagrams over IPv4 of a file in the classic pcap format, little endian, of Ethernet frames.
fn read(file: &[u8]) -> Vec<Captured> {
    let mut datagrams = Vec::new();
    let mut rest = &file[24..];
    while let [_, _, _, _, _, _, _, _, a, b, c, d, _, _, _, _, frames @ ..] = rest {
        let (frame, more) = frames.split_at(u32::from_le_bytes([*a, *b, *c, *d]) as usize);
        rest = more;
        let ip = &frame[14..];
        let (header, udp) = ip.split_at(usize::from(ip[0] & 0x0f) * 4);
        assert!(header[9] == 17 && frame[12..14] == [8, 0], "not UDP over IPv4");
        let source = Ipv4Addr::from([header[12], header[13], header[14], header[15]]);
        let port = u16::from_be_bytes([udp[0], udp[1]]);
        let len = usize::from(u16::from_be_bytes([udp[4], udp[5]]));
        let from = SocketAddr::new(IpAddr::V4(source), port);
        datagrams.push(Captured { from, bytes: udp[8..len].to_vec() });
    }
    datagrams
}

struct Seen {
    found: Vec<GuidPrefix>,
    left: Vec<GuidPrefix>,
    /// Announced by others, by topic.
    writers: BTreeMap<String, EndpointData>,
    readers: usize,
    matched: usize,
    rejected: Vec<(Rejection, u64)>,
}

/// What the participant `ours` of a recording would have seen of the others.
fn take_part(datagrams: &[Captured], ours: GuidPrefix, topics: &[EndpointData]) -> Seen {
    let network = Network {
        interfaces: vec![Interface {
            index: 1,
            addresses: vec![(IpAddr::V4(Ipv4Addr::LOCALHOST), 8)],
            max_datagram: 65_507,
            multicast: true,
        }],
    };
    let mut participant = BareParticipant::new(DiscoveryConfig::new(ours, 0, 1), network).unwrap();
    let mut seen = Seen {
        found: vec![],
        left: vec![],
        writers: BTreeMap::new(),
        readers: 0,
        matched: 0,
        rejected: vec![],
    };
    let (mut sink, mut transmit) = (Recorder::default(), Transmit::new());
    for topic in topics {
        let representation = vec![DataRepresentation::XCDR1, DataRepresentation::XCDR2];
        let qos = EndpointQos { representation, ..topic.qos.clone() };
        let (topic_name, type_name) = (&topic.topic_name, &topic.type_name);
        participant
            .create(at(Duration::ZERO), EntityKind::ReaderWithKey, topic_name, type_name, qos)
            .unwrap();
    }
    let mut answers = Vec::new();
    for (number, datagram) in datagrams.iter().enumerate() {
        let now = at(Duration::from_millis(10 * number as i64));
        participant.handle_datagram(now, datagram.from, &datagram.bytes, &mut sink).unwrap();
        while participant.poll_transmit(now, &mut transmit) {
            // What was recorded cannot answer a probe that nobody foresaw: it does so from where its unicast came from.
            let mut sent = Vec::new();
            transmit.copy_to(&mut sent);
            answers.extend(prefixes(datagrams).into_iter().filter_map(|prefix| {
                let number = crate::domain::probe_in(&sent, prefix)?;
                Some((prefix, Forged::from(prefix).to(ours).answer(number).0))
            }));
        }
        for (prefix, answer) in answers.drain(..) {
            if let Some(from) = unicast_source(&datagrams[..=number], prefix, ours) {
                participant.handle_datagram(now, from, &answer, &mut sink).unwrap();
            }
        }
        while participant.poll_transmit(now, &mut transmit) {}
        while let Some(event) = participant.poll_event() {
            match event {
                Event::ParticipantFound { participant } => seen.found.push(participant.prefix),
                Event::ParticipantLost { participant, reason: LossReason::Left } => {
                    seen.left.push(participant)
                }
                Event::WriterMatched { local: false, .. } => seen.matched += 1,
                _ => {}
            }
        }
        for endpoint in participant.discovery().endpoints().filter(|data| data.guid.prefix != ours) {
            if endpoint.guid.entity_id.is_writer() {
                seen.writers.insert(endpoint.topic_name.clone(), EndpointData::clone(endpoint));
            }
        }
        let readers = participant
            .discovery()
            .endpoints()
            .filter(|data| data.guid.prefix != ours && data.guid.entity_id.is_reader());
        seen.readers = seen.readers.max(readers.count());
    }
    // Who has said goodbye answers no more.
    for step in 0..100 {
        let now = at(Duration::from_millis(10 * datagrams.len() as i64 + 50 * step));
        while participant.poll_transmit(now, &mut transmit) {}
        while let Some(event) = participant.poll_event() {
            if let Event::ParticipantLost { participant, reason: LossReason::Left } = event {
                seen.left.push(participant);
            }
        }
    }
    let discovery = participant.discovery();
    seen.rejected = Rejection::ALL
        .into_iter()
        .map(|reason| (reason, discovery.rejected(reason)))
        .filter(|(_, count)| *count > 0)
        .collect();
    seen
}

/// Where a participant has sent something from that names `ours`.
fn unicast_source(datagrams: &[Captured], prefix: GuidPrefix, ours: GuidPrefix) -> Option<SocketAddr> {
    let names_us = |datagram: &&Captured| {
        let message = Message::parse(&datagram.bytes).unwrap();
        let mut submessages = message.submessages().flatten();
        message.header().prefix == prefix
            && submessages
                .any(|submessage| matches!(submessage, Submessage::InfoDestination(to) if to == ours))
    };
    datagrams.iter().find(names_us).map(|datagram| datagram.from)
}

fn prefixes(datagrams: &[Captured]) -> Vec<GuidPrefix> {
    let header = |datagram: &Captured| Message::parse(&datagram.bytes).unwrap().header().prefix;
    let mut prefixes: Vec<_> = datagrams.iter().map(header).collect();
    prefixes.sort();
    prefixes.dedup();
    prefixes
}

#[test]
fn every_recorded_participant_is_discovered_by_the_others() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../wire/tests/golden"));
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (mut recordings, mut goodbyes) = (0, BTreeSet::new());
    for file in files.filter(|path| path.extension().is_some_and(|extension| extension == "pcap")) {
        let datagrams = read(&std::fs::read(&file).unwrap());
        let prefixes = prefixes(&datagrams);
        recordings += 1;
        for ours in &prefixes {
            let name = format!("{} as {ours}", file.display());
            let topics: Vec<_> = take_part(&datagrams, *ours, &[]).writers.values().cloned().collect();
            let seen = take_part(&datagrams, *ours, &topics);
            let others: Vec<_> = prefixes.iter().filter(|prefix| *prefix != ours).copied().collect();
            let mut found = seen.found.clone();
            found.sort();
            // Each once, in spite of goodbyes and of what comes before the first announcement.
            assert_eq!(found, others, "{name}");
            assert!(seen.writers.len() + seen.readers > 0, "{name}: no endpoint");
            assert_eq!(seen.matched, topics.len(), "{name}");
            for (reason, count) in &seen.rejected {
                // Other vendors have more built-in endpoints, and some send before they have announced themselves. RustDDS sends to
                // groups from another socket than by unicast: it is asked for the same by unicast.
                let harmless = [
                    Rejection::UnknownEndpoint,
                    Rejection::UnknownParticipant,
                    Rejection::NotValidated,
                    Rejection::UnknownAddress,
                ];
                assert!(harmless.contains(reason), "{name}: {count} times {reason}");
            }
            goodbyes.extend(seen.left.iter().map(|prefix| [prefix.0[0], prefix.0[1]]));
        }
    }
    assert!(recordings >= 20, "{recordings} recordings");
    // The goodbyes of all vendors are understood; Dust DDS does not put its vendor id into the prefix.
    assert_eq!(Vec::from_iter(goodbyes), [[0, 0], [1, 0x0f], [1, 0x10], [1, 0x12]]);
}
