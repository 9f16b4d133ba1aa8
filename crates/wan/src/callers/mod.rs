//! Sessions whose caller is in this domain: negotiated first, then reserved flow by flow, durable, let in, kept alive, and stopped as a whole.
mod grants;
mod moves;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::action::{Action, Out};
use crate::admission::{admit, contract};
use crate::backend::Addresses;
use crate::config::Config;
use crate::legs::{Context, Legs, Progress};
use crate::message::{Body, Establish, SessionBody};
use crate::record::{Key, OwnSession, Record};
use crate::request::{FlowRequest, QosAnswer, SessionRequest};
use crate::words::{Asn, Direction, LegId, Reason, Refusal, SessionId};
use grants::Grant;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// The AAA server is asked.
    Authorizing,
    /// Callees are asked.
    Negotiating,
    /// Flows are reserved, here and by callees' domains.
    Reserving,
    Storing(u64),
    /// Its first record of accounting becomes durable.
    Accounting,
    Opening,
    Up,
}

/// A domain of callees.
#[derive(Debug, Default)]
struct Peer {
    callees: Vec<IpAddr>,
    /// What they agree to.
    rates: Option<Vec<u64>>,
    /// When the commit left that they have confirmed last.
    confirmed: Option<u64>,
    next_send: u64,
}

#[derive(Debug)]
struct Session {
    request: SessionRequest,
    /// Of a request that is not answered.
    ticket: Option<u64>,
    stage: Stage,
    deadline: u64,
    peers: BTreeMap<Asn, Peer>,
    rates: Vec<u64>,
    ends: u64,
    grant: Grant,
    /// The session whose place it takes when it is up.
    replaces: Option<SessionId>,
    /// A later end that is being stored: the ticket of the store, the number of the question, and the end.
    extending: Option<(u64, u64, u64)>,
}

/// All sessions of callers of this domain.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    sessions: BTreeMap<SessionId, Session>,
    /// Ends that are repeated: why, how often, and when next.
    stops: BTreeMap<(SessionId, Asn), (Refusal, u8, u64)>,
    /// Sessions that are over, whose grants end when their edges are shut and the store has forgotten them: why they are over, and the ticket of
    /// the store that is waited for.
    ungranting: BTreeMap<SessionId, (Refusal, Option<u64>)>,
    /// What is said when a session is forgotten for good: a crash would bring back one that is said to have ended.
    ending: BTreeMap<u64, Action>,
}

const REPEATED_STOPS: u8 = 3;

impl Callers {
    /// A caller wants a session.
    pub(crate) fn request(&mut self, context: &mut Context<'_>, ticket: u64, request: SessionRequest) {
        self.ask(context, ticket, request, None);
    }

    /// The same, for a session that takes the place of another one.
    fn ask(
        &mut self,
        context: &mut Context<'_>,
        ticket: u64,
        request: SessionRequest,
        replaces: Option<SessionId>,
    ) {
        let limits = &context.config.limits;
        let in_setup = self.sessions.values().filter(|session| session.stage != Stage::Up).count();
        let others = self.sessions.iter().filter(|(id, _)| Some(**id) != replaces);
        let counted = others.map(|(_, session)| (&session.request, session.peers.len()));
        let admitted = if in_setup >= limits.most_in_setup {
            Err(Reason::Busy)
        } else {
            admit(context.now, context.config, counted, &request)
        };
        let peers = match admitted {
            Ok(peers) => peers,
            Err(reason) => {
                let answer = QosAnswer::Refused(context.refusal(reason));
                return context.out.actions.push(Action::Answer { ticket, answer });
            }
        };
        let id = SessionId { origin: context.config.asn, number: context.out.unique() };
        let peer = |(asn, callees)| (asn, Peer { callees, ..Peer::default() });
        let needs_grant = context.config.needs_grants;
        let session = Session {
            request,
            ticket: Some(ticket),
            stage: Stage::Authorizing,
            deadline: context.now.saturating_add(limits.patience),
            peers: peers.into_iter().map(peer).collect(),
            rates: Vec::new(),
            ends: u64::MAX,
            grant: if needs_grant { Grant::Asked } else { Grant::NotNeeded },
            replaces,
            extending: None,
        };
        let request = needs_grant.then(|| session.request.clone());
        self.sessions.insert(id, session);
        match request {
            Some(request) => context.out.actions.push(Action::AskGrant { session: id, request }),
            None => self.negotiate(context, id),
        }
    }

