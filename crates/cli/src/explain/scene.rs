//! What was seen of a domain.
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use dcps::reader::DropReason;
use dds::{DomainParticipant, Duration, Guid, RawDataReader, Transport};
use rtps::discovery::Rejection;
use wire::GuidPrefix;
use wire::admission::{Measured, Request, Verdict};
use wire::discovery::{EndpointData, ParticipantData};
use xtypes::Library;
use xtypes::identifier::Hash;

use crate::describe::{People, Person};
use crate::exit::in_options;

/// Everything that an explanation is made of.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The domain.
    pub domain: u32,
    /// Its tag.
    pub tag: String,
    /// How long it was watched.
    pub time: Duration,
    /// The topic that was asked about; `None`: all.
    pub topic: Option<String>,
    /// Participants, without the one that watches.
    pub people: People,
    /// What each of them announces.
    pub participants: BTreeMap<GuidPrefix, Arc<ParticipantData>>,
    /// Writers and readers, without those of the participant that watches.
    pub endpoints: Vec<Arc<EndpointData>>,
    /// Participants that were heard, and do not hear the one that watches.
    pub strangers: Vec<(SocketAddr, Person)>,
    /// Participants of other domains and tags.
    pub neighbours: Vec<Neighbour>,
    /// What was received and not believed.
    pub rejections: Vec<(Rejection, u64)>,
    /// The hash of the minimal type object of the type that was described, if one was.
    pub described: Option<Hash>,
    /// What participants tell of their types.
    pub types: Library,
    /// What a reader of the topic got.
    pub received: Option<Received>,
    /// What is asked of resource managers, and what they say.
    pub admission: Admission,
    /// What the host says about interfaces, ports and failures, a line each.
    pub host: Vec<String>,
}

/// A participant that was heard in another domain, or with another tag.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// Its domain.
    pub domain: u32,
    /// Its tag.
    pub tag: String,
    /// Who it is.
    pub person: Person,
    /// Its writers and readers of the topic that was asked about, if it could be asked.
    pub endpoints: Vec<Arc<EndpointData>>,
}

/// What is asked of resource managers, and what they say: the last of each pair.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Admission {
    /// What readers ask for.
    pub requests: Vec<Request>,
    /// What managers answer that are there, with the participant of the one that says so.
    pub verdicts: Vec<(GuidPrefix, Verdict)>,
    /// What assured readers have seen.
    pub measured: Vec<Measured>,
}

/// What a reader got, and what not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Received {
    /// Writers that it is matched with.
    pub writers: u32,
    /// Samples.
    pub samples: u64,
    /// How samples of those writers travel, each way once.
    pub ways: BTreeSet<&'static str>,
    /// What did not reach the application.
    pub dropped: Vec<(DropReason, u64)>,
    /// The encapsulation identifier that each writer used last (RTPS 2.5, 10.2; XTypes 1.3, 7.6.3.1.2).
    pub encapsulations: BTreeMap<Guid, u16>,
    /// Samples that are not of the type that was described, and the first reason.
    pub unreadable: Option<(u64, String)>,
}

impl Scene {
    /// What a participant knows. Others' traffic, other domains and the host are left empty.
    pub fn of(participant: &DomainParticipant, tag: &str, topic: Option<&str>, time: Duration) -> Self {
        let own = participant.prefix();
        let people = participant.get_discovered_participants();
        let strangers = participant.get_unvalidated_participants();
        let endpoints = participant.get_discovered_endpoints();
        let mut endpoints: Vec<_> = endpoints.into_iter().filter(|data| data.participant != own).collect();
        endpoints.sort_by_key(|data| data.guid);
        Self {
            domain: participant.get_domain_id(),
            tag: tag.to_owned(),
            time,
            topic: topic.map(str::to_owned),
            people: People::new(people.iter().map(|found| Person::of(&found.data))),
            participants: people.iter().map(|found| (found.data.prefix, Arc::clone(&found.data))).collect(),
            endpoints,
            strangers: strangers.iter().map(|(from, data)| (*from, Person::of(data))).collect(),
            neighbours: Vec::new(),
            rejections: participant.get_rejections(),
            described: None,
            types: Library::default(),
            received: None,
            admission: Admission::default(),
            host: participant.report().iter().map(|line| in_options(line)).collect(),
        }
    }

    /// True if the topic that was asked about lacks writers or readers here.
    pub(crate) fn is_incomplete(&self) -> bool {
        let Some(asked) = &self.topic else { return false };
        self.topics()
            .get(asked.as_str())
            .is_none_or(|topic| topic.writers.is_empty() || topic.readers.is_empty())
    }

    /// Writers and readers by topic: those of the topic that was asked about, or all.
    pub(super) fn topics(&self) -> BTreeMap<&str, Topic<'_>> {
        let mut topics: BTreeMap<&str, Topic<'_>> = BTreeMap::new();
        for data in &self.endpoints {
            let topic = topics.entry(&data.topic_name).or_default();
            if data.guid.entity_id.is_writer() {
                topic.writers.push(data);
            } else {
                topic.readers.push(data);
            }
        }
        topics
    }

    /// True if findings about this topic are wanted.
    pub(crate) fn is_asked(&self, topic: &str) -> bool {
        self.topic.as_deref().is_none_or(|asked| asked == topic)
    }
}

/// The endpoints of a topic.
#[derive(Default)]
pub(super) struct Topic<'a> {
    pub(super) writers: Vec<&'a EndpointData>,
    pub(super) readers: Vec<&'a EndpointData>,
}

impl Received {
    /// `, by shared memory and UDP`; nothing without a writer.
    pub(crate) fn by_which_way(&self) -> String {
        let ways: Vec<&str> = self.ways.iter().copied().collect();
        if ways.is_empty() { String::new() } else { format!(", by {}", ways.join(" and ")) }
    }

    /// What a reader got so far, of which `samples` were taken.
    pub fn by(reader: &RawDataReader, samples: u64) -> Self {
        let counts = DropReason::ALL.map(|reason| (reason, reader.dropped(reason).count));
        let writers = u32::try_from(reader.get_matched_publications().len()).unwrap_or(u32::MAX);
        let dropped = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        let matched = reader.get_matched_publications().into_iter();
        let ways = matched.filter_map(|writer| reader.get_matched_publication_transport(writer).ok());
        Self { writers, samples, dropped, ways: ways.map(Transport::name).collect(), ..Self::default() }
    }
}
