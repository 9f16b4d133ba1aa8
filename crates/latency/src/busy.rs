//! The busy-period test: exact for whole messages, first-in first-out levels and strict priority, and with the links by
//! which the flows come (what network calculus calls line shaping).
//!
//! A frame that comes `a` after the start of a busy period of its level leaves when the link has sent: a lower frame
//! that was already on the wire, all of its level that came by `a`, and all of higher levels that came before its own
//! transmission began. The delay is examined for every `a` in the longest busy period: the first message need not be
//! the one that is delayed most. Between two jumps of the arrivals the delay is bounded from the ends of the interval.
use core::ops::Range;

use crate::curve::{Aggregate, each_interval};
use crate::port::{Contender, Control, Server, blocking, least_frame, stable_rate};
use crate::units::{SECOND, least_time_of, time_of};
use crate::work::Work;

/// How many evaluations of curves a bound may cost before the test gives up.
pub const EFFORT: u32 = 50_000;
/// How many flows a port may have for the test to be tried: what it costs grows with them, and what it gains does not.
pub const MOST_FLOWS: usize = 1_000;
/// The same for what emission adds, which is asked for each subscriber.
const LATER_EFFORT: u32 = 2_000;
/// How often an interval between two jumps is halved to follow the arrivals of higher levels.
const HALVINGS: u32 = 7;

/// Most time from the arrival of a frame of `level` in its queue to the end of its transmission, in picoseconds.
///
/// `None` if the level is empty, if it and those above ask for the rate of the link or more, if the search takes more
/// than [`EFFORT`], or with more than [`MOST_FLOWS`].
pub fn busy_period_delay(server: &Server, contenders: &[Contender], level: u8) -> Option<u64> {
    busy_period_delay_counted(server, contenders, level, &Work::unlimited())
}

/// The same, with its work counted.
pub(crate) fn busy_period_delay_counted(
    server: &Server,
    contenders: &[Contender],
    level: u8,
    work: &Work,
) -> Option<u64> {
    // The delay of the smallest frame bounds that of the others: what a larger one adds at its end it saves before.
    delay_of_frame(server, contenders, level, least_frame(contenders, level)?, work)
}

/// The same for a frame of so many bits, which must be no more than the smallest of the level.
pub(crate) fn delay_of_frame(
    server: &Server,
    contenders: &[Contender],
    level: u8,
    frame: u64,
    work: &Work,
) -> Option<u64> {
    if contenders.len() > MOST_FLOWS {
        return None;
    }
    let most = effort_within(work, contenders)?;
    let mut effort = most;
    let delay = search_delay(server, contenders, level, frame, &mut effort);
    work.charge(steps_of(contenders, most - effort))?;
    delay
}

/// Most time from the arrival of a frame of `level` until one that came up to `later` after it has been sent, in picoseconds, if the
/// link was not idle between: with the longest busy period it is over for both, and what comes so much after its start waits less.
pub(crate) fn delay_of_later(
    server: &Server,
    contenders: &[Contender],
    level: u8,
    later: u64,
    work: &Work,
) -> Option<u64> {
    if contenders.len() > MOST_FLOWS {
        return None;
    }
    let frame = least_frame(contenders, level)?;
    let most = effort_within(work, contenders)?.min(LATER_EFFORT);
    let mut effort = most;
    let mut search = || {
        let end = busy_period(server, contenders, level, &mut effort)?;
        if end <= later {
            return Some(end);
        }
        search_from(server, contenders, level, frame, later..end, &mut effort)?.checked_add(later)
    };
    let delay = search();
    work.charge(steps_of(contenders, most - effort))?;
    delay
}

/// How many evaluations of curves a test may cost: no more than are left for exact tests. `None` if none are.
pub(crate) fn effort_within(work: &Work, contenders: &[Contender]) -> Option<u32> {
    let flows = u64::try_from(contenders.len()).unwrap_or(u64::MAX);
    let left = Some(work.exact_left()).filter(|left| *left > 0)?;
    Some(u32::try_from(left.div_ceil(flows.clamp(1, 32))).unwrap_or(EFFORT).min(EFFORT))
}

/// What was done: all flows looked at a few times, and what the evaluations of curves have cost.
pub(crate) fn steps_of(contenders: &[Contender], evaluations: u32) -> u64 {
    let flows = u64::try_from(contenders.len()).unwrap_or(u64::MAX);
    // An evaluation of many flows counts for each 32 of them.
    u64::from(evaluations).saturating_mul(flows.clamp(1, 32)).saturating_add(flows.saturating_mul(4))
}

fn search_delay(
    server: &Server,
    contenders: &[Contender],
    level: u8,
    frame: u64,
    effort: &mut u32,
) -> Option<u64> {
    let end = busy_period(server, contenders, level, effort)?;
    search_from(server, contenders, level, frame, 0..end, effort)
}

