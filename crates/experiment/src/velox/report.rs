//! What a run gave: figures, each with its flows, what was refused, and what was broken.
use serde::Serialize;

use super::judge::{Kept, Second};
use crate::conclusion::Conclusion;
use crate::judge::{Judged, Misses};

/// Parts of a thousand of what is judged that stalls may excuse; with more it says nothing.
const EXCUSED: u64 = 50;
/// Of a thousand samples, so many must be undisturbed by stalls; else they say nothing.
const UNDISTURBED: u64 = 950;

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
    /// The manager's word for the kind of its reason; empty if it admits it.
    pub(crate) reason: String,
    /// Sessions that were admitted before, and that have room.
    pub(crate) admitted: usize,
    pub(crate) room: usize,
}

impl Refusal {
    /// What is wrong with it, in words: only what lacks room is to be refused, and for that.
    fn broken(&self) -> Option<String> {
        let asked = &self.asked;
        let Some(answer) = &self.answer else { return Some(format!("admitted: {asked}")) };
        if !matches!(&*self.reason, "rate" | "burst") {
            return Some(format!("refused for another reason than room: {asked}: {answer}"));
        }
        let (admitted, room) = (self.admitted, self.room);
        (admitted != room)
            .then(|| format!("{admitted} sessions were admitted of {room} that have room: {asked}: {answer}"))
    }
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
    /// What was broken beside flows and refusals.
    pub(crate) broken: Vec<String>,
    /// Why it says nothing, beside stalls.
    pub(crate) void: Vec<String>,
}

/// A run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) figures: Vec<Figure>,
    /// Facts about machine and run.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// Why it has ended before all figures were played, if it has.
    pub(crate) ended: Option<String>,
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
        self.bound?;
        if self.judged.sent == 0 {
            return Some("nothing was sent".to_owned());
        }
        if much(excused, self.judged.sent) {
            return Some(format!("stalls excuse {excused} of {} samples", self.judged.sent));
        }
        if self.judged.undisturbed_permille() < UNDISTURBED {
            let (met, sent) = (self.judged.disturbed, self.judged.sent);
            return Some(format!("the machine stood still during {met} of {sent} samples"));
        }
        let kept = self.kept.filter(|kept| much(kept.excused, kept.seconds.max(20)));
        kept.map(|kept| format!("stalls excuse {} of {} seconds", kept.excused, kept.seconds))
    }

    /// What stalls excuse of what was promised, in words.
    pub(crate) fn excused(&self) -> Option<String> {
        let Misses { late, lost } = self.judged.excused;
        let seconds = self.kept.map_or(0, |kept| kept.excused);
        (self.bound.is_some() && lost + late + seconds > 0).then(|| {
            format!(
                "{lost} of {} samples lost, {late} late, and {seconds} seconds missed in stalls",
                self.judged.sent
            )
        })
    }
}

