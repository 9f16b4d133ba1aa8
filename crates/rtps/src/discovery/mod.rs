//! Discovery: who is in the domain, what they write and read, and what of that matches ours
//! (RTPS 2.5, 8.5 for SPDP and SEDP; 8.4.13 for liveliness messages).
//!
//! [`Discovery`] only dispatches; each file beside it holds one concern. What it finds are [`Event`]s: its owner
//! matches and unmatches readers and writers as they say.
//!
//! A participant's lease is kept up by its announcements and by everything else that its built-in endpoints send from
//! one of its sources. A goodbye counts once the participant answers no more where it was reached.
mod check;
mod config;
mod echoes;
mod endpoints;
mod events;
mod farewell;
mod ignored;
mod input;
mod liveliness;
mod lookup;
mod matching;
mod message_reader;
mod messages;
mod numbers;
mod participants;
mod partition;
mod probe;
mod readings;
mod recent;
mod rejection;
mod remote;
mod rested;
mod sedp;
mod sip_hash;
mod sources;
mod spdp;
mod strangers;
mod types;
mod validation;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;
use core::num::NonZeroU32;

use wire::discovery::{EndpointData, ParticipantData, ParticipantMessage};
use wire::qos::LivelinessKind;
use wire::{EntityId, Guid, GuidPrefix, Instant, Locator, Now, ProtocolVersion, VendorId};

use crate::Payload;
use crate::network::Network;
use crate::path::Path;
use crate::transmit::Transmit;
use crate::writer::WriteError;
use wire::sorted::SortedMap;

pub use config::{ConfigError, DiscoveryConfig, Limits};
pub use events::{Event, LossReason};
pub use ignored::Ignore;
pub use matching::{Mismatch, PolicyId, compare, compare_typed};
pub use partition::matches;
pub use rejection::Rejection;
pub use remote::RemoteParticipant;
pub use types::{NamesAlone, TypeVerdict, Types};

use endpoints::{Endpoints, Surroundings};
use events::Events;
use farewell::Farewells;
use liveliness::{Assertions, Leases};
use lookup::Lookup;
use messages::Messages;
use participants::Ledger;
use rejection::Rejections;
use sedp::{Received, Sedp, Topic};
use spdp::{Announcer, Around};

/// Why a local endpoint was not announced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnnounceError {
    /// The guid is not that of a user endpoint of our participant.
    Guid(Guid),
    /// There is no room for the announcement.
    Write(WriteError),
}

impl fmt::Display for AnnounceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guid(guid) => write!(f, "{guid} is no user endpoint of this participant"),
            Self::Write(error) => write!(f, "announcement of an endpoint: {error}"),
        }
    }
}

impl core::error::Error for AnnounceError {}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Running,
    /// Goodbyes are on their way out.
    Leaving,
    Gone,
}

/// Discovery of one participant, without input or output. See the module.
#[derive(Debug)]
pub struct Discovery<P> {
    config: DiscoveryConfig,
    network: Network,
    phase: Phase,
    announcer: Announcer,
    sedp: Sedp<P>,
    messages: Messages,
    lookup: Lookup<P>,
    types: Box<dyn Types>,
    ledger: Ledger,
    endpoints: Endpoints,
    farewells: Farewells,
    leases: Leases,
    automatic: Assertions,
    manual: Assertions,
    events: Events,
    rejections: Rejections,
    /// The shared memory that leads to a participant.
    links: SortedMap<GuidPrefix, NonZeroU32>,
    /// From where participants speak, as was told last.
    told: SortedMap<GuidPrefix, Arc<[SocketAddr]>>,
    /// Reused between calls.
    received: Vec<Received>,
}

