//! We, a peer and a witness on virtual hosts: what they are made of, and what they exchange.
use std::net::SocketAddr;

use dds::assurance::State;
use dds::qos::{
    DataReaderQos, DataWriterQos, Durability, History, OfferedAssurance, Reliability, RequestedAssurance,
};
use dds::{
    BuiltinTopic, DataReader, DataWriter, DomainParticipant, Duration, GuidPrefix, NO_STATUS, QosKind,
    RawDataReader, States,
};
use derive::DdsType;
use rtps::discovery::Limits;
use testkit::virtual_domain::VirtualDomain;
use wire::EntityId;
use wire::admission::{REQUEST_TOPIC, REQUEST_TYPE, Request, VERDICT_TOPIC, VERDICT_TYPE, Verdict};

use crate::seeds::PREFIX;

/// Numbers of the hosts, which are all in one subnet.
pub(super) const OURS: usize = 0;
pub(super) const PEER: usize = 1;
pub(super) const WITNESS: usize = 2;
/// Our prefix when the peer sends; its datagrams name it.
pub(super) const KNOWN_PREFIX: GuidPrefix = GuidPrefix(*b"\x01\xfeours-known");
/// Our prefix when a stranger sends, who cannot know it: no seed names it.
pub(super) const SECRET_PREFIX: GuidPrefix = GuidPrefix(*b"\x01\xfe\x9d\x31\x77\xe0\x15\x5c\xa2\x08\xcb\x46");
const WITNESS_PREFIX: GuidPrefix = GuidPrefix(*b"\x01\xfea-witness.");

/// Bytes that a writer or reader of ours may hold: two large samples, and some small ones.
const BYTE_LIMIT: usize = 12 * 1024;
/// Bytes of samples: the large one travels in fragments.
const LENGTHS: [usize; 5] = [20, 40, 60, 5_000, 80];
/// How long an exchange may take: several periods of heartbeats.
const PATIENCE: u32 = 3_000;

pub(super) const LIMITS: Limits = Limits {
    participants: 8,
    strangers: 32,
    stranger_octets: 16 * 1024,
    endpoints: 64,
    endpoint_octets: 64 * 1024,
    all_endpoints: 128,
    all_endpoint_octets: 128 * 1024,
    held_back_octets: 64 * 1024,
    announced_octets: 64 * 1024,
    events: 1024,
};

/// A sample.
#[derive(DdsType, Clone, Default)]
struct Text {
    number: u32,
    text: Vec<u8>,
}

/// A host and its participant.
struct Member {
    participant: DomainParticipant,
    /// Reliable and late-joiner safe, best effort, and assured: the peer's topics of samples.
    writers: [DataWriter<Text>; 3],
    readers: [DataReader<Text>; 3],
    builtin: [RawDataReader; 4],
    /// The number of the last sample of each writer.
    last: [i64; 3],
}

/// The domain.
pub(super) struct Scene {
    ours: Member,
    peer: Member,
    witness: Member,
    /// Samples of ours that the peer's forged numbers do not count.
    malformed: [u64; 3],
    number: u32,
    /// Last: without it there is no time.
    pub(super) domain: VirtualDomain,
}

impl Member {
    fn new(domain: &mut VirtualDomain, prefix: GuidPrefix) -> Self {
        let participant = domain.participant_with(QosKind::Default, |config| {
            config.prefix = prefix;
            config.limits = LIMITS;
        });
        let offered = OfferedAssurance {
            maximum_size: Some(4_000),
            ..OfferedAssurance::every(Duration::from_millis(5))
        };
        let wanted = RequestedAssurance::within(Duration::from_millis(3));
        // In turn, so that the first two have the entity ids of the seeds.
        let (square_out, square_in) =
            (writer(&participant, "Square", None), reader(&participant, "Square", None));
        let (circle_out, circle_in) =
            (writer(&participant, "Circle", None), reader(&participant, "Circle", None));
        let (frames_out, frames_in) =
            (writer(&participant, "Frames", Some(offered)), reader(&participant, "Frames", Some(wanted)));
        let subscriber = participant.get_builtin_subscriber().ok();
        let builtin = BuiltinTopic::ALL.map(|topic| {
            let found = subscriber.as_ref().and_then(|subscriber| subscriber.lookup_datareader(topic.name()));
            must(found.ok_or("no reader of a built-in topic"))
        });
        Self {
            participant,
            writers: [square_out, circle_out, frames_out],
            readers: [square_in, circle_in, frames_in],
            builtin,
            last: [0; 3],
        }
    }

    fn write(&mut self, number: u32, len: usize) {
        for (writer, last) in self.writers.iter().zip(&mut self.last) {
            // An assured writer refuses what is above its contract, any other when it is full.
            if let Ok(written) = writer.write(&Text { number, text: vec![7; len] }) {
                *last = written.0;
            }
        }
    }
}

impl Scene {
    /// Three participants that have found each other. The peer is the manager of the network, and has admitted the assured flow from us to it.
    pub(super) fn matched(prefix: GuidPrefix) -> Self {
        Self::recording(prefix, false)
    }

