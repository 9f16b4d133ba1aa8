//! From a routed submessage to the machine that it is for: the two calls that every owner of readers and writers needs,
//! whether it keeps them in one place or each behind a lock of its own.
use wire::Now;

use crate::Payload;
use crate::reader::{Reader, Sink, Source};
use crate::receiver::{ToReader, ToWriter};
use crate::writer::Writer;

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
        ToReader::HeartbeatFrag(heartbeat) => reader.on_heartbeat_frag(now, source, heartbeat),
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
