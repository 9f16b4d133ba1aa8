//! Flows of which frames may be lost: the flows of repairs beside them, and the bound of all (docs/decisions/0016-losses.md).
use latency::ledger::FlowId;
use latency::losses::{Allowed, QUESTION, Shares};
use latency::network::Policing;
use latency::repair::{Conduct, Terms, Ways};
use network::{Asked, Losses};

use crate::planning::{Plan, Verdict};
use crate::report::Bounds;

/// An admitted flow with losses.
#[derive(Clone, Debug)]
pub(crate) struct Repaired {
    pub(crate) losses: Losses,
    pub(crate) conduct: Conduct,
    pub(crate) spacing: u64,
    /// The most bytes of a repair.
    pub(crate) datagram: u32,
    /// For each subscriber the flow of repairs, and that of questions.
    pub(crate) beside: Vec<[FlowId; 2]>,
}

impl Plan<'_> {
    /// The jitter of a flow of which frames may be lost on the first link.
    fn jitter_with_losses(&self, asked: &Asked) -> Option<u64> {
        let first = *self.network.topology().leaving(asked.publisher).first()?;
        asked.flow.jitter_with_losses(self.network.ports().get(first)?)
    }

    /// The flows of repairs and questions of a flow, for each subscriber.
    fn beside(&self, asked: &Asked, shares: &Shares, datagram: u32) -> Vec<[Asked; 2]> {
        let one = |from: usize, to: usize, most: u32, policing: Policing, name: String| {
            let flow = asked.flow.beside(shares, most, 0, policing);
            Asked {
                vlan: asked.vlan,
                name,
                topic: asked.topic.clone(),
                publisher: from,
                subscribers: vec![to],
                flow,
                through: asked.through.clone(),
                members: Vec::new(),
                losses: None,
            }
        };
        let node = |node: usize| self.network.node_name(node).unwrap_or("?");
        let pair = |subscriber: &usize| {
            let (from, to) = (asked.publisher, *subscriber);
            let repairs = format!("{} (repairs to {})", asked.name, node(to));
            let questions = format!("{} (questions of {})", asked.name, node(to));
            [
                one(from, to, datagram, asked.flow.policing, repairs),
                one(to, from, QUESTION, self.network.first_switch(to), questions),
            ]
        };
        asked.subscribers.iter().map(pair).collect()
    }

    /// Plans a flow with losses and its flows of repairs, all of them or none; its identity.
    pub(crate) fn add_with_losses(&mut self, asked: Asked, losses: Losses) -> FlowId {
        let id = self.flows.len() as FlowId;
        let drift = self.network.clock_drift();
        let limit = asked.flow.subscribers.iter().map(|subscriber| subscriber.limit).min().unwrap_or(0);
        let datagram = asked.flow.repair_datagram();
        let mut refused: Option<Verdict> = None;
        let allowed = Allowed { frames: losses.frames, reaction: losses.reaction, drift, step: 1 };
        for shares in allowed.shares(&asked.flow, limit) {
            let mut first = asked.flow.clone();
            first.jitter = self.jitter_with_losses(&asked).unwrap_or(u64::MAX);
            first.subscribers.iter_mut().for_each(|subscriber| subscriber.limit = shares.ways.sample);
            let mut all = vec![Asked { flow: first, ..asked.clone() }];
            all.extend(self.beside(&asked, &shares, datagram).into_iter().flatten());
            match self.admit_all(id, &all) {
                Ok(verdicts) => {
                    let beside = (id + 1..).step_by(2).take(asked.subscribers.len());
                    let beside = beside.map(|repairs| [repairs, repairs + 1]).collect();
                    let (conduct, spacing) = (shares.conduct, shares.ways.spacing);
                    self.repaired.insert(id, Repaired { losses, conduct, spacing, datagram, beside });
                    let flows = std::iter::once(asked).chain(all.into_iter().skip(1));
                    self.flows.extend(flows.zip(verdicts));
                    return id;
                }
                Err(verdict) => refused = Some(verdict),
            }
            if self.is_lost() {
                break;
            }
        }
        // Waits and reactions alone are longer than the limit.
        self.flows.push((asked, refused.unwrap_or(Verdict::NoTime)));
        id
    }

    /// Admits flows that belong together, with identities from `id` on; if one of them is refused, none is admitted.
    fn admit_all(&mut self, id: FlowId, all: &[Asked]) -> Result<Vec<Verdict>, Verdict> {
        let mut verdicts = Vec::with_capacity(all.len());
        for (at, asked) in (id..).zip(all) {
            let verdict = self.admit(at, asked, false);
            if !matches!(verdict, Verdict::Admitted { .. }) {
                self.ledger.remove_all(&(id..at).collect::<Vec<_>>());
                return Err(verdict);
            }
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }

    /// The terms of the bound of a flow with losses to a subscriber, and the bound of its first transmission.
    pub(crate) fn terms(&self, bounds: &Bounds, id: FlowId, subscriber: usize) -> Option<(Terms, Ways)> {
        let repaired = self.repaired.get(&id)?;
        let [repairs, questions] = *repaired.beside.get(subscriber)?;
        let bound = |id, subscriber| Some(bounds.path(self, id, subscriber)?.latency);
        let ways = Ways {
            sample: bound(id, subscriber)?,
            question: bound(questions, 0)?,
            repair: bound(repairs, 0)?,
            spacing: repaired.spacing,
            reaction: repaired.losses.reaction,
            drift: self.network.clock_drift(),
        };
        Some((ways.latest(&repaired.conduct, repaired.losses.frames)?, ways))
    }

    /// The bound of a flow to a subscriber: with losses if there may be some.
    pub(crate) fn latest(&self, bounds: &Bounds, id: FlowId, subscriber: usize) -> Option<u64> {
        if self.repaired.contains_key(&id) {
            return self.terms(bounds, id, subscriber)?.0.sum();
        }
        Some(bounds.path(self, id, subscriber)?.latency)
    }

    /// The flow whose repairs a flow carries, if it is one of those.
    pub(crate) fn repairs_of(&self, id: FlowId) -> Option<FlowId> {
        let (main, repaired) = self.repaired.range(..id).next_back()?;
        // Their identities follow that of the flow.
        repaired.beside.last().is_some_and(|[_, last]| id <= *last).then_some(*main)
    }
}
