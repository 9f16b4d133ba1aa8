//! Which resource manager is asked, and that it is asked for everything.
use alloc::vec::Vec;

use wire::admission::State;
use wire::{EntityId, Guid, GuidPrefix, Instant};

use super::super::Action;
use super::super::pair::{Pair, Side};
use super::super::verdict::Grant;
use super::Gate;

impl Gate {
    /// Discovery has found a writer of verdicts: its participant counts as a resource manager.
    pub fn manager_found(&mut self, now: Instant, writer: Guid) {
        if self.managers.found(writer) {
            self.ask_again(now);
        }
    }

    /// Discovery has lost a writer of verdicts. What its manager has granted holds for its lease.
    pub fn manager_lost(&mut self, now: Instant, writer: Guid) {
        if self.managers.lost(writer) {
            self.ask_again(now);
        }
    }

    /// The manager that is asked has begun anew: all is asked again.
    pub fn ask_anew(&mut self, now: Instant) {
        self.ask_again(now);
    }

    /// Whether a verdict of a manager in this participant counts for a pair: it is asked, or has granted what the pair has.
    pub(super) fn counts(&self, pair: &Pair, from: GuidPrefix) -> bool {
        self.asked_for(pair) == Some(from) || pair.grant.as_ref().is_some_and(|grant| grant.manager == from)
    }

    /// The manager that is asked for a flow of a pair. The reader's participant decides that for both.
    pub(super) const fn asked_for(&self, pair: &Pair) -> Option<GuidPrefix> {
        match pair.side {
            Side::Writer { manager: Some(manager), .. } => Some(manager),
            _ => self.managers.asked(),
        }
    }

    /// Whether some local reader has a grant of the manager that is asked.
    pub(super) fn has_grants(&self) -> bool {
        let is_its = |grant: &Grant| Some(grant.manager) == self.managers.asked();
        let readers = self.pairs.values().filter(|pair| matches!(pair.side, Side::Reader { .. }));
        readers.filter_map(|pair| pair.grant.as_ref()).any(is_its)
    }

    /// Another manager is asked from now on, for all that was asked before.
    pub(super) fn ask_again(&mut self, now: Instant) {
        let manager = named(self.managers.asked());
        let all: Vec<(EntityId, Guid)> = self.pairs.keys().copied().collect();
        for key in all {
            let Some(pair) = self.pairs.get_mut(&key) else { continue };
            let Side::Reader { request: Some(request), .. } = &mut pair.side else { continue };
            if request.maximum_latency == 0 {
                continue;
            }
            request.manager = manager;
            self.actions.push_back(Action::Ask(request.clone()));
            self.managers.expect_answer(now, self.patience);
            pair.is_taken_up = false;
            if pair.state == State::Pending {
                pair.patience_at = now.after(self.patience);
            }
        }
    }
}

/// The participant of a manager, as requests name it.
pub(super) fn named(manager: Option<GuidPrefix>) -> [u8; 16] {
    manager.map_or([0; 16], |prefix| Guid::new(prefix, EntityId::PARTICIPANT).to_bytes())
}
