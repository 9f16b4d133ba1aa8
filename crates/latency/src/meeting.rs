//! A port as it would be if some of its flows had other shares, with all the levels at which it has to keep them.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::bound::{keeps, planned_bound_counted};
use crate::ledger::{Entry, FlowId};
use crate::network::Port;
use crate::order::{left_behind_keeps, left_behind_limit};
use crate::port::{Contender, Server};
use crate::work::Work;

/// Who is at a place of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    /// Its share stays.
    Other(FlowId),
    /// Its share may change: the flow by its place among those that give up theirs, and its hop.
    Member { member: usize, hop: usize },
}

/// A port, the flows that it has, and, behind them, the new one if that comes by.
#[derive(Debug)]
pub(crate) struct Meeting<'l> {
    pub(crate) port: &'l Port,
    pub(crate) server: Server,
    pub(crate) entries: &'l [Entry],
    pub(crate) who: Vec<Who>,
    /// What they offer; their levels are of no meaning.
    pub(crate) offers: Vec<Contender>,
    /// Levels that all shares have to be kept with, one after the other. Where the new flow has none it is not there.
    pub(crate) kept: Vec<Vec<u8>>,
}

/// What a port needs that members do not give.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Lacks {
    /// These would miss their shares.
    Others(Vec<FlowId>),
    /// There is no bound.
    Bound,
    /// A flow cannot move from one of the levels to the next.
    Move,
}

impl<'l> Meeting<'l> {
    pub(crate) fn new(port: &'l Port, entries: &'l [Entry]) -> Self {
        let (who, offers) = (Vec::with_capacity(entries.len() + 1), Vec::with_capacity(entries.len() + 1));
        Self { port, server: port.planning_server(), entries, who, offers, kept: Vec::new() }
    }

    /// Adds who is at the next place.
    pub(crate) fn add(&mut self, who: Who, offer: Contender) {
        self.who.push(who);
        self.offers.push(offer);
    }

    /// The levels so far.
    pub(crate) fn levels_so_far(&self) -> Vec<u8> {
        self.entries.iter().map(|entry| entry.contender.level).collect()
    }

    /// The flows whose shares stay.
    pub(crate) fn others(&self) -> impl Iterator<Item = FlowId> {
        self.who.iter().filter_map(|who| match who {
            Who::Other(id) => Some(*id),
            Who::Member { .. } => None,
        })
    }

    /// The flows at levels, without the new one if that has none.
    pub(crate) fn at(&self, levels: &[u8]) -> Vec<Contender> {
        let with = |(offer, level): (&Contender, &u8)| Contender { level: *level, ..*offer };
        self.offers.iter().zip(levels).map(with).collect()
    }

    /// For each flow of a member the delay that its levels need, and its moves; others must keep what they have.
    pub(crate) fn needs(&self, work: &Work) -> Result<Vec<u64>, Lacks> {
        let mut needs = alloc::vec![0_u64; self.who.len()];
        let mut missed: Vec<FlowId> = Vec::new();
        for levels in &self.kept {
            let flows = self.at(levels);
            for level in levels.iter().copied().collect::<BTreeSet<u8>>() {
                let at_level = || {
                    let all = flows.iter().zip(&self.who).enumerate();
                    all.filter(move |(_, (flow, _))| flow.level == level)
                        .map(|(index, (_, who))| (index, who))
                };
                let is_other = |who: &Who| matches!(who, Who::Other(_));
                if at_level().all(|(_, who)| is_other(who)) {
                    let least =
                        at_level().filter_map(|(index, _)| Some(self.entries.get(index)?.share)).min();
                    // How much it is does not matter.
                    if least.is_none_or(|least| keeps(&self.server, &flows, level, least, work)) {
                        continue;
                    }
                }
                let bound =
                    planned_bound_counted(&self.server, &flows, level, work).ok_or(Lacks::Bound)?.delay;
                for (index, who) in at_level() {
                    match who {
                        Who::Other(id) => {
                            missed
                                .extend(self.entries.get(index).filter(|one| bound > one.share).map(|_| *id));
                        }
                        Who::Member { .. } => {
                            if let Some(need) = needs.get_mut(index) {
                                *need = bound.max(*need);
                            }
                        }
                    }
                }
            }
        }
        self.moves_need(&mut needs, &mut missed, work).ok_or(Lacks::Move)?;
        if missed.is_empty() { Ok(needs) } else { Err(Lacks::Others(missed)) }
    }

    /// What flows need that move up, while frames of them are queued: raises `needs`, and adds others to those that would miss their shares.
    fn moves_need(&self, needs: &mut [u64], missed: &mut Vec<FlowId>, work: &Work) -> Option<()> {
        for steps in self.kept.windows(2) {
            let [from, to] = steps else { continue };
            // The new flow is not there yet.
            let there = self.entries.len();
            for (index, (one, other)) in from.iter().zip(to).take(there).enumerate() {
                // What moves down is overtaken by nothing of its own.
                if other <= one {
                    continue;
                }
                let mut flows = self.at(from);
                flows.truncate(there);
                match self.who.get(index)? {
                    Who::Other(id) => {
                        let share = self.entries.get(index)?.share;
                        if !left_behind_keeps(&self.server, &flows, index, *other, share, work) {
                            missed.push(*id);
                        }
                    }
                    Who::Member { .. } => {
                        let need = needs.get_mut(index)?;
                        *need =
                            left_behind_limit(&self.server, &flows, index, *other, *need, work)?.max(*need);
                    }
                }
            }
        }
        Some(())
    }

    /// Whether all flows have these shares at all levels that have to be kept.
    pub(crate) fn keeps(&self, shares: &[u64], work: &Work) -> bool {
        self.kept.iter().all(|levels| {
            let flows = self.at(levels);
            levels.iter().copied().collect::<BTreeSet<u8>>().into_iter().all(|level| {
                let at_level = flows.iter().zip(shares).filter(|(flow, _)| flow.level == level);
                let least = at_level.map(|(_, share)| *share).min();
                least.is_none_or(|least| keeps(&self.server, &flows, level, least, work))
            })
        })
    }
}
