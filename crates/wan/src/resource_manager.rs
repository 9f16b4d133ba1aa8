//! The resource manager of one domain: what comes in goes to its parts, and what they want done comes out.
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::action::{Action, Input, LegEvent, Out};
use crate::backend::{Addresses, BackendAnswer, BackendCommand};
use crate::callees::Callees;
use crate::callers::Callers;
use crate::config::Config;
use crate::hops::Hops;
use crate::legs::{Context, Follows, Legs};
use crate::message::{Body, Message, SessionBody};
use crate::origins::Origins;
use crate::queries::Queries;
use crate::record::{HeldAggregate, Key, OpenLeg, Record};
use crate::request::{FlowRequest, QosAnswer, SessionRequest};
use crate::routes::{BgpPath, candidates};
use crate::words::{AggregateId, Asn, Class, Direction, LegId, LinkId, Reason, Refusal, SessionId};

/// Whether it works already.
#[derive(Debug)]
enum Start {
    /// The back-end says what it holds.
    Observing(u64),
    /// The back-end shuts what the store does not know.
    Shutting(BTreeSet<u64>),
    Ready,
}

/// The resource manager of one domain. It knows no clock, socket or file.
#[derive(Debug)]
pub struct ResourceManager {
    config: Config,
    start: Start,
    paths: Vec<BgpPath>,
    hops: Hops,
    origins: Origins,
    legs: Legs,
    callers: Callers,
    callees: Callees,
    queries: Queries,
    /// What devices did not do while edges were shut at the start.
    faults: Vec<BackendAnswer>,
    /// What the AAA server said meanwhile.
    granted: Vec<(SessionId, Result<u64, Reason>)>,
    /// What callers have stopped meanwhile.
    stopped: BTreeSet<SessionId>,
    out: Out,
}

impl ResourceManager {
    /// A manager that goes on with what its store has. `epoch` is greater at each start than at all before, and durable already. What is known of
    /// paths, links and measurements is to be told again before anything else.
    pub fn new(
        config: Config,
        epoch: u32,
        now: u64,
        records: impl IntoIterator<Item = (Key, Record)>,
    ) -> (Self, Vec<Action>) {
        let out = Out::new(config.asn, epoch);
        let mut manager = Self {
            start: Start::Ready,
            paths: Vec::new(),
            hops: Hops::default(),
            origins: Origins::default(),
            legs: Legs::default(),
            callers: Callers::default(),
            callees: Callees::default(),
            queries: Queries::default(),
            faults: Vec::new(),
            granted: Vec::new(),
            stopped: BTreeSet::new(),
            out,
            config,
        };
        for (key, record) in records {
            match (key, record) {
                (Key::Aggregate(aggregate), Record::Aggregate(held)) => {
                    manager.hops.restore(now, aggregate, held)
                }
                (Key::Own(id), Record::Own(session)) => {
                    let callees = |peer: Asn| {
                        let of = session.request.callees.iter().copied();
                        of.filter(|callee| manager.config.owner(*callee) == Some(peer)).collect()
                    };
                    let callees: Vec<Vec<IpAddr>> =
                        session.legs.iter().map(|leg| callees(leg.leg.peer)).collect();
                    // Without a grant it ends, and its edges are shut before anything else: nothing is let in anew for it.
                    if Callers::may_go_on(now, &manager.config, &session) {
                        manager.restore_legs(now, &session.legs, session.request.caller, &callees);
                    }
                    let owner = (&manager.config, &mut manager.out);
                    manager.callers.restore(now, owner, id, session);
                }
                (Key::Hosted(id), Record::Hosted(session)) => {
                    let callees = vec![session.callees.clone(); session.legs.len()];
                    manager.restore_legs(now, &session.legs, session.caller, &callees);
                    let expires = now.saturating_add(manager.config.limits.lifetime);
                    manager.callees.restore(expires, id, session);
                }
                _ => {}
            }
        }
        let ticket = manager.out.ticket();
        manager.start = Start::Observing(ticket);
        manager.out.command(BackendCommand::Observe { ticket });
        let actions = core::mem::take(&mut manager.out.actions);
        (manager, actions)
    }

    fn restore_legs(&mut self, now: u64, legs: &[OpenLeg], caller: IpAddr, callees: &[Vec<IpAddr>]) {
        for (leg, callees) in legs.iter().zip(callees) {
            let addresses = Addresses::of(leg.flow.direction, caller, callees);
            self.legs.restore(now, &self.out, &mut self.origins, (leg, addresses));
        }
    }

