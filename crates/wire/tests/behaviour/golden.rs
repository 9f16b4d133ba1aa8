//! Recordings of other vendors' programs (golden/README.md): every datagram is read, in the numbers that another dissector
//! counts, every discovery record decodes, and says what the scenario says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use wire::cursor::Endianness;
use wire::discovery::{BuiltinEndpointSet, EndpointData, EndpointRole, ParticipantData, ParticipantMessage};
use wire::message::{DataFrag, Message, Submessage};
use wire::parameter::{InlineQos, ParameterList, StatusInfo, pid};
use wire::qos::{
    AccessScope, DataRepresentation, DestinationOrder, Durability, History, LivelinessKind, Ownership,
    ReliabilityKind,
};
use wire::{Duration, EntityId, Guid, GuidPrefix, Locator, SequenceNumber, VendorId};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn datagrams(name: &str) -> Vec<Vec<u8>> {
    crate::pcap::read(&std::fs::read(folder().join(name)).unwrap())
}

/// The recordings that golden/expected.txt counts; there is no other, and none is missing.
fn names() -> BTreeSet<String> {
    let names: BTreeSet<_> = expected().into_keys().map(|(name, _)| name).collect();
    let files = std::fs::read_dir(folder()).unwrap();
    let found = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(names, found.filter(|name| name.ends_with(".pcap")).collect());
    names
}

/// Counts by recording and by what is counted.
fn expected() -> BTreeMap<(String, String), usize> {
    let text = std::fs::read_to_string(folder().join("expected.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let counts: BTreeMap<_, _> = lines
        .map(|line| {
            let [name, what, count] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            ((name.to_owned(), what.to_owned()), count.parse().unwrap())
        })
        .collect();
    assert!(counts.len() > 400);
    counts
}

/// The parameters of inline QoS and of discovery payloads, with one sentinel per list.
fn count_parameters(list: &ParameterList<'_>, add: &mut impl FnMut(String)) {
    add(format!("PID_{:#06x}", pid::SENTINEL));
    list.iter().for_each(|parameter| add(format!("PID_{:#06x}", parameter.pid)));
}

/// The parameter list of a built-in writer's payload; the liveliness topic has none, whatever its header says.
fn discovery_list<'a>(writer: EntityId, payload: &'a [u8]) -> Option<ParameterList<'a>> {
    let endianness = match payload.get(1)? {
        2 => Endianness::Big,
        3 => Endianness::Little,
        _ => return None,
    };
    if !writer.is_builtin() || writer == EntityId::PARTICIPANT_MESSAGE_WRITER {
        return None;
    }
    Some(ParameterList::parse(payload.get(4..)?, endianness).unwrap().0)
}

#[test]
fn every_datagram_is_read_in_the_numbers_of_another_dissector() {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for name in names() {
        let mut add = |what: String| *counts.entry((name.clone(), what)).or_default() += 1;
        for datagram in datagrams(&name) {
            add("DATAGRAMS".to_owned());
            for submessage in Message::parse(&datagram).unwrap().submessages() {
                let submessage = submessage.unwrap_or_else(|error| panic!("{name}: {error}"));
                add(kind_of(&submessage));
                let Submessage::Data(data) = submessage else { continue };
                data.inline_qos.iter().for_each(|list| count_parameters(list, &mut add));
                let list = data.payload.and_then(|payload| discovery_list(data.writer_id, payload.bytes));
                list.iter().for_each(|list| count_parameters(list, &mut add));
            }
        }
    }
    let expected = expected();
    let differs = |key: &&(String, String)| counts.get(*key) != expected.get(*key);
    let different: BTreeSet<_> = counts.keys().chain(expected.keys()).filter(differs).collect();
    let shown: Vec<_> = different.into_iter().map(|key| (key, counts.get(key), expected.get(key))).collect();
    assert!(shown.is_empty(), "(what, ours, expected): {shown:#?}");
}

fn kind_of(submessage: &Submessage<'_>) -> String {
    let name = match submessage {
        Submessage::Data(_) => "DATA",
        Submessage::DataFrag(_) => "DATA_FRAG",
        Submessage::Heartbeat(_) => "HEARTBEAT",
        Submessage::AckNack(_) => "ACKNACK",
        Submessage::Gap(_) => "GAP",
        Submessage::HeartbeatFrag(_) => "HEARTBEAT_FRAG",
        Submessage::NackFrag(_) => "NACK_FRAG",
        Submessage::InfoTimestamp(_) => "INFO_TS",
        Submessage::InfoDestination(_) => "INFO_DST",
        Submessage::InfoSource(_) => "INFO_SRC",
        Submessage::InfoReply(_) => "INFO_REPLY",
        Submessage::Pad => "PAD",
        Submessage::Secure { kind, .. } | Submessage::Other { kind, .. } => {
            return format!("VENDOR_{kind:#04x}");
        }
    };
    name.to_owned()
}

