//! Which level for which flow: a feasible grouping is found whenever one exists, with the fewest levels, and spare
//! levels widen the least margin.
//!
//! Sorted by limit, the lowest level is the largest set of the most patient flows that keeps the least limit among
//! them. A flow that joins the level from above does not raise its delay, and a flow that leaves the levels above only
//! helps those; so whatever levels are feasible, these are too (MIDAS's loop over single flows misses that a level must
//! be filled to its largest set).
use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::bound::{keeps, planned_bound_counted};
use crate::port::{Contender, Server};
use crate::work::Work;

/// Why flows cannot be given levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoLevels {
    /// Whatever goes lowest among the flows that are left misses its limit.
    Missed {
        /// Index of the flow that misses by the least.
        flow: usize,
        /// The level, counted from the lowest.
        level: u8,
        /// By how much, in picoseconds; `None` if the flow has no bound there at all.
        by: Option<u64>,
    },
    /// The flows need more levels than the port has queues.
    TooFewQueues {
        /// Levels needed.
        needed: usize,
    },
    /// There are not as many limits as flows, or more than 255 flows would each need a level.
    Input,
}

/// Gives each contender a level, so that the planned bound of its level is at most its limit (picoseconds).
///
/// The levels that contenders come with do not matter. Levels are 0 (lowest) to `queues` - 1 at most.
pub fn assign(
    server: &Server,
    contenders: &[Contender],
    limits: &[u64],
    queues: u8,
) -> Result<Vec<u8>, NoLevels> {
    assign_and(server, contenders, limits, queues, true, &Work::unlimited())
}

/// How many levels the contenders need at least, however many queues there are.
pub fn fewest(server: &Server, contenders: &[Contender], limits: &[u64]) -> Result<usize, NoLevels> {
    fewest_counted(server, contenders, limits, &Work::unlimited())
}

/// The same, with its work counted.
pub fn fewest_counted(
    server: &Server,
    contenders: &[Contender],
    limits: &[u64],
    work: &Work,
) -> Result<usize, NoLevels> {
    let levels = assign_and(server, contenders, limits, u8::MAX, false, work)?;
    Ok(levels.iter().max().map_or(0, |highest| usize::from(*highest) + 1))
}

/// The same as [`assign`]; spare levels are used only with `widen`.
fn assign_and(
    server: &Server,
    contenders: &[Contender],
    limits: &[u64],
    queues: u8,
    widen: bool,
    work: &Work,
) -> Result<Vec<u8>, NoLevels> {
    if limits.len() != contenders.len() {
        return Err(NoLevels::Input);
    }
    // Patient flows first, so that levels grow with the index.
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    order.sort_by_key(|index| (core::cmp::Reverse(limits.get(*index).copied()), *index));
    let mut plan = Plan {
        server,
        work,
        flows: order.iter().filter_map(|index| contenders.get(*index)).copied().collect(),
        limits: order.iter().filter_map(|index| limits.get(*index)).copied().collect(),
        order: &order,
        bounds: Vec::new(),
    };
    plan.fewest()?;
    if plan.bounds.len() > usize::from(queues) {
        return Err(NoLevels::TooFewQueues { needed: plan.bounds.len() });
    }
    if widen {
        plan.widen(usize::from(queues));
    }
    plan.number();
    let mut levels = alloc::vec![0; contenders.len()];
    for (index, flow) in order.iter().zip(&plan.flows) {
        if let Some(level) = levels.get_mut(*index) {
            *level = flow.level;
        }
    }
    Ok(levels)
}

/// Ports with more flows than this keep the levels they have: a new flow goes where it fits, and nothing else moves.
pub const SMALL_PORT: usize = 32;
/// On ports with more flows than this, flows move only if the new one has no place otherwise.
pub const FEW_FLOWS: usize = 8;

/// The highest level that the last flow may have while all others stay where they are and keep their limits below it,
/// going up from the lowest.
fn highest(server: &Server, placed: &mut [Contender], limits: &[u64], queues: u8, work: &Work) -> u8 {
    set_last(placed, u8::MAX);
    let keeps_below = |level: &u8| {
        let at_level = placed.iter().zip(limits).filter(|(flow, _)| flow.level == *level);
        let limit = at_level.map(|(_, limit)| *limit).min();
        limit.is_none_or(|limit| keeps(server, placed, *level, limit, work))
    };
    (0..queues.saturating_sub(1)).take_while(keeps_below).last().map_or(0, |level| level + 1)
}

