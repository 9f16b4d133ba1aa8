//! A plot as in the paper: a point for each message, when it was sent and how long it took, and a line for the bound. As SVG in which all
//! points are one path, so that thousands of them stay small and need no script.
use std::fmt::Write as _;

use crate::judge::Judged;

/// Size of the picture, and what is left around for numbers.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 40.0;
const BELOW: f64 = 34.0;
const ABOVE: f64 = 18.0;
const RIGHT: f64 = 10.0;
const MS: f64 = 1e6;
const SECOND: f64 = 1e9;

/// What is drawn: times in nanoseconds.
pub(crate) struct Plot<'j> {
    pub(crate) judged: &'j Judged,
    /// What samples are judged by.
    pub(crate) limit: i64,
    /// What that is called.
    pub(crate) line: &'static str,
    pub(crate) seconds: f64,
    /// What it shows, for those who cannot see it.
    pub(crate) label: String,
}

#[expect(clippy::cast_precision_loss, reason = "a picture, and times of seconds")]
impl Plot<'_> {
    /// The picture.
    pub(crate) fn svg(&self) -> String {
        let greatest =
            self.judged.points.iter().map(|point| point.latency).max().unwrap_or(0).max(self.limit);
        let (step, top) = scale(greatest as f64 / MS * 1.08);
        let y = |milliseconds: f64| HEIGHT - BELOW - milliseconds / top * (HEIGHT - BELOW - ABOVE);
        let x = |seconds: f64| LEFT + seconds / self.seconds.max(1e-3) * (WIDTH - LEFT - RIGHT);
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            crate::page::escaped(&self.label)
        );
        let mut value = 0.0;
        while value <= top + 1e-9 {
            let at = y(value);
            let _ = write!(
                out,
                "<path class=\"g\" d=\"M{LEFT} {at:.1}H{}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 4.0,
                number(value)
            );
            value += step;
        }
        let (second, end) = scale(self.seconds);
        let mut value = 0.0;
        while value <= end.min(self.seconds) + 1e-9 {
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                x(value),
                HEIGHT - BELOW + 15.0,
                number(value)
            );
            value += second;
        }
        let _ = write!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">sent at, s</text><text x=\"4\" y=\"10\">ms</text>",
            WIDTH - RIGHT,
            HEIGHT - 4.0
        );
        for (class, disturbed) in [("p", false), ("d", true)] {
            let points = self.judged.points.iter().filter(|point| point.disturbed == disturbed);
            let path = points.fold(String::new(), |mut path, point| {
                let (x, y) = (x(point.at as f64 / SECOND), y(point.latency as f64 / MS));
                let _ = write!(path, "M{x:.1} {y:.1}h0");
                path
            });
            if !path.is_empty() {
                let _ = write!(out, "<path class=\"{class}\" d=\"{path}\"/>");
            }
        }
        if !self.judged.gone.is_empty() {
            let path = self.judged.gone.iter().fold(String::new(), |mut path, at| {
                let _ = write!(path, "M{:.1} {:.1}v4", x(*at as f64 / SECOND), HEIGHT - BELOW);
                path
            });
            let _ = write!(out, "<path class=\"l\" d=\"{path}\"/>");
        }
        let at = y(self.limit as f64 / MS);
        let _ = write!(
            out,
            "<path class=\"b\" d=\"M{LEFT} {at:.1}H{0}\"/><text class=\"b\" x=\"{0}\" y=\"{1:.1}\" text-anchor=\"end\">{2} {3} ms</text>",
            WIDTH - RIGHT,
            at - 4.0,
            self.line,
            crate::text::milliseconds(self.limit)
        );
        out.push_str("</svg>");
        out
    }
}

/// A step of 1, 2 or 5 times a power of ten, four to eight of which reach `greatest`, and the multiple of it that does.
fn scale(greatest: f64) -> (f64, f64) {
    let greatest = greatest.max(1e-3);
    let ten = 10f64.powf((greatest / 4.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * ten);
    let step = step.into_iter().find(|step| greatest / step <= 8.0).unwrap_or(ten * 10.0);
    (step, (greatest / step).ceil() * step)
}

fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_have_a_few_round_steps() {
        for (greatest, step, top) in [(5.4, 1.0, 6.0), (21.6, 5.0, 25.0), (0.9, 0.2, 1.0), (15.0, 2.0, 16.0)]
        {
            let (found, end) = scale(greatest);
            assert!((found - step).abs() < 1e-9 && (end - top).abs() < 1e-9, "{greatest}: {found} {end}");
        }
        assert_eq!([number(0.0), number(2.5), number(20.0)], ["0", "2.5", "20"]);
    }
}
