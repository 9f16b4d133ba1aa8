//! What has been promised: admission, removal, and refusals that say what would be possible.
//!
//! The contract of a flow at a port is its share, the delay that no frame of it exceeds there. Arrivals follow from
//! shares alone, so admission of a flow touches its own ports only: it tests every level there, gives new levels if it
//! must, and changes no arrival of another flow. Removal takes the flow's entries out and nothing else.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::bound::{level_bound, planned_bound};
use crate::network::{Flow, FlowError, Port};
use crate::path::{HopView, PathBound, path_bound};
use crate::policing::Enforcement;
use crate::port::Contender;
use crate::register::Register;
use crate::split::Split;
use crate::work::Work;

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
    /// The first switch has no gate or meter left.
    Guards {
        /// Index of the publisher's port.
        port: usize,
    },
    /// A subscriber may have to wait longer for the next message than it accepts.
    Separation {
        /// Index of the subscriber.
        subscriber: usize,
        /// By how many picoseconds; `None` if the writer promises no maximum separation.
        by: Option<u64>,
    },
    /// The answer takes more work than the ledger may do: see [`Ledger::limit_work`].
    Work {
        /// Index of the port where it ran out.
        port: usize,
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
    registers: Vec<Register>,
    flows: BTreeMap<FlowId, Admitted>,
    split: Split,
    guards: Guards,
    work: Work,
}

/// How many gates or meters are left where flows enter the network.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Guards {
    /// For each port of a host that leads to a switch with a limit, which switch.
    switch_of: BTreeMap<usize, usize>,
    /// For each switch with a limit.
    left: BTreeMap<usize, u32>,
}

impl Ledger {
    /// A network without flows.
    pub fn new(ports: Vec<Port>, split: Split) -> Self {
        let registers = ports.iter().map(|port| Register::new(port.queues)).collect();
        let (flows, guards, work) = (BTreeMap::new(), Guards::default(), Work::unlimited());
        Self { ports, registers, flows, split, guards, work }
    }

    /// Plans, and what is asked of this ledger besides, take so many steps together; what takes more is refused with
    /// [`Reason::Work`]. A ledger has no limit at first.
    pub fn limit_work(&mut self, most: u64) {
        self.work = Work::limited(most);
    }

    /// The work that plans have been.
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// Limits the flows that are held to their contracts by the switch behind the ports of hosts; before any of them is
    /// admitted. Switches are named by any number.
    pub fn limit_guards(&mut self, switch: usize, ports_of_hosts: &[usize], guards: u32) {
        self.guards.left.insert(switch, guards);
        self.guards.switch_of.extend(ports_of_hosts.iter().map(|port| (*port, switch)));
    }

    /// How many gates or meters are left for a flow that begins at the port; `None` if there is no limit.
    pub fn guards_left(&self, port: usize) -> Option<u32> {
        self.guards.left.get(self.guards.switch_of.get(&port)?).copied()
    }

    /// The flows that use up the gates or meters which one that begins at the port needs.
    pub(crate) fn guarded_with(&self, port: usize) -> impl Iterator<Item = (FlowId, &Admitted)> {
        let switch = self.guards.switch_of.get(&port);
        let same = move |admitted: &Admitted| {
            let first = admitted.flow.tree.first().and_then(|hop| self.guards.switch_of.get(&hop.port));
            admitted.enforcement != Enforcement::Trust && first.is_some() && first == switch
        };
        self.flows.iter().filter(move |(_, admitted)| same(admitted)).map(|(id, admitted)| (*id, admitted))
    }

