//! What discovery finds, done to the endpoints and their routes.
use std::sync::Arc;

use dcps::reader::MatchedPublication;
use dcps::status::StatusMask;
use rtps::Conduct;
use rtps::discovery::{Discovery, Event};
use rtps::reader::MatchedWriter;
use rtps::writer::MatchedReader;
use wire::admission::is_control;
use wire::cdr::Representation;
use wire::discovery::EndpointData;
use wire::qos::DataRepresentation;
use wire::{EntityId, Guid, Now};

use super::Node;
use super::filters;
use super::routes::{Lease, Route};
use super::speakers::Speaker;
use super::work::Work;
use crate::bytes::Bytes;

impl Node {
    /// Acts on discovery's events, under its lock: that keeps them in order.
    pub(super) fn apply_events(&self, discovery: &mut Discovery<Bytes>, now: Now, work: &mut Work) {
        let (mut any, is_logged) = (false, tracing::enabled!(tracing::Level::ERROR));
        while let Some(event) = discovery.poll_event() {
            any = true;
            self.apply(discovery, &event, now, work);
            if is_logged {
                work.events.push(event);
            }
        }
        if any {
            self.found.changed(StatusMask(u32::MAX), work);
        }
        if let Some(builtin) = self.builtin.get() {
            builtin.update(discovery, now, any, work);
        }
    }

    /// Tells discovery which writers were heard, before it looks whether their leases have ended.
    pub(super) fn tell_signs_of_life(&self, discovery: &mut Discovery<Bytes>, now: Now, work: &mut Work) {
        for (guid, route) in self.routes().matched.iter() {
            if let Some(heard) = route.lease.as_ref().and_then(|lease| lease.news()) {
                discovery.writer_asserted(Now { monotonic: heard, ..now }, *guid);
            }
        }
        for guid in work.heard_again.drain(..) {
            discovery.writer_asserted(now, guid);
        }
    }

    fn apply(&self, discovery: &Discovery<Bytes>, event: &Event, now: Now, work: &mut Work) {
        match event {
            Event::WriterMatched { writer: other, local: false, .. }
            | Event::ReaderMatched { reader: other, local: false, .. } => {
                if let Some(participant) = discovery.participant(other.guid.prefix) {
                    self.host.matched(participant.data());
                }
            }
            _ => {}
        }
        if self.waits_at_gate(discovery, event, now, work) {
            return;
        }
        match event {
            Event::WriterMatched { reader, writer, paths, local } => {
                let matched = MatchedWriter::found(writer, paths, *local);
                self.match_writer(now, *reader, writer, (matched, None), work);
            }
            Event::ReaderMatched { writer, reader, paths, direct, local } => {
                if let Some(cell) = self.routes().writers.get(writer) {
                    cell.limits.matched(reader.guid, reader.largest_sample);
                }
                let matched = MatchedReader::found(reader, paths, *direct, *local);
                self.match_reader(now, *writer, (matched, reader), None, work);
            }
            Event::WriterUnmatched { reader, writer, may_return } => {
                // Requests and verdicts end with their writers, and hold again when those are back.
                let own = discovery.endpoint(Guid::new(self.prefix, *reader));
                let goes_on = *may_return && own.is_some_and(|own| !is_control(&own.topic_name));
                self.unmatch_writer(now, *reader, *writer, goes_on, work);
            }
            Event::ReaderUnmatched { writer, reader } => self.unmatch_reader(now, *writer, *reader, work),
            Event::NotMatched { local, remote, reasons } => {
                work.not_matched.push((Arc::clone(remote), reasons.clone()));
                let routes = self.routes();
                if let Some(cell) = routes.writers.get(local) {
                    cell.lock().machine.not_matched(reasons);
                    work.touch_writer(cell);
                } else if let Some(cell) = routes.readers.get(local) {
                    cell.lock().cache.not_matched(reasons);
                    work.touch_reader(cell);
                }
            }
            Event::LivelinessChanged { reader, writer, alive } => {
                let routes = self.routes();
                if let Some(lease) = routes.matched.get(writer).and_then(|route| route.lease.as_ref()) {
                    lease.set_alive(*alive);
                }
                if let Some(cell) = routes.readers.get(reader) {
                    cell.lock().cache.set_liveliness(now, *writer, *alive);
                    work.touch_reader(cell);
                }
            }
            Event::ParticipantFound { .. } | Event::ParticipantChanged { .. } => {}
            Event::ParticipantLost { participant, .. } => {
                self.routes.change(|routes| routes.speakers.remove(participant));
                self.host.lost(*participant);
                work.lost.push(*participant);
            }
            Event::SourcesChanged { participant, sources } => {
                let speaker = Speaker::new(Arc::clone(sources));
                self.routes.change(|routes| routes.speakers.insert(*participant, speaker));
            }
            Event::Rejected { .. } => {}
        }
    }

