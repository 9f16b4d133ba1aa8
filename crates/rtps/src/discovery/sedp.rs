//! SEDP: its reliable endpoints, their matching, and reading what they deliver (RTPS 2.5, 8.5.4).
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use wire::discovery::{BuiltinEndpointSet, EndpointData, EndpointRole, EndpointsSummary, ParticipantData};
use wire::md5::md5;
use wire::message::{Heartbeat, PayloadKind};
use wire::parameter::{InlineQos, StatusInfo};
use wire::{Duration, EntityId, Guid, GuidPrefix, Instant, Now, SequenceNumber};

use super::config::DiscoveryConfig;
use super::events::LossReason;
use super::readings::{Doubt, Readings, digest_of};
use super::rejection::Rejection;
use super::rested::Rested;
use crate::Payload;
use crate::path::Path;
use crate::reader::{Accept, MatchedWriter, Reader, ReaderConfig, Sample, Sink};
use crate::receiver::{Context, ToReader, ToWriter};
use crate::route;
use crate::transmit::Transmit;
use crate::writer::{Body, Change, MatchedReader, WriteError, Writer, WriterConfig};
use wire::sorted::SortedMap;

/// A topic of the built-in endpoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Topic {
    Publications,
    Subscriptions,
    /// Questions about types.
    TypeRequests,
    /// Answers to them.
    TypeReplies,
}

impl Topic {
    /// Those of SEDP.
    const ALL: [Self; 2] = [Self::Publications, Self::Subscriptions];

    pub(super) fn of_writer(id: EntityId) -> Option<Self> {
        let all = [Self::Publications, Self::Subscriptions, Self::TypeRequests, Self::TypeReplies];
        all.into_iter().find(|topic| topic.writer_id() == id)
    }

    /// True for what the type lookup service has.
    pub(super) const fn is_lookup(self) -> bool {
        matches!(self, Self::TypeRequests | Self::TypeReplies)
    }

    const fn of_endpoint(id: EntityId) -> Self {
        if id.is_writer() { Self::Publications } else { Self::Subscriptions }
    }

    const fn writer_id(self) -> EntityId {
        match self {
            Self::Publications => EntityId::SEDP_PUBLICATIONS_WRITER,
            Self::Subscriptions => EntityId::SEDP_SUBSCRIPTIONS_WRITER,
            Self::TypeRequests => EntityId::TYPE_LOOKUP_REQUEST_WRITER,
            Self::TypeReplies => EntityId::TYPE_LOOKUP_REPLY_WRITER,
        }
    }

    const fn reader_id(self) -> EntityId {
        match self {
            Self::Publications => EntityId::SEDP_PUBLICATIONS_READER,
            Self::Subscriptions => EntityId::SEDP_SUBSCRIPTIONS_READER,
            Self::TypeRequests => EntityId::TYPE_LOOKUP_REQUEST_READER,
            Self::TypeReplies => EntityId::TYPE_LOOKUP_REPLY_READER,
        }
    }

    const fn writer_bit(self) -> BuiltinEndpointSet {
        match self {
            Self::Publications => BuiltinEndpointSet::PUBLICATIONS_ANNOUNCER,
            Self::Subscriptions => BuiltinEndpointSet::SUBSCRIPTIONS_ANNOUNCER,
            Self::TypeRequests => BuiltinEndpointSet::TYPE_LOOKUP_REQUEST_WRITER,
            Self::TypeReplies => BuiltinEndpointSet::TYPE_LOOKUP_REPLY_WRITER,
        }
    }

    const fn reader_bit(self) -> BuiltinEndpointSet {
        match self {
            Self::Publications => BuiltinEndpointSet::PUBLICATIONS_DETECTOR,
            Self::Subscriptions => BuiltinEndpointSet::SUBSCRIPTIONS_DETECTOR,
            Self::TypeRequests => BuiltinEndpointSet::TYPE_LOOKUP_REQUEST_READER,
            Self::TypeReplies => BuiltinEndpointSet::TYPE_LOOKUP_REPLY_READER,
        }
    }
}

