//! Promises that rest on more than the sum of shares.
//!
//! A flow may be admitted though its shares add up to more than a limit, if another method bounds its latency by the limit: services that
//! are concatenated, or a linear program along its way. The shares stay what they are: no frame exceeds one at its port, and what arrives at
//! later ports follows from them. It is the limit alone that rests on the method.
//!
//! Such a bound is computed from what all flows of the ports on the way offer at most. So whatever changes that has to leave the bound within
//! the limit: every plan that touches a port of such a flow is looked at once more before it is given out. All that a plan does passes through
//! states that are not computed one by one here, because a bound along a way looks further back in time than one of a port does. Instead
//! one state is looked at that covers them all. In it each flow offers to each port what it does with the largest share that it has at each hop
//! at any time of the plan; whatever a frame keeps, it keeps that. A flow that changes its level at a port is there at all of its levels at once,
//! with all that it offers: some of its frames are in the one, and others in the other. The new flow is there as well. Bounds grow with
//! what arrives, so that the bound of this state holds in each of them, and while one becomes the next. A flow whose limit rests on a method does not change its own level: frames of
//! it would overtake each other.
//!
//! When a flow leaves, less arrives, and each of these bounds stays or falls: nothing has to be looked at.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::certificate::Proof;
use crate::ledger::{Admitted, FlowId, Ledger, Plan, Reason};
use crate::network::{Flow, FlowError, Port};
use crate::path::{HopView, PathBound, PathMethod, concatenation_bound, fixed_latency};
use crate::plp;
use crate::port::Contender;
use crate::tandem::Tandem;

/// The flows of a ledger whose limits rest on more than the sum of their shares, by the ports of their trees.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Resting {
    at: BTreeMap<usize, BTreeSet<FlowId>>,
}

impl Resting {
    /// A flow is there, or has other shares.
    pub(crate) fn note(&mut self, id: FlowId, admitted: &Admitted) {
        if admitted.by_sum {
            self.forget(id, admitted);
            return;
        }
        for hop in &admitted.flow.tree {
            self.at.entry(hop.port).or_default().insert(id);
        }
    }

    /// A flow has left.
    pub(crate) fn forget(&mut self, id: FlowId, admitted: &Admitted) {
        if self.at.is_empty() {
            return;
        }
        for hop in &admitted.flow.tree {
            if let Some(flows) = self.at.get_mut(&hop.port) {
                flows.remove(&id);
                if flows.is_empty() {
                    self.at.remove(&hop.port);
                }
            }
        }
    }

    fn at(&self, port: usize) -> impl Iterator<Item = FlowId> {
        self.at.get(&port).into_iter().flatten().copied()
    }
}

/// What is known of a port on the way of a flow.
#[derive(Clone, Debug)]
pub(crate) struct Station<'l> {
    pub(crate) index: usize,
    pub(crate) port: &'l Port,
    /// Who is there, and what each offers; one that changes its level may be there several times.
    pub(crate) flows: Vec<FlowId>,
    pub(crate) contenders: Vec<Contender>,
    /// The place of the flow among them.
    pub(crate) own: usize,
    /// No frame of the flow's level takes longer here, in picoseconds.
    pub(crate) delay: u64,
}

/// By how many picoseconds a bound on which a limit comes to rest is less than it, at least.
const MARGIN: u64 = 1_000;

/// A bound, in picoseconds, and what it rests on.
struct Rest {
    latency: u64,
    proof: Proof,
}

/// All that may be there while a plan is carried out.
struct Cover<'p> {
    ledger: &'p Ledger,
    plan: Option<&'p Plan>,
    /// For each flow whose shares change, the largest that it has at each hop, and what it offers with them.
    shares: BTreeMap<FlowId, (Vec<u64>, Vec<Contender>)>,
    /// For each port and flow that changes its level there, all that it has.
    levels: BTreeMap<(usize, FlowId), BTreeSet<u8>>,
}

