//! Flows with losses: random networks are planned with them, frames are lost at the worst moments that a search finds, and no sample is later
//! than promised, no other bound is broken by the repairs, and no frame of them is dropped.
use std::collections::BTreeSet;

use serde_json::Value;

use crate::claims::{Planned, names, number, planned, rule, way};
use crate::command::Folder;
use crate::draw::Draw;
use crate::drawn::Drawn;
use crate::judged::report;
use crate::messages::on_wire;
use crate::repairs::{Conduct, Habits, Losing, Pair};
use crate::run::{Below, Crossing, Message, Stream, Ties, Weather, run_with};
use crate::schedule::{Choice, Contract, Habit, Intent, Pace, conforming};

const ORIGIN: u64 = 1 << 50;
/// Parts of a million, by the network file.
const DRIFT: u64 = 200;
/// Runs for each network.
const RUNS: u64 = 14;

/// A subscriber of an admitted flow with losses.
struct Promise {
    stream: usize,
    hop: usize,
    beside: [usize; 2],
    bytes: [u64; 2],
    conduct: Conduct,
    bound: u64,
}

/// Adds losses to some flows, with limits that leave room for them.
fn with_losses(drawn: &mut Drawn, draw: &mut Draw) {
    // Each host sends a few flows more.
    drawn.flows.truncate(5);
    for flow in &mut drawn.flows {
        flow.separation *= 3;
        let is_reliable = flow.samples.framing == crate::messages::Framing::Rtps && flow.bundle.is_none();
        if !is_reliable || flow.samples.heaviest().len() > 40 || draw.one_in(4) {
            continue;
        }
        let reaction = draw.of(&[0, 0, 1_000_000, 20_000_000]);
        for (_, limit) in &mut flow.subscribers {
            *limit = *limit * draw.range(12, 60) + 40 * reaction;
        }
        let limit = flow.subscribers.iter().map(|(_, limit)| *limit).max().unwrap();
        flow.losses = Some((draw.range(1, 4), 2 * limit + draw.below(limit), reaction));
    }
}

/// The streams of repairs and questions, which come behind the others, and what is promised with them.
fn promises(drawn: &Drawn, report: &Value, planned: &mut Planned) -> (Vec<Promise>, Vec<(usize, u64)>) {
    let names = names(drawn, &planned.network.ports);
    let flows = report["flows"].as_array().unwrap();
    let (mut promises, mut bounds) = (Vec::new(), Vec::new());
    for stream in 0..planned.claims.len() {
        let name = drawn.flow_name(planned.claims[stream].flow);
        let flow = flows.iter().find(|flow| flow["name"] == *name).unwrap();
        let losses = &flow["losses"];
        let six = drawn.flows[planned.claims[stream].flow].samples.six;
        let tag = planned.network.streams[stream].tag;
        if losses.is_null() {
            continue;
        }
        let conduct = Conduct {
            heartbeat: number(losses, "heartbeat_ps"),
            patience: number(losses, "patience_ps"),
            again: number(losses, "again_ps"),
            spacing: number(losses, "spacing_ps"),
            reaction: number(losses, "reaction_ps"),
            frames: usize::try_from(number(losses, "frames")).unwrap(),
        };
        for subscriber in flow["subscribers"].as_array().unwrap() {
            let host = subscriber["host"].as_str().unwrap();
            let beside = [format!("{name} (repairs to {host})"), format!("{name} (questions of {host})")];
            let beside =
                [(&beside[0], number(losses, "datagram")), (&beside[1], 352)].map(|(beside, datagram)| {
                    let flow = flows.iter().find(|flow| flow["name"] == **beside).unwrap();
                    assert!(flow["admitted"] == true && flow["repairs_of"] == *name, "{flow}");
                    let (hops, _) = way(flow, &names, &planned.network.ports);
                    let bytes = on_wire(datagram, planned.network.ports[hops[0].port].tag + tag, six);
                    let guard = rule(&flow["enforcement"]).map(|rule| {
                        planned.network.rules.push(rule);
                        planned.network.rules.len() - 1
                    });
                    let stream = planned.network.streams.len();
                    bounds.push((stream, number(&flow["subscribers"][0], "bound_ps")));
                    planned.network.streams.push(Stream { hops, guard, tag });
                    (stream, bytes)
                });
            let ends = |hop: &crate::run::Hop| drawn.node_name(planned.network.ports[hop.port].to) == host;
            let hop = planned.network.streams[stream].hops.iter().position(ends).unwrap();
            promises.push(Promise {
                stream,
                hop,
                beside: beside.map(|(stream, _)| stream),
                bytes: beside.map(|(_, bytes)| bytes),
                conduct,
                bound: number(subscriber, "bound_ps"),
            });
        }
    }
    (promises, bounds)
}

