//! The report as a page that needs nothing else: the picture that says most on top, then the phases one by one.
use maud::{Markup, PreEscaped, html};
use pages::thousands;

use crate::conclusion::Conclusion;
use crate::contrast::Contrast;
use crate::plot::{self, Plot};
use crate::report::{Phase, Report, Row};
use crate::text::{apart, milliseconds};

/// Heads of the table of a phase, with units.
const HEADS: [&str; 10] = [
    "topic",
    "asked for, ms",
    "promised, ms",
    "worst case, ms",
    "samples sent",
    "median, ms",
    "99 of 100 within, ms",
    "longest, ms",
    "lost",
    "late",
];

/// The page.
pub(crate) fn page(report: &Report) -> String {
    let content = html! {
        style { (PreEscaped(plot::STYLE)) }
        h1 { "The MIDAS experiment" }
        p { "Three publishers send to one host through one switch, and their topics need 90 % of its last link. First the network has \
             no manager; then a resource manager admits each subscriber with a latency that it promises, and programs the switch. In each half the \
             publishers at first keep to their contracts, and then two of them go mad." }
        p class="soft" { (report.place) }
        @if let Some(contrast) = Contrast::of(report) {
            (contrast.markup())
            (legend())
        }
        (conclusion(&report.conclusion()))
        h2 { "What is asked for, and what the plan promises" }
        (topics(report))
        @for (index, phase) in report.phases.iter().enumerate() {
            h2 { (index + 1) ". " (phase.title) }
            p { (phase.about) " " span class="soft" { (format_args!("It lasts {:.0} s.", phase.seconds)) } }
            (table(phase, report))
            (plots(phase, report))
            @for note in &phase.notes { p class="soft" { (note) } }
        }
        (refusals(report))
        h2 { "How it was measured" }
        p { "A sample's latency is the time from the publisher's send call until the kernel of the subscriber's host had its last datagram. The worst case \
             is what the plan computes for these flows alone; what is promised is never less than that. A sample that a stall met was under way while \
             the machine itself stood still, as probes on each core saw: it is counted apart and is in no percentile. Of each topic, all plots have the same scale." }
        (pages::facts(report.machine.iter().map(|(what, said)| (*what, said.as_str()))))
        @for remark in &report.remarks { p { (remark) } }
    };
    pages::document("The MIDAS experiment", content)
}

/// What the marks of plots mean.
fn legend() -> Markup {
    html! {
        p class="legend soft" {
            (plot::mark("in", "M10 6h0", "a sample in time"))
            (plot::mark("late", "M10 6h0", "late"))
            (plot::mark("lost", "M10 1v10", "lost"))
            (plot::mark("odd", "M10 6h0", "the machine stood still meanwhile"))
            (plot::mark("asked", "M0 6h20", "what the subscriber asks for"))
            (plot::mark("promised", "M0 6h20", "what it is promised, where that is less"))
        }
    }
}

fn conclusion(conclusion: &Conclusion) -> Markup {
    let said = crate::text::conclusion(conclusion);
    let mut lines = said.lines();
    let first = lines.next().unwrap_or_default().to_owned();
    pages::verdict(conclusion.mood(), &first, &lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>())
}

fn topics(report: &Report) -> Markup {
    let time = |nanoseconds: u64| milliseconds(nanoseconds.cast_signed());
    html! {
        div class="scroll" {
            table {
                thead {
                    tr {
                        th { "topic" } th { "from" } th class="n" { "bytes of a sample" } th class="n" { "at least every, ms" }
                        th class="n" { "asked for within, ms" } th class="n" { "worst case by the plan, ms" }
                    }
                }
                @for topic in &report.topics {
                    tr {
                        td { (topic.name) } td { (topic.publisher) } td class="n" { (thousands(u64::from(topic.size))) }
                        td class="n" { (time(topic.separation)) } td class="n" { (time(topic.limit)) }
                        @match &topic.planned {
                            Ok(bound) => td class="n" { (time(*bound)) },
                            Err(reason) => td class="bad" { "refused: " (reason) },
                        }
                    }
                }
            }
        }
    }
}