impl<'p> Cover<'p> {
    /// The present state.
    const fn still(ledger: &'p Ledger) -> Self {
        Self { ledger, plan: None, shares: BTreeMap::new(), levels: BTreeMap::new() }
    }

    /// The present state, that after the plan, and all between. `None` if numbers do not fit.
    fn of(ledger: &'p Ledger, plan: &'p Plan) -> Option<Self> {
        let mut cover = Self { plan: Some(plan), ..Self::still(ledger) };
        let mut largest: BTreeMap<FlowId, (&Flow, Vec<u64>)> = BTreeMap::new();
        for change in plan.shares() {
            let (_, shares) =
                largest.entry(change.flow).or_insert_with(|| (&change.from.flow, change.from.shares.clone()));
            shares.iter_mut().zip(&change.to.shares).for_each(|(share, to)| *share = (*share).max(*to));
        }
        for (id, (flow, shares)) in largest {
            ledger.work().charge_each(8 * flow.tree.len())?;
            let offers = flow.contenders(ledger.ports(), &shares).ok()?;
            cover.shares.insert(id, (shares, offers));
        }
        for step in plan.moves() {
            cover.levels.entry((step.port, step.flow)).or_default().extend([step.from, step.to]);
        }
        Some(cover)
    }

    /// What may be at a port on the way of a flow; `None` if the flow is not there, or changes its level.
    fn station(&self, id: FlowId, index: usize) -> Option<Station<'p>> {
        let port = self.ledger.ports().get(index)?;
        let entries = self.ledger.entries(index);
        let new = self.plan.and_then(|plan| {
            let at = plan.admitted.flow.tree.iter().position(|hop| hop.port == index)?;
            Some((plan.id, *plan.contenders.get(at)?, *plan.admitted.shares.get(at)?))
        });
        self.ledger.work().charge_each(4 * entries.len())?;
        let (mut flows, mut contenders) = (Vec::with_capacity(entries.len() + 1), Vec::new());
        // By level, the least share of the flows that stay there.
        let mut least: BTreeMap<u8, u64> = BTreeMap::new();
        let mut own = None;
        for entry in entries {
            let (share, offer) = match self.shares.get(&entry.flow) {
                Some((shares, offers)) => (*shares.get(entry.hop)?, *offers.get(entry.hop)?),
                None => (entry.share, entry.contender),
            };
            let stays = BTreeSet::from([entry.contender.level]);
            let levels = self.levels.get(&(index, entry.flow)).unwrap_or(&stays);
            if levels.len() == 1 {
                least
                    .entry(entry.contender.level)
                    .and_modify(|known| *known = share.min(*known))
                    .or_insert(share);
            }
            if entry.flow == id {
                (levels.len() == 1).then_some(())?;
                own = Some(contenders.len());
            }
            for level in levels {
                flows.push(entry.flow);
                contenders.push(Contender { level: *level, ..offer });
            }
        }
        if let Some((new, contender, share)) = new {
            least.entry(contender.level).and_modify(|known| *known = share.min(*known)).or_insert(share);
            if new == id {
                own = Some(contenders.len());
            }
            flows.push(new);
            contenders.push(contender);
        }
        let own = own?;
        let delay = *least.get(&contenders.get(own)?.level)?;
        Some(Station { index, port, flows, contenders, own, delay })
    }

    /// The ports on the way to a subscriber.
    fn stations(&self, id: FlowId, flow: &Flow, subscriber: usize) -> Option<Vec<Station<'p>>> {
        let way = flow.way_to(flow.subscribers.get(subscriber)?.hop);
        way.iter().map(|hop| self.station(id, flow.tree.get(*hop)?.port)).collect()
    }

    /// What bounds a flow along the way to a subscriber by another method than the sum of shares, from what is offered at most: what is within
    /// the limit and found soonest, or else the least.
    fn bound(&self, id: FlowId, flow: &Flow, subscriber: usize) -> Option<Rest> {
        let stations = self.stations(id, flow, subscriber)?;
        let subscriber = flow.subscribers.get(subscriber)?;
        let views: Vec<HopView<'_>> = stations.iter().map(Station::view).collect();
        let concatenation = concatenation_bound(flow, &views);
        let concatenation = concatenation.map(|latency| Rest { latency, proof: Proof::Concatenation });
        if concatenation.as_ref().is_some_and(|rest| rest.latency <= subscriber.limit) {
            return concatenation;
        }
        let program = self.program(id, flow, &stations);
        concatenation.into_iter().chain(program).min_by_key(|rest| rest.latency)
    }

    /// What bounds a flow by a linear program.
    fn program(&self, id: FlowId, flow: &Flow, stations: &[Station<'_>]) -> Option<Rest> {
        let solver = self.ledger.solver()?;
        let tandem = Tandem::new(id, flow, stations)?;
        let fixed = fixed_latency(flow, stations.iter().map(|station| station.port))?;
        let (latency, facts) = plp::bound(&tandem, solver, self.ledger.work())?;
        Some(Rest { latency: latency.checked_add(fixed)?, proof: Proof::Facts(facts) })
    }

    /// Whether all limits of a flow are kept with these shares.
    fn keeps(&self, id: FlowId, admitted: &Admitted, shares: &[u64]) -> Result<(), Reason> {
        let flow = &admitted.flow;
        // What is promised anew is promised with a margin, so that it is found again after a start, whatever a solver proposes then.
        let margin = if self.plan.is_some() { MARGIN } else { 0 };
        for (index, subscriber) in flow.subscribers.iter().enumerate() {
            if keeps_by_sum(flow, self.ledger.ports(), shares, index) {
                continue;
            }
            let bound = self.bound(id, flow, index).map(|bound| bound.latency);
            if bound.is_none_or(|bound| bound > subscriber.limit.saturating_sub(margin)) {
                let port = flow.tree.get(subscriber.hop).map_or(0, |hop| hop.port);
                let level = self.ledger.entries(port).iter().find(|entry| entry.flow == id);
                let by = bound.and_then(|bound| bound.checked_sub(subscriber.limit));
                let level = level.map_or(0, |entry| entry.contender.level);
                return Err(Reason::Delay { port, level, flow: id, by });
            }
        }
        Ok(())
    }
}

