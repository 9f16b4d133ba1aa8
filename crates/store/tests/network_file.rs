//! The network file of managers that share a store, under crashes at every step, answers that are lost, and stand-bys that were started with any file: from
//! seeds, in virtual time.
//!
//! The store is a model of etcd with its leader's key and its fencing, which shares no code with what is tested. A network is a set of ports, and a grant is a
//! port. The judge looks at what is in the store and at what operators were told: each grant that is kept fits the file that is kept, at any moment.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use store::network_file::{Led, change, lead};
use store::{Change, FileStore, Key, Standing, Store, StoreError};
use testkit::random::Random;

/// Bytes of a file that the model takes.
const MOST: usize = 64;

/// What is in etcd.
#[derive(Default, Debug)]
struct Model {
    kept: BTreeMap<Key, Vec<u8>>,
    /// The process that holds the leader's key, and how often that was created.
    leader: Option<usize>,
    terms: u64,
    epoch: u64,
    /// How many changes the leader of this term has made.
    sequence: u64,
    /// No question arrives.
    is_away: bool,
    /// The next change arrives, and its answer does not.
    loses_answer: bool,
}

impl Model {
    fn file(&self) -> Option<Vec<u8>> {
        self.kept.get(&Key::Network).cloned()
    }

    fn grants(&self) -> BTreeSet<u64> {
        let number = |key: &Key| if let Key::Grant(number) = key { Some(*number) } else { None };
        self.kept.keys().filter_map(number).collect()
    }
}

/// What a process has in its hands of it.
struct Handle {
    model: Arc<Mutex<Model>>,
    process: usize,
    /// The term, and how many changes were made as far as is known.
    term: Option<(u64, u64)>,
    known: BTreeMap<Key, Vec<u8>>,
    doubtful: BTreeSet<Key>,
}

/// An error as stores of the crate make them.
fn trouble() -> StoreError {
    FileStore::open(Path::new("/dev/null/nothing")).err().unwrap()
}

impl Handle {
    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap()
    }
}

impl Store for Handle {
    fn next_epoch(&mut self) -> Result<u64, StoreError> {
        let (terms, epoch, kept) = {
            let mut model = self.model();
            if model.is_away || model.leader != Some(self.process) {
                return Err(trouble());
            }
            (model.epoch, model.sequence) = (model.epoch + 1, 0);
            (model.terms, model.epoch, model.kept.clone())
        };
        self.term = Some((terms, 0));
        self.known = kept;
        self.doubtful.clear();
        Ok(epoch)
    }

    fn kept(&self) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        Ok(self.known.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn change(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        let (term, count) = self.term.ok_or_else(trouble)?;
        let mut all: BTreeMap<Key, Option<Vec<u8>>> =
            self.doubtful.iter().map(|key| (key.clone(), self.known.get(key).cloned())).collect();
        all.extend(changes.iter().cloned());
        let model = Arc::clone(&self.model);
        let mut model = model.lock().unwrap();
        if model.is_away {
            self.doubtful.extend(all.into_keys());
            return Err(trouble());
        }
        if model.leader != Some(self.process) || model.terms != term {
            self.term = None;
            return Err(trouble());
        }
        assert!(model.sequence == count || model.sequence == count + 1, "{model:?}");
        model.sequence += 1;
        self.term = Some((term, model.sequence));
        for (key, value) in &all {
            match value {
                Some(value) => model.kept.insert(key.clone(), value.clone()),
                None => model.kept.remove(key),
            };
        }
        if std::mem::take(&mut model.loses_answer) {
            self.term = Some((term, model.sequence - 1));
            self.doubtful.extend(all.into_keys());
            return Err(trouble());
        }
        self.doubtful.clear();
        for (key, value) in changes {
            match value {
                Some(value) => self.known.insert(key.clone(), value.clone()),
                None => self.known.remove(key),
            };
        }
        Ok(())
    }

    fn most_bytes_of_network(&self) -> usize {
        MOST
    }

    fn standing(&self) -> Standing {
        match self.model().leader == Some(self.process) {
            true => Standing::Leads,
            false => Standing::StandsBy(None),
        }
    }

    fn place(&self) -> String {
        "the model".to_owned()
    }
}

fn ports(file: &[u8]) -> BTreeSet<u64> {
    file.iter().map(|port| u64::from(*port)).collect()
}

/// A process: what it was started with, and what it leads with.
struct Process {
    store: Handle,
    own: Vec<u8>,
    leads_with: Option<Vec<u8>>,
    /// A file was refused that the store may have.
    in_doubt: bool,
}

/// What has happened.
#[derive(Default, Debug)]
struct Seen {
    takeovers: u64,
    with_another_file: u64,
    changed: u64,
    /// Reloads that were refused and whose file led later, and those that were taken back.
    led_all_the_same: u64,
    taken_back: u64,
    fenced: u64,
}

struct Play {
    random: Random,
    model: Arc<Mutex<Model>>,
    processes: Vec<Option<Process>>,
    /// The network file on the disk of each host.
    disks: Vec<Vec<u8>>,
    /// What the store may have: by what operators were told, and by what has come since.
    allowed: Vec<Vec<u8>>,
    seen: Seen,
}

impl Play {
    fn new(seed: u64) -> Self {
        let mut random = Random::of_case(seed, 17);
        let disks = (0..3).map(|_| some_file(&mut random)).collect();
        let processes = (0..3).map(|_| None).collect();
        Self { random, model: Arc::default(), processes, disks, allowed: Vec::new(), seen: Seen::default() }
    }

    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap()
    }