/// The built-in endpoints that a participant of ours has.
pub(super) fn builtin_endpoints() -> BuiltinEndpointSet {
    let spdp = BuiltinEndpointSet::PARTICIPANT_ANNOUNCER | BuiltinEndpointSet::PARTICIPANT_DETECTOR;
    let messages =
        BuiltinEndpointSet::PARTICIPANT_MESSAGE_WRITER | BuiltinEndpointSet::PARTICIPANT_MESSAGE_READER;
    let others = spdp | messages;
    Topic::ALL.into_iter().fold(others, |set, topic| set | topic.writer_bit() | topic.reader_bit())
}

/// What the built-in readers delivered.
#[derive(Debug)]
pub(super) enum Received {
    /// An endpoint, and the bytes of its record.
    Endpoint(Box<EndpointData>, usize),
    /// An endpoint is gone.
    Gone(Guid),
    /// A participant asserts the liveliness of writers of this kind.
    Asserted(GuidPrefix, [u8; 4]),
    /// A participant asks about types.
    TypeRequest(GuidPrefix, Vec<u8>),
    /// A participant answers a question about types.
    TypeReply(GuidPrefix, Vec<u8>),
    /// A record that does not count.
    Bad(Rejection),
}

#[derive(Debug)]
struct Pair<P> {
    topic: Topic,
    writer: Rested<Writer<P>>,
    reader: Rested<Reader>,
}

/// The reliable built-in endpoints.
#[derive(Debug)]
pub(super) struct Sedp<P> {
    pairs: [Pair<P>; 2],
    /// The newest change of each local endpoint, and the digest of its record.
    announced: SortedMap<EntityId, (SequenceNumber, [u8; 16])>,
    /// What that amounts to, at these last changes.
    summary: Option<[EndpointsSummary; 2]>,
    readings: Readings,
    /// Goodbyes of endpoints, kept until all participants have them, and longer if one was lost.
    goodbyes: VecDeque<(Topic, SequenceNumber)>,
    keep_goodbyes_until: Instant,
    scratch: Vec<u8>,
    /// Which of the four machines is asked first at the next poll.
    turn: usize,
}

impl<P: Payload> Sedp<P> {
    pub(super) fn new(config: &DiscoveryConfig) -> Self {
        let pair = |topic: Topic| {
            let writer = WriterConfig {
                retain: true,
                byte_limit: config.limits.announced_octets,
                class: config.class,
                ..WriterConfig::new(Guid::new(config.prefix, topic.writer_id()), true)
            };
            let reader = ReaderConfig {
                byte_limit: config.limits.held_back_octets,
                max_sample_size: MAX_RECORD,
                ..ReaderConfig::new(Guid::new(config.prefix, topic.reader_id()), true)
            };
            Pair { topic, writer: Rested::new(Writer::new(writer)), reader: Rested::new(Reader::new(reader)) }
        };
        Self {
            pairs: Topic::ALL.map(pair),
            announced: SortedMap::new(),
            summary: None,
            readings: Readings::default(),
            goodbyes: VecDeque::new(),
            keep_goodbyes_until: Instant::START,
            scratch: Vec::new(),
            turn: 0,
        }
    }

    /// Matches the built-in endpoints of a participant, those that it says it has, or gives them a new path.
    pub(super) fn match_participant(&mut self, now: Now, data: &ParticipantData, path: Option<Path>) {
        let paths: Vec<Path> = path.into_iter().collect();
        for pair in &mut self.pairs {
            let has = |bit| data.builtin_endpoints.contains(bit);
            let reader = Guid::new(data.prefix, pair.topic.reader_id());
            if has(pair.topic.reader_bit()) && !paths.is_empty() {
                let reader = MatchedReader {
                    guid: reader,
                    reliable: true,
                    wants_history: true,
                    paths: paths.clone(),
                    direct: None,
                    receive_buffer: None,
                };
                pair.writer.match_reader(now, reader);
            } else {
                pair.writer.unmatch_reader(now, reader);
            }
            let writer = Guid::new(data.prefix, pair.topic.writer_id());
            if has(pair.topic.writer_bit()) && !paths.is_empty() {
                let writer = MatchedWriter { guid: writer, reliable: true, paths: paths.clone() };
                pair.reader.match_writer(now, writer);
            } else {
                pair.reader.unmatch_writer(writer);
            }
        }
    }

