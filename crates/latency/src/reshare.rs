//! Shares are split again where a later flow would find no room.
//!
//! What a flow is promised is its limit; how much of it is spent at which hop is an agreement between ports, and may change. Some
//! flows, the new one among them, give up their shares; of all others the shares stay, and with them what they offer to ports. From
//! below, the least shares are found that the ports can keep: each port gives each flow the bound of its level, which makes what the
//! flow offers to later hops larger, and so on until nothing changes. Bounds grow with arrivals and arrivals with shares, so that
//! there are no lesser shares which could be kept: if these are too much for a limit, others have to give up theirs, too. What the
//! limits leave besides is shared out in the end.
//!
//! From the shares so far, `s`, to the new ones, `t`, there is a way on which nothing is broken. With the lesser of both at each hop,
//! no port has more to do than with `s` or than with `t`, so that all ports keep that: guards that become narrower do so first. Guards
//! that become wider follow when frames have come down to the new shares, see [`settle`](crate::settle); then `t` is kept, since it is
//! with the new flow besides. Where levels change, `t` is kept at those so far, too, and at each step between. Where that asks for too much at once, it is
//! done in several phases, each with shares of its own.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::group::{Group, Stuck};
use crate::ledger::{Admitted, FlowId, Ledger, Phase, Plan};
use crate::levels::{NoLevels, SMALL_PORT, assign_last_counted};
use crate::meeting::Who;
use crate::network::Flow;
use crate::port::Contender;

/// How many flows may give up their shares, and how many if all do that hang together.
const MOST_FLOWS: usize = 256;
const MOST_TOGETHER: usize = 32;
/// How often more flows give up theirs.
const ROUNDS: usize = 8;
/// How often levels are looked for again with what is known of shares.
const TRIALS: usize = 3;

/// In how many phases flows may come to one level at each port.
const MOST_PHASES: usize = 16;

/// The levels of flows at ports.
type Levels = BTreeMap<usize, Vec<u8>>;

/// A search for shares for a new flow.
struct Search<'l> {
    ledger: &'l Ledger,
    id: FlowId,
    flow: &'l Flow,
    /// Whether shares may together be more than limits, which then rest on other methods.
    beyond: bool,
}

impl Ledger {
    /// A plan in which others have their shares split again.
    pub(crate) fn share_again_for(&self, id: FlowId, flow: &Flow) -> Option<Plan> {
        if self.work().is_sparing() {
            return None;
        }
        let search = Search { ledger: self, id, flow, beyond: false };
        (0..flow.subscribers.len()).all(|index| self.keeps_separation(flow, index).is_ok()).then_some(())?;
        let together = search.together();
        let most = if together.is_some() { u64::MAX } else { self.work().again() };
        if most == 0 {
            return None;
        }
        let plan = self.work().part(most, || search.plan(together))?;
        self.leaves_all(plan).ok()
    }

    /// The same where limits may rest on other methods than the sum of shares: all flows that hang together have the least shares.
    pub(crate) fn share_again_beyond(&self, id: FlowId, flow: &Flow) -> Option<Plan> {
        let search = Search { ledger: self, id, flow, beyond: true };
        let plan = search.all_together(&search.together()?)?;
        self.leaves_all(plan).ok()
    }
}

impl<'l> Search<'l> {
    /// The flows that hang together with the new one, if they are few: each shares a port with another one.
    fn together(&self) -> Option<BTreeSet<FlowId>> {
        let mut flows = BTreeSet::new();
        let mut ports: BTreeSet<usize> = BTreeSet::new();
        let mut new: Vec<usize> = self.flow.tree.iter().map(|hop| hop.port).collect();
        while let Some(port) = new.pop() {
            if !ports.insert(port) {
                continue;
            }
            let entries = self.ledger.entries(port);
            if entries.len() > MOST_TOGETHER {
                return None;
            }
            self.ledger.charge(port, entries.len()).ok()?;
            for entry in entries.iter().filter(|entry| flows.insert(entry.flow)) {
                new.extend(self.ledger.flow(entry.flow)?.flow.tree.iter().map(|hop| hop.port));
            }
            if flows.len() > MOST_TOGETHER {
                return None;
            }
        }
        Some(flows)
    }

    fn plan(&self, together: Option<BTreeSet<FlowId>>) -> Option<Plan> {
        let mut giving = BTreeSet::new();
        for _ in 0..ROUNDS {
            let mut more = Vec::new();
            for frees_guards in [false, true] {
                match self.with(&giving, frees_guards) {
                    Ok(plan) => return Some(plan),
                    Err(Stuck::With(flows)) => more = flows,
                    Err(Stuck::Never) if frees_guards => return None,
                    Err(Stuck::Never) => {}
                }
            }
            let known = giving.len();
            giving.extend(more);
            if giving.len() > MOST_FLOWS || !self.ledger.work().is_exact() {
                return None;
            }
            if giving.len() == known {
                break;
            }
        }
        self.all_together(&together?)
    }

