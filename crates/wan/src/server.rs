//! From what a program wants to what a domain must give: the least rate whose bound holds.
use latency::units::{NANOSECOND, rate_of, time_of};

/// A rate-latency server: after `latency` a flow gets at least `rate`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateLatency {
    /// Bits per second.
    pub rate: u64,
    /// Nanoseconds.
    pub latency: u64,
}

/// Most time, in nanoseconds, from the arrival of a message of `size` bytes to its last bit, if messages come `separation` nanoseconds or more
/// apart. `None` if the server is slower than what arrives, or the time does not fit.
pub fn delay_bound(server: RateLatency, size: u32, separation: u64) -> Option<u64> {
    // The message before is gone when the next comes, or there is no bound: so each has the server for itself.
    let own = time_of(u64::from(size).checked_mul(8)?, server.rate)?;
    let arriving = rate_of(u64::from(size).checked_mul(8)?, separation.checked_mul(NANOSECOND)?)?;
    (arriving <= server.rate).then_some(server.latency.checked_add(own.div_ceil(NANOSECOND))?)
}

/// The server of this latency with the least rate that keeps messages of `size` bytes, `separation` nanoseconds or more apart, within `limit`
/// nanoseconds. `None` if the latency alone takes the limit, or the rate does not fit.
pub fn least_server(size: u32, separation: u64, limit: u64, latency: u64) -> Option<RateLatency> {
    let bits = u64::from(size).checked_mul(8).filter(|bits| *bits > 0)?;
    let left = limit.checked_sub(latency).filter(|left| *left > 0)?;
    let of_limit = rate_of(bits, left.checked_mul(NANOSECOND)?)?;
    let of_arrivals = rate_of(bits, separation.checked_mul(NANOSECOND)?)?;
    Some(RateLatency { rate: of_limit.max(of_arrivals), latency })
}