    /// Something happens.
    pub fn step(&mut self, now: u64, input: Input) -> Vec<Action> {
        match input {
            Input::Paths(paths) => {
                let before = core::mem::replace(&mut self.paths, paths);
                if matches!(self.start, Start::Ready) {
                    let (_, _, legs, mut context) = self.parts(now);
                    legs.on_paths(&mut context, &before);
                }
            }
            Input::Link { link, is_up } => self.hops.border.set_link(link, is_up),
            Input::Measured { link, class, rate } => self.hops.border.measured(link, class, rate),
            Input::Backend(answer) => self.on_backend(now, &answer),
            Input::Granted { session, said } if !matches!(self.start, Start::Ready) => {
                self.granted.push((session, said));
            }
            Input::Stop(session) if !matches!(self.start, Start::Ready) => {
                if self.callers.has(session) {
                    self.stopped.insert(session);
                }
            }
            // Until it knows what its back-end holds, it is as if it were not there yet.
            _ if !matches!(self.start, Start::Ready) => {
                let refusal = Refusal { asn: self.config.asn, link: None, reason: Reason::Busy };
                match input {
                    Input::Request { ticket, .. } | Input::Move { ticket, .. } => {
                        let answer = QosAnswer::Refused(refusal);
                        self.out.actions.push(Action::Answer { ticket, answer });
                    }
                    Input::Extend { ticket, .. } => {
                        self.out.actions.push(Action::ExtendAnswer { ticket, answer: Err(refusal) });
                    }
                    _ => {}
                }
            }
            Input::Message(message) => {
                if message.to == self.config.asn && message.from != self.config.asn {
                    self.on_message(now, message);
                }
            }
            Input::Stored { ticket } => self.on_stored(now, ticket),
            Input::Request { ticket, request } => {
                let (callers, _, _, mut context) = self.parts(now);
                callers.request(&mut context, ticket, request);
            }
            Input::CalleeAnswer { session, rates } => self.on_callee_answer(now, session, rates),
            Input::Granted { session, said } => {
                let (callers, _, legs, mut context) = self.parts(now);
                callers.granted(&mut context, legs, session, said);
            }
            Input::Accounted(session) => {
                let (callers, _, legs, mut context) = self.parts(now);
                callers.accounted(&mut context, legs, session);
            }
            Input::Extend { ticket, session, by } => {
                let (callers, _, legs, mut context) = self.parts(now);
                callers.extend(&mut context, legs, (ticket, session), by);
            }
            Input::Stop(session) => self.on_stop(now, session),
            Input::Move { ticket, session, from, to } => {
                let (callers, _, _, mut context) = self.parts(now);
                callers.relocate(&mut context, (ticket, session), (from, to));
            }
            Input::Query { ticket, destination, class } => {
                let own = self.config.asn;
                match candidates(own, &self.paths, destination, class, u64::MAX) {
                    Ok(mut paths) => {
                        let context = (now, &self.config, &self.hops);
                        self.queries.ask(context, &mut self.out, ticket, paths.remove(0), class);
                    }
                    Err(offer) => {
                        let reason = Reason::NoPath { offer };
                        let answer = Err(Refusal { asn: own, link: None, reason });
                        self.out.actions.push(Action::QueryAnswer { ticket, answer });
                    }
                }
            }
        }
        self.hops.revoke(now, &self.config, &mut self.out);
        self.settle(now);
        self.end_grants(now);
        core::mem::take(&mut self.out.actions)
    }

    /// Time has passed: to be called when [`ResourceManager::due`] says so.
    pub fn tick(&mut self, now: u64) -> Vec<Action> {
        if matches!(self.start, Start::Ready) {
            self.hops.tick(now, &self.config, &mut self.out);
            self.origins.tick(now, &self.config.limits, &mut self.out);
            self.settle(now);
            let (_, _, legs, mut context) = self.parts(now);
            legs.renew(&mut context);
            legs.ask_again(&mut context);
            self.settle(now);
            for (leg, refusal) in self.legs.late(now) {
                self.end_of(now, leg.session, refusal);
            }
            let (callers, callees, legs, mut context) = self.parts(now);
            callers.tick(&mut context, legs);
            callees.tick(&mut context, legs);
            self.queries.tick(now, &mut self.out);
            self.settle(now);
            self.end_grants(now);
        }
        core::mem::take(&mut self.out.actions)
    }

