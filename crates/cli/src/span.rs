//! Durations of the command line.
use dds::Duration;

/// Reads a duration; a number alone is seconds.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    text.parse().map_err(|error: wire::time::ParseDurationError| error.to_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_end_are_above_zero() {
        assert_eq!(parse_finite("2").unwrap(), std::time::Duration::from_secs(2));
        assert_eq!(parse_finite("500ms").unwrap(), std::time::Duration::from_millis(500));
        for text in ["0", "0s", "infinite", "soon"] {
            assert!(parse_finite(text).unwrap_err().contains("100ms"), "{text}");
        }
    }
}
