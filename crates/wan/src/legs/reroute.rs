//! Flows whose aggregate is no more because a link or a device has failed, or whose path BGP tells no more: they are asked for on another way while their
//! edges are as they were. When all domains of it have granted one and the store knows it, the edge lets the flow into the other tunnel in one step, and only
//! then does it leave the one before.
use alloc::vec::Vec;

use super::{Context, Follows, Leg, Legs, State};
use crate::action::{Action, Out, Said};
use crate::backend::{BackendCommand, Holding};
use crate::message::{Body, SessionBody};
use crate::request::FlowRequest;
use crate::routes::{BgpPath, candidates, told as told_paths};
use crate::words::{AggregateId, Asking, Asn, LegId, Reason, Refusal, TunnelId};

/// Another way that is asked for.
#[derive(Debug)]
pub(super) struct Detour {
    pub(super) aggregate: AggregateId,
    pub(super) path: Vec<Asn>,
    /// How its domains are asked.
    pub(super) asking: Asking,
    /// Ways that are tried after it.
    pub(super) others: Vec<Vec<Asn>>,
    /// Why the way before is no more.
    pub(super) refusal: Refusal,
    /// It is given up then.
    pub(super) until: u64,
    /// A domain had too little room. The way before, which is dead, may have what is missing.
    pub(super) lacks_room: bool,
    /// The tunnel that it must not join: the one before.
    pub(super) except: TunnelId,
    /// When other ways are asked for again, if none had room.
    pub(super) again: Option<u64>,
    /// The way before is as it was, and carries the flow if there is no other one: BGP tells it no more.
    pub(super) is_optional: bool,
}

/// The way before, until the edge lets the flow into the other one.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) aggregate: AggregateId,
    /// Why it is no more.
    pub(super) refusal: Refusal,
    pub(super) until: u64,
}

impl Detour {
    /// Asks along the first of these paths.
    pub(super) fn new(
        context: &mut Context<'_>,
        id: LegId,
        (before, flow): (AggregateId, FlowRequest),
        mut others: Vec<Vec<Asn>>,
        refusal: Refusal,
    ) -> Self {
        let (path, except, asking) = (others.remove(0), before.tunnel, flow.asking);
        let aggregate = context.join(id, &path, &flow, Some(except));
        let (until, lacks_room, again, is_optional) = (u64::MAX, false, None, false);
        Self { aggregate, path, asking, others, refusal, until, lacks_room, except, again, is_optional }
    }
}

/// Whether another way may help. A domain that has less room has told how much it has, and the flows that stay ask for that at once: they do not wait for
/// those that go. A domain that does not answer forgets what it holds, so edges have to be shut before.
fn is_worth_trying(refusal: &Refusal) -> bool {
    matches!(refusal.reason, Reason::LinkDown | Reason::Device(_))
}

/// A domain of the path lets the origin not ask for itself: then each domain may ask the next one.
pub(super) fn is_not_let(refusal: &Refusal, asking: Asking) -> bool {
    asking == Asking::Direct && refusal.reason == Reason::DirectNotAgreed
}

/// Both ends hear of it.
pub(super) fn told(context: &mut Context<'_>, leg: LegId, (delay, loss): (u64, u32), refusal: Refusal) {
    let own = context.config.asn;
    let other = if leg.session.origin == own { leg.peer } else { leg.session.origin };
    if other != own {
        let body = SessionBody::Rerouted { flow: leg.flow, delay, loss, refusal: refusal.clone() };
        context.out.send(other, Body::Session(leg.session, body));
    }
    context.out.actions.push(Action::Rerouted { leg, delay, loss, refusal });
}

impl Leg {
    pub(super) fn is_asked_elsewhere(&self, aggregate: AggregateId) -> bool {
        self.detour.as_ref().is_some_and(|detour| detour.aggregate == aggregate)
    }

    /// What carries it is no more.
    pub(super) fn on_failed(&mut self, context: &mut Context<'_>, id: LegId, refusal: Refusal) -> Follows {
        let limits = &context.config.limits;
        let held = context.origins.is_held_until(self.aggregate, limits);
        let until = context.now.saturating_add(limits.patience).min(held);
        if let Some(detour) = self.detour.as_mut().filter(|detour| detour.is_optional)
            && is_worth_trying(&refusal)
        {
            // What is asked for already is needed now.
            (detour.is_optional, detour.refusal, detour.until) = (false, refusal, until);
            return Follows::GoOn;
        }
        if self.state != State::Open || self.detour.is_some() || !is_worth_trying(&refusal) {
            return Follows::End(refusal);
        }
        let Some(destination) = self.path.last().copied() else { return Follows::End(refusal) };
        let (flow, own) = (&self.flow, context.config.asn);
        let found = candidates(own, context.paths, destination, flow.class, flow.limit);
        let Ok(mut others) = found else { return Follows::End(refusal) };
        // Between two domains of the same path there may be a link beside the one that failed; it comes last.
        others.sort_by_key(|path| *path == self.path);
        let detour = Detour::new(context, id, (self.aggregate, self.flow), others, refusal);
        self.detour = Some(Detour { until, ..detour });
        Follows::GoOn
    }

    /// BGP tells the path of it no more: it goes another way, if one grants it. Otherwise it stays in its tunnel, which the managers of its domains
    /// keep or end; a route that is away for a moment, or a BGP speaker that begins again, ends no session.
    fn on_withdrawn(&mut self, context: &mut Context<'_>, id: LegId) {
        let Some(destination) = self.path.last().copied() else { return };
        let (flow, own) = (&self.flow, context.config.asn);
        let found = candidates(own, context.paths, destination, flow.class, flow.limit);
        let others = found.unwrap_or_default();
        if others.is_empty() {
            return;
        }
        let refusal = context.refusal(Reason::NoPath { offer: None });
        let detour = Detour::new(context, id, (self.aggregate, self.flow), others, refusal);
        self.detour = Some(Detour { is_optional: true, ..detour });
    }

