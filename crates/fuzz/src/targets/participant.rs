//! A live participant, matched with a peer, that reads one datagram after the other while time goes on.
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use rtps::discovery::{DiscoveryConfig, Limits};
use rtps::participant::{EndpointSpec, Participant, ParticipantSink, PublishError};
use rtps::reader::{Accept, Sample};
use rtps::writer::{Body, Change, WriteError};
use rtps::{Interface, Network, Transmit};
use wire::message::PayloadKind;
use wire::qos::{Durability, EndpointQos, Reliability};
use wire::{Duration, EntityId, Guid, GuidPrefix, Instant, Locator, Now, SequenceNumber, Timestamp};

use crate::mutation::MAX_LEN;
use crate::seeds::{PREFIX, READER, WRITER};

type Payload = Arc<[u8]>;

/// Hosts of one subnet: we, the peer, and somebody else.
const OURS: u8 = 1;
const PEER: u8 = 2;
const STRANGER: u8 = 66;
/// Our prefix when the peer sends; its datagrams name it.
const KNOWN_PREFIX: GuidPrefix = GuidPrefix(*b"\x01\xfeours-known");
/// Our prefix when a stranger sends, who cannot know it: no seed names it.
const SECRET_PREFIX: GuidPrefix = GuidPrefix(*b"\x01\xfe\x9d\x31\x77\xe0\x15\x5c\xa2\x08\xcb\x46");
/// Octets that a writer or reader of ours may hold: two large samples, and some small ones.
const BYTE_LIMIT: usize = 12 * 1024;
/// Octets of samples: the large one travels in fragments.
const LENGTHS: [usize; 5] = [20, 40, 60, 5_000, 80];
/// Datagrams that one input may cause.
const MAX_ANSWERS: usize = 2_000;

const LIMITS: Limits = Limits {
    participants: 8,
    strangers: 32,
    stranger_octets: 16 * 1024,
    endpoints: 64,
    endpoint_octets: 64 * 1024,
    held_back_octets: 64 * 1024,
    announced_octets: 64 * 1024,
    events: 1024,
};

/// Inputs come from the peer that is matched. Our writer has samples that were not acknowledged, and now and then a new one.
pub(super) fn from_peer() -> impl FnMut(&[u8]) {
    let mut domain = Domain::matched(KNOWN_PREFIX);
    write(&mut domain.ours, domain.now, &LENGTHS);
    let mut count = 0_u32;
    move |datagram| {
        count += 1;
        if count.is_multiple_of(16) {
            write(&mut domain.ours, domain.now, &[100]);
        }
        domain.hear(address(PEER), datagram);
    }
}

/// Inputs come from an address that never proved to hear us. Every second claims to be the peer, the others each to be a
/// new participant, as far as they name one.
pub(super) fn from_stranger() -> impl FnMut(&[u8]) {
    let mut domain = Domain::matched(SECRET_PREFIX);
    let (mut count, mut heard, mut sent) = (0_u32, 0, BTreeMap::<IpAddr, usize>::new());
    let mut datagram = Vec::with_capacity(MAX_LEN);
    move |input| {
        count += 1;
        datagram.clear();
        datagram.extend_from_slice(input);
        if count.is_multiple_of(2) {
            rename(&mut datagram, count);
        }
        heard += datagram.len();
        for (to, octets) in domain.hear(address(STRANGER), &datagram) {
            if to.ip() != address(PEER).ip() && !to.ip().is_multicast() {
                *sent.entry(to.ip()).or_default() += octets;
            }
        }
        for (to, octets) in &sent {
            assert!(to == &address(STRANGER).ip(), "{octets} octets to {to}, who sent nothing");
            assert!(*octets <= heard, "{octets} octets to {to}, who sent {heard}");
        }
        assert!(is_matched(&domain.ours, PREFIX), "a stranger ended the match with a peer");
    }
}

/// What a peer sends while it is discovered and exchanges samples over a network that loses some datagrams.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut domain = Domain::matched(KNOWN_PREFIX);
    domain.exchange();
    let mut seeds = domain.from_peer;
    seeds.sort();
    seeds.dedup();
    seeds.extend(crate::seeds::messages());
    seeds
}

/// We and the peer.
struct Domain {
    now: Now,
    ours: Participant<Payload>,
    peer: Participant<Payload>,
    transmit: Transmit<Payload>,
    /// Every datagram of the peer.
    from_peer: Vec<Vec<u8>>,
    sent: u32,
    losing: bool,
}

/// Takes everything.
struct Taken;

