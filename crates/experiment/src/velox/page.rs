//! The report as a page that needs nothing else.
use maud::{Markup, PreEscaped, html};
use pages::thousands;

use super::plots;
use super::report::{Figure, Report, Series};
use crate::conclusion::Conclusion;
use crate::plot;
use crate::text::{apart, milliseconds};

/// Heads of the table of a figure, with units.
const HEADS: [&str; 10] = [
    "case",
    "flow",
    "when",
    "bound, ms",
    "sent",
    "median, ms",
    "99 of 100 within, ms",
    "longest, ms",
    "lost",
    "late",
];
/// Flows of a case that are drawn: those of further readers look alike, and are in the table.
const DRAWN: usize = 2;

/// The page.
pub(crate) fn page(report: &Report) -> String {
    let content = html! {
        style { (PreEscaped(plot::STYLE)) (PreEscaped(plots::STYLE)) }
        h1 { "The Velox experiment" }
        p { "Domains of Linux routers, each with its resource manager, carry samples of DDS between their hosts: figures 21 to 25 of the Velox paper. A session \
             has a bound from edge to edge, which the managers promise, and each sample of it has to keep that bound." }
        (legend())
        (conclusion(&report.conclusion()))
        @for figure in &report.figures { (self::figure(figure)) }
        h2 { "How it was measured" }
        p { "A sample's latency is the time from the writer's call until the kernel of the reader's host had its datagram. It is judged by the bound of its session \
             and 1 ms more, which hosts, programs and the emulated links of the lab may take; behind a relay by 2 ms more. A second of a flow is kept if two samples at most are too few \
             or too many in it, and ten seconds are if they lack 1 % at most. What a stall of the machine met is counted apart." }
        (pages::facts(report.facts.iter().map(|(what, said)| (*what, said.as_str()))))
    };
    pages::document("The Velox experiment", content)
}

/// What the marks of plots mean.
fn legend() -> Markup {
    html! {
        p class="legend soft" {
            (plot::mark("in", "M10 6h0", "a sample in time"))
            (plot::mark("late", "M10 6h0", "late, or later than a session beside it would have it"))
            (plot::mark("lost", "M10 1v10", "lost"))
            (plot::mark("odd", "M10 6h0", "the machine stood still meanwhile"))
            (plot::mark("average", "M0 6h20", "moving average"))
            (plot::mark("due", "M0 6h20", "the rate that is sent"))
        }
    }
}

fn conclusion(conclusion: &Conclusion) -> Markup {
    pages::verdict(conclusion.mood(), said(conclusion), conclusion.lines())
}

/// A conclusion in a sentence.
pub(crate) fn said(conclusion: &Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Held(excused) if excused.is_empty() => "Every bound was kept.",
        Conclusion::Held(_) => "Every bound was kept but for what stalls of the machine met.",
        Conclusion::Broken(_) => "A BOUND WAS BROKEN, OR SOMETHING WAS ADMITTED THAT HAS NO ROOM.",
        Conclusion::Void(_) => "VOID: the run does not tell whether bounds are kept.",
    }
}

fn figure(figure: &Figure) -> Markup {
    html! {
        h2 { (figure.title) }
        p { (figure.about) }
        @if !figure.paper.is_empty() {
            div class="scroll" {
                table {
                    thead { tr { th { "in the paper" } th { "it shows" } } }
                    @for (what, shows) in figure.paper { tr { td { (what) } td { (shows) } } }
                }
            }
        }
        @if !figure.series.is_empty() {
            div class="scroll" {
                table {
                    thead { tr { @for (at, head) in HEADS.iter().enumerate() { th class=[(at > 2).then_some("n")] { (head) } } } }
                    @for series in &figure.series { (rows(series)) }
                }
            }
        }
        @for series in &figure.series {
            @if let Some(kept) = &series.kept {
                p {
                    (series.case) ", " (series.flow) ": " (kept.seconds - kept.missed - kept.excused) " of " (kept.seconds)
                    " seconds were within two samples of what was due"
                    @if kept.excused > 0 { ", and " (kept.excused) " were not while the machine stood still" }
                    "; " (kept.tens - kept.missed_tens - kept.excused_tens) " of " (kept.tens) " times ten seconds lacked 1 % at most."
                }
            }
        }
        (drawn(figure))
        @if !figure.refusals.is_empty() {
            div class="scroll" {
                table {
                    thead { tr { th { "asked for" } th { "the manager's answer" } } }
                    @for refusal in &figure.refusals {
                        tr {
                            td { (refusal.asked) }
                            @match &refusal.answer {
                                Some(answer) => td { "refused: " (answer) },
                                None => td class="bad" { "admitted" },
                            }
                        }
                    }
                }
            }
        }
        @for note in &figure.notes { p class="soft" { (note) } }
    }
}

