//! How Punctual stands to raw UDP and to each peer, in sentences, a picture and a table. Ratios are formed inside each pass.
use maud::{Markup, html};

use crate::cell::Kind;
use crate::cell::figures::{Figure, ORIGIN};
use crate::contender::{OWN, REFERENCE, is_raw};
use crate::report::{Entry, Report, Row, Who};
use crate::statistics::Estimate;
use crate::text::number;

/// How Punctual stands to a peer.
struct Standing<'r> {
    name: &'r str,
    /// The cells in which both were measured, and how many times better Punctual is there.
    gains: Vec<(&'r Row, Estimate)>,
}

/// The standings to all peers that were measured, in the order of contenders.
fn standings(report: &Report) -> Vec<Standing<'_>> {
    let peers = report.contenders.iter().enumerate().filter(|(_, who)| who.name != OWN && !is_raw(&who.name));
    peers
        .map(|(index, who)| {
            let gains = report.plain().filter_map(|row| Some((row, row.entries.get(index)?.gain?)));
            Standing { name: &who.name, gains: gains.collect() }
        })
        .filter(|standing| !standing.gains.is_empty())
        .collect()
}

impl Standing<'_> {
    /// In a sentence.
    fn said(&self) -> String {
        let count = |is: fn(&Estimate) -> bool| self.gains.iter().filter(|(_, gain)| is(gain)).count();
        let better = count(|gain| gain.low > 1.0);
        let worse = count(|gain| gain.high < 1.0);
        let open = self.gains.len() - better - worse;
        let mut medians: Vec<f64> = self.gains.iter().map(|(_, gain)| gain.median).collect();
        medians.sort_by(f64::total_cmp);
        let of = Estimate::of(&medians).map_or(0.0, |estimate| estimate.median);
        let [least, most] =
            [medians.first(), medians.last()].map(|gain| number(gain.copied().unwrap_or(0.0)));
        let cells = if self.gains.len() == 1 { "cell" } else { "cells" };
        let mut said = format!("better in {better} of {} {cells}", self.gains.len());
        if worse > 0 {
            said.push_str(&format!(", worse in {worse}"));
        }
        if open > 0 {
            said.push_str(&format!(", too near to tell in {open}"));
        }
        let range = if least == most { String::new() } else { format!(" in the middle ({least} to {most})") };
        format!("{said}; {} times as good{range}", number(of))
    }
}

/// Ratios to raw UDP over the network, in a sentence for each kind of cell.
fn beside_raw(report: &Report) -> Vec<String> {
    let Some(own) = report.contenders.iter().position(|who| who.name == OWN) else { return Vec::new() };
    let range = |wanted: Kind| {
        let rows = report.plain().filter(|row| row.cell.kind == wanted && !row.cell.in_memory());
        let ratios = rows.filter_map(|row| Some(row.entries.get(own)?.ratio?.median));
        let [least, most] =
            ratios.fold([f64::INFINITY, 0.0], |[least, most], ratio| [ratio.min(least), ratio.max(most)]);
        (most > 0.0).then(|| {
            let [least, most] = [least, most].map(number);
            if least == most { least } else { format!("{least} to {most}") }
        })
    };
    let times = range(Kind::RoundTrip)
        .map(|range| format!("a round trip over the network takes {range} times as long"));
    let rates =
        range(Kind::Rate).map(|range| format!("a reader takes {range} times as many samples a second"));
    let starts =
        range(Kind::Start).map(|range| format!("the first sample comes after {range} times the time"));
    [times, rates, starts].into_iter().flatten().collect()
}

/// The top of the page.
pub(crate) fn summary(report: &Report) -> Markup {
    let (standings, raw) = (standings(report), beside_raw(report));
    html! {
        @if !raw.is_empty() {
            p { b { "Beside blocking raw UDP" } ", Punctual needs this: " (raw.join("; ")) "." }
        }
        @if !standings.is_empty() {
            p { b { "Beside other middleware" } ": how Punctual stands to each, cell by cell." }
            ul {
                @for standing in &standings { li { b { (standing.name) } ": " (standing.said()) "." } }
            }
            (picture(&standings))
        }
        @if report.plain().next().is_some() { (table(report)) }
        @for (figure, rows) in report.figures() { (curves(report, figure, &rows)) }
        @if report.figures().next().is_some() { p class="soft" { (ORIGIN) } }
    }
}

