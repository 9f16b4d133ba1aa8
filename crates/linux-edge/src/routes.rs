//! The routes inside a domain: one for each pair of routers, fixed by the description alone.
use std::collections::BTreeSet;

use crate::domain::Domain;

/// A port by which traffic leaves a router.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PortId {
    /// From one end of a core link: its place, and which end sends.
    Core(usize, usize),
    /// Toward hosts, by the place of the edge.
    Edge(usize),
    /// Toward a neighbour, by the place of the border link.
    Border(usize),
}

/// Next ports of all pairs of routers.
#[derive(Clone, Debug)]
pub struct Routes {
    /// For each destination, for each router: the core port toward it.
    next: Vec<Vec<Option<PortId>>>,
}

impl Routes {
    /// Routes with the least propagation, then the fewest hops, then by the order of the description.
    pub fn new(domain: &Domain) -> Self {
        let count = domain.routers.len();
        let next = (0..count).map(|destination| toward(domain, destination, count)).collect();
        Self { next }
    }

    /// The core port from a router toward another.
    pub fn next(&self, from: usize, to: usize) -> Option<PortId> {
        self.next.get(to)?.get(from).copied().flatten()
    }

    /// The core ports from a router to another, in order; `None` if there is no way.
    pub fn path(&self, domain: &Domain, from: usize, to: usize) -> Option<Vec<PortId>> {
        let (mut at, mut path) = (from, Vec::new());
        while at != to {
            let port = self.next(at, to)?;
            let PortId::Core(link, end) = port else { return None };
            at = domain.links.get(link)?.ends.get(1 - end)?.router;
            path.push(port);
            if path.len() > domain.routers.len() {
                return None;
            }
        }
        Some(path)
    }
}

/// From the destination outward.
fn toward(domain: &Domain, destination: usize, count: usize) -> Vec<Option<PortId>> {
    let mut next = vec![None; count];
    let mut best = vec![(u64::MAX, u64::MAX); count];
    let mut open = BTreeSet::from([((0, 0), destination)]);
    if let Some(best) = best.get_mut(destination) {
        *best = (0, 0);
    }
    while let Some((cost, at)) = open.pop_first() {
        for (place, link) in domain.links.iter().enumerate() {
            for (sends, end) in link.ends.iter().enumerate() {
                if link.ends[1 - sends].router != at {
                    continue;
                }
                let further = (cost.0 + link.wire.propagation, cost.1 + 1);
                if best.get(end.router).is_some_and(|known| further < *known) {
                    best[end.router] = further;
                    next[end.router] = Some(PortId::Core(place, sends));
                    open.insert((further, end.router));
                }
            }
        }
    }
    next
}