/// What is announced in a recording; keys are those of disposed records.
#[derive(Default)]
struct Announced {
    participants: Vec<ParticipantData>,
    writers: Vec<EndpointData>,
    readers: Vec<EndpointData>,
    messages: Vec<ParticipantMessage>,
    gone_participants: Vec<GuidPrefix>,
    gone_endpoints: Vec<Guid>,
}

/// Reads all discovery data of a recording. Any record that does not decode fails the test.
fn announced(name: &str) -> Announced {
    let mut all = Announced::default();
    for datagram in datagrams(name) {
        for submessage in Message::parse(&datagram).unwrap().submessages() {
            let Ok(Submessage::Data(data)) = submessage else { continue };
            let Some(payload) = data.payload else { continue };
            let bytes = payload.bytes;
            match (data.writer_id, payload.is_key) {
                (EntityId::SPDP_WRITER, false) => {
                    all.participants.push(ParticipantData::decode(bytes).unwrap())
                }
                (EntityId::SPDP_WRITER, true) => {
                    all.gone_participants.push(ParticipantData::decode_key(bytes).unwrap());
                }
                (EntityId::SEDP_PUBLICATIONS_WRITER, false) => {
                    all.writers.push(EndpointData::decode(bytes, EndpointRole::Writer).unwrap());
                }
                (EntityId::SEDP_SUBSCRIPTIONS_WRITER, false) => {
                    all.readers.push(EndpointData::decode(bytes, EndpointRole::Reader).unwrap());
                }
                (EntityId::SEDP_PUBLICATIONS_WRITER | EntityId::SEDP_SUBSCRIPTIONS_WRITER, true) => {
                    all.gone_endpoints.push(EndpointData::decode_key(bytes).unwrap());
                }
                (EntityId::PARTICIPANT_MESSAGE_WRITER, _) => {
                    all.messages.push(ParticipantMessage::decode(bytes).unwrap());
                }
                _ => {}
            }
        }
    }
    all
}

#[test]
fn every_discovery_record_decodes_and_survives_our_own_encoding() {
    for name in names() {
        let all = announced(&name);
        assert!(!all.participants.is_empty(), "{name}");
        let mut out = Vec::new();
        for data in &all.participants {
            out.clear();
            data.encode(&mut out);
            assert_eq!(ParticipantData::decode(&out).as_ref(), Ok(data), "{name}");
            assert!(data.builtin_endpoints.contains(BuiltinEndpointSet::PUBLICATIONS_DETECTOR), "{name}");
            assert!(data.metatraffic_unicast.iter().any(|locator| locator.socket_addr().is_some()), "{name}");
        }
        let writers = all.writers.iter().map(|data| (data, EndpointRole::Writer));
        for (data, role) in writers.chain(all.readers.iter().map(|data| (data, EndpointRole::Reader))) {
            out.clear();
            data.encode(&mut out);
            assert_eq!(EndpointData::decode(&out, role).as_ref(), Ok(data), "{name}");
        }
        // Whatever is disposed was announced, apart from built-in endpoints (RustDDS disposes those too).
        let known: BTreeSet<_> = all.participants.iter().map(|data| data.prefix).collect();
        assert!(all.gone_participants.iter().all(|prefix| known.contains(prefix)), "{name}");
        let endpoints: BTreeSet<_> = all.writers.iter().chain(&all.readers).map(|data| data.guid).collect();
        let known_or_builtin = |guid: &Guid| guid.entity_id.is_builtin() || endpoints.contains(guid);
        assert!(all.gone_endpoints.iter().all(known_or_builtin), "{name}");
        assert!(all.messages.iter().all(|message| known.contains(&message.prefix)), "{name}");
    }
}

