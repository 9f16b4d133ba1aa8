//! Sessions that follow an endpoint to another address: a session with the new address takes the place of the one before, which ends when the edges let
//! the new one in.
use alloc::vec::Vec;
use core::net::IpAddr;

use super::{Callers, Stage};
use crate::action::Action;
use crate::legs::{Context, Legs};
use crate::request::{QosAnswer, SessionRequest};
use crate::words::{Reason, Refusal, SessionId};

/// The same session with another address in the place of one; `None` if it has not the one, or has the other already.
fn moved(request: &SessionRequest, from: IpAddr, to: IpAddr) -> Option<SessionRequest> {
    let is_known = |address: IpAddr| request.caller == address || request.callees.contains(&address);
    if !is_known(from) || is_known(to) {
        return None;
    }
    let new = |address: &IpAddr| if *address == from { to } else { *address };
    let callees = request.callees.iter().map(new).collect();
    Some(SessionRequest { caller: new(&request.caller), callees, ..request.clone() })
}

impl Callers {
    /// An endpoint of a session has another address.
    pub(crate) fn relocate(
        &mut self,
        context: &mut Context<'_>,
        (ticket, id): (u64, SessionId),
        (from, to): (IpAddr, IpAddr),
    ) {
        let is_busy = self.is_moving(id);
        let reason = match self.sessions.get(&id).filter(|session| session.stage == Stage::Up) {
            None => Reason::UnknownSession,
            Some(session) if is_busy || session.extending.is_some() => Reason::Busy,
            Some(session) => match moved(&session.request, from, to) {
                Some(request) => {
                    let lasts = session.ends.saturating_sub(context.now);
                    return self.ask(context, ticket, SessionRequest { lasts, ..request }, Some(id));
                }
                None => Reason::Invalid,
            },
        };
        let answer = QosAnswer::Refused(context.refusal(reason));
        context.out.actions.push(Action::Answer { ticket, answer });
    }

    /// Another session is being set up to take the place of this one.
    pub(super) fn is_moving(&self, id: SessionId) -> bool {
        self.sessions.values().any(|other| other.replaces == Some(id))
    }

    /// A session is up: the one whose place it has taken ends.
    pub(super) fn end_moved(&mut self, context: &mut Context<'_>, legs: &mut Legs, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if let Some(before) = session.replaces.take() {
            let refusal = context.refusal(Reason::Moved(id));
            self.fail(context, legs, before, refusal);
        }
    }

    /// After a start: sessions of the store are let in, so those whose place they have taken end.
    pub(crate) fn resume(&mut self, context: &mut Context<'_>, legs: &mut Legs) {
        let now = context.now;
        let moved = self.sessions.iter().filter(|(_, session)| session.replaces.is_some());
        let moved = moved.filter(|(_, session)| session.grant.is_in_force(now));
        let moved: Vec<SessionId> = moved.map(|(id, _)| *id).collect();
        for id in moved {
            self.end_moved(context, legs, id);
        }
    }

    /// A session is over: what was to take its place is not wanted any more.
    pub(super) fn end_moves(
        &mut self,
        context: &mut Context<'_>,
        legs: &mut Legs,
        id: SessionId,
        refusal: &Refusal,
    ) {
        let moves = self.sessions.iter().filter(|(_, session)| session.replaces == Some(id));
        let moves: Vec<SessionId> = moves.map(|(id, _)| *id).collect();
        for other in moves {
            self.fail(context, legs, other, refusal.clone());
        }
    }
}
