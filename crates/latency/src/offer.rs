//! What could be admitted instead of a flow that was refused. Every offer has been planned before it is made.
use crate::ledger::{FlowId, Ledger, Offer, Reason};
use crate::network::Flow;

/// How often a longer separation is tried.
const TRIALS: u32 = 24;

/// The smallest latency and the largest rate that would be admitted, each with the rest as asked for.
pub(crate) fn offer(ledger: &Ledger, id: FlowId, flow: &Flow, reason: Reason) -> Offer {
    match reason {
        // No latency or rate helps.
        Reason::Known
        | Reason::Flow(_)
        | Reason::Guards { .. }
        | Reason::Full { .. }
        | Reason::Separation { .. }
        | Reason::Work { .. } => Offer::default(),
        Reason::Delay { .. } | Reason::Queues { .. } | Reason::Buffer { .. } | Reason::Order { .. } => {
            // Many plans are tried.
            ledger.work().sparing(|| Offer {
                latency: latency(ledger, id, flow),
                separation: separation(ledger, id, flow),
            })
        }
    }
}

fn latency(ledger: &Ledger, id: FlowId, flow: &Flow) -> Option<u64> {
    // An hour: longer promises than that are not made.
    const LONGEST: u64 = 3_600 * crate::units::SECOND;
    let with = |limit: u64| {
        let mut flow = flow.clone();
        for subscriber in &mut flow.subscribers {
            subscriber.limit = subscriber.limit.max(limit);
        }
        ledger.plan_as_asked(id, &flow).is_ok()
    };
    // The least limit is where the search begins; it ends at the least that was planned.
    let asked = flow.subscribers.iter().map(|subscriber| subscriber.limit).min()?;
    least_that(asked, LONGEST, with)
}

fn separation(ledger: &Ledger, id: FlowId, flow: &Flow) -> Option<u64> {
    let with = |separation: u64| ledger.plan_as_asked(id, &Flow { separation, ..flow.clone() }).is_ok();
    let longest = flow.maximum_separation.unwrap_or(u64::MAX).min(3_600 * crate::units::SECOND);
    least_that(flow.separation, longest, with)
}

/// A number above `asked` for which `holds` has said yes, the least within a thousandth if it stays so from there on.
fn least_that(asked: u64, longest: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let mut no = asked;
    let mut yes = asked.max(1);
    loop {
        if yes >= longest {
            return None;
        }
        yes = yes.saturating_mul(2).min(longest);
        if holds(yes) {
            break;
        }
        no = yes;
    }
    for _ in 0..TRIALS {
        if yes - no <= yes / 1_000 {
            break;
        }
        let middle = no + (yes - no) / 2;
        if holds(middle) { yes = middle } else { no = middle }
    }
    Some(yes)
}
