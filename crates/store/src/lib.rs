//! What survives a restart of a manager: the epoch; of a resource manager the grants, which switches are drained, and the network file that
//! managers share; of an execution manager the deployments; of the manager of a domain what it holds of sessions over several domains.
//!
//! [`Store`] is the trait. [`FileStore`] keeps one file, [`MemoryStore`] nothing; [`EtcdStore`] keeps all in etcd, which several managers of a
//! network share: one of them leads, and only that one changes anything ([`leadership`]). A change is kept when the call returns.
#![forbid(unsafe_code)]

mod etcd;
mod file;
pub mod leadership;
mod memory;
pub mod network_file;

use std::collections::BTreeMap;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

pub use etcd::{Address, EtcdStore, read_answer};
pub use file::FileStore;
pub use memory::MemoryStore;

/// Keeps grants, and what else a manager that begins has to know.
pub trait Store: Send {
    /// The epoch of this start: larger than that of every start before, and no smaller than the milliseconds since 1970, so that this holds for
    /// a store that was lost and made anew, too.
    ///
    /// # Errors
    /// [`StoreError`].
    fn next_epoch(&mut self) -> Result<u64, StoreError>;

    /// All that is kept, as it was when [`Self::next_epoch`] was called, with the changes since; in the order of the keys.
    ///
    /// # Errors
    /// [`StoreError`].
    fn kept(&self) -> Result<Vec<(Key, Vec<u8>)>, StoreError>;

    /// All grants of [`Self::kept`], by number.
    ///
    /// # Errors
    /// [`StoreError`].
    fn grants(&self) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        let grant = |(key, grant)| match key {
            Key::Grant(number) => Some((number, grant)),
            Key::Drain(_) | Key::Network | Key::Deployment(_) | Key::Interdomain(_) => None,
        };
        Ok(self.kept()?.into_iter().filter_map(grant).collect())
    }

    /// Keeps things, each in place of the former one of its key, or forgets them; in this order, all or none.
    ///
    /// # Errors
    /// [`StoreError`]; nothing has changed then. Where it is not known whether a change has arrived, the next one that succeeds undoes it.
    fn change(&mut self, changes: &[Change]) -> Result<(), StoreError>;

    /// The most changes that one call of [`Self::change`] takes.
    fn most_changes(&self) -> usize {
        usize::MAX
    }

    /// The most bytes of a network file that one call of [`Self::change`] takes beside what else it may have to write.
    fn most_bytes_of_network(&self) -> usize {
        usize::MAX
    }

    /// What tells this store from any other one, if several processes may share it and it is known by now. To ask costs nothing.
    fn identity(&self) -> Option<String> {
        None
    }

    /// What is kept under a key makes no sense to the caller: an error that says so, and how it is taken out of the store.
    fn unreadable(&self, _key: &Key, what: &str) -> StoreError {
        StoreError::new(self.place(), what)
    }

    /// What this process may do with the store now. To ask costs nothing.
    fn standing(&self) -> Standing {
        Standing::Alone
    }

    /// This process acts no longer as the leader, and wants to lead again. Until this is called one that has lost the lead does not try to.
    fn stand_by(&mut self) {}

    /// What is wrong with the store at the moment, in words, if that is known without asking it for something.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Where it is, for people.
    fn place(&self) -> String;
}

/// What a process may do with a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// The store has one process, which is this one.
    Alone,
    /// Of the processes that share the store this one leads.
    Leads,
    /// It leads, as far as is known, and cannot make sure of that in time: another one may lead. It must not act.
    Unsure,
    /// Another one leads, which is named if that is known.
    StandsBy(Option<String>),
}

/// Under what something is kept.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    /// A grant, by its number.
    Grant(u64),
    /// That a switch of this name is drained.
    Drain(String),
    /// The network file that leads: [`network_file`].
    Network,
    /// A deployment of this name.
    Deployment(String),
    /// What the resource manager of a domain holds of sessions over several domains, by a name that it gives.
    Interdomain(String),
}

/// Something to be kept, by its key; without a value that of the key is to be forgotten, if there is any.
pub type Change = (Key, Option<Vec<u8>>);

/// Why the store does not work, and what to do.
#[derive(Debug)]
pub struct StoreError {
    /// The place.
    place: String,
    /// What happened, and what to do.
    what: String,
    passes: bool,
}

impl StoreError {
    fn new(place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self { place: place.to_string(), what: what.to_string(), passes: false }
    }

    /// Whether it may be over without anybody doing something here: what is shared is away, or another process leads.
    pub const fn passes(&self) -> bool {
        self.passes
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store {} does not work: {}", self.place, self.what)
    }
}

impl std::error::Error for StoreError {}

/// Changes as they are in memory.
fn keep(all: &mut BTreeMap<Key, Vec<u8>>, changes: &[Change]) {
    for (key, value) in changes {
        match value {
            Some(value) => all.insert(key.clone(), value.clone()),
            None => all.remove(key),
        };
    }
}

/// All that there is, as [`Store::kept`] gives it.
fn listed(all: &BTreeMap<Key, Vec<u8>>) -> Vec<(Key, Vec<u8>)> {
    all.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The epoch after that of the last start.
fn next_epoch_after(last: u64) -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = since.map_or(1, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    last.saturating_add(1).max(now)
}
