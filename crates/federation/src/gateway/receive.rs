//! Datagrams that come, down to the events in them.
use super::{Gateway, MOST_GROUPS};
use crate::event::{Addressed, Event, Grouped, MOST_DESTINATIONS};
use crate::incoming::{Incoming, Offered};
use crate::link::InGroup;
use crate::message::{Envelope, Piece, kind, next_piece};
use crate::record::{LARGEST_RECORD, Record};
use crate::seen::Seen;
use crate::told::Notice;
use wire::cursor::{Cursor, Endianness};

/// Bytes of an event besides its body, at most.
const BESIDES: usize = 1 + 3 + 8 * MOST_DESTINATIONS + 24 + 9 + 512;

/// What takes events.
type Deliver<'a> = dyn FnMut(Event<'_>) + 'a;

impl Gateway {
    /// A datagram has come. Events for the process are handed to `deliver`.
    pub fn handle_datagram(&mut self, now: u64, bytes: &[u8], deliver: &mut dyn FnMut(Event<'_>)) {
        let read = Envelope::read(bytes);
        let known = read.and_then(|(envelope, cursor)| Some((envelope, cursor, self.link(envelope.from)?)));
        let Some((envelope, mut cursor, index)) = known else {
            self.counts.refused += 1;
            return;
        };
        let is_for_group = envelope.to == 0;
        if !is_for_group && envelope.to != self.id {
            self.counts.refused += 1;
            return;
        }
        loop {
            let Some(link) = self.links.get_mut(index) else { return };
            // The numbers of a group go on as long as its sender, whatever becomes of single connections.
            let is_current = if is_for_group {
                link.is_up && link.incarnation == envelope.from_session
            } else {
                link.theirs == Some(envelope.from_session) && link.mine == envelope.to_session
            };
            if is_current {
                link.heard_at = now;
                if !link.is_up {
                    self.begin_link(index);
                }
            }
            let Some(piece) = next_piece(&mut cursor) else { return };
            match piece {
                Piece::Hello { incarnation, groups } if !is_for_group => {
                    self.hello(now, index, &envelope, incarnation, &groups);
                }
                _ if !is_current => {}
                Piece::Data { stream, number, is_last, bytes } if stream != 0 || !is_for_group => {
                    self.data(now, index, stream, number, (is_last, bytes), deliver);
                }
                Piece::Ack { stream, next, ranges } if !is_for_group => {
                    self.acknowledged(now, index, stream, next, ranges.iter());
                }
                Piece::Beat { stream, end } if !is_for_group => {
                    if let Some(incoming) = self.incoming(index, stream) {
                        incoming.beat(now, end);
                    }
                }
                _ => {}
            }
        }
    }

    fn incoming(&mut self, index: usize, stream: u32) -> Option<&mut Incoming> {
        let link = self.links.get_mut(index)?;
        if stream == 0 {
            return Some(&mut link.incoming);
        }
        link.in_groups.iter_mut().find(|group| group.number == stream).map(|group| &mut group.incoming)
    }

    fn acknowledged(
        &mut self,
        now: u64,
        index: usize,
        stream: u32,
        next: u64,
        ranges: impl Iterator<Item = (u64, u32)>,
    ) {
        let held = self.settings.held;
        let Some(link) = self.links.get_mut(index) else { return };
        if stream == 0 {
            link.receiver.answered(now, &link.outgoing, next, ranges);
            link.outgoing.release(link.receiver.acknowledged);
            link.is_full &= link.kept() > held / 2;
            return;
        }
        let id = link.id;
        let Some(group) = self.groups.iter_mut().find(|group| group.number == stream) else { return };
        group.answered(now, id, next, ranges);
        group.release();
        group.is_full &= group.outgoing.bytes() > held / 2;
    }

    /// A fragment has come, and perhaps others that waited for it.
    fn data(
        &mut self,
        now: u64,
        index: usize,
        stream: u32,
        number: u64,
        (is_last, bytes): (bool, &[u8]),
        deliver: &mut Deliver<'_>,
    ) {
        let (pause, most) = (self.settings.repair, self.settings.flight.saturating_mul(2));
        let largest = self.settings.event.saturating_add(BESIDES).max(LARGEST_RECORD + 1);
        let Some(incoming) = self.incoming(index, stream) else { return };
        if incoming.offer(now, pause, number, is_last, bytes, most) == Offered::Done {
            return;
        }
        let session = self.links.get(index).map(|link| (link.mine, link.theirs));
        if is_last && !self.incoming(index, stream).is_some_and(|incoming| incoming.has_partial()) {
            self.message(index, stream, bytes, deliver);
        } else {
            self.fragment(index, stream, is_last, bytes, largest, deliver);
        }
        // A message may have ended the connection: then the rest is none of it.
        while self.links.get(index).map(|link| (link.mine, link.theirs)) == session
            && let Some((is_last, bytes)) = self.incoming(index, stream).and_then(Incoming::pop)
        {
            self.fragment(index, stream, is_last, &bytes, largest, deliver);
        }
    }

    fn fragment(
        &mut self,
        index: usize,
        stream: u32,
        is_last: bool,
        bytes: &[u8],
        largest: usize,
        deliver: &mut Deliver<'_>,
    ) {
        let Some(incoming) = self.incoming(index, stream) else { return };
        if !incoming.add(bytes, largest) {
            // No gateway makes such a message, so what follows means nothing: what has come of it is dropped.
            incoming.take_whole();
            self.counts.refused += 1;
            return;
        }
        if is_last {
            let whole = incoming.take_whole();
            self.message(index, stream, &whole, deliver);
            if let Some(incoming) = self.incoming(index, stream) {
                incoming.give_back(whole);
            }
        }
    }

    /// A message is whole.
    fn message(&mut self, index: usize, stream: u32, bytes: &[u8], deliver: &mut Deliver<'_>) {
        let is_read = match bytes.split_first() {
            Some((&kind::EVENT, rest)) if stream == 0 => self.event(rest, deliver),
            Some((&kind::GROUP_EVENT, rest)) if stream != 0 => {
                self.event_of_group(index, stream, rest, deliver)
            }
            Some((&kind::RECORD, rest)) if stream == 0 => self.record(index, rest),
            Some((&kind::SUSPEND, rest)) if stream == 0 => self.suspended(index, rest),
            Some((&kind::START, rest)) if stream == 0 => self.start_of_group(index, rest),
            _ => None,
        };
        if is_read.is_none() {
            self.counts.refused += 1;
        }
    }

    fn suspended(&mut self, index: usize, bytes: &[u8]) -> Option<()> {
        let is_suspended = *bytes.first()? != 0;
        let link = self.links.get_mut(index)?;
        if link.is_suspended_there != is_suspended {
            link.is_suspended_there = is_suspended;
            link.release_held();
            let peer = crate::GatewayId(link.id);
            self.tell(Notice::Suspended { peer, is_suspended });
        }
        Some(())
    }

    fn start_of_group(&mut self, index: usize, bytes: &[u8]) -> Option<()> {
        let mut cursor = Cursor::new(bytes, Endianness::Little);
        let (group, number, place) = (cursor.u32()?, cursor.u64()?, cursor.u16()?);
        let listens = self.listens.contains(&group);
        let link = self.links.get_mut(index)?;
        if listens && link.in_groups.len() < MOST_GROUPS {
            link.in_groups.retain(|known| known.number != group);
            link.in_groups.push(InGroup { number: group, place, incoming: Incoming::new(number) });
        }
        Some(())
    }

    fn record(&mut self, index: usize, bytes: &[u8]) -> Option<()> {
        let record = Record::read(bytes, self.settings.gateways, self.settings.interests)?;
        let (id, stamp) = (record.id, record.stamp);
        if id == self.id {
            // An earlier start was told with a later time: this one has to be above it.
            if stamp.0 > self.incarnation {
                self.incarnation = stamp.0.saturating_add(1);
                self.tell_of_itself();
            }
            return Some(());
        }
        if self.topology.accept(record, self.settings.gateways) {
            self.topology.find_ways();
            self.is_stale = true;
            for (other, link) in self.links.iter_mut().enumerate() {
                if other != index && link.is_up {
                    link.records.insert(id);
                }
            }
        }
        Some(())
    }

    fn event(&mut self, bytes: &[u8], deliver: &mut Deliver<'_>) -> Option<()> {
        let addressed = Addressed::read(bytes)?;
        let event = Event::read(addressed.rest)?;
        if addressed.destinations().any(|id| id == self.id) {
            self.arrived(event, deliver);
        }
        let me = self.id;
        let others = addressed.destinations().filter(|id| *id != me);
        self.forward(addressed.ttl.saturating_sub(1), others, addressed.rest);
        Some(())
    }

    /// What goes to a group goes to peers only, so it is not passed on.
    fn event_of_group(
        &mut self,
        index: usize,
        stream: u32,
        bytes: &[u8],
        deliver: &mut Deliver<'_>,
    ) -> Option<()> {
        let grouped = Grouped::read(bytes)?;
        let event = Event::read(grouped.rest)?;
        let groups = &self.links.get(index)?.in_groups;
        let group = groups.iter().find(|group| group.number == stream)?;
        if grouped.is_for(group.place) {
            self.arrived(event, deliver);
        }
        Some(())
    }

    fn arrived(&mut self, event: Event<'_>, deliver: &mut Deliver<'_>) {
        if !self.subscriptions.values().any(|interest| interest.fits(event.kind, event.source)) {
            self.counts.unwanted += 1;
            return;
        }
        let origin = event.origin.0;
        if !self.seen.contains_key(&origin) && self.seen.len() >= 2 * self.settings.gateways {
            let gone = self.seen.keys().copied().find(|id| self.topology.record(*id).is_none());
            // All places belong to gateways that are known: this one is not.
            let Some(gone) = gone.filter(|_| self.topology.record(origin).is_some()) else {
                self.counts.unwanted += 1;
                return;
            };
            self.seen.remove(&gone);
        }
        if !self.seen.entry(origin).or_insert(Seen::new()).is_new(event.incarnation, event.number) {
            self.counts.doubles += 1;
            return;
        }
        self.counts.delivered += 1;
        deliver(event);
    }
}
