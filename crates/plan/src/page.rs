//! The report as a page that needs nothing else: a summary, the picture, the flows, the ports, what all rests on.
use maud::{Markup, PreEscaped, html};
use pages::{Mood, thousands};

use crate::change::Changes;
use crate::deliveries;
use crate::picture::drawing;
use crate::planning::Plan;
use crate::report::{Bounds, FlowReport, LevelReport, Report, SubscriberReport};
use crate::sections::Section;
use crate::text::{counted, percent};
use crate::ways::Ways;
use latency::words::microseconds;

/// The most nodes that are drawn: with more there is nothing to see.
const DRAWN: usize = 200;
/// Refused flows that the summary tells of.
const TOLD: usize = 6;
/// Lines of a section that are shown without being unfolded.
const LINES: usize = 12;

const STYLE: &str = include_str!("page.css");

/// What a page is made from.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'s> {
    pub(crate) plan: &'s Plan<'s>,
    pub(crate) bounds: &'s Bounds,
    pub(crate) report: &'s Report,
    pub(crate) changes: Option<&'s Changes>,
}

/// The page.
pub(crate) fn page(shown: Shown<'_>, sections: &[Section]) -> String {
    let Shown { plan, report, .. } = shown;
    let name = if report.network.is_empty() { "Network plan" } else { &report.network };
    let drawn = plan.network.nodes() <= DRAWN;
    let ways = if drawn { Ways::new(plan, report) } else { Ways::default() };
    let content = html! {
        style { (PreEscaped(STYLE)) }
        h1 { (name) }
        (summary(report))
        @for section in sections { (self::section(section)) }
        @if drawn {
            (drawing(plan, report, &ways))
        } @else {
            p { (plan.network.nodes()) " nodes are too many for a picture." }
        }
        (deliveries::table(shown, &ways))
        (ports(report))
        (assumptions(report))
    };
    pages::document(name, content)
}

fn summary(report: &Report) -> Markup {
    let flows = counted(report.flows.len(), "flow");
    let refused: Vec<&FlowReport> = report.flows.iter().filter(|flow| !flow.admitted).collect();
    let mut lines: Vec<String> = refused.iter().take(TOLD).map(|flow| said(flow)).collect();
    if refused.len() > TOLD {
        lines.push(format!("and {} more: search the flows for \"refused\"", refused.len() - TOLD));
    }
    let (mood, sentence) = match (report.admitted, refused.len()) {
        (0, 0) => (Mood::Odd, "The network has no flows.".to_owned()),
        (1, 0) => (Mood::Good, "The only flow is admitted and keeps its limit.".to_owned()),
        (_, 0) => (Mood::Good, format!("All {flows} are admitted and keep their limits.")),
        (admitted, refused) => {
            (Mood::Bad, format!("{} refused, {admitted} admitted.", counted(refused, "flow")))
        }
    };
    html! {
        (pages::verdict(mood, &sentence, &lines))
        @if let Some((flow, subscriber, bound)) = tightest(report) {
            p {
                "The least room: " b { (flow.name) } " to " (subscriber.host) ", at most " (microseconds(bound)) " us of "
                (microseconds(subscriber.limit_ps)) " us (" (percent(parts(bound, subscriber.limit_ps))) "). "
                @if let Some(port) = report.ports.iter().max_by_key(|port| port.load_ppm) {
                    "The fullest link: " b { (port.port) } ", " (percent(port.load_ppm)) " of its time."
                }
            }
        }
    }
}

/// Why a flow is refused, and what would do.
fn said(flow: &FlowReport) -> String {
    let reason = flow.reason.as_deref().unwrap_or("refused");
    let offer = flow.offer().map_or(String::new(), |offer| format!("; it would be admitted with {offer} us"));
    format!("{}: {reason}{offer}", flow.name)
}

/// A part in parts of a million, rounded up.
pub(crate) fn parts(part: u64, whole: u64) -> u64 {
    let parts = (u128::from(part) * 1_000_000).div_ceil(u128::from(whole.max(1)));
    u64::try_from(parts).unwrap_or(u64::MAX)
}

/// The delivery whose bound is nearest to its limit.
fn tightest(report: &Report) -> Option<(&FlowReport, &SubscriberReport, u64)> {
    let all = report
        .flows
        .iter()
        .flat_map(|flow| flow.subscribers.iter().map(move |subscriber| (flow, subscriber)));
    let bounded = all.filter_map(|(flow, subscriber)| Some((flow, subscriber, subscriber.bound_ps?)));
    bounded.max_by_key(|(_, subscriber, bound)| parts(*bound, subscriber.limit_ps))
}

fn section(section: &Section) -> Markup {
    let list = html! { ul { @for line in &section.lines { li { (line) } } } };
    html! {
        h2 { (section.title) }
        @if section.lines.len() > LINES {
            details { summary { (section.lines.len()) " lines" } (list) }
        } @else if !section.lines.is_empty() {
            (list)
        }
    }
}

/// A bar of so many parts of a million of its whole length, and a line where it ended before; beyond the whole it is hatched.
pub(crate) fn bar(ppm: u64, before: Option<u64>) -> Markup {
    let class = match ppm {
        ..900_000 => "bar",
        900_000..=1_000_000 => "bar near",
        _ => "bar over",
    };
    let length = |ppm: u64| {
        let tenths = ppm.div_ceil(1_000).min(1_000);
        format!("{}.{}%", tenths / 10, tenths % 10)
    };
    html! {
        span class=(class) {
            i style=(format_args!("width:{}", length(ppm))) {}
            @if let Some(before) = before { u style=(format_args!("left:{}", length(before))) title=(format_args!("before: {}", percent(before))) {} }
        }
    }
}

fn ports(report: &Report) -> Markup {
    let heads = [
        ("port", false, ""),
        ("load", true, "n"),
        ("backlog, bytes", true, "n"),
        ("buffer, bytes", true, "n"),
        ("levels: delay of what is promised, us", true, ""),
    ];
    html! {
        @if !report.ports.is_empty() {
            h2 { "Ports" }
            div class="scroll" {
                table class="sorted" data-search="search ports" {
                    (pages::heads(&heads))
                    @for port in &report.ports {
                        tbody data-0=(port.port) data-1=(port.load_ppm) data-2=[port.backlog_octets] data-3=[port.buffer_octets] data-4=(port.levels.len()) {
                            tr {
                                td { (port.port) }
                                td class="n" { (percent(port.load_ppm)) (bar(port.load_ppm, None)) }
                                td class="n" { (port.backlog_octets.map_or("no bound".to_owned(), thousands)) }
                                td class="n" { (port.buffer_octets.map_or("memory".to_owned(), thousands)) }
                                td { @for level in &port.levels { (self::level(level)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn level(level: &LevelReport) -> Markup {
    let bound = level.bound_ps.map_or("no bound".to_owned(), microseconds);
    html! {
        div class="w" {
            "level " (level.level) ": " (bound) " of " (microseconds(level.least_share_ps)) ", " (counted(level.flows.len(), "flow"))
        }
    }
}

fn assumptions(report: &Report) -> Markup {
    html! {
        @if !report.assumptions.is_empty() {
            h2 { "Assumptions" }
            dl { @for assumption in &report.assumptions { dt { (assumption.id) } dd { (assumption.shown()) } } }
        }
        @if !report.warnings.is_empty() {
            h2 { "Warnings" }
            ul { @for warning in &report.warnings { li { (warning) } } }
        }
    }
}
