//! Behind its guard a babbler may send the smallest frames: its share at later ports has to hold for them, because what
//! comes to the next port rests on it.
use frames::{Bounds, Contract, Flow, Found, Hop, Network, Node, Policer, Port, Random, Search};
use latency::network::Policing;
use latency::policing::Counts;
use latency::port::Arrival;

use crate::analysis::Model;
use crate::networks::{EFFORT, wrong_with};

/// Picoseconds of a byte at 1 Gb/s and at 100 Mb/s.
const GIGABIT: u64 = 8_000;
const SLOW: u64 = 80_000;

/// A babbler and one or two urgent flows with short separations, each with a fast link to a switch, and a slow one to the
/// subscriber.
fn random_network(seed: u64) -> Network {
    let mut random = Random::new(seed);
    let count = random.index(2) + 2;
    let (switch, subscriber) = (count, count + 1);
    let mut nodes = vec![Node::Host; count];
    nodes.extend([Node::Switch { fastest: 0, slowest: 0, ordered: true }, Node::Host]);
    let best_effort = [0, 1538][random.index(2)];
    let port = |from, to, picoseconds_per_byte, best_effort| Port {
        best_effort,
        ..Port::ideal(from, to, picoseconds_per_byte)
    };
    let mut ports: Vec<Port> = (0..count).map(|host| port(host, switch, GIGABIT, 0)).collect();
    ports.push(port(switch, subscriber, SLOW, best_effort));
    let mut flow = |host: usize| {
        let level = if host == 0 { 1 } else { 2 };
        let tree = vec![Hop { port: host, level }, Hop { port: count, level }];
        let frames = vec![1538; if host == 0 { random.index(4) + 1 } else { 1 }];
        let bytes: u64 = frames.iter().sum();
        let separation = bytes * SLOW * count as u64 * random.between(110, 200) / 100;
        let contract = Contract::Gated { separation, jitter: random.below(separation), emission: 0 };
        // A policer makes it a babbler; which one it is the analysis says.
        let policer = Policer::Meter {
            burst: bytes,
            bytes,
            period: separation,
            counts: frames::Counts::Wire,
            tick: frames::MILLISECOND,
        };
        Flow {
            tree,
            frames,
            others: Vec::new(),
            contract,
            policer: (host == 0).then_some(policer),
            tag: 0,
            babbles: host == 0,
        }
    };
    let flows = (0..count).map(&mut flow).collect();
    Network::new(nodes, ports, flows).unwrap()
}

fn meter(counts: Counts) -> Policing {
    Policing::Meter { rate_step: 1_000, burst_step: 1_000, counts }
}

#[test]
fn a_babbler_of_small_frames_keeps_its_share() {
    let (mut judged, mut refuted) = (0, 0);
    for seed in tiers::current().seeds("latency.networks") {
        let network = random_network(seed);
        let mut policing = vec![Policing::Trusted; network.flows().len()];
        policing[0] = [Policing::Gate { tick: 1 }, meter(Counts::Wire)][Random::new(seed).index(2)];
        let model = Model::new(&network, &policing);
        let Some(shares) = model.shares() else { continue };
        let Some(analysis) = model.analyse(&shares) else { continue };
        let network = analysis.guarded(&network);
        let found = Search::new(&network, &Bounds::default(), 0, 1, EFFORT).worst(seed);
        judged += 1;
        let wrong = wrong_with(&analysis, &network, &found);
        assert!(wrong.is_empty(), "seed {seed}: {wrong:?}");
        // With the frames that it has promised the share would be too short.
        let mut promised = model.contenders(&shares).unwrap();
        for (flow, _, contender) in promised.iter_mut().flatten() {
            contender.smallest_frame = network.flows()[*flow].frames.iter().min().unwrap() * 8;
        }
        let short = model.delays(&promised).unwrap()[0][1].delay;
        refuted += u64::from(found.outcome.delay[0][1] > short);
    }
    println!("{judged} networks, in {refuted} of which promised frames would be wrong");
    assert!(refuted > 0);
}

