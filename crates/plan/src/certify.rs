//! The evidence for every admission, checked by the part of `latency` that shares nothing with the search for bounds.
use latency::check::{MOST_FLOWS, check};
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
                plan.ledger.certificate(id).map(|certificate| check(&certificate, &plan.network.ports))
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
        told(usize::try_from(id).unwrap_or(0) + 1);
    }
    certificates
}

/// Whether all ports of a flow are within the checker, which would look at all their flows.
fn is_small(plan: &Plan<'_>, id: FlowId) -> bool {
    let hops = plan.ledger.flow(id).map_or(&[][..], |admitted| &admitted.flow.tree);
    hops.iter().all(|hop| plan.ledger.entries(hop.port).len() <= MOST_FLOWS)
}
