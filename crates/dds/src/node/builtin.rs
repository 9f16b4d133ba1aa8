//! Feeds the readers of the built-in topics from what discovery knows. Nothing is sent for them.
use std::sync::{Arc, Mutex};

use dcps::reader::{DataReader, MatchedPublication};
use dcps::{Error, InstanceHandle, TypeSupport};
use rtps::discovery::Discovery;
use rtps::reader::{Reader, ReaderConfig, Sample, SamplePayload, Sink};
use wire::cdr::Representation;
use wire::discovery::{EndpointData, EndpointRole, ParticipantData};
use wire::parameter::{InlineQos, StatusInfo};
use wire::sorted::{SortedMap, SortedSet};
use wire::{Duration, EntityId, Guid, GuidPrefix, Now, SequenceNumber};

use super::reader::ReaderCell;
use super::watch::Watch;
use super::work::Work;
use crate::builtin::{BuiltinTopic, Support, topic_handle};
use crate::bytes::Bytes;
use crate::lock::lock;

/// The readers of the built-in topics, and what they were told.
pub(crate) struct BuiltinReaders {
    source: Guid,
    cells: [Arc<ReaderCell>; 4],
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    /// What discovery knew of endpoints then.
    revision: Option<u64>,
    participants: SortedMap<GuidPrefix, Arc<ParticipantData>>,
    endpoints: SortedMap<Guid, Arc<EndpointData>>,
    topics: SortedMap<InstanceHandle, Topic>,
    last: SequenceNumber,
    payload: Vec<u8>,
}

/// A topic that others have endpoints of.
struct Topic {
    /// The endpoint that it is told of by, and all of them.
    example: Arc<EndpointData>,
    endpoints: SortedSet<Guid>,
}

/// Makes the reader of a built-in topic, which gets all that it gets from `source`.
pub(crate) fn make_cell(
    prefix: GuidPrefix,
    topic: BuiltinTopic,
    watch: Arc<Watch>,
) -> Result<Arc<ReaderCell>, Error> {
    let guid = Guid::new(prefix, topic.reader_id());
    let types: Box<dyn TypeSupport + Send> = Box::new(Support::new(topic));
    let mut cache = DataReader::new(guid, BuiltinTopic::reader_qos(), types)?;
    cache.match_publication(MatchedPublication {
        guid: source(prefix),
        ownership_strength: 0,
        lifespan: Duration::INFINITE,
        representation: Representation::Xcdr2,
    });
    // That it has a source is no news.
    let _ = (cache.subscription_matched(), cache.liveliness_changed(), cache.take_status_news());
    let rtps = Reader::new(ReaderConfig::new(guid, false));
    Ok(Arc::new(ReaderCell::new(rtps, cache, watch)))
}

/// The publisher of built-in samples: the participant itself.
fn source(prefix: GuidPrefix) -> Guid {
    Guid::new(prefix, EntityId::SPDP_WRITER)
}

impl BuiltinReaders {
    /// Feeds these, in the order of [`BuiltinTopic::ALL`].
    pub(crate) fn new(prefix: GuidPrefix, cells: [Arc<ReaderCell>; 4]) -> Self {
        Self { source: source(prefix), cells, told: Mutex::default() }
    }

    /// Tells what is different from what was told last: `people` says whether participants may be, too. The caller holds discovery,
    /// which keeps this in order.
    pub(super) fn update(&self, discovery: &Discovery<Bytes>, now: Now, people: bool, work: &mut Work) {
        let told = &mut *lock(&self.told);
        let revision = Some(discovery.endpoints_revision());
        let endpoints = std::mem::replace(&mut told.revision, revision) != revision;
        // An ignored participant counts as a change of endpoints.
        if people || endpoints {
            self.tell_arrivals(told, discovery, now, work);
        }
        if endpoints {
            self.tell_endpoints(told, discovery, now, work);
        }
        if people || endpoints {
            self.tell_departures(told, discovery, now, work);
        }
    }

    /// The end of all readers: their participant was deleted.
    pub(super) fn close(&self) {
        for cell in &self.cells {
            cell.lock().deleted = true;
            cell.watch.wake_waiters();
        }
    }

    fn tell_arrivals(&self, told: &mut Told, discovery: &Discovery<Bytes>, now: Now, work: &mut Work) {
        for found in discovery.participants() {
            let data = found.data();
            let before = told.participants.get(&data.prefix);
            let is_told = before.is_some_and(|before| Arc::ptr_eq(before, data) || before == data);
            if is_told || discovery.is_participant_ignored(data.prefix) {
                continue;
            }
            self.tell(told, BuiltinTopic::Participant, now, work, |out| data.encode(out));
            told.participants.insert(data.prefix, Arc::clone(data));
        }
    }

