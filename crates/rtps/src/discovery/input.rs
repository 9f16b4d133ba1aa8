//! What arrives for the built-in endpoints, and what becomes of it.
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

use wire::discovery::{ParticipantData, ParticipantMessage};
use wire::message::Data;
use wire::message::encode::DATA_HEADER_LEN;
use wire::qos::LivelinessKind;
use wire::{EntityId, Guid, GuidPrefix, Now};

use super::events::{Event, LossReason};
use super::farewell::Leaver;
use super::participants::Standing;
use super::rejection::Rejection;
use super::sedp::{Received, Topic};
use super::spdp::{self, Announcement};
use super::{Discovery, Phase};
use crate::Payload;
use crate::network::canonical;
use crate::receiver::{Context, ToReader, ToWriter};

impl<P: Payload> Discovery<P> {
    /// A submessage from a built-in writer arrived.
    pub fn to_reader(&mut self, now: Now, context: &Context, writer: EntityId, submessage: &ToReader<'_>) {
        let Some(context) = self.admit(context) else { return };
        if writer == EntityId::SPDP_WRITER {
            if let ToReader::Data(data) = submessage {
                self.spdp(now, &context, data);
            }
            return;
        }
        let Some(topic) = Topic::of_writer(writer) else {
            return self.rejections.add(Rejection::UnknownEndpoint);
        };
        if !self.hear(now, &context) {
            return;
        }
        let mut received = core::mem::take(&mut self.received);
        self.sedp.for_reader(now, &context, topic, submessage, &mut received);
        for record in received.drain(..) {
            self.take(now, record);
        }
        self.received = received;
    }

    /// A submessage for a built-in writer of ours arrived.
    pub fn to_writer(&mut self, now: Now, context: &Context, writer: EntityId, submessage: &ToWriter) {
        let Some(context) = self.admit(context) else { return };
        let Some(topic) = Topic::of_writer(writer) else {
            return self.rejections.add(Rejection::UnknownEndpoint);
        };
        if self.hear(now, &context) {
            self.sedp.for_writer(now, &context, topic, submessage);
        }
    }

    /// Drops what nobody can have sent, and everything while events are not taken. Addresses are made comparable.
    fn admit(&mut self, context: &Context) -> Option<Context> {
        if self.phase != Phase::Running {
            return None;
        }
        if self.is_congested() {
            self.rejections.add(Rejection::EventsNotTaken);
            return None;
        }
        let from = canonical(context.from);
        let ip = from.ip();
        if ip.is_unspecified()
            || ip.is_multicast()
            || ip == IpAddr::V4(Ipv4Addr::BROADCAST)
            || from.port() == 0
            || context.source.prefix == GuidPrefix::UNKNOWN
        {
            self.rejections.add(Rejection::SourceAddress);
            return None;
        }
        Some(Context { from, ..*context })
    }

    fn spdp(&mut self, now: Now, context: &Context, data: &Data<'_>) {
        match spdp::read(context.source.prefix, data) {
            Ok(Announcement::Here(record)) => {
                // The header of DATA and its payload: no octet is counted twice, whatever a datagram holds.
                let payload = data.payload.map_or(0, |payload| payload.bytes.len());
                let octets = DATA_HEADER_LEN.saturating_add(payload) as u64;
                self.announced(now, context, *record, octets);
            }
            Ok(Announcement::Gone(prefix)) => self.said_goodbye(now, context, prefix),
            Err(reason) => self.rejections.add(reason),
        }
    }

    fn announced(&mut self, now: Now, context: &Context, record: ParticipantData, octets: u64) {
        let (id, tag) = (self.config.domain_id, &self.config.domain_tag);
        if record.domain_id.is_some_and(|other| other != id) || record.domain_tag != *tag {
            return self.rejections.add(Rejection::OtherDomain);
        }
        let prefix = record.prefix;
        let (standing, evicted) = self.ledger.announced(
            now.monotonic,
            context.from,
            context.addressed,
            record,
            octets,
            &self.config.limits,
        );
        if let Some(reason) = evicted {
            self.rejections.add(reason);
        }
        if matches!(standing, Standing::Stranger) {
            return self.announcer.answer(prefix, context.from.ip(), self.config.limits.strangers);
        }
        if self.follow(now, prefix, standing) {
            self.asserted(now.monotonic, prefix, LivelinessKind::Automatic);
        }
    }