impl Station<'_> {
    fn view(&self) -> HopView<'_> {
        let server = self.port.planning_server();
        HopView { port: self.port, server, contenders: &self.contenders, index: self.own, delay: self.delay }
    }
}

/// Whether shares and what is fixed on the way to a subscriber are within its limit.
fn keeps_by_sum(flow: &Flow, ports: &[Port], shares: &[u64], subscriber: usize) -> bool {
    let within = || {
        let subscriber = flow.subscribers.get(subscriber)?;
        let way = flow.way_to(subscriber.hop);
        let along = way.iter().filter_map(|hop| flow.port(ports, *hop).ok());
        let fixed = fixed_latency(flow, along)?;
        let sum = way.iter().try_fold(fixed, |sum, hop| sum.checked_add(*shares.get(*hop)?))?;
        Some(sum <= subscriber.limit)
    };
    within() == Some(true)
}

impl Ledger {
    /// A flow with these shares.
    pub(crate) fn admitted_with(&self, flow: &Flow, shares: &[u64]) -> Result<Admitted, FlowError> {
        let first = shares.first().copied().unwrap_or(0);
        let enforcement = flow.enforcement(self.ports(), first)?;
        let by_sum = (0..flow.subscribers.len()).all(|index| keeps_by_sum(flow, self.ports(), shares, index));
        Ok(Admitted { flow: flow.clone(), shares: shares.to_vec(), enforcement, by_sum })
    }

    /// Whether each flow whose limits rest on a method keeps them while a plan is carried out and afterwards; the reason of one that does not.
    #[inline]
    pub(crate) fn leaves_all(&self, plan: Plan) -> Result<Plan, Reason> {
        let others = || plan.shares().any(|change| !change.to.by_sum);
        if self.resting().at.is_empty() && plan.admitted.by_sum && !others() {
            return Ok(plan);
        }
        self.looks_at_all(&plan).map(|()| plan)
    }

