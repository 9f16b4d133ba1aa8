//! How a flow is admitted: the least shares it can have, the slack on top, and places at its ports.
//!
//! Running sums answer first: [`Book`](crate::sums::Book). Where they do not suffice the exact tests decide, with other
//! levels for all flows of a port if need be. So an admission takes long only where it is tight.
use alloc::vec::Vec;

use crate::arrivals::Offering;
use crate::backlog::{backlog_from_counted, backlog_within};
use crate::bound::{planned_bound, planned_bound_counted};
use crate::ledger::{Admitted, FlowId, Ledger, Move, Phase, Plan, Reason};
use crate::levels::{NoLevels, SMALL_PORT, assign_last_counted, least_bound_counted};
use crate::network::{Buffer, Flow, FlowError, Hop, Policing, Port};
use crate::order::{pause, verified_order_counted};
use crate::path::{fixed_latency, least_latency, separation_at_subscriber};
use crate::policing::stretched;
use crate::port::{Arrival, Contender};
use crate::register::Register;
use crate::split::{Split, extras};
use crate::sums::Terms;
use crate::units::{SECOND, scale_up, time_of};

/// How the least shares are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    /// By running sums, and exactly only at ports where these find no place.
    Sums,
    /// Exactly at every port.
    Exact,
    /// By running sums alone: whatever is left of the work that there may be, these few steps are taken.
    Coarse,
    /// Exactly, with shares that together may be more than a limit.
    Beyond,
}

/// How many steps it may take to find out whether limits are kept by other methods than the sum of shares.
const BEYOND: u64 = 2_000_000;

impl Ledger {
    /// Whether and how the flow can be admitted, without looking for an alternative.
    pub fn plan_as_asked(&self, id: FlowId, flow: &Flow) -> Result<Plan, Reason> {
        self.plan_beside(id, flow).or_else(|reason| match reason {
            _ if !may_find_room(&reason) => Err(reason),
            _ => self.otherwise(id, flow).ok_or(reason),
        })
    }

    /// A plan in which others change their shares, or limits rest on other methods than the sum of shares.
    fn otherwise(&self, id: FlowId, flow: &Flow) -> Option<Plan> {
        let plan = self.take_down_for(id, flow).or_else(|| self.share_again_for(id, flow));
        plan.or_else(|| self.beyond_shares(id, flow))
    }

    /// The same with the shares that others have: they may change their levels at most.
    pub fn plan_beside(&self, id: FlowId, flow: &Flow) -> Result<Plan, Reason> {
        if self.knows(id) {
            return Err(Reason::Known);
        }
        flow.check(self.ports()).map_err(Reason::Flow)?;
        if let Some(port) = self.full_port_of(flow.tree.iter()) {
            return Err(Reason::Full { port });
        }
        let port = flow.tree.first().map_or(0, |hop| hop.port);
        if flow.policing != Policing::Trusted && self.guards_left(port) == Some(0) {
            return Err(Reason::Guards { port });
        }
        let mut answer = Err(Reason::Work { port });
        if !self.work().is_exhausted() {
            answer = self.search(id, flow, Search::Sums).and_then(|plan| self.leaves_all(plan));
            if answer.as_ref().is_err_and(may_find_room) {
                answer = self.search(id, flow, Search::Exact).and_then(|plan| self.leaves_all(plan));
            }
        }
        // What was said after the work ran out was not found out.
        if self.work().is_exhausted() {
            return self.search(id, flow, Search::Coarse).and_then(|plan| self.leaves_all(plan));
        }
        answer
    }

