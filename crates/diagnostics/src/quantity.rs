//! Times and other quantities as people write them: `2 ms`, `1.5 us`. Exact, or refused.
use alloc::format;
use alloc::string::String;

/// Units of time, in picoseconds, from the smallest on.
const TIMES: [(&str, u64); 7] = [
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
];

const RATES: [(&str, u64); 8] = [
    ("b/s", 1),
    ("kb/s", 1_000),
    ("Mb/s", 1_000_000),
    ("Gb/s", 1_000_000_000),
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
];

/// The picoseconds of a time such as `2 ms`: a number and ps, ns, us, ms, s or min; `None` if it is none, or no whole number of
/// picoseconds, or more than 64 bits of them.
pub fn picoseconds(text: &str) -> Option<u64> {
    number(text, &TIMES)
}

/// The bits per second of a rate such as `1 Gb/s`: a number and b/s, kb/s, Mb/s or Gb/s, or the same with `bit`; `None` if it is none,
/// or no whole number of bits, or more than 64 bits of them.
pub fn bits_per_second(text: &str) -> Option<u64> {
    number(text, &RATES)
}

/// The parts of a million of a part such as `0.1 %`: a number and % or ppm; `None` if it is none, no whole number of them, or more than all.
pub fn parts_per_million(text: &str) -> Option<u32> {
    let parts = number(text, &[("ppm", 1), ("%", 10_000)])?;
    u32::try_from(parts).ok().filter(|parts| *parts <= 1_000_000)
}

/// A time in picoseconds as [`picoseconds`] reads it: in the largest unit of which it is a whole number.
pub fn written(picoseconds: u64) -> String {
    let units = TIMES.iter().rev().filter(|(name, _)| name.is_ascii());
    let mut exact = units.filter(|(_, unit)| picoseconds.checked_rem(*unit) == Some(0));
    match exact.next() {
        Some((name, unit)) if picoseconds > 0 => format!("{} {name}", picoseconds / unit),
        _ => format!("{picoseconds} ps"),
    }
}

/// A decimal number with one of the units, in the smallest unit, if it is a whole number of that.
pub fn number(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end)?;
    let (_, unit) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || fraction.len() > 12 || (digits.contains('.') && fraction.is_empty()) {
        return None;
    }
    let scale = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let value = u128::from(whole.parse::<u64>().ok()?).checked_mul(scale)?.checked_add(fraction)?;
    let value = value.checked_mul(u128::from(*unit))?;
    (value % scale == 0).then(|| u64::try_from(value / scale).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same() {
        for (time, text) in [
            (0, "0 ps"),
            (1, "1 ps"),
            (1_500_000, "1500 ns"),
            (25_000_000_000, "25 ms"),
            (120_000_000_000_000, "2 min"),
            (u64::MAX, "18446744073709551615 ps"),
        ] {
            assert_eq!((written(time).as_str(), picoseconds(text)), (text, Some(time)));
        }
        assert_eq!(picoseconds("1.5 us"), picoseconds("1500ns"));
        assert!(["", "2", "0.5 ps", "-1 s", "1e3 s"].iter().all(|text| picoseconds(text).is_none()));
    }
}
