//! The bound of a level: the least of the sound methods.
use crate::busy::{busy_period_delay_counted, delay_of_frame};
use crate::linear::linear_delay;
use crate::port::{Contender, Server};
use crate::work::Work;

/// How a bound of one port was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// [`linear_delay`].
    Linear,
    /// [`busy_period_delay`](crate::busy::busy_period_delay).
    BusyPeriod,
}

/// A bound of the delay of a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LevelBound {
    /// Most time from the arrival of a frame in the queue to the end of its transmission, in picoseconds.
    pub delay: u64,
    /// How it was found.
    pub method: Method,
}

/// The least bound of a level; `None` if it is empty or no method has a bound.
pub fn level_bound(server: &Server, contenders: &[Contender], level: u8) -> Option<LevelBound> {
    level_bound_counted(server, contenders, level, &Work::unlimited())
}

/// The same, with its work counted.
pub fn level_bound_counted(
    server: &Server,
    contenders: &[Contender],
    level: u8,
    work: &Work,
) -> Option<LevelBound> {
    work.charge_each(contenders.len())?;
    least(linear_delay(server, contenders, level), busy_period_delay_counted(server, contenders, level, work))
}

/// The least bound of a level as a plan of levels takes it: a bound that does not depend on which of the other flows
/// have which frames, so that flows can change places without surprises. It is not less than [`level_bound`].
///
/// If anything is queued below `level`, blocking is by the largest frame of the port, and the frame that is delayed
/// counts as the smallest of the port.
pub fn planned_bound(server: &Server, contenders: &[Contender], level: u8) -> Option<LevelBound> {
    planned_bound_counted(server, contenders, level, &Work::unlimited())
}

/// The same, with its work counted.
pub(crate) fn planned_bound_counted(
    server: &Server,
    contenders: &[Contender],
    level: u8,
    work: &Work,
) -> Option<LevelBound> {
    work.charge_each(contenders.len())?;
    let planned = planned_server(server, contenders, level);
    least(linear_delay(&planned, contenders, level), planned_busy(&planned, contenders, level, work))
}

/// Whether the planned bound of the level is at most `limit`: the linear test first, the exact one only if that fails.
pub(crate) fn keeps(server: &Server, contenders: &[Contender], level: u8, limit: u64, work: &Work) -> bool {
    if work.charge_each(contenders.len()).is_none() {
        return false;
    }
    let planned = planned_server(server, contenders, level);
    let within = |delay: Option<u64>| delay.is_some_and(|delay| delay <= limit);
    within(linear_delay(&planned, contenders, level))
        || within(planned_busy(&planned, contenders, level, work))
}

/// The server with the blocking of a plan.
pub(crate) fn planned_server(server: &Server, contenders: &[Contender], level: u8) -> Server {
    let mut planned = *server;
    if contenders.iter().any(|flow| flow.level < level) {
        planned.best_effort =
            contenders.iter().map(|flow| flow.largest_frame).fold(server.best_effort, u64::max);
    }
    planned
}

/// The frame that a plan takes for the delayed one, in bits.
pub(crate) fn planned_frame(contenders: &[Contender]) -> u64 {
    contenders.iter().map(|flow| flow.smallest_frame).min().unwrap_or(0)
}

fn planned_busy(planned: &Server, contenders: &[Contender], level: u8, work: &Work) -> Option<u64> {
    if !contenders.iter().any(|flow| flow.level == level) {
        return None;
    }
    delay_of_frame(planned, contenders, level, planned_frame(contenders), work)
}

fn least(linear: Option<u64>, busy: Option<u64>) -> Option<LevelBound> {
    let linear = linear.map(|delay| LevelBound { delay, method: Method::Linear });
    let busy = busy.map(|delay| LevelBound { delay, method: Method::BusyPeriod });
    linear.into_iter().chain(busy).min_by_key(|bound| bound.delay)
}
