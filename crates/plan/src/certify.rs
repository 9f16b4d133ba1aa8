//! The evidence for every admission, checked by the part of `latency` that shares nothing with the search for bounds.
use latency::check::{MOST_FLOWS, Repaired, check, check_repaired};
use latency::ledger::FlowId;
use serde::Serialize;

use crate::planning::Plan;

/// What the separate checker says.
#[derive(Clone, PartialEq, Eq, Serialize, Default, Debug)]
pub struct Certificates {
    /// Flows whose evidence holds.
    pub hold: usize,
    /// Flows whose evidence is beyond the checker: their ports have too many flows, or busy periods are too long.
    pub too_large: Vec<String>,
    /// Flows whose evidence does not hold: none, unless a bound is wrong.
    pub wrong: Vec<String>,
}

/// Checks all admitted flows; `told` hears how many are done.
pub(crate) fn certify(plan: &Plan<'_>, mut told: impl FnMut(usize)) -> Certificates {
    let mut certificates = Certificates::default();
    for id in 0..plan.flows.len() as FlowId {
        if plan.ledger.flow(id).is_some() {
            let checked = if is_small(plan, id) {
                plan.ledger.certificate(id).map(|certificate| check(&certificate, plan.network.ports()))
            } else {
                None
            };
            match checked {
                Some(Ok(())) => certificates.hold += 1,
                None | Some(Err(latency::check::Fault::TooLarge { .. })) => {
                    certificates.too_large.push(plan.name(id).to_owned());
                }
                Some(Err(_)) => certificates.wrong.push(plan.name(id).to_owned()),
            }
        }
        if checked_losses(plan, id) == Some(false) {
            certificates.wrong.push(format!("{} with losses", plan.name(id)));
        }
        told(usize::try_from(id).unwrap_or(0) + 1);
    }
    certificates
}

/// Whether the limit of a flow with losses follows from those of its first transmission and of its repairs, which are checked for themselves.
fn checked_losses(plan: &Plan<'_>, id: FlowId) -> Option<bool> {
    let repaired = plan.repaired.get(&id)?;
    let (asked, _) = plan.flows.get(usize::try_from(id).ok()?)?;
    let limit = |id, subscriber: usize| Some(plan.ledger.flow(id)?.flow.subscribers.get(subscriber)?.limit);
    let separation = |id| Some(plan.ledger.flow(id)?.flow.separation);
    let holds = |(index, beside): (usize, &[FlowId; 2])| {
        let [repairs, questions] = *beside;
        let claim = Repaired {
            frames: repaired.losses.frames,
            within: repaired.losses.within,
            limit: asked.flow.subscribers.get(index)?.limit,
            ways: [limit(id, index)?, limit(questions, 0)?, limit(repairs, 0)?],
            spacing: separation(questions)?.max(separation(repairs)?),
            reaction: repaired.losses.reaction,
            drift: plan.network.clock_drift(),
            waits: [repaired.conduct.heartbeat, repaired.conduct.patience, repaired.conduct.again],
        };
        Some(check_repaired(&claim).is_ok())
    };
    let complete = repaired.beside.len() == asked.subscribers.len();
    Some(complete && repaired.beside.iter().enumerate().all(|beside| holds(beside) == Some(true)))
}

/// Whether all ports of a flow are within the checker, which would look at all their flows.
fn is_small(plan: &Plan<'_>, id: FlowId) -> bool {
    let hops = plan.ledger.flow(id).map_or(&[][..], |admitted| &admitted.flow.tree);
    hops.iter().all(|hop| plan.ledger.entries(hop.port).len() <= MOST_FLOWS)
}