    pub(super) fn match_reader(
        &self,
        now: Now,
        writer: EntityId,
        (reader, announced): (MatchedReader, &EndpointData),
        conduct: Option<Conduct>,
        work: &mut Work,
    ) {
        if let Some(cell) = self.routes().writers.get(&writer) {
            let path = reader.direct.as_ref().or_else(|| reader.paths.first());
            let carries = path.and_then(|path| self.paths.known(now.monotonic, path));
            let guid = reader.guid;
            let filter = filters::of_reader(cell, announced);
            let mut state = cell.lock();
            state.machine.match_subscription(now, reader);
            // Before anything is sent that it would keep away.
            state.machine.rtps_mut().set_filter(guid, filter);
            // Before anything is sent that the flow of repairs would carry.
            state.machine.rtps_mut().set_conduct(guid, conduct);
            if let Some(carries) = carries {
                state.machine.rtps_mut().on_path_news(now, &carries);
            }
            drop(state);
            work.touch_writer(cell);
        }
    }

    pub(super) fn unmatch_reader(&self, now: Now, writer: EntityId, reader: Guid, work: &mut Work) {
        if let Some(cell) = self.routes().writers.get(&writer) {
            cell.limits.unmatched(reader);
            let mut state = cell.lock();
            state.machine.unmatch_subscription(now, reader);
            // What only that reader had not acknowledged makes room.
            state.unmatched = state.unmatched.wrapping_add(1);
            drop(state);
            work.touch_writer(cell);
        }
    }

    pub(super) fn match_writer(
        &self,
        now: Now,
        reader: EntityId,
        writer: &EndpointData,
        (matched, conduct): (MatchedWriter, Option<Conduct>),
        work: &mut Work,
    ) {
        let routes = self.routes();
        let Some(cell) = routes.readers.get(&reader) else { return };
        {
            let mut state = cell.lock();
            // First the cache: what the RTPS reader delivers from a writer that it does not know would be dropped.
            state.cache.match_publication(publication(writer));
            state.rtps.match_writer(now, matched);
            state.rtps.set_conduct(writer.guid, conduct);
        }
        work.touch_reader(cell);
        let has_lease = !writer.qos.liveliness.lease_duration.is_infinite();
        self.routes.change(|routes| {
            let route = Route { readers: Vec::new(), lease: None };
            let Some(route) = routes.matched.get_or_insert(writer.guid, route) else { return };
            match (has_lease, &route.lease) {
                (true, None) => route.lease = Some(Lease::new()),
                (false, Some(_)) => route.lease = None,
                _ => {}
            }
            if !route.readers.iter().any(|known| Arc::ptr_eq(known, cell)) {
                route.readers.push(Arc::clone(cell));
            }
        });
    }

    /// `goes_on` says that the reader takes nothing twice if the writer is matched again.
    pub(super) fn unmatch_writer(
        &self,
        now: Now,
        reader: EntityId,
        writer: Guid,
        goes_on: bool,
        work: &mut Work,
    ) {
        let routes = self.routes();
        if let Some(cell) = routes.readers.get(&reader) {
            let mut state = cell.lock();
            if goes_on {
                state.rtps.lose_writer(writer);
                state.cache.lose_publication(now, writer);
            } else {
                state.rtps.unmatch_writer(writer);
                state.cache.unmatch_publication(now, writer);
            }
            drop(state);
            work.touch_reader(cell);
        }
        drop(routes);
        self.routes.change(|routes| {
            if let Some(route) = routes.matched.get_mut(&writer) {
                route.readers.retain(|cell| cell.guid.entity_id != reader);
                if route.readers.is_empty() {
                    routes.matched.remove(&writer);
                }
            }
        });
    }
}

/// What a cache has to know of a matched writer.
fn publication(writer: &EndpointData) -> MatchedPublication {
    MatchedPublication {
        guid: writer.guid,
        ownership_strength: writer.qos.ownership_strength,
        lifespan: writer.qos.lifespan,
        representation: match writer.qos.representation.first() {
            Some(&DataRepresentation::XCDR2) => Representation::Xcdr2,
            _ => Representation::Xcdr1,
        },
    }
}
