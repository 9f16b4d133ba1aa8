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
    let asking = pairs(scene).filter_map(|pair| pair.finding(scene));
    asking.chain(others(scene).filter_map(|pair| pair.not_promised(scene))).collect()
}

/// A line about each pair that is admitted.
pub(super) fn summary(scene: &Scene) -> Vec<String> {
    let asking = pairs(scene).filter_map(|pair| pair.admitted(scene));
    asking.chain(others(scene).filter_map(|pair| pair.promised(scene))).collect()
}

/// Pairs that do not ask, of which a resource manager knows by its flow file.
fn others(scene: &Scene) -> impl Iterator<Item = Pair<'_>> {
    let endpoint = |guid: Guid| scene.endpoints.iter().find(|endpoint| endpoint.guid == guid);
    let mut said: Vec<(Guid, Guid)> = scene.admission.verdicts.iter().map(|(_, said)| said.pair()).collect();
    said.sort_unstable();
    said.dedup();
    let known = said.into_iter().filter_map(move |(writer, reader)| {
        Some(Pair { writer: endpoint(writer)?, reader: endpoint(reader)? })
    });
    let known = known
        .filter(|pair| pair.writer.offered_assurance.is_none() || pair.reader.requested_assurance.is_none());
    known.filter(|pair| scene.is_asked(&pair.writer.topic_name)).take(MAX_PAIRS)
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

    /// What a resource manager has said last of a pair that does not ask.
    fn said<'a>(&self, scene: &'a Scene) -> Option<&'a Verdict> {
        scene
            .admission
            .verdicts
            .iter()
            .map(|(_, verdict)| verdict)
            .rfind(|verdict| verdict.pair() == self.names())
    }

    /// Of a pair that does not ask: what it is promised.
    fn promised(&self, scene: &Scene) -> Option<String> {
        let verdict = self.said(scene).filter(|verdict| verdict.state == State::Admitted)?;
        let bound = decided(verdict.state, Some(duration(verdict.bound)), "");
        Some(format!("{}: {bound}, by the flow file of the resource manager", self.told(scene)))
    }

    /// Of a pair that does not ask: why it is promised nothing, although the manager's flow file would have it.
    fn not_promised(&self, scene: &Scene) -> Option<Finding> {
        let verdict = self.said(scene).filter(|verdict| verdict.state != State::Admitted)?;
        let why = match verdict.state {
            State::Pending => format!("a resource manager is at it: {}", verdict.reason),
            state => decided(state, None, &verdict.reason),
        };
        let what = format!(
            "{}: described in the flow file of the resource manager, and promised nothing: {why}",
            self.told(scene)
        );
        let todo = "Put right what the reason names; docs/grm.md lists what a flow file says.".to_owned();
        Some(Finding::note(About::Assurance, what, todo))
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
        // What a manager has decided the reader may run with. A promise that no manager keeps or that was taken back is worse.
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