#[test]
fn inline_qos_of_all_peers_is_understood() {
    let mut with_hash = 0;
    let mut disposed = 0;
    for name in names() {
        for datagram in datagrams(&name) {
            for submessage in Message::parse(&datagram).unwrap().submessages() {
                let Ok(Submessage::Data(data)) = submessage else { continue };
                let Some(list) = data.inline_qos else { continue };
                let qos = InlineQos::read(&list).unwrap();
                with_hash += usize::from(qos.key_hash.is_some());
                disposed += usize::from(qos.status_info.contains(StatusInfo::DISPOSED));
                // An instance changes without a sample only by its status.
                assert!(data.payload.is_some() || qos.status_info != StatusInfo::ALIVE, "{name}");
            }
        }
    }
    assert!(with_hash > 0 && disposed > 0);
}

/// The fragments of one sample so far.
#[derive(Default)]
struct Assembly {
    bytes: Vec<u8>,
    missing: BTreeSet<u32>,
}

/// Puts the fragments of a recording together: the samples that became whole.
fn assembled(name: &str) -> Vec<Vec<u8>> {
    let mut open: BTreeMap<(GuidPrefix, EntityId, SequenceNumber), Assembly> = BTreeMap::new();
    for datagram in datagrams(name) {
        let message = Message::parse(&datagram).unwrap();
        for submessage in message.submessages() {
            match submessage.unwrap() {
                Submessage::DataFrag(frag) => {
                    let of = (message.header().prefix, frag.writer_id, frag.sequence_number);
                    add_fragment(open.entry(of).or_default(), &frag);
                }
                Submessage::NackFrag(nack) => assert!(nack.missing.iter().next().is_some(), "{name}"),
                _ => {}
            }
        }
    }
    let whole = open.into_values().filter(|assembly| assembly.missing.is_empty());
    whole.map(|assembly| assembly.bytes).collect()
}

fn add_fragment(assembly: &mut Assembly, frag: &DataFrag<'_>) {
    if assembly.bytes.is_empty() {
        assembly.bytes.resize(frag.sample_size as usize, 0);
        assembly.missing = (1..=frag.sample_size.div_ceil(u32::from(frag.fragment_size))).collect();
    }
    assert_eq!(assembly.bytes.len(), frag.sample_size as usize);
    let start = (frag.first_fragment.0 - 1) as usize * usize::from(frag.fragment_size);
    assembly.bytes[start..start + frag.bytes.len()].copy_from_slice(frag.bytes);
    for fragment in 0..u32::from(frag.fragment_count) {
        assembly.missing.remove(&(frag.first_fragment.0 + fragment));
    }
}

#[test]
fn fragments_become_whole_samples() {
    for name in names().into_iter().filter(|name| name.contains("_frag")) {
        let samples = assembled(&name);
        assert!(!samples.is_empty(), "{name}");
        for sample in samples {
            let [0, 0..=3 | 6..=11, _, _, ..] = sample[..] else { panic!("{name}: {:?}", &sample[..4]) };
            assert!(sample.len() > 1_000, "{name}");
        }
    }
}

/// The one writer and the one reader of a recording; repeated announcements must be the same.
fn endpoints(name: &str) -> (EndpointData, EndpointData) {
    let Announced { mut writers, mut readers, .. } = announced(name);
    writers.dedup();
    readers.dedup();
    assert_eq!((writers.len(), readers.len()), (1, 1), "{name}");
    (writers.remove(0), readers.remove(0))
}

fn vendors(name: &str) -> BTreeSet<VendorId> {
    announced(name).participants.iter().map(|data| data.vendor).collect()
}

#[test]
fn vendors_are_those_of_the_file_names() {
    for (part, vendor) in [
        ("cyclone", VendorId::CYCLONE),
        ("fastdds", VendorId::EPROSIMA),
        ("dustdds", VendorId::DUST),
        ("rustdds", VendorId::RUSTDDS),
    ] {
        for name in names() {
            assert_eq!(vendors(&name).contains(&vendor), name.contains(part), "{name}");
        }
    }
}

