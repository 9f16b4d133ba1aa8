//! Where flows go in the picture, and where refused ones are refused.
use std::collections::BTreeMap;

use latency::ledger::{FlowId, Reason};
use latency::network::FlowError;

use crate::planning::{Plan, Verdict};
use crate::report::{FlowReport, Report};

/// The most flows that are drawn, and the most refused ones whose first way is looked for.
const DRAWN: usize = 1_000;
const REFUSED: usize = 50;

/// Where something is marked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Spot {
    Port(usize),
    Node(usize),
}

/// A flow in the picture.
pub(crate) struct Way<'r> {
    /// Its place in the report.
    pub(crate) number: usize,
    pub(crate) flow: &'r FlowReport,
    /// The links that it takes; of a refused flow those of the first way that was tried, if it was looked for.
    pub(crate) ports: Vec<usize>,
}

/// What is drawn of flows.
#[derive(Default)]
pub(crate) struct Ways<'r> {
    pub(crate) ways: Vec<Way<'r>>,
    /// Refused flows by where that is.
    pub(crate) refused: BTreeMap<Spot, Vec<&'r FlowReport>>,
    /// For each flow of the report that is refused, where.
    pub(crate) spots: BTreeMap<usize, Spot>,
}

/// The identities of the flows of a report, in its order.
pub(crate) fn identities(plan: &Plan<'_>) -> Vec<FlowId> {
    let flows = (0..).zip(&plan.flows);
    flows.filter(|(_, (_, verdict))| !matches!(verdict, Verdict::Removed)).map(|(id, _)| id).collect()
}

impl<'r> Ways<'r> {
    pub(crate) fn new(plan: &Plan<'_>, report: &'r Report) -> Self {
        let (mut ways, mut searched) = (Vec::new(), 0);
        let (mut refused, mut spots) = (BTreeMap::<Spot, Vec<&FlowReport>>::new(), BTreeMap::new());
        for ((number, flow), id) in report.flows.iter().enumerate().zip(identities(plan)) {
            let Some((asked, verdict)) = usize::try_from(id).ok().and_then(|id| plan.flows.get(id)) else {
                continue;
            };
            let mut ports = plan
                .ledger
                .flow(id)
                .map_or_else(Vec::new, |admitted| admitted.flow.tree.iter().map(|hop| hop.port).collect());
            if !flow.admitted {
                let spot = match verdict {
                    Verdict::Refused(refusal) => {
                        place(&refusal.reason).map_or(Spot::Node(asked.publisher), Spot::Port)
                    }
                    _ => Spot::Node(asked.publisher),
                };
                refused.entry(spot).or_default().push(flow);
                spots.insert(number, spot);
                searched += 1;
                if searched <= REFUSED {
                    let way = plan.first_way(asked);
                    ports = way.map_or_else(Vec::new, |tree| tree.hops.iter().map(|hop| hop.port).collect());
                }
            }
            if !ports.is_empty() && ways.len() < DRAWN {
                ways.push(Way { number, flow, ports });
            }
        }
        Self { ways, refused, spots }
    }
}

/// The port that a refusal is about.
fn place(reason: &Reason) -> Option<usize> {
    match *reason {
        Reason::Delay { port, .. }
        | Reason::Queues { port, .. }
        | Reason::Buffer { port, .. }
        | Reason::Order { port }
        | Reason::Guards { port }
        | Reason::Full { port }
        | Reason::Work { port }
        | Reason::Flow(FlowError::Paused { port }) => Some(port),
        Reason::Known | Reason::Separation { .. } | Reason::Flow(_) => None,
    }
}
