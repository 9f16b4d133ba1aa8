//! What has been promised: admission, removal, and refusals that say what would be possible.
//!
//! The contract of a flow at a port is its share, the delay that no frame of it exceeds there. Arrivals follow from
//! shares alone, so admission of a flow touches its own ports only: it tests every level there, gives new levels if it
//! must, and changes no arrival of another flow. Removal takes the flow's entries out and nothing else.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::backlog::{backlog_from, backlog_within};
use crate::bound::{level_bound, planned_bound};
use crate::levels::{NoLevels, assign_last, least_bound};
use crate::network::{Buffer, Flow, FlowError, Port};
use crate::order::verified_order;
use crate::path::{HopView, PathBound, fixed_latency, least_latency, path_bound, separation_at_subscriber};
use crate::policing::Enforcement;
use crate::port::Contender;
use crate::split::{Split, extras};

/// Names a flow; chosen by the caller.
pub type FlowId = u64;

/// A flow at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Which flow.
    pub flow: FlowId,
    /// Index of the hop in the flow's tree.
    pub hop: usize,
    /// What it offers to the port, and its level.
    pub contender: Contender,
    /// The delay that no frame of it exceeds here, in picoseconds.
    pub share: u64,
}

/// A flow that has been admitted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admitted {
    /// The flow.
    pub flow: Flow,
    /// Its shares at its hops, in picoseconds.
    pub shares: Vec<u64>,
    /// What is programmed where it enters the first switch.
    pub enforcement: Enforcement,
}

/// A flow that changes its level at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// Index of the port.
    pub port: usize,
    /// Which flow.
    pub flow: FlowId,
    /// Its level so far.
    pub from: u8,
    /// Its level after.
    pub to: u8,
}

/// What an admission does: nothing has happened before [`Ledger::commit`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Which flow.
    pub id: FlowId,
    /// The flow with its shares.
    pub admitted: Admitted,
    /// What it offers to each hop, with its level there.
    pub contenders: Vec<Contender>,
    /// Flows that change their levels, in an order in which every flow keeps its share after each step; before the
    /// flow itself begins.
    pub moves: Vec<Move>,
}

/// Why a flow is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The flow does not fit the model.
    Flow(FlowError),
    /// The identity is taken.
    Known,
    /// A flow would miss its share or limit.
    Delay {
        /// Index of the port.
        port: usize,
        /// The level there, 0 the lowest.
        level: u8,
        /// The flow that would miss.
        flow: FlowId,
        /// By how many picoseconds; `None` if it would have no bound at all.
        by: Option<u64>,
    },
    /// The port has too few queues.
    Queues {
        /// Index of the port.
        port: usize,
        /// Queues needed.
        needed: usize,
    },
    /// A buffer could overflow.
    Buffer {
        /// Index of the port.
        port: usize,
        /// The level there, or the lowest one if the buffer is shared.
        level: u8,
        /// Octets needed; `None` if there is no bound.
        needed: Option<u64>,
        /// Octets reserved.
        reserved: u64,
    },
    /// Flows would have to change their levels, and no order of that keeps all shares in between.
    Order {
        /// Index of the port.
        port: usize,
    },
    /// A subscriber may have to wait longer for the next message than it accepts.
    Separation {
        /// Index of the subscriber.
        subscriber: usize,
        /// By how many picoseconds; `None` if the writer promises no maximum separation.
        by: Option<u64>,
    },
}

/// What would be admitted instead. Each alternative has been tried.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Offer {
    /// The flow as asked for, with this maximum latency for every subscriber that asks for less, in picoseconds.
    pub latency: Option<u64>,
    /// The flow as asked for, with this minimum separation, in picoseconds.
    pub separation: Option<u64>,
}

/// A refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// What would be possible.
    pub offer: Offer,
}

/// All ports with the flows that have been promised something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ledger {
    ports: Vec<Port>,
    entries: Vec<Vec<Entry>>,
    flows: BTreeMap<FlowId, Admitted>,
    split: Split,
}

impl Ledger {
    /// A network without flows.
    pub fn new(ports: Vec<Port>, split: Split) -> Self {
        let entries = ports.iter().map(|_| Vec::new()).collect();
        Self { ports, entries, flows: BTreeMap::new(), split }
    }

    /// The ports.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// How slack is shared out.
    pub fn split(&self) -> Split {
        self.split
    }

