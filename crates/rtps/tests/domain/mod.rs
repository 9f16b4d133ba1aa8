//! Discovery of a few participants on one subnet, on a virtual clock. Participants with readers and writers are played by the tests of `dds`.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of this module")]
#![allow(clippy::unwrap_used, reason = "a panic here is the report of a test")]
mod bare;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

pub use bare::BareParticipant;
use rtps::discovery::{DiscoveryConfig, Event, Rejection};
use rtps::transmit::Transmit;
use rtps::{Interface, Network};
pub use testkit::random::Random;
use wire::discovery::{BuiltinEndpointSet, EndpointData, ParticipantData};
use wire::message::encode::{self, DataHeader};
use wire::message::{AckNack, Gap, Heartbeat, Message, PayloadKind, Submessage};
use wire::parameter::{InlineQos, StatusInfo};
use wire::qos::EndpointQos;
use wire::{
    Duration, EntityId, EntityKind, Guid, GuidPrefix, Instant, Locator, Now, SequenceNumber,
    SequenceNumberSet, Timestamp,
};

pub type Payload = Arc<[u8]>;

/// One way, in nanoseconds.
pub const DELAY: u64 = 50_000;

/// What the readers of a participant delivered.
#[derive(Default)]
pub struct Recorder {
    pub samples: Vec<(EntityId, Guid, SequenceNumber, Vec<u8>)>,
}

pub struct Node {
    pub participant: BareParticipant,
    pub address: IpAddr,
    pub sink: Recorder,
    pub events: Vec<Event>,
    /// False: neither sends nor receives, as after a crash.
    pub up: bool,
    /// True: what it sends gets lost.
    pub mute: bool,
    pub multicast: bool,
}

impl Node {
    pub fn guid(&self, id: EntityId) -> Guid {
        Guid::new(self.participant.prefix(), id)
    }

    /// Takes the events so far.
    pub fn drain(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}

#[derive(Clone)]
pub struct Datagram {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub bytes: Vec<u8>,
}

#[derive(Default)]
pub struct World {
    pub now: Now,
    pub nodes: Vec<Node>,
    flight: BTreeMap<(u64, u64), Datagram>,
    order: u64,
    transmit: Transmit<Payload>,
    /// Every datagram that was sent.
    pub sent: Vec<(Instant, Datagram)>,
    /// Percent of datagrams lost.
    pub loss: u64,
    random: u64,
}

pub fn prefix(host: u8) -> GuidPrefix {
    GuidPrefix([1, 0xfe, host, 9, 9, 9, 9, 9, 9, 9, 9, host])
}

pub fn address(host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, host))
}

pub fn meta(host: u8) -> SocketAddr {
    SocketAddr::new(address(host), 7410)
}

pub fn data(host: u8) -> SocketAddr {
    SocketAddr::new(address(host), 7411)
}

pub fn network(host: u8) -> Network {
    let addresses = vec![(address(host), 24)];
    Network { interfaces: vec![Interface { index: 2, addresses, max_datagram: 1_472, multicast: true }] }
}

pub fn config(host: u8) -> DiscoveryConfig {
    DiscoveryConfig {
        metatraffic_unicast: vec![Locator::udp(meta(host))],
        default_unicast: vec![Locator::udp(data(host))],
        ..DiscoveryConfig::new(prefix(host), 0, u64::from(host))
    }
}

pub fn reliable_reader() -> EndpointQos {
    EndpointQos { reliability: wire::qos::Reliability::RELIABLE, ..EndpointQos::reader() }
}

impl World {
    /// Participants on the hosts 10.0.0.1 and so on.
    pub fn new(hosts: u8) -> Self {
        let mut world = Self { now: at(Duration::from_secs(1)), ..Self::default() };
        for host in 1..=hosts {
            world.add(config(host));
        }
        world
    }

    pub fn add(&mut self, config: DiscoveryConfig) -> usize {
        let host = config.prefix.0[2];
        self.nodes.push(Node {
            participant: BareParticipant::new(config, network(host)).unwrap(),
            address: address(host),
            sink: Recorder::default(),
            events: Vec::new(),
            up: true,
            mute: false,
            multicast: true,
        });
        self.nodes.len() - 1
    }

    pub fn writer(&mut self, node: usize, topic: &str, qos: EndpointQos) -> EntityId {
        let (now, kind) = (self.now, EntityKind::WriterWithKey);
        self.nodes[node].participant.create(now, kind, topic, "Text", qos).unwrap()
    }

    pub fn reader(&mut self, node: usize, topic: &str, qos: EndpointQos) -> EntityId {
        let (now, kind) = (self.now, EntityKind::ReaderWithKey);
        self.nodes[node].participant.create(now, kind, topic, "Text", qos).unwrap()
    }

