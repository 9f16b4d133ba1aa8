//! The plan: which flows are admitted, along which way, and why others are not.
use latency::choice::along;
use latency::ledger::{FlowId, Ledger, Reason, Refusal};
use latency::routes::{Topology, Tree};

use crate::network::{Asked, Network};
use crate::quantity::microseconds;

/// Up to this many ports all ways of a flow are compared; in larger networks the first one that admits it is taken.
const COMPARED: usize = 512;
/// Ways that are tried.
const WAYS: usize = 4;
/// Links of a way: no network needs more, and what a flow costs does not grow with the network.
const MOST_LINKS: usize = 256;
/// How many refusals look for what could be offered instead: that is many plans each.
const OFFERS: usize = 50;

/// What became of a flow.
#[derive(Debug)]
pub(crate) enum Verdict {
    Admitted,
    /// It was taken out.
    Removed,
    /// There is no way from the publisher to all subscribers.
    NoWay,
    Refused(Box<Refusal>),
}

/// A network and what became of its flows.
#[derive(Debug)]
pub(crate) struct Plan<'n> {
    pub(crate) network: &'n Network,
    pub(crate) ledger: Ledger,
    /// The flows and their verdicts; the number of a flow is its identity in the ledger.
    pub(crate) flows: Vec<(Asked, Verdict)>,
    offers: usize,
}

impl<'n> Plan<'n> {
    /// Plans all flows of the network; `told` hears how many have been planned.
    pub(crate) fn new(network: &'n Network, mut told: impl FnMut(usize)) -> Self {
        let mut ledger = Ledger::new(network.ports.clone(), network.split);
        for (switch, ports, guards) in &network.guards {
            ledger.limit_guards(*switch, ports, *guards);
        }
        let mut plan = Self { network, ledger, flows: Vec::with_capacity(network.flows.len()), offers: 0 };
        for (count, asked) in network.flows.iter().enumerate() {
            plan.add(asked.clone());
            told(count + 1);
        }
        plan
    }

    /// Plans one more flow; its identity.
    pub(crate) fn add(&mut self, asked: Asked) -> FlowId {
        let id = self.flows.len() as FlowId;
        let verdict = self.admit(id, &asked);
        self.flows.push((asked, verdict));
        id
    }

    fn admit(&mut self, id: FlowId, asked: &Asked) -> Verdict {
        let most = if self.network.ports.len() <= COMPARED { WAYS } else { 1 };
        let mut trees = trees(self.network, asked, most);
        let Some(first) = trees.first().cloned() else { return Verdict::NoWay };
        let mut planned = self.ledger.admit_among(id, &asked.flow, &trees);
        if planned.is_err() && most < WAYS {
            trees = self::trees(self.network, asked, WAYS);
            planned = self.ledger.admit_among(id, &asked.flow, &trees);
        }
        match planned {
            Ok(_) => Verdict::Admitted,
            Err(reason) => {
                self.offers += 1;
                let refusal = if self.offers <= OFFERS {
                    self.ledger.plan(id, &along(&asked.flow, &first)).err()
                } else {
                    None
                };
                let plain = Refusal { reason, offer: latency::ledger::Offer::default() };
                Verdict::Refused(Box::new(refusal.unwrap_or(plain)))
            }
        }
    }

    /// The identity of a flow that has not been taken out.
    pub(crate) fn find(&self, name: &str) -> Option<FlowId> {
        let is =
            |(asked, verdict): &(Asked, Verdict)| asked.name == name && !matches!(verdict, Verdict::Removed);
        let at = self.flows.iter().position(is)?;
        FlowId::try_from(at).ok()
    }

    pub(crate) fn name(&self, id: FlowId) -> &str {
        let flow = usize::try_from(id).ok().and_then(|id| self.flows.get(id));
        flow.map_or("this flow", |(asked, _)| &asked.name)
    }

    /// Less important flows in whose place a refused flow would be admitted along its first way.
    pub(crate) fn yielding(&self, id: FlowId) -> Option<Vec<FlowId>> {
        let (asked, _) = self.flows.get(usize::try_from(id).ok()?)?;
        let tree = trees(self.network, asked, 1).into_iter().next()?;
        Some(self.ledger.yielding(id, &along(&asked.flow, &tree))?.0)
    }

    /// Why a flow was refused, in words.
    pub(crate) fn said(&self, asked: &Asked, reason: &Reason) -> String {
        if let Reason::Separation { subscriber, by: Some(by) } = *reason {
            let node = asked.subscribers.get(subscriber).and_then(|node| self.network.nodes.get(*node));
            let host = node.map_or("a subscriber", |node| node.name.as_str());
            let writer = asked.flow.maximum_separation.unwrap_or(0);
            let accepted =
                asked.flow.subscribers.get(subscriber).and_then(|s| s.maximum_separation).unwrap_or(0);
            let varying = accepted.saturating_add(by).saturating_sub(writer);
            let [by, writer, accepted, varying] = [by, writer, accepted, varying].map(microseconds);
            return format!(
                "samples may come {by} us too far apart for {host}: the publisher lets {writer} us pass, the latency varies \
                 by {varying} us up to its limit, and {accepted} us are accepted"
            );
        }
        let flow = |flow: FlowId| format!("\"{}\"", self.name(flow));
        latency::words::reason(reason, |port| self.network.port_name(port), flow)
    }
}

impl Network {
    /// Why there is no way for a flow, in words.
    pub(crate) fn no_way(&self, asked: &Asked) -> String {
        let name = |node: usize| self.nodes.get(node).map_or("?", |node| node.name.as_str());
        let publisher = name(asked.publisher);
        let cannot = asked.subscribers.iter().find(|subscriber| {
            let alone = Asked { subscribers: vec![**subscriber], ..asked.clone() };
            trees(self, &alone, 1).is_empty()
        });
        let Some(subscriber) = cannot else {
            return format!("there is no way from {publisher} to all subscribers");
        };
        let without = [asked.publisher, *subscriber]
            .into_iter()
            .find(|node| !self.links.iter().any(|(from, _)| from == node));
        let alone = Asked { subscribers: vec![*subscriber], ..asked.clone() };
        let cause = match (without, &asked.through) {
            (Some(node), _) => format!("{} has no link", name(node)),
            _ if !ways(self, &alone, 1).is_empty() => {
                format!("more than {MOST_LINKS} links are between them")
            }
            (None, Some(_)) => "not through the switches that it may pass".to_owned(),
            (None, None) => "no links lead there".to_owned(),
        };
        format!("there is no way from {publisher} to {}: {cause}", name(*subscriber))
    }
}

/// Ways that are not too long.
fn trees(network: &Network, asked: &Asked, most: usize) -> Vec<Tree> {
    let mut trees = ways(network, asked, most);
    trees.retain(|tree| {
        let mut depths: Vec<usize> = Vec::with_capacity(tree.hops.len());
        for hop in &tree.hops {
            let before = hop.parent.and_then(|parent| depths.get(parent)).copied().unwrap_or(0);
            depths.push(before + 1);
        }
        depths.iter().all(|depth| *depth <= MOST_LINKS)
    });
    trees
}

fn ways(network: &Network, asked: &Asked, most: usize) -> Vec<Tree> {
    let Some(through) = &asked.through else {
        return network.topology.trees(asked.publisher, &asked.subscribers, &[], most);
    };
    let forwards = (0..network.nodes.len()).map(|node| through.contains(&node)).collect();
    let topology = Topology::new(network.topology.links().to_vec(), forwards);
    topology.trees(asked.publisher, &asked.subscribers, &[], most)
}
