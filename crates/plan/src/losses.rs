//! Flows of which frames may be lost: what is asked for, the flows of repairs beside them, and the bound of all (docs/decisions/0016-losses.md).
use latency::framing::Framing;
use latency::ledger::FlowId;
use latency::network::{Flow, Policing, Subscriber};
use latency::repair::{Conduct, MOST_FRAGMENTS, MOST_FRAMES, MOST_UNDER_WAY, Terms, Ways};
use latency::units::time_of;

use crate::document;
use crate::network::{Asked, Network};
use crate::planning::{Plan, Verdict};
use crate::problem::{Problem, Source};
use crate::report::Bounds;

/// The time that hosts take to react if a file does not say.
const REACTION: u64 = latency::units::MILLISECOND;
/// The least and the most bytes of a datagram beside the messages: an RTPS header, INFO_DST and a HEARTBEAT, or ACKNACK; and a question with
/// an ACKNACK and four NACK_FRAGs, all of them with the largest sets.
const LEAST_DATAGRAM: u32 = 64;
const QUESTION: u32 = 352;
/// What is around a whole sample in a datagram that repeats it.
const AROUND_SAMPLE: u32 = 107;
/// How the latency is shared, one after the other until there is room: parts of 16 for the first transmission, and how many times
/// the way of a repair repairs are apart.
const SHARES: [(u64, u64); 7] = [(2, 1), (4, 1), (8, 1), (1, 1), (2, 4), (4, 4), (8, 4)];

/// Frames that may be lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Losses {
    /// So many at most, between the publisher and a subscriber, in both directions,
    pub frames: u32,
    /// in so many picoseconds.
    pub within: u64,
    /// Picoseconds that a host takes at most to do what is due.
    pub reaction: u64,
    /// Whether that is so because the file does not say otherwise.
    pub reaction_by_default: bool,
}

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

impl Losses {
    /// What a file says of a flow.
    pub(crate) fn read(
        source: Source<'_>,
        asked: &document::Flow,
        flow: &Flow,
    ) -> Result<Option<Self>, Problem> {
        let Some(losses) = &asked.losses else { return Ok(None) };
        let wrong = |what: String, remedy: &str| Err(source.problem(losses.span().start, what, remedy));
        let losses = losses.get_ref();
        let (frames, within) = (losses.frames, losses.within.0);
        let limit = flow.subscribers.iter().map(|subscriber| subscriber.limit).max().unwrap_or(0);
        if !(1..=MOST_FRAMES).contains(&frames) {
            return wrong(
                format!("losses of {frames} frames"),
                &format!("a bound is stated for 1 to {MOST_FRAMES} lost frames"),
            );
        }
        if within < limit.saturating_mul(2) {
            return wrong(
                "losses within less than twice the limit of the flow".to_owned(),
                "a sample is late by what is lost in twice its latency: write a longer time, or a smaller limit",
            );
        }
        if !matches!(flow.framing, Framing::Rtps { .. }) || asked.bundle.is_some() {
            return wrong(
                "losses of a flow that is no reliable one of its own".to_owned(),
                "repairs need framing = \"rtps\" and no bundle",
            );
        }
        let fragments = flow.framing.frames(flow.largest_message, 0).map_or(0, |frames| frames.count);
        if fragments > MOST_FRAGMENTS {
            return wrong(
                format!("losses of a flow whose samples have {fragments} frames"),
                &format!("a bound with losses is stated for samples of {MOST_FRAGMENTS} frames at most"),
            );
        }
        if flow.subscribers.iter().any(|subscriber| subscriber.maximum_separation.is_some()) {
            return wrong(
                "losses of a flow with a subscriber's maximum-separation".to_owned(),
                "only one of them can be promised",
            );
        }
        let reaction = losses.reaction.map_or(REACTION, |time| time.0);
        let reaction_by_default = losses.reaction.is_none();
        Ok(Some(Self { frames, within, reaction, reaction_by_default }))
    }

    /// The longest ways with which a sample takes no longer than `limit`, if its first transmission takes `parts` of 16 of that at most.
    fn shares(&self, flow: &Flow, limit: u64, drift: u32, (parts, apart): (u64, u64)) -> Option<Shares> {
        let under_way = flow.separation.checked_mul(MOST_UNDER_WAY - 1)?;
        let sample = (limit / 16).checked_mul(parts)?.min(under_way);
        let with = |way: u64| {
            let spacing = way.checked_mul(apart)?;
            let reaction = self.reaction;
            let ways = Ways { sample, question: way, repair: way, spacing, reaction, drift };
            let conduct = ways.conduct(self.frames)?;
            let latest = ways.latest(&conduct, self.frames)?.sum()?;
            (latest <= limit).then_some(Shares { ways, conduct })
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

impl Network {
    /// How much later than it should what a gate takes for the first frame of a message may be handed over: frames before it may be lost on the
    /// way to the gate, which must not find the next message too early then.
    fn jitter_with_losses(&self, asked: &Asked) -> Option<u64> {
        let port = self.ports.get(*self.topology.leaving(asked.publisher).first()?)?;
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
        let node = |node: usize| self.nodes.get(node).map_or("?", |node| node.name.as_str());
        let pair = |subscriber: &usize| {
            let (from, to) = (asked.publisher, *subscriber);
            let repairs = format!("{} (repairs to {})", asked.name, node(to));
            let questions = format!("{} (questions of {})", asked.name, node(to));
            [
                one(from, to, datagram, asked.flow.policing, repairs),
                one(to, from, QUESTION, self.first_switch(to), questions),
            ]
        };
        asked.subscribers.iter().map(pair).collect()
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
    /// Plans a flow with losses and its flows of repairs, all of them or none; its identity.
    pub(crate) fn add_with_losses(&mut self, asked: Asked, losses: Losses) -> FlowId {
        let id = self.flows.len() as FlowId;
        let drift = self.network.clock_drift;
        let limit = asked.flow.subscribers.iter().map(|subscriber| subscriber.limit).min().unwrap_or(0);
        let datagram = datagram_of(&asked.flow);
        let mut refused: Option<Verdict> = None;
        for share in SHARES {
            let Some(shares) = losses.shares(&asked.flow, limit, drift, share) else { continue };
            let mut first = asked.flow.clone();
            first.jitter = self.network.jitter_with_losses(&asked).unwrap_or(u64::MAX);
            first.subscribers.iter_mut().for_each(|subscriber| subscriber.limit = shares.ways.sample);
            let mut all = vec![Asked { flow: first, ..asked.clone() }];
            all.extend(self.network.beside(&asked, &shares, datagram).into_iter().flatten());
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
            drift: self.network.clock_drift,
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
