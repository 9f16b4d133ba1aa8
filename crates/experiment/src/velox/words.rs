//! A run as text, as JSON, and as a table of samples.
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::page::said;
use super::report::{Figure, Report, Series};
use crate::judge::Judged;
use crate::text::{apart, milliseconds};

/// A figure as text.
pub(crate) fn figure(figure: &Figure) -> String {
    let mut out = format!("{}\n", figure.title);
    // Writing to a text cannot fail.
    let _ = writeln!(
        out,
        "  {:<22} {:<26} {:<16} {:>9} {:>7} {:>9} {:>9} {:>9}  lost, late",
        "case", "flow", "when", "bound ms", "sent", "median", "p99", "longest"
    );
    for series in &figure.series {
        for span in &series.spans {
            let judged = &span.judged;
            let time = |time: Option<i64>| time.map_or("-".to_owned(), milliseconds);
            let _ = writeln!(
                out,
                "  {:<22} {:<26} {:<16} {:>9} {:>7} {:>9} {:>9} {:>9}  {}, {}",
                series.case,
                series.flow,
                span.name,
                time(series.bound),
                judged.sent,
                time(judged.median),
                time(judged.percentile_99),
                time(judged.greatest),
                apart(judged.misses.lost, judged.excused.lost, "in stalls"),
                apart(judged.misses.late, judged.excused.late, "in stalls"),
            );
        }
    }
    for series in &figure.series {
        if let Some(kept) = &series.kept {
            let _ = writeln!(
                out,
                "  {}, {}: {} of {} seconds within two samples of what is due, {}; {} of {} times ten seconds lack 1 % at most",
                series.case,
                series.flow,
                kept.seconds - kept.missed - kept.excused,
                kept.seconds,
                apart(kept.missed, kept.excused, "in stalls"),
                kept.tens - kept.missed_tens - kept.excused_tens,
                kept.tens,
            );
        }
    }
    for refusal in &figure.refusals {
        let answer =
            refusal.answer.as_ref().map_or("ADMITTED".to_owned(), |answer| format!("refused: {answer}"));
        let _ = writeln!(out, "  {}\n    {answer}", refusal.asked);
    }
    for note in &figure.notes {
        let _ = writeln!(out, "  {note}");
    }
    out
}

/// The end of a run as text.
pub(crate) fn tail(report: &Report) -> String {
    let conclusion = report.conclusion();
    conclusion.lines().iter().fold(said(&conclusion).to_owned(), |text, line| format!("{text}\n  {line}"))
}

fn judged(name: &str, judged: &Judged) -> Value {
    json!({
        "when": name,
        "sent": judged.sent,
        "arrived": judged.points.len(),
        "median": judged.median,
        "percentile-99": judged.percentile_99,
        "greatest": judged.greatest,
        "lost": judged.misses.lost,
        "late": judged.misses.late,
        "lost-in-stalls": judged.excused.lost,
        "late-in-stalls": judged.excused.late,
    })
}

/// The numbers of a run: times in nanoseconds, one document.
pub(crate) fn json(report: &Report) -> String {
    let of_series = |series: &Series| {
        let seconds = series.seconds.as_ref().map(|(all, due)| {
            let arrived: Vec<u64> = all.iter().map(|second| second.arrived).collect();
            json!({ "due": due, "arrived": arrived })
        });
        let kept = series.kept.map(|kept| {
            json!({ "seconds": kept.seconds, "missed": kept.missed, "missed-in-stalls": kept.excused,
                    "tens": kept.tens, "missed-tens": kept.missed_tens, "missed-tens-in-stalls": kept.excused_tens })
        });
        json!({
            "case": series.case,
            "flow": series.flow,
            "bound": series.bound,
            "limit": series.limit,
            "spans": series.spans.iter().map(|span| judged(span.name, &span.judged)).collect::<Vec<_>>(),
            "per-second": seconds,
            "kept": kept,
        })
    };
    let figures = report.figures.iter().map(|figure| {
        json!({
            "figure": figure.key,
            "title": figure.title,
            "flows": figure.series.iter().map(of_series).collect::<Vec<_>>(),
            "refusals": figure.refusals,
            "notes": figure.notes,
        })
    });
    let facts: serde_json::Map<String, Value> =
        report.facts.iter().map(|(what, said)| ((*what).to_owned(), json!(said))).collect();
    let concluded = report.conclusion();
    let (conclusion, lines) = (said(&concluded), concluded.lines());
    let whole = json!({ "conclusion": conclusion, "reasons": lines, "figures": figures.collect::<Vec<_>>(), "facts": facts });
    format!("{whole:#}\n")
}

/// All samples: when they were sent, in nanoseconds after the first of their flow, and how long they took; nothing for one that is lost.
pub(crate) fn csv(report: &Report) -> String {
    let mut out = "figure,case,flow,sent_ns,latency_ns,stall\n".to_owned();
    for figure in &report.figures {
        for series in &figure.series {
            let (key, case, flow) = (figure.key, series.case, &series.flow);
            for point in &series.judged.points {
                let stall = u8::from(point.disturbed);
                let _ = writeln!(out, "{key},\"{case}\",\"{flow}\",{},{},{stall}", point.at, point.latency);
            }
            for at in &series.judged.gone {
                let _ = writeln!(out, "{key},\"{case}\",\"{flow}\",{at},,0");
            }
        }
    }
    out
}
