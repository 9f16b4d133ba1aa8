//! Random networks with several hops: latency, backlog, and that no conforming frame is dropped.
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use frames::generate::{self, Generated, Shape};
use frames::{Contract, Effort, Found, LEVELS, Node, Random, Search};
use latency::network::Policing;
use latency::policing::Counts;

use crate::analysis::{Analysis, Model};
use crate::clocks::run_apart;
use crate::ratios::Ratios;

pub(crate) const EFFORT: Effort = Effort { aligned: 7, climbing: 12, random: 3, frames: 600 };
/// Of many networks each is attacked less: another network shows more than another attack on the same one.
const MANY: Effort = Effort { aligned: 3, climbing: 3, random: 1, frames: 600 };
/// So many networks are many.
const FROM: u64 = 100_000;
/// In large networks there is more to choose.
const LARGE: Effort = Effort { aligned: 14, climbing: 60, random: 4, frames: 1000 };

/// A small network with guards: some flows are trusted, some have a gate, some a meter; what babbles has one of the two.
pub(crate) fn generated(seed: u64) -> (Generated, Vec<Policing>) {
    let generated = if seed % 5 == 1 {
        generate::junction(seed).unwrap()
    } else {
        // In every second network few flows, for which the same number of runs is more.
        let flows = if seed.is_multiple_of(2) { Shape::SMALL.flows } else { 4 };
        generate::network(seed, &shape(seed, flows, Shape::SMALL.switches)).unwrap()
    };
    guarded(seed, generated)
}

/// The same with up to 40 flows, and six switches in a row or a circle.
fn large(seed: u64) -> (Generated, Vec<Policing>) {
    guarded(seed, generate::network(seed, &shape(seed, 40, 6)).unwrap())
}

fn shape(seed: u64, flows: usize, switches: usize) -> Shape {
    let varied = seed.is_multiple_of(2) || seed % 8 == 3;
    Shape { flows, switches, buckets: false, babblers: seed.is_multiple_of(3), varied, ..Shape::SMALL }
}

fn guarded(seed: u64, generated: Generated) -> (Generated, Vec<Policing>) {
    let mut random = Random::new(!seed);
    let mut others = Random::new(seed ^ 2);
    let flows = generated.network.flows().iter().take(generated.samples.len());
    let policing = flows.map(|flow| match random.below(4) {
        0 | 1 if !flow.babbles => Policing::Trusted,
        0 | 2 => Policing::Gate { tick: 1 + random.below(1000) },
        _ => Policing::Meter {
            rate_step: 1000,
            burst_step: 1000,
            counts: [Counts::Wire, Counts::Frame][others.index(2)],
        },
    });
    let policing = policing.collect();
    (generated, policing)
}

/// The attack on one delivery of the network, which the seed selects among those of flows that do not babble.
pub(crate) fn attack(
    seed: u64,
    network: &frames::Network,
    bounds: &frames::Bounds,
) -> Option<(usize, usize, Found)> {
    attack_with(seed, network, bounds, EFFORT)
}

fn attack_with(
    seed: u64,
    network: &frames::Network,
    bounds: &frames::Bounds,
    effort: Effort,
) -> Option<(usize, usize, Found)> {
    let targets: Vec<(usize, usize)> = (0..network.flows().len())
        .filter(|flow| !network.flows()[*flow].babbles && !is_unadmitted(network, *flow))
        .flat_map(|flow| network.deliveries(flow).into_iter().map(move |hop| (flow, hop)))
        .collect();
    let (flow, hop) = *targets.get(Random::new(seed ^ 1).index(targets.len()))?;
    Some((flow, hop, Search::new(network, bounds, flow, hop, effort).worst(seed)))
}

/// What became of some of the seeds.
#[derive(Default)]
struct Tally {
    with_bound: u64,
    without: u64,
    runs: u64,
    most_flows: usize,
    checked: u64,
    ratios: Ratios,
    wrong: Vec<(u64, generate::Topology, Vec<String>)>,
}

impl Tally {
    fn judge(&mut self, seed: u64, (generated, policing): (Generated, Vec<Policing>), effort: Effort) {
        let model = Model::of(&generated, &policing).with_slack(seed).with_drift(seed);
        let Some(analysis) = model.shares().and_then(|shares| model.analyse(&shares)) else {
            self.without += 1;
            return;
        };
        self.with_bound += 1;
        self.most_flows = self.most_flows.max(generated.network.flows().len());
        let network = run_apart(&analysis.guarded(&generated.network), seed);
        let bounds = analysis.bounds(&network);
        let Some((flow, hop, found)) = attack_with(seed, &network, &bounds, effort) else { return };
        self.runs += found.runs;
        self.checked += found.outcome.received.iter().flatten().sum::<u64>();
        let wrong = wrong_with(&analysis, &network, &found);
        if !wrong.is_empty() {
            println!("seed {seed}: {wrong:?}");
            self.wrong.push((seed, generated.topology, wrong));
        }
        let bound = analysis.paths[flow][hop].latency;
        self.ratios.add(analysis.methods(flow, hop), network.path(flow, hop).len(), bound, found.latency);
    }

