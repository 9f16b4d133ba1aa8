//! Durations as text for people: `100ms`, `1.5 s`, `infinite`.
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

use super::Duration;

/// Why a text is no duration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseDurationError(String);

impl fmt::Display for ParseDurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no duration; give one as 100ms, 1.5s, 2min or infinite", self.0)
    }
}

impl core::error::Error for ParseDurationError {}

/// Reads a number with its unit: ns, us, ms, s, min or h; a number alone is seconds. What is below a nanosecond is rounded down.
impl FromStr for Duration {
    type Err = ParseDurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if matches!(text, "infinite" | "inf" | "forever") {
            return Ok(Self::INFINITE);
        }
        let digits =
            text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let nanos = factor(unit.trim()).and_then(|factor| scaled(number, factor));
        nanos.map(Self::from_nanos).ok_or_else(|| ParseDurationError(text.to_string()))
    }
}

/// Nanoseconds of a unit.
fn factor(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "" | "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// A decimal number times `factor`; `None` beyond 63 years, for which the wire has no word.
fn scaled(number: &str, factor: u64) -> Option<i64> {
    const MOST: i64 = 2_000_000_000_000_000_000;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // More digits than these are not meant, and no factor has more zeros.
    let fraction = fraction.get(..fraction.len().min(18))?;
    let parts = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let fraction: u64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let part = u128::from(fraction).checked_mul(u128::from(factor))?.checked_div(parts)?;
    let nanos = u128::from(whole).checked_mul(u128::from(factor))?.checked_add(part)?;
    i64::try_from(nanos).ok().filter(|nanos| *nanos <= MOST)
}

/// In the unit that fits, exactly; a precision, as in `{:.3}`, cuts digits after the point off.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_infinite() {
            return f.write_str("infinite");
        }
        let nanos = self.as_nanos();
        let (unit, name) = match nanos.unsigned_abs() {
            0 => return f.write_str("0 s"),
            1_000_000_000.. => (1_000_000_000, "s"),
            1_000_000.. => (1_000_000, "ms"),
            1_000.. => (1_000, "us"),
            _ => (1, "ns"),
        };
        let sign = if nanos < 0 { "-" } else { "" };
        let (whole, rest) = (nanos.unsigned_abs() / unit, nanos.unsigned_abs() % unit);
        let digits = format!("{:09}", rest.saturating_mul(1_000_000_000) / unit);
        let digits =
            digits.get(..f.precision().unwrap_or(9).min(9)).unwrap_or_default().trim_end_matches('0');
        let point = if digits.is_empty() { "" } else { "." };
        write!(f, "{sign}{whole}{point}{digits} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_shown() {
        for (text, nanos, shown) in [
            ("100ms", 100_000_000, "100 ms"),
            ("1.5", 1_500_000_000, "1.5 s"),
            ("2 min", 120_000_000_000, "120 s"),
            ("250us", 250_000, "250 us"),
            ("0.25ms", 250_000, "250 us"),
            (".5s", 500_000_000, "500 ms"),
            ("7ns", 7, "7 ns"),
            ("0", 0, "0 s"),
            ("1.001ms", 1_001_000, "1.001 ms"),
            ("1.0000000000000000009h", 3_600_000_000_000, "3600 s"),
        ] {
            let duration: Duration = text.parse().unwrap();
            assert_eq!((duration.as_nanos(), duration.to_string().as_str()), (nanos, shown), "{text}");
        }
        assert_eq!("infinite".parse(), Ok(Duration::INFINITE));
        assert_eq!(Duration::INFINITE.to_string(), "infinite");
        assert_eq!(Duration::from_nanos(-1_500).to_string(), "-1.5 us");
        let near = Duration::from_nanos(4_999_999);
        assert_eq!((near.to_string().as_str(), format!("{near:.3}").as_str()), ("4.999999 ms", "4.999 ms"));
        assert_eq!(format!("{:.0}", Duration::from_millis(1_900)), "1 s");
    }

    #[test]
    fn other_words_are_refused() {
        for text in
            ["", "ten", "10 parsec", "-1s", "1e30h", "999999999999h", "1..5", ".", "99999999999999999999"]
        {
            assert!(text.parse::<Duration>().unwrap_err().to_string().contains("100ms"), "{text}");
        }
    }
}