    /// A plan in which limits rest on other methods than the sum of shares, where few flows meet.
    pub(crate) fn beyond_shares(&self, id: FlowId, flow: &Flow) -> Option<Plan> {
        let is_small = |hop: &Hop| self.entries(hop.port).len() <= SMALL_PORT;
        if self.uses_sums_alone() || self.work().is_sparing() || self.work().is_exhausted() {
            return None;
        }
        if !flow.tree.iter().all(is_small) {
            return None;
        }
        (0..flow.subscribers.len()).all(|index| self.keeps_separation(flow, index).is_ok()).then_some(())?;
        self.work().part(BEYOND, || {
            let tight = self.tight_shares(id, flow, Search::Beyond);
            let beside = tight.and_then(|tight| self.with_shares(id, flow, &tight, Search::Beyond));
            let beside = beside.and_then(|plan| self.leaves_all(plan)).ok();
            beside.or_else(|| self.share_again_beyond(id, flow))
        })
    }

    /// Counts the work of looking at the levels of a port, or at so many of its flows.
    pub(crate) fn charge(&self, port: usize, flows: usize) -> Result<(), Reason> {
        let queues = self.ports().get(port).map_or(0, |port| usize::from(port.queues));
        self.work().charge_each(queues + flows + 1).ok_or(Reason::Work { port })
    }

    fn search(&self, id: FlowId, flow: &Flow, search: Search) -> Result<Plan, Reason> {
        let tight = self.tight_shares(id, flow, search)?;
        let slacks = self.slacks(id, flow, &tight, search)?;
        let loads: Vec<u64> =
            flow.tree.iter().enumerate().map(|(index, hop)| self.weight(index, hop.port)).collect();
        let mut refusal = None;
        for split in [self.split(), Split::Last] {
            let extra = extras(flow, &slacks, &loads, split);
            let mut shares: Vec<u64> =
                tight.iter().zip(extra).map(|(share, extra)| share.saturating_add(extra)).collect();
            if search != Search::Exact {
                shares = self.raised(flow, &shares, search).unwrap_or(shares);
            }
            match self.with_shares(id, flow, &shares, search) {
                Ok(plan) => return Ok(plan),
                Err(reason) => refusal = Some(reason),
            }
        }
        Err(refusal.unwrap_or(Reason::Flow(FlowError::Number)))
    }

    /// What a hop counts in [`Split::Load`]: the load of its port, in picoseconds of work in a second, and a quarter of
    /// its time, because without slack at a port no other flow could join this one there. The first flow of a host with
    /// several queues has no such need: others go below it, and its jitter stays small. Nor has a port that is declared full.
    pub(crate) fn weight(&self, index: usize, port: usize) -> u64 {
        if self.is_full(port) {
            return 0;
        }
        let (Some(register), Some(port)) = (self.register(port), self.ports().get(port)) else { return 0 };
        let load = scale_up(register.book().load(), SECOND, port.rate).unwrap_or(0);
        if opens(index, port, register) { load } else { load.saturating_add(SECOND / 4) }
    }

    /// The exact delay of a flow that opens the port of a host, if its messages never meet there: then the exact test looks
    /// at one message only. Whatever the linear test has on top of that, which is the jitter at the flow's own rate, would
    /// be jitter at every later hop, twice if a gate is between. Flows that go below lose nothing by it; ones that are to go
    /// above find no room in the share of a first flow without jitter, either.
    fn opening_delay(&self, index: usize, hop: usize, new: &Contender) -> Option<u64> {
        let Arrival::Messages { bits, separation, jitter } = new.arrival else { return None };
        let (port, register) = (self.ports().get(hop)?, self.register(hop)?);
        let server = port.planning_server();
        let queued = time_of(bits.checked_add(server.best_effort)?, port.rate)?.checked_add(jitter)?;
        let queued = queued.checked_add(time_of(server.ahead, port.rate)?)?;
        let unadmitted = server.control.is_some() || server.beside.is_some();
        if !opens(index, port, register) || unadmitted || queued >= separation {
            return None;
        }
        // Where the time of a bit is rounded, a flow below with smaller frames may raise the bound by a picosecond.
        let rounding = u64::from(!SECOND.is_multiple_of(port.rate));
        planned_bound(&server, &[*new], new.level)?.delay.checked_add(rounding)
    }

