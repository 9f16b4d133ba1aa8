//! What the queues of a port hold at most: a frame is lost if a buffer is smaller.
use crate::busy::{EFFORT, busy_period};
use crate::curve::{Aggregate, each_interval};
use crate::port::{Contender, Server, blocking, stable_rate};
use crate::units::{bits_in, time_of};

/// Most bits in the queues of `level` and above, the frame in transmission included.
///
/// Arrivals since the start of the busy period less what the link has sent. `None` as for
/// [`busy_period_delay`](crate::busy::busy_period_delay).
pub fn backlog_from(server: &Server, contenders: &[Contender], level: u8) -> Option<u64> {
    stable_rate(server, contenders, level)?;
    let mut effort = EFFORT;
    let end = busy_period(server, contenders, level, &mut effort)?;
    let flows = || contenders.iter().filter(|flow| flow.level >= level);
    let total = Aggregate::new(server.rate, flows(), server.control, true)?;
    let lower = time_of(blocking(server, contenders, level), server.rate)?;
    let mut instants = total.jumps(end, &mut effort)?;
    if 0 < lower && lower < end {
        instants.push(lower);
        instants.sort_unstable();
        instants.dedup();
    }
    let mut worst = 0;
    each_interval(&total, &instants, end, |start, end| {
        let first = total.at(start)?.saturating_sub(start.saturating_sub(lower));
        let sent = if end - start <= 1 { start } else { end };
        let last = total.before(end)?.saturating_sub(sent.saturating_sub(lower));
        worst = worst.max(first).max(last);
        Some(())
    })?;
    // A frame keeps its place until its last bit has left.
    let frame = flows().map(|flow| flow.largest_frame).max().unwrap_or(0);
    bits_in(worst, server.rate)?.checked_add(frame)
}

/// Most bits in the queue of `level` if no frame stays in it longer than `delay` picoseconds: what comes in that time.
pub fn backlog_within(server: &Server, contenders: &[Contender], level: u8, delay: u64) -> Option<u64> {
    let flows = contenders.iter().filter(|flow| flow.level == level);
    bits_in(Aggregate::new(server.rate, flows, None, true)?.at(delay)?, server.rate)
}
