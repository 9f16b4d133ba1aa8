//! Events that are published or passed on, and datagrams that go.
use alloc::vec::Vec;
use core::fmt;

use filter::Fields;

use super::{Gateway, KindId, To};
use crate::event::{Event, GatewayId, Header, MOST_DESTINATIONS, write_group_head, write_head};
use crate::link::{Group, Link};
use crate::message::{
    DATA, Envelope, HEADER, LARGEST_ACK, PART, kind, write_ack, write_beat, write_data, write_hello,
};
use crate::record::Record;
use crate::settings::Settings;
use crate::told::Notice;

/// What was published.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Published {
    /// Gateways that it is for.
    pub subscribers: usize,
    /// Of these, how many do not get it, because what is kept for the peers on the way is full.
    pub given_up: usize,
}

/// An event is larger than [`crate::Settings::event`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge {
    /// Bytes of its body.
    pub bytes: usize,
    /// Bytes that are allowed.
    pub most: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "an event of {} bytes, above the limit of {}: raise Settings::event",
            self.bytes, self.most
        )
    }
}

impl core::error::Error for TooLarge {}

impl Gateway {
    /// Publishes an event to the gateways that want it. `source` is the port that publishes it, 255 bytes at most.
    ///
    /// # Errors
    /// It is too large, and is not sent.
    pub fn publish<F: Fields + ?Sized>(
        &mut self,
        kind: KindId,
        source: &str,
        header: Header,
        fields: &F,
        body: &[u8],
    ) -> Result<Published, TooLarge> {
        if body.len() > self.settings.event {
            return Err(TooLarge { bytes: body.len(), most: self.settings.event });
        }
        self.find_targets();
        let number = self.number;
        self.number += 1;
        self.counts.published += 1;
        let kinds = core::mem::take(&mut self.kinds);
        self.routes.clear();
        let mut published = Published::default();
        if let Some(of_kind) = kinds.get(kind.0) {
            let wanting = of_kind.targets.iter().filter(|target| target.wants(source, fields));
            self.routes.extend(wanting.map(|target| (target.next, target.id)));
            let (origin, incarnation) = (GatewayId(self.id), self.incarnation);
            let event = Event { origin, incarnation, number, kind: &of_kind.name, source, header, body };
            let (subscribers, before) = (self.routes.len(), self.counts.given_up);
            if subscribers > 0 {
                let size = 64 + of_kind.name.len() + source.len() + body.len();
                self.give(self.settings.ttl, of_kind.group, size, &|to| event.write(to));
            }
            published = Published { subscribers, given_up: (self.counts.given_up - before) as usize };
        }
        self.kinds = kinds;
        Ok(published)
    }

    /// Passes an event on to those of its destinations that can be reached with this ttl.
    pub(super) fn forward(&mut self, ttl: u8, destinations: impl Iterator<Item = u64>, rest: &[u8]) {
        self.routes.clear();
        for id in destinations {
            match self.topology.way(id).filter(|way| way.distance <= u32::from(ttl)) {
                Some(way) => self.routes.push((way.next, id)),
                None => self.counts.given_up += 1,
            }
        }
        self.give(ttl, None, 16 + rest.len(), &|to| to.extend_from_slice(rest));
    }

    /// Gives an event to the peers on the ways of [`Gateway::routes`], to each once.
    fn give(&mut self, ttl: u8, group: Option<u32>, size: usize, write: &dyn Fn(&mut Vec<u8>)) {
        let mut routes = core::mem::take(&mut self.routes);
        if let Some(group) = group {
            self.give_to_group(group, &mut routes, ttl, size, write);
        }
        routes.sort_unstable();
        routes.dedup();
        for of_peer in routes.chunk_by(|one, other| one.0 == other.0) {
            let Some((peer, _)) = of_peer.first() else { continue };
            for part in of_peer.chunks(MOST_DESTINATIONS) {
                let index = self.link(*peer);
                let Some(link) = index.and_then(|index| self.links.get_mut(index)).filter(|link| link.is_up)
                else {
                    self.counts.given_up += part.len() as u64;
                    continue;
                };
                if link.kept() + size + 8 * part.len() > self.settings.held {
                    self.counts.given_up += part.len() as u64;
                    if !core::mem::replace(&mut link.is_full, true) {
                        self.tell(Notice::Full { peer: GatewayId(*peer) });
                    }
                    continue;
                }
                let mut bytes = link.outgoing.buffer();
                bytes.push(kind::EVENT);
                write_head(&mut bytes, ttl, part.iter().map(|(_, id)| *id));
                write(&mut bytes);
                self.counts.transfers += 1;
                if link.is_suspended() {
                    link.held_bytes += bytes.len();
                    link.held.push_back(bytes);
                } else {
                    link.outgoing.push(bytes);
                }
            }
        }
        routes.clear();
        self.routes = routes;
    }

