//! Flows that leave this domain, of sessions of its own and of other domains: asked for along one path after the other, let in at the edge, shut.
mod copies;
mod reroute;
mod vacate;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::action::{LegEvent, Out, Said};
use crate::backend::{Addresses, BackendAnswer, BackendCommand, Holding};
use crate::config::Config;
use crate::message::Granted;
use crate::origins::{Member, Origins};
use crate::record::OpenLeg;
use crate::request::{Bound, FlowRequest};
use crate::routes::{BgpPath, are_disjoint, candidates, disjoint_pair};
use crate::words::{AggregateId, Asking, Asn, LegId, Reason, Refusal, SessionId, TSpec, TunnelId};
use reroute::{Before, Detour, is_not_let};
use vacate::is_in_no_tunnel;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Its aggregate is being asked for.
    Joining,
    /// It is reserved.
    Reserved,
    /// It is let in, and reserved on another way, of which the store is told.
    Recording,
    /// The back-end lets it in.
    Opening,
    Open,
    /// Its way is dead and has room that another way needs: the store is told that it is in no aggregate, then the back-end shuts it, and then it leaves.
    Vacating,
    /// It is shut, in no aggregate, and asked for on other ways.
    Vacated,
    /// The back-end shuts it. It leaves its aggregate only then.
    Closing,
}

#[derive(Debug)]
struct Leg {
    /// As asked, with the rate that is wanted now.
    flow: FlowRequest,
    addresses: Addresses,
    aggregate: AggregateId,
    path: Vec<Asn>,
    /// Paths that are tried if this one has too little.
    others: Vec<Vec<Asn>>,
    /// The path with the most room so far, and the rate that it has.
    lower: Option<(Vec<Asn>, u64)>,
    delay: u64,
    /// Packets of a million that may be lost on it.
    loss: u32,
    /// What it costs, as far as that is told.
    price: Option<u64>,
    state: State,
    /// Where it is asked for because `aggregate` is no more.
    detour: Option<Detour>,
    /// What carried it before: it leaves that when the edge lets it in anew.
    before: Option<Before>,
    /// The aggregate that it leaves when it is shut, because its way is dead.
    left: Option<AggregateId>,
    /// It comes in place of a copy that was lost: the session does not wait for it.
    is_renewed: bool,
    /// When the other copy is asked for again, if it is missing.
    next_copy: u64,
}

impl Leg {
    /// What all domains of its path have granted.
    fn keeps(&mut self, granted: &Granted) {
        (self.delay, self.loss, self.price) = (granted.delay, granted.loss, granted.price);
    }

    fn opening(&self, ticket: u64, leg: LegId) -> BackendCommand {
        let (aggregate, flow, addresses) = (self.aggregate, self.flow, self.addresses.clone());
        BackendCommand::Open { ticket, leg, aggregate, flow, addresses }
    }
}

/// All flows that leave this domain.
#[derive(Debug, Default)]
pub(crate) struct Legs {
    legs: BTreeMap<LegId, Leg>,
    tickets: BTreeMap<u64, LegId>,
    /// Flows of the store that the back-end was told to let in again at the start.
    reopened: BTreeMap<u64, LegId>,
    /// Flows whose other way becomes durable: by the ticket of the store.
    recording: BTreeMap<u64, LegId>,
}

/// What follows for the session of a flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Follows {
    /// It goes on.
    GoOn,
    /// The record of its session has another way for it.
    Record,
    /// All of it end.
    End(Refusal),
    /// The other copy of it goes on.
    Lose(Refusal),
}

/// How far the flows of a session are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    Under,
    Reserved,
    Open,
}

/// What flows need beside themselves.
pub(crate) struct Context<'a> {
    pub(crate) now: u64,
    pub(crate) config: &'a Config,
    pub(crate) paths: &'a [BgpPath],
    pub(crate) origins: &'a mut Origins,
    pub(crate) out: &'a mut Out,
}

impl Context<'_> {
    pub(crate) fn refusal(&self, reason: Reason) -> Refusal {
        Refusal { asn: self.config.asn, link: None, reason }
    }

    fn join(
        &mut self,
        leg: LegId,
        path: &[Asn],
        flow: &FlowRequest,
        except: Option<TunnelId>,
    ) -> AggregateId {
        let member = Member { traffic: flow.desired, limit: flow.limit, most_loss: flow.most_loss };
        let (limits, out) = (&self.config.limits, &mut *self.out);
        self.origins.join(self.now, limits, out, (leg, path, flow.class, flow.asking), member, except)
    }

    fn leave(&mut self, leg: LegId, aggregate: AggregateId) {
        self.origins.leave(self.now, &self.config.limits, self.out, (leg, aggregate));
    }
}

