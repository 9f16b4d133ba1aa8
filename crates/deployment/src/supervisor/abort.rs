//! A change that does not come about: what was started for it ends, and then all others take back what they did.
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::sync::Arc;

use super::change::{Purpose, Stage};
use super::{Incarnation, Supervisor};
use crate::protocol::Instruction;

impl Supervisor {
    /// The change does not come about.
    pub(super) fn abort(&mut self, now: u64, why: String) {
        let Some(change) = self.change.as_mut().filter(|change| change.is_open()) else { return };
        if matches!(change.purpose, Purpose::Stop(_)) {
            // A process that does not stop in order is ended all the same.
            change.notes.push(why);
            change.awaited.clear();
            change.deadline = now.saturating_add(self.patience);
            self.decide(now);
            return self.progress(now);
        }
        change.stage = Stage::Aborting;
        change.failure = Some(why);
        change.deadline = now.saturating_add(self.patience);
        change.waiting.clear();
        let fresh: BTreeSet<Incarnation> = change.fresh.values().copied().collect();
        change.takes_back = change.prepared.difference(&fresh).copied().collect();
        change.awaited.clone_from(&fresh);
        let target = Arc::clone(&change.target);
        self.end_in_order(&target.plan, &fresh);
        self.progress(now);
    }

    /// What was started for the change has ended: the others take back what they did.
    pub(super) fn take_back(&mut self) {
        let Some(change) = &mut self.change else { return };
        let epoch = change.epoch;
        change.awaited = core::mem::take(&mut change.takes_back);
        for of in change.awaited.clone() {
            self.send(of, Instruction::Abort { epoch });
        }
    }

    /// A request to stop takes back what can be taken back.
    pub(super) fn give_up(&mut self, now: u64) {
        self.leave_gate(now);
        if self.change.as_ref().is_some_and(|change| !matches!(change.purpose, Purpose::Stop(_))) {
            self.abort(now, "the plan is stopped".to_string());
        }
    }
}