    /// Gives an event to a group, and takes those whom it reaches so out of the routes.
    fn give_to_group(
        &mut self,
        number: u32,
        routes: &mut Vec<(u64, u64)>,
        ttl: u8,
        size: usize,
        write: &dyn Fn(&mut Vec<u8>),
    ) {
        let Some(group) = self.groups.iter_mut().find(|group| group.number == number) else { return };
        let links = &self.links;
        let is_in = |(next, id): &(u64, u64)| {
            let is_open = |link: &Link| link.id == *id && link.is_up && !link.is_suspended();
            // A peer through which the event goes on gets it by a transfer of its own, which is for those behind it, too.
            next == id
                && !routes.iter().any(|(on_way, end)| on_way == id && end != id)
                && group.receivers.iter().any(|(of, _)| of == id)
                && links.iter().any(is_open)
        };
        self.grouped.clear();
        self.grouped.extend(routes.iter().filter(|route| is_in(route)).map(|(_, id)| *id));
        if self.grouped.len() < 2 || self.grouped.len() > MOST_DESTINATIONS {
            return;
        }
        routes.retain(|(_, id)| !self.grouped.contains(id));
        if group.outgoing.bytes() + size + group.places.len().div_ceil(8) > self.settings.held {
            self.counts.given_up += self.grouped.len() as u64;
            let peer = self.grouped.first().copied().unwrap_or_default();
            if !core::mem::replace(&mut group.is_full, true) {
                self.tell(Notice::Full { peer: GatewayId(peer) });
            }
            return;
        }
        let mut bytes = group.outgoing.buffer();
        bytes.push(kind::GROUP_EVENT);
        let places = self.grouped.iter().filter_map(|id| group.place(*id));
        write_group_head(&mut bytes, ttl, group.places.len(), places);
        write(&mut bytes);
        self.counts.transfers += 1;
        group.outgoing.push(bytes);
    }

    /// Writes the next datagram that has to go, and says where; `None` if there is nothing to send now.
    pub fn poll_transmit(&mut self, now: u64, datagram: &mut Vec<u8>) -> Option<To> {
        let to = self.next_datagram(now, datagram)?;
        self.counts.datagrams += 1;
        self.counts.bytes += datagram.len() as u64;
        Some(to)
    }

    fn next_datagram(&mut self, now: u64, datagram: &mut Vec<u8>) -> Option<To> {
        for group in &mut self.groups {
            let own = (self.id, self.started);
            if Self::fill_group(now, own, group, &self.settings, &mut self.counts.repairs, datagram) {
                return Some(To::Group(group.number));
            }
        }
        let count = self.links.len();
        for step in 0..count {
            let index = (self.turn + step) % count;
            if self.fill(now, index, datagram) {
                self.turn = (index + 1) % count;
                let link = self.links.get_mut(index)?;
                link.sent_at = now;
                return Some(To::Peer(GatewayId(link.id)));
            }
        }
        None
    }

    fn fill_group(
        now: u64,
        (id, started): (u64, u64),
        group: &mut Group,
        settings: &Settings,
        repairs: &mut u64,
        datagram: &mut Vec<u8>,
    ) -> bool {
        if group.repairs.is_empty() && group.outgoing.next(settings.flight).is_none() {
            return false;
        }
        let envelope = Envelope { from: id, from_session: started, to: 0, to_session: 0 };
        envelope.write(datagram);
        while let Some(&number) = group.repairs.front() {
            if let Some((bytes, is_last)) = group.outgoing.fragment(number) {
                if datagram.len() + DATA + bytes.len() > settings.datagram {
                    return true;
                }
                write_data(datagram, group.number, number, is_last, bytes);
                *repairs += 1;
            }
            group.repairs.pop_front();
        }
        while let Some(number) = group.outgoing.next(settings.flight) {
            let Some((bytes, is_last)) = group.outgoing.fragment(number) else { break };
            if datagram.len() + DATA + bytes.len() > settings.datagram {
                break;
            }
            write_data(datagram, group.number, number, is_last, bytes);
            group.outgoing.advance(now);
            group.receivers.iter_mut().for_each(|(_, receiver)| receiver.sent(now, number));
        }
        datagram.len() > HEADER
    }

