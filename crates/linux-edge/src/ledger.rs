//! The ledger of the ports inside a domain: what aggregates hold of the ceilings of their classes.
use std::collections::BTreeMap;

use wan::{AggregateId, Class, Demand, Place};

use crate::budget::{Budget, allowed, port_delay, wire};
use crate::domain::{ALL, Domain};
use crate::routes::{PortId, Routes};

/// Nanoseconds in a second, eight times: from bits per second to bytes.
const BYTE_TIME: u128 = 8_000_000_000;

/// What is taken of a port, on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Load {
    /// Bits per second.
    pub rate: u64,
    /// Bytes at once.
    pub burst: u64,
}

/// The ways of a demand through the domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ways {
    /// Each port that it may use, with the nanoseconds by which the delay before its queue varies at most.
    pub ports: BTreeMap<PortId, u64>,
    /// Over the slowest of them, and the one that loses most.
    pub budget: Budget,
}

/// What an aggregate holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What was reserved.
    pub demand: Demand,
    loads: BTreeMap<PortId, Load>,
}

/// Why something does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Short {
    /// Bits per second that are missing.
    pub missing: u64,
    /// Bits per second that this aggregate could have; 0 if bursts or the way are the reason.
    pub offer: u64,
}

/// All that is held.
#[derive(Clone, Debug)]
pub struct Ledger {
    routes: Routes,
    delays: BTreeMap<(PortId, Class), u64>,
    held: BTreeMap<AggregateId, Entry>,
    sums: BTreeMap<(PortId, Class), Load>,
}

/// After a delay that varied by so many nanoseconds.
fn after(load: Load, jitter: u64) -> Load {
    let more = (u128::from(load.rate) * u128::from(jitter)).div_ceil(BYTE_TIME);
    let burst = u64::try_from(more).map_or(u64::MAX, |more| load.burst.saturating_add(more));
    Load { burst, ..load }
}

impl Ledger {
    /// An empty one.
    pub fn new(domain: &Domain) -> Self {
        let core = (0..domain.links.len()).flat_map(|link| [PortId::Core(link, 0), PortId::Core(link, 1)]);
        let ports = core.chain((0..domain.edges.len()).map(PortId::Edge));
        let mut delays = BTreeMap::new();
        for port in ports {
            for class in [Class::Ef, Class::Af4, Class::Af1] {
                let delay = wire(domain, port).and_then(|wire| port_delay(domain, &wire, class));
                delays.extend(delay.map(|delay| ((port, class), delay)));
            }
        }
        Self { routes: Routes::new(domain), delays, held: BTreeMap::new(), sums: BTreeMap::new() }
    }

    /// The routes inside.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// What is held by an aggregate.
    pub fn held(&self, aggregate: AggregateId) -> Option<&Entry> {
        self.held.get(&aggregate)
    }

    /// The sum of what a class holds of a port.
    pub fn sum(&self, port: PortId, class: Class) -> Load {
        self.sums.get(&(port, class)).copied().unwrap_or_default()
    }

    /// All ways between two places, and the budget that holds on each of them. `None` if there is none, or one has no bound.
    ///
    /// The port of a border link counts what it carries on the wire, which the manager does not know. Its delay is in the agreement.
    pub fn ways(&self, domain: &Domain, from: Place, to: Place, class: Class) -> Option<Ways> {
        let routers = |place: Place| -> Option<Vec<(usize, PortId)>> {
            match place {
                Place::Border(link) => {
                    let at = domain.borders.iter().position(|border| border.link == link)?;
                    Some(vec![(domain.borders.get(at)?.end.router, PortId::Border(at))])
                }
                Place::Edges => {
                    let edges = domain.edges.iter().enumerate();
                    Some(edges.map(|(at, edge)| (edge.router, PortId::Edge(at))).collect())
                }
            }
        };
        let (mut ports, mut most, mut least, mut loss) = (BTreeMap::new(), None, u64::MAX, 0_u32);
        for (begins, _) in routers(from)? {
            for (ends, last) in routers(to)? {
                let mut path = self.routes.path(domain, begins, ends)?;
                path.push(last);
                // What varies: the work of each router, the queues, and accesses. What does not: the way over the links.
                let (mut varies, mut fixed, mut lost) = (0_u64, 0_u64, 0_u32);
                for port in path {
                    varies = varies.checked_add(domain.processing)?;
                    let before = ports.entry(port).or_insert(0_u64);
                    *before = varies.max(*before);
                    if !matches!(port, PortId::Border(_)) {
                        varies = varies.checked_add(*self.delays.get(&(port, class))?)?;
                        fixed = fixed.checked_add(wire(domain, port)?.propagation)?;
                    }
                    if let PortId::Core(link, _) = port {
                        let link = domain.links.get(link)?;
                        varies = varies.checked_add(link.jitter())?;
                        // The sum is never less than what is lost, however accesses depend on each other.
                        lost = lost.saturating_add(link.loss()).min(ALL);
                    }
                }
                most = most.max(Some(varies.checked_add(fixed)?));
                least = least.min(fixed);
                loss = loss.max(lost);
            }
        }
        let delay = most?;
        Some(Ways { ports, budget: Budget { delay, jitter: delay.checked_sub(least)?, loss } })
    }