    fn looks_at_all(&self, plan: &Plan) -> Result<(), Reason> {
        let rests = |admitted: &Admitted| !admitted.by_sum;
        let touched = plan.admitted.flow.tree.iter().map(|hop| hop.port);
        let touched = touched.chain(plan.moves().map(|step| step.port));
        let trees = plan.shares().flat_map(|change| &change.from.flow.tree).map(|hop| hop.port);
        let touched: BTreeSet<usize> = touched.chain(trees).collect();
        let mut flows: BTreeSet<FlowId> = touched.iter().flat_map(|port| self.resting().at(*port)).collect();
        // What comes down to its limits before anything else changes is seen to keep them by its shares from then on.
        let first = plan.phases.first().map_or(&[][..], |phase| &phase.shares);
        flows.retain(|id| {
            let comes_down = first.iter().any(|change| change.flow == *id);
            !comes_down || plan.shares().any(|change| change.flow == *id && rests(&change.to))
        });
        flows.extend(plan.shares().filter(|change| rests(&change.to)).map(|change| change.flow));
        let port = plan.admitted.flow.tree.first().map_or(0, |hop| hop.port);
        let cover = Cover::of(self, plan).ok_or(Reason::Work { port })?;
        for id in flows {
            let Some(admitted) = self.flow(id) else { continue };
            let shares = cover.shares.get(&id).map_or(&admitted.shares, |(shares, _)| shares);
            cover.keeps(id, admitted, shares)?;
        }
        cover.keeps(plan.id, &plan.admitted, &plan.admitted.shares)
    }

    /// Whether the flows at the ports of one, itself among them, keep their limits now as far as these rest on more than shares.
    pub(crate) fn all_rest(&self, id: FlowId) -> Result<(), Reason> {
        let Some(admitted) = self.flow(id) else { return Ok(()) };
        let flows = admitted.flow.tree.iter().flat_map(|hop| self.resting().at(hop.port));
        let flows: BTreeSet<FlowId> = flows.collect();
        let cover = Cover::still(self);
        flows.into_iter().try_for_each(|id| {
            self.flow(id).map_or(Ok(()), |admitted| cover.keeps(id, admitted, &admitted.shares))
        })
    }

    /// What a limit rests on that is not the sum of shares.
    pub(crate) fn proof(&self, id: FlowId, subscriber: usize) -> Option<Proof> {
        self.rest(id, subscriber).map(|rest| rest.proof)
    }

    /// The bound that a limit rests on where it is not the sum of shares; `None` where it is.
    pub fn rests_on(&self, id: FlowId, subscriber: usize) -> Option<PathBound> {
        self.rest(id, subscriber).map(|rest| {
            let method = match rest.proof {
                Proof::Concatenation => PathMethod::Concatenation,
                Proof::Facts(_) => PathMethod::LinearProgram,
            };
            PathBound { latency: rest.latency, method }
        })
    }

    /// The bound of an admitted flow by a linear program, as things are; `None` without a solver, or if there is none.
    pub fn linear_program(&self, id: FlowId, subscriber: usize) -> Option<PathBound> {
        let flow = &self.flow(id)?.flow;
        let cover = Cover::still(self);
        let stations = cover.stations(id, flow, subscriber)?;
        let Rest { latency, .. } = cover.program(id, flow, &stations)?;
        Some(PathBound { latency, method: PathMethod::LinearProgram })
    }

    fn rest(&self, id: FlowId, subscriber: usize) -> Option<Rest> {
        let admitted = self.admitted(id).filter(|admitted| !admitted.by_sum).map(Arc::as_ref)?;
        if keeps_by_sum(&admitted.flow, self.ports(), &admitted.shares, subscriber) {
            return None;
        }
        self.work().freely(|| Cover::still(self).bound(id, &admitted.flow, subscriber))
    }
}