    /// The flows at a port, in the order of their identities.
    pub fn entries(&self, port: usize) -> &[Entry] {
        self.entries.get(port).map_or(&[], Vec::as_slice)
    }

    /// An admitted flow.
    pub fn flow(&self, id: FlowId) -> Option<&Admitted> {
        self.flows.get(&id)
    }

    /// Whether and how the flow can be admitted; a refusal says what could be instead.
    pub fn plan(&self, id: FlowId, flow: &Flow) -> Result<Plan, Refusal> {
        self.plan_as_asked(id, flow)
            .map_err(|reason| Refusal { reason, offer: crate::offer::offer(self, id, flow, reason) })
    }

    /// Whether and how the flow can be admitted, without looking for an alternative.
    pub fn plan_as_asked(&self, id: FlowId, flow: &Flow) -> Result<Plan, Reason> {
        if self.flows.contains_key(&id) {
            return Err(Reason::Known);
        }
        flow.check(&self.ports).map_err(Reason::Flow)?;
        let tight = self.tight_shares(id, flow)?;
        let slacks = self.slacks(id, flow, &tight)?;
        let loads: Vec<u64> = flow.tree.iter().map(|hop| self.load(hop.port)).collect();
        let mut refusal = None;
        for split in [self.split, Split::Last] {
            let extra = extras(flow, &slacks, &loads, split);
            let shares: Vec<u64> =
                tight.iter().zip(extra).map(|(share, extra)| share.saturating_add(extra)).collect();
            match self.with_shares(id, flow, &shares) {
                Ok(plan) => return Ok(plan),
                Err(reason) => refusal = Some(reason),
            }
        }
        Err(refusal.unwrap_or(Reason::Flow(FlowError::Number)))
    }

    /// Admits what has been planned on this state of the ledger.
    ///
    /// False, and nothing done, if the state is another: a flow at one of the ports is not as the plan assumes.
    pub fn commit(&mut self, plan: Plan) -> bool {
        let current = self.with_shares(plan.id, &plan.admitted.flow, &plan.admitted.shares);
        if self.flows.contains_key(&plan.id) || current.as_ref() != Ok(&plan) {
            return false;
        }
        for Move { port, flow, to, .. } in &plan.moves {
            for entry in self.entries.get_mut(*port).into_iter().flatten().filter(|entry| entry.flow == *flow)
            {
                entry.contender.level = *to;
            }
        }
        let Plan { id, admitted, contenders, .. } = plan;
        for (hop, contender) in contenders.into_iter().enumerate() {
            let place = admitted.flow.tree.get(hop).and_then(|hop| self.entries.get_mut(hop.port));
            let share = admitted.shares.get(hop);
            if let (Some(entries), Some(share)) = (place, share) {
                let at = entries.partition_point(|entry| entry.flow < id);
                entries.insert(at, Entry { flow: id, hop, contender, share: *share });
            }
        }
        self.flows.insert(id, admitted);
        true
    }

    /// Takes a flow out: the exact inverse of its admission, except that others keep the levels they were given.
    pub fn remove(&mut self, id: FlowId) -> Option<Admitted> {
        let admitted = self.flows.remove(&id)?;
        for hop in &admitted.flow.tree {
            if let Some(entries) = self.entries.get_mut(hop.port) {
                entries.retain(|entry| entry.flow != id);
            }
        }
        Some(admitted)
    }

    /// The present bound of an admitted flow for each of its subscribers: at most their limits, and less as long as
    /// shares are not used up.
    pub fn bounds(&self, id: FlowId) -> Option<Vec<PathBound>> {
        let admitted = self.flows.get(&id)?;
        let mut bounds = Vec::new();
        for subscriber in &admitted.flow.subscribers {
            let way = admitted.flow.way_to(subscriber.hop);
            let ports: Vec<usize> =
                way.iter().filter_map(|hop| admitted.flow.tree.get(*hop)).map(|hop| hop.port).collect();
            let contenders: Vec<Vec<Contender>> = ports
                .iter()
                .map(|port| self.entries(*port).iter().map(|entry| entry.contender).collect())
                .collect();
            let mut views = Vec::new();
            for (port, contenders) in ports.iter().zip(&contenders) {
                let index = self.entries(*port).iter().position(|entry| entry.flow == id)?;
                let port = self.ports.get(*port)?;
                let delay = level_bound(&port.server(), contenders, contenders.get(index)?.level)?.delay;
                views.push(HopView { port, server: port.server(), contenders, index, delay });
            }
            bounds.push(path_bound(&admitted.flow, &views)?);
        }
        Some(bounds)
    }

