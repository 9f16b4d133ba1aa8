//! Local and remote endpoints, and which of them are matched.
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use wire::admission::is_control;
use wire::discovery::EndpointData;
use wire::qos::LivelinessKind;
use wire::{EntityId, Guid, GuidPrefix, Instant, VendorId};

use super::config::Limits;
use super::events::{Event, Events};
use super::ignored::{Ignore, Ignored};
use super::liveliness::Leases;
use super::lookup;
use super::matching::{Mismatch, compare_typed};
use super::participants::Ledger;
use super::rejection::Rejection;
use super::types::{TypeVerdict, Types};
use crate::network::Network;
use crate::path::Path;
use wire::sorted::{SortedMap, SortedSet};

/// What matching needs of the rest of discovery.
pub(super) struct Surroundings<'a> {
    pub(super) now: Instant,
    pub(super) ledger: &'a Ledger,
    pub(super) network: &'a Network,
    pub(super) links: &'a SortedMap<GuidPrefix, NonZeroU32>,
    pub(super) multicast_data: bool,
    pub(super) types: &'a mut dyn Types,
    pub(super) leases: &'a mut Leases,
    pub(super) events: &'a mut Events,
    /// Of a writer that is unmatched now: [`Event::WriterUnmatched`].
    pub(super) may_return: bool,
}

/// How an endpoint is reached.
struct Way {
    paths: Vec<Path>,
    direct: Option<Path>,
}

#[derive(Debug)]
struct Entry {
    data: Arc<EndpointData>,
    bytes: usize,
}

/// The endpoints of one topic.
#[derive(Debug, Default)]
struct Topic {
    local: SortedSet<EntityId>,
    all: SortedSet<Guid>,
}

/// What the remote endpoints of one participant amount to.
#[derive(Debug, Default)]
struct Usage {
    endpoints: usize,
    bytes: usize,
}

#[derive(Debug)]
pub(super) struct Endpoints {
    prefix: GuidPrefix,
    /// Local and remote ones.
    all: SortedMap<Guid, Entry>,
    /// Grows with every change of `all`.
    revision: u64,
    topics: SortedMap<String, Topic>,
    usage: SortedMap<GuidPrefix, Usage>,
    /// What the remote endpoints of all participants together amount to.
    used: Usage,
    /// A local endpoint and its matched counterpart; if that is local too, the pair is here both ways.
    matched: SortedSet<(EntityId, Guid)>,
    /// A local endpoint and one of the same topic that it does not match, with what is said of their types.
    unmatched: SortedMap<(EntityId, Guid), TypeVerdict>,
    /// A local endpoint and one that it matches if their types do, which is not known yet.
    pending: SortedSet<(EntityId, Guid)>,
    ignored: Ignored,
}

impl Endpoints {
    pub(super) fn new(prefix: GuidPrefix) -> Self {
        Self {
            prefix,
            all: SortedMap::new(),
            revision: 0,
            topics: SortedMap::new(),
            usage: SortedMap::new(),
            used: Usage::default(),
            matched: SortedSet::new(),
            unmatched: SortedMap::new(),
            pending: SortedSet::new(),
            ignored: Ignored::default(),
        }
    }

    pub(super) fn get(&self, guid: Guid) -> Option<&Arc<EndpointData>> {
        self.all.get(&guid).map(|entry| &entry.data)
    }

    /// Grows with every endpoint that is new, changed or gone.
    pub(super) const fn revision(&self) -> u64 {
        self.revision
    }

    /// The endpoints of one participant; of ours the local ones.
    pub(super) fn of(&self, prefix: GuidPrefix) -> impl Iterator<Item = &Arc<EndpointData>> {
        let first = Guid::new(prefix, EntityId([0; 4]));
        let last = Guid::new(prefix, EntityId([0xff; 4]));
        self.all.range(first..=last).map(|(_, entry)| &entry.data)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<EndpointData>> {
        self.all.values().map(|entry| &entry.data)
    }

    pub(super) fn is_matched(&self, local: EntityId, other: Guid) -> bool {
        self.matched.contains(&(local, other))
    }

    /// True for a writer that some local reader is matched with.
    pub(super) fn is_read(&self, writer: Guid) -> bool {
        let topic = self.get(writer).and_then(|data| self.topics.get(&data.topic_name));
        topic.is_some_and(|topic| topic.local.iter().any(|local| self.is_matched(*local, writer)))
    }

    /// What a local endpoint is matched with.
    pub(super) fn matches(&self, local: EntityId) -> impl Iterator<Item = Guid> + '_ {
        let first = (local, Guid::UNKNOWN);
        let last = (local, Guid::from_bytes([0xff; 16]));
        self.matched.range(first..=last).map(|(_, other)| *other)
    }