    fn recording(prefix: GuidPrefix, records: bool) -> Self {
        let mut domain = VirtualDomain::new();
        if records {
            domain.record();
        }
        let ours = Member::new(&mut domain, prefix);
        let peer = Member::new(&mut domain, PREFIX);
        let witness = Member::new(&mut domain, WITNESS_PREFIX);
        let mut scene = Self { ours, peer, witness, malformed: [0; 3], number: 0, domain };
        scene.admit();
        assert!(scene.is_matched(), "no match");
        scene.exchange_with(PEER);
        scene.exchange_with(WITNESS);
        scene.domain.count(OURS);
        scene
    }

    /// The peer's manager answers what it is asked.
    fn admit(&mut self) {
        let participant = &self.peer.participant;
        let subscriber = must(participant.create_subscriber(QosKind::Default, None, NO_STATUS));
        let publisher = must(participant.create_publisher(QosKind::Default, None, NO_STATUS));
        let mut reads = DataReaderQos::default();
        reads.endpoint.reliability = Reliability::RELIABLE;
        reads.endpoint.durability = Durability::TransientLocal;
        reads.endpoint.history = History::KeepAll;
        let mut writes = DataWriterQos::default();
        writes.endpoint.durability = Durability::TransientLocal;
        let requests = must(participant.create_topic::<Request>(
            REQUEST_TOPIC,
            REQUEST_TYPE,
            QosKind::Default,
            None,
            NO_STATUS,
        ));
        let verdicts = must(participant.create_topic::<Verdict>(
            VERDICT_TOPIC,
            VERDICT_TYPE,
            QosKind::Default,
            None,
            NO_STATUS,
        ));
        let requests = must(subscriber.create_datareader::<Request>(
            &requests,
            QosKind::Specific(reads),
            None,
            NO_STATUS,
        ));
        let verdicts = must(publisher.create_datawriter::<Verdict>(
            &verdicts,
            QosKind::Specific(writes),
            None,
            NO_STATUS,
        ));
        for _ in 0..100 {
            self.domain.run(Duration::from_millis(10));
            for request in
                must(requests.take(usize::MAX, States::ANY)).into_iter().filter_map(|sample| sample.data)
            {
                must(verdicts.write(&Verdict {
                    writer: request.writer,
                    reader: request.reader,
                    serial: request.serial,
                    epoch: 1,
                    state: State::Admitted,
                    bound: 1_000_000,
                    lease: u64::MAX,
                    source: request.source,
                    destination: request.destination,
                    dscp: 46,
                    octets: 10_000,
                    separation: request.contract.minimum_separation,
                    ..Verdict::default()
                }));
            }
        }
    }

    /// A datagram comes to us, and a millisecond passes.
    pub(super) fn hand(&mut self, from: SocketAddr, datagram: &[u8]) {
        self.domain.hand(OURS, from, datagram);
        self.domain.run(Duration::from_millis(1));
        for reader in &self.ours.builtin {
            let _ = reader.access_serialized(&dds::serialized::Request::TAKE, &mut Vec::new());
        }
        for held in self
            .ours
            .writers
            .iter()
            .map(|writer| writer.held())
            .chain(self.ours.readers.iter().map(|reader| reader.held()))
        {
            let held = must(held);
            assert!(held.bytes + held.waiting <= 2 * BYTE_LIMIT, "an endpoint holds {held:?}");
        }
    }

    /// Takes what our readers have; gives how many samples of each writer of the peer came, those that could not be read among them.
    pub(super) fn take_from_peer(&mut self) -> [i64; 3] {
        let mut counts = [0; 3];
        for ((reader, malformed), count) in self.ours.readers.iter().zip(&mut self.malformed).zip(&mut counts)
        {
            let samples = must(reader.take(usize::MAX, States::ANY));
            let of_peer = |sample: &&dds::Sample<Text>| {
                sample.info.publication_handle.to_bytes().starts_with(&PREFIX.0)
            };
            let dropped = reader.dropped(dds::serialized::DropReason::Malformed).count;
            *count = samples.iter().filter(of_peer).count() as i64 + (dropped - *malformed) as i64;
            *malformed = dropped;
        }
        counts
    }

    /// Writers of the peer, and the numbers of their next samples.
    pub(super) fn next_of_peer(&self) -> [(EntityId, i64); 3] {
        let writers = self.peer.writers.iter().map(|writer| must(writer.guid()).entity_id);
        let mut writers = writers.zip(self.peer.last.map(|last| last + 1));
        [(); 3].map(|()| must(writers.next().ok_or("three writers")))
    }

    /// We write samples of all lengths.
    pub(super) fn write_all(&mut self, host: usize) {
        for len in LENGTHS {
            self.write(host, len);
        }
    }

    /// A small sample.
    pub(super) fn write_small(&mut self, host: usize) {
        self.write(host, 100);
    }