impl Legs {
    /// Asks for a flow toward a domain, at this rate or less.
    pub(crate) fn start(
        &mut self,
        context: &mut Context<'_>,
        leg: LegId,
        (flow, addresses): (&FlowRequest, Addresses),
        rate: u64,
        destination: Asn,
    ) -> Result<(), Refusal> {
        let found = candidates(context.config.asn, context.paths, destination, flow.class, flow.limit);
        let mut others = found.map_err(|offer| context.refusal(Reason::NoPath { offer }))?;
        let mut flow = FlowRequest { desired: flow.desired.lowered_to(rate), ..*flow };
        if flow.copies == 1 {
            let path = others.remove(0);
            self.begin(context, leg, (flow, addresses), (path, others), false);
            return Ok(());
        }
        if !context.config.can_duplicate {
            return Err(context.refusal(Reason::CannotDuplicate));
        }
        let pair = disjoint_pair(&others);
        let (first, second) = pair.map_err(|shared| context.refusal(Reason::NotDisjoint { shared }))?;
        // Both have the same rate: the network lowers neither.
        flow.least_rate = flow.desired.rate;
        for (id, own) in [(leg, first), (leg.other_copy(), second)] {
            let all = others.iter().enumerate();
            let rest = all.filter(|(at, _)| *at != first && *at != second).map(|(_, path)| path.clone());
            let Some(path) = others.get(own).cloned() else { continue };
            self.begin(context, id, (flow, addresses.clone()), (path, rest.collect()), false);
        }
        Ok(())
    }

    fn begin(
        &mut self,
        context: &mut Context<'_>,
        leg: LegId,
        (flow, addresses): (FlowRequest, Addresses),
        (path, others): (Vec<Asn>, Vec<Vec<Asn>>),
        is_renewed: bool,
    ) {
        let aggregate = context.join(leg, &path, &flow, None);
        let leg_of = Leg {
            flow,
            addresses,
            aggregate,
            path,
            others,
            lower: None,
            delay: 0,
            loss: 0,
            price: None,
            state: State::Joining,
            detour: None,
            before: None,
            is_renewed,
            next_copy: 0,
            left: None,
        };
        self.legs.insert(leg, leg_of);
    }

    /// What became of a flow in an aggregate.
    pub(crate) fn on_event(&mut self, context: &mut Context<'_>, event: LegEvent) -> Follows {
        let LegEvent { leg: id, aggregate, said } = event;
        let (is_spare, beside) = (self.is_spare(id), self.beside(id));
        let Some(leg) = self.legs.get_mut(&id) else { return Follows::GoOn };
        if leg.is_asked_elsewhere(aggregate) {
            return leg.on_detour(context, id, said);
        }
        if leg.aggregate != aggregate {
            return Follows::GoOn;
        }
        let is_beside = |path: &[Asn]| beside.as_ref().is_none_or(|beside| are_disjoint(path, beside));
        match said {
            Said::Admitted(granted) if leg.state == State::Joining && leg.is_renewed => {
                leg.keeps(&granted);
                if !is_spare || !is_beside(&leg.path) {
                    // The other copy goes another way by now.
                    return Follows::Lose(context.refusal(Reason::NotDisjoint { shared: None }));
                }
                leg.state = State::Recording;
                Follows::Record
            }
            Said::Admitted(granted) if leg.state == State::Joining => {
                leg.keeps(&granted);
                leg.state = State::Reserved;
                Follows::GoOn
            }
            Said::Refused(refusal)
                if leg.state == State::Joining && is_not_let(&refusal, leg.flow.asking) =>
            {
                leg.flow.asking = Asking::HopByHop;
                leg.aggregate = context.join(id, &leg.path, &leg.flow, None);
                Follows::GoOn
            }
            Said::Refused(refusal) if leg.state == State::Joining => {
                if let Reason::Rate { missing, .. } = refusal.reason {
                    // In whole kbit/s: what a link has left to the last bit is its domain's own.
                    let rate = leg.flow.desired.rate.saturating_sub(missing) / 1_000 * 1_000;
                    let is_more = leg.lower.as_ref().is_none_or(|(_, other)| rate > *other);
                    if rate >= leg.flow.least_rate && is_more {
                        leg.lower = Some((leg.path.clone(), rate));
                    }
                }
                leg.others.retain(|path| is_beside(path));
                if !leg.others.is_empty() {
                    leg.path = leg.others.remove(0);
                } else if let Some((path, rate)) =
                    leg.lower.take().filter(|lower| lower.1 < leg.flow.desired.rate)
                {
                    leg.path = path;
                    leg.flow.desired = leg.flow.desired.lowered_to(rate);
                    // Less than this is not asked for a second time.
                    leg.flow.least_rate = rate;
                } else if leg.is_renewed {
                    return Follows::Lose(refusal);
                } else {
                    return Follows::End(refusal);
                }
                leg.aggregate = context.join(id, &leg.path, &leg.flow, None);
                Follows::GoOn
            }
            Said::Failed(refusal) if leg.state != State::Closing && (is_spare || leg.is_renewed) => {
                Follows::Lose(refusal)
            }
            Said::Failed(refusal) if leg.state != State::Closing => {
                let follows = leg.on_failed(context, id, refusal);
                let other = id.other_copy();
                // What was to come beside it may be on the way that it goes now.
                if self.legs.get(&other).is_some_and(|other| other.is_renewed) {
                    self.close_one(context, other);
                }
                follows
            }
            _ => Follows::GoOn,
        }
    }