/// The same for frames that come so long after the start of a busy period.
fn search_from(
    server: &Server,
    contenders: &[Contender],
    level: u8,
    frame: u64,
    after: Range<u64>,
    effort: &mut u32,
) -> Option<u64> {
    stable_rate(server, contenders, level)?;
    let frame_time = time_of(frame, server.rate)?;
    let lower = time_of(blocking(server, contenders, level), server.rate)?;
    let higher = contenders.iter().filter(|flow| flow.level > level);
    let higher = Aggregate::new(server.rate, higher, server.control, false)?;
    let own = contenders.iter().filter(|flow| flow.level == level);
    let own = Aggregate::new(server.rate, own, server.beside, true)?;
    let jumps = own.jumps(after.end, effort)?;
    let mut search = Search {
        own: &own,
        higher: &higher,
        lower,
        frame: least_time_of(frame, server.rate)?,
        worst: 0,
        effort,
    };
    let mut from = 0;
    each_interval(&own, &jumps, after.end, |start, end| {
        let start = start.max(after.start);
        if start < end {
            from = search.examine(start, end, from, HALVINGS)?;
        }
        Some(())
    })?;
    search.worst.checked_add(frame_time)
}

/// The longest time for which the level and those above may keep the link busy without a pause, in picoseconds.
pub(crate) fn busy_period(
    server: &Server,
    contenders: &[Contender],
    level: u8,
    effort: &mut u32,
) -> Option<u64> {
    if contenders.len() > MOST_FLOWS {
        return None;
    }
    let lower = time_of(blocking(server, contenders, level), server.rate)?;
    let flows = contenders.iter().filter(|flow| flow.level >= level);
    Aggregate::new(server.rate, flows, server.unadmitted()?, false)?.done(lower, 1, false, effort)
}

/// The longest time for which the link may be busy with anything but best effort, without a pause, in picoseconds: the lesser of what
/// arrivals and what bursts and rates show. `None` if that has no end.
pub(crate) fn longest_busy(server: &Server, contenders: &[Contender], work: &Work) -> Option<u64> {
    work.charge_each(contenders.len())?;
    let linear = linear_busy(server, contenders);
    let exact = effort_within(work, contenders).and_then(|most| {
        let mut effort = most;
        let busy = busy_period(server, contenders, 0, &mut effort);
        work.charge(steps_of(contenders, most - effort))?;
        busy
    });
    linear.into_iter().chain(exact).min()
}

fn linear_busy(server: &Server, contenders: &[Contender]) -> Option<u64> {
    let beside = server.unadmitted()?.unwrap_or(Control { burst: 0, rate: 0 });
    let (mut bits, mut rate) = (u128::from(beside.burst), u128::from(beside.rate));
    let mut blocking = server.best_effort;
    for flow in contenders {
        bits += u128::from(flow.arrival.burst()?);
        rate += u128::from(flow.arrival.rate()?);
        blocking = blocking.max(flow.largest_frame);
    }
    let left = u128::from(server.rate).checked_sub(rate).filter(|left| *left > 0)?;
    bits += u128::from(blocking) + u128::from(server.ahead);
    u64::try_from((bits * u128::from(SECOND)).div_ceil(left)).ok()
}

/// The search for the frame that waits longest.
struct Search<'c, 'e> {
    own: &'c Aggregate,
    higher: &'c Aggregate,
    /// Time of the frame of a lower level.
    lower: u64,
    /// Time of the frame itself, which higher levels do not interrupt.
    frame: u64,
    /// Longest wait found, from arrival to the start of transmission.
    worst: u64,
    effort: &'e mut u32,
}

impl Search<'_, '_> {
    /// Raises `worst` to a bound of the waits of frames that come in `[start, end)`, where the level's own arrivals
    /// are affine. No frame that comes then starts before `from`. Returns an instant before which none starts that comes
    /// later.
    fn examine(&mut self, start: u64, end: u64, from: u64, halvings: u32) -> Option<u64> {
        let first = self.work(self.own.at(start)?)?;
        let last = self.work(self.own.before(end)?)?;
        let start_of_first = self.higher.done(first, from, true, self.effort)?;
        self.worst = self.worst.max(start_of_first.saturating_sub(start));
        if last == first {
            // Nothing comes after the start.
            return Some(start_of_first);
        }
        let start_of_last = self.higher.done(last, start_of_first, true, self.effort)?;
        if start_of_last.saturating_sub(start) <= self.worst {
            // Not even who comes first and leaves last waits longer.
            return Some(start_of_last);
        }
        // With all that comes before the last one starts, the wait is an affine function: largest at one of the ends.
        let at_end = self.higher.done_with(last, start_of_last)?;
        let at_start = self.higher.done_with(first, start_of_last)?;
        let bound = if end - start <= 1 {
            // Arrivals may bend within a picosecond.
            at_end.saturating_sub(start)
        } else {
            at_start.saturating_sub(start).max(at_end.saturating_sub(end))
        };
        if bound <= self.worst {
            return Some(start_of_last);
        }
        // If nothing of higher levels comes between the two starts, the wait itself is affine, and halves say the same.
        if halvings == 0 || end - start <= 1 || at_start == start_of_first {
            self.worst = bound;
            return Some(start_of_last);
        }
        let middle = start + (end - start) / 2;
        let from = self.examine(start, middle, start_of_first, halvings - 1)?;
        self.examine(middle, end, from, halvings - 1)
    }

    fn work(&self, own: u64) -> Option<u64> {
        self.lower.checked_add(own)?.checked_sub(self.frame)
    }
}
