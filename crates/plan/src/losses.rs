//! Flows of which frames may be lost: the flows of repairs beside them, and the bound of all (docs/decisions/0016-losses.md).
use latency::framing::Framing;
use latency::ledger::FlowId;
use latency::network::{Flow, Policing, Subscriber};
use latency::repair::{Conduct, MOST_UNDER_WAY, Terms, Ways};
use latency::units::time_of;
use network::{Asked, Losses};

use crate::planning::{Plan, Verdict};
use crate::report::Bounds;

/// The least and the most bytes of a datagram beside the messages: an RTPS header, INFO_DST and a HEARTBEAT, or ACKNACK; and a question with
/// an ACKNACK and four NACK_FRAGs, all of them with the largest sets.
const LEAST_DATAGRAM: u32 = 64;
const QUESTION: u32 = 352;
/// What is around a whole sample in a datagram that repeats it.
const AROUND_SAMPLE: u32 = 107;
/// How the latency is shared, one after the other until there is room: parts of 16 for the first transmission, and how many times
/// the way of a repair repairs are apart.
const SHARES: [(u64, u64); 7] = [(2, 1), (4, 1), (8, 1), (1, 1), (2, 4), (4, 4), (8, 4)];

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

/// How the latency is shared.
#[derive(Clone, Copy, Debug)]
struct Shares {
    ways: Ways,
    conduct: Conduct,
}

impl Shares {
    /// The longest ways with which a sample takes no longer than `limit`, if its first transmission takes `parts` of 16 of that at most.
    fn new(losses: &Losses, flow: &Flow, limit: u64, drift: u32, (parts, apart): (u64, u64)) -> Option<Self> {
        let under_way = flow.separation.checked_mul(MOST_UNDER_WAY - 1)?;
        let sample = (limit / 16).checked_mul(parts)?.min(under_way);
        let with = |way: u64| {
            let spacing = way.checked_mul(apart)?;
            let reaction = losses.reaction;
            let ways = Ways { sample, question: way, repair: way, spacing, reaction, drift };
            let conduct = ways.conduct(losses.frames)?;
            let latest = ways.latest(&conduct, losses.frames)?.sum()?;
            (latest <= limit).then_some(Self { ways, conduct })
        };
        let (mut low, mut high) = (1, limit);
        with(low)?;
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if with(middle).is_some() {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        with(low)
    }
}

/// The most bytes of a datagram that repeats a part of a sample.
fn datagram_of(flow: &Flow) -> u32 {
    let (Framing::Rtps { datagram } | Framing::Udp { datagram }) = flow.framing;
    match flow.framing.frames(flow.largest_message, 0) {
        Some(frames) if frames.count == 1 => flow.largest_message.saturating_add(AROUND_SAMPLE).min(datagram),
        _ => datagram,
    }
}

impl Plan<'_> {
    /// How much later than it should what a gate takes for the first frame of a message may be handed over: frames before it may be lost on the
    /// way to the gate, which must not find the next message too early then.
    fn jitter_with_losses(&self, asked: &Asked) -> Option<u64> {
        let port = self.network.ports().get(*self.network.topology().leaving(asked.publisher).first()?)?;
        let frames = asked.flow.frames(port)?;
        let behind = if frames.count > 1 { time_of(frames.bits, port.rate)? } else { 0 };
        asked.flow.jitter.checked_add(asked.flow.emitting())?.checked_add(behind)
    }

    /// The flows of repairs and questions of a flow, for each subscriber.
    fn beside(&self, asked: &Asked, shares: &Shares, datagram: u32) -> Vec<[Asked; 2]> {
        let one = |from: usize, to: usize, most: u32, policing: Policing, name: String| {
            let flow = Flow {
                largest_message: most,
                smallest_message: LEAST_DATAGRAM,
                framing: Framing::Udp { datagram: most },
                separation: shares.ways.spacing,
                maximum_separation: None,
                jitter: 0,
                emission: 0,
                slack: 0,
                policing,
                tree: Vec::new(),
                subscribers: vec![Subscriber { hop: 0, limit: shares.ways.repair, maximum_separation: None }],
                importance: asked.flow.importance,
                bundle: None,
            };
            Asked {
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
        let datagram = datagram_of(&asked.flow);
        let mut refused: Option<Verdict> = None;
        for share in SHARES {
            let Some(shares) = Shares::new(&losses, &asked.flow, limit, drift, share) else { continue };
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
