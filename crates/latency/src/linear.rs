//! Bounds with one division: the linear test of a level, and the service that is left for one flow.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

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
/// `None` if the level is empty, or if it and those above ask for the rate of the link or more.
pub fn linear_delay(server: &Server, contenders: &[Contender], level: u8) -> Option<u64> {
    stable_rate(server, contenders, level)?;
    contenders.iter().find(|other| other.level == level)?;
    let (burst, rate) = above(server, contenders, level)?;
    let own = burst_of(contenders.iter().filter(|other| other.level == level))?;
    let own = own.checked_add(server.beside_level().0)?;
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
    let (beside, beside_rate) = server.beside_level();
    let burst = burst.checked_add(beside)?.checked_add(burst_of(others.clone())?)?;
    let latency = time_of(burst, rate)?;
    let rate = rate.checked_sub(beside_rate)?;
    let rate = others.into_iter().try_fold(rate, |rate, other| rate.checked_sub(other.arrival.rate()?))?;
    (rate > 0).then_some(LeftOver { rate, latency })
}

/// What each flow of a port is left with: as [`left_over`] says, with all flows looked at once and not for each of them.
#[derive(Clone, Debug)]
pub struct Services {
    /// For each level that has flows.
    levels: BTreeMap<u8, Standing>,
}

/// A level among the others; `None` where numbers do not fit or nothing is left.
#[derive(Clone, Copy, Debug)]
struct Standing {
    /// Bits at once of what is above and of the frame below, and the bits per second that are left.
    above: Option<(u128, u128)>,
    /// Bits at once and bits per second of the level's flows together, and of what is beside them.
    own: Option<(u128, u128)>,
}

/// What the flows of a level ask for together.
#[derive(Clone, Copy)]
struct Sum {
    burst: Option<u128>,
    interference: Option<u128>,
    rate: Option<u128>,
    largest: u64,
}

impl Services {
    /// Adds up the flows of a port.
    pub fn new(server: &Server, contenders: &[Contender]) -> Self {
        let mut sums: BTreeMap<u8, Sum> = BTreeMap::new();
        for flow in contenders {
            let none = Sum { burst: Some(0), interference: Some(0), rate: Some(0), largest: 0 };
            let sum = sums.entry(flow.level).or_insert(none);
            let add = |sum: Option<u128>, more: Option<u64>| Some(sum? + u128::from(more?));
            sum.burst = add(sum.burst, flow.arrival.burst());
            sum.interference = add(sum.interference, flow.arrival.interference(server.rate));
            sum.rate = add(sum.rate, flow.arrival.rate());
            sum.largest = sum.largest.max(flow.largest_frame);
        }
        let below = |largest: &mut u64, sum: &Sum| {
            let blocking = *largest;
            *largest = blocking.max(sum.largest);
            Some(blocking.saturating_add(server.ahead))
        };
        let (beside, beside_rate) = server.beside_level();
        let blockings: Vec<u64> = sums.values().scan(server.best_effort, below).collect();
        let control = server.control.map_or((0, 0), |control| (control.burst, control.rate));
        let mut higher = Some((u128::from(control.0), u128::from(control.1)));
        let mut levels = BTreeMap::new();
        for ((level, sum), blocking) in sums.iter().zip(blockings).rev() {
            let left = |rate: u128| u128::from(server.rate).checked_sub(rate).filter(|left| *left > 0);
            let above = higher.and_then(|(burst, rate)| Some((burst + u128::from(blocking), left(rate)?)));
            let own = sum.burst.zip(sum.rate);
            let own = own.map(|own| (own.0 + u128::from(beside), own.1 + u128::from(beside_rate)));
            levels.insert(*level, Standing { above, own });
            let more = sum.interference.zip(sum.rate);
            higher = higher.zip(more).map(|(higher, more)| (higher.0 + more.0, higher.1 + more.1));
        }
        Self { levels }
    }

    /// What a flow of the port is left with. `None` if nothing is left or numbers do not fit.
    pub fn left_over(&self, flow: &Contender) -> Option<LeftOver> {
        let standing = self.levels.get(&flow.level)?;
        let ((above, left), (burst, rate)) = (standing.above?, standing.own?);
        // The level and those above must ask for less than the link has.
        left.checked_sub(rate).filter(|spare| *spare > 0)?;
        let others = burst.checked_sub(u128::from(flow.arrival.burst()?))?;
        let rate = left.checked_sub(rate.checked_sub(u128::from(flow.arrival.rate()?))?)?;
        let bits = u64::try_from(above.checked_add(others)?).ok()?;
        let latency = time_of(bits, u64::try_from(left).ok()?)?;
        Some(LeftOver { rate: u64::try_from(rate).ok()?, latency })
    }
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
