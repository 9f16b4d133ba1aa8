//! Wrong models given to `latency` on purpose: the adversaries must find a frame above what it then claims.
//! So a mistake of this kind in `latency` itself would have been found by the test of the right model.
use frames::{Bounds, Network};
use latency::network::Policing;
use latency::policing::Counts;
use latency::units::time_of;

use crate::analysis::{Analysis, Model};
use crate::clocks::run_apart;
use crate::networks::{attack, generated};

/// What is left out of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mistake {
    /// Frames that nobody admitted, which may be on the wire.
    NoBestEffort,
    /// Late releases and messages in parts.
    NoJitter,
    /// Headers, preamble and gap.
    PayloadOnly,
    /// What waits at the publisher's own port.
    NoHostPort,
    /// What earlier hops add to the jitter.
    NoGrowth,
    /// Other flows of the same level.
    NoPeers,
    /// The flow that was admitted last.
    NotTestedAgain,
    /// The slowest multiplexing: the fastest one is taken for a constant.
    FixedMultiplexing,
    /// Meters are taken for gates.
    MeterAsGate,
    /// Meters that count frames are taken to count what is on the wire.
    MeterCountsWire,
    /// A frame for each store-and-forward hop.
    NoStoreAndForward,
    /// The time that a link needs to wake.
    NoWake,
    /// What a card has taken.
    NoRing,
    /// What hosts send besides their flows.
    NothingBeside,
    /// Clocks of publishers, gates and meters that run apart.
    PerfectClocks,
}

impl Mistake {
    const ALL: [Self; 15] = [
        Self::NoBestEffort,
        Self::NoJitter,
        Self::PayloadOnly,
        Self::NoHostPort,
        Self::NoGrowth,
        Self::NoPeers,
        Self::NotTestedAgain,
        Self::FixedMultiplexing,
        Self::MeterAsGate,
        Self::MeterCountsWire,
        Self::NoStoreAndForward,
        Self::NoWake,
        Self::NoRing,
        Self::NothingBeside,
        Self::PerfectClocks,
    ];

    /// The bounds of the wrong model.
    fn bounds(self, right: &Model, network: &Network) -> Option<Bounds> {
        let mut model = right.clone();
        match self {
            Self::NoBestEffort => model.ports.iter_mut().for_each(|port| port.best_effort = 0),
            Self::NoWake => model.ports.iter_mut().for_each(|port| port.imperfections.wake = 0),
            Self::PerfectClocks => model.ports.iter_mut().for_each(|port| port.imperfections.drift = 0),
            Self::NoRing => model.ports.iter_mut().for_each(|port| port.imperfections.ring = 0),
            Self::NothingBeside => {
                model.ports.iter_mut().for_each(|port| port.imperfections.beside = None);
            }
            Self::NoJitter => {
                for flow in &mut model.flows {
                    (flow.jitter, flow.emission) = (0, 0);
                }
            }
            Self::PayloadOnly => {
                for flow in &mut model.flows {
                    let headers = 66 * flow.largest_message.div_ceil(1472);
                    flow.largest_message = flow.largest_message.saturating_sub(headers);
                    flow.smallest_message = flow.smallest_message.min(flow.largest_message);
                }
            }
            Self::FixedMultiplexing => {
                model.ports.iter_mut().for_each(|port| port.most_multiplexing = port.least_multiplexing);
            }
            Self::MeterAsGate => {
                for flow in &mut model.flows {
                    if matches!(flow.policing, Policing::Meter { .. }) {
                        flow.policing = Policing::Gate { tick: 1 };
                    }
                }
            }
            Self::MeterCountsWire => {
                for flow in &mut model.flows {
                    if let Policing::Meter { counts, .. } = &mut flow.policing {
                        *counts = Counts::Wire;
                    }
                }
            }
            Self::NoHostPort
            | Self::NoGrowth
            | Self::NoPeers
            | Self::NotTestedAgain
            | Self::NoStoreAndForward => {}
        }
        match self {
            Self::NoGrowth => Some(model.analyse(&model.least_shares())?.bounds(network)),
            Self::NoPeers | Self::NotTestedAgain => self.without_others(&model, network),
            Self::NoHostPort | Self::NoStoreAndForward => {
                let analysis = model.analyse(&model.shares()?)?;
                let mut bounds = analysis.bounds(network);
                for (flow, latencies) in bounds.latency.iter_mut().enumerate() {
                    for (hop, latency) in latencies.iter_mut().enumerate() {
                        *latency = latency
                            .map(|latency| latency.saturating_sub(self.part(&model, &analysis, flow, hop)));
                    }
                }
                Some(bounds)
            }
            _ => Some(model.analyse(&model.shares()?)?.bounds(network)),
        }
    }

