//! The shortest way to each of a few destinations, from both of its ends: what lies further than the middle is not looked
//! at, so that the search for a near destination does not grow with the network.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::routes::{Search, Topology};
use crate::work::Work;

/// What was found.
pub(crate) enum Nearest {
    /// For each destination, the ports from it back to the publisher.
    Ways(Vec<Vec<usize>>),
    /// One of them cannot be reached, or the work has run out.
    None,
    /// As many links were looked at as the network has: a search of all of it at once is no more.
    TooFar,
}

/// One end of a search: nodes at each distance from it.
struct Ball {
    distance: BTreeMap<usize, usize>,
    layers: Vec<Vec<usize>>,
}

impl Ball {
    fn around(node: usize) -> Self {
        Self { distance: BTreeMap::from([(node, 0)]), layers: alloc::vec![alloc::vec![node]] }
    }

    fn edge(&self) -> &[usize] {
        self.layers.last().map_or(&[], Vec::as_slice)
    }
}

/// A search to one destination.
struct Meeting<'m> {
    topology: &'m Topology,
    search: &'m Search<'m>,
    end: usize,
    without: Option<usize>,
}

/// The same ways that [`Topology`] finds link by link: of several nodes by which a node is reached the one with the least
/// number counts, and of several ports between two nodes the first.
pub(crate) fn ways(topology: &Topology, search: &Search<'_>, without: Option<usize>, work: &Work) -> Nearest {
    let mut left = topology.links().len();
    let mut ways = Vec::with_capacity(search.to.len());
    for end in search.to {
        let meeting = Meeting { topology, search, end: *end, without };
        match meeting.way(&mut left, work) {
            Some(way) => ways.push(way),
            None if left == 0 && !work.is_exhausted() => return Nearest::TooFar,
            None => return Nearest::None,
        }
    }
    Nearest::Ways(ways)
}