    pub fn write(&mut self, node: usize, writer: EntityId, text: &str) -> SequenceNumber {
        let mut bytes = vec![0, 1, 0, 0];
        bytes.extend_from_slice(text.as_bytes());
        let (now, node) = (self.now, &mut self.nodes[node]);
        node.participant.write(now, writer, &bytes, &mut node.sink)
    }

    /// The texts that a reader delivered.
    pub fn texts(&self, node: usize, reader: EntityId) -> Vec<String> {
        let samples = self.nodes[node].sink.samples.iter();
        samples
            .filter(|(id, ..)| *id == reader)
            .map(|(_, _, _, bytes)| {
                String::from_utf8(bytes[4..].to_vec()).unwrap().trim_end_matches('\0').into()
            })
            .collect()
    }

    /// Puts a datagram on the wire.
    pub fn inject(&mut self, from: SocketAddr, to: SocketAddr, bytes: Vec<u8>) {
        self.order += 1;
        let arrival = self.now.monotonic.as_nanos() + DELAY;
        self.flight.insert((arrival, self.order), Datagram { from, to, bytes });
    }

    /// Hands a datagram to a participant at once.
    pub fn hand(&mut self, node: usize, from: SocketAddr, bytes: &[u8]) {
        let now = self.now;
        let node = &mut self.nodes[node];
        let _ = node.participant.handle_datagram(now, from, bytes, &mut node.sink);
        while let Some(event) = node.participant.poll_event() {
            node.events.push(event);
        }
    }

    /// An announcement comes from there, and the answer to the probe that follows.
    pub fn introduce(&mut self, node: usize, from: SocketAddr, data: &ParticipantData) {
        let to = self.nodes[node].participant.prefix();
        self.hand(node, from, &Forged::from(data.prefix).to(to).announcement(data).0);
        self.run(Duration::from_nanos(1));
        let answer = self.probe_of(data.prefix).unwrap();
        self.hand(node, from, &Forged::from(data.prefix).to(to).answer(answer).0);
    }

    /// What answers the last probe of a participant.
    pub fn probe_of(&self, prefix: GuidPrefix) -> Option<SequenceNumberSet> {
        self.sent.iter().rev().find_map(|(_, datagram)| probe_in(&datagram.bytes, prefix))
    }

    /// Runs for a span of virtual time.
    pub fn run(&mut self, span: Duration) {
        let end = self.now.monotonic.after(span);
        let mut steps = 0u64;
        loop {
            self.send();
            let arrival =
                self.flight.first_key_value().map_or(Instant::NEVER, |((at, _), _)| Instant::from_nanos(*at));
            let timers = self.nodes.iter().filter(|node| node.up).map(|node| node.participant.poll_timeout());
            let next = timers.min().unwrap_or(Instant::NEVER).min(arrival).max(self.now.monotonic);
            if next > end {
                break;
            }
            steps += 1;
            assert!(steps < 2_000_000, "no end: the participants talk without need");
            self.now = at(next.since(Instant::START));
            if arrival <= next
                && let Some((_, datagram)) = self.flight.pop_first()
            {
                self.arrive(&datagram);
            }
        }
        self.now = at(end.since(Instant::START));
    }

    pub fn run_ms(&mut self, millis: i64) {
        self.run(Duration::from_millis(millis));
    }

    /// Runs until a condition holds; fails after `millis` of virtual time.
    pub fn run_until(&mut self, millis: i64, mut holds: impl FnMut(&Self) -> bool) {
        for _ in 0..millis {
            if holds(self) {
                return;
            }
            self.run_ms(1);
        }
        assert!(holds(self), "not within {millis} ms");
    }

    pub fn knows(&self, node: usize, other: usize) -> bool {
        let prefix = self.nodes[other].participant.prefix();
        self.nodes[node].participant.discovery().participant(prefix).is_some()
    }

    pub fn is_matched(&self, node: usize, id: EntityId, other: Guid) -> bool {
        self.nodes[node].participant.discovery().matches(id).any(|guid| guid == other)
    }

    /// Bytes sent to an address since the start.
    pub fn octets_to(&self, address: IpAddr) -> u64 {
        let to = self.sent.iter().filter(|(_, datagram)| datagram.to.ip() == address);
        to.map(|(_, datagram)| datagram.bytes.len() as u64).sum()
    }

    fn send(&mut self) {
        let now = self.now;
        for index in 0..self.nodes.len() {
            loop {
                let node = &mut self.nodes[index];
                if !node.up || !node.participant.poll_transmit(now, &mut self.transmit) {
                    break;
                }
                let mut bytes = Vec::new();
                self.transmit.copy_to(&mut bytes);
                for path in self.transmit.paths().to_vec() {
                    assert!(bytes.len() <= path.max_datagram as usize, "{} octets: {path:?}", bytes.len());
                    self.leave(index, path.destination, bytes.clone());
                }
            }
            while self.nodes[index].up
                && let Some((to, bytes)) = self.nodes[index].participant.poll_data()
            {
                self.leave(index, to, bytes);
            }
            let node = &mut self.nodes[index];
            while let Some(event) = node.participant.poll_event() {
                node.events.push(event);
            }
        }
    }