    /// The flow that misses, if the shares of all flows at a port are not kept; for audits and tests.
    pub fn audit(&self, port: usize) -> Result<(), FlowId> {
        let entries = self.entries(port);
        let contenders: Vec<Contender> = entries.iter().map(|entry| entry.contender).collect();
        for entry in entries {
            let server = self.ports.get(port).map(Port::planning_server);
            let bound = server.and_then(|server| planned_bound(&server, &contenders, entry.contender.level));
            if bound.is_none_or(|bound| bound.delay > entry.share) {
                return Err(entry.flow);
            }
        }
        Ok(())
    }

    /// The least shares with which the flow could be admitted, hop by hop.
    fn tight_shares(&self, id: FlowId, flow: &Flow) -> Result<Vec<u64>, Reason> {
        let mut shares = Vec::with_capacity(flow.tree.len());
        for index in 0..flow.tree.len() {
            let contenders = flow.contenders(&self.ports, &shares).map_err(Reason::Flow)?;
            let contender = *contenders.get(index).ok_or(Reason::Flow(FlowError::Number))?;
            shares.push(self.least_share(id, flow, index, contender)?);
        }
        Ok(shares)
    }

    fn least_share(&self, id: FlowId, flow: &Flow, index: usize, new: Contender) -> Result<u64, Reason> {
        let behind =
            flow.subscribers.iter().filter(|subscriber| flow.way_to(subscriber.hop).contains(&index));
        let limit = behind.map(|subscriber| subscriber.limit).min().unwrap_or(u64::MAX);
        let port_index = flow.tree.get(index).map_or(0, |hop| hop.port);
        let port = self.ports.get(port_index).ok_or(Reason::Flow(FlowError::Port { hop: index }))?;
        let (mut contenders, mut limits) = self.at(port_index);
        contenders.push(new);
        limits.push(limit);
        least_bound(&port.planning_server(), &contenders, &limits, port.queues)
            .map_err(|refused| self.reason(port_index, id, refused))
    }

    /// For each subscriber, what its limit leaves beyond the least shares.
    fn slacks(&self, id: FlowId, flow: &Flow, tight: &[u64]) -> Result<Vec<u64>, Reason> {
        let mut slacks = Vec::with_capacity(flow.subscribers.len());
        for (index, subscriber) in flow.subscribers.iter().enumerate() {
            let way = flow.way_to(subscriber.hop);
            let ports = || {
                way.iter().filter_map(|hop| flow.tree.get(*hop)).filter_map(|hop| self.ports.get(hop.port))
            };
            let sum = way.iter().try_fold(fixed_latency(flow, ports()), |sum, hop| {
                Some(sum.and_then(|sum| sum.checked_add(*tight.get(*hop)?)))
            });
            let sum = sum.flatten().ok_or(Reason::Flow(FlowError::Number))?;
            let slowest = way.iter().max_by_key(|hop| tight.get(**hop)).and_then(|hop| flow.tree.get(*hop));
            let port = slowest.map_or(0, |hop| hop.port);
            let slack = subscriber.limit.checked_sub(sum).ok_or_else(|| Reason::Delay {
                port,
                level: self.entries(port).iter().map(|entry| entry.contender.level + 1).max().unwrap_or(0),
                flow: id,
                by: Some(sum.saturating_sub(subscriber.limit)),
            })?;
            if let Some(accepted) = subscriber.maximum_separation {
                let least = least_latency(flow, ports()).ok_or(Reason::Flow(FlowError::Number))?;
                // The promise is the limit, so the latency may vary up to it.
                let separation = flow
                    .maximum_separation
                    .and_then(|writer| separation_at_subscriber(writer, subscriber.limit, least));
                if separation.is_none_or(|separation| separation > accepted) {
                    let by = separation.map(|separation| separation - accepted);
                    return Err(Reason::Separation { subscriber: index, by });
                }
            }
            slacks.push(slack);
        }
        Ok(slacks)
    }

