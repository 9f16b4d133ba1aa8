//! What drivers say, line by line. A driver is a program with libraries of others: what it says is checked.
use serde_json::Value;

/// Longest line, in bytes.
pub(crate) const LONGEST: usize = 4_096;
/// Longest text that is shown, in characters.
const SHOWN: usize = 200;
/// No figure is greater: nanoseconds of eleven days, or a petabyte.
const GREATEST: u64 = 1_000_000_000_000_000;

/// A line of a driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// The other side may be started.
    Ready,
    /// It cannot measure this: why.
    Cannot(String),
    /// What it has measured.
    Result(Said),
    /// Something that libraries print.
    Other,
}

/// What a driver has measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// Round trips.
    RoundTrips { count: u64, stalls: u64, times: Times, used: Used },
    /// Times from the push to the last consumer; `wrong` events were not as they had been pushed.
    OneWay { count: u64, wrong: u64, times: Times, used: Used },
    /// Samples that were written, and the time until all of them were acknowledged.
    Written { count: u64, refused: u64, time: u64, used: Used },
    /// Samples that were taken, the time from the first to the last in nanoseconds; `wrong` were not as they had been written.
    Taken { count: u64, greatest: u64, wrong: u64, time: u64, used: Used },
    /// The side that answers has ended.
    Answered { used: Used },
    /// A sample has come.
    First,
}

/// What a process took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Used {
    /// Processor time in nanoseconds.
    pub(crate) processor: u64,
    /// Most memory at once, in bytes.
    pub(crate) memory: u64,
}

/// Quantiles, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Times {
    pub(crate) min: u64,
    pub(crate) p50: u64,
    pub(crate) p90: u64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    pub(crate) max: u64,
}

impl Times {
    /// One way of two.
    pub(crate) const fn halved(self) -> Self {
        let Self { min, p50, p90, p99, p999, max } = self;
        Self { min: min / 2, p50: p50 / 2, p90: p90 / 2, p99: p99 / 2, p999: p999 / 2, max: max / 2 }
    }
}

/// Reads a line.
///
/// # Errors
/// In words, without the line itself.
pub(crate) fn read(line: &str) -> Result<Line, String> {
    if line.len() > LONGEST {
        return Err(format!("it said a line of more than {LONGEST} bytes"));
    }
    let line = line.trim_end();
    if line == "ready" {
        return Ok(Line::Ready);
    }
    if let Some(reason) = line.strip_prefix("cannot ") {
        return Ok(Line::Cannot(shown(reason)));
    }
    match line.strip_prefix("result ") {
        Some(text) => result(text).map(Line::Result),
        None => Ok(Line::Other),
    }
}

/// Text of a driver that can be shown.
pub(crate) fn shown(text: &str) -> String {
    let clean = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    clean.take(SHOWN).collect::<String>().trim().to_owned()
}

