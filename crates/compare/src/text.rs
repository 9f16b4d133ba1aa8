//! The report as lines for people.
use crate::cell::Kind;
use crate::cell::figures::ORIGIN;
use crate::contender::REFERENCE;
use crate::report::{Entry, Report, Row, Who};
use crate::statistics::Estimate;
use crate::summary::curves_of;

/// Heads of the columns behind the name.
pub(crate) fn heads(kind: Kind) -> [&'static str; 7] {
    match kind {
        Kind::RoundTrip => ["us", "interval", "ratio", "p99", "max", "cpu us", "memory MB"],
        Kind::OneWay => ["us", "interval", "ratio", "p99", "max", "cpu us, both", "memory MB"],
        Kind::Rate => ["thousand/s", "interval", "ratio", "lost", "of", "cpu s/million", "memory MB"],
        Kind::Nodes => ["thousand/s", "interval", "ratio", "lost", "of", "cpu s/million", "link B/event"],
        Kind::Start => ["ms", "interval", "ratio", "", "", "", ""],
    }
}

/// The columns of an entry, in the same order; `None` if it was not measured.
pub(crate) fn cells(kind: Kind, entry: &Entry) -> Option<[String; 7]> {
    let figure = entry.figure?;
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let ratio = or_dash(entry.ratio.map(|ratio| number(ratio.median)));
    let processor = or_dash(entry.processor.map(number));
    let memory =
        or_dash(entry.memory.map(|[one, other]| format!("{} / {}", megabytes(one), megabytes(other))));
    let [third, fourth] = match kind {
        Kind::RoundTrip | Kind::OneWay => entry.tail.map_or_else(Default::default, |tail| tail.map(number)),
        Kind::Rate | Kind::Nodes => [entry.lost.to_string(), entry.of.to_string()],
        Kind::Start => Default::default(),
    };
    let memory = if kind == Kind::Nodes { or_dash(entry.link.map(number)) } else { memory };
    let [processor, memory] = if kind == Kind::Start { Default::default() } else { [processor, memory] };
    Some([number(figure.median), interval(figure), ratio, third, fourth, processor, memory])
}

/// All lines.
pub(crate) fn lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for who in &report.contenders {
        let size = who.bytes.map(|bytes| format!(", {} MB of program", megabytes(bytes))).unwrap_or_default();
        lines.push(format!("{:<20}{}{size}", who.name, who.about));
    }
    lines.push(String::new());
    for row in &report.rows {
        lines.extend(table(report, row));
    }
    if report.plain().next().is_some() {
        lines.extend(summary(report));
    }
    lines.extend(figures(report));
    lines.extend(report.machine.iter().map(|(name, value)| format!("{name}: {value}")));
    lines.extend(report.remarks.iter().cloned());
    lines
}

fn table(report: &Report, row: &Row) -> Vec<String> {
    let kind = row.cell.kind;
    let figure = row.cell.figure.map_or_else(String::new, |figure| format!("figure {figure}, "));
    let mut lines = vec![format!("{figure}{}", row.cell.title)];
    let line = |name: &str, columns: &[String]| {
        let columns: String = columns.iter().map(|column| format!("{column:>15}")).collect();
        format!("  {name:<20}{columns}").trim_end().to_owned()
    };
    lines.push(line("", &heads(kind).map(str::to_owned)));
    for (who, entry) in row.concerned(&report.contenders) {
        lines.push(match cells(kind, entry) {
            Some(columns) => line(&who.name, &columns),
            None => format!("  {:<20}not measured: {}", who.name, reason(entry)),
        });
        if let (Some(_), Some(reason)) = (entry.figure, &entry.missing) {
            lines.push(format!("  {:<20}in {} passes; then: {reason}", "", entry.passes));
        }
    }
    lines.push(String::new());
    lines
}

/// Why there is nothing.
pub(crate) fn reason(entry: &Entry) -> &str {
    entry.missing.as_deref().unwrap_or("the comparison ended before")
}

/// Ratios alone, all contenders side by side.
fn summary(report: &Report) -> Vec<String> {
    // Who is for figures alone has no column.
    let has = |who: &&Who| {
        let index = report.contenders.iter().position(|known| known.name == who.name);
        report
            .plain()
            .any(|row| index.and_then(|index| row.entries.get(index)).is_some_and(|entry| entry.concerned))
    };
    let names = report.contenders.iter().filter(|who| who.name != REFERENCE).filter(has);
    let names: String = names.map(|who| format!("{:>14}", who.name)).collect();
    let mut lines = vec![format!("{:<46}{:>14}{names}", "ratio to raw-udp in the same pass", "raw-udp")];
    for row in report.plain() {
        let ratio = |entry: &Entry| entry.ratio.map_or_else(|| "-".to_owned(), |ratio| number(ratio.median));
        let mut own = "-".to_owned();
        let mut others = String::new();
        for (who, entry) in report.contenders.iter().zip(&row.entries).filter(|(who, _)| has(who)) {
            if who.name == REFERENCE {
                own = entry
                    .figure
                    .map_or(own, |figure| format!("{} {}", number(figure.median), row.cell.kind.unit()));
            } else {
                others.push_str(&format!("{:>14}", ratio(entry)));
            }
        }
        lines.push(format!("{:<46}{own:>14}{others}", row.cell.id));
    }
    lines.push(String::new());
    lines
}

/// The figures of the paper: a column for each curve.
fn figures(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for (figure, rows) in report.figures() {
        let curves = curves_of(report, &rows);
        let unit = rows.first().map_or("", |row| row.cell.kind.unit());
        lines.push(format!("figure {}: {}, {unit}", figure.number, figure.title));
        let names: String = curves.iter().map(|(_, who)| format!("{:>20}", who.name)).collect();
        lines.push(format!("  {:<36}{names}", ""));
        for row in rows {
            let one = |index: usize| row.entries.get(index).and_then(|entry| entry.figure);
            let text =
                |index: usize| one(index).map_or_else(|| "-".to_owned(), |figure| number(figure.median));
            let columns: String = curves.iter().map(|(index, _)| format!("{:>20}", text(*index))).collect();
            lines.push(format!("  {:<36}{columns}", row.cell.title));
        }
        lines.push(format!("  TAO's event service: {}", figure.tao));
        lines.push(String::new());
    }
    if !lines.is_empty() {
        lines.push(ORIGIN.to_owned());
    }
    lines
}

fn interval(estimate: Estimate) -> String {
    format!("{}..{}", number(estimate.low), number(estimate.high))
}

/// Three digits that say something, at least.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// Millions of bytes.
pub(crate) fn megabytes(bytes: u64) -> String {
    number(crate::conduct::float(bytes) / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    #[test]
    fn every_contender_has_a_line_in_every_cell() {
        let lines = lines(&report());
        let text = lines.join("\n");
        assert!(
            lines.iter().any(|line| line.starts_with("  raw-udp ") && line.contains(" 15.0     10.0..20.0 ")),
            "{text}"
        );
        assert!(text.contains("in 1 passes; then: it <hung>"), "{text}");
        assert!(text.contains("  other               not measured: no <rate>"), "{text}");
        assert!(
            lines.iter().any(|line| line.starts_with("rtt-s-64 ") && line.trim_end().ends_with("2.50")),
            "{text}"
        );
    }

    #[test]
    fn numbers_have_three_digits() {
        for (value, text) in [(0.512_3, "0.51"), (9.996, "10.00"), (14.26, "14.3"), (1_234.4, "1234")] {
            assert_eq!(number(value), text);
        }
    }
}