    fn said_goodbye(&mut self, now: Now, context: &Context, prefix: GuidPrefix) {
        if self.ledger.stranger_left(prefix, context.from) {
            return;
        }
        match self.ledger.may_leave(prefix, context.from) {
            Ok(true) => self.leaves(now, prefix),
            Ok(false) => {}
            Err(reason) => self.rejections.add(reason),
        }
    }

    /// A participant has said goodbye: its writers that are read stay for a moment, and it with them.
    fn leaves(&mut self, now: Now, prefix: GuidPrefix) {
        if self.farewells.contains(Leaver::Participant(prefix)) {
            return;
        }
        let (read, others): (Vec<Guid>, Vec<Guid>) = self
            .endpoints
            .of(prefix)
            .map(|data| data.guid)
            .partition(|guid| guid.entity_id.is_writer() && self.endpoints.is_read(*guid));
        if read.is_empty() {
            return self.lose(now, prefix, LossReason::Left);
        }
        self.farewells.add(now.monotonic, Leaver::Participant(prefix));
        for guid in others {
            self.part_from(now, Leaver::Endpoint(guid));
        }
    }

    /// Something other than an announcement arrived; false if it does not count.
    fn hear(&mut self, now: Now, context: &Context) -> bool {
        let prefix = context.source.prefix;
        let standing =
            self.ledger.heard(now.monotonic, prefix, context.from, context.addressed, &self.config.limits);
        let counts = self.follow(now, prefix, standing);
        if counts {
            self.asserted(now.monotonic, prefix, LivelinessKind::Automatic);
        }
        counts
    }

    /// Acts on what has become of a participant; false if what it sent does not count.
    fn follow(&mut self, now: Now, prefix: GuidPrefix, standing: Standing) -> bool {
        match standing {
            Standing::Known => {}
            Standing::Validated(data) => {
                self.events.push(Event::ParticipantFound { participant: Arc::clone(&data) });
                self.reroute(now, &data);
                self.announcer.direct(prefix);
            }
            Standing::Changed(data) => {
                self.events.push(Event::ParticipantChanged { participant: Arc::clone(&data) });
                self.reroute(now, &data);
            }
            Standing::Stranger => return false,
            Standing::Refused(reason) => {
                self.rejections.add(reason);
                return false;
            }
        }
        true
    }

    /// Acts on what the built-in readers delivered.
    fn take(&mut self, now: Now, record: Received) {
        match record {
            Received::Endpoint(data, octets) => {
                let id = data.guid.entity_id;
                if id.is_vendor() || id.is_builtin() {
                    return self.rejections.add(Rejection::EndpointKind);
                }
                let limits = self.config.limits;
                // One that comes back begins anew.
                if self.farewells.remove(Leaver::Endpoint(data.guid)) {
                    self.part_from(now, Leaver::Endpoint(data.guid));
                }
                let (endpoints, mut around) = self.split(now.monotonic);
                if let Err(reason) = endpoints.put_remote(*data, octets, &limits, &mut around) {
                    self.rejections.add(reason);
                }
            }
            Received::Gone(guid) if guid.entity_id.is_writer() && self.endpoints.is_read(guid) => {
                self.farewells.add(now.monotonic, Leaver::Endpoint(guid));
            }
            Received::Gone(guid) => self.part_from(now, Leaver::Endpoint(guid)),
            Received::Asserted(prefix, ParticipantMessage::AUTOMATIC) => {
                self.asserted(now.monotonic, prefix, LivelinessKind::Automatic);
            }
            Received::Asserted(prefix, ParticipantMessage::MANUAL) => {
                self.asserted(now.monotonic, prefix, LivelinessKind::ManualByParticipant);
            }
            // A vendor's own kind.
            Received::Asserted(..) => {}
            Received::Bad(reason) => self.rejections.add(reason),
        }
    }
}