    /// The least delay at a port that is found without looking at its other flows.
    fn quickest(&self, index: usize, hop: usize, new: &Contender) -> Result<Option<u64>, Reason> {
        let (port, terms) = self.terms(hop, new)?;
        let by_sums = || self.register(hop)?.book().quickest(port, &terms);
        Ok(self.opening_delay(index, hop, new).or_else(by_sums))
    }

    /// Shares that are no less than what running sums ask for: time that a hop gets beyond the least raises the jitter
    /// at later ones. What that takes is taken from the last hops of the ways; `None` if they do not have it.
    fn raised(&self, flow: &Flow, shares: &[u64], search: Search) -> Option<Vec<u64>> {
        let mut offering = Offering::new(flow, self.ports());
        let mut raised: Vec<u64> = Vec::with_capacity(shares.len());
        // For each hop, how much the hops up to it have been raised by.
        let mut debts: Vec<u64> = Vec::with_capacity(shares.len());
        let mut has_later = alloc::vec![false; flow.tree.len()];
        for parent in flow.tree.iter().filter_map(|hop| hop.parent) {
            *has_later.get_mut(parent)? = true;
        }
        for (index, ((hop, share), has_later)) in flow.tree.iter().zip(shares).zip(has_later).enumerate() {
            self.charge_in(search, hop.port, 0).ok()?;
            let contender = offering.next(&raised).ok()?;
            // Where sums find no place, the exact tests may find one with what there is.
            let least = self.quickest(index, hop.port, &contender).ok()?.unwrap_or(0);
            let debt = hop.parent.and_then(|parent| debts.get(parent)).copied().unwrap_or(0);
            if has_later {
                raised.push(least.max(*share));
                debts.push(debt.checked_add(least.saturating_sub(*share))?);
            } else {
                let share = share.checked_sub(debt)?;
                raised.push(Some(share).filter(|share| *share >= least)?);
                debts.push(0);
            }
        }
        Some(raised)
    }

    /// The least shares with which the flow could be admitted, hop by hop.
    fn tight_shares(&self, id: FlowId, flow: &Flow, search: Search) -> Result<Vec<u64>, Reason> {
        let mut offering = Offering::new(flow, self.ports());
        let mut shares = Vec::with_capacity(flow.tree.len());
        // For each hop, the shares up to it.
        let mut spent: Vec<u64> = Vec::with_capacity(flow.tree.len());
        for (index, (hop, budget)) in flow.tree.iter().zip(flow.budgets(self.ports())).enumerate() {
            self.charge_in(search, hop.port, 0)?;
            let before = hop.parent.and_then(|parent| spent.get(parent)).copied().unwrap_or(0);
            let limit = if search == Search::Beyond { budget } else { budget.saturating_sub(before) };
            let contender = offering.next(&shares).map_err(Reason::Flow)?;
            let quickest = match search {
                Search::Sums | Search::Coarse => self.quickest(index, hop.port, &contender)?,
                Search::Exact | Search::Beyond => None,
            };
            let share = match quickest.filter(|delay| *delay <= limit) {
                Some(delay) => delay,
                None if search == Search::Coarse => return Err(Reason::Work { port: hop.port }),
                None => self.least_share(id, hop.port, contender, limit)?,
            };
            shares.push(share);
            spent.push(before.saturating_add(share));
        }
        Ok(shares)
    }

    /// The port, and what a flow adds to its sums.
    fn terms(&self, port: usize, contender: &Contender) -> Result<(&Port, Terms), Reason> {
        let port = self.ports().get(port).ok_or(Reason::Flow(FlowError::Number))?;
        let terms = Terms::of(contender, port.rate).ok_or(Reason::Flow(FlowError::Number))?;
        Ok((port, terms))
    }