    fn use_guard(&mut self, admitted: &Admitted, change: impl Fn(u32) -> u32) {
        let switch = admitted.flow.tree.first().and_then(|hop| self.guards.switch_of.get(&hop.port));
        let policed = admitted.enforcement != Enforcement::Trust;
        if let Some(left) = switch.filter(|_| policed).and_then(|switch| self.guards.left.get_mut(switch)) {
            *left = change(*left);
        }
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
        self.registers.get(port).map_or(&[], Register::entries)
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

    /// Plans and admits at once; a refusal says what could be instead.
    pub fn admit(&mut self, id: FlowId, flow: &Flow) -> Result<Plan, Refusal> {
        let plan = self.plan(id, flow)?;
        self.enter(&plan);
        Ok(plan)
    }

    /// Plans and admits at once, without looking for an alternative.
    pub fn admit_as_asked(&mut self, id: FlowId, flow: &Flow) -> Result<Plan, Reason> {
        let plan = self.plan_as_asked(id, flow)?;
        self.enter(&plan);
        Ok(plan)
    }

    /// Admits what has been planned on this state of the ledger.
    ///
    /// False, and nothing done, if the state is another: a flow at one of the ports is not as the plan assumes.
    pub fn commit(&mut self, plan: Plan) -> bool {
        let current = self.with_shares(plan.id, &plan.admitted.flow, &plan.admitted.shares);
        if self.flows.contains_key(&plan.id) || current.as_ref() != Ok(&plan) {
            return false;
        }
        self.enter(&plan);
        true
    }

    /// Puts a flow back that was admitted with these shares and levels, one of each for every hop, by a ledger of the same
    /// ports; no other flow moves.
    ///
    /// # Errors
    /// It does not fit beside what is there: the ledger is as it was.
    pub fn restore(
        &mut self,
        id: FlowId,
        flow: &Flow,
        shares: &[u64],
        levels: &[u8],
    ) -> Result<Admitted, Reason> {
        if self.flows.contains_key(&id) {
            return Err(Reason::Known);
        }
        flow.check(&self.ports).map_err(Reason::Flow)?;
        let mut contenders = flow.contenders(&self.ports, shares).map_err(Reason::Flow)?;
        if contenders.len() != flow.tree.len()
            || shares.len() != flow.tree.len()
            || levels.len() != shares.len()
        {
            return Err(Reason::Flow(FlowError::Share { hop: shares.len().min(levels.len()) }));
        }
        for ((contender, level), hop) in contenders.iter_mut().zip(levels).zip(&flow.tree) {
            if self.ports.get(hop.port).is_none_or(|port| *level >= port.queues) {
                return Err(Reason::Queues { port: hop.port, needed: usize::from(*level) + 1 });
            }
            contender.level = *level;
        }
        let first = shares.first().copied().unwrap_or(0);
        let enforcement = flow.enforcement(&self.ports, first).map_err(Reason::Flow)?;
        let admitted = Admitted { flow: flow.clone(), shares: shares.to_vec(), enforcement };
        self.enter(&Plan { id, admitted: admitted.clone(), contenders, moves: Vec::new() });
        let missed =
            flow.tree.iter().find_map(|hop| self.audit(hop.port).err().map(|missed| (hop.port, missed)));
        if let Some((port, missed)) = missed {
            let level = self.entries(port).iter().find(|entry| entry.flow == missed);
            let level = level.map_or(0, |entry| entry.contender.level);
            self.remove(id);
            return Err(Reason::Delay { port, level, flow: missed, by: None });
        }
        Ok(admitted)
    }

    /// Admits what has been planned on this very state.
    pub(crate) fn enter(&mut self, plan: &Plan) {
        for step in &plan.moves {
            if let Some(register) = self.registers.get_mut(step.port) {
                register.put(step.flow, step.to);
            }
        }
        let Admitted { flow, shares, .. } = &plan.admitted;
        for (hop, ((place, contender), share)) in
            flow.tree.iter().zip(&plan.contenders).zip(shares).enumerate()
        {
            let entry = Entry { flow: plan.id, hop, contender: *contender, share: *share };
            if let (Some(register), Some(port)) =
                (self.registers.get_mut(place.port), self.ports.get(place.port))
            {
                register.insert(entry, port.rate);
            }
        }
        self.use_guard(&plan.admitted, |left| left.saturating_sub(1));
        self.flows.insert(plan.id, plan.admitted.clone());
    }

    /// Takes a flow out: the exact inverse of its admission, except that others keep the levels they were given.
    pub fn remove(&mut self, id: FlowId) -> Option<Admitted> {
        let admitted = self.flows.remove(&id)?;
        self.use_guard(&admitted, |left| left.saturating_add(1));
        for hop in &admitted.flow.tree {
            if let Some(register) = self.registers.get_mut(hop.port) {
                // All that stays is looked at; beyond the limit, whoever asks next is told.
                let _ = self.work.charge_each(register.entries().len());
                register.remove(id);
            }
        }
        Some(admitted)
    }

    /// Takes flows out as [`Self::remove`] does, all at once: what that takes grows with the flows at their ports and not
    /// with those times the flows that leave.
    pub fn remove_all(&mut self, ids: &[FlowId]) {
        let mut leaving: BTreeMap<usize, BTreeSet<FlowId>> = BTreeMap::new();
        for id in ids {
            let Some(admitted) = self.flows.remove(id) else { continue };
            self.use_guard(&admitted, |left| left.saturating_add(1));
            for hop in &admitted.flow.tree {
                leaving.entry(hop.port).or_default().insert(*id);
            }
        }
        for (port, ids) in leaving {
            if let Some(register) = self.registers.get_mut(port) {
                register.remove_all(&ids);
            }
        }
    }

    /// Takes a flow out for a while.
    pub(crate) fn suspend(&mut self, id: FlowId) -> Option<Suspended> {
        let hops = self.flows.get(&id)?.flow.tree.iter();
        let entry = |port: usize| Some((port, *self.registers.get(port)?.find(id)?));
        let entries = hops.map(|hop| entry(hop.port)).collect::<Option<_>>()?;
        Some(Suspended { id, admitted: self.remove(id)?, entries })
    }

    /// Puts a flow back that was taken out, where it was.
    pub(crate) fn resume(&mut self, suspended: Suspended) {
        for (port, entry) in suspended.entries {
            if let (Some(register), Some(port)) = (self.registers.get_mut(port), self.ports.get(port)) {
                register.insert(entry, port.rate);
            }
        }
        self.use_guard(&suspended.admitted, |left| left.saturating_sub(1));
        self.flows.insert(suspended.id, suspended.admitted);
    }

    /// Takes back what was admitted last: the ledger is as it was before, also where others have moved. The moves are
    /// undone in the opposite order, which keeps all shares after each step, too.
    ///
    /// False, and nothing done, if a flow that has moved is not where the plan has put it, or the flow is not there.
    pub fn undo(&mut self, plan: &Plan) -> bool {
        let same = self.flows.get(&plan.id) == Some(&plan.admitted);
        let in_place = |step: &Move| {
            let last = plan.moves.iter().rfind(|other| (other.port, other.flow) == (step.port, step.flow));
            let entry = self.registers.get(step.port).and_then(|register| register.find(step.flow));
            entry.map(|entry| Some(entry.contender.level)) == Some(last.map(|step| step.to))
        };
        if !same || !plan.moves.iter().all(in_place) {
            return false;
        }
        self.remove(plan.id);
        for step in plan.moves.iter().rev() {
            if let Some(register) = self.registers.get_mut(step.port) {
                register.put(step.flow, step.from);
            }
        }
        true
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
                let index = self.registers.get(*port)?.position(id)?;
                let port = self.ports.get(*port)?;
                let level = contenders.get(index)?.level;
                let delay = level_bound(&port.server(), contenders, level)?.delay;
                views.push(HopView { port, server: port.server(), contenders, index, delay });
            }
            bounds.push(path_bound(&admitted.flow, &admitted.flow, &views)?);
        }
        Some(bounds)
    }

    pub(crate) fn register(&self, port: usize) -> Option<&Register> {
        self.registers.get(port)
    }

    pub(crate) fn knows(&self, id: FlowId) -> bool {
        self.flows.contains_key(&id)
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
}

/// A flow that is taken out for a while.
pub(crate) struct Suspended {
    id: FlowId,
    admitted: Admitted,
    entries: Vec<(usize, Entry)>,
}
