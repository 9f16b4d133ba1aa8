//! In which order flows change their levels, so that every state between keeps what has been promised.
//!
//! First those that move down, lowest new level first; then those that move up, highest old level first. At any time
//! the flows at or above the level of a flow that has not moved are among those of the old configuration, and those
//! of a flow that has moved are among those of the new one. (MIDAS: lowest new level first, whichever way they move.
//! Of a flow that goes from 1 to 4 and one that goes from 3 to 5 the first then overtakes the second, which was
//! and will be above it.)
//!
//! That alone is a proof only if no two flows leave one level upwards and no two enter one level downwards: of two that
//! share a level, one moves first and is above the other for a time, which delays more than sharing does. So
//! [`verified_order`] computes the bounds of every state between.
//!
//! The order is about frames that come from a step on: those that are queued stay where they are, and delay others there as before. So
//! a state between holds what is computed for it if each step waits until the one before has settled, [`settling`] says for how long, and
//! then until the link has paused: what was queued at the former level may have delayed others that are still there. A flow that moves up overtakes its own frames besides. Of one message that does no harm, since all of it is there no later than its last
//! frame would have been. A flow of which two messages may be queued at once has to keep its limit at the lower level though what it sends meanwhile comes at the
//! higher one. So a step down is not undone, which would be one up that was not looked at: what fails later
//! leaves the flow where it is, since each state between is as good.
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::bound::{keeps, planned_bound_counted};
use crate::busy::longest_busy;
use crate::ledger::{FlowId, Move};
use crate::port::{Arrival, Contender, Server};
use crate::units::{bits_in, least_time_of, time_of};
use crate::work::Work;

/// How often a limit is raised for what may overtake in the longer time.
const MOST_TRIALS: usize = 16;

/// Sorts moves into the order that leaves no flow with more flows at or above its level than before or after.
pub fn safe_order(moves: &[Move]) -> Vec<Move> {
    let mut down: Vec<Move> = moves.iter().filter(|step| step.to < step.from).copied().collect();
    let mut up: Vec<Move> = moves.iter().filter(|step| step.to > step.from).copied().collect();
    down.sort_by_key(|step| (step.to, step.port, step.flow));
    up.sort_by_key(|step| (Reverse(step.from), step.port, step.flow));
    down.append(&mut up);
    down
}

/// Sorts the moves of one port so that the planned bounds of all flows keep their limits (picoseconds) after each step;
/// as near to [`safe_order`] as possible.
///
/// `flows` are the identities of the contenders, which have their old levels. `None` if no next step keeps all limits;
/// other orders of the steps before are not tried.
pub fn verified_order(
    server: &Server,
    flows: &[FlowId],
    contenders: &[Contender],
    limits: &[u64],
    moves: &[Move],
) -> Option<Vec<Move>> {
    verified_order_counted(server, flows, contenders, limits, moves, &Work::unlimited())
}

/// The same, with its work counted.
pub(crate) fn verified_order_counted(
    server: &Server,
    flows: &[FlowId],
    contenders: &[Contender],
    limits: &[u64],
    moves: &[Move],
    work: &Work,
) -> Option<Vec<Move>> {
    let mut left = safe_order(moves);
    let mut now = contenders.to_vec();
    let mut steps = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let next = left.iter().position(|step| {
            let mut then = now.clone();
            set(&mut then, flows, step);
            all_keep(server, &then, limits, work)
                && (step.to < step.from || left_behind_keep(server, flows, &now, limits, step, work))
        })?;
        let step = left.remove(next);
        set(&mut now, flows, &step);
        steps.push(step);
    }
    Some(steps)
}

/// Picoseconds after a step until no frame of its flow is left at the old level: the limit that the flow keeps at the port; if it moves
/// up, counted from the last frame of the message whose first one may have stayed behind. `None` if that does not fit.
pub fn settling(contender: &Contender, limit: u64, step: &Move) -> Option<u64> {
    if step.to < step.from {
        return Some(limit);
    }
    limit.checked_add(spread(contender)?)
}

/// Picoseconds after each of the moves at a port until the next one may follow. `None` if that does not fit.
pub(crate) fn pause(
    server: &Server,
    flows: &[FlowId],
    contenders: &[Contender],
    limits: &[u64],
    moves: &[Move],
    work: &Work,
) -> Option<u64> {
    let mut longest = 0_u64;
    for step in moves {
        let mut all = flows.iter().zip(contenders).zip(limits);
        let ((_, contender), limit) = all.find(|((flow, _), _)| **flow == step.flow)?;
        longest = longest.max(settling(contender, *limit, step)?);
    }
    longest.checked_add(longest_busy(server, contenders, work)?)
}

/// Picoseconds from the first frame of a message, were it as early as it may be, to its last one.
fn spread(contender: &Contender) -> Option<u64> {
    match (contender.arrival, contender.ingress) {
        // What the link takes for the message, less two frames, was taken off the jitter: see `serialised`.
        (Arrival::Messages { bits, jitter, .. }, Some(link)) => {
            let frames = least_time_of(contender.largest_frame, link.rate)?.checked_mul(2)?;
            jitter.checked_add(time_of(bits, link.rate)?.saturating_sub(frames))
        }
        (Arrival::Messages { jitter, .. }, None) => Some(jitter),
        (Arrival::Bucket { burst, rate }, _) => time_of(burst, rate),
    }
}

