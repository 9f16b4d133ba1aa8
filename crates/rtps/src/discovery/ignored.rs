//! What the application wants to know nothing of (DDS 1.4, 2.2.2.2.1.14 to 2.2.2.2.1.17).
use alloc::string::String;

use wire::discovery::EndpointData;
use wire::{Guid, GuidPrefix};

use wire::sorted::SortedSet;

/// Something to be ignored, for good.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ignore {
    /// All endpoints of a participant.
    Participant(GuidPrefix),
    /// A writer or reader.
    Endpoint(Guid),
    /// All endpoints of other participants with a topic of this name.
    Topic(String),
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    participants: SortedSet<GuidPrefix>,
    endpoints: SortedSet<Guid>,
    topics: SortedSet<String>,
}

impl Ignored {
    pub(super) fn add(&mut self, what: Ignore) {
        match what {
            Ignore::Participant(prefix) => drop(self.participants.insert(prefix)),
            Ignore::Endpoint(guid) => drop(self.endpoints.insert(guid)),
            Ignore::Topic(name) => drop(self.topics.insert(name)),
        }
    }

    pub(super) fn has_participant(&self, prefix: GuidPrefix) -> bool {
        self.participants.contains(&prefix)
    }

    /// True for an endpoint that is ignored in a participant with the prefix `ours`.
    pub(super) fn has(&self, ours: GuidPrefix, endpoint: &EndpointData) -> bool {
        let guid = endpoint.guid;
        self.has_participant(guid.prefix)
            || self.endpoints.contains(&guid)
            || guid.prefix != ours && self.topics.contains(&endpoint.topic_name)
    }
}