impl Report {
    /// What is to be said of it: what is broken counts also if something else says nothing.
    pub(crate) fn conclusion(&self) -> Conclusion {
        let (mut broken, mut void, mut excused) = (Vec::new(), Vec::new(), Vec::new());
        for figure in &self.figures {
            for series in &figure.series {
                let named =
                    |what: String| format!("{}, {}, {}: {what}", figure.title, series.case, series.flow);
                broken.extend(series.broken().into_iter().map(named));
                void.extend(series.void().map(named));
                excused.extend(series.excused().map(named));
            }
            void.extend(figure.void.iter().map(|why| format!("{}: {why}", figure.title)));
            broken.extend(figure.broken.iter().map(|what| format!("{}: {what}", figure.title)));
            let refusals = figure.refusals.iter().filter_map(Refusal::broken);
            broken.extend(refusals.map(|what| format!("{}: {what}", figure.title)));
        }
        void.extend(self.ended.iter().map(|why| format!("not all was played: {why}")));
        Conclusion::of(broken, void, || excused)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
pub(crate) mod tests {
    use super::*;
    use crate::record::Record;
    use crate::stalls::{Stall, Stalls};
    use crate::velox::judge::{judge, kept, seconds};

    const MS: i64 = 1_000_000;
    const LIMIT: i64 = 30 * MS;

    /// A flow of 100 samples a second for 20 s, each with this latency but for some; with a session or without.
    pub(crate) fn series(
        latency: i64,
        change: &[(usize, Option<i64>)],
        stalls: &Stalls,
        session: bool,
    ) -> Series {
        let sent: Vec<Record> =
            (0..2_000).map(|number| Record { number, at: 10 * MS * number.cast_signed() }).collect();
        let mut latencies = vec![Some(latency); 2_000];
        change.iter().for_each(|(at, latency)| latencies[*at] = *latency);
        let received: Vec<Record> = sent
            .iter()
            .zip(&latencies)
            .filter_map(|(sent, latency)| Some(Record { number: sent.number, at: sent.at + (*latency)? }))
            .collect();
        let judged = judge(&sent, &received, stalls, LIMIT);
        let all = seconds(&received, stalls, latency - MS, latency - MS + 20_000 * MS);
        Series {
            case: if session { "ours" } else { "default" },
            flow: "forward <&>".to_owned(),
            bound: session.then_some(LIMIT - MS),
            limit: LIMIT,
            spans: vec![Span { name: "alone", judged: judged.clone() }],
            judged,
            kept: session.then(|| kept(&all, 100)),
            seconds: Some((all, 100)),
            flooded: Some((5.0, 15.0)),
            time: 20.0,
            size: 500,
        }
    }

    pub(crate) fn report(series: Vec<Series>, answer: Option<&str>) -> Report {
        let reason = answer.map_or("", |_| "rate").to_owned();
        let refusal = Refusal {
            asked: "too much".to_owned(),
            answer: answer.map(str::to_owned),
            reason,
            admitted: 1,
            room: 1,
        };
        let figure = Figure {
            key: "21",
            title: "Figure 21".to_owned(),
            about: "",
            paper: &[("a", "b")],
            series,
            refusals: vec![refusal],
            notes: Vec::new(),
            broken: Vec::new(),
            void: Vec::new(),
        };
        Report { figures: vec![figure], ..Report::default() }
    }

    fn concluded(series: Series) -> Conclusion {
        report(vec![series], Some("no room")).conclusion()
    }

    #[test]
    fn a_flow_with_a_session_that_keeps_its_bound_and_its_rate_is_held() {
        assert_eq!(concluded(series(LIMIT, &[], &Stalls::default(), true)), Conclusion::Held(Vec::new()));
    }

    #[test]
    fn one_sample_that_is_lost_or_late_breaks_the_bound_of_a_session_and_of_no_other_flow() {
        for change in [(700, None), (1_900, Some(LIMIT + 1))] {
            let one = |session: bool| concluded(series(5 * MS, &[change], &Stalls::default(), session));
            assert!(matches!(one(true), Conclusion::Broken(_)), "{change:?}");
            assert_eq!(one(false), Conclusion::Held(Vec::new()));
        }
    }

    #[test]
    fn a_second_that_lacks_three_samples_breaks_the_rate() {
        let late: Vec<(usize, Option<i64>)> = (800..803).map(|at| (at, None)).collect();
        let Conclusion::Broken(what) = concluded(series(5 * MS, &late, &Stalls::default(), true)) else {
            panic!()
        };
        assert!(what.iter().any(|what| what.contains("1 of 20 seconds")), "{what:?}");
    }

    #[test]
    fn a_session_that_is_admitted_without_room_is_broken() {
        let one = || vec![series(5 * MS, &[], &Stalls::default(), true)];
        assert!(matches!(report(one(), None).conclusion(), Conclusion::Broken(_)));
        let mut other = report(one(), Some("no room"));
        other.figures[0].void.push("no flood".to_owned());
        assert!(matches!(other.conclusion(), Conclusion::Void(_)));
        let mut ended = report(one(), Some("no room"));
        ended.ended = Some("a reader has ended".to_owned());
        let why = "not all was played: a reader has ended".to_owned();
        assert_eq!(ended.conclusion(), Conclusion::Void(vec![why]));
        other.ended = ended.ended;
        other.figures[0].broken.push("rules".to_owned());
        assert_eq!(other.conclusion(), Conclusion::Broken(vec!["Figure 21: rules".to_owned()]));
    }

    #[test]
    fn what_is_refused_for_another_reason_than_room_or_too_early_is_broken() {
        let concluded = |reason: &str, admitted: usize| {
            let mut report = report(vec![series(5 * MS, &[], &Stalls::default(), true)], Some("no room"));
            let refusal = &mut report.figures[0].refusals[0];
            (refusal.reason, refusal.admitted) = (reason.to_owned(), admitted);
            matches!(report.conclusion(), Conclusion::Broken(_))
        };
        assert!(!concluded("rate", 1) && !concluded("burst", 1));
        assert!(concluded("no-answer", 1) && concluded("busy", 1) && concluded("device", 1));
        assert!(concluded("rate", 0) && concluded("rate", 2));
    }

    #[test]
    fn a_few_misses_in_stalls_are_excused_and_many_say_nothing() {
        let stalls = Stalls::new(vec![Stall { from: 4_000 * MS, to: 6_000 * MS }]);
        let short = Stalls::new(vec![Stall { from: 4_100 * MS, to: 4_900 * MS }]);
        let lost =
            |count: usize| -> Vec<(usize, Option<i64>)> { (450..450 + count).map(|at| (at, None)).collect() };
        let Conclusion::Held(told) = concluded(series(5 * MS, &lost(2), &short, true)) else { panic!() };
        assert!(matches!(&*told, [one] if one.contains("2 of 2000 samples lost, 0 late")), "{told:?}");
        assert_eq!(concluded(series(5 * MS, &[], &short, true)), Conclusion::Held(Vec::new()));
        // Nothing is missed, but too little was seen.
        assert!(matches!(concluded(series(5 * MS, &[], &stalls, true)), Conclusion::Void(_)));
        assert!(matches!(concluded(series(5 * MS, &lost(140), &stalls, true)), Conclusion::Void(_)));
        let mut broken = lost(140);
        broken.push((1_500, None));
        assert!(matches!(concluded(series(5 * MS, &broken, &stalls, true)), Conclusion::Broken(_)));
    }
}