fn set(contenders: &mut [Contender], flows: &[FlowId], step: &Move) {
    for (contender, _) in contenders.iter_mut().zip(flows).filter(|(_, flow)| **flow == step.flow) {
        contender.level = step.to;
    }
}

/// Whether frames that have stayed at the lower level of a step up, where the flow is in `contenders`, keep its limit while others of the flow come
/// at the higher level: whole messages, each no later than if none of its frames had taken longer than the limit.
fn left_behind_keep(
    server: &Server,
    flows: &[FlowId],
    contenders: &[Contender],
    limits: &[u64],
    step: &Move,
    work: &Work,
) -> bool {
    let Some(index) = flows.iter().position(|flow| *flow == step.flow) else { return true };
    let limit = limits.get(index).copied().unwrap_or(0);
    left_behind_keeps(server, contenders, index, step.to, limit, work)
}

/// The same of the flow with this index and its limit.
///
/// What comes later than a frame has left delays it no more. So it is enough to find a time, not above the limit, within which the frame has left in
/// spite of all that may overtake it in that time; that is looked for from the delay on that it would have if nothing overtook it.
pub(crate) fn left_behind_keeps(
    server: &Server,
    contenders: &[Contender],
    index: usize,
    higher: u8,
    limit: u64,
    work: &Work,
) -> bool {
    let Some(flow) = contenders.get(index) else { return true };
    let with = match with_overtaking(contenders, flow, higher, limit) {
        Some(Some(with)) => with,
        Some(None) => return true,
        None => return false,
    };
    if keeps(server, &with, flow.level, limit, work) {
        return true;
    }
    let alone = planned_bound_counted(server, contenders, flow.level, work);
    let needs =
        alone.and_then(|bound| left_behind_limit(server, contenders, index, higher, bound.delay, work));
    needs.is_some_and(|needs| needs <= limit)
}

/// The least limit, not below `least`, that the flow with this index keeps, where it has its lower level, while frames of it come at the higher
/// one; `None` if none is found.
pub(crate) fn left_behind_limit(
    server: &Server,
    contenders: &[Contender],
    index: usize,
    higher: u8,
    least: u64,
    work: &Work,
) -> Option<u64> {
    let flow = contenders.get(index)?;
    let mut limit = least;
    // The longer it may take the more may overtake it.
    for _ in 0..MOST_TRIALS {
        let Some(with) = with_overtaking(contenders, flow, higher, limit)? else { return Some(limit) };
        let delay = planned_bound_counted(server, &with, flow.level, work)?.delay;
        if delay <= limit {
            return Some(limit);
        }
        limit = delay;
    }
    None
}

/// A port with what may overtake frames of a flow that have stayed at its lower level; `None` inside if nothing may.
fn with_overtaking(
    contenders: &[Contender],
    flow: &Contender,
    higher: u8,
    limit: u64,
) -> Option<Option<Vec<Contender>>> {
    let bits = overtaking(flow, limit)?;
    Some((bits > 0).then(|| {
        let mut with = contenders.to_vec();
        let arrival = Arrival::Messages { bits, separation: u64::MAX, jitter: 0 };
        with.push(Contender { level: higher, arrival, ingress: None, ..*flow });
        with
    }))
}

/// The bits of a flow that may come behind a message of it before the limit of its last frame is over, and so overtake that if the flow
/// moves up between.
///
/// Let a message spread from `b` on. Then its last frame has come at `b` and the spread, and is to be gone the limit later. The next
/// messages begin at `b` and a separation, and another one. What comes by a link comes no faster than that.
fn overtaking(flow: &Contender, limit: u64) -> Option<u64> {
    match flow.arrival {
        Arrival::Messages { bits, separation, .. } => {
            let time = limit.checked_add(spread(flow)?)?.saturating_sub(separation);
            let all = bits.checked_mul(time.div_ceil(separation.max(1)))?;
            let Some(link) = flow.ingress.filter(|_| time > 0) else { return Some(all) };
            let brought = bits_in(time.checked_add(link.variation)?, link.rate)?;
            Some(all.min(brought.checked_add(flow.largest_frame)?))
        }
        Arrival::Bucket { rate, .. } => bits_in(limit, rate),
    }
}

/// Whether every level keeps the least limit of its flows.
fn all_keep(server: &Server, contenders: &[Contender], limits: &[u64], work: &Work) -> bool {
    let mut levels: Vec<u8> = contenders.iter().map(|flow| flow.level).collect();
    levels.sort_unstable();
    levels.dedup();
    levels.into_iter().all(|level| {
        let at_level = contenders.iter().zip(limits).filter(|(flow, _)| flow.level == level);
        at_level
            .map(|(_, limit)| *limit)
            .min()
            .is_none_or(|limit| keeps(server, contenders, level, limit, work))
    })
}