    fn tell_departures(&self, told: &mut Told, discovery: &Discovery<Bytes>, now: Now, work: &mut Work) {
        let is_gone = |prefix: &GuidPrefix| {
            discovery.participant(*prefix).is_none() || discovery.is_participant_ignored(*prefix)
        };
        let gone: Vec<_> = told.participants.keys().filter(|prefix| is_gone(prefix)).copied().collect();
        for prefix in gone {
            let Some(data) = told.participants.remove(&prefix) else { continue };
            self.tell_end(told, BuiltinTopic::Participant, now, work, |out| data.encode_key(out));
        }
    }

    fn tell_endpoints(&self, told: &mut Told, discovery: &Discovery<Bytes>, now: Now, work: &mut Work) {
        let ours = discovery.prefix();
        let is_shown = |data: &Arc<EndpointData>| data.guid.prefix != ours && !discovery.is_ignored(data);
        let is_gone = |guid: &Guid| discovery.endpoint(*guid).is_none_or(|data| !is_shown(data));
        let gone: Vec<_> = told.endpoints.keys().filter(|guid| is_gone(guid)).copied().collect();
        for guid in gone {
            let Some(data) = told.endpoints.remove(&guid) else { continue };
            self.tell_end(told, topic_of(&data), now, work, |out| data.encode_key(out));
            self.leave_topic(told, &data, now, work);
        }
        for data in discovery.endpoints().filter(|data| is_shown(data)) {
            let before = told.endpoints.get(&data.guid).cloned();
            if before.as_ref().is_some_and(|before| Arc::ptr_eq(before, data)) {
                continue;
            }
            self.tell(told, topic_of(data), now, work, |out| data.encode(out));
            told.endpoints.insert(data.guid, Arc::clone(data));
            if let Some(before) = before.filter(|before| topic_handle(before) != topic_handle(data)) {
                self.leave_topic(told, &before, now, work);
            }
            self.join_topic(told, data, now, work);
        }
    }

    fn join_topic(&self, told: &mut Told, data: &Arc<EndpointData>, now: Now, work: &mut Work) {
        let Some(handle) = topic_handle(data) else { return };
        let is_new = !told.topics.contains_key(&handle);
        let first = || Topic { example: Arc::clone(data), endpoints: SortedSet::new() };
        let topic = told.topics.get_or_insert_with(handle, first);
        topic.endpoints.insert(data.guid);
        if is_new || topic.example.guid == data.guid {
            topic.example = Arc::clone(data);
            self.tell(told, BuiltinTopic::Topic, now, work, |out| data.encode(out));
        }
    }

    fn leave_topic(&self, told: &mut Told, data: &EndpointData, now: Now, work: &mut Work) {
        let Some(handle) = topic_handle(data) else { return };
        let Some(topic) = told.topics.get_mut(&handle) else { return };
        topic.endpoints.remove(&data.guid);
        let Some(next) = topic.endpoints.first() else {
            told.topics.remove(&handle);
            return self.tell_end(told, BuiltinTopic::Topic, now, work, |out| data.encode(out));
        };
        if topic.example.guid == data.guid
            && let Some(next) = told.endpoints.get(next).cloned()
        {
            topic.example = Arc::clone(&next);
            self.tell(told, BuiltinTopic::Topic, now, work, |out| next.encode(out));
        }
    }

    fn tell(
        &self,
        told: &mut Told,
        topic: BuiltinTopic,
        now: Now,
        work: &mut Work,
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        self.deliver(told, topic, now, StatusInfo::ALIVE, work, encode);
    }

    fn tell_end(
        &self,
        told: &mut Told,
        topic: BuiltinTopic,
        now: Now,
        work: &mut Work,
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        // Unregistered as well: once it was taken, nothing is left of the instance.
        self.deliver(told, topic, now, StatusInfo::DISPOSED | StatusInfo::UNREGISTERED, work, encode);
    }

    fn deliver(
        &self,
        told: &mut Told,
        topic: BuiltinTopic,
        now: Now,
        status_info: StatusInfo,
        work: &mut Work,
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        let Some(cell) = self.cells.get(topic as usize) else { return };
        told.payload.clear();
        encode(&mut told.payload);
        told.last = told.last.next();
        let mut sample = Sample {
            writer: self.source,
            sequence_number: told.last,
            source_timestamp: Some(now.wall),
            inline_qos: InlineQos { status_info, ..InlineQos::default() },
            is_key: status_info != StatusInfo::ALIVE,
            payload: SamplePayload::Datagram(&told.payload),
        };
        // With KEEP_LAST nothing is refused for a while.
        let _ = cell.lock().cache.sink(now).deliver(&mut sample);
        work.touch_reader(cell);
    }
}

fn topic_of(endpoint: &EndpointData) -> BuiltinTopic {
    match EndpointRole::of(endpoint.guid.entity_id) {
        Some(EndpointRole::Writer) => BuiltinTopic::Publication,
        _ => BuiltinTopic::Subscription,
    }
}