/// Whether the last flow may have the level it has, which is not above [`highest`]. Levels above count with the smallest
/// frame of the port and with the largest below them, so that they are tested again if one of these may have changed.
fn may_have(server: &Server, placed: &[Contender], limits: &[u64], queues: u8, work: &Work) -> bool {
    let Some((last, others)) = placed.split_last() else { return false };
    let changed = others.iter().all(|flow| flow.smallest_frame > last.smallest_frame)
        || placed.iter().any(|flow| flow.largest_frame > server.best_effort);
    let top = if changed { queues.saturating_sub(1).max(last.level) } else { last.level };
    (last.level..=top).all(|level| {
        let at_level = placed.iter().zip(limits).filter(|(flow, _)| flow.level == level);
        let limit = at_level.map(|(_, limit)| *limit).min();
        limit.is_none_or(|limit| keeps(server, placed, level, limit, work))
    })
}

fn set_last(placed: &mut [Contender], level: u8) {
    if let Some(last) = placed.last_mut() {
        last.level = level;
    }
}

/// The lowest level at which the last flow fits while all others stay where they are.
fn lowest_place(
    server: &Server,
    placed: &mut [Contender],
    limits: &[u64],
    queues: u8,
    work: &Work,
) -> Option<u8> {
    let highest = highest(server, placed, limits, queues, work);
    (0..=highest).find(|level| {
        set_last(placed, *level);
        may_have(server, placed, limits, queues, work)
    })
}

/// The least bound of the last flow, in picoseconds, at a level where it fits while all others stay where they are: that
/// of the highest such level.
fn least_at_place(
    server: &Server,
    placed: &mut [Contender],
    limits: &[u64],
    queues: u8,
    work: &Work,
) -> Option<u64> {
    let highest = highest(server, placed, limits, queues, work);
    let level = (0..=highest).rev().find(|level| {
        set_last(placed, *level);
        may_have(server, placed, limits, queues, work)
    })?;
    planned_bound_counted(server, placed, level, work).map(|bound| bound.delay)
}

/// The first flow at or below `level`, from there down, whose limit its level does not keep.
fn first_miss(
    server: &Server,
    contenders: &[Contender],
    limits: &[u64],
    level: u8,
    work: &Work,
) -> Option<usize> {
    (0..=level).rev().find_map(|level| {
        let at_level = contenders.iter().zip(limits).enumerate().filter(|(_, (flow, _))| flow.level == level);
        let (index, (_, limit)) = at_level.min_by_key(|(_, (_, limit))| **limit)?;
        (!keeps(server, contenders, level, *limit, work)).then_some(index)
    })
}

/// What stands in the way of the last flow if it has no place: who misses if it goes on top.
fn no_place(server: &Server, contenders: &[Contender], limits: &[u64], queues: u8, work: &Work) -> NoLevels {
    let mut placed = contenders.to_vec();
    let top = queues.saturating_sub(1);
    if let Some(last) = placed.last_mut() {
        last.level = top;
    }
    let flow = first_miss(server, &placed, limits, top, work).unwrap_or(contenders.len().saturating_sub(1));
    let level = placed.get(flow).map_or(top, |flow| flow.level);
    let by = planned_bound_counted(server, &placed, level, work)
        .and_then(|bound| bound.delay.checked_sub(*limits.get(flow)?));
    NoLevels::Missed { flow, level, by }
}

/// The least bound that the last flow can have while the limits of all others are kept; its own limit says how much it may be.
pub fn least_bound(
    server: &Server,
    contenders: &[Contender],
    limits: &[u64],
    queues: u8,
) -> Result<u64, NoLevels> {
    least_bound_counted(server, contenders, limits, queues, &Work::unlimited())
}

