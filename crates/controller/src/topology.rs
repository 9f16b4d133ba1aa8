//! The plan's network as the manager takes it.
use control::network::{Host, HostVlan, Link, Network, Switch};
use network::Network as Planned;

fn vlan(planned: &network::HostVlan) -> HostVlan {
    HostVlan {
        id: planned.id,
        addresses: planned.addresses.iter().map(|address| (*address).into()).collect(),
    }
}

/// The network of a file.
pub fn network(planned: &Planned) -> Network {
    let hosts = planned.hosts().iter().map(|host| Host {
        name: host.name.clone(),
        addresses: host.addresses.iter().map(|address| (*address).into()).collect(),
        mac: host.mac,
        vlans: host.vlans.iter().map(vlan).collect(),
    });
    let switches = planned.switches().iter().map(|switch| Switch {
        name: switch.name.clone(),
        datapath: switch.datapath,
        model: switch.kind.clone(),
    });
    let mut links = Vec::with_capacity(planned.ports().len());
    let mut ports = planned.ports().iter().copied();
    for cable in planned.cables() {
        let [one, other] = cable.ends;
        for (from, to) in [(one, other), (other, one)] {
            let Some(port) = ports.next() else { continue };
            let number = if planned.switch_of(from.node).is_some() { from.port } else { 0 };
            links.push(Link { from: from.node, to: to.node, number, port });
        }
    }
    let (hosts, switches) = (hosts.collect(), switches.collect());
    Network { hosts, switches, links, split: planned.split(), full: planned.full().clone() }
}