impl<P: Payload> Discovery<P> {
    /// Starts with the first announcement due at once.
    ///
    /// # Errors
    /// A value of the configuration is outside of its range.
    pub fn new(config: DiscoveryConfig, network: Network) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            announcer: Announcer::new(&participant_data(&config), &config, &network),
            sedp: Sedp::new(&config),
            messages: Messages::new(config.prefix, config.class, config.seed),
            lookup: Lookup::new(&config),
            types: Box::new(NamesAlone),
            endpoints: Endpoints::new(config.prefix),
            network,
            phase: Phase::Running,
            ledger: Ledger::default(),
            farewells: Farewells::default(),
            leases: Leases::default(),
            automatic: Assertions::new(LivelinessKind::Automatic),
            manual: Assertions::new(LivelinessKind::ManualByParticipant),
            events: Events::default(),
            rejections: Rejections::default(),
            links: SortedMap::new(),
            told: SortedMap::new(),
            received: Vec::new(),
            config,
        })
    }

    /// Compares types so from now on; before any endpoint is known.
    pub fn set_types(&mut self, types: Box<dyn Types>) {
        self.types = types;
    }

    /// Our GUID prefix.
    pub const fn prefix(&self) -> GuidPrefix {
        self.config.prefix
    }

    /// The configuration; addresses are those set last.
    pub const fn config(&self) -> &DiscoveryConfig {
        &self.config
    }

    /// Announces and matches a local writer or reader, or what has changed of it.
    ///
    /// # Errors
    /// It is not an endpoint of ours, or there is no room for its announcement; nothing is changed then.
    pub fn put_endpoint(&mut self, now: Now, data: EndpointData) -> Result<(), AnnounceError> {
        let id = data.guid.entity_id;
        let is_endpoint = id.is_writer() || id.is_reader();
        if data.guid.prefix != self.config.prefix || !is_endpoint || id.is_builtin() || id.is_vendor() {
            return Err(AnnounceError::Guid(data.guid));
        }
        self.sedp.announce(now, &data).map_err(AnnounceError::Write)?;
        let (endpoints, mut around) = self.split(now.monotonic);
        endpoints.put_local(data, &mut around);
        self.set_assertions(now.monotonic);
        Ok(())
    }

    /// Unmatches a local endpoint and tells all participants that it is gone; false if it is not known.
    pub fn remove_endpoint(&mut self, now: Now, id: EntityId) -> bool {
        let guid = Guid::new(self.config.prefix, id);
        let Some(data) = self.endpoints.get(guid).cloned() else { return false };
        let (endpoints, mut around) = self.split(now.monotonic);
        endpoints.remove(guid, &mut around);
        self.sedp.dispose(now, &data);
        self.set_assertions(now.monotonic);
        true
    }

    /// Takes over the interfaces and our own addresses, as they are now, and announces them at once. Paths to peers are
    /// chosen anew.
    pub fn set_network(
        &mut self,
        now: Now,
        network: Network,
        metatraffic_unicast: Vec<Locator>,
        default_unicast: Vec<Locator>,
    ) {
        if self.phase != Phase::Running {
            return;
        }
        self.network = network;
        self.config.metatraffic_unicast = metatraffic_unicast;
        self.config.default_unicast = default_unicast;
        self.announcer.change(&participant_data(&self.config), &self.network);
        self.ledger.reach_anew(now.monotonic);
        let participants: Vec<Arc<ParticipantData>> =
            self.ledger.iter().map(|participant| Arc::clone(participant.data())).collect();
        for data in participants {
            self.reroute(now, &data);
        }
    }

    /// Shared memory leads to a participant from now on, or no longer: the paths to its endpoints say so. Events tell of those that
    /// are matched.
    pub fn set_link(&mut self, now: Now, participant: GuidPrefix, link: Option<NonZeroU32>) {
        let before = match link {
            Some(link) => self.links.insert(participant, link),
            None => self.links.remove(&participant),
        };
        if before != link {
            let (endpoints, mut around) = self.split(now.monotonic);
            endpoints.reroute(participant, &mut around);
        }
    }

    /// Announces other USER_DATA of the participant.
    pub fn set_user_data(&mut self, user_data: &[u8]) {
        if self.phase == Phase::Running && self.config.user_data != user_data {
            self.config.user_data = user_data.to_vec();
            self.announcer.change(&participant_data(&self.config), &self.network);
        }
    }

    /// Ignores a participant, an endpoint or a topic for good: its matches end, and it never matches again. It goes on to be discovered,
    /// and is not told: a reliable writer that is ignored waits in vain for an acknowledgement.
    pub fn ignore(&mut self, now: Now, what: Ignore) {
        let (endpoints, mut around) = self.split(now.monotonic);
        endpoints.ignore(what, &mut around);
    }

    /// True for an endpoint that is ignored: on its own, with its participant, or with its topic.
    pub fn is_ignored(&self, endpoint: &EndpointData) -> bool {
        self.endpoints.is_ignored(endpoint)
    }

    /// True for a participant that is ignored.
    pub fn is_participant_ignored(&self, prefix: GuidPrefix) -> bool {
        self.endpoints.is_participant_ignored(prefix)
    }

    /// Asserts the liveliness of our MANUAL_BY_PARTICIPANT writers.
    pub fn assert_liveliness(&mut self, now: Now) {
        if self.phase == Phase::Running {
            self.messages.assert_liveliness(now.monotonic, ParticipantMessage::MANUAL);
            self.asserted(now.monotonic, self.config.prefix, LivelinessKind::ManualByParticipant);
        }
    }

    /// A writer, remote or our own, sent data or a HEARTBEAT with the liveliness flag.
    pub fn writer_asserted(&mut self, now: Now, writer: Guid) {
        if self.manual.is_needed()
            && writer.prefix == self.config.prefix
            && let Some(data) = self.endpoints.get(writer)
            && data.qos.liveliness.kind == LivelinessKind::ManualByParticipant
        {
            // Its own readers see the data; those of the other writers have to be told.
            self.manual.want();
        }
        let again = self.leases.writer_asserted(now.monotonic, writer);
        self.heard_again(again);
    }

    /// Leaves the domain: the next polls send goodbyes, then nothing more is sent and nothing is received.
    pub fn shutdown(&mut self, now: Now) {
        if self.phase != Phase::Running {
            return;
        }
        let ids: Vec<EntityId> =
            self.endpoints.of(self.config.prefix).map(|data| data.guid.entity_id).collect();
        for id in ids {
            self.remove_endpoint(now, id);
        }
        self.announcer.say_goodbye(&participant_data(&self.config));
        self.phase = Phase::Leaving;
    }

    /// True after `shutdown`, once every goodbye has been polled.
    pub fn is_gone(&self) -> bool {
        self.phase == Phase::Gone
    }

    /// Does what is due at `now` and fills `out` with the next datagram; false if there is none. To be called until it is false.
    pub fn poll_transmit(&mut self, now: Now, out: &mut Transmit<P>) -> bool {
        match self.phase {
            Phase::Gone => return false,
            Phase::Running => self.do_what_is_due(now),
            Phase::Leaving if self.sedp.poll_transmit(now, out) => return true,
            Phase::Leaving => {}
        }
        let is_running = self.phase == Phase::Running;
        // Answers to probes first: what follows them counts only then.
        if is_running
            && (self.poll_echo(now, out)
                || self.messages.poll_transmit(now, out)
                || self.poll_probe(now, out))
        {
            return true;
        }
        if is_running && self.announcer.next_timeout() <= now.monotonic {
            self.announcer.summarise(self.sedp.summary());
        }
        let mut around = Around {
            config: &self.config,
            network: &self.network,
            ledger: &mut self.ledger,
            messages: &mut self.messages,
            invitation: || self.sedp.invitation(),
        };
        if self.announcer.poll(now, &mut around, out) {
            return true;
        }
        if self.phase == Phase::Leaving {
            self.phase = Phase::Gone;
            return false;
        }
        self.lookup.poll_transmit(now, out) || self.sedp.poll_transmit(now, out)
    }

    /// When `poll_transmit` has to be called at the latest.
    pub fn poll_timeout(&self) -> Instant {
        match self.phase {
            Phase::Gone => return Instant::NEVER,
            Phase::Leaving => return Instant::START,
            Phase::Running => {}
        }
        let sending = self.announcer.next_timeout().min(self.sedp.poll_timeout());
        let sending = sending.min(self.messages.poll_timeout()).min(self.lookup.poll_timeout());
        let sending = sending.min(self.automatic.next_timeout()).min(self.manual.next_timeout());
        if self.is_congested() {
            return sending;
        }
        sending
            .min(self.ledger.next_timeout())
            .min(self.farewells.next_timeout())
            .min(self.leases.next_timeout())
            .min(self.rejections.next_timeout())
            .min(self.types.poll_timeout())
    }

    /// The next event, in the order in which they happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// The validated participants.
    pub fn participants(&self) -> impl Iterator<Item = &RemoteParticipant> {
        self.ledger.iter()
    }

    /// A validated participant.
    pub fn participant(&self, prefix: GuidPrefix) -> Option<&RemoteParticipant> {
        self.ledger.get(prefix)
    }

    /// Those who announced themselves and have not proved yet that they hear us, each with the address that it was heard from.
    pub fn strangers(&self) -> impl Iterator<Item = (SocketAddr, &ParticipantData)> {
        self.ledger.strangers.iter()
    }

    /// How many participants are validated, and how many announced themselves but are not.
    pub fn participant_counts(&self) -> (usize, usize) {
        (self.ledger.validated_count(), self.ledger.strangers.len())
    }

    /// All known endpoints, local ones too.
    pub fn endpoints(&self) -> impl Iterator<Item = &Arc<EndpointData>> {
        self.endpoints.iter()
    }

    /// Grows with every endpoint, local or remote, that is new, changed or gone: of those that match nothing no event tells.
    pub const fn endpoints_revision(&self) -> u64 {
        self.endpoints.revision()
    }

    /// A known endpoint, local or remote.
    pub fn endpoint(&self, guid: Guid) -> Option<&Arc<EndpointData>> {
        self.endpoints.get(guid)
    }

    /// True if a participant has acknowledged what was announced of a local endpoint, so that it can tell its own endpoints of it. Ours knows
    /// it at once.
    pub fn is_announced_to(&self, local: EntityId, participant: GuidPrefix) -> bool {
        participant == self.config.prefix || self.sedp.is_announced_to(local, participant)
    }

    /// What a local endpoint is matched with.
    pub fn matches(&self, local: EntityId) -> impl Iterator<Item = Guid> + '_ {
        self.endpoints.matches(local)
    }

    /// Every local endpoint and one of the same topic that it does not match, with the reasons.
    pub fn mismatches(&self) -> impl Iterator<Item = (EntityId, &Arc<EndpointData>, Vec<Mismatch>)> + '_ {
        self.endpoints.mismatches()
    }

    /// False if the liveliness lease of a matched writer has ended.
    pub fn is_alive(&self, writer: Guid) -> bool {
        self.leases.is_alive(writer)
    }

    /// How often something received was dropped for this reason.
    pub fn rejected(&self, reason: Rejection) -> u64 {
        self.rejections.count(reason)
    }

    /// Bytes that the built-in writers and readers hold.
    pub fn held_bytes(&self) -> usize {
        self.sedp.held_bytes() + self.lookup.held_bytes()
    }

    fn is_congested(&self) -> bool {
        self.events.len() >= self.config.limits.events
    }

    fn lose(&mut self, now: Now, participant: GuidPrefix, reason: LossReason) {
        let (endpoints, mut around) = self.split(now.monotonic);
        around.may_return = reason != LossReason::Left;
        endpoints.remove_participant(participant, &mut around);
        self.farewells.remove_participant(participant);
        self.sedp.unmatch_participant(now, participant, reason);
        self.messages.unmatch_participant(participant);
        self.lookup.forget(now, participant);
        self.types.forget(participant);
        self.told.remove(&participant);
        if let Some(known) = self.ledger.remove(participant) {
            self.messages.numbers.lost(now.monotonic, participant, known.reached.iter().map(SocketAddr::ip));
        }
        self.links.remove(&participant);
        self.events.push(Event::ParticipantLost { participant, reason });
    }

    /// Asks about types what is to be asked.
    fn ask_about_types(&mut self, now: Now) {
        while let Some((to, request)) = self.types.poll_request(now.monotonic, self.config.prefix) {
            let path = self.metatraffic_path(to);
            self.lookup.write(now, Topic::TypeRequests, to, path, &request);
        }
        self.compare_again(now);
    }

    /// Compares the pairs again whose types were not known, if more of them are known.
    fn compare_again(&mut self, now: Now) {
        if self.types.take_news() {
            let (endpoints, mut around) = self.split(now.monotonic);
            endpoints.compare_again(&mut around);
        }
    }

    fn metatraffic_path(&self, participant: GuidPrefix) -> Option<Path> {
        self.ledger.get(participant).and_then(|known| known.metatraffic_path(&self.network))
    }

    fn part_from(&mut self, now: Now, endpoint: Guid) {
        let (endpoints, mut around) = self.split(now.monotonic);
        endpoints.remove(endpoint, &mut around);
    }

    fn asserted(&mut self, now: Instant, prefix: GuidPrefix, kind: LivelinessKind) {
        let again = self.leases.participant_asserted(now, prefix, kind);
        self.heard_again(again);
    }

    fn heard_again(&mut self, writers: Vec<Guid>) {
        for writer in writers {
            self.endpoints.report_liveliness(writer, true, &mut self.events);
        }
    }

    fn do_what_is_due(&mut self, now: Now) {
        if self.automatic.is_due(now.monotonic) {
            self.messages.assert_liveliness(now.monotonic, ParticipantMessage::AUTOMATIC);
        }
        if self.manual.is_due(now.monotonic) {
            self.messages.assert_liveliness(now.monotonic, ParticipantMessage::MANUAL);
        }
        self.ask_about_types(now);
        while !self.is_congested() {
            if let Some((participant, verdict)) = self.ledger.look(now.monotonic, &self.messages.numbers) {
                self.judge(now, participant, verdict);
            } else if let Some(leaver) = self.farewells.due(now.monotonic) {
                self.part_from(now, leaver);
            } else if let Some(writer) = self.leases.expired(now.monotonic) {
                self.endpoints.report_liveliness(writer, false, &mut self.events);
            } else {
                self.rejections.report(now.monotonic, &mut self.events);
                return;
            }
        }
    }

    fn set_assertions(&mut self, now: Instant) {
        for assertions in [&mut self.automatic, &mut self.manual] {
            let own = self.endpoints.of(self.config.prefix);
            let writers = own.filter(|data| data.guid.entity_id.is_writer());
            assertions.set(now, writers.map(|data| data.qos.liveliness));
        }
    }

    fn split(&mut self, now: Instant) -> (&mut Endpoints, Surroundings<'_>) {
        let around = Surroundings {
            now,
            ledger: &self.ledger,
            network: &self.network,
            links: &self.links,
            multicast_data: self.config.multicast_data,
            types: &mut *self.types,
            leases: &mut self.leases,
            events: &mut self.events,
            may_return: false,
        };
        (&mut self.endpoints, around)
    }
}

/// What we announce.
fn participant_data(config: &DiscoveryConfig) -> ParticipantData {
    ParticipantData {
        version: ProtocolVersion::OURS,
        vendor: VendorId::PUNCTUAL,
        builtin_endpoints: if config.type_lookup {
            sedp::builtin_endpoints() | lookup::builtin_endpoints()
        } else {
            sedp::builtin_endpoints()
        },
        metatraffic_unicast: config.metatraffic_unicast.clone(),
        metatraffic_multicast: config.metatraffic_multicast.clone(),
        default_unicast: config.default_unicast.clone(),
        default_multicast: config.default_multicast.clone(),
        lease_duration: config.lease_duration,
        domain_id: Some(config.domain_id),
        domain_tag: config.domain_tag.clone(),
        entity_name: config.entity_name.clone(),
        user_data: config.user_data.clone(),
        shared_memory: config.shared_memory,
        sending_ports: config.sending_ports,
        ..ParticipantData::new(config.prefix)
    }
}
