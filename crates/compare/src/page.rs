//! The report as a page that needs nothing else: a summary on top, then each cell with bars.
use maud::{Markup, PreEscaped, html};

use crate::contender::{OWN, is_raw};
use crate::report::{Report, Row, Who};
use crate::statistics::Estimate;
use crate::summary::summary;
use crate::text::{cells, heads, megabytes, reason};

const STYLE: &str = include_str!("page.css");

/// The page.
pub(crate) fn page(report: &Report) -> String {
    let content = html! {
        style { (PreEscaped(STYLE)) }
        h1 { "Latency and throughput, measured side by side" }
        (summary(report))
        @for row in &report.rows {
            h2 { @if let Some(figure) = row.cell.figure { "Figure " (figure) ": " } (row.cell.title) }
            (table(report, row))
        }
        h2 { "What was compared" }
        div class="scroll" {
            table {
                thead { tr { th { "name" } th { "what it is" } th class="n" { "program, MB" } } }
                @for who in &report.contenders {
                    tr {
                        td { (name(who)) }
                        td { (who.about) }
                        td class="n" { (who.bytes.map_or_else(|| "–".to_owned(), megabytes)) }
                    }
                }
            }
        }
        h2 { "How it was measured" }
        (pages::facts(report.machine.iter().map(|(name, value)| (*name, value.as_str()))))
        @for remark in &report.remarks { p { (remark) } }
    };
    pages::document("Comparison", content)
}

fn name(who: &Who) -> Markup {
    html! { @if who.name == OWN { b class="own" { (who.name) } } @else { (who.name) } }
}

/// The figures of a cell, each with a bar that begins at zero, and a line for its interval.
fn table(report: &Report, row: &Row) -> Markup {
    let heads = heads(row.cell.kind);
    let shown = || heads.iter().enumerate().filter(|(_, head)| !head.is_empty());
    let figures = row.concerned(&report.contenders).filter_map(|(_, entry)| entry.figure);
    let greatest = figures.map(|figure| figure.high).fold(0.0, f64::max);
    let better = if row.cell.kind.more_is_better() { "more is better" } else { "less is better" };
    html! {
        div class="scroll" {
            table class="cell" {
                thead {
                    tr {
                        th {}
                        th class="bars" { (better) }
                        @for (_, head) in shown() { th class="n" { @if *head == "ratio" { "ratio to " (row.cell.reference()) } @else { (head) } } }
                    }
                }
                @for (who, entry) in row.concerned(&report.contenders) {
                    tr {
                        td { (name(who)) }
                        @match (entry.figure, cells(row.cell.kind, entry)) {
                            (Some(figure), Some(columns)) => {
                                td { (bar(who, figure, greatest)) }
                                @for (index, _) in shown() { td class="n" { (columns.get(index).map_or("", String::as_str)) } }
                            }
                            _ => td class="soft" colspan=(shown().count() + 1) { "not measured: " (reason(entry)) },
                        }
                    }
                    @if let (Some(_), Some(missing)) = (entry.figure, &entry.missing) {
                        tr { td {} td class="soft" colspan=(shown().count() + 1) { "measured in " (entry.passes) " passes; then: " (missing) } }
                    }
                }
            }
        }
    }
}

fn bar(who: &Who, figure: Estimate, greatest: f64) -> Markup {
    let part = |value: f64| if greatest > 0.0 { value / greatest * 100.0 } else { 0.0 };
    let class = match who.name.as_str() {
        OWN => "bar own",
        name if is_raw(name) => "bar raw",
        _ => "bar",
    };
    html! {
        span class=(class) {
            i style=(format_args!("width:{:.1}%", part(figure.median))) {}
            u style=(format_args!("left:{:.1}%;width:{:.1}%", part(figure.low), part(figure.high - figure.low))) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::REFERENCE;
    use crate::report::tests::{own_beside, report};

    #[test]
    fn the_page_shows_all_and_loads_nothing() {
        let page = page(&report());
        // A bar for each figure.
        assert_eq!(page.matches("<i style=").count(), 3);
        assert!(page.contains("not measured: no &lt;rate&gt;") && page.contains("a &lt;remark&gt;"));
        assert!(page.contains("measured in 1 passes; then: it &lt;hung&gt;"));
        assert!(
            page.contains(&format!("<td>{REFERENCE}</td>"))
                && !page.contains("NaN")
                && !page.contains("inf%")
        );
        for other in ["http://", "https://", "src=", "@import", "url(", "<rate>", "<it>", "<remark>"] {
            assert!(!page.contains(other), "{other}");
        }
    }

    #[test]
    fn bars_are_as_long_as_their_figures() {
        let page = page(&report());
        // Of 10 and 20 the middle is 15, of 50 in all; the interval is all of it.
        assert!(
            page.contains("<i style=\"width:30.0%\"></i><u style=\"left:20.0%;width:20.0%\"></u>"),
            "{page}"
        );
        assert!(page.contains("<i style=\"width:100.0%\"></i>"));
    }

    #[test]
    fn the_summary_says_how_each_peer_stands() {
        let page = page(&own_beside());
        let (top, _) = page.split_once("<h2>").unwrap_or_default();
        assert!(top.contains("takes 1.50 times as long"), "{top}");
        assert!(top.contains("takes 3.00 times as many samples a second"), "{top}");
        assert!(
            top.contains(
                "better in 1 of 2 cells, worse in 1; 1.08 times as good in the middle (0.67 to 1.50)"
            ),
            "{top}"
        );
        assert_eq!(top.matches("class=\"mark").count(), 2 + 3);
        assert_eq!(top.matches("class=\"mark worse").count(), 1);
    }
}
