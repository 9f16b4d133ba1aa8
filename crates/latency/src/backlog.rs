//! What the queues of a port hold at most: a frame is lost if a buffer is smaller.
use crate::busy::{busy_period, effort_within, steps_of};
use crate::curve::{Aggregate, each_interval};
use crate::port::{Contender, Server, blocking, stable_rate};
use crate::units::{bits_in, scale_up, time_of};
use crate::work::Work;

/// Most bits in the queues of `level` and above, the frame in transmission included: the lesser of what the busy period
/// and what rates and bursts show.
///
/// `None` if the level and those above ask for the rate of the link or more, or numbers do not fit.
pub fn backlog_from(server: &Server, contenders: &[Contender], level: u8) -> Option<u64> {
    backlog_from_counted(server, contenders, level, &Work::unlimited())
}

/// The same, with its work counted.
pub fn backlog_from_counted(
    server: &Server,
    contenders: &[Contender],
    level: u8,
    work: &Work,
) -> Option<u64> {
    let linear = linear_backlog(server, contenders, level);
    let Some(most) = effort_within(work, contenders) else {
        work.charge_each(contenders.len())?;
        return linear;
    };
    let mut effort = most;
    let exact = busy_backlog(server, contenders, level, &mut effort, work);
    work.charge(steps_of(contenders, most - effort))?;
    linear.into_iter().chain(exact).min()
}

/// All bursts, what comes while a lower frame is sent, and a frame in transmission: after that more is sent than comes.
fn linear_backlog(server: &Server, contenders: &[Contender], level: u8) -> Option<u64> {
    let rate = stable_rate(server, contenders, level)?;
    let flows = || contenders.iter().filter(|flow| flow.level >= level);
    let control = server.unadmitted()?.map_or(0, |unadmitted| unadmitted.burst);
    let bursts = flows().try_fold(control, |sum, flow| sum.checked_add(flow.arrival.burst()?))?;
    let meanwhile = scale_up(blocking(server, contenders, level), rate, server.rate)?;
    let frame = in_transmission(server, flows());
    bursts.checked_add(meanwhile)?.checked_add(frame)
}

/// Arrivals since the start of the busy period less what the link has sent.
fn busy_backlog(
    server: &Server,
    contenders: &[Contender],
    level: u8,
    effort: &mut u32,
    work: &Work,
) -> Option<u64> {
    stable_rate(server, contenders, level)?;
    let end = busy_period(server, contenders, level, effort)?;
    let flows = || contenders.iter().filter(|flow| flow.level >= level);
    let total = Aggregate::new(server.rate, flows(), server.unadmitted()?, true)?;
    let lower = time_of(blocking(server, contenders, level), server.rate)?;
    let mut instants = total.jumps(end, effort)?;
    if 0 < lower && lower < end {
        instants.push(lower);
        instants.sort_unstable();
        instants.dedup();
    }
    work.charge_each(instants.len().saturating_mul(contenders.len()))?;
    let mut worst = 0;
    each_interval(&total, &instants, end, |start, end| {
        let first = total.at(start)?.saturating_sub(start.saturating_sub(lower));
        let sent = if end - start <= 1 { start } else { end };
        let last = total.before(end)?.saturating_sub(sent.saturating_sub(lower));
        worst = worst.max(first).max(last);
        Some(())
    })?;
    // A frame keeps its place until its last bit has left.
    let frame = in_transmission(server, flows());
    bits_in(worst, server.rate)?.checked_add(frame)
}

/// The most bits of a frame that is on the wire and keeps its place: of a flow, of control, or of what is beside the flows.
fn in_transmission<'c>(server: &Server, flows: impl Iterator<Item = &'c Contender>) -> u64 {
    flows.map(|flow| flow.largest_frame).fold(server.control_frame.max(server.beside_frame), u64::max)
}

/// Most bits in the queue of `level` if no frame stays in it longer than `delay` picoseconds: what comes in that time.
pub fn backlog_within(server: &Server, contenders: &[Contender], level: u8, delay: u64) -> Option<u64> {
    let flows = contenders.iter().filter(|flow| flow.level == level);
    bits_in(Aggregate::new(server.rate, flows, server.beside, true)?.at(delay)?, server.rate)
}