    fn of(&self, session: SessionId) -> impl Iterator<Item = (&LegId, &Leg)> {
        let first = LegId { session, flow: 0, peer: Asn(0) };
        let last = LegId { session, flow: u8::MAX, peer: Asn(u32::MAX) };
        self.legs.range(first..=last).filter(|(_, leg)| leg.state != State::Closing)
    }

    /// A session has flows here that are not being shut.
    pub(crate) fn has_open(&self, session: SessionId) -> bool {
        self.of(session).next().is_some()
    }

    /// A session still has flows here, or they are being shut.
    pub(crate) fn has_any(&self, session: SessionId) -> bool {
        let first = LegId { session, flow: 0, peer: Asn(0) };
        let last = LegId { session, flow: u8::MAX, peer: Asn(u32::MAX) };
        self.legs.range(first..=last).next().is_some()
    }

    pub(crate) fn progress(&self, session: SessionId) -> Progress {
        let of = self.of(session).filter(|(_, leg)| !leg.is_renewed);
        of.fold(Progress::Open, |progress, (_, leg)| match (progress, leg.state) {
            (Progress::Under, _) | (_, State::Joining | State::Closing) => Progress::Under,
            (_, State::Reserved | State::Recording | State::Opening | State::Vacating | State::Vacated)
            | (Progress::Reserved, _) => Progress::Reserved,
            (Progress::Open, State::Open) if leg.detour.is_some() => Progress::Reserved,
            (Progress::Open, State::Open) => Progress::Open,
        })
    }

    /// What goes into the record of a session.
    pub(crate) fn records(&self, session: SessionId) -> Vec<OpenLeg> {
        let record = |(id, leg): (&LegId, &Leg)| OpenLeg {
            leg: *id,
            aggregate: leg.aggregate,
            path: leg.path.clone(),
            flow: leg.flow,
            delay: leg.delay,
            loss: leg.loss,
            price: leg.price,
        };
        let of = self.of(session).filter(|(_, leg)| !leg.is_renewed || leg.state != State::Joining);
        of.map(record).collect()
    }

    /// Bounds of a session.
    pub(crate) fn bounds(&self, session: SessionId) -> Vec<Bound> {
        let bound = |(id, leg): (&LegId, &Leg)| {
            let (traffic, dscp): (TSpec, u8) = (leg.flow.desired, leg.flow.class.dscp());
            let (path, price) = (leg.path.clone(), leg.price);
            Bound { leg: *id, path, delay: leg.delay, loss: leg.loss, price, traffic, dscp }
        };
        self.of(session).map(bound).collect()
    }

    /// Lets the flows of a session in.
    pub(crate) fn open(&mut self, out: &mut Out, session: SessionId) {
        let ids: Vec<LegId> = self.of(session).map(|(id, _)| *id).collect();
        for id in ids {
            let Some(leg) = self.legs.get_mut(&id).filter(|leg| leg.state == State::Reserved) else {
                continue;
            };
            leg.state = State::Opening;
            let ticket = out.ticket();
            self.tickets.insert(ticket, id);
            out.command(leg.opening(ticket, id));
        }
    }

    /// The back-end has let one in or shut it: the session it is of.
    pub(crate) fn on_done(&mut self, context: &mut Context<'_>, ticket: u64) -> Option<SessionId> {
        self.reopened.remove(&ticket);
        let id = self.tickets.remove(&ticket)?;
        let leg = self.legs.get_mut(&id)?;
        match leg.state {
            State::Opening => {
                leg.state = State::Open;
                if core::mem::take(&mut leg.is_renewed) {
                    copies::told(context, id, Ok(leg.delay));
                }
                if let Some(Before { aggregate, refusal, .. }) = leg.before.take() {
                    context.leave(id, aggregate);
                    reroute::told(context, id, (leg.delay, leg.loss), refusal);
                }
            }
            State::Vacating => leg.is_shut(context, id),
            State::Closing => {
                // The answer to its opening is not that of its shutting, which comes last.
                if self.tickets.values().any(|other| *other == id) {
                    return None;
                }
                if let Some(leg) = self.legs.remove(&id) {
                    leg.leave_all(context, id);
                }
            }
            _ => {}
        }
        Some(id.session)
    }