    /// Every local endpoint and one of the same topic that it does not match, with the reasons.
    pub(super) fn mismatches(
        &self,
    ) -> impl Iterator<Item = (EntityId, &Arc<EndpointData>, Vec<Mismatch>)> + '_ {
        self.unmatched.iter().filter_map(|((local, other), types)| {
            let own = self.get(Guid::new(self.prefix, *local))?;
            let other = self.get(*other)?;
            let (writer, reader) = pair(own, other);
            Some((*local, other, compare_typed(writer, reader, types).err()?))
        })
    }

    /// Ignores something from now on, and unmatches what is matched with it. Peers are not told.
    pub(super) fn ignore(&mut self, what: Ignore, around: &mut Surroundings<'_>) {
        self.ignored.add(what);
        let pairs: Vec<(EntityId, Guid)> =
            self.matched.iter().chain(self.unmatched.keys()).chain(self.pending.iter()).copied().collect();
        for (local, other) in pairs {
            let own = self.get(Guid::new(self.prefix, local));
            let is_ignored =
                |data: Option<&Arc<EndpointData>>| data.is_some_and(|data| self.is_ignored(data));
            if is_ignored(own) || is_ignored(self.get(other)) {
                self.unmatch(local, other, around);
            }
        }
        self.revision = self.revision.wrapping_add(1);
    }

    /// True if the application wants to know nothing of an endpoint.
    pub(super) fn is_ignored(&self, endpoint: &EndpointData) -> bool {
        self.ignored.has(self.prefix, endpoint)
    }

    /// True if the application wants to know nothing of a participant.
    pub(super) fn is_participant_ignored(&self, prefix: GuidPrefix) -> bool {
        self.ignored.has_participant(prefix)
    }

    /// Takes a local endpoint, new or changed, and matches it.
    pub(super) fn put_local(&mut self, data: EndpointData, around: &mut Surroundings<'_>) {
        let (guid, data) = (data.guid, Arc::new(data));
        self.leave_topic_if_other(&data, around);
        let topic = self.topics.get_or_insert_with(data.topic_name.clone(), Topic::default);
        topic.local.insert(guid.entity_id);
        topic.all.insert(guid);
        let others: Vec<Guid> = topic.all.iter().copied().filter(|other| *other != guid).collect();
        self.all.insert(guid, Entry { data, bytes: 0 });
        self.revision = self.revision.wrapping_add(1);
        for other in others {
            self.evaluate(guid.entity_id, other, around);
            if other.prefix == self.prefix {
                self.evaluate(other.entity_id, guid, around);
            }
        }
    }

    /// Takes a remote endpoint, new or changed, whose record has `bytes` bytes, and matches it.
    pub(super) fn put_remote(
        &mut self,
        data: EndpointData,
        bytes: usize,
        limits: &Limits,
        around: &mut Surroundings<'_>,
    ) -> Result<(), Rejection> {
        let guid = data.guid;
        let before = self.all.get(&guid);
        if before.is_some_and(|before| *before.data == data) {
            return Ok(());
        }
        let (fewer, less) = before.map_or((0, 0), |before| (1, before.bytes));
        let usage = self.usage.get_or_insert_with(guid.prefix, Usage::default);
        let endpoints = usage.endpoints.saturating_sub(fewer).saturating_add(1);
        let sum = usage.bytes.saturating_sub(less).saturating_add(bytes);
        if endpoints > limits.endpoints || sum > limits.endpoint_octets {
            return Err(Rejection::EndpointLimit);
        }
        let all = Usage {
            endpoints: self.used.endpoints.saturating_sub(fewer).saturating_add(1),
            bytes: self.used.bytes.saturating_sub(less).saturating_add(bytes),
        };
        if all.endpoints > limits.all_endpoints || all.bytes > limits.all_endpoint_octets {
            return Err(Rejection::MemoryLimit);
        }
        (*usage, self.used) = (Usage { endpoints, bytes: sum }, all);
        let data = Arc::new(data);
        self.leave_topic_if_other(&data, around);
        let topic = self.topics.get_or_insert_with(data.topic_name.clone(), Topic::default);
        topic.all.insert(guid);
        let locals: Vec<EntityId> = topic.local.iter().copied().collect();
        self.all.insert(guid, Entry { data, bytes });
        self.revision = self.revision.wrapping_add(1);
        for local in locals {
            self.evaluate(local, guid, around);
        }
        Ok(())
    }

    /// Forgets an endpoint, local or remote; false if it is not known.
    pub(super) fn remove(&mut self, guid: Guid, around: &mut Surroundings<'_>) -> bool {
        let Some(entry) = self.all.get(&guid) else { return false };
        let name = entry.data.topic_name.clone();
        self.leave_topic(guid, &name, around);
        let Some(entry) = self.all.remove(&guid) else { return false };
        self.revision = self.revision.wrapping_add(1);
        if guid.prefix != self.prefix
            && let Some(usage) = self.usage.get_mut(&guid.prefix)
        {
            usage.endpoints = usage.endpoints.saturating_sub(1);
            usage.bytes = usage.bytes.saturating_sub(entry.bytes);
            self.used.endpoints = self.used.endpoints.saturating_sub(1);
            self.used.bytes = self.used.bytes.saturating_sub(entry.bytes);
            if usage.endpoints == 0 {
                self.usage.remove(&guid.prefix);
            }
        }
        true
    }

    pub(super) fn remove_participant(&mut self, prefix: GuidPrefix, around: &mut Surroundings<'_>) {
        let guids: Vec<Guid> = self.of(prefix).map(|data| data.guid).collect();
        for guid in guids {
            self.remove(guid, around);
        }
        self.usage.remove(&prefix);
    }

    /// The paths to the endpoints of a participant may have changed.
    pub(super) fn reroute(&self, prefix: GuidPrefix, around: &mut Surroundings<'_>) {
        for data in self.of(prefix) {
            let Some(topic) = self.topics.get(&data.topic_name) else { continue };
            for local in topic.local.iter() {
                if self.is_matched(*local, data.guid) {
                    around.announce_match(*local, data, self.prefix);
                }
            }
        }
    }

    /// Tells the readers that are matched with a writer whether it is alive.
    pub(super) fn report_liveliness(&self, writer: Guid, alive: bool, events: &mut Events) {
        let Some(topic) = self.get(writer).and_then(|data| self.topics.get(&data.topic_name)) else { return };
        for reader in topic.local.iter().filter(|local| self.is_matched(**local, writer)) {
            events.push(Event::LivelinessChanged { reader: *reader, writer, alive });
        }
    }

    fn leave_topic_if_other(&mut self, data: &EndpointData, around: &mut Surroundings<'_>) {
        let before = self.get(data.guid).map(|before| &before.topic_name);
        if let Some(name) = before.filter(|name| **name != data.topic_name).cloned() {
            self.leave_topic(data.guid, &name, around);
        }
    }

    fn leave_topic(&mut self, guid: Guid, name: &str, around: &mut Surroundings<'_>) {
        let Some(topic) = self.topics.get(name) else { return };
        let mut pairs: Vec<(EntityId, Guid)> = topic.local.iter().map(|local| (*local, guid)).collect();
        if guid.prefix == self.prefix {
            pairs.extend(topic.all.iter().map(|other| (guid.entity_id, *other)));
        }
        for (local, other) in pairs {
            self.unmatch(local, other, around);
        }
        let Some(topic) = self.topics.get_mut(name) else { return };
        topic.all.remove(&guid);
        if guid.prefix == self.prefix {
            topic.local.remove(&guid.entity_id);
        }
        if topic.all.is_empty() {
            self.topics.remove(name);
        }
    }

    fn unmatch(&mut self, local: EntityId, other: Guid, around: &mut Surroundings<'_>) {
        self.unmatched.remove(&(local, other));
        self.pending.remove(&(local, other));
        if self.matched.remove(&(local, other)) {
            self.announce_unmatch(local, other, around);
        }
    }

    fn announce_unmatch(&self, local: EntityId, other: Guid, around: &mut Surroundings<'_>) {
        if local.is_writer() {
            around.events.push(Event::ReaderUnmatched { writer: local, reader: other });
            return;
        }
        let may_return = around.may_return;
        around.events.push(Event::WriterUnmatched { reader: local, writer: other, may_return });
        if !self.is_read(other) {
            around.leases.forget(other);
        }
    }

    /// Compares the pairs again whose types were not known.
    pub(super) fn compare_again(&mut self, around: &mut Surroundings<'_>) {
        let pairs: Vec<(EntityId, Guid)> = self.pending.iter().copied().collect();
        for (local, other) in pairs {
            self.evaluate(local, other, around);
        }
    }

    /// Matches or unmatches a local endpoint and another one of the same topic.
    fn evaluate(&mut self, local: EntityId, other: Guid, around: &mut Surroundings<'_>) {
        if local.is_writer() == other.entity_id.is_writer() {
            return;
        }
        let (Some(own), Some(data)) = (self.get(Guid::new(self.prefix, local)), self.get(other)) else {
            return;
        };
        if self.is_ignored(own) || self.is_ignored(data) {
            return;
        }
        let (writer, reader) = pair(own, data);
        // Two of our own know their types.
        let remote = (other.prefix != self.prefix).then_some(other.prefix);
        let remote = remote.filter(|remote| around.answers_lookups(*remote));
        let types = around.types.compare(around.now, writer, reader, remote);
        match compare_typed(writer, reader, &types) {
            Ok(()) if types == TypeVerdict::Pending => {
                self.unmatch(local, other, around);
                self.pending.insert((local, other));
            }
            Ok(()) => {
                around.announce_match(local, data, self.prefix);
                self.pending.remove(&(local, other));
                self.unmatched.remove(&(local, other));
                self.matched.insert((local, other));
            }
            Err(reasons) => {
                let remote = Arc::clone(data);
                self.unmatch(local, other, around);
                self.unmatched.insert((local, other), types);
                around.events.push(Event::NotMatched { local, remote, reasons });
            }
        }
    }
}