fn result(text: &str) -> Result<Said, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("its result is no JSON: {error}"))?;
    let number = |name: &str| match value.get(name).and_then(Value::as_u64) {
        Some(number) if number <= GREATEST => Ok(number),
        Some(_) => Err(format!("{name} is greater than can be")),
        None => Err(format!("its result has no number {name}")),
    };
    let used = || Ok::<_, String>(Used { processor: number("processor_ns")?, memory: number("memory")? });
    match value.get("kind").and_then(Value::as_str) {
        Some(kind @ ("round_trips" | "one_way")) => {
            let times = Times {
                min: number("min_ns")?,
                p50: number("p50_ns")?,
                p90: number("p90_ns")?,
                p99: number("p99_ns")?,
                p999: number("p999_ns")?,
                max: number("max_ns")?,
            };
            let Times { min, p50, p90, p99, p999, max } = times;
            if ![min, p50, p90, p99, p999, max].is_sorted() {
                return Err("its quantiles are not in order".to_owned());
            }
            let (count, stalls, used) = (number("count")?, number("stalls")?, used()?);
            Ok(match kind {
                "one_way" => Said::OneWay { count, wrong: stalls, times, used },
                _ => Said::RoundTrips { count, stalls, times, used },
            })
        }
        Some("written") => Ok(Said::Written {
            count: number("count")?,
            refused: number("refused")?,
            time: number("time_ns")?,
            used: used()?,
        }),
        Some("taken") => Ok(Said::Taken {
            count: number("count")?,
            greatest: number("greatest")?,
            wrong: number("wrong")?,
            time: number("time_ns")?,
            used: used()?,
        }),
        Some("answered") => Ok(Said::Answered { used: used()? }),
        Some("first") => Ok(Said::First),
        _ => Err("its result has no kind that is known".to_owned()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    const TRIPS: &str = "result {\"kind\":\"round_trips\",\"count\":4,\"stalls\":0,\"processor_ns\":5,\"memory\":6,\"min_ns\":1,\
        \"p50_ns\":2,\"p90_ns\":3,\"p99_ns\":4,\"p999_ns\":4,\"max_ns\":9}";

    #[test]
    fn lines_are_read() {
        assert_eq!(read("ready\n"), Ok(Line::Ready));
        assert_eq!(read("cannot spin"), Ok(Line::Cannot("spin".to_owned())));
        for other in ["", "readyready", "[INFO] resulting", "{\"kind\":\"first\"}"] {
            assert_eq!(read(other), Ok(Line::Other), "{other}");
        }
        assert_eq!(read("result {\"kind\":\"first\"}"), Ok(Line::Result(Said::First)));
        let Ok(Line::Result(Said::RoundTrips { count, times, used, .. })) = read(TRIPS) else {
            panic!("not read")
        };
        assert_eq!((count, times.p50, times.max, used.memory), (4, 2, 9, 6));
        let one_way =
            read(&TRIPS.replacen("round_trips", "one_way", 1).replacen("stalls\":0", "stalls\":3", 1));
        let Ok(Line::Result(Said::OneWay { wrong, .. })) = one_way else { panic!("not read: {one_way:?}") };
        assert_eq!(wrong, 3);
    }

    #[test]
    fn wrong_results_are_refused_with_a_reason() {
        let wrong = |from: &str, to: &str| read(&TRIPS.replacen(from, to, 1)).unwrap_err();
        for (from, to, said) in [
            ("\"count\":4", "\"count\":-4", "no number count"),
            ("\"count\":4", "\"count\":4.5", "no number count"),
            ("\"count\":4", "\"count\":\"4\"", "no number count"),
            ("\"count\":4", "\"count\":18446744073709551615", "count is greater than can be"),
            ("\"count\":4", "\"count\":1e400", "no JSON"),
            ("\"count\":4,", "", "no number count"),
            ("\"p50_ns\":2", "\"p50_ns\":7", "not in order"),
            ("round_trips", "round_trip", "no kind"),
            ("result {", "result [{", "no JSON"),
            ("result {", "result ", "no JSON"),
        ] {
            let text = wrong(from, to);
            assert!(text.contains(said), "{to}: {text}");
        }
        let deep = format!("result {}", "[".repeat(4_000));
        assert!(read(&deep).unwrap_err().contains("no JSON"));
        assert!(read(&format!("cannot {}", "x".repeat(LONGEST))).unwrap_err().contains("bytes"));
        assert_eq!(read("result null").unwrap_err(), "its result has no kind that is known");
    }

    #[test]
    fn no_line_of_any_bytes_does_harm() {
        for seed in tiers::current().seeds("property.cases") {
            // Mutations of a good line, by a linear congruence.
            let mut state = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                usize::try_from(state >> 33).unwrap()
            };
            let mut bytes = TRIPS.as_bytes().to_vec();
            for _ in 0..=next() % 6 {
                let at = next() % bytes.len();
                match next() % 3 {
                    0 => bytes[at] = u8::try_from(next() % 256).unwrap(),
                    1 => bytes.truncate(at.max(1)),
                    _ => bytes.insert(at, b"{}[]\",:-e.\\u0"[next() % 13]),
                }
            }
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if let Ok(Line::Result(Said::RoundTrips { times, count, .. })) = read(&text) {
                assert!(
                    times.min <= times.p50 && times.p999 <= times.max && count <= GREATEST,
                    "seed {seed}: {text}"
                );
            }
            assert!(!shown(&text).contains(char::is_control), "seed {seed}");
        }
    }
}