    fn group(
        &self,
        giving: &BTreeMap<FlowId, Arc<Admitted>>,
        new: bool,
        frees_guards: bool,
    ) -> Option<Group<'l>> {
        let members = giving.iter().filter_map(|(id, before)| {
            let flow = &self.ledger.flow(*id)?.flow;
            Some((flow, *id, Arc::clone(before)))
        });
        let mut group = Group::new(self.ledger, members, new.then_some((self.id, self.flow)), frees_guards)?;
        group.beyond = self.beyond;
        Some(group)
    }

    fn having(&self, flows: &BTreeSet<FlowId>) -> BTreeMap<FlowId, Arc<Admitted>> {
        flows.iter().filter_map(|id| Some((*id, Arc::clone(self.ledger.admitted(*id)?)))).collect()
    }

    /// Shares if these flows give up theirs.
    fn with(&self, giving: &BTreeSet<FlowId>, frees_guards: bool) -> Result<Plan, Stuck> {
        let mut group = self.group(&self.having(giving), true, frees_guards).ok_or(Stuck::Never)?;
        let mut answer = Err(Stuck::Never);
        for trial in 0..TRIALS {
            for hop in &self.flow.tree {
                self.choose_levels(&mut group, hop.port, trial == 0)?;
            }
            answer = group.raise_all();
            let has_levels = |port: usize| self.ledger.ports().get(port).is_some_and(|port| port.queues > 1);
            let may_differ = self.flow.tree.iter().any(|hop| has_levels(hop.port));
            if !matches!(answer, Err(Stuck::With(_))) || !may_differ {
                break;
            }
            // The same again, with levels for what these shares leave.
        }
        answer?;
        self.finish(group, Vec::new()).map_err(|_| Stuck::With(Vec::new()))
    }

    /// Levels for a port of the new flow, if each member had all that its limits leave for this port.
    fn choose_levels(&self, group: &mut Group<'l>, at: usize, is_first: bool) -> Result<(), Stuck> {
        group.meeting(at)?;
        let limits = group.most_shares(at).ok_or(Stuck::Never)?;
        let meeting = group.meeting(at)?;
        let so_far = meeting.levels_so_far();
        let mut levels = so_far.clone();
        levels.push(0);
        let (flows, queues) = (meeting.at(&levels), meeting.port.queues);
        match assign_last_counted(&meeting.server, &flows, &limits, queues, self.ledger.work()) {
            Ok(found) => levels = found,
            Err(NoLevels::Input) => return Err(Stuck::Never),
            Err(NoLevels::Missed { flow, .. }) if flows.len() > SMALL_PORT => {
                // One flow after the other: all of them would be too many.
                return match meeting.who.get(flow) {
                    Some(Who::Other(id)) => Err(Stuck::With(alloc::vec![*id])),
                    _ => Err(Stuck::Never),
                };
            }
            Err(NoLevels::Missed { .. } | NoLevels::TooFewQueues { .. }) => {
                let others: Vec<FlowId> = meeting.others().collect();
                // If all have given up what they have, and it is not enough, nothing is.
                let never = is_first && others.is_empty();
                return Err(if never { Stuck::Never } else { Stuck::With(others) });
            }
        }
        let stays = levels.starts_with(&so_far);
        meeting.kept = if stays { Vec::new() } else { alloc::vec![so_far] };
        meeting.kept.push(levels);
        Ok(())
    }

    /// All flows that hang together give up their shares, and where that is not enough their levels, too.
    fn all_together(&self, giving: &BTreeSet<FlowId>) -> Option<Plan> {
        for frees_guards in [false, true] {
            if let Ok(plan) = self.with(giving, frees_guards) {
                return Some(plan);
            }
        }
        [false, true].into_iter().find_map(|frees| self.at_one_level(giving, frees))
    }

    /// At each port all flows at one level, in as many phases as that takes, and then the new flow.
    fn at_one_level(&self, giving: &BTreeSet<FlowId>, frees_guards: bool) -> Option<Plan> {
        let mut having = self.having(giving);
        let ports = self.group(&having, true, frees_guards)?.ports();
        let so_far = |port: &usize| {
            let levels = self.ledger.entries(*port).iter().map(|entry| entry.contender.level).collect();
            (*port, levels)
        };
        let mut levels: Levels = ports.iter().map(so_far).collect();
        let arrived = |having: &BTreeMap<FlowId, Arc<Admitted>>, levels: &Levels| {
            let mut group = self.group(having, true, frees_guards)?;
            for (at, levels) in levels {
                let meeting = group.meeting(*at).ok()?;
                let level = levels.first().copied().unwrap_or(0);
                meeting.kept = alloc::vec![alloc::vec![level; meeting.who.len()]];
            }
            group.raise_all().ok()?;
            Some(group)
        };
        // Whether it comes to anything.
        arrived(&having, &levels)?;
        let mut phases = Vec::new();
        while levels.values().any(|levels| !is_one(levels)) {
            (self.ledger.work().is_exact() && phases.len() < MOST_PHASES).then_some(())?;
            let next = nearer_to_one(&levels).into_iter().find_map(|next| {
                let phase = self.phase(&having, &levels, &next, frees_guards)?;
                Some((phase, next))
            });
            let (phase, next) = next?;
            for change in &phase.shares {
                having.insert(change.flow, Arc::clone(&change.to));
            }
            phases.push(phase);
            levels = next;
        }
        self.finish(arrived(&having, &levels)?, phases).ok()
    }

    /// A phase from some levels to others.
    fn phase(
        &self,
        having: &BTreeMap<FlowId, Arc<Admitted>>,
        from: &Levels,
        next: &Levels,
        frees_guards: bool,
    ) -> Option<Phase> {
        let mut group = self.group(having, false, frees_guards)?;
        for (at, levels) in from {
            let meeting = group.meeting(*at).ok()?;
            let next = next.get(at)?;
            meeting.kept = alloc::vec![levels.clone()];
            if next != levels {
                meeting.kept.push(next.clone());
            }
        }
        group.raise_all().ok()?;
        group.share_out().ok()?;
        group.phase()
    }

    /// The last phase, and the plan.
    fn finish(&self, mut group: Group<'l>, mut phases: Vec<Phase>) -> Result<Plan, Stuck> {
        group.share_out()?;
        let phase = group.phase().ok_or(Stuck::Never)?;
        if phase.changes_something() {
            phases.push(phase);
        }
        let new = group.members.last().ok_or(Stuck::Never)?;
        let level = |port: usize| group.meetings.get(&port)?.kept.last()?.last().copied();
        let offers = new.flow.tree.iter().zip(&new.offers);
        let contenders = offers.map(|(hop, offer)| Some(Contender { level: level(hop.port)?, ..*offer }));
        let contenders = contenders.collect::<Option<_>>().ok_or(Stuck::Never)?;
        let admitted = self.with_shares(self.flow, &new.shares).ok_or(Stuck::Never)?;
        let mut seen: BTreeSet<usize> = group.meetings.keys().copied().collect();
        seen.extend(group.ports());
        let basis = seen.into_iter().filter_map(|port| self.ledger.seen(port)).collect();
        let coarse = !self.ledger.work().is_exact();
        Ok(Plan { contenders, phases, coarse, basis, ..Plan::still(self.id, admitted) })
    }

    fn with_shares(&self, flow: &Flow, shares: &[u64]) -> Option<Admitted> {
        self.ledger.admitted_with(flow, shares).ok()
    }
}

