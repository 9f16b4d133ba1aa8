//! The flows of a port, in the order of their identities, and their sums.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::ledger::{Entry, FlowId};
use crate::sums::{Book, Terms};

/// What a ledger keeps of a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Register {
    entries: Vec<Entry>,
    /// For each entry.
    terms: Vec<Terms>,
    book: Book,
}

impl Register {
    pub(crate) fn new(queues: u8) -> Self {
        Self { entries: Vec::new(), terms: Vec::new(), book: Book::new(queues) }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn book(&self) -> &Book {
        &self.book
    }

    pub(crate) fn position(&self, flow: FlowId) -> Option<usize> {
        self.entries.binary_search_by_key(&flow, |entry| entry.flow).ok()
    }

    pub(crate) fn find(&self, flow: FlowId) -> Option<&Entry> {
        self.entries.get(self.position(flow)?)
    }

    /// Adds a flow that is not there, at a port of so many bits per second.
    pub(crate) fn insert(&mut self, entry: Entry, port_rate: u64) {
        // A plan is made with these numbers, so that they exist.
        let Some(terms) = Terms::of(&entry.contender, port_rate) else { return };
        let at = self.entries.partition_point(|other| other.flow < entry.flow);
        self.book.add(entry.contender.level, entry.share, &terms);
        self.entries.insert(at, entry);
        self.terms.insert(at, terms);
    }

    /// Takes a flow out.
    pub(crate) fn remove(&mut self, flow: FlowId) {
        let Some(at) = self.position(flow) else { return };
        let (entry, terms) = (self.entries.remove(at), self.terms.remove(at));
        self.book.take(entry.contender.level, &terms, rest(&self.entries, &self.terms));
    }

    /// Takes several flows out.
    pub(crate) fn remove_all(&mut self, flows: &BTreeSet<FlowId>) {
        let all = core::mem::take(&mut self.entries).into_iter().zip(core::mem::take(&mut self.terms));
        for (entry, terms) in all {
            if flows.contains(&entry.flow) {
                self.book.take(entry.contender.level, &terms, core::iter::empty());
            } else {
                self.entries.push(entry);
                self.terms.push(terms);
            }
        }
        self.book.look_up(rest(&self.entries, &self.terms));
    }

    /// Puts a flow into another level.
    pub(crate) fn put(&mut self, flow: FlowId, level: u8) {
        let Some(at) = self.position(flow) else { return };
        if let (Some(entry), Some(terms)) = (self.entries.get_mut(at), self.terms.get(at)) {
            let from = core::mem::replace(&mut entry.contender.level, level);
            self.book.change(from, level, terms, rest(&self.entries, &self.terms));
        }
    }
}

fn rest<'r>(entries: &'r [Entry], terms: &'r [Terms]) -> impl Iterator<Item = (u8, u64, Terms)> + 'r {
    entries.iter().zip(terms).map(|(entry, terms)| (entry.contender.level, entry.share, *terms))
}
