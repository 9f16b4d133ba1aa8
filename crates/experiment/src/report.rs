//! What there is to say of the experiment: plain data, which the terminal and the page are made from, and what follows from it.
use crate::conclusion::Conclusion;
use crate::judge::{Judged, Miss};
use crate::setting::Topic;
use crate::text::milliseconds;

/// Of a thousand samples of a phase with promises, so many must be undisturbed by the machine; else the run says nothing.
const UNDISTURBED: u64 = 950;

/// The experiment as it went.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// Where it ran, in a sentence.
    pub(crate) place: String,
    /// The machine, or what stands for it: what is told, and the facts.
    pub(crate) machine: Vec<(&'static str, String)>,
    /// The topics.
    pub(crate) topics: Vec<Topic>,
    /// The phases, in order.
    pub(crate) phases: Vec<Phase>,
    /// Subscribers that were meant to be refused.
    pub(crate) refusals: Vec<Refusal>,
    /// Promises that were not given, or not as the plan has them: each breaks the run.
    pub(crate) broken: Vec<String>,
    /// What did not go as it should, and does not break a promise.
    pub(crate) remarks: Vec<String>,
}

/// A part of the experiment.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    /// Its name.
    pub(crate) title: &'static str,
    /// What it is about, in a sentence.
    pub(crate) about: String,
    /// Whether latencies are promised in it.
    pub(crate) promised: bool,
    /// Whether it says nothing, because the machine stood still too often, and was played again.
    pub(crate) repeated: bool,
    /// How long it was measured, in seconds.
    pub(crate) seconds: f64,
    /// What became of each topic.
    pub(crate) rows: Vec<Row>,
    /// What else is to be known of it.
    pub(crate) notes: Vec<String>,
}

/// A topic in a phase.
#[derive(Clone, Debug)]
pub(crate) enum Row {
    /// Its publisher keeps its contract.
    Measured {
        /// The number of the topic.
        topic: usize,
        /// What its samples are judged by, in nanoseconds: the bound if there is one, else what the subscriber would like.
        limit: i64,
        /// What became of its samples.
        judged: Judged,
    },
    /// Its publisher babbles.
    Babbler {
        /// The number of the topic.
        topic: usize,
        /// What it sent and what came of it.
        said: String,
    },
}

/// A subscriber that asked for too much.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// What it asked for.
    pub(crate) asked: String,
    /// The answer; `None` if there was none.
    pub(crate) verdict: Option<String>,
}

impl Report {
    /// What follows. A phase in which the machine stood still too often says nothing, neither good nor bad.
    pub(crate) fn conclusion(&self) -> Conclusion {
        let mut broken = self.broken.clone();
        let mut void = Vec::new();
        for phase in self.phases.iter().filter(|phase| phase.promised && !phase.repeated) {
            let disturbed = phase.disturbed(&self.topics);
            if disturbed.is_empty() {
                broken.extend(phase.misses(&self.topics));
            }
            void.extend(disturbed);
        }
        if !self.phases.iter().any(|phase| phase.promised && !phase.repeated) {
            broken.push("no phase with promises was measured".to_owned());
        }
        let answered = self.refusals.iter().filter(|refusal| refusal.verdict.is_none());
        broken.extend(
            answered.map(|refusal| format!("the subscriber that asks for {} was not refused", refusal.asked)),
        );
        Conclusion::of(broken, void, || self.not_counted())
    }

    /// What missed its bound in phases that say nothing and were played again.
    fn not_counted(&self) -> Vec<String> {
        let repeated = self.phases.iter().filter(|phase| phase.repeated);
        let misses = repeated.flat_map(|phase| phase.misses(&self.topics));
        misses
            .map(|miss| format!("Not counted, as the machine stood still too often meanwhile: {miss}"))
            .collect()
    }

    /// What the subscriber of a topic asks for, in nanoseconds.
    pub(crate) fn limit(&self, topic: usize) -> i64 {
        self.topics.get(topic).map_or(0, |topic| i64::try_from(topic.limit).unwrap_or(i64::MAX))
    }

    /// The name of a topic.
    pub(crate) fn name(&self, topic: usize) -> &str {
        name(&self.topics, topic)
    }
}

/// A sample that did not come in time, in words.
fn miss(miss: &Miss) -> String {
    let became =
        miss.latency.map_or("is lost".to_owned(), |latency| format!("took {} ms", milliseconds(latency)));
    let since = miss.since_stall.map_or("no stall before it".to_owned(), |since| {
        format!("{} ms after the last stall", milliseconds(since))
    });
    format!("number {}, sent at {} ms, {since}, {became}", miss.number, milliseconds(miss.at))
}

