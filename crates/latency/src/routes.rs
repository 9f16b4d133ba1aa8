//! Which way a flow may take: trees of least cost from its publisher, and others that avoid a link of these.
use alloc::collections::{BTreeMap, BTreeSet, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::nearest::{self, Nearest};
use crate::network::Hop;
use crate::work::Work;

/// Ports of a tree without which another tree is looked for: those nearest to the publisher.
const AVOIDED: usize = 64;

/// Which nodes the ports connect. Hosts do not forward.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Topology {
    links: Vec<(usize, usize)>,
    forwards: Vec<bool>,
    /// For each node, the ports that leave it.
    leaving: Vec<Vec<usize>>,
    /// For each node, the ports that lead to it.
    entering: Vec<Vec<usize>>,
}

/// A way to all subscribers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    /// The publisher's port first.
    pub hops: Vec<Hop>,
    /// For each destination, the index of its last hop.
    pub ends: Vec<usize>,
}

/// What trees are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Search<'s> {
    /// The publisher's node.
    pub from: usize,
    /// The subscribers' nodes.
    pub to: &'s [usize],
    /// The nodes that may forward, in order; all that do if there is no such list.
    pub through: Option<&'s [usize]>,
    /// Ports of a way, at most.
    pub longest: usize,
    /// Trees, at most.
    pub most: usize,
}

impl Topology {
    /// For each port of the network, the node that it belongs to and the node that it leads to; for each node, whether it
    /// forwards. A port of a node that does not exist leads nowhere.
    pub fn new(links: Vec<(usize, usize)>, forwards: Vec<bool>) -> Self {
        let mut leaving: Vec<Vec<usize>> = alloc::vec![Vec::new(); forwards.len()];
        let mut entering = leaving.clone();
        for (port, (from, to)) in links.iter().enumerate() {
            if let (Some(leaving), Some(entering)) = (leaving.get_mut(*from), entering.get_mut(*to)) {
                leaving.push(port);
                entering.push(port);
            }
        }
        Self { links, forwards, leaving, entering }
    }

    /// For each port, the node that it belongs to and the node that it leads to.
    pub fn links(&self) -> &[(usize, usize)] {
        &self.links
    }

    /// The ports that leave a node, in order.
    pub fn leaving(&self, node: usize) -> &[usize] {
        self.leaving.get(node).map_or(&[], Vec::as_slice)
    }

    /// The ports that lead to a node, in order.
    pub(crate) fn entering(&self, node: usize) -> &[usize] {
        self.entering.get(node).map_or(&[], Vec::as_slice)
    }

    /// Trees from `from` to all of `to`, the cheapest first, at most `most`; none if one of them cannot be reached, is
    /// `from` itself, or does not exist. `costs` are those of the ports, each at least 1, which it is where none is given.
    ///
    /// The first is the tree of shortest ways; each other one is that without one of its ports between switches. So two
    /// ways that differ in any link are found where there are two, unless they differ only behind many others.
    pub fn trees(&self, from: usize, to: &[usize], costs: &[u64], most: usize) -> Vec<Tree> {
        let search = Search { from, to, through: None, longest: usize::MAX, most };
        self.search(&search, costs, &Work::unlimited())
    }

    /// The same where every port costs 1, for searches that are limited.
    pub fn nearest_trees(&self, search: &Search<'_>, work: &Work) -> Vec<Tree> {
        self.search(search, &[], work)
    }

    fn search(&self, search: &Search<'_>, costs: &[u64], work: &Work) -> Vec<Tree> {
        let Some(first) = self.tree(search, costs, None, work) else { return Vec::new() };
        let mut trees = alloc::vec![first];
        let ports: Vec<usize> = trees
            .iter()
            .flat_map(|tree| tree.hops.iter().map(|hop| hop.port))
            .filter(|port| {
                self.links.get(*port).is_some_and(|link| self.forward(link.0) && self.forward(link.1))
            })
            .take(AVOIDED)
            .collect();
        for without in ports {
            if trees.len() >= search.most {
                break;
            }
            if let Some(tree) = self.tree(search, costs, Some(without), work)
                && !trees.contains(&tree)
            {
                trees.push(tree);
            }
        }
        trees.truncate(search.most);
        trees
    }

    fn forward(&self, node: usize) -> bool {
        self.forwards.get(node).copied().unwrap_or(false)
    }

    /// Whether a node forwards, and may.
    pub(crate) fn passes(&self, search: &Search<'_>, node: usize) -> bool {
        self.forward(node) && search.through.is_none_or(|through| through.binary_search(&node).is_ok())
    }

