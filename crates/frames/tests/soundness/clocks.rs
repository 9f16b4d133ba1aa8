//! Clocks that run apart.
use frames::{Bounds, Clocks, Network, Random};

use crate::analysis::Model;
use crate::networks::{attack, generated};

impl Model {
    /// The same with clocks that run apart, in some of the networks.
    pub(crate) fn with_drift(mut self, seed: u64) -> Self {
        let drift = drift(seed);
        self.ports.iter_mut().for_each(|port| port.imperfections.drift = drift);
        self
    }
}

/// In parts of a million: none, as much as of real clocks, or so much that it is seen.
fn drift(seed: u64) -> u32 {
    [0, 0, 200, 30_000][Random::new(seed ^ 7).index(4)]
}

/// The network as its clocks make it.
pub(crate) fn run_apart(network: &Network, seed: u64) -> Network {
    let clocks = Clocks::ALL[Random::new(seed ^ 8).index(3)];
    clocks.applied(network, drift(seed)).unwrap()
}

/// Guards that are set as if there were one clock drop what a publisher sends that keeps its contract by its own.
#[test]
fn guards_of_one_clock_drop_what_conforms() {
    let (mut dropped, mut passed) = (0, 0);
    for seed in (0..400).filter(|seed| drift(*seed) > 1_000) {
        let (generated, policing) = generated(seed);
        let right = Model::of(&generated, &policing).with_drift(seed);
        let mut wrong = right.clone();
        wrong.ports.iter_mut().for_each(|port| port.imperfections.drift = 0);
        for (model, count) in [(&right, &mut passed), (&wrong, &mut dropped)] {
            let Some(analysis) = model.shares().and_then(|shares| model.analyse(&shares)) else { continue };
            let network = run_apart(&analysis.guarded(&generated.network), seed);
            let Some((_, _, found)) = attack(seed, &network, &Bounds::default()) else { continue };
            let conforming =
                network.flows().iter().zip(&found.outcome.policed).filter(|(flow, _)| !flow.babbles);
            let drops: u64 = conforming.map(|(_, policed)| *policed).sum();
            assert!(drops == 0 || model.ports[0].imperfections.drift == 0, "seed {seed}");
            *count += u32::from(drops > 0 || model.ports[0].imperfections.drift > 0);
        }
    }
    println!("{passed} networks without a drop, {dropped} with drops if there were one clock");
    assert!(passed > 50 && dropped > 10, "{passed} {dropped}");
}