    /// A HEARTBEAT that a participant which has heard our announcement, but has no reader that answers probes, answers with an ACKNACK
    /// that names us.
    pub(super) fn invitation(&mut self) -> Option<Heartbeat> {
        let pair = self.pairs.first_mut()?;
        let next = pair.writer.last().next();
        Some(Heartbeat { reader_id: pair.topic.reader_id(), ..pair.writer.heartbeat(next, false) })
    }

    /// What our endpoints amount to: those of the publications, and of the subscriptions.
    pub(super) fn summary(&mut self) -> [EndpointsSummary; 2] {
        let last =
            [0, 1].map(|index| self.pairs.get(index).map_or(SequenceNumber::ZERO, |pair| pair.writer.last()));
        match self.summary {
            Some(known) if known.map(|summary| summary.last) == last => known,
            _ => {
                let [publications, subscriptions] = last;
                let digest = |writers: bool| {
                    let all = self.announced.iter().filter(|(id, _)| id.is_writer() == writers);
                    digest_of(all.map(|(_, (_, digest))| digest))
                };
                let summary = [
                    EndpointsSummary { last: publications, digest: digest(true) },
                    EndpointsSummary { last: subscriptions, digest: digest(false) },
                ];
                *self.summary.insert(summary)
            }
        }
    }

    /// A participant that is known announces itself, and what its endpoints amount to unless it is of another vendor.
    pub(super) fn announced(&mut self, now: Now, prefix: GuidPrefix, summary: Option<[EndpointsSummary; 2]>) {
        for (index, pair) in self.pairs.iter_mut().enumerate() {
            let writer = Guid::new(prefix, pair.topic.writer_id());
            let Some(next) = pair.reader.next_expected(writer) else { continue };
            let summary = summary.and_then(|all| all.get(index).copied());
            match self.readings.announced(now.monotonic, writer, next, summary) {
                Doubt::None => {}
                Doubt::Behind => pair.reader.ask(now, writer),
                Doubt::Unconfirmed => pair.reader.verify(now, writer),
                Doubt::ReadAgain => {
                    self.readings.begin(now.monotonic, writer, next);
                    pair.reader.begin_anew(now, writer, None);
                }
                Doubt::GoOn(next) => pair.reader.begin_anew(now, writer, Some(next)),
            }
        }
    }

    /// There was no room for an endpoint.
    pub(super) fn refused(&mut self, endpoint: Guid) {
        let writer = Topic::of_endpoint(endpoint.entity_id).writer_id();
        self.readings.note_gone(Guid::new(endpoint.prefix, writer), endpoint);
    }

    /// Asks the writers of a participant what they have, where it is known to be.
    pub(super) fn ask(&mut self, now: Now, prefix: GuidPrefix) {
        for pair in &mut self.pairs {
            pair.reader.ask(now, Guid::new(prefix, pair.topic.writer_id()));
        }
    }

    /// Forgets a participant. Unless it has left, it may be only that we do not hear it, while it knows us on: it comes
    /// back with what it has, and what it missed is then repeated to it. So goodbyes of endpoints are kept for it.
    pub(super) fn unmatch_participant(&mut self, now: Now, prefix: GuidPrefix, reason: LossReason) {
        if reason != LossReason::Left {
            self.keep_goodbyes_until = now.monotonic.after(ESTRANGED);
        }
        for pair in &mut self.pairs {
            let writer = Guid::new(prefix, pair.topic.writer_id());
            pair.writer.unmatch_reader(now, Guid::new(prefix, pair.topic.reader_id()));
            pair.reader.unmatch_writer(writer);
            self.readings.forget(writer);
        }
        self.forget_goodbyes(now);
    }

    /// Announces a local endpoint, or what has changed of it.
    pub(super) fn announce(&mut self, now: Now, data: &EndpointData) -> Result<(), WriteError> {
        self.scratch.clear();
        data.encode(&mut self.scratch);
        let id = data.guid.entity_id;
        let topic = Topic::of_endpoint(id);
        let change = change(now, PayloadKind::Data, None);
        self.summary = None;
        let number = write(&mut self.pairs, topic, now, &change, &self.scratch)?;
        if let Some((before, _)) = self.announced.insert(id, (number, md5(&self.scratch))) {
            remove(&mut self.pairs, topic, before);
        }
        Ok(())
    }

