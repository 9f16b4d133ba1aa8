//! What survives a restart of a resource manager: the epoch and the grants.
//!
//! [`Store`] is the trait. [`FileStore`] keeps one file, [`MemoryStore`] nothing; [`EtcdStore`] keeps all in etcd, which several managers of a
//! network share: one of them leads, and only that one changes anything ([`leadership`]). A change is kept when the call returns.
#![forbid(unsafe_code)]

mod etcd;
mod file;
pub mod leadership;
mod memory;

use std::collections::BTreeMap;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

pub use etcd::{Address, EtcdStore};
pub use file::FileStore;
pub use memory::MemoryStore;

/// Keeps grants.
pub trait Store: Send {
    /// The epoch of this start: larger than that of every start before, and no smaller than the milliseconds since 1970, so that this holds for
    /// a store that was lost and made anew, too.
    ///
    /// # Errors
    /// [`StoreError`].
    fn next_epoch(&mut self) -> Result<u64, StoreError>;

    /// All grants, by number, as they were kept when [`Self::next_epoch`] was called, with the changes since.
    ///
    /// # Errors
    /// [`StoreError`].
    fn grants(&self) -> Result<Vec<(u64, Vec<u8>)>, StoreError>;

    /// Keeps grants, each in place of the former one of its number, or forgets them; in this order, all or none.
    ///
    /// # Errors
    /// [`StoreError`]; nothing has changed then. Where it is not known whether a change has arrived, the next one that succeeds undoes it.
    fn change(&mut self, changes: &[Change]) -> Result<(), StoreError>;

    /// The most changes that one call of [`Self::change`] takes.
    fn most_changes(&self) -> usize {
        usize::MAX
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

/// A grant to be kept, by its number; without one that of the number is to be forgotten, if there is any.
pub type Change = (u64, Option<Vec<u8>>);

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
fn keep(all: &mut BTreeMap<u64, Vec<u8>>, changes: &[Change]) {
    for (number, grant) in changes {
        match grant {
            Some(grant) => all.insert(*number, grant.clone()),
            None => all.remove(number),
        };
    }
}

/// The epoch after that of the last start.
fn next_epoch_after(last: u64) -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = since.map_or(1, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    last.saturating_add(1).max(now)
}