    /// The part of a path's bound that is left out, in picoseconds.
    fn part(self, model: &Model, analysis: &Analysis, index: usize, hop: usize) -> u64 {
        let flow = &model.flows[index];
        let time = |hop: usize, all: bool| {
            let port = &model.ports[flow.tree[hop].port];
            let frames = flow.frames(port).unwrap();
            time_of(if all { frames.bits } else { frames.largest }, port.rate).unwrap()
        };
        if self == Self::NoHostPort {
            return analysis.delays[index][0].delay - time(0, true);
        }
        flow.way_to(hop).into_iter().skip(1).map(|hop| time(hop, false)).sum()
    }

    /// Each flow analysed without some of the others.
    fn without_others(self, model: &Model, network: &Network) -> Option<Bounds> {
        let shares = model.shares()?;
        let mut bounds = Bounds::default();
        for index in 0..model.flows.len() {
            let kept: Vec<usize> = (0..model.flows.len())
                .filter(|other| {
                    let peer = model.levels[*other][0] == model.levels[index][0];
                    *other == index
                        || if self == Self::NoPeers { !peer } else { *other + 1 < model.flows.len() }
                })
                .collect();
            let alone = Model {
                ports: model.ports.clone(),
                flows: kept.iter().map(|other| model.flows[*other].clone()).collect(),
                levels: kept.iter().map(|other| model.levels[*other].clone()).collect(),
            };
            let shares: Vec<Vec<u64>> = kept.iter().map(|other| shares[*other].clone()).collect();
            let analysis: Analysis = alone.analyse(&shares)?;
            let at = kept.iter().position(|other| *other == index)?;
            let babbles = network.flows()[index].babbles;
            bounds
                .latency
                .push(analysis.paths[at].iter().map(|path| (!babbles).then_some(path.latency)).collect());
        }
        Some(bounds)
    }
}

/// Each mistake is refuted by a frame in one of the first networks.
#[test]
fn wrong_models_are_refuted() {
    const NETWORKS: u64 = 200;
    let mut first = [None; Mistake::ALL.len()];
    for seed in 0..NETWORKS {
        if first.iter().all(Option::is_some) {
            break;
        }
        let (generated, policing) = generated(seed);
        let model = Model::of(&generated, &policing).with_slack(seed).with_drift(seed);
        let Some(analysis) = model.shares().and_then(|shares| model.analyse(&shares)) else { continue };
        let network = run_apart(&analysis.guarded(&generated.network), seed);
        let Some((_, _, found)) = attack(seed, &network, &Bounds::default()) else { continue };
        for (mistake, first) in Mistake::ALL.into_iter().zip(&mut first) {
            if let (None, Some(bounds)) = (&first, mistake.bounds(&model, &network)) {
                let above = found.outcome.latency.iter().enumerate().any(|(flow, latencies)| {
                    let claim = |hop| bounds.latency(flow, hop);
                    latencies
                        .iter()
                        .enumerate()
                        .any(|(hop, latency)| claim(hop).is_some_and(|c| *latency > c))
                });
                *first = above.then_some(seed);
            }
        }
    }
    for (mistake, first) in Mistake::ALL.into_iter().zip(first) {
        println!("{mistake:?}: refuted by network {first:?}");
    }
    assert!(first.iter().all(Option::is_some));
}