    fn add(&mut self, other: Self) {
        self.with_bound += other.with_bound;
        self.without += other.without;
        self.runs += other.runs;
        self.most_flows = self.most_flows.max(other.most_flows);
        self.checked += other.checked;
        self.ratios.merge(other.ratios);
        self.wrong.extend(other.wrong);
    }
}

/// Judges the networks of the seeds on all cores, and tells how far it has come.
fn judge_all(seeds: Range<u64>, generated: fn(u64) -> (Generated, Vec<Policing>), effort: Effort) -> Tally {
    const STEP: u64 = 10_000;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicU64::new(seeds.start);
    let part = || {
        let mut tally = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !seeds.contains(&seed) {
                return tally;
            }
            let done = seed - seeds.start;
            if done > 0 && done.is_multiple_of(STEP) {
                println!("{done} networks; from here on: PUNCTUAL_SEED={seed}");
            }
            tally.judge(seed, generated(seed), effort);
        }
    };
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|_| scope.spawn(part)).collect();
        parts.into_iter().for_each(|part| tally.add(part.join().unwrap()));
    });
    let Tally { with_bound, without, runs, checked, ratios, wrong, .. } = &tally;
    println!(
        "{with_bound} networks with bounds, {without} without; {runs} runs; {checked} frames at ends of hops"
    );
    print!("{ratios}");
    assert!(wrong.is_empty(), "{} networks: {wrong:#?}", wrong.len());
    assert!(with_bound > without);
    tally
}

#[test]
fn no_frame_is_above_its_bound() {
    let seeds = tiers::current().seeds("latency.soundness");
    let (effort, least) = if seeds.end - seeds.start >= FROM { (MANY, 7) } else { (EFFORT, 20) };
    let tally = judge_all(seeds, generated, effort);
    assert!(tally.runs >= least * tally.with_bound);
}

#[test]
fn no_frame_of_a_large_network_is_above_its_bound() {
    let tally = judge_all(tiers::current().seeds("latency.large"), large, LARGE);
    assert!(tally.most_flows > 30);
}

/// Whether it is traffic of no flow at a port.
pub(crate) fn is_unadmitted(network: &frames::Network, flow: usize) -> bool {
    let flow = &network.flows()[flow];
    flow.tree.len() == 1 && matches!(flow.contract, Contract::Bucket { .. })
}

/// What an attack refutes, in words.
pub(crate) fn wrong_with(analysis: &Analysis, network: &frames::Network, found: &Found) -> Vec<String> {
    let outcome = &found.outcome;
    let mut wrong = Vec::new();
    if outcome.excess_count > 0 {
        wrong.push(format!("{} frames above their bound: {:?}", outcome.excess_count, outcome.excesses[0]));
    }
    for (flow, source) in
        network.flows().iter().enumerate().filter(|(flow, _)| !is_unadmitted(network, *flow))
    {
        // What a babbler's own host does is not promised to anybody; what its guard lets through is.
        for hop in usize::from(source.babbles)..source.tree.len() {
            let (delay, bound) = (outcome.delay[flow][hop], analysis.delays[flow][hop].delay);
            if delay > bound {
                wrong.push(format!("flow {flow} hop {hop}: delay {delay}, bound {bound}"));
            }
        }
        if !source.babbles && outcome.policed[flow] > 0 {
            let policer = source.policer;
            wrong.push(format!(
                "flow {flow}: {} conforming frames dropped by {policer:?}",
                outcome.policed[flow]
            ));
        }
    }
    for (port, levels) in outcome.level_backlog.iter().enumerate() {
        if network.flows().iter().any(|flow| flow.babbles && flow.tree[0].port == port) {
            continue;
        }
        for (level, held) in levels.iter().enumerate().take(usize::from(LEVELS - 1)) {
            let (own, _) = analysis.backlogs[port][level];
            if *held > own {
                wrong.push(format!("port {port} level {level}: {held} bytes, bound {own}"));
            }
        }
        let all = analysis.backlogs[port].iter().map(|(_, from)| *from).max().unwrap_or(0);
        if outcome.port_backlog[port] > all {
            wrong.push(format!("port {port}: {} bytes, bound {all}", outcome.port_backlog[port]));
        }
    }
    let ordered = network.nodes().iter().all(|node| !matches!(node, Node::Switch { ordered: false, .. }));
    if ordered && outcome.disordered > 0 || outcome.lost.iter().any(|lost| *lost > 0) {
        wrong.push("the simulator lost or disordered frames".to_owned());
    }
    wrong
}
