//! Networks to be managed.
use std::collections::BTreeSet;

use control::network::{Host, HostVlan, Link, Network, Switch};
use latency::network::{Buffer, Imperfections, Port};
use latency::policing::Counts;
use latency::port::Control;
use latency::split::Split;
use latency::switch::{Guard, Interface, Others, SwitchModel};
use latency::units::{MICROSECOND, NANOSECOND};

use crate::world::{address, address6, mac, vlan_address, vlan_address6};

/// Open vSwitch with ports of 100 Mb/s and message gates in front of it.
pub(crate) fn open_vswitch(guard: Guard) -> SwitchModel {
    SwitchModel {
        ports: 64,
        queues: 6,
        rate: 100_000_000,
        buffer: Buffer::Shared(400_000),
        pooled: false,
        cell: 1,
        interface: Interface::default(),
        guard,
        least_multiplexing: 10 * MICROSECOND,
        most_multiplexing: 50 * MICROSECOND,
        keeps_order: true,
        overhead: 0,
        preemption: false,
        mtu: 1_500,
    }
}

pub(crate) const GATES: Guard = Guard::Gates { count: None, tick: NANOSECOND };
pub(crate) const METERS: Guard = meters(Counts::Frame);

pub(crate) const fn meters(counts: Counts) -> Guard {
    Guard::Meters { count: Some(1_000), rate_step: 1_000, burst_step: 1_000, counts }
}

/// The same network with hosts that send all they have in one queue, with nothing else in it.
pub(crate) fn with_one_queue(mut network: Network) -> Network {
    let hosts = network.hosts.len();
    network.links.iter_mut().filter(|link| link.from < hosts).for_each(|link| link.port.queues = 1);
    network
}

/// Hosts at switches, and cables between switches. `hosts` says for each host at which switch it is.
pub(crate) fn network(
    model: &SwitchModel,
    switches: usize,
    hosts: &[usize],
    cables: &[(usize, usize)],
) -> Network {
    network_with(None, model, switches, hosts, cables)
}

/// The same, with traffic of control.
pub(crate) fn network_with(
    control: Option<Control>,
    model: &SwitchModel,
    switches: usize,
    hosts: &[usize],
    cables: &[(usize, usize)],
) -> Network {
    let count = hosts.len();
    let mut links: Vec<Link> = Vec::new();
    let mut used = vec![0_u32; switches];
    let others = Others { best_effort: true, control };
    let inside = model.port(model.rate, 0, others).unwrap();
    let outside = Port {
        least_multiplexing: 0,
        most_multiplexing: 0,
        keeps_order: true,
        queues: 5,
        control: None,
        buffer: Buffer::Shared(1 << 40),
        imperfections: Imperfections { drift: 200, ..Imperfections::default() },
        ..inside
    };
    let mut number = |switch: usize| {
        used[switch] += 1;
        used[switch]
    };
    for (host, switch) in hosts.iter().enumerate() {
        links.push(Link { from: host, to: count + switch, number: 0, port: outside });
        links.push(Link { from: count + switch, to: host, number: number(*switch), port: inside });
    }
    for (one, other) in cables {
        links.push(Link { from: count + one, to: count + other, number: number(*one), port: inside });
        links.push(Link { from: count + other, to: count + one, number: number(*other), port: inside });
    }
    Network {
        hosts: (0..count)
            .map(|host| Host {
                name: format!("h{host}"),
                addresses: vec![address(host), address6(host)],
                mac: None,
                vlans: Vec::new(),
            })
            .collect(),
        switches: (0..switches)
            .map(|switch| Switch {
                name: format!("s{switch}"),
                datapath: 0x10 + switch as u64,
                model: model.clone(),
            })
            .collect(),
        links,
        split: Split::Load,
        full: BTreeSet::new(),
    }
}

/// The same network with hosts in VLANs, whose frames may be longer by a tag.
pub(crate) fn with_vlans(mut network: Network, vlans_of: impl Fn(usize) -> Vec<u16>) -> Network {
    for (host, known) in network.hosts.iter_mut().enumerate() {
        let addresses = |id| vec![vlan_address(id, host), vlan_address6(id, host)];
        known.vlans =
            vlans_of(host).into_iter().map(|id| HostVlan { id, addresses: addresses(id) }).collect();
        if !known.vlans.is_empty() {
            known.mac = Some(mac(host));
        }
    }
    for link in &mut network.links {
        link.port.largest_frame += 4;
        link.port.best_effort += if link.port.best_effort > 0 { 4 } else { 0 };
    }
    network
}