fn rows(series: &Series) -> Markup {
    let time = |time: Option<i64>| time.map_or("–".to_owned(), milliseconds);
    let missed = |missed: u64, excused: u64| {
        let bad = missed > 0 && series.bound.is_some();
        html! { td class=(if bad { "n bad" } else { "n" }) { (apart(missed, excused, "in stalls")) } }
    };
    html! {
        @for span in &series.spans {
            @let judged = &span.judged;
            tr {
                td { (series.case) } td { (series.flow) } td { (span.name) }
                td class="n" { (time(series.bound)) }
                td class="n" { (thousands(judged.sent)) }
                @for value in [judged.median, judged.percentile_99, judged.greatest] { td class="n" { (time(value)) } }
                (missed(judged.misses.lost, judged.excused.lost))
                (missed(judged.misses.late, judged.excused.late))
            }
        }
    }
}

fn drawn(figure: &Figure) -> Markup {
    let of_case = |series: &Series| {
        let mut same = figure.series.iter().filter(|other| other.case == series.case);
        same.position(|other| other.flow == series.flow).is_some_and(|at| at < DRAWN)
    };
    html! {
        div class="plots" {
            @for series in figure.series.iter().filter(|series| of_case(series)) {
                @let said = format!("{}, {}", series.case, series.flow);
                @if let Some(rate) = plots::rate(series, &format!("rate: {said}")) {
                    figure { figcaption { b { (said) } " " span class="soft" { "rate" } } (rate) }
                }
                figure {
                    figcaption { b { (said) } " " span class="soft" { "latency" } }
                    (plots::latency(figure, series, &format!("latency: {said}")))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::{report, series};
    use super::*;
    use crate::stalls::Stalls;
    use crate::velox::words;

    #[test]
    fn the_page_and_the_files_show_every_sample_and_load_nothing() {
        let stalls = Stalls::default();
        let one = series(5_000_000, &[(7, None), (9, Some(90_000_000))], &stalls, true);
        let made = report(vec![series(5_000_000, &[], &stalls, false), one], Some("AS 65002: no room"));
        let page = page(&made);
        // A path begins with a sample, and so does the key of the legend for each of its two kinds and for those that a stall met.
        assert_eq!(page.matches("h0M").count() + 3 + 3, 3_999 + 3, "{}", page.len());
        assert_eq!(page.matches("class=\"rate\"").count(), 2);
        assert!(page.contains("A BOUND WAS BROKEN") && page.contains("refused: AS 65002: no room"));
        assert!(page.contains("forward &lt;&amp;&gt;") && !page.contains("forward <&>"));
        for other in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(other), "{other}");
        }
        assert_eq!(words::csv(&made).lines().count(), 1 + 4_000);
        let json: serde_json::Value = serde_json::from_str(&words::json(&made)).unwrap_or_default();
        let judged = &json["figures"][0]["flows"][1];
        assert_eq!((&judged["spans"][0]["lost"], &judged["spans"][0]["late"]), (&1.into(), &1.into()));
        assert_eq!(judged["per-second"]["arrived"][0], 99);
        assert!(words::figure(&made.figures[0]).contains("1, 1\n"), "{}", words::figure(&made.figures[0]));
    }
}