/// The writer and the reader of both.
fn pair<'a>(own: &'a EndpointData, other: &'a EndpointData) -> (&'a EndpointData, &'a EndpointData) {
    if own.guid.entity_id.is_writer() { (own, other) } else { (other, own) }
}

impl Surroundings<'_> {
    /// True for a participant that can be asked about types.
    fn answers_lookups(&self, participant: GuidPrefix) -> bool {
        let known = self.ledger.get(participant);
        known.is_some_and(|known| lookup::answers(known.data().builtin_endpoints))
    }

    fn announce_match(&mut self, local: EntityId, other: &Arc<EndpointData>, ours: GuidPrefix) {
        let is_ours = other.guid.prefix == ours;
        let Way { paths, direct } = self.way(other);
        if local.is_writer() {
            let reader = Arc::clone(other);
            self.events.push(Event::ReaderMatched { writer: local, reader, paths, direct, local: is_ours });
            return;
        }
        let (writer, liveliness) = (other.guid, other.qos.liveliness);
        let event = Event::WriterMatched { reader: local, writer: Arc::clone(other), paths, local: is_ours };
        self.events.push(event);
        // Our own AUTOMATIC writers live as long as we do.
        if !is_ours || liveliness.kind != LivelinessKind::Automatic {
            self.leases.watch(self.now, writer, liveliness);
        }
        if !self.leases.is_alive(writer) {
            self.events.push(Event::LivelinessChanged { reader: local, writer, alive: false });
        }
    }

    /// Endpoints that announce no usable address are reached at those of their participant (RTPS 2.5, 8.5.5): requests to the resource manager and its
    /// verdicts where discovery is.
    fn way(&self, other: &EndpointData) -> Way {
        let Some(participant) = self.ledger.get(other.guid.prefix) else {
            return Way { paths: Vec::new(), direct: None };
        };
        let data = participant.data();
        // Others than us may not look for samples at their ports of discovery.
        let control = data.vendor == VendorId::PUNCTUAL && is_control(&other.topic_name);
        let ports = (&data.default_unicast, &data.metatraffic_unicast);
        let (first, second) = if control { (ports.1, ports.0) } else { ports };
        let lists: [&[wire::Locator]; 3] = [&other.unicast, first, second];
        let Some(unicast) = participant.path(self.network, &lists) else {
            return Way { paths: Vec::new(), direct: None };
        };
        let unicast = Path { link: self.links.get(&other.guid.prefix).copied(), ..unicast };
        let groups = if other.multicast.is_empty() { &data.default_multicast } else { &other.multicast };
        let group = (self.multicast_data && other.guid.entity_id.is_reader())
            .then(|| self.network.multicast_path(groups, unicast.destination.ip()))
            .flatten();
        match group {
            Some(group) => Way { paths: [group].into(), direct: Some(unicast) },
            None => Way { paths: [unicast].into(), direct: None },
        }
    }
}