    /// What became of the other way.
    pub(super) fn on_detour(&mut self, context: &mut Context<'_>, id: LegId, said: Said) -> Follows {
        let Some(mut detour) = self.detour.take() else { return Follows::GoOn };
        if let Said::Refused(refusal) = &said {
            detour.lacks_room |= matches!(refusal.reason, Reason::Rate { .. } | Reason::Burst { .. });
        }
        match said {
            Said::Admitted(granted) => {
                let Detour { refusal, mut until, is_optional, .. } = detour;
                if is_optional {
                    // The way before may fail meanwhile.
                    let limits = &context.config.limits;
                    let held = context.origins.is_held_until(self.aggregate, limits);
                    until = context.now.saturating_add(limits.patience).min(held);
                }
                self.before = Some(Before { aggregate: self.aggregate, refusal, until });
                (self.aggregate, self.path) = (detour.aggregate, detour.path);
                self.flow.asking = detour.asking;
                self.keeps(&granted);
                self.state = State::Recording;
                Follows::Record
            }
            Said::Refused(refusal) if is_not_let(&refusal, detour.asking) || !detour.others.is_empty() => {
                if is_not_let(&refusal, detour.asking) {
                    detour.asking = Asking::HopByHop;
                } else {
                    detour.path = detour.others.remove(0);
                    detour.asking = self.flow.asking;
                }
                let flow = FlowRequest { asking: detour.asking, ..self.flow };
                detour.aggregate = context.join(id, &detour.path, &flow, Some(detour.except));
                self.detour = Some(detour);
                Follows::GoOn
            }
            Said::Refused(_) if detour.is_optional => Follows::GoOn,
            Said::Failed(_) if detour.is_optional => {
                context.leave(id, detour.aggregate);
                Follows::GoOn
            }
            Said::Refused(_) if self.state == State::Vacated => {
                detour.again = Some(context.now.saturating_add(context.config.limits.retransmit));
                self.detour = Some(detour);
                Follows::GoOn
            }
            Said::Refused(_) if detour.lacks_room && self.flow.copies == 1 => {
                self.vacate(context, detour);
                Follows::Record
            }
            Said::Refused(_) => Follows::End(detour.refusal),
            Said::Failed(_) => {
                let refusal = detour.refusal.clone();
                // It is left when the session ends.
                self.detour = Some(detour);
                Follows::End(refusal)
            }
        }
    }

    /// Until when it has to be let in on another way, and why.
    fn until(&self) -> Option<(u64, &Refusal)> {
        if self.state == State::Closing {
            return None;
        }
        let before = self.before.as_ref().map(|before| (before.until, &before.refusal));
        self.detour.as_ref().map(|detour| (detour.until, &detour.refusal)).or(before)
    }

    /// Leaves all aggregates that it is in.
    pub(super) fn leave_all(self, context: &mut Context<'_>, id: LegId) {
        let before = self.before.map(|before| before.aggregate);
        let all = [Some(self.aggregate), before, self.detour.map(|detour| detour.aggregate), self.left];
        all.into_iter().flatten().for_each(|aggregate| context.leave(id, aggregate));
    }
}

impl Legs {
    /// BGP tells other paths than before. Two copies stay on the paths that are disjoint.
    pub(crate) fn on_paths(&mut self, context: &mut Context<'_>, before: &[BgpPath]) {
        let own = context.config.asn;
        let (before, now) = (told_paths(own, before), told_paths(own, context.paths));
        for (id, leg) in &mut self.legs {
            let is_settled = leg.state == State::Open && leg.detour.is_none() && leg.before.is_none();
            if !is_settled || leg.flow.copies != 1 {
                continue;
            }
            let path = (leg.flow.class, leg.path.clone());
            if before.contains(&path) && !now.contains(&path) {
                leg.on_withdrawn(context, *id);
            }
        }
    }

    /// The record of a session that has the other ways of its flows is being stored.
    pub(crate) fn is_recorded_by(&mut self, leg: LegId, ticket: u64) {
        self.recording.insert(ticket, leg);
    }

    /// A record is durable: the edge may let the flow into the other tunnel.
    pub(crate) fn on_stored(&mut self, out: &mut Out, stored: u64) {
        let Some(id) = self.recording.remove(&stored) else { return };
        let Some(leg) = self.legs.get_mut(&id) else { return };
        if leg.state == State::Vacating {
            let ticket = out.ticket();
            self.tickets.insert(ticket, id);
            return out.command(BackendCommand::Release { ticket, holding: Holding::Flow(id) });
        }
        if leg.state != State::Recording {
            return;
        }
        leg.state = State::Opening;
        let ticket = out.ticket();
        self.tickets.insert(ticket, id);
        let open: BackendCommand = leg.opening(ticket, id);
        out.command(open);
    }

    /// Flows that are on no other way in time, and what became of the one before.
    pub(crate) fn late(&self, now: u64) -> Vec<(LegId, Refusal)> {
        let late = self.legs.iter().filter_map(|(id, leg)| {
            let (_, refusal) = leg.until().filter(|(until, _)| *until <= now)?;
            Some((*id, refusal.clone()))
        });
        late.collect()
    }

    /// When there are some.
    pub(crate) fn due(&self) -> u64 {
        let until = self.legs.values().filter_map(|leg| leg.until().map(|(until, _)| until));
        until.min().unwrap_or(u64::MAX).min(self.renewal_due()).min(self.asking_due())
    }
}
