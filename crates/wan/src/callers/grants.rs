//! What an AAA server grants: asked for before anything is reserved, in force as long as anything is, and ended when edges are shut.
use alloc::vec::Vec;

use super::{Callers, Session, Stage};
use crate::action::Action;
use crate::config::Config;
use crate::legs::{Context, Legs};
use crate::record::{Key, OwnSession, Record};
use crate::words::{Reason, Refusal, SessionId, Text};

/// The grant of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Grant {
    /// None is needed.
    NotNeeded,
    /// It is asked for.
    Asked,
    /// It is in force until then.
    Until(u64),
    /// The store has a session that no server was asked for.
    Never,
}

impl Grant {
    /// Something may be reserved now.
    pub(super) fn is_in_force(self, now: u64) -> bool {
        match self {
            Self::NotNeeded => true,
            Self::Until(until) => now < until,
            Self::Asked | Self::Never => false,
        }
    }

    /// When the session ends without another one.
    pub(super) fn ends(self) -> u64 {
        match self {
            Self::NotNeeded | Self::Asked => u64::MAX,
            Self::Until(until) => until,
            Self::Never => 0,
        }
    }

    /// What a record says of it.
    pub(super) fn recorded(self) -> Option<u64> {
        match self {
            Self::Until(until) => Some(until),
            Self::NotNeeded | Self::Asked | Self::Never => None,
        }
    }

    /// The server knows of the session.
    fn is_asked(self) -> bool {
        matches!(self, Self::Asked | Self::Until(_))
    }
}

impl Callers {
    /// Whether a session of the store has the grant that it needs.
    pub(crate) fn may_go_on(now: u64, config: &Config, record: &OwnSession) -> bool {
        !config.needs_grants || record.grant.is_some_and(|until| now < until)
    }

    /// The AAA server has decided, has renewed its grant, or ends the session.
    pub(crate) fn granted(
        &mut self,
        context: &mut Context<'_>,
        legs: &mut Legs,
        id: SessionId,
        said: Result<u64, Reason>,
    ) {
        let Some(session) = self.sessions.get_mut(&id).filter(|session| session.grant.is_asked()) else {
            return;
        };
        let until = match said {
            Ok(until) if context.now < until => until,
            Ok(_) => return self.fail_with(context, legs, id, Reason::GrantOver),
            Err(reason) => return self.fail_with(context, legs, id, reason),
        };
        if session.grant == Grant::Until(until) {
            return;
        }
        session.grant = Grant::Until(until);
        match session.stage {
            Stage::Authorizing => self.negotiate(context, id),
            Stage::Negotiating | Stage::Reserving => {}
            // A start goes by what is in the store. Nothing waits for this: what is there already ends sooner.
            Stage::Storing(_) | Stage::Accounting | Stage::Opening | Stage::Up => {
                let record = session.latest(legs, id);
                context.out.store(Key::Own(id), Some(Record::Own(record)));
            }
        }
    }

    /// The first record of a session is durable: its flows may be let in.
    pub(crate) fn accounted(&mut self, context: &mut Context<'_>, legs: &mut Legs, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id).filter(|session| session.stage == Stage::Accounting)
        else {
            return;
        };
        if !session.grant.is_in_force(context.now) {
            return self.fail_with(context, legs, id, Reason::GrantOver);
        }
        session.stage = Stage::Opening;
        legs.open(context.out, id);
        self.proceed(context, legs, id);
    }

    /// Why a session that has waited long enough is given up.
    pub(super) fn late(stage: Stage) -> Reason {
        match stage {
            Stage::Authorizing => Reason::AaaUnavailable(Text::fitting("no answer in time")),
            Stage::Accounting => {
                Reason::AaaUnavailable(Text::fitting("its first record is not stored in time"))
            }
            _ => Reason::NoAnswer,
        }
    }

    fn fail_with(&mut self, context: &mut Context<'_>, legs: &mut Legs, id: SessionId, reason: Reason) {
        let refusal = context.refusal(reason);
        self.fail(context, legs, id, refusal);
    }

    /// The grant of a session ends when its edges are shut, and when a crash cannot bring it back any more.
    pub(super) fn ungrant(
        &mut self,
        id: SessionId,
        session: &Session,
        refusal: Refusal,
        forgotten: Option<u64>,
    ) {
        if session.grant.is_asked() {
            self.ungranting.insert(id, (refusal, forgotten));
        }
    }

    /// The store has done something.
    pub(super) fn forgotten(&mut self, ticket: u64) {
        for (_, waits) in self.ungranting.values_mut() {
            waits.take_if(|other| *other == ticket);
        }
    }

    /// Ends the grants of sessions of which nothing is left.
    pub(crate) fn end_grants(&mut self, context: &mut Context<'_>, legs: &Legs) {
        let is_over =
            |(id, (_, waits)): &(&SessionId, &(Refusal, Option<u64>))| waits.is_none() && !legs.has_any(**id);
        let over: Vec<SessionId> = self.ungranting.iter().filter(is_over).map(|(id, _)| *id).collect();
        for session in over {
            if let Some((refusal, _)) = self.ungranting.remove(&session) {
                context.out.actions.push(Action::EndGrant { session, refusal });
            }
        }
    }
}