    fn with_shares(&self, id: FlowId, flow: &Flow, shares: &[u64]) -> Result<Plan, Reason> {
        let mut contenders = flow.contenders(&self.ports, shares).map_err(Reason::Flow)?;
        let first = shares.first().copied().unwrap_or(0);
        let enforcement = flow.enforcement(&self.ports, first).map_err(Reason::Flow)?;
        let mut moves = Vec::new();
        for ((hop, contender), share) in flow.tree.iter().zip(&mut contenders).zip(shares) {
            let port = self.ports.get(hop.port).ok_or(Reason::Flow(FlowError::Number))?;
            let (mut all, mut limits) = self.at(hop.port);
            all.push(*contender);
            limits.push(*share);
            let levels = assign_last(&port.planning_server(), &all, &limits, port.queues)
                .map_err(|refused| self.reason(hop.port, id, refused))?;
            all.iter_mut().zip(&levels).for_each(|(flow, level)| flow.level = *level);
            self.fits(hop.port, port, &all)?;
            if let Some(last) = all.last() {
                contender.level = last.level;
            }
            moves.extend(self.steps(hop.port, port, &levels)?);
        }
        let admitted = Admitted { flow: flow.clone(), shares: shares.to_vec(), enforcement };
        Ok(Plan { id, admitted, contenders, moves })
    }

    /// The moves of a port's flows to new levels, in an order in which all shares are kept.
    fn steps(&self, index: usize, port: &Port, levels: &[u8]) -> Result<Vec<Move>, Reason> {
        let entries = self.entries(index);
        let moves: Vec<Move> = entries
            .iter()
            .zip(levels)
            .map(|(entry, to)| Move { port: index, flow: entry.flow, from: entry.contender.level, to: *to })
            .filter(|step| step.from != step.to)
            .collect();
        if moves.is_empty() {
            return Ok(moves);
        }
        let flows: Vec<FlowId> = entries.iter().map(|entry| entry.flow).collect();
        let (contenders, shares) = self.at(index);
        verified_order(&port.planning_server(), &flows, &contenders, &shares, &moves)
            .ok_or(Reason::Order { port: index })
    }

    /// Whether buffers hold what the queues may hold.
    fn fits(&self, index: usize, port: &Port, contenders: &[Contender]) -> Result<(), Reason> {
        let mut levels: Vec<u8> = contenders.iter().map(|flow| flow.level).collect();
        levels.sort_unstable();
        levels.dedup();
        let (levels, reserved) = match port.buffer {
            Buffer::Shared(reserved) => (levels.first().map_or(&[][..], core::slice::from_ref), reserved),
            Buffer::PerQueue(reserved) => (levels.as_slice(), reserved),
        };
        // With the blocking of the plan, so that the answer does not depend on how others are placed.
        let server = port.planning_server();
        for level in levels {
            let from = backlog_from(&server, contenders, *level);
            let within = match port.buffer {
                Buffer::Shared(_) => None,
                Buffer::PerQueue(_) => planned_bound(&server, contenders, *level)
                    .and_then(|bound| backlog_within(&server, contenders, *level, bound.delay)),
            };
            let needed = from.into_iter().chain(within).min().map(|bits| bits.div_ceil(8));
            if needed.is_none_or(|needed| needed > reserved) {
                return Err(Reason::Buffer { port: index, level: *level, needed, reserved });
            }
        }
        Ok(())
    }

    /// The flows of a port and their shares.
    fn at(&self, port: usize) -> (Vec<Contender>, Vec<u64>) {
        self.entries(port).iter().map(|entry| (entry.contender, entry.share)).unzip()
    }

    /// Rates of the flows at a port, in bits per second.
    fn load(&self, port: usize) -> u64 {
        self.entries(port)
            .iter()
            .fold(0, |sum, entry| sum.saturating_add(entry.contender.arrival.rate().unwrap_or(u64::MAX)))
    }

    fn reason(&self, port: usize, id: FlowId, refused: NoLevels) -> Reason {
        match refused {
            NoLevels::Missed { flow, level, by } => {
                let flow = self.entries(port).get(flow).map_or(id, |entry| entry.flow);
                Reason::Delay { port, level, flow, by }
            }
            NoLevels::TooFewQueues { needed } => Reason::Queues { port, needed },
            NoLevels::Input => Reason::Flow(FlowError::Number),
        }
    }
}
