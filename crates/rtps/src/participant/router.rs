//! Where the submessages of a datagram go.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use wire::{EntityId, Guid, Now, SequenceNumber};

use super::ParticipantSink;
use super::schedule::Schedule;
use crate::Payload;
use crate::discovery::Discovery;
use crate::reader::{Accept, Reader, Sample, Sink};
use crate::receiver::{Context, Route, ToReader, ToWriter};
use crate::route;
use crate::writer::Writer;

/// All that a datagram can reach.
pub(super) struct Router<'a, P, S> {
    pub(super) now: Now,
    pub(super) discovery: &'a mut Discovery<P>,
    pub(super) writers: &'a mut BTreeMap<EntityId, Writer<P>>,
    pub(super) readers: &'a mut BTreeMap<EntityId, Reader>,
    pub(super) routes: &'a BTreeMap<Guid, Vec<EntityId>>,
    pub(super) schedule: &'a mut Schedule,
    pub(super) sink: &'a mut S,
}

/// One reader's end of the participant's sink.
pub(super) struct ToSink<'a, S> {
    pub(super) reader: EntityId,
    pub(super) sink: &'a mut S,
}

impl<S: ParticipantSink> Sink for ToSink<'_, S> {
    fn deliver(&mut self, sample: &mut Sample<'_>) -> Accept {
        self.sink.deliver(self.reader, sample)
    }

    fn lost(&mut self, writer: Guid, first: SequenceNumber, count: u64) {
        self.sink.lost(self.reader, writer, first, count);
    }
}

impl<P: Payload, S: ParticipantSink> Route for Router<'_, P, S> {
    fn to_reader(&mut self, context: &Context, reader_id: EntityId, writer: Guid, submessage: &ToReader<'_>) {
        if writer.entity_id.is_builtin() {
            return self.discovery.to_reader(self.now, context, writer.entity_id, submessage);
        }
        let Some(matched) = self.routes.get(&writer) else { return };
        if route::shows_life(submessage) {
            self.discovery.writer_asserted(self.now, writer);
        }
        for reader in matched.iter().filter(|id| reader_id == EntityId::UNKNOWN || reader_id == **id) {
            if let Some(machine) = self.readers.get_mut(reader) {
                let mut sink = ToSink { reader: *reader, sink: &mut *self.sink };
                route::to_reader(self.now, &context.source, machine, submessage, &mut sink);
                self.schedule.wake(*reader);
            }
        }
    }

    fn to_writer(&mut self, context: &Context, writer_id: EntityId, submessage: &ToWriter) {
        if writer_id.is_builtin() {
            return self.discovery.to_writer(self.now, context, writer_id, submessage);
        }
        if let Some(machine) = self.writers.get_mut(&writer_id) {
            route::to_writer(self.now, &context.source, machine, submessage);
            self.schedule.wake(writer_id);
        }
    }
}
