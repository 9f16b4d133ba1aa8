//! From a datagram to the endpoints that it is for. A lock is taken once for each run of submessages to one endpoint.
use std::sync::{Arc, MutexGuard};

use rtps::discovery::Discovery;
use rtps::receiver::{Context, Route, ToReader, ToWriter};
use rtps::route;
use wire::{Duration, EntityId, Guid, GuidPrefix, Now};

use super::Node;
use super::reader::{ReaderCell, ReaderState};
use super::routes::{Route as Matched, Routes};
use super::work::Work;
use super::writer::{OwnDatagram, WriterCell, WriterState};
use crate::bytes::Bytes;

/// The endpoint whose lock is held. Never two at a time.
enum Held<'a> {
    None,
    Reader(&'a Arc<ReaderCell>, MutexGuard<'a, ReaderState>),
    Writer(&'a Arc<WriterCell>, MutexGuard<'a, WriterState>),
    Discovery(MutexGuard<'a, Discovery<Bytes>>),
}

/// How a datagram came in.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'a> {
    /// When.
    pub(crate) now: Now,
    /// How long it was in this host before, if the kernel has said so.
    pub(crate) waited: Option<Duration>,
    /// The buffer that it lies in, if that may be kept.
    pub(crate) buffer: Option<&'a Arc<Vec<u8>>>,
}

/// The way of one datagram.
pub(super) struct Router<'a> {
    node: &'a Node,
    routes: &'a Routes,
    arrival: Arrival<'a>,
    /// The datagram, if it is one of our own.
    own: Option<&'a OwnDatagram>,
    /// The participant that it can be from alone, if it came without an address: we ourselves, or one with a link.
    only: Option<GuidPrefix>,
    work: &'a mut Work,
    /// The writer that was looked for last: most datagrams are of one.
    last: Option<(Guid, &'a Matched)>,
    /// The participant that was looked for last, and whether what it says here counts.
    speaker: Option<(GuidPrefix, bool)>,
    held: Held<'a>,
}

impl<'a> Router<'a> {
    pub(super) const fn new(
        node: &'a Node,
        routes: &'a Routes,
        arrival: Arrival<'a>,
        work: &'a mut Work,
    ) -> Self {
        Self {
            node,
            routes,
            arrival,
            own: None,
            only: None,
            work,
            last: None,
            speaker: None,
            held: Held::None,
        }
    }

    /// The datagram is one of our own endpoints.
    pub(super) fn of_own(self, own: &'a OwnDatagram) -> Self {
        Self { own: Some(own), only: Some(self.node.prefix), ..self }
    }

    /// The datagram came through shared memory from this participant, if any.
    pub(super) fn by_link(self, linked: Option<GuidPrefix>) -> Self {
        Self { only: linked, ..self }
    }

    /// True if what this participant says counts: it is known to speak from there.
    #[inline]
    fn counts(&mut self, context: &Context) -> bool {
        match self.speaker {
            Some((last, counts)) if last == context.source.prefix => counts,
            _ => {
                let counts = self.is_speaker(context);
                self.speaker = Some((context.source.prefix, counts));
                counts
            }
        }
    }

    fn is_speaker(&mut self, context: &Context) -> bool {
        let prefix = context.source.prefix;
        if let Some(only) = self.only {
            return prefix == only;
        }
        let Some(speaker) = self.routes.speakers.get(&prefix) else { return false };
        if speaker.is_at(context.from) {
            return true;
        }
        let now = self.arrival.now;
        self.node.note_forged();
        if speaker.doubt(now.monotonic)
            && let Some(discovery) = self.discovery()
        {
            discovery.doubt(now, prefix);
        }
        false
    }

    fn reader(&mut self, cell: &'a Arc<ReaderCell>) -> Option<&mut ReaderState> {
        let is_held = matches!(&self.held, Held::Reader(held, _) if Arc::ptr_eq(held, cell));
        if !is_held {
            // Let go first: no thread ever waits for a lock with another one held.
            self.held = Held::None;
            self.work.touch_reader(cell);
            self.held = Held::Reader(cell, cell.lock());
        }
        match &mut self.held {
            Held::Reader(_, state) => Some(state),
            _ => None,
        }
    }

    fn writer(&mut self, cell: &'a Arc<WriterCell>) -> Option<&mut WriterState> {
        let is_held = matches!(&self.held, Held::Writer(held, _) if Arc::ptr_eq(held, cell));
        if !is_held {
            self.held = Held::None;
            self.work.touch_writer(cell);
            self.held = Held::Writer(cell, cell.lock());
        }
        match &mut self.held {
            Held::Writer(_, state) => Some(state),
            _ => None,
        }
    }

    fn discovery(&mut self) -> Option<&mut Discovery<Bytes>> {
        if !matches!(self.held, Held::Discovery(_)) {
            self.held = Held::None;
            self.work.discovery = true;
            self.held = Held::Discovery(self.node.lock_discovery());
        }
        match &mut self.held {
            Held::Discovery(discovery) => Some(discovery),
            _ => None,
        }
    }
}

impl Route for Router<'_> {
    fn to_reader(&mut self, context: &Context, reader_id: EntityId, writer: Guid, submessage: &ToReader<'_>) {
        let arrival = self.arrival;
        let now = arrival.now;
        if writer.entity_id.is_builtin() {
            if let Some(discovery) = self.discovery() {
                discovery.to_reader(now, context, writer.entity_id, submessage);
            }
            return;
        }
        if !self.counts(context) {
            return;
        }
        let route = match self.last {
            Some((last, route)) if last == writer => route,
            _ => {
                let Some(route) = self.routes.matched.get(&writer) else { return };
                self.last = Some((writer, route));
                route
            }
        };
        if let Some(lease) = &route.lease
            && route::shows_life(submessage)
            && lease.hear(now.monotonic)
        {
            self.work.heard_again.push(writer);
            self.work.discovery = true;
        }
        let value = match (submessage, self.own) {
            (ToReader::Data(data), Some(own)) => data.payload.and_then(|payload| own.value(payload.bytes)),
            _ => None,
        };
        for cell in &route.readers {
            let is_meant = reader_id == EntityId::UNKNOWN || reader_id == cell.guid.entity_id;
            if is_meant && let Some(reader) = self.reader(cell) {
                reader.receive(&arrival, context, submessage, value.clone());
            }
        }
    }

    fn to_writer(&mut self, context: &Context, writer_id: EntityId, submessage: &ToWriter) {
        let now = self.arrival.now;
        if writer_id.is_builtin() {
            if let Some(discovery) = self.discovery() {
                discovery.to_writer(now, context, writer_id, submessage);
            }
            return;
        }
        if !self.counts(context) {
            return;
        }
        if let Some(cell) = self.routes.writers.get(&writer_id)
            && let Some(writer) = self.writer(cell)
        {
            route::to_writer(now, &context.source, writer.machine.rtps_mut(), submessage);
        }
    }
}
