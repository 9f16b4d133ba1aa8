//! Records and messages that several tests use: seeded random ones, and ones with everything in them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code, unreachable_pub)]
use wire::admission::{
    Contract, OfferedAssurance, OfferedRepairs, RequestedAssurance, RequestedLosses, Socket,
};
use wire::discovery::{
    BuiltinEndpointSet, ContentFilterProperty, EndpointData, EndpointRole, EndpointsSummary, ParticipantData,
    SharedMemory,
};
use wire::message::{AckNack, Gap, Header, Heartbeat, HeartbeatFrag, NackFrag, PayloadKind, encode};
use wire::parameter::{InlineQos, StatusInfo};
use wire::qos::{
    AccessScope, DataRepresentation, DestinationOrder, Durability, DurabilityService, EndpointQos, History,
    Liveliness, LivelinessKind, Ownership, Presentation, Reliability, ReliabilityKind, ResourceLimits,
    TypeConsistency,
};
use wire::{
    Duration, EntityId, EntityKind, FragmentNumber, FragmentNumberSet, Guid, GuidPrefix, Locator,
    ProtocolVersion, SequenceNumber, SequenceNumberSet, Timestamp, VendorId,
};

pub const PREFIX: GuidPrefix = GuidPrefix([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
pub const READER: EntityId = EntityId([0, 0, 9, 0x07]);
pub const WRITER: EntityId = EntityId([0, 0, 8, 0x02]);

/// What messages are made of.
pub struct Random(testkit::random::Random);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(testkit::random::Random::new(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0.bits()
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.below_u64(bound)
    }

    pub fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    pub fn octets(&mut self, max: u64) -> Vec<u8> {
        (0..self.below(max)).map(|_| self.next() as u8).collect()
    }

    pub fn text(&mut self, max: u64) -> String {
        (0..self.below(max)).map(|_| ['a', 'Z', '*', '/', 'ü', '漢'][self.below(6) as usize]).collect()
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }

    pub fn option<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.coin() { Some(make(self)) } else { None }
    }

    /// A duration that the wire can carry: any nanosecond of 68 years, or infinite.
    pub fn duration(&mut self) -> Duration {
        if self.below(4) == 0 {
            return Duration::INFINITE;
        }
        Duration::from_nanos(self.below(2_147_483_647 * 1_000_000_000) as i64)
    }

    pub fn locator(&mut self) -> Locator {
        Locator { kind: self.next() as i32, port: self.next() as u32, address: self.array() }
    }

    pub fn locators(&mut self) -> Vec<Locator> {
        (0..self.below(17)).map(|_| self.locator()).collect()
    }

    fn limit(&mut self) -> Option<u32> {
        self.option(|random| 1 + random.below(0x7fff_ffff) as u32)
    }

    fn limits(&mut self) -> ResourceLimits {
        ResourceLimits {
            max_samples: self.limit(),
            max_instances: self.limit(),
            max_samples_per_instance: self.limit(),
        }
    }

    fn history(&mut self) -> History {
        self.limit().map_or(History::KeepAll, History::KeepLast)
    }

    pub fn qos(&mut self, role: EndpointRole) -> EndpointQos {
        let mut qos = role.default_qos();
        let kind = if self.coin() { ReliabilityKind::Reliable } else { ReliabilityKind::BestEffort };
        qos.reliability = Reliability { kind, max_blocking_time: self.duration() };
        qos.durability = match self.below(4) {
            0 => Durability::Volatile,
            1 => Durability::TransientLocal,
            2 => Durability::Transient,
            _ => Durability::Persistent,
        };
        qos.durability_service = DurabilityService {
            cleanup_delay: self.duration(),
            history: self.history(),
            limits: self.limits(),
        };
        qos.deadline = self.duration();
        qos.latency_budget = self.duration();
        let kind = match self.below(3) {
            0 => LivelinessKind::Automatic,
            1 => LivelinessKind::ManualByParticipant,
            _ => LivelinessKind::ManualByTopic,
        };
        qos.liveliness = Liveliness { kind, lease_duration: self.duration() };
        qos.user_data = self.octets(40);
        qos.topic_data = self.octets(40);
        qos.group_data = self.octets(40);
        qos.ownership = if self.coin() { Ownership::Exclusive } else { Ownership::Shared };
        if self.coin() {
            qos.destination_order = DestinationOrder::BySourceTimestamp;
        }
        let access_scope = match self.below(3) {
            0 => AccessScope::Instance,
            1 => AccessScope::Topic,
            _ => AccessScope::Group,
        };
        qos.presentation =
            Presentation { access_scope, coherent_access: self.coin(), ordered_access: self.coin() };
        qos.partition = (0..self.below(5)).map(|_| self.text(9)).collect();
        qos.history = self.history();
        qos.resource_limits = self.limits();
        qos.representation = (0..self.below(4)).map(|_| DataRepresentation(self.next() as i16)).collect();
        match role {
            EndpointRole::Writer => {
                qos.lifespan = self.duration();
                qos.ownership_strength = self.next() as i32;
                qos.transport_priority = self.next() as i32;
            }
            EndpointRole::Reader => {
                qos.time_based_filter = self.duration();
                qos.type_consistency = TypeConsistency {
                    allow_type_coercion: self.coin(),
                    ignore_sequence_bounds: self.coin(),
                    ignore_string_bounds: self.coin(),
                    ignore_member_names: self.coin(),
                    prevent_type_widening: self.coin(),
                    force_type_validation: self.coin(),
                };
            }
        }
        qos
    }

    pub fn endpoint(&mut self, role: EndpointRole) -> EndpointData {
        let kind = match (role, self.coin()) {
            (EndpointRole::Writer, false) => EntityKind::WriterNoKey,
            (EndpointRole::Writer, true) => EntityKind::WriterWithKey,
            (EndpointRole::Reader, false) => EntityKind::ReaderNoKey,
            (EndpointRole::Reader, true) => EntityKind::ReaderWithKey,
        };
        let guid = Guid::new(GuidPrefix(self.array()), EntityId::user(self.next() as u32, kind));
        let mut data = EndpointData::new(guid, self.text(60), self.text(60), self.qos(role));
        data.unicast = self.locators();
        data.multicast = self.locators();
        data.expects_inline_qos = self.coin();
        data.max_serialized_size = self.option(|random| random.next() as u32);
        data.type_information = self.option(|random| random.octets(30).repeat(4));
        data.entity_name = self.option(|random| random.text(30));
        data.group = self.option(|random| EntityId(random.array()));
        data.receive_buffer = self.option(|random| random.next() as u32);
        data.largest_sample = self.option(|random| random.next() as u32);
        match role {
            EndpointRole::Writer => data.offered_assurance = self.option(Self::offered),
            EndpointRole::Reader => {
                data.requested_assurance = self.option(|random| RequestedAssurance {
                    maximum_latency: random.next().max(1),
                    maximum_separation: random.next(),
                    is_required: random.coin(),
                    losses: random.option(|random| RequestedLosses {
                        frames: 1 + random.next() as u8 % 4,
                        within: random.next(),
                        source: random.socket(),
                    }),
                });
            }
        }
        data
    }

    fn offered(&mut self) -> OfferedAssurance {
        let contract = Contract {
            largest_message: self.next() as u32,
            smallest_message: 0,
            datagram: self.next() as u32,
            minimum_separation: self.next().max(1),
            maximum_separation: 0,
            jitter: self.next(),
            emission: self.next(),
            slack: self.next(),
            importance: self.next() as u8,
        };
        let repairs = |random: &mut Self| OfferedRepairs {
            source: Socket {
                address: [10, 0, 0, random.next() as u8].into(),
                port: 1 + (random.next() as u16 >> 1),
            },
            kept: random.next(),
        };
        OfferedAssurance { contract, source: self.socket(), repairs: self.option(repairs) }
    }

    fn socket(&mut self) -> Socket {
        Socket { address: self.array::<4>().into(), port: self.next() as u16 }
    }

    pub fn participant(&mut self) -> ParticipantData {
        ParticipantData {
            prefix: GuidPrefix(self.array()),
            version: ProtocolVersion { major: self.next() as u8, minor: self.next() as u8 },
            vendor: VendorId(self.array()),
            expects_inline_qos: self.coin(),
            builtin_endpoints: BuiltinEndpointSet(self.next() as u32),
            metatraffic_unicast: self.locators(),
            metatraffic_multicast: self.locators(),
            default_unicast: self.locators(),
            default_multicast: self.locators(),
            lease_duration: self.duration(),
            manual_liveliness_count: self.next() as i32,
            domain_id: self.option(|random| random.next() as u32),
            domain_tag: self.text(30),
            entity_name: self.option(|random| random.text(30)),
            user_data: self.octets(200),
            shared_memory: self.option(|random| SharedMemory {
                host: random.next(),
                network_namespace: random.next(),
                nonce: random.next(),
                user: random.next() as u32,
            }),
            sending_ports: [self.next() as u16, self.next() as u16],
            endpoints: self.option(|random| {
                [(); 2].map(|()| EndpointsSummary {
                    last: SequenceNumber((random.next() >> 1) as i64),
                    digest: random.array(),
                })
            }),
        }
    }
}

pub fn udp(text: &str) -> Locator {
    Locator::udp(text.parse().unwrap())
}

/// A writer and a reader that announce every parameter we have, with plain values.
pub fn full_endpoint(role: EndpointRole) -> EndpointData {
    let mut qos = role.default_qos();
    qos.durability = Durability::TransientLocal;
    qos.durability_service = DurabilityService {
        cleanup_delay: Duration::from_millis(1_500),
        history: History::KeepLast(3),
        limits: ResourceLimits { max_samples: Some(10), max_instances: None, max_samples_per_instance: None },
    };
    qos.deadline = Duration::from_millis(250);
    qos.latency_budget = Duration::from_millis(3);
    qos.liveliness =
        Liveliness { kind: LivelinessKind::ManualByTopic, lease_duration: Duration::from_secs(7) };
    qos.user_data = b"user".to_vec();
    qos.topic_data = b"topic".to_vec();
    qos.group_data = b"group".to_vec();
    qos.ownership = Ownership::Exclusive;
    qos.destination_order = DestinationOrder::BySourceTimestamp;
    qos.presentation =
        Presentation { access_scope: AccessScope::Topic, coherent_access: true, ordered_access: true };
    qos.partition = vec!["left".into(), "right*".into()];
    qos.history = History::KeepLast(8);
    qos.resource_limits = ResourceLimits {
        max_samples: Some(100),
        max_instances: Some(10),
        max_samples_per_instance: Some(10),
    };
    qos.representation = vec![DataRepresentation::XCDR2, DataRepresentation::XCDR1];
    let id = match role {
        EndpointRole::Writer => {
            qos.lifespan = Duration::from_secs(9);
            qos.ownership_strength = 17;
            qos.transport_priority = 46;
            WRITER
        }
        EndpointRole::Reader => {
            qos.time_based_filter = Duration::from_millis(20);
            qos.type_consistency =
                TypeConsistency { ignore_member_names: true, ..TypeConsistency::default() };
            READER
        }
    };
    let mut data = EndpointData::new(Guid::new(PREFIX, id), "Square".into(), "ShapeType".into(), qos);
    if role == EndpointRole::Reader {
        data.content_filter = Some(Box::new(ContentFilterProperty {
            filtered_topic: "Near".into(),
            related_topic: "Square".into(),
            class: ContentFilterProperty::DDSSQL.into(),
            expression: "color = %0 AND x BETWEEN 1 AND 9".into(),
            parameters: vec!["RED".into()],
        }));
    }
    data.unicast = vec![udp("192.0.2.7:7411"), udp("[2001:db8::1]:7411")];
    data.multicast = vec![udp("239.255.0.5:7420")];
    data.expects_inline_qos = role == EndpointRole::Reader;
    data.max_serialized_size = (role == EndpointRole::Writer).then_some(1_000);
    data.entity_name = Some("camera".into());
    data.group = Some(EntityId([0, 0, 1, 0x08]));
    data.receive_buffer = Some(1 << 20);
    data.largest_sample = Some(1 << 26);
    data
}

/// A participant that announces every parameter we have, with plain values.
pub fn full_participant() -> ParticipantData {
    ParticipantData {
        version: ProtocolVersion::OURS,
        vendor: VendorId::PUNCTUAL,
        expects_inline_qos: true,
        builtin_endpoints: BuiltinEndpointSet(0x0c3f),
        metatraffic_unicast: vec![udp("192.0.2.7:7410")],
        metatraffic_multicast: vec![udp("239.255.0.1:7400")],
        default_unicast: vec![udp("192.0.2.7:7411")],
        default_multicast: vec![udp("239.255.0.1:7401")],
        lease_duration: Duration::from_secs(11),
        manual_liveliness_count: 3,
        domain_id: Some(42),
        domain_tag: "lab".into(),
        entity_name: Some("robot".into()),
        user_data: b"data".to_vec(),
        shared_memory: Some(SharedMemory { host: 1, network_namespace: 2, nonce: 3, user: 4 }),
        ..ParticipantData::new(PREFIX)
    }
}

/// One message with every submessage that we write, each field at a plain value.
pub fn full_message() -> Vec<u8> {
    let mut out = Vec::new();
    write_full_message(&mut out, &mut Vec::new());
    out
}

/// Appends the full message to `out`; its inline QoS is first written to `inline`.
pub fn write_full_message(out: &mut Vec<u8>, inline: &mut Vec<u8>) {
    let (reader_id, writer_id, sequence_number) = (READER, WRITER, SequenceNumber(9));
    let (first, last) = (SequenceNumber(3), SequenceNumber(9));
    let mut set = SequenceNumberSet::empty(SequenceNumber(5));
    assert!(set.insert(SequenceNumber(5)) && set.insert(SequenceNumber(40)));
    let mut missing = FragmentNumberSet::empty(FragmentNumber(2));
    assert!(missing.insert(FragmentNumber(3)) && missing.insert(FragmentNumber(34)));
    InlineQos {
        key_hash: Some([7; 16]),
        status_info: StatusInfo::DISPOSED | StatusInfo::UNREGISTERED,
        related_sample_identity: Some((Guid::new(PREFIX, WRITER), SequenceNumber(4))),
        coherent_set: Some(SequenceNumber(3)),
        ..InlineQos::default()
    }
    .encode(inline);
    let inline_qos = Some(&inline[..]);
    let data = encode::DataHeader {
        reader_id,
        writer_id,
        sequence_number,
        inline_qos: None,
        kind: PayloadKind::Data,
    };
    let key = encode::DataHeader { inline_qos, kind: PayloadKind::Key, ..data };
    let none = encode::DataHeader { inline_qos, kind: PayloadKind::None, ..data };
    let frag = encode::DataFragHeader {
        reader_id,
        writer_id,
        sequence_number,
        first_fragment: FragmentNumber(1),
        fragment_count: 2,
        fragment_size: 8,
        sample_size: 40,
        inline_qos,
        is_key: false,
    };
    encode::header(out, PREFIX);
    encode::info_destination(out, GuidPrefix([9; 12]));
    encode::info_timestamp(out, Some(Timestamp::from_nanos(1_700_000_000_500_000_000)));
    encode::data(out, &data, &[0, 1, 0, 0, 1, 2, 3, 4, 5]);
    encode::data(out, &key, &[0, 1, 0, 0, 1, 2, 3, 4]);
    encode::data(out, &none, &[]);
    encode::info_timestamp(out, None);
    encode::data_frag_header(out, &frag, 16);
    out.extend_from_slice(&[0, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    let heartbeat =
        Heartbeat { reader_id, writer_id, first, last, count: 5, is_final: false, liveliness: false };
    encode::heartbeat(out, &heartbeat);
    let last_fragment = FragmentNumber(5);
    encode::heartbeat_frag(
        out,
        &HeartbeatFrag { reader_id, writer_id, sequence_number, last_fragment, count: 6 },
    );
    encode::acknack(out, &AckNack { reader_id, writer_id, set, count: 7, is_final: true });
    encode::nack_frag(out, &NackFrag { reader_id, writer_id, sequence_number, missing, count: 8 });
    encode::gap(out, &Gap { reader_id, writer_id, start: first, list: set });
    encode::info_source(out, &Header::ours(PREFIX));
}