    /// What is free for an aggregate beside the others, in bits per second of what it demands otherwise.
    pub fn free(&self, domain: &Domain, ways: &Ways, demand: &Demand, except: Option<AggregateId>) -> u64 {
        let own = except.and_then(|aggregate| self.held.get(&aggregate));
        let of_port = |port: &PortId| {
            let (wire, ceiling) = (wire(domain, *port)?, domain.ceilings.get(&demand.class)?);
            let own = own.and_then(|own| own.loads.get(port)).map_or(0, |load| load.rate);
            let taken = self.sum(*port, demand.class).rate.saturating_sub(own);
            Some(allowed(&wire, ceiling).0.saturating_sub(taken))
        };
        let least = ways.ports.keys().map(|port| of_port(port).unwrap_or(0)).min();
        // Without a port nothing inside is the limit.
        let Some(wire) = least else { return u64::MAX };
        domain.policing.offer(wire, demand, domain.processing)
    }

    /// Holds a demand in place of what the aggregate held, and as much as policers let through of its flows if that is more. What takes no
    /// more of any port than before is never refused.
    ///
    /// # Errors
    /// What is missing; nothing has changed then.
    pub fn reserve(
        &mut self,
        domain: &Domain,
        aggregate: AggregateId,
        demand: &Demand,
        flows: Load,
    ) -> Result<Budget, Short> {
        let nothing = Short { missing: demand.rate, offer: 0 };
        let possible = demand.class == aggregate.class && demand.least_packet <= demand.largest_packet;
        if !possible || !domain.ceilings.contains_key(&demand.class) {
            return Err(nothing);
        }
        let largest = u64::from(demand.largest_packet) + domain.policing.tunnel();
        let ways = self.ways(domain, demand.from, demand.to, demand.class).ok_or(nothing)?;
        let load = domain.policing.on_wire(demand, domain.processing);
        let load = Load { rate: load.rate.max(flows.rate), burst: load.burst.max(flows.burst) };
        let loads: BTreeMap<PortId, Load> =
            ways.ports.iter().map(|(port, jitter)| (*port, after(load, *jitter))).collect();
        let own = self.held.get(&aggregate);
        for (port, load) in &loads {
            let (wire, ceiling) =
                wire(domain, *port).zip(domain.ceilings.get(&demand.class)).ok_or(nothing)?;
            let before = own.and_then(|own| own.loads.get(port)).copied().unwrap_or_default();
            if load.rate <= before.rate && load.burst <= before.burst {
                continue;
            }
            let sum = self.sum(*port, demand.class);
            let (rate, burst) = allowed(&wire, ceiling);
            if largest > u64::from(wire.mtu) || (sum.burst - before.burst).saturating_add(load.burst) > burst
            {
                return Err(nothing);
            }
            if (sum.rate - before.rate).saturating_add(load.rate) > rate {
                let free = self.free(domain, &ways, demand, Some(aggregate));
                let offer = free.min(demand.rate.saturating_sub(1));
                return Err(Short { missing: demand.rate - offer, offer });
            }
        }
        self.release(aggregate);
        for (port, load) in &loads {
            let sum = self.sums.entry((*port, demand.class)).or_default();
            sum.rate = sum.rate.saturating_add(load.rate);
            sum.burst = sum.burst.saturating_add(load.burst);
        }
        self.held.insert(aggregate, Entry { demand: *demand, loads });
        Ok(ways.budget)
    }

    /// Holds it no more.
    pub fn release(&mut self, aggregate: AggregateId) {
        let Some(entry) = self.held.remove(&aggregate) else { return };
        for (port, load) in &entry.loads {
            if let Some(sum) = self.sums.get_mut(&(*port, entry.demand.class)) {
                sum.rate = sum.rate.saturating_sub(load.rate);
                sum.burst = sum.burst.saturating_sub(load.burst);
            }
        }
    }
}
