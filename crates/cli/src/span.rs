//! Durations as people write them: `100ms`, `1.5 s`, `infinite`.
use std::fmt;

use dds::Duration;

/// Reads a duration; a number alone is seconds.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if matches!(text, "infinite" | "inf" | "forever") {
        return Ok(Duration::INFINITE);
    }
    let wrong = || format!("{text:?} is no duration; give one as 100ms, 1.5s, 2min or infinite");
    let digits = text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "" | "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        _ => return Err(wrong()),
    };
    let nanos = (number.parse::<f64>().map_err(|_| wrong())? * factor).round();
    // Beyond 68 years the wire has no word for it.
    if nanos.is_finite() && nanos < 2e18 { Ok(Duration::from_nanos(nanos as i64)) } else { Err(wrong()) }
}

/// Reads a time above zero that ends; a number alone is seconds.
pub(crate) fn parse_finite(text: &str) -> Result<std::time::Duration, String> {
    let time = parse(text)?;
    match u64::try_from(time.as_nanos()) {
        Ok(nanos @ 1..) if !time.is_infinite() => Ok(std::time::Duration::from_nanos(nanos)),
        _ => Err(format!("{text:?} is no time above zero that ends; give one as 100ms, 1.5s or 2min")),
    }
}

/// The time since then, in milliseconds.
pub(crate) fn since(start: std::time::Instant) -> Duration {
    Duration::from_millis(i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX))
}

/// A duration to be shown, in the unit that fits.
#[derive(Clone, Copy)]
pub(crate) struct Span(pub(crate) Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        if self.0.is_infinite() {
            return f.write_str("infinite");
        }
        let (unit, name) = match nanos.unsigned_abs() {
            0 => return f.write_str("0 s"),
            1_000_000_000.. => (1_000_000_000, "s"),
            1_000_000.. => (1_000_000, "ms"),
            1_000.. => (1_000, "us"),
            _ => (1, "ns"),
        };
        let (whole, rest) = (nanos / unit, (nanos % unit).unsigned_abs());
        // At most three digits after the point, and none that say nothing.
        let thousandths = rest.saturating_mul(1_000) / unit.unsigned_abs();
        let digits = format!("{thousandths:03}");
        let digits = digits.trim_end_matches('0');
        let point = if digits.is_empty() { "" } else { "." };
        write!(f, "{whole}{point}{digits} {name}")
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
            ("7ns", 7, "7 ns"),
            ("0", 0, "0 s"),
            ("1.001ms", 1_001_000, "1.001 ms"),
        ] {
            let duration = parse(text).unwrap();
            assert_eq!(
                (duration.as_nanos(), Span(duration).to_string()),
                (nanos, shown.to_owned()),
                "{text}"
            );
        }
        assert_eq!(parse("infinite").unwrap(), Duration::INFINITE);
        assert_eq!(Span(Duration::INFINITE).to_string(), "infinite");
    }

    #[test]
    fn times_that_end_are_above_zero() {
        assert_eq!(parse_finite("2").unwrap(), std::time::Duration::from_secs(2));
        assert_eq!(parse_finite("500ms").unwrap(), std::time::Duration::from_millis(500));
        for text in ["0", "0s", "infinite", "soon"] {
            assert!(parse_finite(text).unwrap_err().contains("100ms"), "{text}");
        }
    }

    #[test]
    fn other_words_are_refused() {
        for text in ["", "ten", "10 parsec", "-1s", "1e30h", "999999999999h", "1..5"] {
            assert!(parse(text).unwrap_err().contains("100ms"), "{text}");
        }
    }
}
