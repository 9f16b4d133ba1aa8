//! What is kept of what the manager has said: the last snapshot, the history, readings of flows, frames that are dropped.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::Serialize;

use crate::limits;
use crate::model::{Alarm, Place, Said, Snapshot};

/// What a reader has said of its flow at a moment. Latencies in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Reading {
    /// Milliseconds since 1970.
    pub(crate) time: u64,
    /// Median of the last second before.
    pub(crate) median: u64,
    /// The worst sample until then.
    pub(crate) worst: u64,
    /// The worst case with the flows that there were.
    pub(crate) present: u64,
    pub(crate) samples: u64,
    pub(crate) late: u64,
    pub(crate) lost: u64,
}

/// Something that has happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Entry {
    /// One more than the entry before.
    pub(crate) number: u64,
    pub(crate) time: u64,
    pub(crate) who: String,
    pub(crate) what: &'static str,
    pub(crate) text: String,
    pub(crate) warning: bool,
    /// The flow that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) flow: Option<String>,
}

/// What the manager does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Standing {
    /// It has not begun.
    #[default]
    Begins,
    /// It manages.
    Manages,
    /// Another one manages.
    StandsBy,
}

/// All of it.
#[derive(Default, Debug)]
pub(crate) struct Record {
    pub(crate) standing: Standing,
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    /// How many snapshots there have been.
    pub(crate) number: u64,
    history: VecDeque<Entry>,
    /// The number of the last entry.
    pub(crate) last: u64,
    /// Entries of each kind, those included that are not kept any more.
    pub(crate) counts: BTreeMap<&'static str, u64>,
    readings: BTreeMap<String, VecDeque<Reading>>,
    places: BTreeMap<(String, String, &'static str), u64>,
    /// Alarms about what has happened, until they are over.
    recent: BTreeMap<String, (Alarm, u64)>,
    /// Since when what a snapshot shows is wrong, by subject.
    since: BTreeMap<String, u64>,
}

/// Names a flow: writer and reader as hexadecimal digits.
pub(crate) fn flow_id(writer: &str, reader: &str) -> String {
    format!("{writer}-{reader}")
}

impl Record {
    /// A new snapshot.
    pub(crate) fn show(&mut self, snapshot: Snapshot) {
        let mut readings = std::mem::take(&mut self.readings);
        for pair in &snapshot.report.pairs {
            let id = flow_id(&pair.writer, &pair.reader);
            let mut kept = readings.remove(&id).unwrap_or_default();
            if let Some(measured) = pair.measured {
                let last = kept.back().copied();
                let is_news = last.is_none_or(|last| {
                    last.samples != measured.samples
                        && snapshot.time >= last.time.saturating_add(limits::APART)
                });
                if last.is_some_and(|last| measured.late > last.late) {
                    let bound = pair.promised / 1_000;
                    let text = format!(
                        "samples of {:?} from {} to {} came later than the {bound} us that are promised: {} of {} so far; is a clock \
                         wrong, or is a host or cable slower than the network file says?",
                        pair.topic, pair.from, pair.to, measured.late, measured.samples
                    );
                    self.warn(format!("late {id}"), text, snapshot.time);
                }
                if is_news {
                    if kept.len() >= limits::READINGS {
                        kept.pop_front();
                    }
                    kept.push_back(Reading {
                        time: snapshot.time,
                        median: measured.median,
                        worst: measured.worst,
                        present: pair.present,
                        samples: measured.samples,
                        late: measured.late,
                        lost: measured.lost,
                    });
                }
            }
            if !kept.is_empty() {
                self.readings.insert(id, kept);
            }
        }
        self.standing = Standing::Manages;
        self.number += 1;
        self.snapshot = Some(Arc::new(snapshot));
    }

    /// Another manager goes before this one: what is known is over.
    pub(crate) fn stand_by(&mut self) {
        self.standing = Standing::StandsBy;
        self.snapshot = None;
        self.number += 1;
    }

    /// Something has happened.
    pub(crate) fn say(&mut self, said: Said) {
        self.last += 1;
        *self.counts.entry(said.what).or_default() += 1;
        if let Some(Place { place, topic, how, frames }) = said.frames {
            self.warn(format!("{how} at {place}: {topic}"), said.text.clone(), said.time);
            let key = (place, topic, how);
            if self.places.len() < limits::PLACES || self.places.contains_key(&key) {
                let sum = self.places.entry(key).or_default();
                *sum = sum.saturating_add(frames);
            }
        }
        if self.history.len() >= limits::HISTORY {
            self.history.pop_front();
        }
        let digits = |guid: wire::Guid| -> String {
            guid.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
        };
        let flow = said.flow.map(|(writer, reader)| flow_id(&digits(writer), &digits(reader)));
        let Said { time, who, what, text, warning, .. } = said;
        self.history.push_back(Entry { number: self.last, time, who, what, text, warning, flow });
    }

    fn warn(&mut self, subject: String, text: String, time: u64) {
        let since = self.recent.get(&subject).map_or(time, |(alarm, _)| alarm.since);
        if self.recent.len() < limits::PLACES || self.recent.contains_key(&subject) {
            let until = time.saturating_add(limits::RECENT);
            self.recent.insert(subject.clone(), (Alarm { subject, text, since }, until));
        }
    }

    /// Entries after one with this number, the oldest first.
    pub(crate) fn history(&self, after: u64) -> impl Iterator<Item = &Entry> {
        self.history.iter().filter(move |entry| entry.number > after)
    }

    /// Readings of a flow, the oldest first.
    pub(crate) fn readings(&self, id: &str) -> impl DoubleEndedIterator<Item = &Reading> + ExactSizeIterator {
        self.readings.get(id).map(VecDeque::iter).unwrap_or_default()
    }

    /// Where frames were dropped or missing.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        self.places.iter().map(|((place, topic, how), frames)| Place {
            place: place.clone(),
            topic: topic.clone(),
            how,
            frames: *frames,
        })
    }

    /// What is wrong now.
    pub(crate) fn alarms(&mut self) -> Vec<Alarm> {
        let Some(snapshot) = self.snapshot.clone() else { return Vec::new() };
        let now = snapshot.time;
        self.recent.retain(|_, (_, until)| *until > now);
        let mut alarms = snapshot.alarms.clone();
        let former = std::mem::take(&mut self.since);
        let since = &mut self.since;
        let mut add = |subject: String, text: String| {
            let began = *since.entry(subject.clone()).or_insert(former.get(&subject).copied().unwrap_or(now));
            if alarms.iter().all(|alarm| alarm.subject != subject) {
                alarms.push(Alarm { subject, text, since: began });
            }
        };
        for switch in &snapshot.report.switches {
            let name = &switch.name;
            if switch.state != "ready" {
                let text =
                    format!("switch {name} is {}: flows over it are revoked after the grace", switch.state);
                add(format!("switch {name}"), text);
            }
            if switch.gates == Some(false) {
                let text = format!(
                    "the gates of {name} cannot be reached: is their agent running (punctual gate serve)?"
                );
                add(format!("the gates of {name}"), text);
            }
            if !switch.ports_down.is_empty() {
                let text = format!("ports of switch {name} are down: {:?}", switch.ports_down);
                add(format!("ports of {name}"), text);
            }
        }
        for (datapath, why) in &snapshot.report.refused_switches {
            add(format!("switch {datapath:#x}"), format!("switch {datapath:#x} is refused: {why}"));
        }
        alarms.extend(self.recent.values().map(|(alarm, _)| alarm.clone()));
        alarms
    }
}