impl ParticipantSink for Taken {
    fn deliver(&mut self, _: EntityId, sample: &mut Sample<'_>) -> Accept {
        std::hint::black_box(sample.payload.bytes().len());
        Accept::Taken
    }

    fn lost(&mut self, _: EntityId, _: Guid, _: SequenceNumber, _: u64) {}
}

impl Domain {
    /// Two participants that have found each other, with a writer and a reader each.
    fn matched(prefix: GuidPrefix) -> Self {
        let now = at(1_000);
        let mut domain = Self {
            now,
            ours: participant(now, OURS, prefix),
            peer: participant(now, PEER, PREFIX),
            transmit: Transmit::new(),
            from_peer: Vec::new(),
            sent: 0,
            losing: false,
        };
        domain.run(1_000);
        assert!(is_matched(&domain.ours, PREFIX) && is_matched(&domain.peer, prefix), "no match");
        domain
    }

    /// Both write small samples and a large one; every third datagram is lost for a while.
    fn exchange(&mut self) {
        self.losing = true;
        for participant in [&mut self.ours, &mut self.peer] {
            write(participant, self.now, &LENGTHS);
            participant.writer_mut(WRITER).map(|writer| writer.remove(SequenceNumber(2)));
        }
        self.run(300);
        self.losing = false;
        self.run(2_000);
    }

    /// Virtual time goes on by so many milliseconds, datagrams arrive at once.
    fn run(&mut self, millis: u64) {
        for _ in 0..millis {
            for _ in 0..20 {
                let from_us = send(&mut self.ours, self.now, &mut self.transmit);
                let from_peer = send(&mut self.peer, self.now, &mut self.transmit);
                if from_us.is_empty() && from_peer.is_empty() {
                    break;
                }
                for (_, bytes) in from_us {
                    self.sent += 1;
                    if !self.losing || !self.sent.is_multiple_of(3) {
                        let _ = self.peer.handle_datagram(self.now, address(OURS), &bytes, &mut Taken);
                    }
                }
                for (_, bytes) in from_peer {
                    self.sent += 1;
                    if !self.losing || !self.sent.is_multiple_of(3) {
                        let _ = self.ours.handle_datagram(self.now, address(PEER), &bytes, &mut Taken);
                    }
                    self.from_peer.push(bytes);
                }
            }
            self.now = after(self.now, 1);
        }
    }

    /// A datagram arrives; gives what we send, as destination and octets. A millisecond passes.
    fn hear(&mut self, from: SocketAddr, datagram: &[u8]) -> Vec<(SocketAddr, usize)> {
        // A malformed datagram is an error, and what was read of it before counts.
        let _ = self.ours.handle_datagram(self.now, from, datagram, &mut Taken);
        while self.ours.poll_event().is_some() {}
        let mut sent = Vec::new();
        let mut answers = 0;
        while self.ours.poll_transmit(self.now, &mut self.transmit, &mut Taken) {
            answers += 1;
            assert!(answers <= MAX_ANSWERS, "more than {MAX_ANSWERS} datagrams for one");
            let octets = self.transmit.len();
            sent.extend(self.transmit.paths().iter().map(|path| (path.destination, octets)));
        }
        for held in [
            self.ours.writer(WRITER).map(|writer| writer.held_bytes()),
            self.ours.reader(READER).map(|reader| reader.held_bytes()),
        ] {
            assert!(held.is_some_and(|held| held <= BYTE_LIMIT), "an endpoint holds {held:?} octets");
        }
        self.now = after(self.now, 1);
        assert!(self.ours.poll_timeout() >= self.now.monotonic || self.is_due_again(), "a timer never ends");
        sent
    }

    /// A timer that was due in the millisecond that just passed is no longer due after it is served.
    fn is_due_again(&mut self) -> bool {
        while self.ours.poll_transmit(self.now, &mut self.transmit, &mut Taken) {}
        self.ours.poll_timeout() > self.now.monotonic
    }
}

/// A participant with the writer and the reader of the seeds.
fn participant(now: Now, host: u8, prefix: GuidPrefix) -> Participant<Payload> {
    let config = DiscoveryConfig {
        metatraffic_unicast: vec![Locator::udp(address(host))],
        default_unicast: vec![Locator::udp(address(host))],
        limits: LIMITS,
        ..DiscoveryConfig::new(prefix, 0, u64::from(host))
    };
    let addresses = vec![(address(host).ip(), 24)];
    let interface = Interface { index: 2, addresses, max_datagram: 1_472, multicast: true };
    let made = Participant::new(config, Network { interfaces: vec![interface] });
    assert!(made.is_ok(), "{:?}", made.err());
    let Ok(mut participant) = made else { unreachable!() };
    let spec =
        |qos| EndpointSpec { topic_name: "Square".into(), type_name: "Text".into(), keyed: false, qos };
    let qos = EndpointQos { durability: Durability::TransientLocal, ..EndpointQos::writer() };
    let writer = participant.create_writer(now, spec(qos), |config, _| config.byte_limit = BYTE_LIMIT);
    let qos = EndpointQos { reliability: Reliability::RELIABLE, ..EndpointQos::reader() };
    let reader = participant.create_reader(now, spec(qos), |config, _| {
        config.byte_limit = BYTE_LIMIT;
        config.max_sample_size = BYTE_LIMIT as u32;
    });
    assert_eq!((writer, reader), (Ok(WRITER), Ok(READER)));
    participant
}

