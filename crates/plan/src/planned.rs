//! Plans for programs: what becomes of the flows of a network, and the same flows as the simulator knows them.
use network::Network;

use crate::planning::Plan;
use crate::report::{Bounds, Report};
use crate::simulate::model;

/// Plans all flows of a network, and says what becomes of them.
pub fn plan(network: &Network) -> Report {
    let plan = Plan::new(network, None, |_| {});
    Report::new(&plan, &Bounds::new(&plan))
}

/// A network with its admitted flows, their levels and what holds them to their contracts, ready to be simulated, and the names
/// of the flows in the order of the simulator. `None` if no flow is admitted.
///
/// # Errors
/// What cannot be simulated, in words.
pub fn simulated(network: &Network) -> Result<Option<(frames::Network, Vec<String>)>, String> {
    let plan = Plan::new(network, None, |_| {});
    model(&plan, &Bounds::new(&plan))
}