    /// Writes what has to go to a peer; false if there is nothing.
    fn fill(&mut self, now: u64, index: usize, datagram: &mut Vec<u8>) -> bool {
        let settings = self.settings;
        let Some(link) = self.links.get_mut(index) else { return false };
        let (to, to_session) = (link.id, link.theirs.unwrap_or(0));
        let envelope = Envelope { from: self.id, from_session: link.mine, to, to_session };
        if !link.is_up {
            if now < link.hello_at {
                return false;
            }
            link.hello_at = now.saturating_add(link.hello_pause);
            link.hello_pause = link.hello_pause.saturating_mul(2).min(settings.lease / 4);
            envelope.write(datagram);
            write_hello(datagram, self.started, &self.listens);
            return true;
        }
        envelope.write(datagram);
        let room = |datagram: &Vec<u8>, more: usize| datagram.len() + more <= settings.datagram;
        let is_busy = link.outgoing.next(settings.flight).is_some();
        let streams = core::iter::once((0, &mut link.incoming))
            .chain(link.in_groups.iter_mut().map(|group| (group.number, &mut group.incoming)));
        for (stream, incoming) in streams {
            let is_due = incoming.ack_at().is_some_and(|at| at <= now || is_busy);
            if is_due && room(datagram, LARGEST_ACK) {
                let (next, ranges) = incoming.ack();
                write_ack(datagram, stream, next, ranges);
            }
        }
        if link.receiver.beat_at.is_some_and(|at| at <= now) && room(datagram, PART + 12) {
            let sent = link.outgoing.sent();
            write_beat(datagram, 0, sent);
            link.receiver.asked(now, sent);
        }
        for group in &mut self.groups {
            let sent = group.outgoing.sent();
            let stream = group.number;
            let Some(receiver) = group.receivers.iter_mut().find(|(of, _)| *of == to) else { continue };
            if receiver.1.beat_at.is_some_and(|at| at <= now) && room(datagram, PART + 12) {
                write_beat(datagram, stream, sent);
                receiver.1.asked(now, sent);
            }
            while let Some(&number) = receiver.1.repairs.front() {
                if let Some((bytes, is_last)) = group.outgoing.fragment(number) {
                    if !room(datagram, DATA + bytes.len()) {
                        break;
                    }
                    write_data(datagram, stream, number, is_last, bytes);
                    self.counts.repairs += 1;
                }
                receiver.1.repaired(now, number);
                receiver.1.repairs.pop_front();
            }
        }
        while let Some(&number) = link.receiver.repairs.front() {
            if let Some((bytes, is_last)) = link.outgoing.fragment(number) {
                if !room(datagram, DATA + bytes.len()) {
                    break;
                }
                write_data(datagram, 0, number, is_last, bytes);
                self.counts.repairs += 1;
            }
            link.receiver.repaired(now, number);
            link.receiver.repairs.pop_front();
        }
        // Records take the room that events leave: of a gateway that changes often, the last one goes.
        while !link.outgoing.has_unsent()
            && link.outgoing.flying() < settings.flight
            && let Some(id) = link.records.pop_first()
        {
            // A gateway hears of itself only if another one speaks of a later start than this one: then it goes on above that.
            let is_news = |record: &&Record| record.id != link.id || record.stamp.0 > link.incarnation;
            if let Some(record) = self.topology.record(id).filter(is_news) {
                let mut bytes = link.outgoing.buffer();
                bytes.push(kind::RECORD);
                record.write(&mut bytes);
                link.outgoing.push(bytes);
            }
            Self::fill_new(now, link, &settings, datagram);
        }
        Self::fill_new(now, link, &settings, datagram);
        let is_late = now >= link.sent_at.saturating_add(settings.lease / 4);
        datagram.len() > HEADER || core::mem::take(&mut link.is_answer_due) || is_late
    }

    fn fill_new(now: u64, link: &mut Link, settings: &Settings, datagram: &mut Vec<u8>) {
        while let Some(number) = link.outgoing.next(settings.flight) {
            let Some((bytes, is_last)) = link.outgoing.fragment(number) else { return };
            if datagram.len() + DATA + bytes.len() > settings.datagram {
                return;
            }
            write_data(datagram, 0, number, is_last, bytes);
            link.outgoing.advance(now);
            link.receiver.sent(now, number);
        }
    }
}
