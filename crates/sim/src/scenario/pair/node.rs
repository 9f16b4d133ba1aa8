//! The two kinds of node: a writer alone and a reader alone, with sockets but without discovery.
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use rtps::Transmit;
use rtps::reader::{Accept, Reader, Sample, Sink};
use rtps::receiver::{Context, Route, ToReader, ToWriter, interpret};
use rtps::writer::Writer;
use wire::{EntityId, Guid, Instant, Now, SequenceNumber};

use crate::node::{Node, Observation, Outgoing};

/// A process of this scenario.
#[expect(clippy::large_enum_variant, reason = "there are a handful of nodes in a run")]
pub enum PairNode {
    /// A writer.
    Writer(WriterNode),
    /// A reader.
    Reader(ReaderNode),
}

/// A process with one writer.
pub struct WriterNode {
    /// The writer.
    pub writer: Writer<Arc<[u8]>>,
    transmit: Transmit<Arc<[u8]>>,
    observations: Vec<Observation>,
}

/// A process with one reader.
pub struct ReaderNode {
    /// The reader.
    pub reader: Reader,
    transmit: Transmit<Arc<[u8]>>,
    application: Application,
    /// The writers whose history it says to have.
    histories: BTreeSet<Guid>,
}

/// What takes the samples.
struct Application {
    guid: Guid,
    refuses: bool,
    refused: u64,
    observations: Vec<Observation>,
}

impl WriterNode {
    /// A process around a writer.
    pub const fn new(writer: Writer<Arc<[u8]>>) -> Self {
        Self { writer, transmit: Transmit::new(), observations: Vec::new() }
    }

    /// Notes a match that the scenario made or ended.
    pub fn note(&mut self, observation: Observation) {
        self.observations.push(observation);
    }
}

impl ReaderNode {
    /// A process around a reader.
    pub const fn new(reader: Reader) -> Self {
        let application =
            Application { guid: reader.guid(), refuses: false, refused: 0, observations: Vec::new() };
        Self { reader, transmit: Transmit::new(), application, histories: BTreeSet::new() }
    }

    /// Notes a match that the scenario made or ended.
    pub fn note(&mut self, observation: Observation) {
        self.application.observations.push(observation);
    }

    /// From now on the application refuses samples.
    pub const fn refuse(&mut self) {
        self.application.refuses = true;
    }

    /// From now on the application takes samples again, first those that wait.
    pub fn accept(&mut self, now: Now) {
        if std::mem::take(&mut self.application.refuses) {
            self.reader.resume(now, &mut self.application);
        }
    }

    /// Notes the writers whose history it has now.
    fn note_histories(&mut self) {
        let Self { reader, application, histories, .. } = self;
        histories.retain(|writer| reader.has_history(*writer));
        for writer in reader.writers().filter(|writer| reader.has_history(*writer)) {
            if histories.insert(writer) {
                application.observations.push(Observation::HasHistory { reader: reader.guid(), writer });
            }
        }
    }

    /// Samples that the application refused.
    pub const fn refused(&self) -> u64 {
        self.application.refused
    }
}

impl Sink for Application {
    fn deliver(&mut self, sample: &mut Sample<'_>) -> Accept {
        if self.refuses {
            self.refused += 1;
            return Accept::Full;
        }
        self.observations.push(Observation::Delivered {
            reader: self.guid,
            writer: sample.writer,
            number: sample.sequence_number,
            payload: sample.payload.bytes().to_vec(),
            timestamp: sample.source_timestamp,
            key_hash: sample.inline_qos.key_hash,
        });
        Accept::Taken
    }

    fn lost(&mut self, writer: Guid, first: SequenceNumber, count: u64) {
        self.observations.push(Observation::Lost { reader: self.guid, writer, first, count });
    }
}

struct ToNode<'a> {
    now: Now,
    node: &'a mut PairNode,
}

impl Route for ToNode<'_> {
    fn to_reader(&mut self, context: &Context, reader_id: EntityId, _: Guid, submessage: &ToReader<'_>) {
        let PairNode::Reader(ReaderNode { reader, application, .. }) = self.node else { return };
        if reader_id != EntityId::UNKNOWN && reader_id != reader.guid().entity_id {
            return;
        }
        let (now, source) = (self.now, &context.source);
        match submessage {
            ToReader::Data(data) => reader.on_data(now, source, data, application),
            ToReader::DataFrag(fragment) => reader.on_data_frag(now, source, fragment, application),
            ToReader::Heartbeat(heartbeat) => reader.on_heartbeat(now, source, heartbeat, application),
            ToReader::HeartbeatFrag(heartbeat) => {
                reader.on_heartbeat_frag(now, source, heartbeat, application)
            }
            ToReader::Gap(gap) => reader.on_gap(now, source, gap, application),
        }
    }

    fn to_writer(&mut self, context: &Context, writer_id: EntityId, submessage: &ToWriter) {
        let PairNode::Writer(WriterNode { writer, .. }) = self.node else { return };
        if writer_id != writer.guid().entity_id {
            return;
        }
        match submessage {
            ToWriter::AckNack(acknack) => writer.on_acknack(self.now, context.source.prefix, acknack),
            ToWriter::NackFrag(nack) => writer.on_nack_frag(self.now, context.source.prefix, nack),
        }
    }
}

impl Node for PairNode {
    type Observation = Observation;

    fn handle_datagram(&mut self, now: Now, from: SocketAddr, _: SocketAddr, bytes: &[u8]) {
        let prefix = match self {
            Self::Writer(node) => node.writer.guid().prefix,
            Self::Reader(node) => node.reader.guid().prefix,
        };
        // Nothing here makes malformed messages; one would show as a loss.
        let _ = interpret(prefix, from, bytes, &mut ToNode { now, node: self });
    }

    fn poll_transmit(&mut self, now: Now, out: &mut Outgoing) -> bool {
        let transmit = match self {
            Self::Writer(node) => {
                if !node.writer.poll_transmit(now, &mut node.transmit) {
                    return false;
                }
                &node.transmit
            }
            Self::Reader(node) => {
                if !node.reader.poll_transmit(now, &mut node.transmit) {
                    return false;
                }
                &node.transmit
            }
        };
        out.paths.extend_from_slice(transmit.paths());
        transmit.copy_to(&mut out.bytes);
        true
    }

    fn poll_timeout(&self) -> Instant {
        match self {
            Self::Writer(node) => node.writer.poll_timeout(),
            Self::Reader(node) => node.reader.poll_timeout(),
        }
    }

    fn take_observations(&mut self, out: &mut Vec<Observation>) {
        out.append(match self {
            Self::Writer(node) => &mut node.observations,
            Self::Reader(node) => {
                node.note_histories();
                &mut node.application.observations
            }
        });
    }

    fn excess(&self) -> Option<String> {
        let (held, limit) = match self {
            Self::Writer(node) => (node.writer.held_bytes(), node.writer.config().byte_limit),
            Self::Reader(node) => (node.reader.held_bytes(), node.reader.config().byte_limit),
        };
        (held > limit).then(|| format!("{held} bytes held, the limit is {limit}"))
    }
}
