//! Sessions of callers of other domains with callees in this one: soft state that the caller's domain keeps alive.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::action::{Action, Out};
use crate::backend::Addresses;
use crate::callers::agrees;
use crate::legs::{Context, Legs, Progress};
use crate::message::{Body, Establish, SessionBody};
use crate::record::{HostedSession, Key, Record};
use crate::request::{FlowRequest, MOST_CALLEES, flows_are_valid};
use crate::words::{Asn, Direction, LegId, Reason, Refusal, SessionId};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Callees are asked.
    Asking,
    /// They have agreed.
    Agreed,
    /// Flows that leave this domain are reserved.
    Reserving,
    Storing(u64),
    Opening,
    Up,
}

#[derive(Debug)]
struct Session {
    asked: Establish,
    /// What callees agreed to, and later what was committed.
    rates: Vec<u64>,
    stage: Stage,
    /// Of the last commit.
    echo: u64,
    expires: u64,
}

/// All sessions with callees of this domain.
#[derive(Debug, Default)]
pub(crate) struct Callees {
    sessions: BTreeMap<SessionId, Session>,
    /// Why sessions have ended, and until when that is known: a late message does not begin one again, and what was lost is said again.
    ended: BTreeMap<SessionId, (Refusal, u64)>,
}

impl Session {
    fn record(&self, legs: &Legs, id: SessionId) -> HostedSession {
        HostedSession {
            caller: self.asked.caller,
            callees: self.asked.callees.clone(),
            flows: self.asked.flows.clone(),
            rates: self.rates.clone(),
            legs: legs.records(id),
        }
    }
}

fn tell(out: &mut Out, id: SessionId, body: SessionBody) {
    out.send(id.origin, Body::Session(id, body));
}

impl Callees {
    /// The caller's domain asks whether callees take part.
    pub(crate) fn establish(&mut self, context: &mut Context<'_>, id: SessionId, asked: Establish) {
        let (config, now) = (context.config, context.now);
        let expires = now.saturating_add(config.limits.lifetime);
        if let Some(session) = self.sessions.get_mut(&id) {
            if session.asked == asked && session.stage == Stage::Agreed {
                session.expires = expires;
                tell(context.out, id, SessionBody::Established(Ok(session.rates.clone())));
            }
            return;
        }
        if let Some((refusal, _)) = self.ended.get(&id) {
            return tell(context.out, id, SessionBody::Established(Err(refusal.clone())));
        }
        let is_callers = config.owner(asked.caller) == Some(id.origin) && id.origin != config.asn;
        let is_callees = asked.callees.iter().all(|callee| config.owner(*callee) == Some(config.asn));
        let counts =
            !asked.callees.is_empty() && asked.callees.len() <= MOST_CALLEES && !asked.flows.is_empty();
        let reason = if !is_callers || !is_callees || !counts || !flows_are_valid(&asked.flows) {
            Some(Reason::Invalid)
        } else if self.sessions.len() >= config.limits.most_hosted {
            Some(Reason::Busy)
        } else {
            None
        };
        if let Some(reason) = reason {
            let refusal = context.refusal(reason);
            return tell(context.out, id, SessionBody::Established(Err(refusal)));
        }
        context.out.actions.push(Action::AskCallee {
            session: id,
            caller: asked.caller,
            callees: asked.callees.clone(),
            flows: asked.flows.clone(),
        });
        self.sessions
            .insert(id, Session { asked, rates: Vec::new(), stage: Stage::Asking, echo: 0, expires });
    }

    /// Callees have decided.
    pub(crate) fn callee_answer(
        &mut self,
        context: &mut Context<'_>,
        id: SessionId,
        rates: Option<Vec<u64>>,
    ) {
        let Some(session) = self.sessions.get_mut(&id).filter(|session| session.stage == Stage::Asking)
        else {
            return;
        };
        match rates.filter(|rates| agrees(&session.asked.flows, rates)) {
            Some(rates) => {
                session.rates.clone_from(&rates);
                session.stage = Stage::Agreed;
                tell(context.out, id, SessionBody::Established(Ok(rates)));
            }
            None => {
                self.sessions.remove(&id);
                let refusal = context.refusal(Reason::CalleeRefused);
                self.remember(context, id, refusal.clone());
                tell(context.out, id, SessionBody::Established(Err(refusal)));
            }
        }
    }

    /// The caller's domain wants the flows that leave here, or keeps them alive.
    pub(crate) fn commit(
        &mut self,
        context: &mut Context<'_>,
        legs: &mut Legs,
        id: SessionId,
        (echo, rates): (u64, Vec<u64>),
    ) {
        let Some(session) = self.sessions.get_mut(&id) else {
            let known = self.ended.get(&id).map(|(refusal, _)| refusal.clone());
            let refusal = known.unwrap_or_else(|| context.refusal(Reason::UnknownSession));
            return tell(context.out, id, SessionBody::Ended(refusal));
        };
        session.expires = context.now.saturating_add(context.config.limits.lifetime);
        session.echo = session.echo.max(echo);
        match session.stage {
            Stage::Asking => return,
            Stage::Agreed => {}
            _ if session.rates != rates => {
                let refusal = context.refusal(Reason::Invalid);
                return self.fail(context, legs, id, refusal);
            }
            Stage::Up => return tell(context.out, id, SessionBody::Committed { echo }),
            _ => return,
        }
        if !agrees(&session.asked.flows, &rates) {
            let refusal = context.refusal(Reason::Invalid);
            return self.fail(context, legs, id, refusal);
        }
        if rates.iter().zip(&session.rates).any(|(rate, agreed)| rate > agreed) {
            // After a start, a late message asked callees once more. What they agreed to before is not known.
            let refusal = context.refusal(Reason::UnknownSession);
            return self.fail(context, legs, id, refusal);
        }
        session.rates = rates;
        session.stage = Stage::Reserving;
        let mut wanted = Vec::new();
        for (at, (flow, rate)) in session.asked.flows.iter().zip(&session.rates).enumerate() {
            if flow.direction == Direction::Reverse {
                let flow_number = u8::try_from(at).unwrap_or(u8::MAX);
                let leg = LegId { session: id, flow: flow_number, peer: context.config.asn };
                let addresses = Addresses::of(flow.direction, session.asked.caller, &session.asked.callees);
                wanted.push((leg, *flow, addresses, *rate));
            }
        }
        for (leg, flow, addresses, rate) in wanted {
            if let Err(refusal) = legs.start(context, leg, (&flow, addresses), rate, id.origin) {
                return self.fail(context, legs, id, refusal);
            }
        }
        self.proceed(context, legs, id);
    }