    /// The back-end could not let one in, or has it no more: the session that ends by that. It is shut all the same, so that nothing stays of it.
    pub(crate) fn on_fault(&mut self, answer: &BackendAnswer) -> Option<(LegId, Reason)> {
        let (id, fault) = match answer {
            BackendAnswer::Failed { ticket, fault } => {
                (*self.tickets.get(ticket).or_else(|| self.reopened.get(ticket))?, fault)
            }
            BackendAnswer::Lost { holding: Holding::Flow(id), fault } => (*id, fault),
            _ => return None,
        };
        let leg = self.legs.get_mut(&id)?;
        match leg.state {
            State::Opening => leg.state = State::Open,
            State::Open | State::Recording => {}
            // What is being shut goes on being shut.
            State::Joining | State::Reserved | State::Vacating | State::Vacated | State::Closing => {
                return None;
            }
        }
        if let BackendAnswer::Failed { ticket, .. } = answer {
            self.tickets.remove(ticket);
            self.reopened.remove(ticket);
        }
        Some((id, Reason::Device(fault.clone())))
    }

    /// Ends all flows of a session.
    pub(crate) fn close(&mut self, context: &mut Context<'_>, session: SessionId) {
        let ids: Vec<LegId> = self.of(session).map(|(id, _)| *id).collect();
        for id in ids {
            self.close_one(context, id);
        }
    }

    fn close_one(&mut self, context: &mut Context<'_>, id: LegId) {
        let Some(leg) = self.legs.get_mut(&id).filter(|leg| leg.state != State::Closing) else { return };
        if matches!(leg.state, State::Opening | State::Open | State::Recording | State::Vacating) {
            leg.state = State::Closing;
            if let Some(detour) = leg.detour.take() {
                context.leave(id, detour.aggregate);
            }
            let ticket = context.out.ticket();
            self.tickets.insert(ticket, id);
            context.out.command(BackendCommand::Release { ticket, holding: Holding::Flow(id) });
        } else if let Some(leg) = self.legs.remove(&id) {
            leg.leave_all(context, id);
        }
    }

    /// A flow of the store, which may be open.
    pub(crate) fn restore(
        &mut self,
        now: u64,
        out: &Out,
        origins: &mut Origins,
        (record, addresses): (&OpenLeg, Addresses),
    ) {
        let member = Member { traffic: record.flow.desired, limit: record.delay, most_loss: record.loss };
        if !is_in_no_tunnel(record.aggregate) {
            origins.restore(
                now,
                out,
                (record.leg, record.aggregate, &record.path, record.flow.asking),
                member,
            );
        }
        let leg = Leg {
            flow: record.flow,
            addresses,
            aggregate: record.aggregate,
            path: record.path.clone(),
            others: Vec::new(),
            lower: None,
            delay: record.delay,
            loss: record.loss,
            price: record.price,
            state: State::Open,
            detour: None,
            before: None,
            is_renewed: false,
            next_copy: 0,
            left: None,
        };
        self.legs.insert(record.leg, leg);
    }

    /// Shuts what the back-end lets in and the store does not know, and lets in what it does not: tickets of what is shut. What it lets in already
    /// is let in once more where the aggregate of the store is held: it may be in the one before.
    pub(crate) fn reconcile(
        &mut self,
        out: &mut Out,
        holdings: &[Holding],
        is_held: impl Fn(AggregateId) -> bool,
    ) -> Vec<u64> {
        let mut shut = Vec::new();
        for holding in holdings {
            if let Holding::Flow(id) = holding
                && !self.legs.contains_key(id)
            {
                let ticket = out.ticket();
                out.command(BackendCommand::Release { ticket, holding: *holding });
                shut.push(ticket);
            }
        }
        let vacated = self.legs.iter_mut().filter(|(_, leg)| is_in_no_tunnel(leg.aggregate));
        for (id, leg) in vacated {
            leg.is_restored_vacated(out.own);
            // It may be in the dead tunnel still: nothing is let in there any more.
            let ticket = out.ticket();
            out.command(BackendCommand::Release { ticket, holding: Holding::Flow(*id) });
            shut.push(ticket);
        }
        for (id, leg) in self.legs.iter().filter(|(_, leg)| leg.state != State::Vacating) {
            if !holdings.contains(&Holding::Flow(*id)) || is_held(leg.aggregate) {
                let ticket = out.ticket();
                self.reopened.insert(ticket, *id);
                out.command(leg.opening(ticket, *id));
            }
        }
        shut
    }
}