    fn least_share(&self, id: FlowId, index: usize, new: Contender, limit: u64) -> Result<u64, Reason> {
        let port = self.ports().get(index).ok_or(Reason::Flow(FlowError::Number))?;
        self.charge(index, self.entries(index).len())?;
        let (mut contenders, mut limits) = self.at(index);
        contenders.push(new);
        limits.push(limit);
        let server = port.planning_server();
        least_bound_counted(&server, &contenders, &limits, port.queues, self.work()).map_err(|refused| {
            let reason = self.reason(index, id, refused);
            // What the flow would miss by itself is no fault of another one.
            let alone = planned_bound_counted(&server, &[new], new.level, self.work());
            match (alone.and_then(|bound| bound.delay.checked_sub(limit)), reason) {
                (Some(by), Reason::Delay { flow, .. }) if by > 0 && flow != id => {
                    Reason::Delay { port: index, level: new.level, flow: id, by: Some(by) }
                }
                _ => reason,
            }
        })
    }

    /// For each subscriber, what its limit leaves beyond the least shares.
    fn slacks(&self, id: FlowId, flow: &Flow, tight: &[u64], search: Search) -> Result<Vec<u64>, Reason> {
        let mut slacks = Vec::with_capacity(flow.subscribers.len());
        for (index, subscriber) in flow.subscribers.iter().enumerate() {
            let way = flow.way_to(subscriber.hop);
            self.charge_in(
                search,
                way.first().and_then(|hop| flow.tree.get(*hop)).map_or(0, |hop| hop.port),
                way.len(),
            )?;
            let ports = || {
                way.iter().filter_map(|hop| flow.tree.get(*hop)).filter_map(|hop| self.ports().get(hop.port))
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
            self.keeps_separation(flow, index)?;
            slacks.push(slack);
        }
        Ok(slacks)
    }

    /// Whether no more time passes between two messages than a subscriber accepts.
    pub(crate) fn keeps_separation(&self, flow: &Flow, index: usize) -> Result<(), Reason> {
        let number = Reason::Flow(FlowError::Number);
        let subscriber = flow.subscribers.get(index).ok_or(number)?;
        let Some(accepted) = subscriber.maximum_separation else { return Ok(()) };
        let way = flow.way_to(subscriber.hop);
        let ports = way.iter().filter_map(|hop| flow.port(self.ports(), *hop).ok());
        let least = least_latency(flow, ports).ok_or(number)?;
        // The promise is the limit, so the latency may vary up to it.
        let separation = flow
            .maximum_separation
            // The writer's clock may be slow.
            .and_then(|writer| stretched(writer, flow.drift(self.ports())))
            .and_then(|writer| separation_at_subscriber(writer, subscriber.limit, least));
        if separation.is_none_or(|separation| separation > accepted) {
            let by = separation.map(|separation| separation - accepted);
            return Err(Reason::Separation { subscriber: index, by });
        }
        Ok(())
    }

    /// The plan with these shares, if they can be kept.
    fn with_shares(&self, id: FlowId, flow: &Flow, shares: &[u64], search: Search) -> Result<Plan, Reason> {
        let mut contenders = flow.contenders(self.ports(), shares).map_err(Reason::Flow)?;
        let mut phase = Phase::default();
        for (index, ((hop, contender), share)) in
            flow.tree.iter().zip(&mut contenders).zip(shares).enumerate()
        {
            self.charge_in(search, hop.port, 0)?;
            let (port, terms) = self.terms(hop.port, contender)?;
            let roomiest = self.register(hop.port).and_then(|register| {
                let book = register.book();
                match self.opening_delay(index, hop.port, contender) {
                    Some(delay) => book.opening_level(port, &terms, *share, delay),
                    None => book.roomiest(port, &terms, *share),
                }
            });
            contender.level = match roomiest {
                Some(level) => level,
                None if search == Search::Coarse => return Err(Reason::Work { port: hop.port }),
                None => self.place(id, hop.port, port, *contender, *share, &mut phase)?,
            };
        }
        let admitted = match search {
            Search::Beyond => self.admitted_with(flow, shares).map_err(Reason::Flow)?,
            // They were found within the limits.
            Search::Sums | Search::Exact | Search::Coarse => {
                let first = shares.first().copied().unwrap_or(0);
                let enforcement = flow.enforcement(self.ports(), first).map_err(Reason::Flow)?;
                Admitted { flow: flow.clone(), shares: shares.to_vec(), enforcement, by_sum: true }
            }
        };
        let basis = flow.tree.iter().filter_map(|hop| self.seen(hop.port)).collect();
        let coarse = !self.work().is_exact();
        let phases = Vec::from_iter(phase.changes_something().then_some(phase));
        Ok(Plan { contenders, phases, coarse, basis, ..Plan::still(id, admitted) })
    }

    /// Counts work, unless a few steps are taken in any case.
    fn charge_in(&self, search: Search, port: usize, flows: usize) -> Result<(), Reason> {
        let charged = self.charge(port, flows);
        if search == Search::Coarse { Ok(()) } else { charged }
    }

    /// The level of a new flow by the exact tests, and the moves of others that it needs.
    fn place(
        &self,
        id: FlowId,
        index: usize,
        port: &Port,
        new: Contender,
        share: u64,
        phase: &mut Phase,
    ) -> Result<u8, Reason> {
        self.charge(index, self.entries(index).len())?;
        let (mut all, mut limits) = self.at(index);
        all.push(new);
        limits.push(share);
        let levels = assign_last_counted(&port.planning_server(), &all, &limits, port.queues, self.work())
            .map_err(|refused| self.reason(index, id, refused))?;
        all.iter_mut().zip(&levels).for_each(|(flow, level)| flow.level = *level);
        self.fits(index, port, &all)?;
        self.steps(index, port, &levels, phase)?;
        Ok(all.last().map_or(0, |flow| flow.level))
    }

    /// The moves of a port's flows to new levels, in an order in which all shares are kept.
    fn steps(&self, index: usize, port: &Port, levels: &[u8], phase: &mut Phase) -> Result<(), Reason> {
        let entries = self.entries(index);
        let moves: Vec<Move> = entries
            .iter()
            .zip(levels)
            .map(|(entry, to)| Move { port: index, flow: entry.flow, from: entry.contender.level, to: *to })
            .filter(|step| step.from != step.to)
            .collect();
        if moves.is_empty() {
            return Ok(());
        }
        let flows: Vec<FlowId> = entries.iter().map(|entry| entry.flow).collect();
        let (contenders, shares) = self.at(index);
        let server = port.planning_server();
        let waits = pause(&server, &flows, &contenders, &shares, &moves, self.work());
        let order = verified_order_counted(&server, &flows, &contenders, &shares, &moves, self.work());
        let (order, waits) = order.zip(waits).ok_or(Reason::Order { port: index })?;
        phase.moves.extend(order);
        phase.pause = phase.pause.max(waits);
        Ok(())
    }

    /// Whether buffers hold what the queues may hold.
    pub(crate) fn fits(&self, index: usize, port: &Port, contenders: &[Contender]) -> Result<(), Reason> {
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
            let from = backlog_from_counted(&server, contenders, *level, self.work());
            let within = match port.buffer {
                Buffer::Shared(_) => None,
                Buffer::PerQueue(_) => planned_bound_counted(&server, contenders, *level, self.work())
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
    pub(crate) fn at(&self, port: usize) -> (Vec<Contender>, Vec<u64>) {
        self.entries(port).iter().map(|entry| (entry.contender, entry.share)).unzip()
    }

    pub(crate) fn reason(&self, port: usize, id: FlowId, refused: NoLevels) -> Reason {
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

/// Whether others might make room for a flow that is refused so.
pub(crate) fn may_find_room(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::Delay { .. } | Reason::Queues { .. } | Reason::Buffer { .. } | Reason::Order { .. }
    )
}

/// Whether a flow is the first of a host with several queues at the hop.
fn opens(index: usize, port: &Port, register: &Register) -> bool {
    index == 0 && port.queues > 1 && register.entries().is_empty()
}
