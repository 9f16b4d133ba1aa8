//! What discovery finds, done to the writers and readers.
use alloc::sync::Arc;

use wire::discovery::EndpointData;
use wire::{EntityId, Now};

use super::Participant;
use crate::Payload;
use crate::discovery::Event;
use crate::path::Path;
use crate::reader::MatchedWriter;
use crate::writer::MatchedReader;

impl<P: Payload> Participant<P> {
    /// Acts on discovery's events and passes them on. While the owner does not take them they stay with discovery, which
    /// then takes no input.
    pub(super) fn apply_events(&mut self, now: Now) {
        while self.events.len() < self.discovery.config().limits.events {
            let Some(event) = self.discovery.poll_event() else { return };
            self.apply(now, &event);
            self.events.push_back(event);
        }
    }

    fn apply(&mut self, now: Now, event: &Event) {
        match event {
            Event::WriterMatched { reader, writer, paths, local } => {
                self.match_writer(now, *reader, writer, paths, *local);
            }
            Event::ReaderMatched { writer, reader, paths, direct, local } => {
                if let Some(machine) = self.writers.get_mut(writer) {
                    let reader = MatchedReader::found(reader, paths, *direct, *local);
                    machine.match_reader(now, reader);
                    self.schedule.wake(*writer);
                }
            }
            Event::WriterUnmatched { reader, writer } => {
                if let Some(machine) = self.readers.get_mut(reader) {
                    machine.unmatch_writer(*writer);
                    self.schedule.wake(*reader);
                }
                if let Some(readers) = self.routes.get_mut(writer) {
                    readers.retain(|id| id != reader);
                    if readers.is_empty() {
                        self.routes.remove(writer);
                    }
                }
            }
            Event::ReaderUnmatched { writer, reader } => {
                if let Some(machine) = self.writers.get_mut(writer) {
                    machine.unmatch_reader(now, *reader);
                    self.schedule.wake(*writer);
                }
            }
            Event::ParticipantFound { .. }
            | Event::ParticipantChanged { .. }
            | Event::ParticipantLost { .. }
            | Event::NotMatched { .. }
            | Event::LivelinessChanged { .. }
            | Event::Rejected { .. } => {}
        }
    }

    fn match_writer(
        &mut self,
        now: Now,
        reader: EntityId,
        writer: &Arc<EndpointData>,
        paths: &[Path],
        local: bool,
    ) {
        let Some(machine) = self.readers.get_mut(&reader) else { return };
        machine.match_writer(now, MatchedWriter::found(writer, paths, local));
        self.schedule.wake(reader);
        let readers = self.routes.entry(writer.guid).or_default();
        if !readers.contains(&reader) {
            readers.push(reader);
        }
    }
}
