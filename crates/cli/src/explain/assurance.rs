//! Readers that ask for a latency: who promises it, and who does not.
use dds::Duration;
use wire::admission::{Measured, Request, State, Verdict};
use wire::discovery::EndpointData;
use wire::{Guid, GuidPrefix};

use super::pairs::MAX_PAIRS;
use super::{About, Finding, Scene};
use crate::assure::{decided, offer};
use crate::describe::counted;

/// An assured reader and a writer that it matches otherwise.
struct Pair<'a> {
    writer: &'a EndpointData,
    reader: &'a EndpointData,
}

pub(super) fn findings(scene: &Scene) -> Vec<Finding> {
    pairs(scene).filter_map(|pair| pair.finding(scene)).collect()
}

/// A line about each pair that is admitted.
pub(super) fn summary(scene: &Scene) -> Vec<String> {
    pairs(scene).filter_map(|pair| pair.admitted(scene)).collect()
}

fn pairs(scene: &Scene) -> impl Iterator<Item = Pair<'_>> {
    let topics = scene.topics().into_iter().filter(|(name, _)| scene.is_asked(name));
    topics
        .flat_map(|(_, topic)| {
            let readers = topic.readers.into_iter().filter(|reader| reader.requested_assurance.is_some());
            let readers: Vec<&EndpointData> = readers.collect();
            let all = topic.writers.into_iter();
            all.flat_map(move |writer| readers.clone().into_iter().map(move |reader| Pair { writer, reader }))
        })
        .filter(|pair| pair.writer.participant != pair.reader.participant)
        .filter(|pair| rtps::discovery::compare(pair.writer, pair.reader).is_ok())
        .take(MAX_PAIRS)
}

impl Pair<'_> {
    fn names(&self) -> (Guid, Guid) {
        (self.writer.guid, self.reader.guid)
    }

    /// The last request.
    fn request<'a>(&self, scene: &'a Scene) -> Option<&'a Request> {
        scene.admission.requests.iter().find(|request| request.pair() == self.names())
    }

    /// The verdict about the last request, of the manager that is asked.
    fn verdict<'a>(&self, scene: &'a Scene) -> Option<&'a Verdict> {
        let request = self.request(scene)?;
        let asked = asked(request);
        let all =
            scene.admission.verdicts.iter().filter(|(from, _)| asked.is_none_or(|asked| asked == *from));
        let mut all = all.map(|(_, verdict)| verdict).filter(|verdict| verdict.pair() == self.names());
        // Of one manager the last one counts.
        all.rfind(|verdict| verdict.serial == request.serial)
    }

    /// Why there is no verdict.
    fn unanswered(&self, scene: &Scene) -> (String, String) {
        let start = "Start one: punctual grm.".to_owned();
        let asked = self.request(scene).and_then(asked);
        match asked.map(|asked| scene.people.get(asked)) {
            None => ("no resource manager answers in this domain".to_owned(), start),
            Some(Some(manager)) => (
                format!("the resource manager that is asked, {manager}, does not answer"),
                "See whether it runs, and what it says: punctual grm status. A participant that only claims to be one has to go."
                    .to_owned(),
            ),
            Some(None) => (
                "the resource manager that was asked is gone".to_owned(),
                "Start it again: punctual grm.".to_owned(),
            ),
        }
    }

    fn told(&self, scene: &Scene) -> String {
        format!(
            "topic {:?}: {} and {}",
            self.writer.topic_name,
            scene.people.endpoint(self.writer),
            scene.people.endpoint(self.reader)
        )
    }

    fn finding(&self, scene: &Scene) -> Option<Finding> {
        let wanted = self.reader.requested_assurance?;
        let within = duration(wanted.maximum_latency);
        let (what, todo) = match (self.writer.offered_assurance, self.verdict(scene)) {
            (None, _) => (
                "refused: the writer has no ASSURANCE".to_owned(),
                "Give the writer ASSURANCE: how often and how large it writes.".to_owned(),
            ),
            (Some(_), Some(verdict)) if verdict.state == State::Admitted => return None,
            (Some(_), Some(verdict)) if verdict.state == State::Pending => (
                match verdict.reason.as_str() {
                    "" => "a resource manager is at it".to_owned(),
                    reason => format!("a resource manager is at it: {reason}"),
                },
                "Wait, or see what the manager waits for: punctual grm status.".to_owned(),
            ),
            (Some(_), Some(verdict)) => {
                let some = |nanos: u64| (nanos > 0).then(|| duration(nanos));
                let offer = offer(some(verdict.offered_latency), some(verdict.offered_separation));
                (
                    format!("{}{offer}", decided(verdict.state, None, &verdict.reason)),
                    "Ask for what would be admitted, or make room: punctual plan shows where the time goes."
                        .to_owned(),
                )
            }
            (Some(_), None) => self.unanswered(scene),
        };
        // What a manager has decided the reader may run with. A promise that nobody keeps or that was taken back is worse.
        let is_decided = self.writer.offered_assurance.is_none()
            || self.verdict(scene).is_some_and(|verdict| verdict.state != State::Revoked);
        let runs = if wanted.is_required { "they do not match" } else { "they run unassured" };
        let what = format!("{}: not assured within {within}, {runs}: {what}", self.told(scene));
        Some(if wanted.is_required || !is_decided {
            Finding::problem(About::Assurance, what, todo)
        } else {
            Finding::note(About::Assurance, what, todo)
        })
    }

    fn admitted(&self, scene: &Scene) -> Option<String> {
        let verdict = self.verdict(scene).filter(|verdict| verdict.state == State::Admitted)?;
        let bound = decided(verdict.state, Some(duration(verdict.bound)), "");
        let measured = scene.admission.measured.iter().find(|measured| {
            (Guid::from_bytes(measured.writer), Guid::from_bytes(measured.reader)) == self.names()
        });
        let measured = measured.map(measurement).unwrap_or_default();
        Some(format!("{}: {bound}{measured}", self.told(scene)))
    }
}

/// The participant of the manager that a request names.
fn asked(request: &Request) -> Option<GuidPrefix> {
    Some(Guid::from_bytes(request.manager).prefix).filter(|asked| *asked != GuidPrefix::UNKNOWN)
}

fn measurement(measured: &Measured) -> String {
    let samples = counted(usize::try_from(measured.samples).unwrap_or(usize::MAX), "sample");
    let worst = duration(measured.worst);
    let clocks = if measured.clock_error == 0 { "" } else { ", by clocks that may differ" };
    format!(": {samples}, {} late, {} lost, worst {worst:.3}{clocks}", measured.late, measured.lost)
}

fn duration(nanos: u64) -> Duration {
    Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}
