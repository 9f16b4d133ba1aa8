//! What a domain of switches consists of, as its operator says.
use linux_edge::domain::Edge;
use wan::Prefix;

/// A domain.
#[derive(Clone, Debug)]
pub struct Domain {
    /// Its switches, links and ports, as those of routers. Addresses of routers and locators are not used.
    pub plan: linux_edge::Domain,
    /// For each edge of the plan: who is there.
    pub stations: Vec<Vec<Station>>,
}

/// A host, or a router with hosts behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Station {
    /// The addresses that are reached by it.
    pub addresses: Prefix,
    /// Its address of Ethernet.
    pub hardware: [u8; 6],
}

impl Domain {
    /// Whether it makes sense.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn check(&self) -> Result<(), String> {
        self.plan.check()?;
        if self.stations.len() != self.plan.edges.len() {
            return Err(format!("{} edges, and stations of {}", self.plan.edges.len(), self.stations.len()));
        }
        for (edge, stations) in self.plan.edges.iter().zip(&self.stations) {
            let is_of = |station: &Station, edge: &Edge| edge.has(station.addresses.address);
            if let Some(stranger) = stations.iter().find(|station| !is_of(station, edge)) {
                let (address, name) = (stranger.addresses.address, &edge.interface);
                return Err(format!("{address} is not among the addresses of {name}"));
            }
            // Labels of ports are 20 bits, and few enough that tables stay small.
            if stations.len() > 1_000 {
                return Err(format!("{}: more than 1,000 stations", edge.interface));
            }
        }
        Ok(())
    }
}