/// A figure of the paper: a column for each of its curves.
fn curves(report: &Report, figure: &Figure, rows: &[&Row]) -> Markup {
    let curves = curves_of(report, rows);
    html! {
        h2 { "Figure " (figure.number) ": " (figure.title) }
        div class="scroll" {
            table class="ratios" {
                thead { tr { th {} @for (_, who) in &curves { th class="n" { (who.name) } } } }
                tbody {
                    @for row in rows {
                        tr { td { (row.cell.title) } @for (index, _) in &curves { td class="n" { (figure_of(row, *index)) } } }
                    }
                }
            }
        }
        p class="soft" { "TAO's event service: " (figure.tao) "." }
    }
}

/// The contenders that a figure is for, with their places.
pub(crate) fn curves_of<'r>(report: &'r Report, rows: &[&Row]) -> Vec<(usize, &'r Who)> {
    let is_concerned =
        |index: usize| rows.iter().any(|row| row.entries.get(index).is_some_and(|entry| entry.concerned));
    report.contenders.iter().enumerate().filter(|(index, _)| is_concerned(*index)).collect()
}

fn figure_of(row: &Row, index: usize) -> String {
    figure(row, row.entries.get(index))
}

const WIDTH: f64 = 480.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 16.0;
const LINE: f64 = 26.0;
const BELOW: f64 = 40.0;

/// For each peer a mark for each cell, on a logarithmic scale: to the right Punctual is better.
fn picture(standings: &[Standing<'_>]) -> Markup {
    let all = || standings.iter().flat_map(|standing| &standing.gains).map(|(_, gain)| gain.median.log10());
    let least = all().fold(0.0, f64::min).min(-0.2);
    let most = all().fold(0.0, f64::max).max(0.5);
    let (least, most) = (least - 0.08, most + 0.08);
    let x = |value: f64| LEFT + (value.log10() - least) / (most - least) * (WIDTH - LEFT - RIGHT);
    let bottom = LINE * lines(standings.len()) + 6.0;
    let height = bottom + BELOW;
    let ticks: Vec<f64> =
        (-3..=4).flat_map(|ten| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(ten))).collect();
    let ticks: Vec<f64> = ticks.into_iter().filter(|tick| (least..=most).contains(&tick.log10())).collect();
    let many = ticks.len() > 7;
    let ticks = ticks.into_iter().filter(|tick| !many || (tick.log10() - tick.log10().round()).abs() < 1e-9);
    html! {
        figure class="standings" {
            figcaption { b { "How many times as good Punctual is as each peer" } " " span class="soft" { "one mark for each cell; logarithmic scale" } }
            svg viewBox=(format_args!("0 0 {WIDTH} {height}")) role="img"
                aria-label="How many times as good Punctual is as each peer, in each cell" {
                @for tick in ticks {
                    path class="grid" d=(format_args!("M{:.1} 0V{bottom}", x(tick))) {}
                    text x=(format_args!("{:.1}", x(tick))) y=(bottom + 15.0) text-anchor="middle" { (pages::scale::number(tick)) "×" }
                }
                path class="one" d=(format_args!("M{:.1} 0V{bottom}", x(1.0))) {}
                @for (index, standing) in standings.iter().enumerate() {
                    @let y = LINE * (lines(index) + 0.5) + 3.0;
                    text class="ink" x="0" y=(y + 4.0) { (standing.name) }
                    path class="grid" d=(format_args!("M{LEFT} {y}H{}", WIDTH - RIGHT)) {}
                    @for (row, gain) in &standing.gains {
                        path class=(if gain.median >= 1.0 { "mark" } else { "mark worse" }) d=(mark(row.cell.kind, x(gain.median), y)) {
                            title { (row.cell.title) ": " (number(gain.median)) " times" }
                        }
                    }
                }
                text x=(WIDTH - RIGHT) y=(height - 6.0) text-anchor="end" { "Punctual is better →" }
                text x="0" y=(height - 6.0) { "← the peer is better" }
            }
            p class="legend soft" {
                @for (kind, meaning) in [(Kind::RoundTrip, "round trips"), (Kind::Rate, "samples a second"), (Kind::Start, "time to the first sample")] {
                    span { svg class="key" viewBox="-7 -7 14 14" aria-hidden="true" { path class="mark" d=(mark(kind, 0.0, 0.0)) {} } (meaning) }
                }
            }
        }
    }
}

