//! Latencies side by side.
use super::latency::Latencies;

/// The rows that have latencies, with a heading, in microseconds; each row with a remark.
pub(super) fn table(rows: &[(&str, &Latencies, &str)]) -> Vec<String> {
    let rows: Vec<_> = rows.iter().filter(|(_, latencies, _)| latencies.count() > 0).collect();
    let Some((_, first, _)) = rows.first() else { return Vec::new() };
    let mut heading = format!("{:<14}", "us");
    for (name, _) in first.micros() {
        heading.push_str(&format!("{name:>10}"));
    }
    let mut lines = vec![heading];
    for (name, latencies, remark) in rows {
        let mut line = format!("{name:<14}");
        for (_, micros) in latencies.micros() {
            line.push_str(&format!("{micros:>10.1}"));
        }
        if !remark.is_empty() {
            line.push_str(&format!("   {remark}"));
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn rows_without_latencies_are_left_out() {
        let (mut some, none) = (Latencies::new().unwrap(), Latencies::new().unwrap());
        assert_eq!(table(&[("nothing", &none, "")]), [""; 0]);
        some.record(Duration::from_micros(7));
        assert_eq!(
            table(&[("nothing", &none, ""), ("round trip", &some, "a remark")]),
            [
                "us                   min       p50       p90       p99     p99.9    p99.99       max",
                "round trip           7.0       7.0       7.0       7.0       7.0       7.0       7.0   a remark",
            ]
        );
    }
}