    fn tree(&self, search: &Search<'_>, costs: &[u64], without: Option<usize>, work: &Work) -> Option<Tree> {
        let ways = if costs.is_empty() {
            match nearest::ways(self, search, without, work) {
                Nearest::Ways(ways) => ways,
                Nearest::None => return None,
                Nearest::TooFar => self.ways(search, &self.reach_by_fewest(search, without, work)?)?,
            }
        } else {
            self.ways(search, &self.reach(search.from, search.to, costs, without)?)?
        };
        // The ports of all ways, those near the publisher first.
        let mut used: Vec<(usize, usize)> = Vec::new();
        let mut known = BTreeSet::new();
        for way in ways {
            work.charge_each(way.len())?;
            for (depth, port) in way.into_iter().rev().enumerate() {
                if known.insert(port) {
                    used.push((depth, port));
                }
            }
        }
        used.sort_by_key(|(depth, _)| *depth);
        // Of a publisher with several ports only one may send: a flow has one first hop.
        if used.iter().filter(|(depth, _)| *depth == 0).count() != 1 {
            return None;
        }
        let mut hop_to: BTreeMap<usize, usize> = BTreeMap::new();
        for (index, (_, port)) in used.iter().enumerate() {
            hop_to.entry(self.links.get(*port)?.1).or_insert(index);
        }
        let at = |node: usize| hop_to.get(&node).copied();
        let hops = used
            .iter()
            .map(|(_, port)| Some(Hop { port: *port, parent: at(self.links.get(*port)?.0) }))
            .collect::<Option<Vec<_>>>()?;
        let ends = search.to.iter().map(|end| at(*end)).collect::<Option<_>>()?;
        Some(Tree { hops, ends })
    }

    /// For each destination, the ports from it back to the publisher.
    fn ways(&self, search: &Search<'_>, reached: &[Option<usize>]) -> Option<Vec<Vec<usize>>> {
        let way = |end: &usize| {
            let mut node = *end;
            let mut way = Vec::new();
            while node != search.from {
                let port = (*reached.get(node)?)?;
                way.push(port);
                node = self.links.get(port)?.0;
            }
            (!way.is_empty() && way.len() <= search.longest).then_some(way)
        };
        search.to.iter().map(way).collect()
    }

    /// As [`Self::reach`] where every port costs the same, which takes a tenth of the time: link by link from `from`, nodes
    /// with smaller numbers first.
    fn reach_by_fewest(
        &self,
        search: &Search<'_>,
        without: Option<usize>,
        work: &Work,
    ) -> Option<Vec<Option<usize>>> {
        let (from, to) = (search.from, search.to);
        work.charge_each(self.forwards.len() / 16)?;
        let mut reached: Vec<Option<usize>> = alloc::vec![None; self.forwards.len()];
        let mut wanted = alloc::vec![false; self.forwards.len()];
        for end in to {
            *wanted.get_mut(*end)? = true;
        }
        let mut missing = wanted.iter().filter(|wanted| **wanted).count();
        let mut level = alloc::vec![from];
        let mut next_level = Vec::new();
        let mut depth = 0;
        while missing > 0 && !level.is_empty() && depth < search.longest {
            depth += 1;
            for node in level.drain(..) {
                work.charge_each(1 + self.leaving(node).len())?;
                for port in self.leaving(node).iter().filter(|port| Some(**port) != without) {
                    let next = self.links.get(*port)?.1;
                    let is_wanted = *wanted.get(next)?;
                    // A host that is not asked for leads nowhere.
                    if next == from
                        || reached.get(next)?.is_some()
                        || !(is_wanted || self.passes(search, next))
                    {
                        continue;
                    }
                    *reached.get_mut(next)? = Some(*port);
                    missing -= usize::from(is_wanted);
                    if self.passes(search, next) {
                        next_level.push(next);
                    }
                }
            }
            next_level.sort_unstable();
            core::mem::swap(&mut level, &mut next_level);
        }
        Some(reached)
    }

