//! From a routed submessage, or an event of discovery, to the machine that it is for: what every owner of readers and writers needs,
//! whether it keeps them in one place or each behind a lock of its own.
use wire::Now;
use wire::discovery::EndpointData;
use wire::qos::{Durability, EndpointQos, ReliabilityKind};

use crate::Payload;
use crate::path::Path;
use crate::reader::{MatchedWriter, Reader, Sink, Source};
use crate::receiver::{ToReader, ToWriter};
use crate::writer::{MatchedReader, Writer};

/// Hands a submessage to a reader. It ignores what comes from writers that it is not matched with.
pub fn to_reader(
    now: Now,
    source: &Source,
    reader: &mut Reader,
    submessage: &ToReader<'_>,
    sink: &mut impl Sink,
) {
    match submessage {
        ToReader::Data(data) => reader.on_data(now, source, data, sink),
        ToReader::DataFrag(fragment) => reader.on_data_frag(now, source, fragment, sink),
        ToReader::Heartbeat(heartbeat) => reader.on_heartbeat(now, source, heartbeat, sink),
        ToReader::HeartbeatFrag(heartbeat) => reader.on_heartbeat_frag(now, source, heartbeat, sink),
        ToReader::Gap(gap) => reader.on_gap(now, source, gap, sink),
    }
}

/// Hands a submessage to a writer. It ignores what comes from readers that it is not matched with.
pub fn to_writer<P: Payload>(now: Now, source: &Source, writer: &mut Writer<P>, submessage: &ToWriter) {
    match submessage {
        ToWriter::AckNack(acknack) => writer.on_acknack(now, source.prefix, acknack),
        ToWriter::NackFrag(nack) => writer.on_nack_frag(now, source.prefix, nack),
    }
}

/// A writer that sends data or says so lives; a HEARTBEAT alone is sent by the middleware (DDS 1.4, 2.2.3.11).
pub const fn shows_life(submessage: &ToReader<'_>) -> bool {
    match submessage {
        ToReader::Data(_) | ToReader::DataFrag(_) => true,
        ToReader::Heartbeat(heartbeat) => heartbeat.liveliness,
        ToReader::HeartbeatFrag(_) | ToReader::Gap(_) => false,
    }
}

impl MatchedReader {
    /// What a writer has to know of a reader that discovery has found to match; the arguments are those of
    /// [`Event::ReaderMatched`](crate::discovery::Event::ReaderMatched).
    pub fn found(reader: &EndpointData, paths: &[Path], direct: Option<Path>, local: bool) -> Self {
        Self {
            guid: reader.guid,
            reliable: is_reliable(&reader.qos),
            wants_history: reader.qos.durability >= Durability::TransientLocal,
            paths: if local { [Path::IN_PROCESS].into() } else { paths.to_vec() },
            direct,
            receive_buffer: reader.receive_buffer,
        }
    }
}

impl MatchedWriter {
    /// What a reader has to know of a writer that discovery has found to match; the arguments are those of
    /// [`Event::WriterMatched`](crate::discovery::Event::WriterMatched).
    pub fn found(writer: &EndpointData, paths: &[Path], local: bool) -> Self {
        Self {
            guid: writer.guid,
            reliable: is_reliable(&writer.qos),
            paths: if local { [Path::IN_PROCESS].into() } else { paths.to_vec() },
        }
    }
}

/// True for RELIABILITY kind RELIABLE.
pub(crate) fn is_reliable(qos: &EndpointQos) -> bool {
    qos.reliability.kind == ReliabilityKind::Reliable
}
