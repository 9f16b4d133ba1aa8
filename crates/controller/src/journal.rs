//! The log: what an operator should know, each line with a level; nothing twice in a row, and no flood of lines.
//!
//! Lines go to `tracing`; whoever runs the manager decides where they end up.
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use control::ResourceManager;
use control::note::Note;
use dds::{DiscoveredParticipant, GuidPrefix};
use tracing::{error, info, warn};

/// Notes about pairs that are written in a second; how many more there were is said then.
const MOST_NOTES: u32 = 100;
/// Participants whose coming and going is written in a second.
const MOST_PARTICIPANTS: usize = 50;
/// Subjects of which it is known what was said of them last.
const MOST_SUBJECTS: usize = 1_024;

/// What the log needs to know of itself.
#[derive(Default, Debug)]
pub(crate) struct Journal {
    /// What was said last of a subject that is in trouble.
    troubles: BTreeMap<String, String>,
    participants: BTreeMap<GuidPrefix, String>,
    /// When the present second began, notes in it, and how many of them were not written.
    since: Duration,
    notes: u32,
    left_out: u32,
    waiting: usize,
}

impl Journal {
    /// Something is wrong with a subject: it is written if it is something else than before.
    pub(crate) fn trouble(&mut self, subject: String, line: String) {
        if self.troubles.get(&subject) == Some(&line) {
            return;
        }
        warn!("{line}");
        if self.troubles.len() >= MOST_SUBJECTS {
            self.troubles.clear();
        }
        self.troubles.insert(subject, line);
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
            Note::Ready(site) | Note::PutRight(site) => {
                self.is_well(site);
                info!("{note}");
            }
            Note::NotStored(_) => error!("{note}"),
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
        let mut say = |line: String| {
            lines += 1;
            if lines <= MOST_PARTICIPANTS {
                info!("{line}");
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
    let mut hosts: Vec<String> = addresses
        .map(|address| match address.ip() {
            std::net::IpAddr::V4(address) => manager.host_name(address.octets()),
            address => address.to_string(),
        })
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    let called = data.entity_name.as_deref().filter(|name| !name.is_empty());
    let called = called.map(|name| format!("{name:?} ")).unwrap_or_default();
    format!("{called}{} on {}", data.prefix, hosts.join(", "))
}
