//! Two copies of a flow, over paths that have no domain in common but the first and the last. Each is a flow with an aggregate and a bound of its own. When
//! one is no more, its edge is shut and the other one goes on; a new one is asked for until a disjoint path grants it, and the session does not wait for it.
use alloc::vec::Vec;

use super::{Context, Legs, State};
use crate::action::Action;
use crate::message::{Body, SessionBody};
use crate::routes::{are_disjoint, candidates};
use crate::words::{Asn, LegId, Refusal};

/// Both ends hear of it.
pub(super) fn told(context: &mut Context<'_>, leg: LegId, said: Result<u64, Refusal>) {
    let own = context.config.asn;
    let other = if leg.session.origin == own { leg.peer } else { leg.session.origin };
    if other != own {
        let body = SessionBody::Copies { flow: leg.flow, said: said.clone() };
        context.out.send(other, Body::Session(leg.session, body));
    }
    context.out.actions.push(Action::Copies { leg, said });
}

impl Legs {
    /// The path of the other copy, if there is one.
    pub(super) fn beside(&self, id: LegId) -> Option<Vec<Asn>> {
        let other = self.legs.get(&id.other_copy()).filter(|other| other.state != State::Closing);
        other.map(|other| other.path.clone())
    }

    /// The session goes on without this one: the other copy is let in, on the way that it had.
    pub(crate) fn is_spare(&self, id: LegId) -> bool {
        let is_let_in = |state: State| matches!(state, State::Opening | State::Open);
        let other = self.legs.get(&id.other_copy());
        let goes_on = other.is_some_and(|other| {
            is_let_in(other.state) && !other.is_renewed && other.detour.is_none() && other.before.is_none()
        });
        let was_let_in = |leg: &super::Leg| leg.is_renewed || leg.state == State::Open;
        goes_on && self.legs.get(&id).is_some_and(was_let_in)
    }

    /// Gives up one copy. Whether it had been let in before: then the record of its session changes.
    pub(crate) fn lose(&mut self, context: &mut Context<'_>, id: LegId, refusal: Refusal) -> bool {
        let Some(leg) = self.legs.get(&id) else { return false };
        let (is_renewed, is_recorded) = (leg.is_renewed, leg.state != State::Joining);
        self.close_one(context, id);
        let again = context.now.saturating_add(context.config.limits.refresh);
        if let Some(other) = self.legs.get_mut(&id.other_copy()) {
            other.next_copy = again;
        }
        if !is_renewed {
            told(context, id, Err(refusal));
        }
        is_recorded
    }

    /// Copies that are asked for again, because the other one is alone.
    fn alone(&self) -> impl Iterator<Item = (LegId, u64)> {
        let alone = self.legs.iter().filter(|(id, leg)| {
            let is_let_in = leg.state == State::Open && leg.detour.is_none();
            leg.flow.copies == 2 && is_let_in && !self.legs.contains_key(&id.other_copy())
        });
        alone.map(|(id, leg)| (id.other_copy(), leg.next_copy))
    }

    /// Asks for copies that are missing, where another disjoint path is told.
    pub(crate) fn renew(&mut self, context: &mut Context<'_>) {
        let due: Vec<LegId> = self.alone().filter(|(_, at)| *at <= context.now).map(|(id, _)| id).collect();
        for id in due {
            let Some(other) = self.legs.get_mut(&id.other_copy()) else { continue };
            other.next_copy = context.now.saturating_add(context.config.limits.refresh);
            let (flow, addresses, beside) = (other.flow, other.addresses.clone(), other.path.clone());
            let Some(destination) = beside.last().copied() else { continue };
            let own = context.config.asn;
            let found = candidates(own, context.paths, destination, flow.class, flow.limit);
            let mut others = found.unwrap_or_default();
            others.retain(|path| are_disjoint(path, &beside));
            if !others.is_empty() {
                let path = others.remove(0);
                self.begin(context, id, (flow, addresses), (path, others), true);
            }
        }
    }

    /// When that is due.
    pub(super) fn renewal_due(&self) -> u64 {
        self.alone().map(|(_, at)| at).min().unwrap_or(u64::MAX)
    }
}