fn table(phase: &Phase, report: &Report) -> Markup {
    html! {
        div class="scroll" {
            table {
                thead { tr { @for (index, head) in HEADS.iter().enumerate() { th class=[(index > 0).then_some("n")] { (head) } } } }
                @for row in &phase.rows { (self::row(phase, row, report)) }
            }
        }
    }
}

fn row(phase: &Phase, row: &Row, report: &Report) -> Markup {
    let time = |time: Option<i64>| time.map_or("–".to_owned(), milliseconds);
    match row {
        Row::Babbler { topic, said } => html! {
            tr { td { (report.name(*topic)) } td colspan=(HEADS.len() - 1) { "babbles: " (said) } }
        },
        Row::Measured { topic, limit, judged } => {
            let planned = report.topics.get(*topic).and_then(|topic| topic.planned.as_ref().ok());
            let missed = |missed: u64, excused: u64| {
                html! { td class=(if missed > 0 { "n bad" } else { "n" }) { (apart(missed, excused, "in stalls")) } }
            };
            html! {
                tr {
                    td { (report.name(*topic)) }
                    td class="n" { (milliseconds(report.limit(*topic))) }
                    td class="n" { (time(phase.promised.then_some(*limit))) }
                    td class="n" { (time(planned.filter(|_| phase.promised).map(|bound| bound.cast_signed()))) }
                    td class="n" { (apart(judged.sent - judged.disturbed, judged.disturbed, "in stalls")) }
                    @for value in [judged.median, judged.percentile_99, judged.greatest] { td class="n" { (time(value)) } }
                    (missed(judged.misses.lost, judged.excused.lost))
                    (missed(judged.misses.late, judged.excused.late))
                }
            }
        }
    }
}

fn plots(phase: &Phase, report: &Report) -> Markup {
    html! {
        div class="plots" {
            @for (topic, judged) in phase.measured() {
                @let (name, arrived) = (report.name(topic), judged.arrived_permille());
                @let said = format!("{} samples, {}.{} % arrived", judged.sent, arrived / 10, arrived % 10);
                @let promised = phase.limit_of(topic).filter(|_| phase.promised);
                @let scale = report.scale(topic);
                @let plot = Plot { judged, asked: report.limit(topic), promised, seconds: phase.seconds, scale };
                figure {
                    figcaption { b { (name) } " " span class="soft" { (said) } }
                    (plot.svg(&format!("{name}: {said}")))
                }
            }
        }
    }
}

fn refusals(report: &Report) -> Markup {
    html! {
        @if !report.refusals.is_empty() {
            h2 { (report.phases.len() + 1) ". Subscribers that ask for too much" }
            div class="scroll" {
                table {
                    thead { tr { th { "asked for" } th { "the answer" } } }
                    @for refusal in &report.refusals {
                        tr {
                            td { (refusal.asked) }
                            @match &refusal.verdict {
                                Some(verdict) => td { (verdict) },
                                None => td class="bad" { "not refused" },
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{contrasted, report as made};

    #[test]
    fn the_page_shows_every_sample_and_loads_nothing() {
        let mut latencies = [4; 2_000];
        (latencies[0], latencies[1], latencies[1_999]) = (90, 0, 6);
        let page = page(&made(&latencies, 5));
        // Three paths of points: in time, late, met by a stall.
        assert_eq!(page.matches("h0M").count() + 3, 1_999);
        assert_eq!(page.matches("v12\"").count(), 1);
        assert!(
            page.contains("A PROMISE WAS BROKEN")
                && page.contains("<td class=\"n\">0 (and 1 in stalls)</td>")
        );
        assert!(page.contains("&lt;much&gt; &amp; more") && !page.contains("<much>"));
        for other in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(other), "{other}");
        }
        assert!(page.len() < 2_000 * 16 + 20_000, "{} bytes", page.len());
    }

    #[test]
    fn the_picture_on_top_is_of_the_topic_that_gains_most() {
        let report = contrasted();
        let page = page(&report);
        let (top, _) = page.split_once("class=\"verdict").unwrap_or_default();
        assert!(
            top.contains("Without a manager: ")
                && top.contains("1 of 4 samples in time (25.0 %), 1 late, 2 lost"),
            "{top}"
        );
        assert!(top.contains("With a manager: ") && top.contains("all 4 samples in time"), "{top}");
        assert_eq!(top.matches("<svg viewBox").count(), 2);
    }
}