impl Meeting<'_> {
    /// The ports from the destination back to the publisher. `None` if there is no way, or nothing is `left` of what may be
    /// looked at.
    fn way(&self, left: &mut usize, work: &Work) -> Option<Vec<usize>> {
        if self.end == self.search.from {
            return None;
        }
        let (mut near, mut far) = (Ball::around(self.search.from), Ball::around(self.end));
        let middle = loop {
            if near.edge().is_empty() || far.edge().is_empty() {
                return None;
            }
            if near.layers.len() + far.layers.len() - 2 >= self.search.longest {
                return None;
            }
            let width = |nodes: &[usize], ports: fn(&Topology, usize) -> &[usize]| -> usize {
                nodes.iter().map(|node| ports(self.topology, *node).len()).sum()
            };
            let (out, back) = (width(near.edge(), Topology::leaving), width(far.edge(), Topology::entering));
            let (ball, other, forwards) =
                if out <= back { (&mut near, &far, true) } else { (&mut far, &near, false) };
            let seen = 1 + out.min(back) + ball.edge().len();
            *left = left.saturating_sub(seen);
            work.charge_each(seen)?;
            if *left == 0 {
                return None;
            }
            self.grow(ball, forwards);
            let met: Vec<usize> =
                ball.edge().iter().filter(|node| other.distance.contains_key(*node)).copied().collect();
            if !met.is_empty() {
                break met;
            }
        };
        self.back_from_end(&near, &far, middle, left, work)
    }

    /// One more layer.
    fn grow(&self, ball: &mut Ball, forwards: bool) {
        let mut layer = Vec::new();
        let distance = ball.layers.len();
        for node in ball.layers.last().into_iter().flatten() {
            let ports = if forwards { self.topology.leaving(*node) } else { self.topology.entering(*node) };
            for port in ports.iter().filter(|port| Some(**port) != self.without) {
                let Some((from, to)) = self.topology.links().get(*port) else { continue };
                let next = if forwards { *to } else { *from };
                if self.may_be_on_the_way(next) && !ball.distance.contains_key(&next) {
                    ball.distance.insert(next, distance);
                    layer.push(next);
                }
            }
        }
        layer.sort_unstable();
        ball.layers.push(layer);
    }

    fn may_be_on_the_way(&self, node: usize) -> bool {
        node == self.search.from || node == self.end || self.topology.passes(self.search, node)
    }

    /// Back from the destination by the least node of those that are one link nearer to the publisher. In the half of the
    /// destination those are the nodes to which a shortest way goes on from the middle.
    fn back_from_end(
        &self,
        near: &Ball,
        far: &Ball,
        middle: Vec<usize>,
        left: &mut usize,
        work: &Work,
    ) -> Option<Vec<usize>> {
        let from_middle = middle.iter().find_map(|node| near.distance.get(node)).copied()?;
        let to_end = middle.iter().find_map(|node| far.distance.get(node)).copied()?;
        // For each node on a shortest way behind the middle, how far it is from the publisher. Only ports are looked at that
        // have been: those of the middle itself may be many.
        let mut depth: BTreeMap<usize, usize> = middle.iter().map(|node| (*node, from_middle)).collect();
        for (distance, layer) in far.layers.iter().take(to_end).enumerate().rev() {
            let here = from_middle + to_end - distance;
            for node in layer {
                let ports = self.topology.entering(*node);
                *left = left.saturating_sub(1 + ports.len());
                work.charge_each(1 + ports.len())?;
                if self.before(*node).any(|(from, _)| depth.get(&from) == Some(&(here - 1))) {
                    depth.insert(*node, here);
                }
            }
        }
        let mut way = Vec::with_capacity(from_middle + to_end);
        let mut node = self.end;
        for before in (0..from_middle + to_end).rev() {
            let (from, port) = if before < from_middle {
                let layer = near.layers.get(before)?;
                layer.iter().find_map(|from| {
                    let ports = self.topology.leaving(*from);
                    work.charge_each(1 + ports.len())?;
                    let leads = |port: &&usize| {
                        Some(**port) != self.without
                            && self.topology.links().get(**port).is_some_and(|(_, to)| *to == node)
                    };
                    Some((*from, *ports.iter().find(leads)?))
                })?
            } else {
                work.charge_each(1 + self.topology.entering(node).len())?;
                self.before(node).filter(|(from, _)| depth.get(from) == Some(&before)).min()?
            };
            way.push(port);
            node = from;
        }
        Some(way)
    }

    /// The nodes from which ports lead to a node, and the ports.
    fn before(&self, node: usize) -> impl Iterator<Item = (usize, usize)> {
        let ports = self.topology.entering(node).iter().filter(|port| Some(**port) != self.without);
        ports.filter_map(|port| Some((self.topology.links().get(*port)?.0, *port)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A star of so many switches with a host each, around a switch.
    fn star(leaves: usize) -> Topology {
        let core = 2 * leaves;
        let links = (0..leaves).flat_map(|leaf| [(leaf, leaves + leaf), (leaves + leaf, core)]);
        let both = links.flat_map(|(one, other)| [(one, other), (other, one)]).collect();
        Topology::new(both, (0..=core).map(|node| node >= leaves).collect())
    }

    #[test]
    fn a_near_destination_is_found_without_a_look_at_the_rest() {
        let done = |leaves| {
            let work = Work::unlimited();
            let search = Search { from: 0, to: &[7], through: None, longest: 64, most: 1 };
            let trees = star(leaves).nearest_trees(&search, &work);
            assert_eq!(trees[0].hops.len(), 4);
            work.done()
        };
        assert_eq!(done(10_000), done(16));
    }

    #[test]
    fn no_way_is_longer_than_the_longest() {
        let ways = |longest| {
            let search = Search { from: 0, to: &[7], through: None, longest, most: 1 };
            star(16).nearest_trees(&search, &Work::unlimited()).len()
        };
        assert_eq!([ways(3), ways(4)], [0, 1]);
    }

    #[test]
    fn only_what_may_forward_is_passed() {
        let found = |through: &[usize]| {
            let search = Search { from: 0, to: &[7], through: Some(through), longest: 64, most: 4 };
            star(16).nearest_trees(&search, &Work::unlimited()).len()
        };
        assert_eq!([found(&[16, 23, 32]), found(&[16, 32]), found(&[])], [1, 0, 0]);
    }
}
