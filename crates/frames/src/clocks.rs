//! Clocks that run apart: publishers keep their contracts by one clock, gates and meters hold them to these by another, and bounds are in
//! time of a third.
use crate::network::{Contract, Flow, Network, NetworkError};
use crate::policer::Policer;

/// Parts of a whole.
const MILLION: u64 = 1_000_000;

/// Whose clocks are wrong, as much as they may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clocks {
    /// Those of publishers are fast: they send more often, and guards must bear it.
    FastPublishers,
    /// Those of guards are fast: they let more through.
    FastGuards,
    /// Those of guards are slow: they let less through, and must let enough.
    SlowGuards,
}

impl Clocks {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::FastPublishers, Self::FastGuards, Self::SlowGuards];

    /// The network, whose times are those that clocks show, in time of a perfect clock: while a slow clock shows a second, or a perfect
    /// one while a fast one does, `1 / (1 - drift)` seconds pass by the other. `drift` is in parts of a million, and below a million.
    ///
    /// # Errors
    /// A time is too long then, or there is a drift of a million.
    pub fn applied(self, network: &Network, drift: u32) -> Result<Network, NetworkError> {
        let left = MILLION.saturating_sub(drift.into());
        let scaled = |time: u64, by: u64, of: u64, up: u64| {
            let product = u128::from(time) * u128::from(by) + u128::from(up);
            u64::try_from(product.checked_div(of.into()).unwrap_or(u128::MAX)).unwrap_or(u64::MAX)
        };
        // Rounded so that no flow exceeds what the clock allows, in any of the cases.
        let guard = |time: u64| match self {
            Self::FastPublishers => time,
            Self::FastGuards => scaled(time, left, MILLION, 0),
            Self::SlowGuards => scaled(time, MILLION, left, 0),
        };
        let flow = |flow: &Flow| {
            let mut flow = flow.clone();
            if let (Contract::Gated { separation, .. }, Self::FastPublishers) = (&mut flow.contract, self) {
                *separation = scaled(*separation, left, MILLION, MILLION - 1);
            }
            match &mut flow.policer {
                Some(Policer::Gate { window, separation, tolerance, .. }) => {
                    [*window, *separation, *tolerance] = [*window, *separation, *tolerance].map(guard);
                }
                Some(Policer::Meter { period, tick, .. }) => [*period, *tick] = [*period, *tick].map(guard),
                None => {}
            }
            flow
        };
        let flows = network.flows().iter().map(flow).collect();
        Network::new(network.nodes().to_vec(), network.ports().to_vec(), flows)
    }
}
