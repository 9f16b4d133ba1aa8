//! Readers of one writer that have come to be served by several flows, since there was no room for one, or it was being changed: they are
//! united once something has become free. A link that carried the writer's samples twice carries them once then.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use wire::Guid;

use crate::action::Pair;
use crate::losses::Role;
use crate::operations::Timer;
use crate::reservations::{Granted, suits};
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// Pairs with a flow of their own whose writer has other flows, and that have not been looked at since the last change.
    pub(crate) fn apart(&self) -> Vec<Pair> {
        let mut flows = BTreeMap::<Guid, usize>::new();
        for grant in self.reservations.all().filter(|grant| !grant.is_leaving()) {
            *flows.entry(grant.writer).or_default() += 1;
        }
        let is_one_of_many =
            |grant: &&Granted| is_single(grant) && flows.get(&grant.writer).is_some_and(|flows| *flows > 1);
        let of_grant = |grant: &Granted| -> Vec<Pair> {
            let unseen = |pair: &&Pair| self.requests.is_unseen(**pair);
            let settled = grant.pairs.iter().filter(|pair| self.requests.is_settled(**pair, grant.number));
            settled.filter(unseen).copied().collect()
        };
        self.reservations.all().filter(is_one_of_many).flat_map(of_grant).collect()
    }

    /// Serves a pair that has a flow of its own by a tree of its writer, if that can be. Until then, and if not, it keeps what it has.
    pub(crate) fn unite(&mut self, now: Duration, pair: Pair) {
        let Some(own) = self.requests.get(pair).and_then(|asked| asked.grant) else { return };
        if !self.requests.is_settled(pair, own) {
            return;
        }
        let (Some(grant), Ok(mut wish)) =
            (self.reservations.get(own).filter(|own| is_single(own)), self.examine(pair))
        else {
            return;
        };
        if let Some(end) = grant.ends.first() {
            // What it is promised it keeps.
            wish.goals.iter_mut().for_each(|goal| goal.tighten(end.promised, 0));
        }
        let is_sibling = |other: &&Granted| {
            let same =
                (other.writer, other.source, other.contract) == (grant.writer, grant.source, grant.contract);
            same && other.number != own && !other.is_leaving()
        };
        let siblings: Vec<&Granted> = self.reservations.all().filter(is_sibling).collect();
        let is_changing = |other: &&Granted| !other.is_held() || self.reservations.is_entangled(other.number);
        if siblings.iter().any(is_changing) {
            return self.look_later(now);
        }
        let tree = siblings
            .iter()
            .find(|other| other.is_tree())
            .map(|tree| (tree.number, self.requests.are_served_by(&tree.pairs, tree.number)));
        let there = tree.and_then(|(number, _)| {
            let ends = &self.reservations.get(number)?.ends;
            let at = ends.iter().position(|end| end.to == wish.destination)?;
            Some((at, suits(ends.get(at), &wish)))
        });
        let begun = match (tree, there) {
            _ if siblings.is_empty() || self.requests.is_alone(now, pair) => Some(false),
            (Some((_, false)), _) => None,
            (Some(_), Some((_, false))) => Some(false),
            (Some((number, true)), Some((at, true))) => {
                self.join(now, number, pair, at);
                Some(true)
            }
            (Some((number, true)), None) => Some(self.graft(now, number, &wish, Some(own))),
            (None, _) => match self.found_tree(now, &wish, Some(own)) {
                Some(false) => None,
                begun => Some(begun.is_some()),
            },
        };
        let Some(begun) = begun else { return self.look_later(now) };
        let until = now.saturating_add(self.config.grace);
        self.requests.note_union(pair, begun.then_some(until));
    }

    /// Something is being changed: it is looked at again when that is over.
    fn look_later(&mut self, now: Duration) {
        let at = now.saturating_add(self.config.retry_interval);
        self.requests.look_by(at);
        self.operations.wake(at, Timer::Look);
    }
}

/// Whether it is in force, and no tree.
fn is_single(grant: &Granted) -> bool {
    grant.is_held() && !grant.is_tree() && grant.aggregate.is_none() && grant.role == Role::Alone
}
