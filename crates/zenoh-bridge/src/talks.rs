//! Questions and answers between bridges, which may wait on a connection: one at a time with each bridge, the others in the order in which they came.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use dds::{DomainParticipant, Guid};
use wire::discovery::EndpointData;
use zenoh::query::Query;
use zenoh_routes::BridgeId;
use zenoh_routes::turns::Turns;

/// Bridges with which something is under way at the same time.
const MOST: usize = 32;
/// Most that wait. A question that is dropped has no answer, and is asked again.
const MOST_WAITING: usize = 16_384;

/// A question, or an answer.
pub(crate) enum Talk {
    /// Asks a bridge what it has sent under a key.
    Ask { question: u64, bridge: BridgeId, key: String, from: u64 },
    /// Asks each `zenoh-plugin-dds` what writers of a key have kept.
    AskPlugins(String),
    /// Answers a bridge what was sent under a key.
    Answer { query: Query, key: String, from: u64 },
    /// Answers a `zenoh-plugin-dds`.
    AnswerPlugin { query: Query, key: String },
    /// Asks a bridge for the type of a writer, of which this is announced.
    AskType { bridge: BridgeId, writer: Guid, announced: Vec<u8> },
    /// Answers a bridge what the participant of a writer tells of its type.
    AnswerType { query: Query, participant: DomainParticipant, endpoint: Arc<EndpointData> },
}

/// All that wait, by whom they are with.
pub(crate) struct Talks {
    turns: Turns,
    waiting: BTreeMap<String, VecDeque<Talk>>,
    count: usize,
}

impl Talks {
    pub(crate) fn new() -> Self {
        Self { turns: Turns::new(MOST), waiting: BTreeMap::new(), count: 0 }
    }

    /// One more waits for its turn among those with the same bridge; false if there is no place.
    pub(crate) fn add(&mut self, with: &str, talk: Talk) -> bool {
        if self.count >= MOST_WAITING {
            return false;
        }
        self.count += 1;
        self.waiting.entry(with.to_owned()).or_default().push_back(talk);
        self.turns.wants(with);
        true
    }

    /// What comes next at this time, in milliseconds; it is under way until [`Talks::done`].
    pub(crate) fn next(&mut self, now: u64) -> Option<(String, Talk)> {
        let with = self.turns.next(now)?;
        let talk = self.waiting.get_mut(&with)?.pop_front()?;
        self.count = self.count.saturating_sub(1);
        Some((with, talk))
    }

    /// What was under way has ended.
    pub(crate) fn done(&mut self, with: &str, now: u64) {
        let has_more = self.waiting.get(with).is_some_and(|talks| !talks.is_empty());
        if !has_more {
            self.waiting.remove(with);
        }
        self.turns.done(with, now, has_more);
    }
}
