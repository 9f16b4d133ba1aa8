//! What has happened, as the page shows it: the last of it, numbered.
use std::collections::VecDeque;

use serde::Serialize;

use crate::protocol::Event;

/// What is kept.
const MOST: usize = 1_000;

/// Something that has happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Entry {
    /// Counts from 1.
    pub(crate) number: u64,
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
    /// As those who monitor the manager are told.
    pub(crate) event: Event,
}

/// The last that has happened since the start of the manager.
#[derive(Debug, Default)]
pub(crate) struct History {
    entries: VecDeque<Entry>,
    last: u64,
}

impl History {
    /// Something more.
    pub(crate) fn add(&mut self, time: u64, event: Event) -> &Entry {
        self.last += 1;
        if self.entries.len() >= MOST {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry { number: self.last, time, event });
        &self.entries[self.entries.len() - 1]
    }

    /// How much has happened.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// What has happened after a number, the oldest first.
    pub(crate) fn after(&self, number: u64) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.number > number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_is_kept_and_numbered() {
        let mut history = History::default();
        for count in 1..=MOST as u64 + 5 {
            assert_eq!(history.add(7, Event::Missed { count }).number, count);
        }
        assert_eq!((history.last(), history.after(0).count()), (MOST as u64 + 5, MOST));
        let numbers: Vec<u64> = history.after(MOST as u64 + 2).map(|entry| entry.number).collect();
        assert_eq!(numbers, [MOST as u64 + 3, MOST as u64 + 4, MOST as u64 + 5]);
    }
}
