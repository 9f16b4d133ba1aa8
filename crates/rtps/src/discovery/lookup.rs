//! The built-in endpoints of the type lookup service (XTypes 1.3, 7.6.3.3): who is asked and who is answered has a writer of its own, so that
//! no other participant gets that. What is asked is the concern of [`Types`](super::types::Types).
use alloc::boxed::Box;
use alloc::vec::Vec;

use wire::discovery::BuiltinEndpointSet;
use wire::message::PayloadKind;
use wire::{EntityId, Guid, GuidPrefix, Instant, Now};

use super::config::DiscoveryConfig;
use super::rested::Rested;
use super::sedp::{Collector, Received, Topic};
use crate::Payload;
use crate::path::Path;
use crate::reader::{MatchedWriter, Reader, ReaderConfig};
use crate::receiver::{Context, ToReader, ToWriter};
use crate::route;
use crate::transmit::Transmit;
use crate::writer::{Body, Change, MatchedReader, Writer, WriterConfig};
use wire::sorted::{SortedMap, SortedSet};

/// Bytes of requests or replies that wait for one participant; what does not fit is not sent.
const MOST_WAITING: usize = 256 << 10;
/// Bytes of a request or reply, and of all that are put together from fragments.
const MOST_SAMPLE: u32 = 256 << 10;
const MOST_HELD: usize = 1 << 20;

/// Most participants that are not known any more and are remembered.
const MOST_ESTRANGED: usize = 256;

/// The built-in endpoints of the service.
pub(super) fn builtin_endpoints() -> BuiltinEndpointSet {
    BuiltinEndpointSet::TYPE_LOOKUP_REQUEST_WRITER
        | BuiltinEndpointSet::TYPE_LOOKUP_REQUEST_READER
        | BuiltinEndpointSet::TYPE_LOOKUP_REPLY_WRITER
        | BuiltinEndpointSet::TYPE_LOOKUP_REPLY_READER
}

/// True for a participant that answers requests.
pub(super) const fn answers(endpoints: BuiltinEndpointSet) -> bool {
    endpoints.contains(BuiltinEndpointSet::TYPE_LOOKUP_REQUEST_READER)
        && endpoints.contains(BuiltinEndpointSet::TYPE_LOOKUP_REPLY_WRITER)
}

/// The writers for one participant, made when they are needed.
#[derive(Debug)]
struct Peer<P> {
    /// `None` while the participant is not known. If it was only not heard, it knows us on, and what is written next has to come after
    /// what was written before.
    path: Option<Path>,
    requests: Option<Box<Writer<P>>>,
    replies: Option<Box<Writer<P>>>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Lookup<P> {
    prefix: GuidPrefix,
    class: u8,
    requests: Rested<Reader>,
    replies: Rested<Reader>,
    peers: SortedMap<GuidPrefix, Peer<P>>,
    /// Those whose writers have something to do, now or later.
    busy: SortedSet<GuidPrefix>,
}

impl<P: Payload> Lookup<P> {
    pub(super) fn new(config: &DiscoveryConfig) -> Self {
        let reader = |id| {
            Rested::new(Reader::new(ReaderConfig {
                byte_limit: MOST_HELD,
                max_sample_size: MOST_SAMPLE,
                ..ReaderConfig::new(Guid::new(config.prefix, id), true)
            }))
        };
        Self {
            prefix: config.prefix,
            class: config.class,
            requests: reader(EntityId::TYPE_LOOKUP_REQUEST_READER),
            replies: reader(EntityId::TYPE_LOOKUP_REPLY_READER),
            peers: SortedMap::new(),
            busy: SortedSet::new(),
        }
    }

    /// A participant has another path now.
    pub(super) fn reroute(&mut self, now: Now, participant: GuidPrefix, path: Option<Path>) {
        let Some(path) = path else { return };
        let Some(peer) = self.peers.get_mut(&participant) else { return };
        peer.reach(now, participant, path);
        for (reader, writer) in [
            (&mut self.requests, EntityId::TYPE_LOOKUP_REQUEST_WRITER),
            (&mut self.replies, EntityId::TYPE_LOOKUP_REPLY_WRITER),
        ] {
            let writer = Guid::new(participant, writer);
            if reader.is_matched(writer) {
                reader.match_writer(now, matched_writer(writer, path));
            }
        }
    }

    /// Forgets a participant.
    pub(super) fn forget(&mut self, now: Now, participant: GuidPrefix) {
        self.busy.remove(&participant);
        self.requests.unmatch_writer(Guid::new(participant, EntityId::TYPE_LOOKUP_REQUEST_WRITER));
        self.replies.unmatch_writer(Guid::new(participant, EntityId::TYPE_LOOKUP_REPLY_WRITER));
        let Some(peer) = self.peers.get_mut(&participant) else { return };
        peer.path = None;
        for (writer, reader) in peer.writers(participant) {
            writer.unmatch_reader(now, reader);
        }
        let estranged = self.peers.iter().filter(|(_, peer)| peer.path.is_none());
        let estranged: Vec<GuidPrefix> = estranged.map(|(participant, _)| *participant).collect();
        for other in estranged.iter().take(estranged.len().saturating_sub(MOST_ESTRANGED)) {
            self.peers.remove(other);
        }
    }

    /// Sends a request or a reply to a participant that is reached so.
    pub(super) fn write(
        &mut self,
        now: Now,
        topic: Topic,
        to: GuidPrefix,
        path: Option<Path>,
        payload: &[u8],
    ) {
        let Some(path) = path else { return };
        let writer = self.writer(now, topic, to, path);
        let change = Change { kind: PayloadKind::Data, inline_qos: None, source_timestamp: Some(now.wall) };
        // Without room it is as if it had been lost: requests are repeated.
        let _ = writer.write(now, &change, Body::Copy(payload));
    }