    /// A datagram leaves a node, and may get lost.
    fn leave(&mut self, node: usize, to: SocketAddr, bytes: Vec<u8>) {
        let datagram = Datagram { from: SocketAddr::new(self.nodes[node].address, 7410), to, bytes };
        let now = self.now.monotonic;
        self.sent.push((now, datagram.clone()));
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if !self.nodes[node].mute && (self.random >> 33) % 100 >= self.loss {
            self.order += 1;
            self.flight.insert((now.as_nanos() + DELAY, self.order), datagram);
        }
    }

    fn arrive(&mut self, datagram: &Datagram) {
        let to = datagram.to;
        for index in 0..self.nodes.len() {
            let node = &self.nodes[index];
            let hears = if to.ip().is_multicast() {
                node.multicast && to.port() == 7400
            } else {
                to.ip() == node.address && (to.port() == 7410 || to.port() == 7411)
            };
            if node.up && hears {
                self.hand(index, datagram.from, &datagram.bytes);
            }
        }
    }
}

/// The clocks after a span of virtual time.
pub fn at(span: Duration) -> Now {
    let nanos = span.as_nanos();
    Now {
        monotonic: Instant::from_nanos(nanos as u64),
        wall: Timestamp::from_nanos(1_700_000_000_000_000_000 + nanos),
    }
}

/// A message in the name of a participant, put together by hand.
pub struct Forged(pub Vec<u8>);

impl Forged {
    pub fn from(prefix: GuidPrefix) -> Self {
        let mut bytes = Vec::new();
        encode::header(&mut bytes, prefix);
        Self(bytes)
    }

    pub fn to(mut self, prefix: GuidPrefix) -> Self {
        encode::info_destination(&mut self.0, prefix);
        self
    }

    pub fn data(
        mut self,
        writer_id: EntityId,
        number: i64,
        kind: PayloadKind,
        status: StatusInfo,
        payload: &[u8],
    ) -> Self {
        let mut list = Vec::new();
        InlineQos { status_info: status, ..InlineQos::default() }.encode(&mut list);
        let header = DataHeader {
            reader_id: EntityId::UNKNOWN,
            writer_id,
            sequence_number: SequenceNumber(number),
            inline_qos: (status != StatusInfo::ALIVE).then_some(list.as_slice()),
            kind,
        };
        encode::data(&mut self.0, &header, payload);
        self
    }

    /// An announcement of a participant.
    pub fn announcement(self, data: &ParticipantData) -> Self {
        let mut payload = Vec::new();
        data.encode(&mut payload);
        self.data(EntityId::SPDP_WRITER, 1, PayloadKind::Data, StatusInfo::ALIVE, &payload)
    }

    pub fn goodbye(self, data: &ParticipantData) -> Self {
        let mut payload = Vec::new();
        data.encode_key(&mut payload);
        let status = StatusInfo::DISPOSED | StatusInfo::UNREGISTERED;
        self.data(EntityId::SPDP_WRITER, 2, PayloadKind::Key, status, &payload)
    }

    /// Sample `number` of the built-in topic that announces such endpoints.
    pub fn endpoint(self, data: &EndpointData, number: i64) -> Self {
        let mut payload = Vec::new();
        data.encode(&mut payload);
        let writer_id = sedp_writer(data.guid.entity_id);
        self.data(writer_id, number, PayloadKind::Data, StatusInfo::ALIVE, &payload)
    }

    pub fn endpoint_gone(self, data: &EndpointData, number: i64) -> Self {
        let mut payload = Vec::new();
        data.encode_key(&mut payload);
        let status = StatusInfo::DISPOSED | StatusInfo::UNREGISTERED;
        self.data(sedp_writer(data.guid.entity_id), number, PayloadKind::Key, status, &payload)
    }

    /// The answer to a probe.
    pub fn answer(mut self, set: SequenceNumberSet) -> Self {
        let acknack = AckNack {
            reader_id: EntityId::PARTICIPANT_MESSAGE_READER,
            writer_id: EntityId::PARTICIPANT_MESSAGE_WRITER,
            set,
            count: 1,
            is_final: true,
        };
        encode::acknack(&mut self.0, &acknack);
        self
    }

    /// A reader has everything before `base`.
    pub fn acknack(mut self, reader_id: EntityId, writer_id: EntityId, base: i64, count: i32) -> Self {
        let set = SequenceNumberSet::empty(SequenceNumber(base));
        encode::acknack(&mut self.0, &AckNack { reader_id, writer_id, set, count, is_final: true });
        self
    }

