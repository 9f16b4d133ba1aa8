//! Bounds with one division: the linear test of a level, and the service that is left for one flow.
use crate::port::{Contender, Server, blocking, stable_rate};
use crate::units::time_of;

/// The service that a flow is left with at a port: after `latency` it gets at least `rate`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeftOver {
    /// Bits per second, not 0.
    pub rate: u64,
    /// Picoseconds.
    pub latency: u64,
}

/// Most time from the arrival of a frame of `level` in its queue to the end of its transmission, in picoseconds.
///
/// Blocking, the bursts of the level and those of higher levels, over the rate that higher levels leave. For flows of
/// whole messages it extends the bound of Bini et al. (IEEE Transactions on Computers 58(2), 2009) by blocking, jitter
/// and first-in first-out levels; for token buckets it is the horizontal deviation of network calculus.
/// `None` if the level and those above ask for the rate of the link or more.
pub fn linear_delay(server: &Server, contenders: &[Contender], level: u8) -> Option<u64> {
    stable_rate(server, contenders, level)?;
    let (burst, rate) = above(server, contenders, level)?;
    let own = burst_of(contenders.iter().filter(|other| other.level == level))?;
    time_of(burst.checked_add(own)?, rate)
}

/// The service that the flow at `index` is left with, other flows of its level being served first-in first-out.
///
/// FIFO left-over service (Le Boudec and Thiran, proposition 6.4.1) with the delay of the others as parameter.
/// `None` if there is no such flow or nothing is left.
pub fn left_over(server: &Server, contenders: &[Contender], index: usize) -> Option<LeftOver> {
    let level = contenders.get(index)?.level;
    stable_rate(server, contenders, level)?;
    let (burst, rate) = above(server, contenders, level)?;
    let others = contenders
        .iter()
        .enumerate()
        .filter(|(at, other)| *at != index && other.level == level)
        .map(|(_, o)| o);
    let latency = time_of(burst.checked_add(burst_of(others.clone())?)?, rate)?;
    let rate = others.into_iter().try_fold(rate, |rate, other| rate.checked_sub(other.arrival.rate()?))?;
    (rate > 0).then_some(LeftOver { rate, latency })
}

/// Blocking and bursts above the level, in bits, and the rate that is left.
fn above(server: &Server, contenders: &[Contender], level: u8) -> Option<(u64, u64)> {
    let (control_burst, control_rate) =
        server.control.map_or((0, 0), |control| (control.burst, control.rate));
    let mut burst = blocking(server, contenders, level).checked_add(control_burst)?;
    let mut rate = server.rate.checked_sub(control_rate)?;
    for other in contenders.iter().filter(|other| other.level > level) {
        burst = burst.checked_add(other.arrival.interference(server.rate)?)?;
        rate = rate.checked_sub(other.arrival.rate()?)?;
    }
    (rate > 0).then_some((burst, rate))
}

fn burst_of<'a>(contenders: impl Iterator<Item = &'a Contender>) -> Option<u64> {
    contenders.into_iter().try_fold(0_u64, |sum, other| sum.checked_add(other.arrival.burst()?))
}