/// A network with promises, and what may be tried against them.
struct Judge<'a> {
    drawn: &'a Drawn,
    planned: &'a Planned,
    promises: &'a [Promise],
    bounds: &'a [(usize, u64)],
    /// For each flow, the messages that it may send.
    messages: Vec<Vec<Vec<u64>>>,
}

/// What is chosen for a run.
#[derive(Clone)]
struct Choices {
    seed: u64,
    target: usize,
    taken: BTreeSet<u64>,
}

impl Judge<'_> {
    fn schedule(&self, target: &Promise, draw: &mut Draw) -> Vec<Vec<Message>> {
        let end = ORIGIN + target.bound / 2 + 1;
        let streams = 0..self.planned.network.streams.len();
        let of = |stream: usize| {
            let Some(claim) = self.planned.claims.get(stream) else { return Vec::new() };
            let asked = &self.drawn.flows[claim.flow];
            let contract =
                Contract { separation: asked.separation, jitter: asked.jitter, emission: asked.emission };
            let intent = Intent {
                instant: ORIGIN + draw.below(asked.separation.min(target.bound)),
                before: draw.below(2),
                habit: draw.of(&[Habit::Crowded, Habit::Regular, Habit::Loose]),
                choice: if draw.one_in(2) { Choice::Always(0) } else { Choice::Any },
                pace: Pace::LATE,
                pauses: Vec::new(),
                swaps: Vec::new(),
                seed: draw.bits(),
            };
            let way = &self.planned.network.streams[stream];
            let tag = self.planned.network.ports[way.hops[0].port].tag + way.tag;
            let six = self.drawn.flows[self.planned.claims[stream].flow].samples.six;
            let mut sent = conforming(&contract, &self.messages[stream], (tag, six), &intent, end);
            sent.truncate(12);
            sent
        };
        streams.map(of).collect()
    }

    /// How late the target was made, how many chances to lose a frame there were, and what was wrong.
    fn play(&self, choices: &Choices) -> (u64, u64, Vec<String>) {
        let mut draw = Draw::new(choices.seed);
        let target = &self.promises[choices.target];
        let schedule = self.schedule(target, &mut draw);
        let weather = Weather {
            target: target.stream,
            ties: draw.of(&[Ties::Others, Ties::Choice, Ties::Any]),
            below: draw.of(&[Below::Always, Below::Always, Below::Never, Below::Sometimes]),
            crossing: draw.of(&[Crossing::Slow, Crossing::Fast, Crossing::Any, Crossing::Together]),
            pads_early: draw.one_in(2),
            strict: draw.one_in(2),
            seed: draw.bits(),
        };
        let habits = Habits {
            clocks: [draw.of(&[-1, 0, 1]), draw.of(&[-1, 0, 1])],
            late: draw.one_in(2),
            along: draw.one_in(2),
        };
        let pair = |promise: &Promise| {
            let Promise { stream, hop, beside, bytes, conduct, .. } = *promise;
            Pair::new(conduct, (stream, hop), beside, bytes, &schedule[stream], DRIFT, habits)
        };
        let pairs = self.promises.iter().map(pair).collect();
        let mut hosts = Losing::new(pairs, choices.taken.clone(), Draw::new(!choices.seed));
        let conforms = vec![true; schedule.len()];
        let seen = run_with(&self.planned.network, &schedule, &conforms, weather, &mut hosts);
        let mut wrong = Vec::new();
        for (promise, pair) in self.promises.iter().zip(&hosts.pairs) {
            let name = self.drawn.flow_name(self.planned.claims[promise.stream].flow);
            if !pair.is_whole() {
                wrong.push(format!("a sample of {name} never came"));
            }
            if pair.latest > promise.bound {
                wrong.push(format!("{name}: {} above {}", pair.latest, promise.bound));
            }
        }
        for (stream, claim) in self.planned.claims.iter().enumerate() {
            for (hop, bound) in claim.bounds.iter().enumerate() {
                let (latency, _) = seen.latency[stream][hop];
                if bound.is_some_and(|bound| latency > bound) || seen.delay[stream][hop] > claim.delays[hop] {
                    wrong.push(format!("stream {stream}, hop {hop}: {latency} above {bound:?}"));
                }
            }
        }
        for (stream, bound) in self.bounds {
            let (latency, _) = *seen.latency[*stream].last().unwrap();
            if latency > *bound {
                wrong.push(format!("beside, stream {stream}: {latency} above {bound}"));
            }
        }
        let dropped = seen.dropped.iter().enumerate().filter(|(_, dropped)| **dropped > 0);
        wrong.extend(dropped.map(|(stream, count)| format!("{count} frames of stream {stream} dropped")));
        (hosts.pairs[choices.target].latest, hosts.chances, wrong)
    }

    /// Looks for the worst of one subscriber.
    fn attack(&self, target: usize, draw: &mut Draw) -> (u64, Vec<String>) {
        let mut best = Choices { seed: draw.bits(), target, taken: BTreeSet::new() };
        let (mut worst, mut chances, wrong) = self.play(&best);
        let mut worst_wrong = wrong;
        let frames = self.promises[target].conduct.frames as u64;
        for run in 0..RUNS {
            if !worst_wrong.is_empty() {
                break;
            }
            let mut other = best.clone();
            if run % 5 == 0 {
                other.seed = draw.bits();
            }
            if run % 3 == 0 || other.taken.is_empty() {
                let first = draw.below(chances + 1);
                other.taken = (0..frames * 3).map(|at| first + at * draw.below(6)).collect();
            } else {
                let taken: Vec<u64> = other.taken.iter().copied().collect();
                other.taken.remove(&taken[draw.place(taken.len())]);
                other.taken.insert(draw.below(chances + 8));
            }
            let (latest, more, wrong) = self.play(&other);
            if latest >= worst || !wrong.is_empty() {
                (worst, best, chances, worst_wrong) = (latest, other, more, wrong);
            }
        }
        (worst, worst_wrong)
    }
}

