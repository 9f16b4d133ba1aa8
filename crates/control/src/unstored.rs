//! What has to be stored and could not be: it is tried again, so that the store comes to say what is so.
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use crate::action::{Done, StoreChange};
use crate::grant::Grant;
use crate::note::Note;
use crate::resource_manager::ResourceManager;
use crate::state::{Kind, Step, Task, Timer};

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

impl ResourceManager {
    /// A change that has to be stored was not.
    pub(crate) fn store_later(&mut self, now: Duration, change: StoreChange) {
        self.timers.insert((now.saturating_add(self.config.grace), Timer::Store));
        for change in change.singly() {
            self.unstored.extend(change.numbers().into_iter().map(|number| (number, change.clone())));
        }
    }

    /// The store has answered: what that says of it, once for each change of that.
    pub(crate) fn store_answered(&mut self, now: Duration, done: &Done) {
        match done {
            Done::Failed(reason) | Done::Full(_, reason) if !self.store_fails => {
                self.store_fails = true;
                self.note(Note::NotStored(reason.clone()));
            }
            Done::Confirmed if self.store_fails => {
                self.store_fails = false;
                self.note(Note::StoreWorks);
                // What has waited for that is stored now.
                self.timers.insert((now, Timer::Store));
            }
            Done::Failed(_) | Done::Full(..) | Done::Confirmed => {}
        }
    }

    /// Pairs may have come and gone since it was planned what is to be stored of their grant.
    pub(crate) fn renew_pairs(&self, stored: &mut Grant) {
        if let Some(grant) = self.grants.get(&stored.number) {
            stored.pairs = self.to_store(grant).pairs;
        }
    }

    /// A change is on its way to the store, or there: what was to be stored of its grant before is out of date.
    pub(crate) fn is_outdated(&mut self, change: &StoreChange) {
        change.numbers().iter().for_each(|number| drop(self.unstored.remove(number)));
    }

    /// Tries again.
    pub(crate) fn store_again(&mut self, now: Duration) {
        let changes = core::mem::take(&mut self.unstored).into_values();
        let tasks: Vec<Task> = changes.map(|change| Task::Store { change, sure: true }).collect();
        if !tasks.is_empty() {
            self.start(now, Kind::Store, alloc::vec![Step::of(tasks)]);
        }
    }
}
