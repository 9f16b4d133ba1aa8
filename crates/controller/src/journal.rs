//! The log: what an operator should know, each line with a level; nothing twice in a row, and no flood of lines.
//!
//! Lines go to `tracing`; the program around the manager decides where they end up.
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use control::ResourceManager;
use control::askers::AskersCounters;
use control::note::Note;
use dds::{DiscoveredParticipant, GuidPrefix};
use tracing::{error, info, warn};
use web::Alarm;

use crate::operator::{Board, milliseconds};

/// Notes about pairs that are written in a second; how many more there were is said then.
const MOST_NOTES: u32 = 100;
/// Participants whose coming and going is written in a second.
const MOST_PARTICIPANTS: usize = 50;
/// Subjects of which it is known what was said of them last.
const MOST_SUBJECTS: usize = 1_024;
/// The subject of what is wrong with the store.
const STORE: &str = "store";
/// The subject of requests that are not believed, and after how many looks, one a second, it is over.
const DISBELIEVED: &str = "requests that are not believed";
const QUIET: u32 = 60;

/// What the log needs to know of itself.
#[derive(Default, Debug)]
pub(crate) struct Journal {
    /// What was said last of a subject that is in trouble, and since when it is, in milliseconds since 1970.
    troubles: BTreeMap<String, (String, u64)>,
    /// What is told to operators besides notes.
    pub(crate) board: Board,
    participants: BTreeMap<GuidPrefix, String>,
    /// When the present second began, notes in it, and how many of them were not written.
    since: Duration,
    notes: u32,
    left_out: u32,
    waiting: usize,
    disbelieved: AskersCounters,
    /// So often in turn there was nothing more of it.
    quiet: u32,
}

impl Journal {
    /// Something is wrong with a subject: it is written if it is something else than before.
    pub(crate) fn trouble(&mut self, subject: String, line: String) {
        let before = self.troubles.get(&subject);
        if before.is_some_and(|(before, _)| *before == line) {
            return;
        }
        let since = before.map_or_else(milliseconds, |(_, since)| *since);
        warn!("{line}");
        self.board.pin("trouble", "the network", &line, true);
        if self.troubles.len() >= MOST_SUBJECTS {
            self.troubles.clear();
        }
        self.troubles.insert(subject, (line, since));
    }

    /// What is wrong now, as far as it was written.
    pub(crate) fn alarms(&self) -> Vec<Alarm> {
        let alarm = |(subject, (text, since)): (&String, &(String, u64))| Alarm {
            subject: subject.clone(),
            text: text.clone(),
            since: *since,
        };
        self.troubles.iter().map(alarm).collect()
    }

    /// All is well with a subject: the next trouble is news.
    pub(crate) fn is_well(&mut self, subject: &str) {
        self.troubles.remove(subject);
    }

    /// Writes a note, unless there are too many.
    pub(crate) fn note(&mut self, now: Duration, note: &Note) {
        if now.saturating_sub(self.since) >= Duration::from_secs(1) {
            self.count_left_out();
            (self.since, self.notes) = (now, 0);
        }
        self.notes += 1;
        match note {
            // As long as it does not get better it is said once.
            Note::NotReady { site, .. } | Note::NotPutRight { site, .. } => {
                self.trouble(site.clone(), note.to_string());
            }
            Note::Cabling { subject, .. } => self.trouble(subject.clone(), note.to_string()),
            Note::CablingRight(subject) => {
                self.is_well(subject);
                info!("{note}");
            }
            Note::Ready(site) | Note::PutRight(site) => {
                self.is_well(site);
                info!("{note}");
            }
            Note::NotStored(_) => {
                error!("{note}");
                self.troubles.insert(STORE.to_owned(), (note.to_string(), milliseconds()));
            }
            Note::StoreWorks => {
                self.is_well(STORE);
                info!("{note}");
            }
            _ if self.notes > MOST_NOTES => self.left_out += 1,
            _ if note.is_warning() => warn!("{note}"),
            _ => info!("{note}"),
        }
    }