#[test]
fn with_losses_nothing_is_worse_than_promised() {
    let folder = Folder::new();
    let (mut admitted, mut refused, mut ratios) = (0, 0, Vec::new());
    let one = std::env::var("LOSSES_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    for seed in one.map_or_else(|| tiers::current().seeds("plan.losses"), |seed| seed..seed + 1) {
        let mut draw = Draw::new(seed ^ 0x1055);
        let mut drawn = Drawn::of(seed);
        with_losses(&mut drawn, &mut draw);
        let Some(report) = report(seed, &drawn, &folder, draw.one_in(4)) else { continue };
        let mut planned = planned(&drawn, &report);
        let (promises, bounds) = promises(&drawn, &report, &mut planned);
        let asked = drawn.flows.iter().filter(|flow| flow.losses.is_some());
        refused += asked.map(|flow| flow.subscribers.len()).sum::<usize>() - promises.len();
        admitted += promises.len();
        let messages =
            planned.claims.iter().map(|claim| drawn.flows[claim.flow].samples.messages(&mut draw)).collect();
        let judge =
            Judge { drawn: &drawn, planned: &planned, promises: &promises, bounds: &bounds, messages };
        for (target, promise) in promises.iter().enumerate().take(2) {
            let (worst, wrong) = judge.attack(target, &mut draw);
            assert!(wrong.is_empty(), "LOSSES_SEED={seed}: {wrong:#?}\n{}\n{report:#}", drawn.text());
            ratios.push(promise.bound as f64 / worst.max(1) as f64);
        }
    }
    ratios.sort_by(f64::total_cmp);
    if ratios.is_empty() {
        return assert!(one.is_some());
    }
    let (least, median) = (ratios[0], ratios[ratios.len() / 2]);
    println!(
        "{admitted} subscribers with losses admitted, {refused} refused; bound / worst: median {median:.3}, least {least:.3}"
    );
    assert!(admitted > refused / 4);
}
