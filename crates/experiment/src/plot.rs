//! A plot as in the paper: a point for each sample, when it was sent and how long it took, a mark above for each that was lost, and lines for
//! what was asked for and what was promised. Points of one colour are one path, so that thousands of them stay small.
use std::fmt::Write as _;

use maud::{Markup, html};
use pages::scale;

use crate::judge::Judged;
use crate::report::Report;
use crate::text::milliseconds;

/// The colours of its parts.
pub(crate) const STYLE: &str = include_str!("plot.css");

/// Size of a plot, and what is left around for numbers and names.
pub(crate) const WIDTH: f64 = 480.0;
pub(crate) const HEIGHT: f64 = 250.0;
pub(crate) const LEFT: f64 = 56.0;
pub(crate) const RIGHT: f64 = 92.0;
pub(crate) const ABOVE: f64 = 34.0;
pub(crate) const BELOW: f64 = 36.0;
/// Where the lost samples are.
const BAND: (f64, f64) = (6.0, 16.0);
/// What names of lines need between each other.
const LINE: f64 = 15.0;
const MS: f64 = 1e6;
const SECOND: f64 = 1e9;

/// A mark of plots with what it means, for a legend: the class of its style, and its path in a box of 20 by 12.
pub(crate) fn mark(class: &str, path: &str, meaning: &str) -> Markup {
    html! {
        span class="w" {
            svg class="plot key" viewBox="0 0 20 12" aria-hidden="true" { path class=(class) d=(path) {} }
            (meaning)
        }
    }
}

/// What is drawn: times in nanoseconds.
pub(crate) struct Plot<'j> {
    pub(crate) judged: &'j Judged,
    /// What the subscriber asks for.
    pub(crate) asked: i64,
    /// What is promised to it.
    pub(crate) promised: Option<i64>,
    pub(crate) seconds: f64,
    /// The step and the end of the scale of latencies, in milliseconds.
    pub(crate) scale: (f64, f64),
}

#[expect(clippy::cast_precision_loss, reason = "a picture, and times of seconds")]
impl Report {
    /// The scale of a topic's latencies, in milliseconds: the same in all phases, so that they can be compared. Samples that a stall met may be
    /// beyond it.
    pub(crate) fn scale(&self, topic: usize) -> (f64, f64) {
        let limit = self.topics.get(topic).map_or(0, |topic| topic.limit.cast_signed());
        let measured = self.phases.iter().flat_map(|phase| phase.measured());
        let greatest = measured.filter(|(of, _)| *of == topic).filter_map(|(_, judged)| judged.greatest);
        scale::linear(greatest.max().unwrap_or(0).max(limit) as f64 / MS * 1.05)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a picture, and times of seconds")]
impl Plot<'_> {
    pub(crate) fn x(&self, seconds: f64) -> f64 {
        LEFT + seconds / self.seconds.max(1e-3) * (WIDTH - LEFT - RIGHT)
    }

    pub(crate) fn y(&self, milliseconds: f64) -> f64 {
        let part = (milliseconds / self.scale.1).min(1.0);
        HEIGHT - BELOW - part * (HEIGHT - BELOW - ABOVE)
    }

    /// The parts of the picture, in a space of [`WIDTH`] by [`HEIGHT`].
    pub(crate) fn parts(&self) -> Markup {
        let (step, top) = self.scale;
        let (second, _) = scale::linear(self.seconds);
        let latencies = scale::marks(step, top);
        let times = scale::marks(second, self.seconds);
        let (bottom, right) = (HEIGHT - BELOW, WIDTH - RIGHT);
        html! {
            g class="plot" {
                rect class="band" x=(LEFT) y=(BAND.0) width=(right - LEFT) height=(BAND.1 - BAND.0 + 4.0) {}
                text x=(LEFT - 6.0) y=(BAND.1 + 1.0) text-anchor="end" { "lost" }
                @for (index, value) in latencies.iter().enumerate() {
                    path class="grid" d=(format_args!("M{LEFT} {:.1}H{right}", self.y(*value))) {}
                    text x=(LEFT - 6.0) y=(format_args!("{:.1}", self.y(*value) + 4.0)) text-anchor="end" {
                        (scale::number(*value)) @if index + 1 == latencies.len() { " ms" }
                    }
                }
                @for value in &times {
                    text x=(format_args!("{:.1}", self.x(*value))) y=(bottom + 16.0) text-anchor="middle" { (scale::number(*value)) }
                }
                text x=(right) y=(HEIGHT - 5.0) text-anchor="end" { "time of sending, s" }
                @for (class, path) in self.points() {
                    @if !path.is_empty() { path class=(class) d=(path) {} }
                }
                (self.lines())
            }
        }
    }

    /// Paths of the samples: those in time, late ones, those that a stall met, lost ones.
    fn points(&self) -> [(&'static str, String); 4] {
        let mut paths =
            [("in", String::new()), ("late", String::new()), ("odd", String::new()), ("lost", String::new())];
        let [(_, in_time), (_, late), (_, odd), (_, lost)] = &mut paths;
        for point in &self.judged.points {
            let path = match point.disturbed {
                true => &mut *odd,
                false if point.latency > self.asked => &mut *late,
                false => &mut *in_time,
            };
            let (x, y) = (self.x(point.at as f64 / SECOND), self.y(point.latency as f64 / MS));
            let _ = write!(path, "M{x:.1} {y:.1}h0");
        }
        for at in &self.judged.gone {
            let _ = write!(
                lost,
                "M{:.1} {}v{}",
                self.x(*at as f64 / SECOND),
                BAND.0 + 1.0,
                BAND.1 - BAND.0 + 2.0
            );
        }
        paths
    }

    /// The line of what was asked for, and of what is promised if that is another one; their names beside the plot.
    fn lines(&self) -> Markup {
        let promised = self.promised.filter(|promised| *promised != self.asked);
        let name = if self.promised == Some(self.asked) { "promised" } else { "asked for" };
        let mut lines = vec![(name, "asked", self.asked)];
        lines.extend(promised.map(|time| ("promised", "promised", time)));
        // From above to below, so that each name has its place below the one before.
        lines.sort_by_key(|(.., time)| std::cmp::Reverse(*time));
        let mut free = f64::MIN;
        let lines = lines.into_iter().map(|(name, class, time)| {
            let at = self.y(time as f64 / MS);
            let text = (at - 2.0).max(free);
            free = text + 2.0 * LINE + 3.0;
            (name, class, time, at, text)
        });
        html! {
            @for (name, class, time, at, text) in lines {
                path class=(class) d=(format_args!("M{LEFT} {at:.1}H{}", WIDTH - RIGHT + 4.0)) {}
                text class=(class) x=(WIDTH - RIGHT + 8.0) y=(format_args!("{text:.1}")) { (name) }
                text class=(class) x=(WIDTH - RIGHT + 8.0) y=(format_args!("{:.1}", text + LINE)) { (short(time)) }
            }
        }
    }

    /// The picture, for a page.
    pub(crate) fn svg(&self, label: &str) -> Markup {
        html! {
            svg viewBox=(format_args!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(label) { (self.parts()) }
        }
    }
}

/// Nanoseconds as seconds.
#[expect(clippy::cast_precision_loss, reason = "a picture, and times of seconds")]
pub(crate) fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / SECOND
}

/// Milliseconds with no more digits than they have, and the unit.
pub(crate) fn short(nanoseconds: i64) -> String {
    let text = milliseconds(nanoseconds);
    format!("{} ms", text.trim_end_matches('0').trim_end_matches('.'))
}