/// A meter that counts frames lets up to twice as much of the wire through in the smallest ones. Whoever waits for them has
/// a bound that holds; with the bucket as it is programmed there would be none.
#[test]
fn a_meter_that_counts_frames_is_flooded_with_small_ones() {
    let (mut judged, mut refuted) = (0, 0);
    for seed in tiers::current().seeds("latency.networks") {
        let network = above(&random_network(seed));
        let mut policing = vec![Policing::Trusted; network.flows().len()];
        policing[0] = meter(Counts::Frame);
        let model = Model::new(&network, &policing);
        let Some((shares, found)) = waiting(&model, &network, seed) else { continue };
        judged += 1;
        let mut counted = model.contenders(&shares).unwrap();
        let behind = counted.iter_mut().flatten().filter(|(flow, hop, _)| (*flow, *hop) == (0, 1));
        for (_, _, contender) in behind {
            let Arrival::Bucket { burst, rate } = &mut contender.arrival else { panic!("no meter") };
            (*burst, *rate) = (burst.div_ceil(2), rate.div_ceil(2));
        }
        let short = model.delays(&counted).unwrap()[1][1].delay;
        refuted += u64::from(found.outcome.delay[1][1] > short);
    }
    println!("{judged} networks, in {refuted} of which what is counted would be wrong");
    assert!(judged > 20 && refuted * 2 > judged, "{refuted} of {judged}");
}

/// A guard that bears more than the contract needs lets messages come closer together. Whoever waits for them has a bound that holds;
/// without the slack there would be none.
#[test]
fn slack_is_used_by_a_babbler() {
    let (mut judged, mut refuted) = (0, [0, 0]);
    for seed in tiers::current().seeds("latency.networks") {
        let network = above(&random_network(seed));
        let guard = Random::new(seed).index(2);
        let mut policing = vec![Policing::Trusted; network.flows().len()];
        policing[0] = [Policing::Gate { tick: 1 }, meter(Counts::Wire)][guard];
        let strict = Model::new(&network, &policing);
        let mut model = strict.clone();
        model.flows[0].slack = model.flows[0].separation / 2;
        let Some((_, found)) = waiting(&model, &network, seed) else { continue };
        judged += 1;
        let short = strict.shares().and_then(|shares| strict.delays(&strict.contenders(&shares)?)).unwrap();
        refuted[guard] += u64::from(found.outcome.delay[1][1] > short[1][1].delay);
    }
    println!("{judged} networks, in {refuted:?} of which slack of a gate and of a meter would be wrong");
    assert!(judged > 20 && refuted.iter().all(|refuted| *refuted > 0), "{refuted:?} of {judged}");
}

/// The attack on who waits for the babbler, which must not break the model's bounds, and the shares of the model; `None` without bounds.
fn waiting(model: &Model, network: &Network, seed: u64) -> Option<(Vec<Vec<u64>>, Found)> {
    let shares = model.shares()?;
    let analysis = model.analyse(&shares)?;
    let network = analysis.guarded(network);
    let found = Search::new(&network, &analysis.bounds(&network), 1, 1, EFFORT).worst(seed);
    let wrong = wrong_with(&analysis, &network, &found);
    assert!(wrong.is_empty(), "seed {seed}: {wrong:?}");
    Some((shares, found))
}

/// The babbler above all others, with half its rate, so that there is room for what its meter does not count.
fn above(network: &Network) -> Network {
    let mut flows = network.flows().to_vec();
    for hop in &mut flows[0].tree {
        hop.level = 3;
    }
    if let Contract::Gated { separation, .. } = &mut flows[0].contract {
        *separation *= 2;
    }
    Network::new(network.nodes().to_vec(), network.ports().to_vec(), flows).unwrap()
}