    /// Goes on where what was waited for is there.
    pub(crate) fn proceed(&mut self, context: &mut Context<'_>, legs: &mut Legs, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let progress = legs.progress(id);
        match session.stage {
            Stage::Reserving if progress != Progress::Under => {
                let record = session.record(legs, id);
                let ticket = context.out.store(Key::Hosted(id), Some(Record::Hosted(record)));
                session.stage = Stage::Storing(ticket);
            }
            Stage::Opening if progress == Progress::Open => {
                session.stage = Stage::Up;
                tell(context.out, id, SessionBody::Committed { echo: session.echo });
            }
            _ => {}
        }
    }

    /// Stores a session whose flows go another way: the ticket of the store.
    pub(crate) fn record(&self, out: &mut Out, legs: &Legs, id: SessionId) -> Option<u64> {
        let record = self.sessions.get(&id)?.record(legs, id);
        Some(out.store(Key::Hosted(id), Some(Record::Hosted(record))))
    }

    /// A flow of a session whose flows are all let in.
    pub(crate) fn flow(&self, id: SessionId, flow: u8) -> Option<&FlowRequest> {
        let session = self.sessions.get(&id).filter(|session| session.stage == Stage::Up)?;
        session.asked.flows.get(usize::from(flow))
    }

    /// A record is durable: flows may be let in.
    pub(crate) fn on_stored(&mut self, context: &mut Context<'_>, legs: &mut Legs, ticket: u64) {
        let mut of = self.sessions.iter_mut().filter(|(_, session)| session.stage == Stage::Storing(ticket));
        let Some((id, session)) = of.next() else { return };
        session.stage = Stage::Opening;
        let id = *id;
        legs.open(context.out, id);
        self.proceed(context, legs, id);
    }

    /// Ends a session here, and tells its caller's domain.
    pub(crate) fn fail(
        &mut self,
        context: &mut Context<'_>,
        legs: &mut Legs,
        id: SessionId,
        refusal: Refusal,
    ) {
        if self.sessions.contains_key(&id) {
            self.end(context, legs, id, refusal.clone());
            tell(context.out, id, SessionBody::Ended(refusal));
        }
    }

    /// Ends a session here.
    pub(crate) fn end(
        &mut self,
        context: &mut Context<'_>,
        legs: &mut Legs,
        id: SessionId,
        refusal: Refusal,
    ) {
        let Some(session) = self.sessions.remove(&id) else { return };
        self.remember(context, id, refusal.clone());
        legs.close(context, id);
        if session.stage == Stage::Up {
            context.out.actions.push(Action::HostedEnded { session: id, refusal });
        }
        if matches!(session.stage, Stage::Storing(_) | Stage::Opening | Stage::Up) {
            context.out.store(Key::Hosted(id), None);
        }
    }

    fn remember(&mut self, context: &Context<'_>, id: SessionId, refusal: Refusal) {
        if self.ended.len() < context.config.limits.most_hosted {
            let until = context.now.saturating_add(context.config.limits.lifetime);
            self.ended.insert(id, (refusal, until));
        }
    }

    pub(crate) fn tick(&mut self, context: &mut Context<'_>, legs: &mut Legs) {
        self.ended.retain(|_, (_, until)| *until > context.now);
        let old = self.sessions.iter().filter(|(_, session)| session.expires <= context.now);
        let old: Vec<SessionId> = old.map(|(id, _)| *id).collect();
        for id in old {
            let refusal = context.refusal(Reason::NoAnswer);
            self.fail(context, legs, id, refusal);
        }
    }

    pub(crate) fn due(&self) -> u64 {
        let ended = self.ended.values().map(|(_, until)| *until);
        self.sessions.values().map(|session| session.expires).chain(ended).min().unwrap_or(u64::MAX)
    }

    /// As the store has it.
    pub(crate) fn restore(&mut self, expires: u64, id: SessionId, record: HostedSession) {
        let asked = Establish { caller: record.caller, callees: record.callees, flows: record.flows };
        self.sessions.insert(id, Session { asked, rates: record.rates, stage: Stage::Up, echo: 0, expires });
    }

    /// Sessions whose flows are all let in, with their rates.
    pub(crate) fn up(&self) -> impl Iterator<Item = (SessionId, &[u64])> {
        let up = self.sessions.iter().filter(|(_, session)| session.stage == Stage::Up);
        up.map(|(id, session)| (*id, &*session.rates))
    }

    /// Every session, also what is being set up.
    pub(crate) fn all(&self) -> impl Iterator<Item = (SessionId, Asn)> {
        self.sessions.keys().map(|id| (*id, id.origin))
    }
}