    /// For each node up to the last of `to`, the port by which it is reached at the least cost (Dijkstra).
    fn reach(
        &self,
        from: usize,
        to: &[usize],
        costs: &[u64],
        without: Option<usize>,
    ) -> Option<Vec<Option<usize>>> {
        let nodes = self.forwards.len();
        let mut missing = to.iter().collect::<BTreeSet<_>>().len();
        let wanted: BTreeSet<usize> = to.iter().copied().collect();
        let mut reached: Vec<Option<usize>> = alloc::vec![None; nodes];
        let mut best: Vec<u64> = alloc::vec![u64::MAX; nodes];
        *best.get_mut(from)? = 0;
        let mut waiting = BinaryHeap::from([(Reverse(0_u64), Reverse(from))]);
        while let Some((Reverse(cost), Reverse(node))) = waiting.pop() {
            if best.get(node).is_none_or(|best| *best < cost) {
                continue;
            }
            missing -= usize::from(wanted.contains(&node));
            if missing == 0 {
                break;
            }
            if node != from && !self.forward(node) {
                continue;
            }
            for port in self.leaving.get(node)?.iter().filter(|port| Some(**port) != without) {
                let next = self.links.get(*port)?.1;
                let cost = cost.saturating_add(costs.get(*port).copied().unwrap_or(1).max(1));
                if best.get(next).is_some_and(|best| cost < *best) {
                    *best.get_mut(next)? = cost;
                    *reached.get_mut(next)? = Some(*port);
                    waiting.push((Reverse(cost), Reverse(next)));
                }
            }
        }
        Some(reached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts 0, 1 and 2 at switches 3, 4 and 5 of a triangle.
    fn triangle() -> Topology {
        let pairs = [(0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (3, 5)];
        let links = pairs.into_iter().flat_map(|(one, other)| [(one, other), (other, one)]).collect();
        Topology::new(links, alloc::vec![false, false, false, true, true, true])
    }

    fn ports(tree: &Tree) -> Vec<usize> {
        tree.hops.iter().map(|hop| hop.port).collect()
    }

    #[test]
    fn the_short_way_and_the_way_around() {
        let trees = triangle().trees(0, &[1], &[1; 12], 8);
        assert_eq!(trees.iter().map(ports).collect::<Vec<_>>(), [[0, 6, 3].to_vec(), [0, 10, 9, 3].to_vec()]);
        assert_eq!(trees[1].ends, [3]);
        assert_eq!(trees[1].hops[3].parent, Some(2));
    }

    #[test]
    fn without_costs_the_ways_are_those_of_equal_costs() {
        // Eight switches with a host each, connected by the bits of a number.
        for bits in 0..4_000_u64 {
            let mixed = bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
            let mut links: Vec<(usize, usize)> = (0..8).map(|host| (host, host + 8)).collect();
            let pairs = (8..16).flat_map(|one| (one + 1..16).map(move |other| (one, other)));
            links.extend(pairs.enumerate().filter(|(bit, _)| mixed >> bit & 1 == 1).map(|(_, pair)| pair));
            let both: Vec<_> =
                links.iter().flat_map(|(one, other)| [(*one, *other), (*other, *one)]).collect();
            let costs = alloc::vec![1; both.len()];
            let topology = Topology::new(both, (0..16).map(|node| node >= 8).collect());
            for to in [&[5][..], &[3, 7, 1]] {
                assert_eq!(topology.trees(0, to, &[], 4), topology.trees(0, to, &costs, 4), "{bits} {to:?}");
            }
        }
    }

    /// In networks that are larger than what is looked at, the ways from both ends are those link by link from one.
    #[test]
    fn near_ways_are_those_of_a_search_of_all() {
        let mut found = 0;
        for seed in 0..400_u64 {
            let mut state = seed;
            let mut random = |limit: usize| {
                state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
                (state >> 33) as usize % limit
            };
            // Switches 40 to 99, of which a few are connected twice; hosts 0 to 39.
            let mut pairs: Vec<(usize, usize)> = (0..40).map(|host| (host, 40 + random(60))).collect();
            pairs.extend((0..20 + random(120)).map(|_| (40 + random(60), 40 + random(60))));
            let both: Vec<_> =
                pairs.iter().flat_map(|(one, other)| [(*one, *other), (*other, *one)]).collect();
            let topology = Topology::new(both, (0..100).map(|node| node >= 40).collect());
            let without = Some(random(pairs.len() * 2));
            for to in 1..40 {
                let search = Search { from: 0, to: &[to], through: None, longest: 9, most: 1 };
                let work = Work::unlimited();
                let all = topology.reach_by_fewest(&search, without, &work).unwrap();
                let all = topology.ways(&search, &all);
                match nearest::ways(&topology, &search, without, &work) {
                    Nearest::Ways(ways) => assert_eq!(Some(ways), all, "seed {seed}, to {to}"),
                    Nearest::None => assert_eq!(None, all, "seed {seed}, to {to}"),
                    Nearest::TooFar => continue,
                }
                found += usize::from(all.is_some());
            }
        }
        assert!(found > 2_000, "{found}");
    }

    #[test]
    fn a_costly_link_is_avoided() {
        let mut costs = [1; 12];
        costs[6] = 5;
        assert_eq!(ports(&triangle().trees(0, &[1], &costs, 1)[0]), [0, 10, 9, 3]);
    }

    #[test]
    fn a_tree_shares_its_beginning() {
        let tree = &triangle().trees(0, &[1, 2], &[1; 12], 1)[0];
        assert_eq!(ports(tree), [0, 6, 10, 3, 5]);
        assert_eq!(tree.hops[1].parent, Some(0));
        assert_eq!(tree.hops[2].parent, Some(0));
        assert_eq!(tree.ends, [3, 4]);
    }

    #[test]
    fn hosts_do_not_forward_and_what_is_not_connected_has_no_way() {
        let topology = Topology::new(triangle().links, alloc::vec![false, false, false, true, false, true]);
        assert_eq!(topology.trees(0, &[1], &[1; 12], 8), []);
        assert_eq!(topology.trees(0, &[0], &[1; 12], 8), []);
        assert_eq!(topology.trees(0, &[9], &[1; 12], 8), []);
        assert_eq!(topology.trees(9, &[1], &[1; 12], 8), []);
    }
}
