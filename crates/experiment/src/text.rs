//! The report on a terminal.
use std::fmt::Write as _;

use crate::conclusion::Conclusion;
use crate::report::{Phase, Report, Row};
use crate::setting::Topic;

pub(crate) const HEADS: [&str; 11] =
    ["topic", "asked", "promised", "worst case", "sent", "p50", "p99", "max", "lost", "late", "disturbed"];

/// What the columns of the tables say.
const LEGEND: [(&str, &str); 8] = [
    ("asked", "the latency that the subscriber asks for"),
    ("promised", "the latency that the manager promises it"),
    ("worst case", "what the plan computes for these flows alone"),
    ("sent", "samples"),
    (
        "p50 p99 max",
        "latency of half of the samples, of 99 % of them, and of the slowest; without those that were disturbed",
    ),
    ("lost", "samples that did not arrive"),
    ("late", "samples that took longer than promised, or than asked for where nothing is promised"),
    ("disturbed", "samples that were under way while the machine itself stood still: they are counted apart"),
];

/// What comes first: where it ran, and how tables are read.
pub(crate) fn head(report: &Report) -> String {
    let mut out = format!("{}\n", report.place);
    for (what, said) in &report.machine {
        let _ = writeln!(out, "  {what}: {said}");
    }
    out.push_str("\nTimes in the tables are milliseconds, from the publisher's send call to the last byte at the subscriber's host.\n");
    let width = LEGEND.iter().map(|(column, _)| column.len()).max().unwrap_or(0);
    for (column, said) in LEGEND {
        let _ = writeln!(out, "  {column:<width$}  {said}");
    }
    out
}

/// What comes after all phases: who was refused, what is to be known, and what follows.
pub(crate) fn tail(report: &Report) -> String {
    let mut out = String::new();
    if !report.refusals.is_empty() {
        let _ = writeln!(out, "{}. Subscribers that ask for too much", report.phases.len() + 1);
        for refusal in &report.refusals {
            let verdict = refusal.verdict.as_deref().unwrap_or("NOT REFUSED");
            let _ = writeln!(out, "  {}\n    {verdict}", refusal.asked);
        }
        out.push('\n');
    }
    if !report.remarks.is_empty() {
        out.push_str("To be known\n");
        report.remarks.iter().for_each(|remark| {
            let _ = writeln!(out, "  {remark}");
        });
        out.push('\n');
    }
    out + &conclusion(&report.conclusion())
}

/// What follows, in sentences.
pub(crate) fn conclusion(conclusion: &Conclusion) -> String {
    let first = match conclusion {
        Conclusion::Held(_) => {
            "Every promise was kept: of the samples that no stall met, none was lost and none was above its bound."
        }
        Conclusion::Broken(_) => "A PROMISE WAS BROKEN:",
        Conclusion::Void(_) => {
            "This run is VOID: the machine itself stood still too often. Run it where nothing else runs; with --rate 10 it bears stalls of 3 ms."
        }
    };
    let mut out = format!("{first}\n");
    conclusion.lines().iter().for_each(|line| {
        let _ = writeln!(out, "  {line}");
    });
    out
}