    /// Callees are asked.
    fn negotiate(&mut self, context: &mut Context<'_>, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.stage = Stage::Negotiating;
        session.deadline = context.now.saturating_add(context.config.limits.patience);
        if let Some(peer) = session.peers.get(&context.config.asn) {
            context.out.actions.push(Action::AskCallee {
                session: id,
                caller: session.request.caller,
                callees: peer.callees.clone(),
                flows: session.request.flows.clone(),
            });
        }
        self.repeat(context, id);
    }

    /// Says to each domain of callees what it has to hear now.
    fn repeat(&mut self, context: &mut Context<'_>, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let (now, limits) = (context.now, &context.config.limits);
        for (asn, peer) in session.peers.iter_mut().filter(|(asn, _)| **asn != context.config.asn) {
            if peer.next_send > now {
                continue;
            }
            let body = match session.stage {
                Stage::Authorizing => continue,
                Stage::Negotiating if peer.rates.is_some() => continue,
                Stage::Negotiating => SessionBody::Establish(Establish {
                    caller: session.request.caller,
                    callees: peer.callees.clone(),
                    flows: session.request.flows.clone(),
                }),
                _ => SessionBody::Commit { echo: now, rates: session.rates.clone() },
            };
            let wait = if peer.confirmed.is_some() { limits.refresh } else { limits.retransmit };
            peer.next_send = now.saturating_add(wait);
            context.out.send(*asn, Body::Session(id, body));
        }
    }

