//! What has been promised: admission, removal, and refusals that say what would be possible.
//!
//! The contract of a flow at a port is its share, the delay that no frame of it exceeds there. Arrivals follow from
//! shares alone, so admission of a flow touches its own ports only: it tests every level there, gives new levels if it
//! must, and changes no arrival of another flow. Removal takes the flow's entries out and nothing else.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::bound::{keeps, level_bound_counted};
use crate::network::{Flow, FlowError, Port};
use crate::path::{HopView, PathBound, path_bound};
use crate::policing::Enforcement;
use crate::port::Contender;
use crate::program::{Chosen, Solver};
use crate::register::Register;
use crate::resting::Resting;
use crate::split::Split;
use crate::verdict::Seen;
pub use crate::verdict::{Move, Offer, Phase, Plan, Reason, Refusal, Reshare};
use crate::work::{Limits, Work};

/// Names a flow; chosen by the caller.
pub type FlowId = u64;

/// A flow at a port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
    /// Whether its shares, with what is fixed on its ways, are within all of its limits; else these rest on another bound: see
    /// [`Ledger::rests_on`].
    pub by_sum: bool,
}

/// All ports with the flows that have been promised something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ledger {
    ports: Vec<Port>,
    registers: Vec<Arc<Register>>,
    flows: BTreeMap<FlowId, Arc<Admitted>>,
    resting: Resting,
    split: Split,
    guards: Guards,
    keeps_meters: bool,
    sums_alone: bool,
    solver: Chosen,
    work: Arc<Work>,
    /// Ports that are declared full: see [`crate::full`].
    pub(crate) full: BTreeSet<usize>,
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
        let registers = ports.iter().map(|port| Arc::new(Register::new(port.queues))).collect();
        let (flows, guards, work) = (BTreeMap::new(), Guards::default(), Arc::new(Work::unlimited()));
        let (resting, solver) = (Resting::default(), Chosen::default());
        Self {
            ports,
            registers,
            flows,
            resting,
            split,
            guards,
            keeps_meters: false,
            sums_alone: false,
            solver,
            work,
            full: BTreeSet::new(),
        }
    }

    /// Plans, and what is asked of this ledger besides, take so many steps together. Behind that, coarser tests decide: what they find
    /// no place for is refused with [`Reason::Work`]. A ledger has no limit at first.
    pub fn limit_work(&mut self, most: Limits) {
        self.work = Arc::new(Work::within(most));
    }

    /// A request begins: all that is asked of this ledger for it takes so many steps together, whatever was asked before.
    pub fn begin(&self, request: Limits) {
        self.work.begin(request);
    }

    /// The work that plans have been, those of copies of this ledger among them.
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
        self.flows.iter().map(|(id, admitted)| (*id, &**admitted)).filter(move |(_, admitted)| same(admitted))
    }

    fn use_guard(&mut self, admitted: &Admitted, change: impl Fn(u32) -> u32) {
        let switch = admitted.flow.tree.first().and_then(|hop| self.guards.switch_of.get(&hop.port));
        let policed = admitted.enforcement != Enforcement::Trust;
        if let Some(left) = switch.filter(|_| policed).and_then(|switch| self.guards.left.get_mut(switch)) {
            *left = change(*left);
        }
    }

    /// From now on shares are split again so that no meter has to be changed: one that is changed begins anew, and lets through
    /// more for once than it should.
    pub fn keep_meters(&mut self) {
        self.keeps_meters = true;
    }

    /// From now on limits may rest on linear programs, too, for which the solver proposes multipliers. Flows that rest on them are put back with
    /// the same solver.
    pub fn use_solver(&mut self, solver: Solver) {
        self.solver = Chosen(Some(solver));
    }

    /// From now on flows are admitted only if their shares are within their limits: what is admitted leaves more room to what comes later.
    pub fn use_sums_alone(&mut self) {
        self.sums_alone = true;
    }

    pub(crate) fn uses_sums_alone(&self) -> bool {
        self.sums_alone
    }

    pub(crate) fn solver(&self) -> Option<Solver> {
        self.solver.0
    }

    pub(crate) fn keeps_meters(&self) -> bool {
        self.keeps_meters
    }

    /// The same network without flows, with these ports in place of those it has, of which there are as many.
    pub fn emptied(&self, ports: Vec<Port>) -> Self {
        let mut empty = self.clone();
        let flows: Vec<FlowId> = self.flows.keys().copied().collect();
        empty.remove_all(&flows);
        empty.registers = ports.iter().map(|port| Arc::new(Register::new(port.queues))).collect();
        empty.ports = ports;
        empty
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
        self.registers.get(port).map_or(&[], |register| register.entries())
    }

    /// An admitted flow.
    pub fn flow(&self, id: FlowId) -> Option<&Admitted> {
        self.flows.get(&id).map(|admitted| &**admitted)
    }

    pub(crate) fn resting(&self) -> &Resting {
        &self.resting
    }

    pub(crate) fn admitted(&self, id: FlowId) -> Option<&Arc<Admitted>> {
        self.flows.get(&id)
    }

    fn register_mut(&mut self, port: usize) -> Option<&mut Register> {
        self.registers.get_mut(port).map(Arc::make_mut)
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
        let same = |seen: &Seen| self.seen(seen.port) == Some(*seen);
        let policed = plan.admitted.enforcement != Enforcement::Trust;
        let first = plan.admitted.flow.tree.first().map(|hop| hop.port);
        let guarded = !policed || first.is_some_and(|port| self.guards_left(port) != Some(0));
        if self.flows.contains_key(&plan.id) || !guarded || !plan.basis.iter().all(same) {
            return false;
        }
        self.enter(&plan);
        true
    }

    /// The longest time for which one of the ports of a flow may be busy without a pause, in picoseconds: so long after the flow is gone it may
    /// still make a difference to others. `None` without the flow.
    pub fn longest_busy(&self, id: FlowId) -> Option<u64> {
        let ports = self.flows.get(&id)?.flow.tree.iter().map(|hop| hop.port);
        let mut longest = 0;
        for port in ports {
            let contenders: Vec<Contender> = self.entries(port).iter().map(|entry| entry.contender).collect();
            let server = self.ports.get(port)?.planning_server();
            longest = longest.max(crate::busy::longest_busy(&server, &contenders, &self.work)?);
        }
        Some(longest)
    }

    /// A port as it is.
    pub(crate) fn seen(&self, port: usize) -> Option<Seen> {
        Some(Seen { port, stamp: self.registers.get(port)?.stamp() })
    }

    /// Puts a flow back that was admitted with these shares and levels, one of each for every hop, by a ledger of the same
    /// ports; no other flow moves.
    ///
    /// # Errors
    /// It does not fit beside the flows that are admitted, or takes more work to tell than there may be: the ledger is as it was.
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
        let admitted = self.admitted_with(flow, shares).map_err(Reason::Flow)?;
        self.enter(&Plan { contenders, ..Plan::still(id, admitted.clone()) });
        let missed = flow.tree.iter().find_map(|hop| Some((hop.port, self.first_missed(hop.port)?)));
        if let Some((port, missed)) = missed {
            let level = self.entries(port).iter().find(|entry| entry.flow == missed);
            let level = level.map_or(0, |entry| entry.contender.level);
            self.remove(id);
            if self.work.is_exhausted() {
                return Err(Reason::Work { port });
            }
            return Err(Reason::Delay { port, level, flow: missed, by: None });
        }
        if let Err(reason) = self.all_rest(id) {
            self.remove(id);
            return Err(reason);
        }
        Ok(admitted)
    }

    /// The same for what was there before, whatever work it is to tell.
    ///
    /// # Errors
    /// It does not fit beside the flows that are admitted: the ledger is as it was.
    pub fn put_back(
        &mut self,
        id: FlowId,
        flow: &Flow,
        shares: &[u64],
        levels: &[u8],
    ) -> Result<Admitted, Reason> {
        let work = Arc::clone(&self.work);
        work.freely(|| self.restore(id, flow, shares, levels))
    }

    /// Admits what has been planned on this very state.
    pub(crate) fn enter(&mut self, plan: &Plan) {
        plan.phases.iter().for_each(|phase| self.change(phase));
        let Admitted { flow, shares, .. } = &plan.admitted;
        for (hop, ((place, contender), share)) in
            flow.tree.iter().zip(&plan.contenders).zip(shares).enumerate()
        {
            let entry = Entry { flow: plan.id, hop, contender: *contender, share: *share };
            self.insert(place.port, entry);
        }
        self.use_guard(&plan.admitted, |left| left.saturating_sub(1));
        self.resting.note(plan.id, &plan.admitted);
        self.flows.insert(plan.id, Arc::new(plan.admitted.clone()));
    }

    /// Others change as planned on this very state.
    pub(crate) fn change(&mut self, phase: &Phase) {
        phase.shares.iter().for_each(|change| self.share_again(change.flow, &change.to));
        phase.moves.iter().for_each(|step| self.put(step, step.to));
    }

    fn put(&mut self, step: &Move, level: u8) {
        if let Some(register) = self.register_mut(step.port) {
            register.put(step.flow, level);
        }
    }

    fn insert(&mut self, port: usize, entry: Entry) {
        let Some(rate) = self.ports.get(port).map(|port| port.rate) else { return };
        if let Some(register) = self.register_mut(port) {
            register.insert(entry, rate);
        }
    }

    /// A flow that is there gets other shares, at the levels that it has.
    fn share_again(&mut self, id: FlowId, admitted: &Arc<Admitted>) {
        // A plan is made with these shares, so that they fit.
        let Ok(contenders) = admitted.flow.contenders(&self.ports, &admitted.shares) else { return };
        for (hop, ((place, contender), share)) in
            admitted.flow.tree.iter().zip(contenders).zip(&admitted.shares).enumerate()
        {
            let Some(level) = self.register(place.port).and_then(|register| register.find(id)) else {
                continue;
            };
            let contender = Contender { level: level.contender.level, ..contender };
            if let Some(register) = self.register_mut(place.port) {
                register.remove(id);
            }
            self.insert(place.port, Entry { flow: id, hop, contender, share: *share });
        }
        self.resting.note(id, admitted);
        self.flows.insert(id, Arc::clone(admitted));
    }

    /// Takes a flow out: the exact inverse of its admission, except that others keep the levels they were given.
    pub fn remove(&mut self, id: FlowId) -> Option<Admitted> {
        Some(Arc::unwrap_or_clone(self.take(id)?))
    }

    fn take(&mut self, id: FlowId) -> Option<Arc<Admitted>> {
        let admitted = self.flows.remove(&id)?;
        self.use_guard(&admitted, |left| left.saturating_add(1));
        self.resting.forget(id, &admitted);
        for hop in &admitted.flow.tree {
            // All that stays is looked at; beyond the limit, the next request is told.
            let _ = self.work.charge_each(self.entries(hop.port).len());
            if let Some(register) = self.register_mut(hop.port) {
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
            self.resting.forget(*id, &admitted);
            for hop in &admitted.flow.tree {
                leaving.entry(hop.port).or_default().insert(*id);
            }
        }
        for (port, ids) in leaving {
            if let Some(register) = self.register_mut(port) {
                register.remove_all(&ids);
            }
        }
    }

    /// Takes a flow out for a while.
    pub(crate) fn suspend(&mut self, id: FlowId) -> Option<Suspended> {
        let hops = self.flows.get(&id)?.flow.tree.iter();
        let entry = |port: usize| Some((port, *self.registers.get(port)?.find(id)?));
        let entries = hops.map(|hop| entry(hop.port)).collect::<Option<_>>()?;
        Some(Suspended { id, admitted: self.take(id)?, entries })
    }

    /// Puts a flow back that was taken out, where it was.
    pub(crate) fn resume(&mut self, suspended: Suspended) {
        for (port, entry) in suspended.entries {
            self.insert(port, entry);
        }
        self.use_guard(&suspended.admitted, |left| left.saturating_sub(1));
        self.resting.note(suspended.id, &suspended.admitted);
        self.flows.insert(suspended.id, suspended.admitted);
    }

    /// Takes back what was admitted last: the ledger is as it was before, also where others have made room.
    ///
    /// False, and nothing done, if a flow that has moved is not where the plan has put it, or the flow is not there.
    pub fn undo(&mut self, plan: &Plan) -> bool {
        self.undo_but(plan, 0)
    }

    /// The same, but the first `kept` changes of the plan stay: of each phase the new shares are one change, and each of its moves is one.
    pub fn undo_but(&mut self, plan: &Plan, kept: usize) -> bool {
        let has_shares = |change: &Reshare| {
            let last = plan.shares().rfind(|other| other.flow == change.flow);
            last.is_some_and(|last| self.flows.get(&change.flow) == Some(&last.to))
        };
        let in_place = |step: &Move| {
            let last = plan.moves().rfind(|other| (other.port, other.flow) == (step.port, step.flow));
            let entry = self.registers.get(step.port).and_then(|register| register.find(step.flow));
            entry.map(|entry| Some(entry.contender.level)) == Some(last.map(|step| step.to))
        };
        let same = self.flow(plan.id) == Some(&plan.admitted);
        if !same || !plan.shares().all(has_shares) || !plan.moves().all(in_place) {
            return false;
        }
        self.remove(plan.id);
        for (phase, (shares, moves)) in plan.phases.iter().zip(plan.kept(kept)).rev() {
            phase.moves.iter().skip(moves).rev().for_each(|step| self.put(step, step.from));
            if !shares {
                phase.shares.iter().for_each(|change| self.share_again(change.flow, &change.from));
            }
        }
        true
    }

    /// The present bound of an admitted flow for each of its subscribers: at most their limits, and less as long as
    /// shares are not used up. Where exact tests would take more work than there may be, shares count.
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
                let share = self.entries(*port).get(index)?.share;
                let port = self.ports.get(*port)?;
                let level = contenders.get(index)?.level;
                let found = level_bound_counted(&port.server(), contenders, level, &self.work);
                let delay = found.map_or(share, |bound| bound.delay.min(share));
                views.push(HopView { port, server: port.server(), contenders, index, delay });
            }
            let present = path_bound(&admitted.flow, &admitted.flow, &views);
            let rests_on = self.rests_on(id, bounds.len());
            bounds.push(present.into_iter().chain(rests_on).min_by_key(|bound| bound.latency)?);
        }
        Some(bounds)
    }

    pub(crate) fn register(&self, port: usize) -> Option<&Register> {
        self.registers.get(port).map(|register| &**register)
    }

    pub(crate) fn knows(&self, id: FlowId) -> bool {
        self.flows.contains_key(&id)
    }

    /// The flow that misses, if the shares of all flows at a port are not kept; for audits and tests.
    pub fn audit(&self, port: usize) -> Result<(), FlowId> {
        self.work.freely(|| self.first_missed(port).map_or(Ok(()), Err))
    }

    fn first_missed(&self, port: usize) -> Option<FlowId> {
        let entries = self.entries(port);
        let server = self.ports.get(port).map(Port::planning_server)?;
        let contenders: Vec<Contender> = entries.iter().map(|entry| entry.contender).collect();
        let mut least: BTreeMap<u8, (u64, FlowId)> = BTreeMap::new();
        for entry in entries {
            let here = (entry.share, entry.flow);
            least.entry(entry.contender.level).and_modify(|known| *known = here.min(*known)).or_insert(here);
        }
        let missed = least
            .into_iter()
            .find(|(level, (share, _))| !keeps(&server, &contenders, *level, *share, &self.work));
        missed.map(|(_, (_, flow))| flow)
    }
}

/// A flow that is taken out for a while.
pub(crate) struct Suspended {
    id: FlowId,
    admitted: Arc<Admitted>,
    entries: Vec<(usize, Entry)>,
}
