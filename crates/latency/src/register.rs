//! The flows of a port, in the order of their identities, and their sums.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use crate::ledger::{Entry, FlowId};
use crate::sums::{Book, Terms};

/// What a ledger keeps of a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Register {
    entries: Vec<Entry>,
    /// For each entry.
    terms: Vec<Terms>,
    book: Book,
    /// A number that two states share only if their entries are the same, but for one chance in 2^64.
    stamp: u64,
}

impl Register {
    pub(crate) fn new(queues: u8) -> Self {
        Self { entries: Vec::new(), terms: Vec::new(), book: Book::new(queues), stamp: 0 }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn book(&self) -> &Book {
        &self.book
    }

    pub(crate) fn stamp(&self) -> u64 {
        self.stamp
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
        self.stamp = self.stamp.wrapping_add(stamp(&entry));
        self.entries.insert(at, entry);
        self.terms.insert(at, terms);
    }

    /// Takes a flow out.
    pub(crate) fn remove(&mut self, flow: FlowId) {
        let Some(at) = self.position(flow) else { return };
        let (entry, terms) = (self.entries.remove(at), self.terms.remove(at));
        self.stamp = self.stamp.wrapping_sub(stamp(&entry));
        self.book.take(entry.contender.level, &terms, rest(&self.entries, &self.terms));
    }

    /// Takes several flows out.
    pub(crate) fn remove_all(&mut self, flows: &BTreeSet<FlowId>) {
        let all = core::mem::take(&mut self.entries).into_iter().zip(core::mem::take(&mut self.terms));
        for (entry, terms) in all {
            if flows.contains(&entry.flow) {
                self.book.take(entry.contender.level, &terms, core::iter::empty());
                self.stamp = self.stamp.wrapping_sub(stamp(&entry));
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
            self.stamp = self.stamp.wrapping_sub(stamp(entry));
            let from = core::mem::replace(&mut entry.contender.level, level);
            self.stamp = self.stamp.wrapping_add(stamp(entry));
            self.book.change(from, level, terms, rest(&self.entries, &self.terms));
        }
    }
}

/// A number for an entry: word for word multiplied and turned, and mixed so that sums of several do not cancel each other out.
fn stamp(entry: &Entry) -> u64 {
    struct Words(u64);
    impl Hasher for Words {
        fn write(&mut self, bytes: &[u8]) {
            bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
        }
        fn write_u8(&mut self, number: u8) {
            self.write_u64(u64::from(number));
        }
        fn write_u32(&mut self, number: u32) {
            self.write_u64(u64::from(number));
        }
        fn write_u64(&mut self, number: u64) {
            self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        fn write_usize(&mut self, number: usize) {
            self.write_u64(number as u64);
        }
        fn write_isize(&mut self, number: isize) {
            self.write_u64(number as u64);
        }
        fn finish(&self) -> u64 {
            let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        }
    }
    let mut words = Words(0xcbf2_9ce4_8422_2325);
    entry.hash(&mut words);
    words.finish()
}

fn rest<'r>(entries: &'r [Entry], terms: &'r [Terms]) -> impl Iterator<Item = (u8, u64, Terms)> + 'r {
    entries.iter().zip(terms).map(|(entry, terms)| (entry.contender.level, entry.share, *terms))
}
