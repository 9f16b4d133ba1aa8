//! What arrives for the built-in endpoints, and what becomes of it.
use alloc::sync::Arc;
use core::net::{IpAddr, Ipv4Addr};

use wire::discovery::{ParticipantData, ParticipantMessage};
use wire::message::Data;
use wire::message::encode::DATA_HEADER_LEN;
use wire::qos::LivelinessKind;
use wire::{EntityId, GuidPrefix, Now};

use super::events::{Event, LossReason};
use super::participants::{Standing, Verdict};
use super::recent::Key;
use super::rejection::Rejection;
use super::remote::RemoteParticipant;
use super::sedp::{Received, Topic};
use super::sources::flows_of;
use super::spdp::{self, Announcement};
use super::validation::Proof;
use super::{Discovery, Phase};
use crate::Payload;
use crate::network;
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
        let topic = Topic::of_writer(writer);
        if topic.is_none() && writer != EntityId::PARTICIPANT_MESSAGE_WRITER {
            return self.rejections.add(Rejection::UnknownEndpoint);
        }
        let prefix = context.source.prefix;
        // Who has moved while we have, too, is reached at none of its addresses until one of us is answered there.
        if topic.is_none() && context.addressed && !self.ledger.is_answered_at(prefix, context.from) {
            let echoes = &mut self.messages.echoes;
            match submessage {
                ToReader::Gap(gap) => echoes.on_gap(prefix, context.from, gap),
                ToReader::Heartbeat(heartbeat) => echoes.on_heartbeat(prefix, context.from, heartbeat),
                _ => {}
            }
        }
        if topic.is_some() && context.addressed {
            let proof = self.ledger.heard_mute(now.monotonic, prefix, context.from, &self.network);
            self.believe(now, prefix, proof);
        }
        if !self.hear(now, &context) {
            if topic.is_some_and(|topic| !topic.is_lookup()) && self.ledger.takes_question(prefix) {
                self.sedp.ask(now, prefix);
            }
            return;
        }
        let mut received = core::mem::take(&mut self.received);
        match (topic, submessage) {
            (Some(topic), _) if topic.is_lookup() => {
                let path = self.metatraffic_path(prefix);
                self.lookup.for_reader(now, &context, topic, submessage, path, &mut received);
            }
            (Some(topic), _) => self.sedp.for_reader(now, &context, topic, submessage, &mut received),
            (None, ToReader::Data(data)) => self.messages.on_data(prefix, data, &mut received),
            (None, ToReader::Heartbeat(heartbeat)) => {
                self.messages.on_heartbeat(now.monotonic, prefix, heartbeat);
            }
            (None, ToReader::Gap(gap)) => self.messages.on_gap(prefix, gap),
            (None, _) => {}
        }
        for record in received.drain(..) {
            self.take(now, record);
        }
        self.received = received;
    }

    /// A submessage for a built-in writer of ours arrived.
    pub fn to_writer(&mut self, now: Now, context: &Context, writer: EntityId, submessage: &ToWriter) {
        let Some(context) = self.admit(context) else { return };
        let topic = Topic::of_writer(writer);
        if topic.is_none() && writer != EntityId::PARTICIPANT_MESSAGE_WRITER {
            return self.rejections.add(Rejection::UnknownEndpoint);
        }
        let prefix = context.source.prefix;
        let at = now.monotonic;
        if let (None, ToWriter::AckNack(acknack)) = (topic, submessage) {
            let mut proof = self.ledger.proved(at, prefix, &acknack.set, context.from);
            if matches!(proof, Proof::Nothing) && context.addressed {
                self.ledger.strangers.answers_oddly(prefix, context.from.ip(), &acknack.set);
                proof = self.ledger.heard_mute(at, prefix, context.from, &self.network);
            }
            self.believe(now, prefix, proof);
        } else if context.addressed {
            let proof = self.ledger.heard_mute(at, prefix, context.from, &self.network);
            self.believe(now, prefix, proof);
        }
        if !self.hear(now, &context) {
            return;
        }
        match (topic, submessage) {
            (Some(topic), _) if topic.is_lookup() => {
                let path = self.metatraffic_path(prefix);
                self.lookup.for_writer(now, &context, topic, submessage, path);
            }
            (Some(topic), _) => self.sedp.for_writer(now, &context, topic, submessage),
            (None, ToWriter::AckNack(acknack)) => self.messages.on_acknack(at, prefix, acknack),
            (None, ToWriter::NackFrag(_)) => {}
        }
    }

    /// Something for an endpoint of the application has come in the name of a participant, from an address that is not known for it:
    /// the participant is asked whether it speaks from elsewhere.
    pub fn doubt(&mut self, now: Now, participant: GuidPrefix) {
        if self.phase == Phase::Running {
            self.ledger.doubt(now.monotonic, participant);
        }
    }

    /// Acts on the answer to a probe.
    fn believe(&mut self, now: Now, prefix: GuidPrefix, proof: Proof) {
        match proof {
            Proof::Nothing => {}
            Proof::Known { learned } => {
                self.messages.on_answer(now.monotonic, prefix);
                if learned && let Some(data) = self.ledger.get(prefix).map(|known| Arc::clone(known.data())) {
                    self.reroute(now, &data);
                }
            }
            Proof::Stranger(key) => self.validate(now, key),
        }
    }

    /// Validates a stranger, in the place of one that was silent if there is no room.
    fn validate(&mut self, now: Now, key: Key) {
        let limits = self.config.limits;
        let data = match self.ledger.validate(now.monotonic, key, &limits) {
            Err(Ok(silent)) => {
                self.lose(now, silent, LossReason::MadeRoom);
                self.ledger.validate(now.monotonic, key, &limits)
            }
            result => result,
        };
        match data {
            Ok(Some(participant)) => {
                let prefix = participant.prefix;
                self.events.push(Event::ParticipantFound { participant: Arc::clone(&participant) });
                self.begin_with(now, &participant);
                self.asserted(now.monotonic, prefix, LivelinessKind::Automatic);
            }
            Ok(None) | Err(Ok(_)) => {}
            Err(Err(reason)) => self.rejections.add(reason),
        }
    }

    /// Acts on what has become of a participant with time.
    pub(super) fn judge(&mut self, now: Now, prefix: GuidPrefix, verdict: Verdict) {
        match verdict {
            Verdict::Silent => self.lose(now, prefix, LossReason::LeaseExpired),
            Verdict::Left => self.lose(now, prefix, LossReason::Left),
            Verdict::Replaced(key) => {
                let data = self.ledger.replace(now.monotonic, key);
                if let Some(participant) = data {
                    self.events.push(Event::ParticipantChanged { participant: Arc::clone(&participant) });
                    self.begin_with(now, &participant);
                }
            }
        }
    }

    /// A participant is validated, or another one of its name took its place.
    fn begin_with(&mut self, now: Now, participant: &ParticipantData) {
        let prefix = participant.prefix;
        if let Some(source) = self.ledger.get(prefix).and_then(RemoteParticipant::source) {
            self.messages.numbers.validated(prefix, source.ip());
        }
        self.reroute(now, participant);
        self.messages.on_answer(now.monotonic, prefix);
        self.announcer.direct(prefix);
    }

    /// Drops datagrams that no participant can have sent, and everything while events are not taken. Addresses are made comparable.
    fn admit(&mut self, context: &Context) -> Option<Context> {
        if self.phase != Phase::Running {
            return None;
        }
        if self.is_congested() {
            self.rejections.add(Rejection::EventsNotTaken);
            return None;
        }
        let from = network::source(context.from);
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
                // The header of DATA and its payload: no byte is counted twice, whatever a datagram holds.
                let payload = data.payload.map_or(0, |payload| payload.bytes.len());
                let bytes = DATA_HEADER_LEN.saturating_add(payload) as u64;
                self.announced(now, context, *record, bytes);
            }
            Ok(Announcement::Gone(prefix)) => self.said_goodbye(now, context, prefix),
            Err(reason) => self.rejections.add(reason),
        }
    }

    fn announced(&mut self, now: Now, context: &Context, mut record: ParticipantData, bytes: u64) {
        let (id, tag) = (self.config.domain_id, &self.config.domain_tag);
        if record.domain_id.is_some_and(|other| other != id) || record.domain_tag != *tag {
            return self.rejections.add(Rejection::OtherDomain);
        }
        let (prefix, summary) = (record.prefix, record.endpoints.take());
        let (standing, evicted) = self.ledger.announced(
            now.monotonic,
            context.from,
            context.addressed,
            record,
            bytes,
            &self.config.limits,
        );
        if let Some(reason) = evicted {
            self.rejections.add(reason);
        }
        if let Standing::Stranger(key) = standing {
            let stranger = self.ledger.strangers.get_mut(key);
            if stranger.is_some_and(|stranger| stranger.takes_answer(now.monotonic)) {
                self.announcer.answer(key, self.config.limits.strangers);
            }
            return;
        }
        if self.follow(now, standing) {
            self.asserted(now.monotonic, prefix, LivelinessKind::Automatic);
            self.sedp.announced(now, prefix, summary);
        }
    }

    fn said_goodbye(&mut self, now: Now, context: &Context, prefix: GuidPrefix) {
        if let Err(reason) = self.ledger.said_goodbye(now.monotonic, prefix, context.from) {
            self.rejections.add(reason);
        }
    }

    /// Something other than an announcement arrived; false if it does not count.
    fn hear(&mut self, now: Now, context: &Context) -> bool {
        let prefix = context.source.prefix;
        let standing = self.ledger.heard(now.monotonic, prefix, context.from, context.addressed);
        let counts = self.follow(now, standing);
        if counts {
            self.asserted(now.monotonic, prefix, LivelinessKind::Automatic);
        }
        counts
    }

    /// Acts on what has become of a participant; false if what it sent does not count.
    fn follow(&mut self, now: Now, standing: Standing) -> bool {
        match standing {
            Standing::Known => {}
            Standing::Changed(data) => {
                self.events.push(Event::ParticipantChanged { participant: Arc::clone(&data) });
                self.reroute(now, &data);
            }
            Standing::Stranger(_) => return false,
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
            Received::Endpoint(data, bytes) => {
                let id = data.guid.entity_id;
                if id.is_vendor() || id.is_builtin() {
                    self.sedp.refused(data.guid);
                    return self.rejections.add(Rejection::EndpointKind);
                }
                let limits = self.config.limits;
                // One that comes back begins anew.
                if self.farewells.remove(data.guid) {
                    self.part_from(now, data.guid);
                }
                let (guid, has_flow) = (data.guid, flows_of(&data).next().is_some());
                let (endpoints, mut around) = self.split(now.monotonic);
                if let Err(reason) = endpoints.put_remote(*data, bytes, &limits, &mut around) {
                    self.rejections.add(reason);
                    self.sedp.refused(guid);
                }
                if has_flow {
                    self.tell_sources(guid.prefix);
                }
            }
            Received::Gone(guid) if guid.entity_id.is_writer() && self.endpoints.is_read(guid) => {
                self.farewells.add(now.monotonic, guid);
            }
            Received::Gone(guid) => self.part_from(now, guid),
            Received::Asserted(prefix, ParticipantMessage::AUTOMATIC) => {
                self.asserted(now.monotonic, prefix, LivelinessKind::Automatic);
            }
            Received::Asserted(prefix, ParticipantMessage::MANUAL) => {
                self.asserted(now.monotonic, prefix, LivelinessKind::ManualByParticipant);
            }
            // A vendor's own kind.
            Received::Asserted(..) => {}
            Received::TypeRequest(from, request) => {
                let reply = self.types.on_request(now.monotonic, self.config.prefix, from, &request);
                if let Some(reply) = reply {
                    let path = self.metatraffic_path(from);
                    self.lookup.write(now, Topic::TypeReplies, from, path, &reply);
                }
            }
            Received::TypeReply(from, reply) => {
                self.types.on_reply(now.monotonic, from, &reply);
                self.compare_again(now);
            }
            Received::Bad(reason) => self.rejections.add(reason),
        }
    }
}