    fn write(&mut self, host: usize, len: usize) {
        self.number += 1;
        let number = self.number;
        self.member(host).write(number, len);
    }

    fn member(&mut self, host: usize) -> &mut Member {
        match host {
            OURS => &mut self.ours,
            PEER => &mut self.peer,
            _ => &mut self.witness,
        }
    }

    /// Samples flow both ways between us and another.
    pub(super) fn exchange_with(&mut self, host: usize) {
        let (mut here, mut there) = (false, false);
        self.number += 1;
        let number = self.number;
        self.ours.write(number, 50);
        self.member(host).write(number, 50);
        for _ in 0..PATIENCE {
            let has = |member: &Member| {
                let [reliable, ..] = &member.readers;
                let samples = must(reliable.take(usize::MAX, States::ANY));
                samples
                    .iter()
                    .filter_map(|sample| sample.data.as_ref())
                    .any(|data| data.number == number && data.text.len() == 50)
            };
            here |= has(&self.ours);
            there |= has(self.member(host));
            if here && there {
                // What is paced, and what this exchange has caused, is no answer to the next input.
                self.domain.run(Duration::from_millis(20));
                self.take_from_peer();
                return;
            }
            self.domain.run(Duration::from_millis(1));
        }
        assert!(here, "no sample comes from host {host} any more");
        assert!(there, "no sample gets to host {host} any more");
    }

    /// True if our reliable writer and reader are matched with those of both others.
    pub(super) fn is_matched(&self) -> bool {
        let ([writer, ..], [reader, ..]) = (&self.ours.writers, &self.ours.readers);
        let counts = [writer.get_publication_matched_status(), reader.get_subscription_matched_status()];
        counts.iter().all(|status| status.current.count == 3)
    }

    /// How many participants we know, and how many more have said something.
    #[cfg(test)]
    pub(super) fn participants(&self) -> (usize, usize) {
        let ours = &self.ours.participant;
        (ours.get_discovered_participants().len(), ours.get_unvalidated_participants().len())
    }
}

/// Every datagram of a peer that is discovered, and exchanges samples over a network that loses some.
pub(super) fn datagrams_of_a_peer() -> Vec<Vec<u8>> {
    let mut scene = Scene::recording(KNOWN_PREFIX, true);
    // At rest between its samples.
    for _ in 0..20 {
        scene.write_small(PEER);
        scene.domain.run(Duration::from_millis(50));
    }
    scene.domain.lose(333, 7);
    for _ in 0..3 {
        scene.write_all(OURS);
        scene.write_all(PEER);
        scene.domain.run(Duration::from_millis(100));
    }
    scene.domain.heal();
    scene.domain.run(Duration::from_secs(2));
    let left = scene.domain.all_recorded().into_iter().filter(|left| left.host == PEER);
    left.map(|left| left.octets).collect()
}

fn writer(
    participant: &DomainParticipant,
    topic: &str,
    assurance: Option<OfferedAssurance>,
) -> DataWriter<Text> {
    let mut qos = DataWriterQos { byte_limit: BYTE_LIMIT, assurance, ..DataWriterQos::default() };
    qos.endpoint.history = History::KeepLast(5);
    qos.endpoint.durability = Durability::TransientLocal;
    qos.endpoint.reliability =
        if topic == "Circle" { Reliability::BEST_EFFORT } else { Reliability::RELIABLE };
    qos.endpoint.reliability.max_blocking_time = Duration::ZERO;
    let publisher = must(participant.create_publisher(QosKind::Default, None, NO_STATUS));
    must(publisher.create_datawriter(&topic_of(participant, topic), QosKind::Specific(qos), None, NO_STATUS))
}

fn reader(
    participant: &DomainParticipant,
    topic: &str,
    assurance: Option<RequestedAssurance>,
) -> DataReader<Text> {
    let mut qos = DataReaderQos { byte_limit: BYTE_LIMIT, assurance, ..DataReaderQos::default() };
    qos.endpoint.history = History::KeepLast(5);
    qos.endpoint.durability = Durability::TransientLocal;
    qos.endpoint.reliability =
        if topic == "Circle" { Reliability::BEST_EFFORT } else { Reliability::RELIABLE };
    let subscriber = must(participant.create_subscriber(QosKind::Default, None, NO_STATUS));
    must(subscriber.create_datareader(&topic_of(participant, topic), QosKind::Specific(qos), None, NO_STATUS))
}

fn topic_of(participant: &DomainParticipant, name: &str) -> dds::Topic {
    participant.lookup_topicdescription(name).unwrap_or_else(|| {
        must(participant.create_topic::<Text>(name, "Text", QosKind::Default, None, NO_STATUS))
    })
}

/// The address that the endpoints of a host send from.
pub(super) fn address(host: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host as u8 + 1], 7411))
}

/// What cannot fail here.
fn must<T, E: std::fmt::Debug>(made: Result<T, E>) -> T {
    assert!(made.is_ok(), "{:?}", made.err());
    let Ok(made) = made else { unreachable!() };
    made
}
