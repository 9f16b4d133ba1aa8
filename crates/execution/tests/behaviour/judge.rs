//! The judge: what hosts and the store really have, whatever anybody says of it. It shares no code with what it judges.
use std::collections::{BTreeMap, BTreeSet};

/// An epoch, as the judge writes it down.
pub(crate) type Mark = (u64, u64);

/// A plan, as the test made it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Made {
    pub(crate) deployment: String,
    /// What it requires of each of its hosts.
    pub(crate) hosts: BTreeMap<String, u64>,
}

/// The processes of a deployment on a host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Had {
    /// Whose processes there are: more than one while one follows the other.
    pub(crate) processes: BTreeSet<String>,
    /// The plan and the epoch whose components work: they handle and publish events.
    pub(crate) works: Option<(Mark, String)>,
    /// Which launch the working processes are of: another one is other processes.
    pub(crate) launch: u64,
}

/// What there is.
#[derive(Default)]
pub(crate) struct Judge {
    /// What each host has of memory.
    pub(crate) capacity: u64,
    /// Plans by their files.
    pub(crate) made: BTreeMap<String, Made>,
    /// By host and deployment, also of node managers that have crashed.
    pub(crate) had: BTreeMap<(String, String), Had>,
    /// What is in the store for good: the file of the plan, its epoch, and whether it ends.
    pub(crate) stored: BTreeMap<String, (String, Mark, bool)>,
    /// What hosts have may have changed since it was looked at.
    pub(crate) is_changed: bool,
}

impl Judge {
    /// What always holds, between any two events.
    pub(crate) fn always(&mut self, context: &str) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        let mut working: BTreeMap<&str, BTreeSet<Mark>> = BTreeMap::new();
        let mut used: BTreeMap<&str, u64> = BTreeMap::new();
        for ((host, deployment), had) in &self.had {
            working.entry(deployment).or_default().extend(had.works.iter().map(|(epoch, _)| *epoch));
            for file in &had.processes {
                *used.entry(host).or_default() +=
                    self.made[file].hosts.get(host).copied().unwrap_or_default();
            }
        }
        for (deployment, epochs) in working {
            assert!(
                epochs.len() <= 1,
                "{context}: components of the epochs {epochs:?} of {deployment} work at the same time: {:?}",
                self.had
            );
        }
        for (host, used) in used {
            assert!(used <= self.capacity, "{context}: {used} are used on {host}: {:?}", self.had);
        }
    }

    /// What holds when nothing fails any more and nothing is under way: what is stored runs on all of its hosts, and nothing else does.
    pub(crate) fn at_rest(&self, context: &str) {
        for (deployment, (file, epoch, ends)) in &self.stored {
            assert!(!ends, "{context}: {deployment} is still to end: {:?}", self.had);
            for host in self.made[file].hosts.keys() {
                let had = self.had.get(&(host.clone(), deployment.clone()));
                let works = had.and_then(|had| had.works.as_ref());
                assert_eq!(
                    works,
                    Some(&(*epoch, file.clone())),
                    "{context}: a record of {deployment} without its processes on {host}: {:?}",
                    self.had
                );
            }
        }
        for ((host, deployment), had) in &self.had {
            let stored = self.stored.get(deployment);
            let expected: BTreeSet<String> = stored
                .filter(|(file, ..)| self.made[file].hosts.contains_key(host))
                .map(|(file, ..)| file.clone())
                .into_iter()
                .collect();
            assert_eq!(had.processes, expected, "{context}: orphans of {deployment} on {host}");
        }
    }

    /// The plan that is stored for a deployment and does not end.
    pub(crate) fn holds(&self, deployment: &str) -> Option<&String> {
        self.stored.get(deployment).filter(|(.., ends)| !ends).map(|(file, ..)| file)
    }
}