    /// A while has passed; so many verdicts wait for room.
    pub(crate) fn time_passes(&mut self, waiting: usize) {
        self.count_left_out();
        match (self.waiting, waiting) {
            (0, 1..) => warn!(
                "{waiting} verdicts find no room and are told later: a participant does not acknowledge what it is told"
            ),
            (1.., 0) => info!("all verdicts have been told"),
            _ => {}
        }
        self.waiting = waiting;
    }

    /// So many requests were dropped since they are about readers of other participants than they came from, the last one from this participant.
    pub(crate) fn forgeries(&mut self, count: u64, last: GuidPrefix) {
        let line = format!(
            "{count} requests about readers of other participants than they came from are dropped, the last one of participant {}",
            self.named(last)
        );
        self.trouble("forged requests".to_owned(), line);
    }

    /// A participant as people know it, if it is known.
    fn named(&self, participant: GuidPrefix) -> String {
        self.participants.get(&participant).cloned().unwrap_or_else(|| participant.to_string())
    }

    /// Statements of askers that were not believed, the last of them from a participant: each kind is said when there is more of it, once a second at most,
    /// and is an alarm until a while has passed without.
    pub(crate) fn disbelief(&mut self, counters: AskersCounters, last: Option<GuidPrefix>) {
        self.quiet = if counters == self.disbelieved { self.quiet.saturating_add(1) } else { 0 };
        if self.quiet >= QUIET {
            return self.is_well(DISBELIEVED);
        }
        let last = last.map(|last| self.named(last)).unwrap_or_default();
        let mut lines = Vec::new();
        for (what, before, count) in [
            ("requests without a signature", self.disbelieved.unsigned, counters.unsigned),
            (
                "requests that their participant has not signed for this manager",
                self.disbelieved.forged,
                counters.forged,
            ),
            ("requests that were heard before", self.disbelieved.replayed, counters.replayed),
            ("certificates of participants", self.disbelieved.distrusted, counters.distrusted),
        ] {
            if count > before {
                lines.push(format!("{} {what} are not believed, {count} in all", count - before));
            }
        }
        if !lines.is_empty() {
            let line = format!("{}; the last one of participant {last}", lines.join("; "));
            self.trouble(DISBELIEVED.to_owned(), line);
        }
        self.disbelieved = counters;
    }

    fn count_left_out(&mut self) {
        if self.left_out > 0 {
            warn!("{} more verdicts were decided, too many to be written one by one", self.left_out);
            self.left_out = 0;
        }
    }

    /// Compares the participants of the domain with those that were there before.
    pub(crate) fn participants(&mut self, there: &[DiscoveredParticipant], manager: &ResourceManager) {
        let known: BTreeSet<GuidPrefix> = there.iter().map(|found| found.data.prefix).collect();
        let gone: Vec<GuidPrefix> =
            self.participants.keys().filter(|prefix| !known.contains(prefix)).copied().collect();
        let mut lines = 0;
        let board = &mut self.board;
        let mut say = |line: String| {
            lines += 1;
            if lines <= MOST_PARTICIPANTS {
                info!("{line}");
                board.pin("participant", "the network", &line, false);
            }
        };
        for name in gone.iter().filter_map(|prefix| self.participants.remove(prefix)) {
            say(format!("participant lost: {name}"));
        }
        for found in there {
            if self.participants.contains_key(&found.data.prefix) {
                continue;
            }
            let name = name(found, manager);
            say(format!("participant found: {name}"));
            self.participants.insert(found.data.prefix, name);
        }
        if let Some(more @ 1..) = lines.checked_sub(MOST_PARTICIPANTS) {
            info!("{more} more participants came or went");
        }
    }
}

/// A participant as people know it.
fn name(found: &DiscoveredParticipant, manager: &ResourceManager) -> String {
    let data = &found.data;
    let addresses = data.default_unicast.iter().filter_map(wire::Locator::socket_addr);
    let mut hosts: Vec<String> = addresses.map(|address| manager.host_name(address.ip().into())).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let called = data.entity_name.as_deref().filter(|name| !name.is_empty());
    let called = called.map(|name| format!("{name:?} ")).unwrap_or_default();
    format!("{called}{} on {}", data.prefix, hosts.join(", "))
}
