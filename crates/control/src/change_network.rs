//! Another network file for a manager that runs: which grants it could not keep.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use wire::admission::Address;

use latency::program::Solver;
use serde::Serialize;

use crate::grant::{Grant, StoredPair};
use crate::network::{Network, NetworkError};
use crate::reservations::{Granted, GrantedHop};
use crate::resource_manager::ResourceManager;

/// A flow that is granted and that another network could not keep.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Obstacle {
    /// What is written.
    pub topic: String,
    /// The host of the writer, by its name now.
    pub from: String,
    /// The hosts of the readers.
    pub to: Vec<String>,
    /// What stands in the way.
    pub reason: String,
}

/// What has become of another network file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Reloaded {
    /// Whether the manager goes on with it.
    pub applied: bool,
    /// The flows that could not be kept: those that are revoked if it is applied, and what stands in the way if not.
    pub obstacles: Vec<Obstacle>,
}

/// Links of a network by the names of their ends and the number of the port at a switch.
pub(crate) type Ports = BTreeMap<(String, String, u32), usize>;

/// The ports of a network.
pub(crate) fn ports(network: &Network) -> Ports {
    let key = |link: &crate::network::Link| {
        let name = |node| network.node_name(node).to_string();
        (name(link.from), name(link.to), link.number)
    };
    network.links.iter().enumerate().map(|(index, link)| (key(link), index)).collect()
}

/// The hops of a stored grant in a network.
///
/// # Errors
/// The index of a hop that the network does not have, or that stands before the one before it.
pub(crate) fn hops(ports: &Ports, grant: &Grant) -> Result<Vec<GrantedHop>, usize> {
    let hop = |(index, hop): (usize, &crate::grant::StoredHop)| {
        let key = (hop.from.clone(), hop.to.clone(), hop.number);
        let link = *ports.get(&key).ok_or(index)?;
        let parent = if grant.ends.is_empty() { index.checked_sub(1) } else { hop.parent };
        let group = Some(hop.group).filter(|group| *group > 0);
        let is_behind = parent.is_none_or(|parent| parent < index);
        let hop = GrantedHop { link, parent, share: hop.share, level: hop.level, group };
        is_behind.then_some(hop).ok_or(index)
    };
    grant.hops.iter().enumerate().map(hop).collect()
}

impl ResourceManager {
    /// The grants in force that a manager of another network could not take up as they are, beside those that are on their way out: as long as these
    /// are stored, it takes them up as well. Nothing is changed. The solver is that of [`Self::use_solver`].
    ///
    /// # Errors
    /// What is wrong with the network.
    pub fn obstacles_to(&self, network: Network, solver: Solver) -> Result<Vec<Obstacle>, NetworkError> {
        let mut other = Self::new(self.config.clone(), network, 0)?;
        other.use_solver(solver);
        let ports = ports(other.fabric.network());
        let is_stored = |grant: &&Granted| grant.is_held() || grant.is_restored() || grant.will_be_gone();
        // The later ones first, as when grants are restored.
        let grants: Vec<&Granted> = self.reservations.all().rev().filter(is_stored).collect();
        let leaves = grants.iter().any(|grant| grant.is_leaving());
        let beside =
            if leaves { " beside flows that are on their way out: ask again when they are gone" } else { "" };
        let reasons = grants.iter().map(|grant| {
            let mut stored = self.to_store(grant);
            if grant.is_leaving() {
                // Those that it has served are in what is stored.
                stored.pairs.push(StoredPair::default());
            }
            let reason = match hops(&ports, &stored) {
                Err(hop) => stored.hops.get(hop).map(|hop| {
                    format!("no port {} from {} to {} is in the file", hop.number, hop.from, hop.to)
                }),
                Ok(hops) => other.misplaced(grant, &hops).or_else(|| {
                    let is_kept = other.take_up(stored, hops).is_some();
                    (!is_kept).then(|| format!("what it was promised would not hold{beside}"))
                }),
            };
            reason.filter(|_| !grant.is_leaving()).map(|reason| self.obstacle(grant, reason))
        });
        Ok(reasons.flatten().collect())
    }

    /// An address of a grant that the network gives to another host than the one where its way begins or ends.
    fn misplaced(&self, grant: &Granted, hops: &[GrantedHop]) -> Option<String> {
        let network = self.fabric.network();
        let first = network.links.get(hops.first()?.link)?.from;
        let ends = grant.ends.iter().filter_map(|end| {
            let link = network.links.get(hops.get(end.hop)?.link)?;
            Some((link.to, end.to.address))
        });
        let wrong = |(node, address): &(usize, Address)| {
            let learns = network.hosts.get(*node).is_some_and(|host| host.addresses.is_empty());
            match self.fabric.host_of(*address) {
                Some(host) => host != *node,
                None => !learns,
            }
        };
        let vlan = network.vlan_of(grant.source.address);
        let mut across = ends.clone().filter(|(_, address)| network.vlan_of(*address) != vlan);
        if let Some((_, address)) = across.next() {
            return Some(format!("{} and {address} are not in one VLAN in the file", grant.source.address));
        }
        let found = core::iter::once((first, grant.source.address)).chain(ends).find(wrong);
        found.map(|(node, address)| {
            format!("{address} is not the address of {} in the file", network.node_name(node))
        })
    }

    fn obstacle(&self, grant: &Granted, reason: String) -> Obstacle {
        let leader = self.reservations.get(self.reservations.leader_of(grant.number)).unwrap_or(grant);
        let asked = self.requests.first_of(&leader.pairs);
        let to = grant.ends.iter().map(|end| self.fabric.host_name(end.to.address));
        Obstacle {
            topic: asked.map(|asked| asked.request.topic.clone()).unwrap_or_default(),
            from: self.fabric.host_name(grant.source.address),
            to: to.collect(),
            reason,
        }
    }
}