/// A circle, a square or a triangle.
fn mark(kind: Kind, x: f64, y: f64) -> String {
    match kind {
        Kind::RoundTrip | Kind::OneWay => format!("M{:.1} {y:.1}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z", x - 5.0),
        Kind::Rate | Kind::Nodes => format!("M{:.1} {:.1}h9v9h-9z", x - 4.5, y - 4.5),
        Kind::Start => format!("M{x:.1} {:.1}l5.5 9.5h-11z", y - 5.5),
    }
}

fn lines(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Ratios alone, every contender beside every other.
fn table(report: &Report) -> Markup {
    let kinds = [
        (Kind::RoundTrip, "round trips: ratio of times, less is better"),
        (Kind::Rate, "samples a second: ratio of rates, more is better"),
        (Kind::Start, "from the start to the first sample: ratio of times, less is better"),
    ];
    // Punctual first, and nothing for who was not measured.
    let measured = |index: usize| {
        report.plain().any(|row| row.entries.get(index).is_some_and(|one| one.ratio.is_some()))
    };
    let all = report.contenders.iter().enumerate();
    let mut others: Vec<_> = all.filter(|(index, who)| who.name != REFERENCE && measured(*index)).collect();
    others.sort_by_key(|(_, who)| who.name != OWN);
    let reference = report.contenders.iter().position(|who| who.name == REFERENCE);
    html! {
        h2 { "All ratios to " (REFERENCE) ", formed in the same pass" }
        p class="soft" { "Bold: the best of the middleware in its line." }
        div class="scroll" {
            table class="ratios" {
                thead { tr { th {} th class="n" { (REFERENCE) } @for (_, who) in &others { th class=(column(&who.name)) { (who.name) } } } }
                @for (kind, meaning) in kinds {
                    @if report.plain().any(|row| row.cell.kind == kind) {
                        tbody {
                            tr { th colspan=(others.len() + 2) { (meaning) } }
                            @for row in report.plain().filter(|row| row.cell.kind == kind) {
                                @let best = best(report, row);
                                tr {
                                    td { (row.cell.title) }
                                    td class="n" { (figure(row, reference.and_then(|index| row.entries.get(index)))) }
                                    @for (index, who) in &others {
                                        td class=(column(&who.name)) {
                                            @match row.entries.get(*index).and_then(|entry| entry.ratio) {
                                                Some(ratio) if best == Some(*index) => b { (number(ratio.median)) },
                                                Some(ratio) => (number(ratio.median)),
                                                None => "–",
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn column(name: &str) -> &'static str {
    if name == OWN { "n own" } else { "n" }
}

fn figure(row: &Row, entry: Option<&Entry>) -> String {
    let figure = entry.and_then(|entry| entry.figure);
    figure.map_or("–".to_owned(), |figure| format!("{} {}", number(figure.median), row.cell.kind.unit()))
}

/// Who of the middleware has the best ratio in a row, if there are two of it.
fn best(report: &Report, row: &Row) -> Option<usize> {
    let entries = report.contenders.iter().zip(&row.entries).enumerate();
    let middleware = entries.filter(|(_, (who, _))| !is_raw(&who.name));
    let ratios: Vec<(usize, f64)> =
        middleware.filter_map(|(index, (_, entry))| Some((index, entry.ratio?.median))).collect();
    let better = |one: &&(usize, f64), other: &&(usize, f64)| match row.cell.kind {
        kind if kind.more_is_better() => one.1.total_cmp(&other.1),
        _ => other.1.total_cmp(&one.1),
    };
    ratios.iter().max_by(better).filter(|_| ratios.len() > 1).map(|(index, _)| *index)
}
