//! Plans for programs: what becomes of the flows of a network, and the same flows as the simulator knows them.
use crate::network::Network;
use crate::planning::Plan;
use crate::report::{Bounds, Report};
use crate::simulate::model;

impl Network {
    /// Plans all flows, and says what becomes of them.
    pub fn plan(&self) -> Report {
        let plan = Plan::new(self, None, |_| {});
        Report::new(&plan, &Bounds::new(&plan))
    }

    /// The network with its admitted flows, their levels and what holds them to their contracts, ready to be simulated, and the names
    /// of the flows in the order of the simulator. `None` if no flow is admitted.
    ///
    /// # Errors
    /// What cannot be simulated, in words.
    pub fn simulated(&self) -> Result<Option<(frames::Network, Vec<String>)>, String> {
        let plan = Plan::new(self, None, |_| {});
        model(&plan, &Bounds::new(&plan))
    }
}