    /// Numbers from `first` on and below `base` are irrelevant.
    pub fn gap(mut self, writer_id: EntityId, first: i64, base: i64) -> Self {
        let list = SequenceNumberSet::empty(SequenceNumber(base));
        let gap = Gap { reader_id: EntityId::UNKNOWN, writer_id, start: SequenceNumber(first), list };
        encode::gap(&mut self.0, &gap);
        self
    }

    pub fn heartbeat(mut self, writer_id: EntityId, last: i64, count: i32) -> Self {
        let heartbeat = Heartbeat {
            reader_id: EntityId::UNKNOWN,
            writer_id,
            first: SequenceNumber(1),
            last: SequenceNumber(last),
            count,
            is_final: false,
            liveliness: false,
        };
        encode::heartbeat(&mut self.0, &heartbeat);
        self
    }
}

pub fn sedp_writer(id: EntityId) -> EntityId {
    if id.is_writer() { EntityId::SEDP_PUBLICATIONS_WRITER } else { EntityId::SEDP_SUBSCRIPTIONS_WRITER }
}

/// What a participant of the host would announce.
pub fn announced(prefix: GuidPrefix, host: u8) -> ParticipantData {
    ParticipantData {
        builtin_endpoints: BuiltinEndpointSet(0xc3f),
        metatraffic_unicast: vec![Locator::udp(meta(host))],
        default_unicast: vec![Locator::udp(data(host))],
        domain_id: Some(0),
        ..ParticipantData::new(prefix)
    }
}

/// What a reader of this participant would ask for after a datagram with a probe of it.
pub fn probe_in(bytes: &[u8], prefix: GuidPrefix) -> Option<SequenceNumberSet> {
    let message = Message::parse(bytes).unwrap();
    let (mut is_meant, mut irrelevant) = (false, Vec::new());
    message.submessages().find_map(|submessage| match submessage.unwrap() {
        Submessage::InfoDestination(destination) => {
            is_meant = destination == prefix;
            None
        }
        Submessage::Gap(gap) if gap.writer_id == EntityId::PARTICIPANT_MESSAGE_WRITER => {
            irrelevant.extend((gap.start.0..gap.list.base().0).map(SequenceNumber));
            irrelevant.extend(gap.list.iter());
            None
        }
        Submessage::Heartbeat(heartbeat) if is_meant && !irrelevant.is_empty() => {
            assert_eq!(heartbeat.writer_id, EntityId::PARTICIPANT_MESSAGE_WRITER);
            let numbers = (heartbeat.first.0..=heartbeat.last.0).map(SequenceNumber);
            let missing: Vec<_> = numbers.filter(|number| !irrelevant.contains(number)).collect();
            let mut set = SequenceNumberSet::empty(*missing.first()?);
            missing.iter().for_each(|number| assert!(set.insert(*number)));
            Some(set)
        }
        _ => None,
    })
}

/// Any prefix.
pub fn any_prefix(random: &mut Random) -> GuidPrefix {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&random.bits().to_le_bytes());
    bytes[8..].copy_from_slice(&random.bits().to_le_bytes()[..4]);
    GuidPrefix(bytes)
}

/// A writer on the first participant, a reader on the second, matched.
pub fn matched(qos: EndpointQos) -> (World, EntityId, EntityId) {
    let mut world = World::new(2);
    let reader_qos = EndpointQos { liveliness: qos.liveliness, ..reliable_reader() };
    let writer = world.writer(0, "T", qos);
    let reader = world.reader(1, "T", reader_qos);
    let (w, r) = (world.nodes[0].guid(writer), world.nodes[1].guid(reader));
    world.run_until(300, |world| world.is_matched(0, writer, r) && world.is_matched(1, reader, w));
    world.run_ms(1_000);
    world.nodes.iter_mut().for_each(|node| drop(node.drain()));
    (world, writer, reader)
}

pub fn rejected(world: &World, node: usize, reason: Rejection) -> u64 {
    world.nodes[node].participant.discovery().rejected(reason)
}

pub fn user_writer(prefix: GuidPrefix, key: u32) -> EndpointData {
    let guid = Guid::new(prefix, EntityId::user(key, EntityKind::WriterWithKey));
    EndpointData::new(guid, "T".into(), "Text".into(), EndpointQos::writer())
}

/// A participant that is validated by the first node, on a host that is not simulated.
pub fn validate(world: &mut World, host: u8) -> ParticipantData {
    let data = announced(prefix(host), host);
    world.introduce(0, meta(host), &data);
    assert!(world.nodes[0].participant.discovery().participant(data.prefix).is_some());
    data
}