#[test]
fn cyclone_announces_every_policy() {
    let (writer, reader) = endpoints("cyclone_qos.pcap");
    for data in [&writer, &reader] {
        let qos = &data.qos;
        assert_eq!((data.topic_name.as_str(), data.type_name.as_str()), ("AllQos", "Shape"));
        assert_eq!(qos.reliability.kind, ReliabilityKind::Reliable);
        assert_eq!(qos.reliability.max_blocking_time, Duration::from_secs(1));
        assert_eq!(qos.durability, Durability::TransientLocal);
        assert_eq!(qos.deadline, Duration::from_secs(2));
        assert_eq!(qos.latency_budget, Duration::from_millis(5));
        assert_eq!(qos.liveliness.kind, LivelinessKind::ManualByParticipant);
        assert_eq!(qos.liveliness.lease_duration, Duration::from_secs(3));
        assert_eq!(qos.ownership, Ownership::Exclusive);
        assert_eq!(qos.destination_order, DestinationOrder::BySourceTimestamp);
        assert_eq!(qos.presentation.access_scope, AccessScope::Topic);
        assert!(qos.presentation.ordered_access && !qos.presentation.coherent_access);
        assert_eq!(qos.partition, ["part.a", "part.b*"]);
        assert_eq!(qos.history, History::KeepLast(7));
        let limits = qos.resource_limits;
        assert_eq!((limits.max_samples, limits.max_instances), (Some(100), Some(10)));
        assert_eq!(limits.max_samples_per_instance, Some(20));
        assert_eq!(qos.topic_data, b"topic data");
        assert!(data.type_information.is_some());
    }
    assert_eq!((writer.qos.ownership_strength, writer.qos.transport_priority), (12, 4));
    assert_eq!(writer.qos.lifespan, Duration::from_secs(10));
    assert_eq!(writer.qos.user_data, b"writer user data");
    assert_eq!(writer.qos.group_data, b"publisher group data");
    assert_eq!(writer.qos.representation, [DataRepresentation::XCDR2]);
    assert_eq!(reader.qos.time_based_filter, Duration::from_millis(1));
    assert_eq!(reader.qos.user_data, b"reader user data");
    assert_eq!(reader.qos.group_data, b"subscriber group data");
    assert_eq!(reader.qos.representation, [DataRepresentation::XCDR1, DataRepresentation::XCDR2]);
    let participant = &announced("cyclone_qos.pcap").participants[0];
    assert_eq!(participant.user_data, b"participant user data");
    assert_eq!(participant.lease_duration, Duration::from_secs(10));
    assert_eq!(participant.domain_id, Some(0));
}

#[test]
fn fast_dds_announces_every_policy() {
    let (writer, reader) = endpoints("fastdds_qos.pcap");
    for data in [&writer, &reader] {
        assert_eq!((data.topic_name.as_str(), data.type_name.as_str()), ("AllQos", "Shape"));
        assert_eq!(data.qos.reliability.kind, ReliabilityKind::Reliable);
        assert_eq!(data.qos.reliability.max_blocking_time, Duration::from_millis(100));
        assert_eq!(data.qos.durability, Durability::TransientLocal);
        assert_eq!(data.qos.ownership, Ownership::Exclusive);
        // Fast DDS 2.9 announces no representation: that means XCDR1.
        assert!(data.qos.representation.is_empty());
    }
    assert_eq!((writer.qos.deadline, reader.qos.deadline), (Duration::from_secs(5), Duration::from_secs(6)));
    assert_eq!(writer.qos.latency_budget, Duration::from_millis(5));
    assert_eq!(reader.qos.latency_budget, Duration::from_millis(9));
    assert_eq!(writer.qos.liveliness.kind, LivelinessKind::ManualByParticipant);
    assert_eq!(reader.qos.liveliness.kind, LivelinessKind::Automatic);
    assert_eq!(writer.qos.lifespan, Duration::from_secs(10));
    assert_eq!(writer.qos.ownership_strength, 12);
    assert_eq!(writer.qos.partition, ["part.a", "part.b"]);
    assert_eq!(reader.qos.partition, ["part.*"]);
    assert_eq!(reader.qos.time_based_filter, Duration::from_millis(1));
    assert_eq!(writer.qos.user_data, b"writer user data");
    assert_eq!(writer.max_serialized_size, Some(152));
    // Its liveliness messages say PL_CDR and are plain CDR.
    let messages = announced("fastdds_qos.pcap").messages;
    assert!(messages.iter().any(|message| message.kind == ParticipantMessage::MANUAL));
}

#[test]
fn dust_announces_every_policy() {
    let (writer, reader) = endpoints("dustdds_qos.pcap");
    for data in [&writer, &reader] {
        assert_eq!(data.qos.durability, Durability::TransientLocal);
        assert_eq!(data.qos.deadline, Duration::from_secs(5));
        assert_eq!(data.qos.destination_order, DestinationOrder::BySourceTimestamp);
        assert_eq!(data.qos.partition, ["part.a", "part.b"]);
        assert_eq!(data.qos.representation, [DataRepresentation::XCDR2]);
    }
    assert_eq!(writer.qos.lifespan, Duration::from_secs(10));
    assert_eq!(reader.qos.time_based_filter, Duration::from_millis(1));
    // The first entity of a participant has the key 0, and participants are disposed under the parameter of endpoints.
    assert_eq!(writer.guid.entity_id, EntityId([0, 0, 0, 2]));
    assert!(!announced("dustdds_qos.pcap").gone_participants.is_empty());
}