fn name(topics: &[Topic], topic: usize) -> &str {
    topics.get(topic).map_or("?", |topic| &topic.name)
}

impl Phase {
    /// The topics whose publishers keep to their contracts, and what became of their samples.
    pub(crate) fn measured(&self) -> impl Iterator<Item = (usize, &Judged)> {
        self.rows.iter().filter_map(|row| match row {
            Row::Measured { topic, judged, .. } => Some((*topic, judged)),
            Row::Babbler { .. } => None,
        })
    }

    /// The topics whose publishers babble.
    pub(crate) fn babblers(&self) -> Vec<usize> {
        let babbler = |row: &Row| if let Row::Babbler { topic, .. } = row { Some(*topic) } else { None };
        self.rows.iter().filter_map(babbler).collect()
    }

    /// What samples of a topic are judged by, in nanoseconds.
    pub(crate) fn limit_of(&self, wanted: usize) -> Option<i64> {
        self.rows.iter().find_map(|row| match row {
            Row::Measured { topic, limit, .. } if *topic == wanted => Some(*limit),
            _ => None,
        })
    }

    /// Marks it as played again if the machine stood still too often; whether it is.
    pub(crate) fn repeat(&mut self, topics: &[Topic]) -> bool {
        let disturbed = if self.promised { self.disturbed(topics) } else { Vec::new() };
        self.repeated = !disturbed.is_empty();
        if self.repeated {
            self.notes.push(format!("This says nothing, and is played again. {}.", disturbed.join(". ")));
        }
        self.repeated
    }

    fn disturbed(&self, topics: &[Topic]) -> Vec<String> {
        let few = self.measured().filter(|(_, judged)| judged.undisturbed_permille() < UNDISTURBED);
        few.map(|(topic, judged)| {
            format!(
                "{}: the machine stood still during {} of {} samples of {}",
                self.title,
                judged.disturbed,
                judged.sent,
                name(topics, topic)
            )
        })
        .collect()
    }