    fn start(&mut self, process: usize) {
        let model = Arc::clone(&self.model);
        let store = Handle { model, process, term: None, known: BTreeMap::new(), doubtful: BTreeSet::new() };
        let own = self.disks[process].clone();
        self.processes[process] = Some(Process { store, own, leads_with: None, in_doubt: false });
    }

    fn kill(&mut self, process: usize) {
        self.processes[process] = None;
        let mut model = self.model();
        if model.leader == Some(process) {
            model.leader = None;
        }
    }

    /// A process that stands by takes the lead if it is free; it may crash on the way.
    fn campaign(&mut self, process: usize) {
        let Some(found) = &mut self.processes[process] else { return };
        {
            let mut model = self.model.lock().unwrap();
            if model.is_away || model.leader.is_some_and(|leader| leader != process) {
                return;
            }
            if model.leader.is_none() {
                (model.leader, model.terms) = (Some(process), model.terms + 1);
            }
        }
        found.leads_with = None;
        if found.store.next_epoch().is_err() {
            return;
        }
        if self.random.one_in(10) {
            return self.kill(process);
        }
        let own = found.own.clone();
        let led = lead(&mut found.store, &own);
        if self.allowed.is_empty() {
            // The first one, which may not know that its file has arrived.
            self.allowed = self.model.lock().unwrap().file().into_iter().collect();
        }
        let Ok(led) = led else { return };
        self.seen.takeovers += 1;
        let file = match led {
            Led::Own => own,
            Led::Kept(kept) => {
                self.seen.with_another_file += 1;
                kept
            }
            Led::TooLarge(_) => panic!("no file is"),
        };
        (found.leads_with, found.in_doubt) = (Some(file.clone()), false);
        let kept = self.model().file().unwrap();
        assert!(self.allowed.contains(&kept), "{kept:?}: no operator wanted that: {:?}", self.allowed);
        assert_eq!(file, kept, "it leads with another file than the one that is kept");
        self.seen.led_all_the_same += u64::from(self.allowed.len() > 1 && self.allowed[1] == kept);
        self.allowed = vec![kept];
    }

    /// The one that acts, whether it leads or only believes so.
    fn acting(&mut self, process: usize) -> Option<&mut Process> {
        self.processes[process].as_mut().filter(|process| process.leads_with.is_some())
    }

    /// A change of grants, or none, which takes back what is in doubt.
    fn change(&mut self, process: usize, changes: &[Change]) {
        let Some(acting) = self.acting(process) else { return };
        match acting.store.change(changes) {
            Ok(()) => {
                if std::mem::take(&mut acting.in_doubt) {
                    self.seen.taken_back += 1;
                }
                self.allowed.truncate(1);
            }
            Err(_) if self.model().leader != Some(process) => {
                self.seen.fenced += 1;
                self.processes[process].as_mut().unwrap().leads_with = None;
            }
            Err(_) => {}
        }
    }

    fn admit_or_release(&mut self, process: usize) {
        let port = self.random.below_u64(12);
        let Some(acting) = self.acting(process) else { return };
        let has = acting.store.known.contains_key(&Key::Grant(port));
        if !has && !ports(acting.leads_with.as_ref().unwrap()).contains(&port) {
            return;
        }
        self.change(process, &[(Key::Grant(port), (!has).then(|| vec![1]))]);
    }