fn is_one(levels: &[u8]) -> bool {
    levels.iter().all(|level| levels.first() == Some(level))
}

/// What may be done next so that in the end each port has one level: all ports together, or else one port, or else one flow there. At
/// a port that level is tried first that most of its flows have.
fn nearer_to_one(from: &Levels) -> Vec<Levels> {
    let mut together = from.clone();
    let (mut ports, mut flows) = (Vec::new(), Vec::new());
    for (port, levels) in from.iter().filter(|(_, levels)| !is_one(levels)) {
        let how_many = |level: u8| levels.iter().filter(|one| **one == level).count();
        let mut found: Vec<u8> = levels.iter().copied().collect::<BTreeSet<u8>>().into_iter().collect();
        found.sort_by_key(|level| core::cmp::Reverse(how_many(*level)));
        let with = |levels: Vec<u8>| {
            let mut next = from.clone();
            next.insert(*port, levels);
            next
        };
        for level in &found {
            ports.push(with(alloc::vec![*level; levels.len()]));
            for (index, _) in levels.iter().enumerate().filter(|(_, one)| *one != level) {
                let mut levels = levels.clone();
                if let Some(one) = levels.get_mut(index) {
                    *one = *level;
                }
                flows.push(with(levels));
            }
        }
        if let (Some(level), Some(levels)) = (found.first(), together.get_mut(port)) {
            levels.fill(*level);
        }
    }
    Vec::from_iter([together].into_iter().chain(ports).chain(flows))
}