    /// A domain of callees has decided.
    pub(crate) fn established(
        &mut self,
        context: &mut Context<'_>,
        legs: &mut Legs,
        (id, from): (SessionId, Asn),
        said: Result<Vec<u64>, Refusal>,
    ) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some(peer) = session.peers.get_mut(&from) else { return };
        if session.stage != Stage::Negotiating || peer.rates.is_some() {
            return;
        }
        let rates = match said {
            Ok(rates) => rates,
            Err(refusal) => return self.fail(context, legs, id, refusal),
        };
        if !agrees(&session.request.flows, &rates) {
            // A callee here may name any rates; another domain looks at what its callees say.
            let is_here = from == context.config.asn;
            let reason = if is_here { Reason::CalleeRefused } else { Reason::Invalid };
            let refusal = Refusal { asn: from, link: None, reason };
            return self.fail(context, legs, id, refusal);
        }
        peer.rates = Some(rates);
        let Some(all) = session.peers.values().map(|peer| peer.rates.clone()).collect::<Option<Vec<_>>>()
        else {
            return;
        };
        session.rates = session.request.flows.iter().map(|flow| flow.desired.rate).collect();
        for rates in all {
            for (least, rate) in session.rates.iter_mut().zip(rates) {
                *least = rate.min(*least);
            }
        }
        if !session.grant.is_in_force(context.now) {
            let refusal = context.refusal(Reason::GrantOver);
            return self.fail(context, legs, id, refusal);
        }
        session.stage = Stage::Reserving;
        session.deadline = context.now.saturating_add(context.config.limits.patience.saturating_mul(4));
        for peer in session.peers.values_mut() {
            peer.next_send = context.now;
        }
        // One copy goes to each domain of callees; what comes back is reserved where it comes from.
        let mut wanted = Vec::new();
        for (peer, to) in &session.peers {
            for (at, (flow, rate)) in session.request.flows.iter().zip(&session.rates).enumerate() {
                if flow.direction == Direction::Forward || *peer == context.config.asn {
                    let leg = LegId { session: id, flow: u8::try_from(at).unwrap_or(u8::MAX), peer: *peer };
                    let addresses = Addresses::of(flow.direction, session.request.caller, &to.callees);
                    wanted.push((leg, (*flow, addresses), *rate, *peer));
                }
            }
        }
        for (leg, (flow, addresses), rate, destination) in wanted {
            if let Err(refusal) = legs.start(context, leg, (&flow, addresses), rate, destination) {
                return self.fail(context, legs, id, refusal);
            }
        }
        self.repeat(context, id);
        self.proceed(context, legs, id);
    }

    /// Goes on where what was waited for is there.
    pub(crate) fn proceed(&mut self, context: &mut Context<'_>, legs: &mut Legs, id: SessionId) {
        let place = self.sessions.get(&id).and_then(|session| session.replaces);
        let end_of_place = place.and_then(|before| self.sessions.get(&before)).map(|before| before.ends);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let progress = legs.progress(id);
        match session.stage {
            Stage::Reserving => {
                let own = context.config.asn;
                let is_committed =
                    session.peers.iter().all(|(asn, peer)| *asn == own || peer.confirmed.is_some());
                if progress == Progress::Under || !is_committed {
                    return;
                }
                let ends = context.now.saturating_add(session.request.lasts);
                session.ends = end_of_place.unwrap_or(ends);
                let record = session.record(legs, id, session.ends);
                session.stage = Stage::Storing(context.out.store(Key::Own(id), Some(Record::Own(record))));
            }
            Stage::Opening if progress == Progress::Open => {
                session.stage = Stage::Up;
                let answer = QosAnswer::Admitted {
                    session: id,
                    peers: session.peers.keys().copied().collect(),
                    bounds: legs.bounds(id),
                    ends: session.ends,
                };
                if let Some(ticket) = session.ticket.take() {
                    context.out.actions.push(Action::Answer { ticket, answer });
                }
                self.end_moved(context, legs, id);
            }
            _ => {}
        }
    }

    /// A session is to last longer: the later end counts, and is said, when it is durable. Other domains hold their parts as long as this one
    /// refreshes them, so they need not be asked.
    pub(crate) fn extend(
        &mut self,
        context: &mut Context<'_>,
        legs: &Legs,
        (ticket, id): (u64, SessionId),
        by: u64,
    ) {
        let is_moving = self.is_moving(id);
        let reason = match self.sessions.get_mut(&id) {
            Some(Session { extending: Some(_), .. }) => Reason::Busy,
            Some(_) if is_moving => Reason::Busy,
            Some(session) if session.stage == Stage::Up => {
                match contract(context.now, context.config, session.request.user) {
                    Ok(_) => {
                        let ends = session.ends.saturating_add(by);
                        let record = session.record(legs, id, ends);
                        let stored = context.out.store(Key::Own(id), Some(Record::Own(record)));
                        session.extending = Some((stored, ticket, ends));
                        return;
                    }
                    Err(reason) => reason,
                }
            }
            _ => Reason::UnknownSession,
        };
        let answer = Err(context.refusal(reason));
        context.out.actions.push(Action::ExtendAnswer { ticket, answer });
    }

    /// A record is durable: flows may be let in, a later end counts, or the end of a session is said.
    pub(crate) fn on_stored(&mut self, context: &mut Context<'_>, legs: &mut Legs, ticket: u64) {
        context.out.actions.extend(self.ending.remove(&ticket));
        self.forgotten(ticket);
        for session in self.sessions.values_mut() {
            if let Some((_, asked, ends)) = session.extending.take_if(|(stored, ..)| *stored == ticket) {
                session.ends = ends;
                context.out.actions.push(Action::ExtendAnswer { ticket: asked, answer: Ok(ends) });
            }
        }
        let mut of = self.sessions.iter_mut().filter(|(_, session)| session.stage == Stage::Storing(ticket));
        let Some((id, session)) = of.next() else { return };
        let id = *id;
        session.stage = Stage::Accounting;
        session.deadline = context.now.saturating_add(context.config.limits.patience);
        if session.grant == Grant::NotNeeded {
            self.accounted(context, legs, id);
        } else {
            context.out.actions.push(Action::Account(id));
        }
    }

    /// A domain of callees has reserved its flows, or still has them.
    pub(crate) fn committed(
        &mut self,
        context: &mut Context<'_>,
        legs: &mut Legs,
        (id, from): (SessionId, Asn),
        echo: u64,
    ) {
        let now = context.now;
        let Some(peer) = self.sessions.get_mut(&id).and_then(|session| session.peers.get_mut(&from)) else {
            return;
        };
        if echo <= now {
            peer.confirmed = Some(peer.confirmed.unwrap_or(0).max(echo));
            self.proceed(context, legs, id);
        }
    }

    /// Ends a session: all of its flows here, and those of callees' domains.
    pub(crate) fn fail(
        &mut self,
        context: &mut Context<'_>,
        legs: &mut Legs,
        id: SessionId,
        refusal: Refusal,
    ) {
        let Some(session) = self.sessions.remove(&id) else { return };
        if let Some((_, ticket, _)) = session.extending {
            let answer = Err(context.refusal(Reason::UnknownSession));
            context.out.actions.push(Action::ExtendAnswer { ticket, answer });
        }
        legs.close(context, id);
        // Domains of callees have not heard of it before it is authorized.
        let heard = session.peers.keys().filter(|_| session.stage != Stage::Authorizing);
        for asn in heard.filter(|asn| **asn != context.config.asn) {
            context.out.send(*asn, Body::Session(id, SessionBody::Stop(refusal.clone())));
            let next = context.now.saturating_add(context.config.limits.retransmit);
            self.stops.insert((id, *asn), (refusal.clone(), REPEATED_STOPS, next));
        }
        let why = refusal.clone();
        let said = match session.ticket {
            Some(ticket) => Action::Answer { ticket, answer: QosAnswer::Refused(refusal) },
            None => Action::Ended { session: id, refusal },
        };
        let forgotten = if matches!(session.stage, Stage::Authorizing | Stage::Negotiating | Stage::Reserving)
        {
            context.out.actions.push(said);
            None
        } else {
            let forgotten = context.out.store(Key::Own(id), None);
            self.ending.insert(forgotten, said);
            Some(forgotten)
        };
        self.ungrant(id, &session, why.clone(), forgotten);
        self.end_moves(context, legs, id, &why);
    }

    /// A domain of callees says that its part has ended.
    pub(crate) fn ended(
        &mut self,
        context: &mut Context<'_>,
        legs: &mut Legs,
        (id, from): (SessionId, Asn),
        refusal: Refusal,
    ) {
        if self.sessions.get(&id).is_some_and(|session| session.peers.contains_key(&from)) {
            self.fail(context, legs, id, refusal);
        }
    }

    /// Stores a session whose flows go another way: the ticket of the store.
    pub(crate) fn record(&self, out: &mut Out, legs: &Legs, id: SessionId) -> Option<u64> {
        let record = self.sessions.get(&id)?.latest(legs, id);
        Some(out.store(Key::Own(id), Some(Record::Own(record))))
    }

    /// A flow of a session that a domain has callees of.
    pub(crate) fn flow(&self, id: SessionId, peer: Asn, flow: u8) -> Option<&FlowRequest> {
        let session = self.sessions.get(&id).filter(|session| session.peers.contains_key(&peer))?;
        session.request.flows.get(usize::from(flow))
    }

    pub(crate) fn has(&self, id: SessionId) -> bool {
        self.sessions.contains_key(&id)
    }

    /// Repeats, and ends what is over or not confirmed.
    pub(crate) fn tick(&mut self, context: &mut Context<'_>, legs: &mut Legs) {
        let now = context.now;
        let ids: Vec<SessionId> = self.sessions.keys().copied().collect();
        for id in ids {
            let Some(session) = self.sessions.get(&id) else { continue };
            let limits = &context.config.limits;
            let reason = if session.ends <= now {
                Some(Reason::TimeOver)
            } else if session.grant.ends() <= now {
                Some(Reason::GrantOver)
            } else if session.deadline(limits, context.config.asn) <= now {
                Some(Self::late(session.stage))
            } else {
                None
            };
            match reason {
                Some(reason) => {
                    let refusal = context.refusal(reason);
                    self.fail(context, legs, id, refusal);
                }
                None => self.repeat(context, id),
            }
        }
        for ((id, asn), (refusal, left, next)) in &mut self.stops {
            if *next <= now {
                *left -= 1;
                *next = now.saturating_add(context.config.limits.retransmit);
                context.out.send(*asn, Body::Session(*id, SessionBody::Stop(refusal.clone())));
            }
        }
        self.stops.retain(|_, (_, left, _)| *left > 0);
    }

    /// When that is to happen next.
    pub(crate) fn due(&self, context: &Context<'_>) -> u64 {
        let own = context.config.asn;
        let of = |session: &Session| {
            let remote = session.peers.iter().filter(|(asn, _)| **asn != own);
            let is_asked = |peer: &Peer| match session.stage {
                Stage::Authorizing => false,
                Stage::Negotiating => peer.rates.is_none(),
                _ => true,
            };
            let sends = remote.filter(|(_, peer)| is_asked(peer)).map(|(_, peer)| peer.next_send).min();
            let ends = session.ends.min(session.grant.ends());
            sends.unwrap_or(u64::MAX).min(ends).min(session.deadline(&context.config.limits, own))
        };
        let stops = self.stops.values().map(|(_, _, next)| *next);
        self.sessions.values().map(of).chain(stops).min().unwrap_or(u64::MAX)
    }

    /// As the store has it. A grant goes on as long as the store says.
    pub(crate) fn restore(
        &mut self,
        now: u64,
        (config, out): (&Config, &mut Out),
        id: SessionId,
        record: OwnSession,
    ) {
        let grant = match record.grant {
            _ if !config.needs_grants => Grant::NotNeeded,
            Some(until) => {
                let request = record.request.clone();
                out.actions.push(Action::KeepGrant { session: id, request, until });
                Grant::Until(until)
            }
            None => Grant::Never,
        };
        let peer = |asn: Asn| {
            (asn, Peer { confirmed: Some(now), rates: Some(record.rates.clone()), ..Peer::default() })
        };
        let session = Session {
            peers: record.peers.iter().copied().map(peer).collect(),
            request: record.request,
            ticket: None,
            stage: Stage::Up,
            deadline: u64::MAX,
            rates: record.rates,
            ends: record.ends,
            grant,
            replaces: record.replaces,
            extending: None,
        };
        self.sessions.insert(id, session);
    }

    /// When a session ends.
    pub(crate) fn ends(&self, id: SessionId) -> Option<u64> {
        self.sessions.get(&id).map(|session| session.ends)
    }

    /// Sessions whose flows are all let in.
    pub(crate) fn up(&self) -> impl Iterator<Item = (SessionId, &SessionRequest, &[u64])> {
        let up = self.sessions.iter().filter(|(_, session)| session.stage == Stage::Up);
        up.map(|(id, session)| (*id, &session.request, &*session.rates))
    }
}