/// A phase, as soon as it is over.
pub(crate) fn phase(number: usize, phase: &Phase, topics: &[Topic]) -> String {
    let mut out = format!("{number}. {} ({:.1} s)\n   {}\n", phase.title, phase.seconds, phase.about);
    let mut table: Vec<[String; HEADS.len()]> = vec![HEADS.map(str::to_owned)];
    for row in &phase.rows {
        if let Row::Measured { .. } = row {
            table.push(cells(phase, row, topics));
        }
    }
    let widths: [usize; HEADS.len()] = std::array::from_fn(|column| {
        table.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    });
    for row in &table {
        let mut line = "  ".to_owned();
        for (index, (cell, width)) in row.iter().zip(widths).enumerate() {
            let _ =
                if index == 0 { write!(line, " {cell:<width$}") } else { write!(line, "  {cell:>width$}") };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    for row in &phase.rows {
        if let Row::Babbler { topic, said } = row {
            let name = topics.get(*topic).map_or("?", |topic| &topic.name);
            let _ = writeln!(out, "   {name} babbles: {said}");
        }
    }
    phase.notes.iter().for_each(|note| {
        let _ = writeln!(out, "   {note}");
    });
    out
}

/// The cells of a row, as in [`HEADS`]: times in milliseconds.
pub(crate) fn cells(phase: &Phase, row: &Row, topics: &[Topic]) -> [String; HEADS.len()] {
    let mut cells: [String; HEADS.len()] = Default::default();
    let (topic, limit, judged) = match row {
        Row::Measured { topic, limit, judged } => (*topic, *limit, judged),
        Row::Babbler { .. } => return cells,
    };
    let Some(topic) = topics.get(topic) else { return cells };
    let time = |time: Option<i64>| time.map_or("-".to_owned(), milliseconds);
    cells[0].clone_from(&topic.name);
    cells[1] = milliseconds(i64::try_from(topic.limit).unwrap_or(i64::MAX));
    cells[2] = if phase.promised { milliseconds(limit) } else { "-".to_owned() };
    cells[3] = match (&topic.planned, phase.promised) {
        (Ok(planned), true) => milliseconds(planned.cast_signed()),
        _ => "-".to_owned(),
    };
    cells[4] = judged.sent.to_string();
    cells[5] = time(judged.median);
    cells[6] = time(judged.percentile_99);
    cells[7] = time(judged.greatest);
    cells[8] = apart(judged.misses.lost, judged.excused.lost, "disturbed");
    cells[9] = apart(judged.misses.late, judged.excused.late, "disturbed");
    cells[10] = judged.disturbed.to_string();
    cells
}

/// A count, and what is counted apart from it.
pub(crate) fn apart(count: u64, apart: u64, what: &str) -> String {
    if apart > 0 { format!("{count} (and {apart} {what})") } else { count.to_string() }
}

/// Milliseconds with three digits behind the point.
pub(crate) fn milliseconds(nanoseconds: i64) -> String {
    let microseconds = nanoseconds.max(0) / 1_000;
    format!("{}.{:03}", microseconds / 1_000, microseconds % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report as made;

    #[test]
    fn the_report_from_fixed_records() {
        let report = |made: &Report| {
            let phases: String = made.phases.iter().map(|one| phase(1, one, &made.topics)).collect();
            format!("{}\n{phases}\n{}", head(made), tail(made))
        };
        let mut latencies = [4; 100];
        (latencies[0], latencies[1], latencies[99]) = (90, 0, 5);
        let expected = "\
In a test.
  processor: two cores

Times in the tables are milliseconds, from the publisher's send call to the last byte at the subscriber's host.
  asked        the latency that the subscriber asks for
  promised     the latency that the manager promises it
  worst case   what the plan computes for these flows alone
  sent         samples
  p50 p99 max  latency of half of the samples, of 99 % of them, and of the slowest; without those that were disturbed
  lost         samples that did not arrive
  late         samples that took longer than promised, or than asked for where nothing is promised
  disturbed    samples that were under way while the machine itself stood still: they are counted apart

1. Managed (15.0 s)
   Everything is promised.
   topic  asked  promised  worst case  sent    p50    p99    max                 lost                 late  disturbed
   video  5.000     5.000       5.000   100  4.000  5.000  5.000  0 (and 1 disturbed)  0 (and 1 disturbed)          5
   video babbles: sends <much> & more
   Nothing.

2. Subscribers that ask for too much
  3 ms
    no: 4.7 ms

Every promise was kept: of the samples that no stall met, none was lost and none was above its bound.
";
        assert_eq!(report(&made(&latencies, 5)), expected);
    }

    #[test]
    fn what_failed_is_said_plainly() {
        let said = tail(&made(&[6; 100], 0));
        assert!(
            said.contains("A PROMISE WAS BROKEN") && said.contains("100 samples above the bound"),
            "{said}"
        );
        assert!(tail(&made(&[6; 100], 50)).contains("VOID"));
    }
}
