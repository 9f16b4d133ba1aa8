//! The experiment in one picture: the samples of one topic without and with a manager, on one scale.
use maud::{Markup, html};

use crate::judge::Judged;
use crate::plot::{self, Plot, short};
use crate::report::{Phase, Report};

/// Space around the plots of the picture that is a file of its own.
const MARGIN: f64 = 16.0;
const TITLE: f64 = 52.0;
const CAPTION: f64 = 46.0;

/// A topic in a phase without a manager and in the same one with it: what differs most.
pub(crate) struct Contrast<'r> {
    report: &'r Report,
    topic: usize,
    babblers: Vec<usize>,
    sides: [(&'r Phase, &'r Judged); 2],
}

/// How many samples came within a limit, late ones, and lost ones.
struct Shares {
    sent: u64,
    in_time: u64,
    late: u64,
    lost: u64,
}

impl Shares {
    fn of(judged: &Judged, limit: i64) -> Self {
        let came = judged.points.len() as u64;
        let in_time = judged.points.iter().filter(|point| point.latency <= limit).count() as u64;
        Self { sent: judged.sent, in_time, late: came - in_time, lost: judged.gone.len() as u64 }
    }

    /// Those in time, in parts of a thousand, rounded down: all are all.
    fn permille(&self) -> u64 {
        self.in_time * 1_000 / self.sent.max(1)
    }

    /// In words.
    fn said(&self) -> String {
        let Self { sent, in_time, late, lost } = self;
        if in_time == sent {
            return format!("all {sent} samples in time");
        }
        let permille = self.permille();
        let rest = [(late, "late"), (lost, "lost")]
            .map(|(count, what)| (*count > 0).then(|| format!("{count} {what}")));
        let rest: Vec<String> = rest.into_iter().flatten().collect();
        format!(
            "{in_time} of {sent} samples in time ({}.{} %), {}",
            permille / 10,
            permille % 10,
            rest.join(", ")
        )
    }
}

impl<'r> Contrast<'r> {
    /// The topic and the phases that differ most in how much comes as it was asked for; `None` if no topic was measured in both kinds of phases.
    pub(crate) fn of(report: &'r Report) -> Option<Self> {
        let phases = |promised: bool| {
            report.phases.iter().filter(move |phase| phase.promised == promised && !phase.repeated)
        };
        let pairs = phases(false).flat_map(|without| phases(true).map(move |with| (without, with)));
        let pairs = pairs.filter(|(without, with)| without.babblers() == with.babblers());
        let mut best: Option<(u64, Self)> = None;
        for (without, with) in pairs {
            for (topic, one) in without.measured() {
                let Some((_, other)) = with.measured().find(|(of, _)| *of == topic) else { continue };
                let limit = report.limit(topic);
                let gained =
                    Shares::of(other, limit).permille().saturating_sub(Shares::of(one, limit).permille());
                if best.as_ref().is_none_or(|(most, _)| gained >= *most) {
                    let sides = [(without, one), (with, other)];
                    best = Some((gained, Self { report, topic, babblers: without.babblers(), sides }));
                }
            }
        }
        best.map(|(_, best)| best)
    }

    /// What it is about, in a sentence.
    pub(crate) fn title(&self) -> String {
        let limit = short(self.report.limit(self.topic));
        let babblers: Vec<&str> = self.babblers.iter().map(|topic| self.report.name(*topic)).collect();
        let meanwhile = match babblers.as_slice() {
            [] => "while every publisher sends what it said it would".to_owned(),
            [one] => format!("while the publisher of {one} sends all that its link carries"),
            more => format!("while the publishers of {} send all that their links carry", more.join(" and ")),
        };
        format!("{} is wanted within {limit}, {meanwhile}", self.report.name(self.topic))
    }

    fn plot(&self, (phase, judged): (&'r Phase, &'r Judged)) -> Plot<'r> {
        Plot {
            judged,
            asked: self.report.limit(self.topic),
            promised: phase.limit_of(self.topic).filter(|_| phase.promised),
            seconds: phase.seconds,
            scale: self.report.scale(self.topic),
        }
    }

    /// Each side: how it went in words, and whether all came in time.
    fn said(&self) -> [(&'static str, String, bool); 2] {
        let [without, with] = self.sides.map(|(_, judged)| Shares::of(judged, self.report.limit(self.topic)));
        [
            ("Without a manager", without.said(), without.in_time == without.sent),
            ("With a manager", with.said(), with.in_time == with.sent),
        ]
    }

    /// For the top of the page.
    pub(crate) fn markup(&self) -> Markup {
        let sides = self.sides.iter().zip(self.said());
        html! {
            h2 { (self.title()) }
            div class="two" {
                @for (side, (name, said, all)) in sides {
                    figure {
                        figcaption { b { (name) ": " } b class=(if all { "good" } else { "bad" }) { (said) } }
                        (self.plot(*side).svg(&format!("{name}: {said}")))
                    }
                }
            }
        }
    }

    /// As a file of its own.
    pub(crate) fn file(&self) -> String {
        let width = 2.0 * plot::WIDTH + 3.0 * MARGIN;
        let height = TITLE + CAPTION + plot::HEIGHT + MARGIN;
        let place = |index: usize| MARGIN + if index == 0 { 0.0 } else { plot::WIDTH + MARGIN };
        let content = html! {
            text class="title ink" x=(MARGIN) y="34" { (self.title()) }
            @for (index, (side, (name, said, all))) in self.sides.iter().zip(self.said()).enumerate() {
                g transform=(format_args!("translate({} {TITLE})", place(index))) {
                    text class="side ink" y="16" { (name) }
                    text class=(if all { "said good" } else { "said bad" }) y="36" { (said) }
                }
                g transform=(format_args!("translate({} {})", place(index), TITLE + CAPTION)) { (self.plot(*side).parts()) }
            }
        };
        let style = format!(
            "{}.title{{font-size:16px;font-weight:600}}.side,.said{{font-size:15px;font-weight:600}}.said.good{{fill:var(--good)}}.said.bad{{fill:var(--bad)}}",
            plot::STYLE
        );
        pages::picture(width, height, &self.title(), &style, &content)
    }
}