    pub(super) fn for_reader(
        &mut self,
        now: Now,
        context: &Context,
        topic: Topic,
        submessage: &ToReader<'_>,
        path: Option<Path>,
        received: &mut Vec<Received>,
    ) {
        let (reader, writer) = match topic {
            Topic::TypeRequests => (&mut self.requests, EntityId::TYPE_LOOKUP_REQUEST_WRITER),
            _ => (&mut self.replies, EntityId::TYPE_LOOKUP_REPLY_WRITER),
        };
        let writer = Guid::new(context.source.prefix, writer);
        if !reader.is_matched(writer) {
            let Some(path) = path else { return };
            reader.match_writer(now, matched_writer(writer, path));
        }
        let mut collector = Collector { topic, received, readings: None };
        route::to_reader(now, &context.source, reader, submessage, &mut collector);
    }

    pub(super) fn for_writer(
        &mut self,
        now: Now,
        context: &Context,
        topic: Topic,
        submessage: &ToWriter,
        path: Option<Path>,
    ) {
        if let Some(path) = path {
            let writer = self.writer(now, topic, context.source.prefix, path);
            route::to_writer(now, &context.source, writer, submessage);
        }
    }

    pub(super) fn poll_transmit(&mut self, now: Now, out: &mut Transmit<P>) -> bool {
        if self.requests.poll_transmit(now, out) || self.replies.poll_transmit(now, out) {
            return true;
        }
        let (mut sent, mut idle) = (false, Vec::new());
        for participant in self.busy.iter() {
            let Some(peer) = self.peers.get_mut(participant) else { continue };
            sent = [&mut peer.requests, &mut peer.replies]
                .into_iter()
                .flatten()
                .any(|writer| writer.poll_transmit(now, out));
            if sent {
                break;
            }
            if peer.timeout() == Instant::NEVER {
                idle.push(*participant);
            }
        }
        idle.iter().for_each(|participant| {
            self.busy.remove(participant);
        });
        sent
    }

    pub(super) fn poll_timeout(&self) -> Instant {
        let busy = self.busy.iter().filter_map(|participant| self.peers.get(participant));
        let writers = busy.map(Peer::timeout).min().unwrap_or(Instant::NEVER);
        writers.min(self.requests.poll_timeout::<P>()).min(self.replies.poll_timeout::<P>())
    }

    pub(super) fn held_bytes(&self) -> usize {
        let writers = self.peers.values().flat_map(|peer| [&peer.requests, &peer.replies]);
        let written: usize = writers.flatten().map(|writer| writer.held_bytes()).sum();
        written + self.requests.held_bytes() + self.replies.held_bytes()
    }

    fn writer(&mut self, now: Now, topic: Topic, to: GuidPrefix, path: Path) -> &mut Writer<P> {
        let peer = self.peers.get_or_insert_with(to, || Peer { path: None, requests: None, replies: None });
        peer.reach(now, to, path);
        self.busy.insert(to);
        let (writer, id, reader) = match topic {
            Topic::TypeRequests => (
                &mut peer.requests,
                EntityId::TYPE_LOOKUP_REQUEST_WRITER,
                EntityId::TYPE_LOOKUP_REQUEST_READER,
            ),
            _ => (&mut peer.replies, EntityId::TYPE_LOOKUP_REPLY_WRITER, EntityId::TYPE_LOOKUP_REPLY_READER),
        };
        let (prefix, class) = (self.prefix, self.class);
        writer.get_or_insert_with(|| {
            let config = WriterConfig {
                byte_limit: MOST_WAITING,
                class,
                ..WriterConfig::new(Guid::new(prefix, id), true)
            };
            let mut writer = Writer::new(config);
            writer.match_reader(now, matched_reader(Guid::new(to, reader), path));
            Box::new(writer)
        })
    }
}

impl<P: Payload> Peer<P> {
    /// Its writers, each with the reader of the participant.
    fn writers(&mut self, participant: GuidPrefix) -> impl Iterator<Item = (&mut Writer<P>, Guid)> {
        let ids = [EntityId::TYPE_LOOKUP_REQUEST_READER, EntityId::TYPE_LOOKUP_REPLY_READER];
        let writers = [&mut self.requests, &mut self.replies].into_iter().zip(ids);
        writers.filter_map(move |(writer, id)| Some((&mut **writer.as_mut()?, Guid::new(participant, id))))
    }

    /// The participant is reached so from now on.
    fn reach(&mut self, now: Now, participant: GuidPrefix, path: Path) {
        if self.path.replace(path) != Some(path) {
            for (writer, reader) in self.writers(participant) {
                writer.match_reader(now, matched_reader(reader, path));
            }
        }
    }

    fn timeout(&self) -> Instant {
        let writers = [&self.requests, &self.replies].into_iter().flatten();
        writers.map(|writer| writer.poll_timeout()).min().unwrap_or(Instant::NEVER)
    }
}

fn matched_reader(guid: Guid, path: Path) -> MatchedReader {
    MatchedReader {
        guid,
        reliable: true,
        wants_history: false,
        paths: [path].into(),
        direct: None,
        receive_buffer: None,
    }
}

fn matched_writer(guid: Guid, path: Path) -> MatchedWriter {
    MatchedWriter { guid, reliable: true, paths: [path].into() }
}