    /// Tells all participants that a local endpoint is gone.
    pub(super) fn dispose(&mut self, now: Now, data: &EndpointData) {
        let id = data.guid.entity_id;
        let topic = Topic::of_endpoint(id);
        self.summary = None;
        if let Some((before, _)) = self.announced.remove(&id) {
            remove(&mut self.pairs, topic, before);
        }
        self.scratch.clear();
        data.encode_key(&mut self.scratch);
        let mut list = Vec::new();
        let inline_qos = InlineQos {
            key_hash: Some(data.guid.to_bytes()),
            status_info: StatusInfo::DISPOSED | StatusInfo::UNREGISTERED,
            ..InlineQos::default()
        };
        inline_qos.encode(&mut list);
        let change = change(now, PayloadKind::Key, Some(&list));
        // The removal above made room for this much smaller change.
        if let Ok(number) = write(&mut self.pairs, topic, now, &change, &self.scratch) {
            self.goodbyes.push_back((topic, number));
        }
        self.forget_goodbyes(now);
    }

    pub(super) fn for_reader(
        &mut self,
        now: Now,
        context: &Context,
        topic: Topic,
        submessage: &ToReader<'_>,
        received: &mut Vec<Received>,
    ) {
        let Some(pair) = self.pairs.iter_mut().find(|pair| pair.topic == topic) else { return };
        let writer = Guid::new(context.source.prefix, topic.writer_id());
        let before = pair.reader.next_expected(writer);
        let mut collector = Collector { topic, received, readings: Some(&mut self.readings) };
        route::to_reader(now, &context.source, &mut pair.reader, submessage, &mut collector);
        let after = pair.reader.next_expected(writer);
        let mut gone = Vec::new();
        if let Some(next) = after.filter(|next| before.is_some_and(|before| *next < before)) {
            gone = self.readings.roll_back(writer, next);
        }
        if self.readings.is_again(writer) && pair.reader.has_history(writer) {
            gone.extend(self.readings.finish(writer));
        }
        received.extend(gone.into_iter().map(Received::Gone));
    }

    pub(super) fn for_writer(&mut self, now: Now, context: &Context, topic: Topic, submessage: &ToWriter) {
        let Some(pair) = self.pairs.iter_mut().find(|pair| pair.topic == topic) else { return };
        route::to_writer(now, &context.source, &mut pair.writer, submessage);
        self.forget_goodbyes(now);
    }

    pub(super) fn poll_transmit(&mut self, now: Now, out: &mut Transmit<P>) -> bool {
        let machines = self.pairs.len() * 2;
        for step in 0..machines {
            let machine = (self.turn + step) % machines;
            let Some(pair) = self.pairs.get_mut(machine / 2) else { continue };
            let sent = match machine % 2 {
                0 => pair.reader.poll_transmit(now, out),
                _ => pair.writer.poll_transmit(now, out),
            };
            if sent {
                self.turn = (machine + 1) % machines;
                return true;
            }
        }
        false
    }

    pub(super) fn poll_timeout(&self) -> Instant {
        self.pairs
            .iter()
            .map(|pair| pair.writer.poll_timeout::<P>().min(pair.reader.poll_timeout::<P>()))
            .min()
            .unwrap_or(Instant::NEVER)
    }

    /// True if a participant has acknowledged the record of an endpoint of ours as it is now.
    pub(super) fn is_announced_to(&self, local: EntityId, prefix: GuidPrefix) -> bool {
        let Some((number, _)) = self.announced.get(&local) else { return false };
        let topic = Topic::of_endpoint(local);
        let reader = Guid::new(prefix, topic.reader_id());
        self.pairs.iter().any(|pair| pair.topic == topic && pair.writer.is_acknowledged_by(reader, *number))
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.pairs.iter().map(|pair| pair.writer.held_bytes() + pair.reader.held_bytes()).sum()
    }

    fn forget_goodbyes(&mut self, now: Now) {
        while let Some((topic, number)) = self.goodbyes.front().copied() {
            let known =
                self.pairs.iter().any(|pair| pair.topic == topic && pair.writer.is_acknowledged(number));
            let keep = self.goodbyes.len() <= MAX_GOODBYES && now.monotonic < self.keep_goodbyes_until;
            if !known || keep {
                break;
            }
            self.goodbyes.pop_front();
            remove(&mut self.pairs, topic, number);
        }
    }
}

