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
    /// How many rounds a change to it has between events.
    pub(crate) rounds: u32,
}

/// A change between events: how many rounds each host that has something to say of it has done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quiescing {
    rounds: u32,
    done: BTreeMap<String, u32>,
    /// Those that have something of the former plan.
    publish: BTreeSet<String>,
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
    /// Changes by deployment and epoch.
    pub(crate) quiescing: BTreeMap<(String, Mark), Quiescing>,
    /// How many rounds were done in which hosts had to wait for each other.
    pub(crate) rounds: u64,
}

/// The writer of what hosts publish before a change.
pub(crate) fn source_of(deployment: &str, epoch: Mark) -> String {
    format!("{deployment} {epoch:?}")
}

impl Judge {
    /// A host begins a change, which has so many rounds for it.
    pub(crate) fn begins(&mut self, host: &str, deployment: &str, epoch: Mark, rounds: u32) {
        let change = self.quiescing.entry((deployment.to_owned(), epoch)).or_default();
        change.rounds = change.rounds.max(rounds);
        change.done.insert(host.to_owned(), 0);
        if rounds > 0 {
            change.publish.insert(host.to_owned());
        }
    }

    /// A host is let come to the end of a round, and is told what was published, as connections, writers and rounds. All have done the rounds before, and
    /// it hears of what they published in these, and of nothing else.
    pub(crate) fn quiesces(
        &mut self,
        deployment: &str,
        epoch: Mark,
        round: u32,
        told: &BTreeSet<(String, String, i64)>,
    ) {
        let change = &self.quiescing[&(deployment.to_owned(), epoch)];
        assert!(round < change.rounds, "round {round} of {change:?}");
        for (host, done) in &change.done {
            assert!(
                *done >= round,
                "round {round} begins before {host} has done the rounds before: {change:?}"
            );
        }
        let source = source_of(deployment, epoch);
        let of_host = |host: &String| {
            let of_round = |before: u32| (format!("{host}-{before}"), source.clone(), i64::from(before));
            (0..round).map(of_round).collect::<Vec<_>>()
        };
        let published: BTreeSet<_> = change.publish.iter().flat_map(of_host).collect();
        assert_eq!(
            *told, published,
            "what was published before round {round} of {deployment} {epoch:?} is not what hosts are told"
        );
        self.rounds += u64::from(round > 0);
    }

    pub(crate) fn quiesced(&mut self, host: &str, deployment: &str, epoch: Mark, round: u32) {
        let change = self.quiescing.get_mut(&(deployment.to_owned(), epoch)).unwrap();
        change.done.insert(host.to_owned(), round + 1);
    }

    /// Something is taken apart on a host: all have done all rounds.
    pub(crate) fn takes_apart(&self, deployment: &str, epoch: Mark) {
        let change = &self.quiescing[&(deployment.to_owned(), epoch)];
        let is_done = change.done.values().all(|done| *done >= change.rounds);
        assert!(is_done, "something is taken apart before all is handled: {change:?}");
    }

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