/// True if the writer and the reader of a participant are matched with those of another.
fn is_matched(participant: &Participant<Payload>, other: GuidPrefix) -> bool {
    [WRITER, READER].iter().all(|id| participant.discovery().matches(*id).any(|guid| guid.prefix == other))
}

/// Writes samples of these lengths, as far as there is room for them.
fn write(participant: &mut Participant<Payload>, now: Now, lengths: &[usize]) {
    for len in lengths {
        let change = Change { kind: PayloadKind::Data, inline_qos: None, source_timestamp: Some(now.wall) };
        let sample = [[0, 1, 0, 0].as_slice(), &vec![7; *len]].concat();
        let written = participant.write(now, WRITER, &change, Body::Copy(&sample));
        assert!(matches!(written, Ok(_) | Err(PublishError::Write(WriteError::Full { .. }))), "{written:?}");
    }
}

/// Gives the participant that a message is from another prefix, wherever its own stands.
fn rename(datagram: &mut [u8], name: u32) {
    let Some(own) = datagram.get(8..20).and_then(|prefix| prefix.first_chunk::<12>().copied()) else {
        return;
    };
    let mut at = 8;
    while let Some(found) = datagram.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<12>()) {
        at += 1;
        if *found == own
            && let Some(end) = found.last_chunk_mut()
        {
            *end = name.to_be_bytes();
        }
    }
}

/// Everything that is due, with one destination each.
fn send(
    participant: &mut Participant<Payload>,
    now: Now,
    transmit: &mut Transmit<Payload>,
) -> Vec<(SocketAddr, Vec<u8>)> {
    let mut datagrams = Vec::new();
    while participant.poll_transmit(now, transmit, &mut Taken) {
        let mut bytes = Vec::new();
        transmit.copy_to(&mut bytes);
        datagrams.extend(transmit.paths().iter().map(|path| (path.destination, bytes.clone())));
        assert!(datagrams.len() <= MAX_ANSWERS, "more than {MAX_ANSWERS} datagrams at once");
    }
    while participant.poll_event().is_some() {}
    datagrams
}

fn address(host: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)), 7410)
}

fn at(millis: u64) -> Now {
    after(Now { monotonic: Instant::START, wall: Timestamp::from_nanos(1_700_000_000_000_000_000) }, millis)
}

fn after(now: Now, millis: u64) -> Now {
    let span = Duration::from_nanos((millis * 1_000_000).cast_signed());
    Now { monotonic: now.monotonic.after(span), wall: now.wall.after(span) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::message::{Message, Submessage};

    #[test]
    fn strangers_are_noticed_and_forgotten() {
        let mut domain = Domain::matched(SECRET_PREFIX);
        let announcement = domain.from_peer.first().unwrap().clone();
        for name in 0..1_000 {
            let mut datagram = announcement.clone();
            rename(&mut datagram, name);
            domain.hear(address(STRANGER), &datagram);
        }
        assert_eq!(domain.ours.discovery().participant_counts(), (1, LIMITS.strangers));
    }

    #[test]
    fn a_peer_sends_every_kind_of_submessage_that_keeps_reliability() {
        let mut domain = Domain::matched(KNOWN_PREFIX);
        domain.exchange();
        let mut kinds = [false; 6];
        for datagram in &domain.from_peer {
            for submessage in Message::parse(datagram).unwrap().submessages() {
                let kind = match submessage.unwrap() {
                    Submessage::Data(data) if data.writer_id == WRITER => 0,
                    Submessage::DataFrag(_) => 1,
                    Submessage::Heartbeat(_) => 2,
                    Submessage::AckNack(acknack) if !acknack.set.bitmap().is_empty() => 3,
                    Submessage::NackFrag(_) => 4,
                    Submessage::Gap(_) => 5,
                    _ => continue,
                };
                kinds[kind] = true;
            }
        }
        assert_eq!(kinds, [true; 6]);
    }
}
