//! What has to be stored and could not be: it is tried again, so that the store comes to say what is so.
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use super::{Operations, Task, Timer};
use crate::action::{Done, StoreChange};
use crate::note::Note;

/// What has to be stored and could not be.
#[derive(Default, Debug)]
pub(super) struct Unstored {
    /// By the number of the grant.
    changes: BTreeMap<u64, StoreChange>,
    /// Whether the last change that was to be stored was not.
    fails: bool,
}

impl StoreChange {
    /// The numbers of the grants that it is about.
    fn numbers(&self) -> Vec<u64> {
        match self {
            Self::Put(grant) => alloc::vec![grant.number],
            Self::PutAll(grants) => grants.iter().map(|grant| grant.number).collect(),
            Self::Remove(number) => alloc::vec![*number],
        }
    }

    /// A change for each grant.
    fn singly(self) -> Vec<Self> {
        match self {
            Self::PutAll(grants) => grants.into_iter().map(|grant| Self::Put(Box::new(grant))).collect(),
            Self::Put(_) | Self::Remove(_) => alloc::vec![self],
        }
    }
}

impl Unstored {
    /// A change was not stored.
    pub(super) fn keep(&mut self, change: StoreChange) {
        for change in change.singly() {
            self.changes.extend(change.numbers().into_iter().map(|number| (number, change.clone())));
        }
    }
}

impl Operations {
    /// A change is to be stored when others are tried again.
    pub(crate) fn store_with_others(&mut self, change: StoreChange) {
        self.unstored.keep(change);
    }

    /// The store has answered: what that says of it, once for each change of that.
    pub(crate) fn store_answered(&mut self, now: Duration, done: &Done) -> Option<Note> {
        match done {
            Done::Failed(reason) | Done::Full(_, reason) if !self.unstored.fails => {
                self.unstored.fails = true;
                Some(Note::NotStored(reason.clone()))
            }
            Done::Confirmed if self.unstored.fails => {
                self.unstored.fails = false;
                // What has waited for that is stored now.
                self.wake(now, Timer::Store);
                Some(Note::StoreWorks)
            }
            Done::Failed(_) | Done::Full(..) | Done::Confirmed => None,
        }
    }

    /// A change is on its way to the store, or there: what was to be stored of its grant before is out of date.
    pub(crate) fn forget_unstored(&mut self, change: &StoreChange) {
        change.numbers().iter().for_each(|number| drop(self.unstored.changes.remove(number)));
    }

    /// What has to be stored and could not be, to be tried again.
    pub(crate) fn take_unstored(&mut self) -> Vec<Task> {
        let changes = core::mem::take(&mut self.unstored.changes).into_values();
        changes.map(|change| Task::Store { change, sure: true }).collect()
    }
}
