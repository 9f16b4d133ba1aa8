//! Which gateways there are, and the shortest ways to them.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::record::Record;

/// The way to a gateway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Way {
    /// 1 for a peer.
    pub(crate) distance: u32,
    /// The peer on the way: of several that are as near, the one with the least id. Since all gateways choose so, the ways of an event from its
    /// origin are a tree, and none gets it twice.
    pub(crate) next: u64,
}

/// Records of all gateways, and ways.
#[derive(Debug)]
pub(crate) struct Topology {
    me: u64,
    records: BTreeMap<u64, Record>,
    ways: BTreeMap<u64, Way>,
}

impl Topology {
    pub(crate) fn new(me: u64) -> Self {
        Self { me, records: BTreeMap::new(), ways: BTreeMap::new() }
    }

    pub(crate) fn record(&self, id: u64) -> Option<&Record> {
        self.records.get(&id)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = u64> {
        self.records.keys().copied()
    }

    pub(crate) fn way(&self, id: u64) -> Option<Way> {
        self.ways.get(&id).copied()
    }

    /// All gateways that can be reached, with their records.
    pub(crate) fn reached(&self) -> impl Iterator<Item = (Way, &Record)> {
        self.ways.iter().filter_map(|(id, way)| Some((*way, self.records.get(id)?)))
    }

    /// Takes a record if it is newer than what is known; true if so. One more than `most` finds room only where one that cannot be reached goes.
    pub(crate) fn accept(&mut self, record: Record, most: usize) -> bool {
        if self.records.get(&record.id).is_some_and(|known| known.stamp >= record.stamp) {
            return false;
        }
        if !self.records.contains_key(&record.id) && self.records.len() > most {
            let lost = self.ids().find(|id| *id != self.me && !self.ways.contains_key(id));
            let Some(lost) = lost else { return false };
            self.records.remove(&lost);
        }
        self.records.insert(record.id, record);
        true
    }

    /// Forgets a gateway whose incarnation is over.
    pub(crate) fn forget_before(&mut self, id: u64, incarnation: u64) {
        if self.records.get(&id).is_some_and(|known| known.stamp.0 < incarnation) {
            self.records.remove(&id);
        }
    }

    fn are_peers(&self, one: u64, other: u64) -> bool {
        let names = |id, peer| {
            self.records.get(&id).is_some_and(|record: &Record| record.peers.binary_search(&peer).is_ok())
        };
        names(one, other) && names(other, one)
    }

    /// Finds the ways anew. A connection counts if both ends tell of it; those of this gateway count by its own record.
    pub(crate) fn find_ways(&mut self) {
        self.ways.clear();
        let peers = self.records.get(&self.me).map(|record| record.peers.clone()).unwrap_or_default();
        let mut edge: Vec<(u64, Way)> = Vec::new();
        for peer in peers {
            if peer != self.me && self.records.contains_key(&peer) {
                edge.push((peer, Way { distance: 1, next: peer }));
            }
        }
        while !edge.is_empty() {
            for (id, way) in &edge {
                self.ways.insert(*id, *way);
            }
            let mut further: BTreeMap<u64, Way> = BTreeMap::new();
            for (id, way) in &edge {
                let Some(record) = self.records.get(id) else { continue };
                for peer in &record.peers {
                    if *peer == self.me || self.ways.contains_key(peer) || !self.are_peers(*id, *peer) {
                        continue;
                    }
                    let longer = Way { distance: way.distance + 1, next: way.next };
                    let best = further.entry(*peer).or_insert(longer);
                    best.next = best.next.min(way.next);
                }
            }
            edge = further.into_iter().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(edges: &[(u64, u64)]) -> Topology {
        let mut topology = Topology::new(0);
        for id in 0..6 {
            let of = |(one, other): &(u64, u64)| {
                [(*one, *other), (*other, *one)].into_iter().find(|(a, _)| *a == id).map(|(_, b)| b)
            };
            let mut peers: Vec<u64> = edges.iter().filter_map(of).collect();
            peers.sort_unstable();
            assert!(topology.accept(Record { id, stamp: (1, 1), peers, interests: Vec::new() }, 6));
        }
        topology.find_ways();
        topology
    }

    #[test]
    fn ways_are_shortest_and_prefer_the_least_peer() {
        let topology = topology(&[(0, 2), (0, 1), (1, 3), (2, 3), (2, 4)]);
        assert_eq!(topology.way(3), Some(Way { distance: 2, next: 1 }));
        assert_eq!(topology.way(4), Some(Way { distance: 2, next: 2 }));
        assert_eq!((topology.way(5), topology.way(0)), (None, None));
    }

    #[test]
    fn a_connection_that_one_end_denies_is_none() {
        let mut topology = topology(&[(0, 1), (1, 3)]);
        assert!(
            topology.accept(Record { id: 3, stamp: (1, 2), peers: Vec::new(), interests: Vec::new() }, 6)
        );
        topology.find_ways();
        assert_eq!(topology.way(3), None);
        assert!(
            !topology.accept(Record { id: 3, stamp: (1, 1), peers: [1].into(), interests: Vec::new() }, 6)
        );
        // A record too many takes the place of one that cannot be reached.
        assert!(
            topology.accept(Record { id: 9, stamp: (1, 1), peers: Vec::new(), interests: Vec::new() }, 5)
        );
        assert_eq!(topology.ids().count(), 6);
        assert!(topology.record(0).is_some() && topology.record(1).is_some());
    }
}
