//! The index of subscriptions: which consumers an event may concern, by its header, so that it is shown to no others.
use alloc::vec::Vec;

use crate::event::Header;
use crate::interest::Interest;

/// Consumers by the patterns of their trees, which each is in one or several lists for. All lists are sorted.
#[derive(Debug)]
pub(crate) struct Index {
    /// Those with a pattern that asks for neither one type nor one source.
    any: Vec<u32>,
    /// Those that ask for one type, of whatever source.
    kinds: Lists,
    /// Those that ask for one source.
    sources: Lists,
}

/// Consumers by a number of the header, sorted by it.
#[derive(Debug)]
struct Lists(Vec<(u32, Vec<u32>)>);

impl Index {
    pub(crate) const fn new() -> Self {
        Self { any: Vec::new(), kinds: Lists(Vec::new()), sources: Lists(Vec::new()) }
    }

    /// Enters a consumer whose tree has these patterns.
    pub(crate) fn enter(&mut self, consumer: u32, patterns: &[Interest]) {
        for pattern in patterns {
            match *pattern {
                Interest::Header { source: Some(source), .. } => self.sources.insert(source, consumer),
                Interest::Header { kind: Some(kind), source: None } => self.kinds.insert(kind, consumer),
                Interest::Header { .. }
                | Interest::Everything
                | Interest::Bits { .. }
                | Interest::Masked { .. } => insert(&mut self.any, consumer),
            }
        }
    }

    /// Takes a consumer out.
    pub(crate) fn leave(&mut self, consumer: u32) {
        self.any.retain(|other| *other != consumer);
        self.kinds.leave(consumer);
        self.sources.leave(consumer);
    }

    /// The consumers that an event may concern, in the order of their numbers, each once.
    #[inline]
    pub(crate) fn find(&self, header: &Header, found: &mut Vec<u32>) {
        found.clear();
        let lists = [self.any.as_slice(), self.kinds.of(header.kind), self.sources.of(header.source)];
        match lists {
            [one, [], []] | [[], one, []] | [[], [], one] => found.extend_from_slice(one),
            several => merge(several, found),
        }
    }
}

fn merge(mut lists: [&[u32]; 3], found: &mut Vec<u32>) {
    while let Some(next) = lists.iter().filter_map(|list| list.first()).min().copied() {
        for list in &mut lists {
            if let Some((_, rest)) = list.split_first().filter(|(first, _)| **first == next) {
                *list = rest;
            }
        }
        found.push(next);
    }
}

fn insert(list: &mut Vec<u32>, consumer: u32) {
    if let Err(place) = list.binary_search(&consumer) {
        list.insert(place, consumer);
    }
}

impl Lists {
    #[inline]
    fn of(&self, key: u32) -> &[u32] {
        let place = self.0.binary_search_by_key(&key, |(key, _)| *key).ok();
        place.and_then(|place| self.0.get(place)).map_or(&[], |(_, list)| list.as_slice())
    }

    fn insert(&mut self, key: u32, consumer: u32) {
        let place = self.0.binary_search_by_key(&key, |(key, _)| *key).unwrap_or_else(|place| {
            self.0.insert(place, (key, Vec::new()));
            place
        });
        if let Some((_, list)) = self.0.get_mut(place) {
            insert(list, consumer);
        }
    }

    fn leave(&mut self, consumer: u32) {
        self.0.iter_mut().for_each(|(_, list)| list.retain(|other| *other != consumer));
        self.0.retain(|(_, list)| !list.is_empty());
    }
}
