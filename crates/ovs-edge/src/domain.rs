//! What a domain of switches consists of, as its operator says.
use std::collections::BTreeMap;

use linux_edge::domain::Edge;
use wan::Prefix;

use crate::tables::{MOST_WATCHED, prefix, watched};

/// What `ovs-ofctl` takes for a port of its own, in small letters or large ones.
const RESERVED: [&str; 10] =
    ["in_port", "table", "normal", "flood", "all", "controller", "local", "any", "none", "unset"];

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
        for switch in 0..self.plan.routers.len() {
            let count = watched(self, switch).count();
            if count > MOST_WATCHED {
                return Err(format!("a switch has {count} links to others; {MOST_WATCHED} can be looked at"));
            }
        }
        self.check_interfaces()?;
        self.check_ranges()
    }
    fn check_interfaces(&self) -> Result<(), String> {
        let ends = self.plan.links.iter().flat_map(|link| &link.ends);
        let ends = ends.chain(self.plan.borders.iter().map(|border| &border.end));
        let interfaces = ends.map(|end| &end.interface);
        let mut interfaces = interfaces.chain(self.plan.edges.iter().map(|edge| &edge.interface));
        match interfaces.find(|of| RESERVED.iter().any(|name| of.eq_ignore_ascii_case(name))) {
            Some(taken) => Err(format!("interface {taken}: switches call a port of their own so; rename it")),
            None => Ok(()),
        }
    }

    /// Whether all that is reached is of IPv4, and by one place.
    fn check_ranges(&self) -> Result<(), String> {
        let edges = self.plan.edges.iter().zip(&self.stations);
        let stations = edges.flat_map(|(edge, stations)| {
            let of = move |station: &Station| (format!("a station at {}", edge.interface), station.addresses);
            stations.iter().map(of)
        });
        let beyond = self.plan.borders.iter().flat_map(|border| {
            let of = move |range: &Prefix| (format!("what is beyond link {}", border.link.0), *range);
            border.beyond.iter().map(of)
        });
        let mut ranges = BTreeMap::new();
        for (place, range) in stations.chain(beyond) {
            let Some(range) = prefix(&range) else {
                return Err(format!(
                    "{}/{} is {place}; switches carry IPv4 alone",
                    range.address, range.length
                ));
            };
            if let Some(other) = ranges.insert(range.clone(), place.clone()) {
                return Err(format!("{range} is {other} and {place}"));
            }
        }
        Ok(())
    }
}
