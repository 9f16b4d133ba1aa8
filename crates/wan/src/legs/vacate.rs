//! Flows whose way is dead, and whose other ways lack the room that the dead one has: they give it up first. Nothing of them passes there anyway. First the
//! store knows that the flow is in no aggregate, then its edge is shut, then it leaves, and other ways are asked for until one has room or time is over.
use alloc::vec::Vec;

use super::reroute::{Before, Detour};
use super::{Context, Leg, Legs, State};
use crate::routes::candidates;
use crate::words::{AggregateId, Asn, DeviceFault, LegId, Reason, Refusal, Text, TunnelId};

/// What a record says of a flow that is in no aggregate. No tunnel has this number.
fn no_tunnel(of: AggregateId) -> AggregateId {
    AggregateId { tunnel: TunnelId { number: 0, ..of.tunnel }, ..of }
}

/// A flow that a record says this of is in no aggregate.
pub(super) fn is_in_no_tunnel(aggregate: AggregateId) -> bool {
    aggregate.tunnel.number == 0
}

impl Leg {
    /// No other way has room beside the one before, which is dead: that is given up when the store knows it.
    pub(super) fn vacate(&mut self, context: &Context<'_>, detour: Detour) {
        let until = context.now.saturating_add(context.config.limits.patience);
        let (nowhere, refusal) = (no_tunnel(self.aggregate), detour.refusal.clone());
        self.before = Some(Before { aggregate: nowhere, refusal, until });
        self.left = Some(core::mem::replace(&mut self.aggregate, nowhere));
        self.detour = Some(Detour { aggregate: nowhere, others: Vec::new(), until, again: None, ..detour });
        self.state = State::Vacating;
    }

    /// The same for a flow that the store says so of.
    pub(super) fn is_restored_vacated(&mut self, own: Asn) {
        let fault =
            DeviceFault { device: Text::fitting("edge"), what: Text::fitting("the manager began again") };
        let refusal = Refusal { asn: own, link: None, reason: Reason::Device(fault) };
        let (aggregate, until) = (self.aggregate, u64::MAX);
        self.before = Some(Before { aggregate, refusal, until });
        self.state = State::Vacating;
    }

    /// Its edge is shut: it leaves the way before, and other ways are asked for.
    pub(super) fn is_shut(&mut self, context: &mut Context<'_>, id: LegId) {
        self.state = State::Vacated;
        if let Some(left) = self.left.take() {
            context.leave(id, left);
        }
        self.ask_elsewhere(context, id);
    }

    /// Asks for all ways, the fastest first.
    fn ask_elsewhere(&mut self, context: &mut Context<'_>, id: LegId) {
        let limits = &context.config.limits;
        let known = self.detour.take();
        let until = known.as_ref().map_or(context.now.saturating_add(limits.patience), |detour| detour.until);
        let except = known.as_ref().map_or(self.aggregate.tunnel, |detour| detour.except);
        let (Some(destination), Some(before)) = (self.path.last().copied(), &self.before) else { return };
        let (own, refusal) = (context.config.asn, before.refusal.clone());
        let found = candidates(own, context.paths, destination, self.flow.class, self.flow.limit);
        let others = found.unwrap_or_default();
        let from = AggregateId { tunnel: except, ..self.aggregate };
        self.detour = Some(match others.is_empty() {
            false => Detour { until, ..Detour::new(context, id, (from, self.flow), others, refusal) },
            // BGP may tell one a little later.
            true => Detour {
                aggregate: self.aggregate,
                path: Vec::new(),
                asking: self.flow.asking,
                others,
                refusal,
                until,
                lacks_room: false,
                except,
                again: Some(context.now.saturating_add(limits.retransmit)),
                is_optional: false,
            },
        });
    }
}

impl Legs {
    /// Edges are shut after a start: what the store has in no aggregate is asked for on other ways.
    pub(crate) fn resume(&mut self, context: &mut Context<'_>) {
        for (id, leg) in self.legs.iter_mut().filter(|(_, leg)| leg.state == State::Vacating) {
            leg.is_shut(context, *id);
        }
    }

    /// When flows that gave their way up are asked for again.
    fn asked_again(&self) -> impl Iterator<Item = (LegId, u64)> {
        let vacated = self.legs.iter().filter(|(_, leg)| leg.state == State::Vacated);
        vacated.filter_map(|(id, leg)| Some((*id, leg.detour.as_ref()?.again?)))
    }

    /// Other domains may have heard by now that the way before is given up.
    pub(crate) fn ask_again(&mut self, context: &mut Context<'_>) {
        let due: Vec<LegId> =
            self.asked_again().filter(|(_, at)| *at <= context.now).map(|(id, _)| id).collect();
        for id in due {
            if let Some(leg) = self.legs.get_mut(&id) {
                leg.ask_elsewhere(context, id);
            }
        }
    }

    pub(super) fn asking_due(&self) -> u64 {
        self.asked_again().map(|(_, at)| at).min().unwrap_or(u64::MAX)
    }
}