/// How long goodbyes of endpoints are kept for a participant that was lost.
const ESTRANGED: Duration = Duration::from_secs(600);
/// Most goodbyes that are kept so; the oldest go.
const MAX_GOODBYES: usize = 1_024;
/// Largest record that is read; more is never sent by anyone, and would have to be held while it is put together.
const MAX_RECORD: u32 = 256 << 10;

fn change(now: Now, kind: PayloadKind, inline_qos: Option<&[u8]>) -> Change<'_> {
    Change { kind, inline_qos, source_timestamp: Some(now.wall) }
}

fn write<P: Payload>(
    pairs: &mut [Pair<P>; 2],
    topic: Topic,
    now: Now,
    change: &Change<'_>,
    payload: &[u8],
) -> Result<SequenceNumber, WriteError> {
    match pairs.iter_mut().find(|pair| pair.topic == topic) {
        Some(pair) => pair.writer.write(now, change, Body::Copy(payload)),
        None => Err(WriteError::TooLarge { len: payload.len(), limit: 0 }),
    }
}

fn remove<P: Payload>(pairs: &mut [Pair<P>; 2], topic: Topic, number: SequenceNumber) {
    if let Some(pair) = pairs.iter_mut().find(|pair| pair.topic == topic) {
        pair.writer.remove(number);
    }
}

/// Reads the samples of a built-in reader. Nothing is ever refused, so that no peer can block another.
pub(super) struct Collector<'a> {
    pub(super) topic: Topic,
    pub(super) received: &'a mut Vec<Received>,
    /// What is to be remembered of records of endpoints.
    pub(super) readings: Option<&'a mut Readings>,
}

impl Sink for Collector<'_> {
    fn deliver(&mut self, sample: &mut Sample<'_>) -> Accept {
        let received = read(self.topic, sample).unwrap_or_else(Received::Bad);
        let (writer, number) = (sample.writer, sample.sequence_number);
        match (&mut self.readings, &received) {
            (Some(readings), Received::Endpoint(data, _)) => {
                readings.note(writer, number, data.guid, sample.payload.bytes());
            }
            (Some(readings), Received::Gone(guid)) => readings.note_gone(writer, *guid),
            _ => {}
        }
        self.received.push(received);
        Accept::Taken
    }

    /// A record that was replaced or disposed before it came.
    fn lost(&mut self, _writer: Guid, _first: SequenceNumber, _count: u64) {}
}

fn read(topic: Topic, sample: &Sample<'_>) -> Result<Received, Rejection> {
    let bytes = sample.payload.bytes();
    let status = sample.inline_qos.status_info;
    let gone =
        sample.is_key || status.contains(StatusInfo::DISPOSED) || status.contains(StatusInfo::UNREGISTERED);
    let (prefix, received) = match topic {
        Topic::TypeRequests => {
            let prefix = sample.writer.prefix;
            (prefix, Received::TypeRequest(prefix, bytes.to_vec()))
        }
        Topic::TypeReplies => {
            let prefix = sample.writer.prefix;
            (prefix, Received::TypeReply(prefix, bytes.to_vec()))
        }
        _ if gone => {
            let guid = match bytes {
                [] => sample.inline_qos.key_hash.map(Guid::from_bytes),
                bytes => EndpointData::decode_key(bytes).ok(),
            };
            let guid = guid.ok_or(Rejection::Malformed)?;
            (guid.prefix, Received::Gone(guid))
        }
        _ => {
            let role = match topic {
                Topic::Publications => EndpointRole::Writer,
                _ => EndpointRole::Reader,
            };
            let data = EndpointData::decode(bytes, role).map_err(rejection)?;
            (data.guid.prefix, Received::Endpoint(Box::new(data), bytes.len()))
        }
    };
    if prefix == sample.writer.prefix { Ok(received) } else { Err(Rejection::ForeignRecord) }
}

fn rejection(error: wire::discovery::DiscoveryError) -> Rejection {
    match error {
        wire::discovery::DiscoveryError::Role(_) => Rejection::EndpointKind,
        wire::discovery::DiscoveryError::Participant(_) => Rejection::ForeignRecord,
        _ => Rejection::Malformed,
    }
}
