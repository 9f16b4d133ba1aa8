//! Plots of a flow: all samples with their moving average, and the rate over time.
use std::fmt::Write as _;

use maud::{Markup, html};
use pages::scale;

use super::report::{Figure, Series};
use crate::plot::{ABOVE, BELOW, HEIGHT, LEFT, Plot, RIGHT, WIDTH, seconds};

/// Samples of a moving average.
const AVERAGED: usize = 50;

pub(crate) const STYLE: &str = ".plot .average{stroke:var(--ink);stroke-width:1.8;fill:none}.plot .rate{stroke:var(--own);stroke-width:2;fill:none}\
.plot .due{stroke:var(--good);stroke-width:1.4;stroke-dasharray:6 4;fill:none}.plot .flood{fill:var(--line);opacity:.6}\
.plot.key .average,.plot.key .due{stroke-width:2}";

/// The scale of the latencies of a figure, in milliseconds: one for all of its flows with a session, and one for those without.
#[expect(clippy::cast_precision_loss, reason = "a picture, and times of seconds")]
fn latencies(figure: &Figure, with: bool) -> (f64, f64) {
    let of = figure.series.iter().filter(|series| series.bound.is_some() == with);
    let greatest = of.map(|series| series.judged.greatest.unwrap_or(0).max(series.limit)).max();
    scale::linear(greatest.unwrap_or(0) as f64 / 1e6 * 1.05)
}

/// All samples of a flow, and their moving average.
#[expect(clippy::cast_precision_loss, reason = "a picture, and times of seconds")]
pub(crate) fn latency(figure: &Figure, series: &Series, label: &str) -> Markup {
    let plot = Plot {
        judged: &series.judged,
        asked: series.limit,
        promised: series.bound.map(|_| series.limit),
        seconds: series.time,
        scale: latencies(figure, series.bound.is_some()),
    };
    let mut average = String::new();
    let mut sum = 0_i128;
    let points = &series.judged.points;
    for (at, point) in points.iter().enumerate() {
        sum += i128::from(point.latency);
        if let Some(past) = at.checked_sub(AVERAGED).and_then(|at| points.get(at)) {
            sum -= i128::from(past.latency);
        }
        let count = (at + 1).min(AVERAGED);
        // A point of four is enough for the eye.
        if at % 4 == 0 {
            let letter = if average.is_empty() { 'M' } else { 'L' };
            let (x, y) = (plot.x(seconds(point.at)), plot.y(sum as f64 / count as f64 / 1e6));
            // Writing to a text cannot fail.
            let _ = write!(average, "{letter}{x:.1} {y:.1}");
        }
    }
    html! {
        svg viewBox=(format_args!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(label) {
            (shade(series, &|at| plot.x(at)))
            (plot.parts())
            g class="plot" { path class="average" d=(average) {} }
        }
    }
}

/// Where the flood is.
fn shade(series: &Series, x: &dyn Fn(f64) -> f64) -> Markup {
    html! {
        @if let Some((from, to)) = series.flooded {
            g class="plot" {
                rect class="flood" x=(format_args!("{:.1}", x(from))) y=(ABOVE) height=(HEIGHT - BELOW - ABOVE)
                    width=(format_args!("{:.1}", (x(to) - x(from)).max(0.0))) {}
            }
        }
    }
}

/// What arrived in each second, in kbit/s of samples, beside what is due.
#[expect(clippy::cast_precision_loss, reason = "a picture, and rates of kilobits")]
pub(crate) fn rate(series: &Series, label: &str) -> Option<Markup> {
    let (all, due) = series.seconds.as_ref()?;
    let kilobits = |samples: u64| samples as f64 * f64::from(series.size) * 8.0 / 1e3;
    let greatest = all.iter().map(|second| second.arrived).max().unwrap_or(0).max(*due);
    let (step, top) = scale::linear(kilobits(greatest) * 1.1);
    let time = series.time.max(1.0);
    let x = |at: f64| LEFT + at / time * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BELOW - value / top * (HEIGHT - BELOW - ABOVE);
    let mut path = String::new();
    for (at, second) in all.iter().enumerate() {
        let letter = if at == 0 { 'M' } else { 'L' };
        let (from, level) = (x(at as f64), y(kilobits(second.arrived)));
        let _ = write!(path, "{letter}{from:.1} {level:.1}H{:.1}", x(at as f64 + 1.0));
    }
    let right = WIDTH - RIGHT;
    let (second, _) = scale::linear(time);
    Some(html! {
        svg viewBox=(format_args!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(label) {
            (shade(series, &x))
            g class="plot" {
                @for value in scale::marks(step, top) {
                    path class="grid" d=(format_args!("M{LEFT} {:.1}H{right}", y(value))) {}
                    text x=(LEFT - 6.0) y=(format_args!("{:.1}", y(value) + 4.0)) text-anchor="end" { (scale::number(value)) }
                }
                @for value in scale::marks(second, time) {
                    text x=(format_args!("{:.1}", x(value))) y=(HEIGHT - BELOW + 16.0) text-anchor="middle" { (scale::number(value)) }
                }
                text x=(LEFT) y=(ABOVE - 12.0) { "kbit/s of samples" }
                text x=(right) y=(HEIGHT - 5.0) text-anchor="end" { "time, s" }
                path class="due" d=(format_args!("M{LEFT} {:.1}H{right}", y(kilobits(*due)))) {}
                text x=(right + 8.0) y=(format_args!("{:.1}", y(kilobits(*due)) + 4.0)) { "due" }
                path class="rate" d=(path) {}
            }
        }
    })
}
