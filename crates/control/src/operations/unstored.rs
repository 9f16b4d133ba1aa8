//! What has to be stored and could not be: it is tried again, so that the store comes to say what is so.
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::under_way::Operation;
use super::{Operations, Task, Timer};
use crate::action::{Done, StoreChange};
use crate::note::Note;

/// What has to be stored and could not be.
#[derive(Default, Debug)]
pub(super) struct Unstored {
    /// By what they are about.
    changes: BTreeMap<About, StoreChange>,
    /// Whether the last change that was to be stored was not.
    fails: bool,
    /// Whether the last grant that was to be stored was not: a store without room still takes out what it has.
    takes_no_grant: bool,
}

/// The subject of a stored record.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum About {
    Grant(u64),
    Switch(String),
}

impl StoreChange {
    /// The subjects of the change.
    fn subjects(&self) -> Vec<About> {
        match self {
            Self::Put(grant) => alloc::vec![About::Grant(grant.number)],
            Self::PutAll(grants) => grants.iter().map(|grant| About::Grant(grant.number)).collect(),
            Self::Remove(number) => alloc::vec![About::Grant(*number)],
            Self::Drain(drain) => alloc::vec![About::Switch(drain.switch.clone())],
            Self::Undrain(switch) => alloc::vec![About::Switch(switch.clone())],
        }
    }

    /// A change for each grant or switch.
    fn singly(self) -> Vec<Self> {
        match self {
            Self::PutAll(grants) => grants.into_iter().map(|grant| Self::Put(Box::new(grant))).collect(),
            Self::Put(_) | Self::Remove(_) | Self::Drain(_) | Self::Undrain(_) => alloc::vec![self],
        }
    }
}

impl Unstored {
    /// A change was not stored.
    pub(super) fn keep(&mut self, change: StoreChange) {
        for change in change.singly() {
            self.changes.extend(change.subjects().into_iter().map(|subject| (subject, change.clone())));
        }
    }
}

impl Operations {
    /// A change is to be stored when others are tried again.
    pub(crate) fn store_with_others(&mut self, change: StoreChange) {
        self.unstored.keep(change);
    }

    /// The store has answered what was to be changed: what that says of it, once for each change of that.
    pub(crate) fn store_answered(
        &mut self,
        now: Duration,
        change: &StoreChange,
        done: &Done,
    ) -> Option<Note> {
        if matches!(change, StoreChange::Put(_) | StoreChange::PutAll(_)) {
            self.unstored.takes_no_grant = *done != Done::Confirmed;
        }
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

    /// Whether it is doubtful that the store takes a grant: it has not taken the last one.
    pub(crate) const fn takes_no_grant(&self) -> bool {
        self.unstored.takes_no_grant
    }

    /// A change is on its way to the store, or there: what was to be stored of the same before is out of date.
    pub(crate) fn forget_unstored(&mut self, change: &StoreChange) {
        change.subjects().iter().for_each(|subject| drop(self.unstored.changes.remove(subject)));
    }

    /// Whether a switch is drained, or not any more, and that is not known to be stored.
    pub(crate) fn is_unstored(&self, switch: &str) -> bool {
        let is_about = |change: &StoreChange| match change {
            StoreChange::Drain(drain) => drain.switch == switch,
            StoreChange::Undrain(of) => of == switch,
            _ => false,
        };
        let mut under_way = self.under_way.values().flat_map(Operation::waiting);
        let is_task = |task: &Task| matches!(task, Task::Store { change, .. } if is_about(change));
        under_way.any(|(_, task)| is_task(task)) || self.unstored.changes.values().any(is_about)
    }

    /// What has to be stored and could not be, to be tried again.
    pub(crate) fn take_unstored(&mut self) -> Vec<Task> {
        let changes = core::mem::take(&mut self.unstored.changes).into_values();
        changes.map(|change| Task::Store { change, sure: true }).collect()
    }
}