    /// When the next call of [`ResourceManager::tick`] is due; `now` is the time of the last one.
    pub fn due(&mut self, now: u64) -> u64 {
        if !matches!(self.start, Start::Ready) {
            return u64::MAX;
        }
        let own = self
            .hops
            .due(now, &self.config)
            .min(self.origins.due(&self.config.limits))
            .min(self.queries.due())
            .min(self.legs.due());
        let (callers, callees, _, context) = self.parts(now);
        own.min(callers.due(&context)).min(callees.due())
    }

    fn parts(&mut self, now: u64) -> (&mut Callers, &mut Callees, &mut Legs, Context<'_>) {
        let context = Context {
            now,
            config: &self.config,
            paths: &self.paths,
            origins: &mut self.origins,
            out: &mut self.out,
        };
        (&mut self.callers, &mut self.callees, &mut self.legs, context)
    }

    fn end_grants(&mut self, now: u64) {
        let (callers, _, legs, mut context) = self.parts(now);
        callers.end_grants(&mut context, legs);
    }

    fn on_message(&mut self, now: u64, message: Message) {
        let Message { from, body, .. } = message;
        let (config, out) = (&self.config, &mut self.out);
        match body {
            Body::Reserve(reserve) => self.hops.on_reserve(now, config, out, from, reserve),
            Body::Response(response) if self.origins.asks_each(response.aggregate) => {
                self.origins.on_said(now, &config.limits, out, from, response);
            }
            Body::Response(response) => self.hops.on_response(config, out, from, response),
            Body::Notify(notify) if self.origins.asks_each(notify.aggregate) => {
                self.origins.on_ended(now, &config.limits, out, from, notify);
            }
            Body::Notify(notify) => self.hops.on_notify(out, from, notify),
            Body::Query(query) => self.queries.on_query((now, config, &self.hops), out, from, query),
            Body::QueryResponse(response) => self.queries.on_response(config, out, from, response),
            Body::Session(id, body) => {
                let (callers, callees, legs, mut context) = self.parts(now);
                let is_own = id.origin == context.config.asn;
                match body {
                    SessionBody::Established(said) if is_own => {
                        callers.established(&mut context, legs, (id, from), said);
                    }
                    SessionBody::Committed { echo } if is_own => {
                        callers.committed(&mut context, legs, (id, from), echo);
                    }
                    SessionBody::Ended(refusal) if is_own => {
                        callers.ended(&mut context, legs, (id, from), refusal)
                    }
                    SessionBody::Establish(asked) if id.origin == from => {
                        callees.establish(&mut context, id, asked);
                    }
                    SessionBody::Commit { echo, rates } if id.origin == from => {
                        callees.commit(&mut context, legs, id, (echo, rates));
                    }
                    SessionBody::Stop(refusal) if id.origin == from => {
                        callees.end(&mut context, legs, id, refusal);
                    }
                    SessionBody::Rerouted { flow, delay, loss, refusal } => {
                        let own = context.config.asn;
                        let number = LegId { session: id, flow, peer: from }.number();
                        // A domain says so of flows that leave it, and none goes another way that keeps less than was asked for.
                        let (peer, of, leaves) = match is_own {
                            true => (from, callers.flow(id, from, number), Direction::Reverse),
                            false => (own, callees.flow(id, number), Direction::Forward),
                        };
                        let may_say = is_own || id.origin == from;
                        let is_cause = matches!(
                            refusal.reason,
                            Reason::LinkDown | Reason::Device(_) | Reason::NoPath { offer: None }
                        );
                        let is_possible = |of: &FlowRequest| {
                            of.direction == leaves && delay <= of.limit && loss <= of.most_loss
                        };
                        if may_say && is_cause && of.is_some_and(is_possible) {
                            let leg = LegId { session: id, flow, peer };
                            context.out.actions.push(Action::Rerouted { leg, delay, loss, refusal });
                        }
                    }
                    SessionBody::Copies { flow, said } if is_own || id.origin == from => {
                        let own = context.config.asn;
                        let number = LegId { session: id, flow, peer: from }.number();
                        let (peer, of, leaves) = match is_own {
                            true => (from, callers.flow(id, from, number), Direction::Reverse),
                            false => (own, callees.flow(id, number), Direction::Forward),
                        };
                        let is_possible = |of: &FlowRequest| {
                            let keeps = said.as_ref().is_ok_and(|delay| *delay <= of.limit) || said.is_err();
                            of.copies == 2 && of.direction == leaves && keeps
                        };
                        if of.is_some_and(is_possible) {
                            let leg = LegId { session: id, flow, peer };
                            context.out.actions.push(Action::Copies { leg, said });
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn on_callee_answer(&mut self, now: u64, session: SessionId, rates: Option<Vec<u64>>) {
        let (callers, callees, legs, mut context) = self.parts(now);
        let own = context.config.asn;
        if session.origin == own {
            let said = rates.ok_or_else(|| context.refusal(Reason::CalleeRefused));
            callers.established(&mut context, legs, (session, own), said);
        } else {
            callees.callee_answer(&mut context, session, rates);
        }
    }

    fn on_stored(&mut self, now: u64, ticket: u64) {
        self.hops.on_stored(&mut self.out, ticket);
        self.legs.on_stored(&mut self.out, ticket);
        let (callers, callees, legs, mut context) = self.parts(now);
        callers.on_stored(&mut context, legs, ticket);
        callees.on_stored(&mut context, legs, ticket);
    }

    fn on_backend(&mut self, now: u64, answer: &BackendAnswer) {
        match (&mut self.start, answer) {
            (Start::Observing(observed), BackendAnswer::Observed { ticket, holdings })
                if ticket == observed =>
            {
                self.hops.reconcile(&mut self.out, holdings);
                let hops = &self.hops;
                let is_held = |id| hops.granted_aggregates().any(|(granted, _)| granted == id);
                let shut = self.legs.reconcile(&mut self.out, holdings, is_held);
                self.start = Start::Shutting(shut.into_iter().collect());
                self.resume(now);
            }
            (Start::Shutting(shut), BackendAnswer::Done { ticket }) => {
                shut.remove(ticket);
                self.resume(now);
            }
            (Start::Ready, BackendAnswer::Done { ticket }) => self.on_done(now, *ticket),
            (Start::Ready, BackendAnswer::Failed { .. } | BackendAnswer::Lost { .. }) => {
                self.on_fault(now, answer);
            }
            // Sessions end when all that may be shut is shut.
            (Start::Shutting(_), BackendAnswer::Failed { .. } | BackendAnswer::Lost { .. }) => {
                self.faults.push(answer.clone());
            }
            // While edges are shut the back-end says already whether it still has what the store had.
            (Start::Shutting(_), _) => self.hops.on_backend(now, &self.config, &mut self.out, answer),
            (Start::Ready, _) => {
                self.hops.on_backend(now, &self.config, &mut self.out, answer);
                self.queries.on_backend(&self.config, &mut self.out, answer);
            }
            _ => {}
        }
    }

    fn resume(&mut self, now: u64) {
        if matches!(&self.start, Start::Shutting(shut) if shut.is_empty()) {
            self.start = Start::Ready;
            self.origins.resume(now, &self.config.limits, &mut self.out);
            let (_, _, legs, mut context) = self.parts(now);
            legs.resume(&mut context);
            let (callers, _, legs, mut context) = self.parts(now);
            callers.resume(&mut context, legs);
            for fault in core::mem::take(&mut self.faults) {
                self.on_fault(now, &fault);
            }
            for (session, said) in core::mem::take(&mut self.granted) {
                let (callers, _, legs, mut context) = self.parts(now);
                callers.granted(&mut context, legs, session, said);
            }
            for session in core::mem::take(&mut self.stopped) {
                self.on_stop(now, session);
            }
        }
    }

    fn on_stop(&mut self, now: u64, session: SessionId) {
        let (callers, _, legs, mut context) = self.parts(now);
        let refusal = context.refusal(Reason::Stopped);
        callers.fail(&mut context, legs, session, refusal);
    }

    fn on_done(&mut self, now: u64, ticket: u64) {
        let (callers, callees, legs, mut context) = self.parts(now);
        if let Some(session) = legs.on_done(&mut context, ticket) {
            callers.proceed(&mut context, legs, session);
            callees.proceed(&mut context, legs, session);
        }
    }

    /// A device did not do what was wanted: what needs it is refused, or ends.
    fn on_fault(&mut self, now: u64, answer: &BackendAnswer) {
        self.hops.on_backend(now, &self.config, &mut self.out, answer);
        self.queries.on_backend(&self.config, &mut self.out, answer);
        let Some((leg, reason)) = self.legs.on_fault(answer) else {
            // A flow that is being shut was not let in: that is an answer, too.
            if let BackendAnswer::Failed { ticket, .. } = answer {
                self.on_done(now, *ticket);
            }
            return;
        };
        let refusal = Refusal { asn: self.config.asn, link: None, reason };
        match self.legs.is_spare(leg) {
            true => self.lose(now, leg, refusal),
            false => self.end_of(now, leg.session, refusal),
        }
    }

    /// One copy of a flow is given up, and its session goes on.
    fn lose(&mut self, now: u64, leg: LegId, refusal: Refusal) {
        let (callers, callees, legs, mut context) = self.parts(now);
        if legs.lose(&mut context, leg, refusal) {
            match callers.has(leg.session) {
                true => callers.record(context.out, legs, leg.session),
                false => callees.record(context.out, legs, leg.session),
            };
        }
    }

    /// What the parts tell each other.
    fn settle(&mut self, now: u64) {
        loop {
            if let Some(message) = self.out.loopback.pop_front() {
                self.on_message(now, message);
            } else if let Some(response) = self.out.responses.pop_front() {
                let own = self.config.asn;
                self.origins.on_said(now, &self.config.limits, &mut self.out, own, response);
            } else if let Some(notify) = self.out.notifies.pop_front() {
                let own = self.config.asn;
                self.origins.on_ended(now, &self.config.limits, &mut self.out, own, notify);
            } else if let Some(event) = self.out.legs.pop_front() {
                self.on_leg(now, event);
            } else {
                return;
            }
        }
    }

    fn on_leg(&mut self, now: u64, event: LegEvent) {
        let leg = event.leg;
        let session = leg.session;
        let (callers, callees, legs, mut context) = self.parts(now);
        match (legs.on_event(&mut context, event), callers.has(session)) {
            (Follows::End(refusal), _) => self.end_of(now, session, refusal),
            (Follows::Lose(refusal), _) => self.lose(now, leg, refusal),
            (Follows::GoOn, true) => callers.proceed(&mut context, legs, session),
            (Follows::GoOn, false) => callees.proceed(&mut context, legs, session),
            (Follows::Record, is_own) => {
                let ticket = match is_own {
                    true => callers.record(context.out, legs, session),
                    false => callees.record(context.out, legs, session),
                };
                if let Some(ticket) = ticket {
                    legs.is_recorded_by(leg, ticket);
                }
            }
        }
    }

    /// When one flow fails, all of the session end.
    fn end_of(&mut self, now: u64, session: SessionId, refusal: Refusal) {
        let (callers, callees, legs, mut context) = self.parts(now);
        match callers.has(session) {
            true => callers.fail(&mut context, legs, session, refusal),
            false => callees.fail(&mut context, legs, session, refusal),
        }
    }

    /// Sessions of callers of this domain that are up: what was asked, and the rates that callees agreed to.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionId, &SessionRequest, &[u64])> {
        self.callers.up()
    }

    /// When a session of a caller of this domain ends, in nanoseconds.
    pub fn ends(&self, session: SessionId) -> Option<u64> {
        self.callers.ends(session)
    }

    /// Sessions with callees of this domain that are up, with their rates.
    pub fn hosted(&self) -> impl Iterator<Item = (SessionId, &[u64])> {
        self.callees.up()
    }

    /// Sessions with callees of this domain, also those being set up, and the domain of their caller.
    pub fn hosted_or_asked(&self) -> impl Iterator<Item = (SessionId, Asn)> {
        self.callees.all()
    }

    /// Flows of a session that leave this domain.
    pub fn legs(&self, session: SessionId) -> Vec<OpenLeg> {
        self.legs.records(session)
    }

    /// Whether flows of a session leave this domain, or are being asked for; not those that are being shut.
    pub fn has_legs(&self, session: SessionId) -> bool {
        self.legs.has_open(session)
    }

    /// Whether nothing of a session leaves this domain any more, and edges have shut what did.
    pub fn is_shut(&self, session: SessionId) -> bool {
        !self.legs.has_any(session)
    }

    /// Whether a flow leaves this domain, or is being asked for.
    pub fn has_leg(&self, leg: LegId) -> bool {
        self.legs.records(leg.session).iter().any(|record| record.leg == leg)
    }

    /// Aggregates that are granted here.
    pub fn aggregates(&self) -> impl Iterator<Item = (AggregateId, &HeldAggregate)> {
        self.hops.granted_aggregates()
    }

    /// Bits per second and bytes at once that are reserved for a class of a border link on which this domain sends.
    pub fn reserved(&self, link: LinkId, class: Class) -> (u64, u64) {
        let load = self.hops.ledger(link, class);
        (load.rate, load.burst)
    }

    /// Whether a border link works, as far as it was told.
    pub fn is_up(&self, link: LinkId) -> bool {
        self.hops.border.is_up(link)
    }

    /// The domain.
    pub fn asn(&self) -> Asn {
        self.config.asn
    }
}