    /// An operator lets a manager read its file again.
    fn reload(&mut self, process: usize) {
        let file = self.disks[process].clone();
        let Some(acting) = self.acting(process) else { return };
        let grants = acting.store.known.keys().filter_map(|key| match key {
            Key::Grant(port) => Some(*port),
            _ => None,
        });
        if !grants.collect::<BTreeSet<_>>().is_subset(&ports(&file)) {
            return;
        }
        match change(&mut acting.store, file.clone()) {
            Ok(()) => {
                acting.own.clone_from(&file);
                // It crashes, or goes on.
                acting.leads_with = None;
                self.allowed = vec![file];
                self.seen.changed += 1;
                match self.random.below(3) {
                    0 => self.kill(process),
                    1 => {}
                    _ => self.campaign(process),
                }
            }
            Err(_) => {
                acting.in_doubt = true;
                // What was in doubt before may still have come, if this has not.
                if self.model().leader == Some(process) {
                    self.allowed.push(file);
                } else {
                    self.processes[process].as_mut().unwrap().leads_with = None;
                }
            }
        }
    }

    fn step(&mut self) {
        let process = self.random.below(3);
        match self.random.below(16) {
            0 => self.kill(process),
            1 | 2 if self.processes[process].is_none() => self.start(process),
            // The lease of a leader that is stopped for a while ends.
            3 => self.model().leader = None,
            4 => {
                let is_away = self.random.one_in(3);
                self.model().is_away = is_away;
            }
            5 => self.model().loses_answer = true,
            6 | 7 => self.disks[process] = some_file(&mut self.random),
            8 | 9 => self.reload(process),
            10 => self.change(process, &[]),
            11 | 12 => {
                let acts = self.processes[process].as_ref().is_some_and(|found| found.leads_with.is_some());
                if !acts {
                    self.campaign(process);
                }
            }
            _ => self.admit_or_release(process),
        }
        self.judge();
    }

    fn judge(&self) {
        let model = self.model();
        let Some(file) = model.file() else {
            assert!(model.grants().is_empty());
            return;
        };
        let grants = model.grants();
        assert!(
            grants.is_subset(&ports(&file)),
            "a manager that leads now loses grants: {grants:?}, {file:?}"
        );
        assert!(self.allowed.contains(&file), "{file:?}: no operator wanted that: {:?}", self.allowed);
        for (index, process) in self.processes.iter().enumerate() {
            let Some(Process { leads_with: Some(leads_with), in_doubt, .. }) = process else { continue };
            if model.leader == Some(index) && !in_doubt {
                assert_eq!(*leads_with, file, "it goes on with another file than the one that is kept");
            }
        }
    }
}

/// Most of twelve ports.
fn some_file(random: &mut Random) -> Vec<u8> {
    (0..12).filter(|_| !random.one_in(4)).collect()
}

#[test]
fn whatever_crashes_the_file_that_leads_is_the_one_that_was_kept_and_no_grant_is_lost() {
    let mut all = Seen::default();
    for seed in tiers::current().seeds("control.lead_seeds") {
        let mut play = Play::new(seed);
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            (0..400).for_each(|_| play.step());
        }));
        assert!(played.is_ok(), "seed {seed}");
        let seen = play.seen;
        all.takeovers += seen.takeovers;
        all.with_another_file += seen.with_another_file;
        all.changed += seen.changed;
        all.led_all_the_same += seen.led_all_the_same;
        all.taken_back += seen.taken_back;
        all.fenced += seen.fenced;
    }
    // It happens what is to be judged.
    println!("{all:?}");
    let counts =
        [all.takeovers, all.with_another_file, all.changed, all.led_all_the_same, all.taken_back, all.fenced];
    assert!(counts.iter().all(|count| *count > 50), "{all:?}");
}

#[test]
fn a_file_that_is_too_large_is_not_kept_and_not_changed_to() {
    let model = Arc::new(Mutex::new(Model { leader: Some(0), ..Model::default() }));
    let mut store = Handle {
        model: Arc::clone(&model),
        process: 0,
        term: None,
        known: BTreeMap::new(),
        doubtful: BTreeSet::new(),
    };
    store.next_epoch().unwrap();
    let large = vec![1; MOST + 1];
    assert_eq!(lead(&mut store, &large).unwrap(), Led::TooLarge(MOST));
    assert!(change(&mut store, large.clone()).unwrap_err().to_string().contains("more than the 64"));
    assert_eq!(model.lock().unwrap().file(), None);
    // Of one that is kept the next leader goes by that, however large its own is.
    change(&mut store, vec![2]).unwrap();
    store.next_epoch().unwrap();
    assert_eq!(lead(&mut store, &large).unwrap(), Led::Kept(vec![2]));
}

#[test]
fn a_store_of_one_manager_keeps_no_file() {
    let mut store = store::MemoryStore::default();
    store.next_epoch().unwrap();
    assert_eq!(lead(&mut store, b"own").unwrap(), Led::Own);
    change(&mut store, b"other".to_vec()).unwrap();
    assert_eq!(store.kept().unwrap(), []);
}