    fn misses(&self, topics: &[Topic]) -> Vec<String> {
        let mut misses = Vec::new();
        for (topic, judged) in self.measured() {
            let name = name(topics, topic);
            if judged.misses.late + judged.misses.lost > 0 {
                let told: Vec<String> = judged.missed.iter().map(miss).collect();
                misses.push(format!(
                    "{}: {name} has {} samples above the bound and {} lost while the machine ran: {}",
                    self.title,
                    judged.misses.late,
                    judged.misses.lost,
                    told.join("; ")
                ));
            }
            if judged.points.is_empty() {
                misses.push(format!("{}: no sample of {name} arrived", self.title));
            }
        }
        misses
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::judge::judge;
    use crate::record::Record;
    use crate::stalls::{Stall, Stalls};

    const MS: i64 = 1_000_000;

    /// A report of one phase with promises, whose samples took these milliseconds; 0 is lost. A stall met the first `disturbed` samples.
    pub(crate) fn report(latencies: &[i64], disturbed: i64) -> Report {
        let sent: Vec<Record> = (0..)
            .zip(latencies)
            .map(|(number, _)| Record { number, at: number.cast_signed() * 10 * MS })
            .collect();
        let received: Vec<Record> = sent
            .iter()
            .zip(latencies)
            .filter(|(_, latency)| **latency > 0)
            .map(|(sent, latency)| Record { number: sent.number, at: sent.at + latency * MS })
            .collect();
        let stall = Stall { from: -1, to: (disturbed - 1) * 10 * MS };
        let judged = judge(&sent, &received, &Stalls::new(vec![stall]), 5 * MS);
        let topic = Topic {
            name: "video".to_owned(),
            publisher: "camera".to_owned(),
            subscriber: "display".to_owned(),
            size: 48_048,
            separation: 7_500_000,
            emission: 0,
            slack: 0,
            limit: 5_000_000,
            planned: Ok(5_000_000),
            rate: 100_000_000,
            port: 4,
        };
        let phase = Phase {
            title: "Managed",
            about: "Everything is promised.".to_owned(),
            promised: true,
            repeated: false,
            seconds: 15.0,
            rows: vec![
                Row::Measured { topic: 0, limit: 5 * MS, judged },
                Row::Babbler { topic: 0, said: "sends <much> & more".to_owned() },
            ],
            notes: vec!["Nothing.".to_owned()],
        };
        Report {
            place: "In a test.".to_owned(),
            machine: vec![("processor", "two cores".to_owned())],
            topics: vec![topic],
            phases: vec![phase],
            refusals: vec![Refusal { asked: "3 ms".to_owned(), verdict: Some("no: 4.7 ms".to_owned()) }],
            broken: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// The same phase with promises and without, where of four samples one is late and two are lost; and a babbler in all of them but the first,
    /// which is not to be compared with them.
    pub(crate) fn contrasted() -> Report {
        let mut report = report(&[4; 4], 0);
        let mut without = self::report(&[4, 6, 0, 0], 0).phases;
        let mut other = self::report(&[0; 4], 0).phases;
        without.iter_mut().chain(&mut other).for_each(|phase| phase.promised = false);
        other.iter_mut().for_each(|phase| phase.rows.truncate(1));
        other.append(&mut without);
        other.append(&mut report.phases);
        report.phases = other;
        report
    }

    #[test]
    fn a_run_holds_if_every_undisturbed_sample_is_in_time() {
        assert_eq!(report(&[5; 100], 0).conclusion(), Conclusion::Held(Vec::new()));
        assert_eq!(report(&[5; 100], 5).conclusion(), Conclusion::Held(Vec::new()));
        let mut late = [5; 100];
        late[99] = 6;
        assert!(matches!(report(&late, 5).conclusion(), Conclusion::Broken(said) if said.len() == 1));
        late[99] = 0;
        assert!(matches!(report(&late, 5).conclusion(), Conclusion::Broken(_)));
    }

    #[test]
    fn misses_of_disturbed_samples_are_excused() {
        let mut late = [5; 100];
        (late[0], late[4]) = (90, 0);
        assert_eq!(report(&late, 5).conclusion(), Conclusion::Held(Vec::new()));
        assert!(matches!(report(&late, 4).conclusion(), Conclusion::Broken(_)));
    }

    #[test]
    fn a_run_is_void_if_more_than_one_of_twenty_samples_is_disturbed() {
        assert!(matches!(report(&[5; 100], 6).conclusion(), Conclusion::Void(said) if said.len() == 1));
        let mut late = [5; 100];
        late[99] = 6;
        assert!(matches!(report(&late, 6).conclusion(), Conclusion::Void(_)));
    }

    #[test]
    fn a_phase_that_says_nothing_is_played_again_and_what_it_missed_is_told() {
        let mut void = report(&[5; 100], 6);
        assert!(void.phases[0].repeat(&void.topics));
        assert_eq!(void.phases[0].notes[1].matches("6 of 100").count(), 1);
        // What is left has to be measured.
        assert!(matches!(void.conclusion(), Conclusion::Broken(_)));
        void.phases.extend(report(&[5; 100], 5).phases);
        assert_eq!(void.conclusion(), Conclusion::Held(Vec::new()));
        assert!(!void.phases[1].repeat(&void.topics));
        let mut late = [5; 100];
        late[99] = 6;
        let mut missed = report(&late, 6);
        assert!(matches!(missed.conclusion(), Conclusion::Void(_)));
        assert!(missed.phases[0].repeat(&missed.topics));
        missed.phases.extend(report(&[5; 100], 5).phases);
        let Conclusion::Held(said) = missed.conclusion() else { panic!("{missed:?}") };
        assert!(
            said.len() == 1 && said[0].starts_with("Not counted") && said[0].contains("number 99"),
            "{said:?}"
        );
        // A phase that was not disturbed counts, whatever was played before.
        missed.phases.extend(report(&late, 5).phases);
        assert!(matches!(missed.conclusion(), Conclusion::Broken(_)));
    }

    #[test]
    fn nothing_that_arrives_is_no_success() {
        assert!(matches!(report(&[], 0).conclusion(), Conclusion::Broken(_)));
        let mut unanswered = report(&[5; 100], 0);
        unanswered.refusals[0].verdict = None;
        assert!(matches!(unanswered.conclusion(), Conclusion::Broken(_)));
        unanswered.refusals.clear();
        unanswered.broken.push("the verdict differs".to_owned());
        assert!(matches!(unanswered.conclusion(), Conclusion::Broken(_)));
        unanswered.broken.clear();
        assert_eq!(unanswered.conclusion(), Conclusion::Held(Vec::new()));
        unanswered.phases.clear();
        assert!(matches!(unanswered.conclusion(), Conclusion::Broken(_)));
    }
}