/// The same, with its work counted.
pub(crate) fn least_bound_counted(
    server: &Server,
    contenders: &[Contender],
    limits: &[u64],
    queues: u8,
    work: &Work,
) -> Result<u64, NoLevels> {
    if contenders.len() > FEW_FLOWS {
        match least_at_place(server, &mut contenders.to_vec(), limits, queues, work) {
            Some(least) => return Ok(least),
            None if contenders.len() > SMALL_PORT => {
                return Err(no_place(server, contenders, limits, queues, work));
            }
            None => {}
        }
    }
    let (mut placed, mut limits) = (contenders.to_vec(), limits.to_vec());
    let mut least = None;
    loop {
        let levels = match assign_and(server, &placed, &limits, queues, false, work) {
            Ok(levels) => levels,
            Err(refused) => return least.ok_or(refused),
        };
        placed.iter_mut().zip(&levels).for_each(|(flow, level)| flow.level = *level);
        let level = levels.last().copied().unwrap_or(0);
        let bound = planned_bound_counted(server, &placed, level, work).ok_or(NoLevels::Input)?.delay;
        least = Some(bound);
        // Can it be less with other levels?
        match (bound.checked_sub(1), limits.last_mut()) {
            (Some(less), Some(limit)) => *limit = less,
            _ => return Ok(bound),
        }
    }
}

/// Levels for flows of which all but the last have one: those they have, if the last finds a place among them that
/// leaves no smaller margin than new levels for all would; else those of [`assign`]. With more than [`FEW_FLOWS`] any
/// place will do, and on a port that is not a [`SMALL_PORT`] the others keep their levels in any case.
pub fn assign_last(
    server: &Server,
    contenders: &[Contender],
    limits: &[u64],
    queues: u8,
) -> Result<Vec<u8>, NoLevels> {
    assign_last_counted(server, contenders, limits, queues, &Work::unlimited())
}

/// The same, with its work counted.
pub(crate) fn assign_last_counted(
    server: &Server,
    contenders: &[Contender],
    limits: &[u64],
    queues: u8,
    work: &Work,
) -> Result<Vec<u8>, NoLevels> {
    if contenders.len() > FEW_FLOWS {
        match lowest_place(server, &mut contenders.to_vec(), limits, queues, work) {
            Some(level) => {
                let others = contenders.iter().take(contenders.len() - 1).map(|flow| flow.level);
                return Ok(others.chain([level]).collect());
            }
            None if contenders.len() > SMALL_PORT => {
                return Err(no_place(server, contenders, limits, queues, work));
            }
            None => {}
        }
    }
    let levels = assign_and(server, contenders, limits, queues, true, work)?;
    let mut placed = contenders.to_vec();
    placed.iter_mut().zip(&levels).for_each(|(flow, level)| flow.level = *level);
    let with_new = least_margin_counted(server, &placed, limits, work);
    placed.copy_from_slice(contenders);
    let mut best: Option<(Margin, u8)> = None;
    // Of levels that are as good the highest: a more patient flow that comes later goes below, and no flow moves up for it, which what is
    // queued may forbid.
    for level in 0..queues {
        if let Some(last) = placed.last_mut() {
            last.level = level;
        }
        let margin = least_margin_counted(server, &placed, limits, work);
        if let Some(margin) = margin.filter(|margin| best.is_none_or(|(most, _)| *margin >= most)) {
            best = Some((margin, level));
        }
    }
    match best {
        Some((margin, level)) if Some(margin) >= with_new => {
            if let Some(last) = placed.last_mut() {
                last.level = level;
            }
            Ok(placed.iter().map(|flow| flow.level).collect())
        }
        _ => Ok(levels),
    }
}

/// The least relative margin of an assignment: how much the most strained level has left of its limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Margin {
    /// Limit less bound, in picoseconds.
    pub left: u64,
    /// The limit, in picoseconds.
    pub of: u64,
}

impl Ord for Margin {
    fn cmp(&self, other: &Self) -> Ordering {
        let cross = |a: u64, b: u64| u128::from(a) * u128::from(b);
        cross(self.left, other.of).cmp(&cross(other.left, self.of))
    }
}

impl PartialOrd for Margin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The least margin of contenders in the levels they have; `None` if one misses its limit.
pub fn least_margin(server: &Server, contenders: &[Contender], limits: &[u64]) -> Option<Margin> {
    least_margin_counted(server, contenders, limits, &Work::unlimited())
}

fn least_margin_counted(
    server: &Server,
    contenders: &[Contender],
    limits: &[u64],
    work: &Work,
) -> Option<Margin> {
    let mut least: Option<Margin> = None;
    let mut levels: Vec<u8> = contenders.iter().map(|flow| flow.level).collect();
    levels.sort_unstable();
    levels.dedup();
    for level in levels {
        let at_level = contenders.iter().zip(limits).filter(|(flow, _)| flow.level == level);
        let limit = *at_level.map(|(_, limit)| limit).min()?;
        let left = limit.checked_sub(planned_bound_counted(server, contenders, level, work)?.delay)?;
        let margin = Margin { left, of: limit };
        least = Some(least.map_or(margin, |least| least.min(margin)));
    }
    least
}

