//! Writers of the site: those that are alike share a line, which one reader of the bridge serves.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use wire::discovery::EndpointData;
use wire::qos::{Durability, History, ReliabilityKind};
use wire::{EntityKind, Guid};

use crate::attachment::Attachment;
use crate::queue::Keep;

/// Writers of one topic, type and QoS.
#[derive(Debug)]
pub(crate) struct Line {
    /// One of them.
    pub(crate) like: EndpointData,
    /// Under which keys their samples are sent.
    pub(crate) keys: Vec<String>,
    /// All of them, with the number of the last change that was sent.
    pub(crate) writers: BTreeMap<Guid, i64>,
    /// Their reader is there.
    pub(crate) is_open: bool,
    /// Since when nothing at other sites subscribes; milliseconds.
    pub(crate) idle_since: Option<u64>,
}

impl Line {
    /// True for a writer like those of this line.
    pub(crate) fn is_of(&self, data: &EndpointData) -> bool {
        self.like.topic_name == data.topic_name
            && self.like.type_name == data.type_name
            && self.like.guid.entity_id.kind() == data.guid.entity_id.kind()
            && self.like.qos == data.qos
            && self.like.type_information == data.type_information
    }

    pub(crate) fn is_reliable(&self) -> bool {
        self.like.qos.reliability.kind == ReliabilityKind::Reliable
    }

    pub(crate) fn is_durable(&self) -> bool {
        is_durable(&self.like)
    }

    /// What is dropped of a message of this line where too much waits to be sent.
    pub(crate) fn keep(&self, attachment: &Attachment) -> Keep {
        let keyed = self.like.guid.entity_id.kind() == EntityKind::WriterWithKey;
        match self.like.qos.history {
            _ if !self.is_reliable() => Keep::Newest,
            // Without key hashes instances cannot be told apart.
            History::KeepLast(depth) if !keyed || attachment.hash.is_some() => {
                Keep::Last((depth as usize).max(1))
            }
            History::KeepLast(_) | History::KeepAll => Keep::All,
        }
    }

    /// What a late reader gets of an instance.
    pub(crate) fn history(&self) -> Option<History> {
        self.is_durable().then_some(self.like.qos.history)
    }
}

/// True if late readers get, or ask for, what was written before.
pub(crate) fn is_durable(data: &EndpointData) -> bool {
    data.qos.durability >= Durability::TransientLocal
}

/// Keys that are in use, each with how often, up to a limit.
#[derive(Debug)]
pub(crate) struct Keys {
    used: BTreeMap<String, usize>,
    most: usize,
    refused: BTreeSet<String>,
}

/// Names of refused topics that are remembered, to tell of each once.
const MOST_REFUSED: usize = 64;

impl Keys {
    pub(crate) const fn new(most: usize) -> Self {
        Self { used: BTreeMap::new(), most, refused: BTreeSet::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.used.len()
    }

    /// Takes all of them, or none if that would be too many.
    pub(crate) fn take(&mut self, keys: &[String]) -> bool {
        let new = keys.iter().filter(|key| !self.used.contains_key(*key)).count();
        if self.used.len().saturating_add(new) > self.most {
            return false;
        }
        for key in keys {
            *self.used.entry(key.clone()).or_default() += 1;
        }
        true
    }

    pub(crate) fn give_back(&mut self, keys: &[String]) {
        for key in keys {
            if let Some(count) = self.used.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    self.used.remove(key);
                }
            }
        }
    }

    /// True the first time that this is refused, as far as is remembered.
    pub(crate) fn is_news(&mut self, what: &str) -> bool {
        self.refused.len() < MOST_REFUSED && self.refused.insert(what.into())
    }
}