#[test]
fn shared_memory_locators_are_kept_and_have_no_socket_address() {
    const SHARED_MEMORY: i32 = 0x10;
    for name in ["cyclone_to_fastdds_shm.pcap", "fastdds_shm_to_cyclone.pcap"] {
        let all = announced(name);
        let fast: Vec<_> = all.participants.iter().filter(|data| data.vendor == VendorId::EPROSIMA).collect();
        let mut lists: Vec<_> = fast.iter().map(|data| &data.default_unicast).collect();
        let is_fast =
            |data: &&EndpointData| fast.iter().any(|participant| participant.prefix == data.participant);
        lists.extend(all.writers.iter().chain(&all.readers).filter(is_fast).map(|data| &data.unicast));
        assert!(lists.len() > 2, "{name}");
        for list in lists {
            let udp = list.iter().filter(|locator| locator.kind == Locator::UDP_V4);
            let shared: Vec<_> = list.iter().filter(|locator| locator.kind == SHARED_MEMORY).collect();
            assert!(udp.clone().all(|locator| locator.socket_addr().is_some()), "{name}");
            assert!(!shared.is_empty() && shared.len() + udp.count() == list.len(), "{name}");
            assert!(shared.iter().all(|locator| locator.socket_addr().is_none()), "{name}");
        }
    }
}

#[test]
fn rust_dds_announces_what_its_shapes_were_told() {
    let all = announced("rustdds_unregister.pcap");
    let writer = &all.writers[0];
    assert_eq!((writer.topic_name.as_str(), writer.type_name.as_str()), ("Square", "ShapeType"));
    assert_eq!(writer.qos.durability, Durability::TransientLocal);
    assert_eq!(
        (writer.qos.deadline, all.readers[0].qos.deadline),
        (Duration::from_secs(2), Duration::from_secs(3))
    );
    assert_eq!((writer.qos.ownership, writer.qos.ownership_strength), (Ownership::Exclusive, 5));
    assert_eq!(writer.qos.lifespan, Duration::from_secs(3));
    assert_eq!(writer.qos.representation, [DataRepresentation::XCDR1]);
    assert!(all.gone_endpoints.contains(&writer.guid) && all.gone_participants.contains(&writer.participant));
}

/// The changes of user instances in a recording: status, and whether key, key hash or neither came with it.
fn changes(name: &str) -> Vec<(u32, bool, bool)> {
    let mut found = Vec::new();
    for datagram in datagrams(name) {
        for submessage in Message::parse(&datagram).unwrap().submessages() {
            let Ok(Submessage::Data(data)) = submessage else { continue };
            let Some(list) = data.inline_qos.filter(|_| !data.writer_id.is_builtin()) else { continue };
            let qos = InlineQos::read(&list).unwrap();
            if qos.status_info != StatusInfo::ALIVE {
                let key = data.payload.is_some_and(|payload| payload.is_key);
                found.push((qos.status_info.0, key, qos.key_hash.is_some()));
            }
        }
    }
    found
}

#[test]
fn instances_end_in_as_many_ways_as_there_are_makers() {
    // Disposed, unregistered, both: Cyclone and RustDDS by key, Dust by key and hash, Fast DDS by hash alone.
    let all_of = |name, key, hash| {
        let found = changes(name);
        assert!(found.iter().any(|change| change.0 & StatusInfo::DISPOSED.0 != 0), "{name}: {found:?}");
        assert!(found.iter().all(|change| (change.1, change.2) == (key, hash)), "{name}: {found:?}");
    };
    all_of("rustdds_keyed.pcap", true, false);
    all_of("dustdds_keyed_xcdr1.pcap", true, true);
    all_of("fastdds_keyed.pcap", false, true);
    let cyclone = changes("cyclone_keyed_xcdr1.pcap");
    assert!(cyclone.contains(&(StatusInfo::DISPOSED.0, true, false)), "{cyclone:?}");
    // Written and disposed at once: data, not a key.
    assert!(cyclone.contains(&(StatusInfo::DISPOSED.0, false, false)), "{cyclone:?}");
    // Told to unregister, RustDDS says nothing of the instances: its writer goes.
    assert_eq!(changes("rustdds_unregister.pcap"), []);
}