/// Flows sorted from patient to urgent, and where each level ends.
struct Plan<'p> {
    server: &'p Server,
    work: &'p Work,
    flows: Vec<Contender>,
    limits: Vec<u64>,
    order: &'p [usize],
    /// For each level, from the lowest, the index after its last flow.
    bounds: Vec<usize>,
}

impl Plan<'_> {
    fn fewest(&mut self) -> Result<(), NoLevels> {
        let mut start = 0;
        while start < self.flows.len() {
            let level = u8::try_from(self.bounds.len()).map_err(|_| NoLevels::Input)?;
            // The last flow of the level is its most urgent one.
            let end = (start + 1..=self.flows.len()).rev().find(|end| {
                self.place(start, *end, level);
                let limit = self.limits.get(end - 1).copied().unwrap_or(0);
                keeps(self.server, &self.flows, level, limit, self.work)
            });
            match end {
                Some(end) => {
                    self.place(start, end, level);
                    self.bounds.push(end);
                    start = end;
                }
                None => return Err(self.nearest_miss(start, level)),
            }
        }
        Ok(())
    }

    /// Flows from `start` to `end` at the level, later ones above.
    fn place(&mut self, start: usize, end: usize, level: u8) {
        for (index, flow) in self.flows.iter_mut().enumerate().skip(start) {
            flow.level = if index < end { level } else { u8::MAX };
        }
    }

    fn nearest_miss(&mut self, start: usize, level: u8) -> NoLevels {
        let mut nearest: Option<(usize, u64)> = None;
        for end in start + 1..=self.flows.len() {
            self.place(start, end, level);
            let limit = self.limits.get(end - 1).copied().unwrap_or(0);
            if let Some(bound) = planned_bound_counted(self.server, &self.flows, level, self.work) {
                let by = bound.delay.saturating_sub(limit);
                if nearest.is_none_or(|(_, least)| by < least) {
                    nearest = Some((end - 1, by));
                }
            }
        }
        let flow = nearest.map_or(start, |(flow, _)| flow);
        NoLevels::Missed {
            flow: self.order.get(flow).copied().unwrap_or(flow),
            level,
            by: nearest.map(|(_, by)| by),
        }
    }

    fn number(&mut self) {
        let mut start = 0;
        for (level, end) in (0..=u8::MAX).zip(&self.bounds) {
            for flow in self.flows.iter_mut().take(*end).skip(start) {
                flow.level = level;
            }
            start = *end;
        }
    }

    /// Splits the most strained level as long as that helps and there are queues.
    fn widen(&mut self, queues: usize) {
        while self.bounds.len() < queues {
            self.number();
            let margins: Vec<Option<Margin>> =
                (0..self.bounds.len()).map(|level| self.margin(level)).collect();
            let Some((level, now)) = margins.iter().enumerate().min_by_key(|(_, margin)| **margin) else {
                return;
            };
            let start = level.checked_sub(1).and_then(|below| self.bounds.get(below)).copied().unwrap_or(0);
            let Some(end) = self.bounds.get(level).copied() else { return };
            let mut best: Option<(Option<Margin>, usize)> = None;
            for middle in start + 1..end {
                self.bounds.insert(level, middle);
                self.number();
                let margin = self.margin(level).min(self.margin(level + 1));
                self.bounds.remove(level);
                if best.is_none_or(|(most, _)| margin > most) {
                    best = Some((margin, middle));
                }
            }
            match best {
                Some((margin, middle)) if margin > *now => self.bounds.insert(level, middle),
                _ => return,
            }
        }
    }

    /// The margin of a level, for flows that have been numbered.
    fn margin(&self, level: usize) -> Option<Margin> {
        let end = *self.bounds.get(level)?;
        let limit = *self.limits.get(end.checked_sub(1)?)?;
        let bound = planned_bound_counted(self.server, &self.flows, u8::try_from(level).ok()?, self.work)?;
        Some(Margin { left: limit.checked_sub(bound.delay)?, of: limit })
    }
}
