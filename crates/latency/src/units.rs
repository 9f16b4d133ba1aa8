//! Time in picoseconds, work in bits, rates in bits per second; every rounding is against us.
//!
//! Functions return `None` where a result does not fit; a caller then has no bound, never a wrong one.

/// A picosecond: the unit of time of this crate. At 1 Gb/s a byte takes 8,000 of them.
pub const PICOSECOND: u64 = 1;
/// A nanosecond, in picoseconds.
pub const NANOSECOND: u64 = 1_000;
/// A microsecond, in picoseconds.
pub const MICROSECOND: u64 = 1_000_000;
/// A millisecond, in picoseconds.
pub const MILLISECOND: u64 = 1_000_000_000;
/// A second, in picoseconds.
pub const SECOND: u64 = 1_000_000_000_000;

/// `value * numerator / denominator`, rounded up; `None` if the denominator is 0 or the result exceeds 64 bits.
pub fn scale_up(value: u64, numerator: u64, denominator: u64) -> Option<u64> {
    if denominator == 0 {
        return None;
    }
    // Links as fast as the port and flows without a bucket are the most: they need no division, which is slow.
    if numerator == denominator || numerator == 0 {
        return Some(if numerator == 0 { 0 } else { value });
    }
    // Most products fit in 64 bits, whose division is much faster.
    if let Some(product) = value.checked_mul(numerator) {
        return Some(product.div_ceil(denominator));
    }
    let product = u128::from(value).checked_mul(u128::from(numerator))?;
    u64::try_from(product.div_ceil(u128::from(denominator))).ok()
}

/// `value * numerator / denominator`, rounded down; `None` if the denominator is 0 or the result exceeds 64 bits.
pub fn scale_down(value: u64, numerator: u64, denominator: u64) -> Option<u64> {
    let product = u128::from(value).checked_mul(u128::from(numerator))?;
    u64::try_from(product.checked_div(u128::from(denominator))?).ok()
}

/// Picoseconds that `bits` take at `rate` bits per second, rounded up.
pub fn time_of(bits: u64, rate: u64) -> Option<u64> {
    scale_up(bits, SECOND, rate)
}

/// Picoseconds that `bits` take at `rate` bits per second, rounded down: for what is subtracted.
pub fn least_time_of(bits: u64, rate: u64) -> Option<u64> {
    scale_down(bits, SECOND, rate)
}

/// Bits that pass in `time` picoseconds at `rate` bits per second, rounded up.
pub fn bits_in(time: u64, rate: u64) -> Option<u64> {
    scale_up(time, rate, SECOND)
}

/// Bits that pass in `time` picoseconds at `rate` bits per second, rounded down: for what is counted upon.
pub fn least_bits_in(time: u64, rate: u64) -> Option<u64> {
    scale_down(time, rate, SECOND)
}

/// Bits per second of `bits` every `time` picoseconds, rounded up; `None` if `time` is 0.
pub fn rate_of(bits: u64, time: u64) -> Option<u64> {
    scale_up(bits, SECOND, time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_against_us() {
        assert_eq!(time_of(1, 3), Some(333_333_333_334));
        assert_eq!(least_time_of(1, 3), Some(333_333_333_333));
        assert_eq!(time_of(1_538 * 8, 1_000_000_000), Some(12_304 * NANOSECOND));
        assert_eq!(bits_in(1, 1_000_000_000), Some(1));
        assert_eq!(rate_of(1, 3 * SECOND), Some(1));
    }

    #[test]
    fn what_does_not_fit_is_none() {
        assert_eq!(time_of(u64::MAX, 1), None);
        assert_eq!(time_of(1, 0), None);
        assert_eq!(least_time_of(1, 0), None);
        assert_eq!(rate_of(1, 0), None);
    }
}
