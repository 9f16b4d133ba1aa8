//! What a run gave: figures, each with its flows, what was refused, and what was broken.
use serde::Serialize;

use super::judge::{Kept, Second};
use crate::judge::{Judged, Misses};

/// Parts of a thousand of what is judged that stalls may excuse; with more it says nothing.
const EXCUSED: u64 = 50;

/// A part of the time of a flow.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    /// As in "under the flood"; the whole time of a flow has no name.
    pub(crate) name: &'static str,
    pub(crate) judged: Judged,
}

/// A flow in one case of a figure.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// The case, as in "default".
    pub(crate) case: &'static str,
    /// The flow, as in "forward".
    pub(crate) flow: String,
    /// The bound that its session has from edge to edge, in nanoseconds; none without a session.
    pub(crate) bound: Option<i64>,
    /// What it is judged by: its bound and what hosts may take; without a session what a flow beside it is judged by, for the eye alone.
    pub(crate) limit: i64,
    /// The samples of the whole time.
    pub(crate) judged: Judged,
    /// Its parts.
    pub(crate) spans: Vec<Span>,
    /// What arrived in each second, and how many samples are due in one, where the rate is what is shown.
    pub(crate) seconds: Option<(Vec<Second>, u64)>,
    /// The rate as it was kept; judged with a session alone.
    pub(crate) kept: Option<Kept>,
    /// Seconds from its first sample to the beginning and the end of the flood.
    pub(crate) flooded: Option<(f64, f64)>,
    /// Seconds that it was sent.
    pub(crate) time: f64,
    /// Bytes of a sample.
    pub(crate) size: u32,
}

/// A session that was asked for in vain, or should have been.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Refusal {
    pub(crate) asked: String,
    /// What the manager says; `None` if it admits it.
    pub(crate) answer: Option<String>,
}

/// A figure.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// As in "21" or "classes".
    pub(crate) key: &'static str,
    pub(crate) title: String,
    pub(crate) about: &'static str,
    /// What the paper has beside it: what, and how much.
    pub(crate) paper: &'static [(&'static str, &'static str)],
    pub(crate) series: Vec<Series>,
    pub(crate) refusals: Vec<Refusal>,
    pub(crate) notes: Vec<String>,
}

/// A run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) figures: Vec<Figure>,
    /// Facts about machine and run.
    pub(crate) facts: Vec<(&'static str, String)>,
}

/// What is to be said of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Conclusion {
    Held,
    Broken(Vec<String>),
    Void(Vec<String>),
}

impl Series {
    /// What it broke, in words.
    pub(crate) fn broken(&self) -> Vec<String> {
        let mut broken = Vec::new();
        if self.bound.is_none() {
            return broken;
        }
        let Misses { late, lost } = self.judged.misses;
        if lost + late > 0 {
            broken.push(format!(
                "{lost} of {} samples lost, and {late} later than {} ms",
                self.judged.sent,
                crate::text::milliseconds(self.limit)
            ));
        }
        if let Some(kept) = &self.kept
            && kept.missed + kept.missed_tens > 0
        {
            broken.push(format!(
                "{} of {} seconds with more than two samples too few or too many, and {} of {} times ten seconds that lack more than 1 %",
                kept.missed, kept.seconds, kept.missed_tens, kept.tens
            ));
        }
        broken
    }

    /// Why it says nothing, if stalls of the machine excused too much.
    pub(crate) fn void(&self) -> Option<String> {
        let excused = self.judged.excused.lost + self.judged.excused.late;
        let much = |part: u64, whole: u64| part * 1_000 > whole * EXCUSED;
        if self.bound.is_none() {
            return None;
        }
        if self.judged.sent == 0 {
            return Some("nothing was sent".to_owned());
        }
        if much(excused, self.judged.sent) {
            return Some(format!("stalls excuse {excused} of {} samples", self.judged.sent));
        }
        let kept = self.kept.filter(|kept| much(kept.excused, kept.seconds.max(20)));
        kept.map(|kept| format!("stalls excuse {} of {} seconds", kept.excused, kept.seconds))
    }
}

impl Report {
    /// What is to be said of it: what is broken counts also if something else says nothing.
    pub(crate) fn conclusion(&self) -> Conclusion {
        let (mut broken, mut void) = (Vec::new(), Vec::new());
        for figure in &self.figures {
            for series in &figure.series {
                let named =
                    |what: String| format!("{}, {}, {}: {what}", figure.title, series.case, series.flow);
                broken.extend(series.broken().into_iter().map(named));
                void.extend(series.void().map(named));
            }
            for refusal in figure.refusals.iter().filter(|refusal| refusal.answer.is_none()) {
                broken.push(format!("{}: admitted: {}", figure.title, refusal.asked));
            }
        }
        match (broken.is_empty(), void.is_empty()) {
            (false, _) => Conclusion::Broken(broken),
            (true, false) => Conclusion::Void(void),
            (true, true) => Conclusion::Held,
        }
    }
}