impl Session {
    /// What of it has to survive a restart.
    fn record(&self, legs: &Legs, id: SessionId, ends: u64) -> OwnSession {
        OwnSession {
            request: self.request.clone(),
            rates: self.rates.clone(),
            peers: self.peers.keys().copied().collect(),
            legs: legs.records(id),
            ends,
            grant: self.grant.recorded(),
            replaces: self.replaces,
        }
    }

    /// The same, with the end that is being stored.
    fn latest(&self, legs: &Legs, id: SessionId) -> OwnSession {
        self.record(legs, id, self.extending.map_or(self.ends, |(_, _, ends)| ends))
    }

    /// Without more answers it ends then.
    fn deadline(&self, limits: &crate::config::Limits, own: Asn) -> u64 {
        let keeps = limits.lifetime.saturating_sub(limits.guard);
        let confirmed =
            self.peers.iter().filter(|(asn, _)| **asn != own).filter_map(|(_, peer)| peer.confirmed);
        let silence = confirmed.min().map_or(u64::MAX, |confirmed| confirmed.saturating_add(keeps));
        match self.stage {
            Stage::Authorizing | Stage::Negotiating | Stage::Reserving | Stage::Accounting => {
                self.deadline.min(silence)
            }
            _ => silence,
        }
    }
}

/// Rates for flows, none above what is desired or below what is enough.
pub(crate) fn agrees(flows: &[FlowRequest], rates: &[u64]) -> bool {
    let fits = |(flow, rate): (&FlowRequest, &u64)| flow.least_rate <= *rate && *rate <= flow.desired.rate;
    flows.len() == rates.len() && flows.iter().zip(rates).all(fits)
}
