//! The network as the operator has described it: hosts, switches, links, and what each port is in the analysis.
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use wire::admission::{Address, Request};

use latency::network::Port;
use latency::split::Split;
use latency::switch::{Guard, SwitchModel};

use crate::fabric::Site;

/// The largest id of a VLAN (IEEE 802.1Q, 9.6).
const MOST_VLAN: u16 = 4_094;

/// A host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its addresses of IPv4 and IPv6. If there are none, they are learned from what its port says; else nothing is learned.
    pub addresses: Vec<Address>,
    /// Its MAC address, if that is known. If it is not, it is learned from what its port says.
    pub mac: Option<openflow::words::MacAddress>,
    /// The VLANs of which it sends and receives tagged frames; its MAC address is known if there are any.
    pub vlans: Vec<HostVlan>,
}

/// A VLAN of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostVlan {
    /// Its id, 1 to 4,094.
    pub id: u16,
    /// The addresses of the host in it: one at least.
    pub addresses: Vec<Address>,
}

impl Host {
    /// All addresses that the network file gives it, those in VLANs last, each with its VLAN.
    pub fn all_addresses(&self) -> impl Iterator<Item = (Address, Option<u16>)> {
        let plain = self.addresses.iter().map(|address| (*address, None));
        let in_vlans =
            self.vlans.iter().flat_map(|vlan| vlan.addresses.iter().map(|address| (*address, Some(vlan.id))));
        plain.chain(in_vlans)
    }

    /// Whether the network file gives it an address, in a VLAN or not.
    pub(crate) fn has(&self, address: Address) -> bool {
        self.all_addresses().any(|(own, _)| own == address)
    }

    fn vlans_are_right(&self) -> bool {
        let is_right = |(index, vlan): (usize, &HostVlan)| {
            let is_first = self.vlans.iter().position(|other| other.id == vlan.id) == Some(index);
            is_first && (1..=MOST_VLAN).contains(&vlan.id) && !vlan.addresses.is_empty()
        };
        (self.vlans.is_empty() || self.mac.is_some()) && self.vlans.iter().enumerate().all(is_right)
    }

    /// Whether it is in a VLAN.
    pub(crate) fn is_in(&self, vlan: u16) -> bool {
        self.vlans.iter().any(|own| own.id == vlan)
    }
}

/// A switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Switch {
    /// Its name.
    pub name: String,
    /// The number by which it names itself.
    pub datapath: u64,
    /// What it can do.
    pub model: SwitchModel,
}

/// One direction of a link: a port with what is at its other end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The node that the port belongs to: hosts are counted first, then switches.
    pub from: usize,
    /// The node that it leads to.
    pub to: usize,
    /// The number that the switch gives the port; 0 at a host.
    pub number: u32,
    /// What it is in the analysis.
    pub port: Port,
}

/// A network. The links `2k` and `2k + 1` are the two directions of one cable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// The hosts: nodes from 0 on.
    pub hosts: Vec<Host>,
    /// The switches: nodes after the hosts.
    pub switches: Vec<Switch>,
    /// All directions of all links.
    pub links: Vec<Link>,
    /// How the time that a limit leaves is shared out among hops.
    pub split: Split,
    /// Directions of links that take no flows besides those that are granted.
    pub full: BTreeSet<usize>,
}

/// Why a network cannot be managed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NetworkError {
    /// Two nodes have this name, or one has none.
    Name(String),
    /// Two switches have this number.
    Datapath(u64),
    /// Two hosts have this address.
    Address(Address),
    /// This host is in a VLAN that there is not, or twice in one, without an address there, or without a MAC address.
    Vlan(String),
    /// The link with this index names a node that does not exist, or its neighbour is not its other direction.
    Link(usize),
    /// The switch has no number for the port of this link, one that is reserved, or the same one twice.
    Number(usize),
    /// A host has no link, or several, or one to another host.
    Host(String),
    /// The gates of this switch keep time in steps that are no whole nanoseconds.
    Tick(String),
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => {
                write!(f, "a node needs a name of its own: \"{name}\" is empty or there twice")
            }
            Self::Datapath(number) => {
                write!(f, "two switches have the datapath id {number:#x}: give each its own")
            }
            Self::Address(address) => {
                write!(f, "two hosts have the address {address}: give each its own")
            }
            Self::Vlan(name) => {
                write!(
                    f,
                    "host \"{name}\" needs a MAC address, and for each of its VLANs an id from 1 to 4094 and an address"
                )
            }
            Self::Link(link) => {
                write!(f, "link {link} does not join two nodes, or the next one is not its other direction")
            }
            Self::Number(link) => {
                write!(f, "the switch of link {link} needs a port number for it that no other link has")
            }
            Self::Host(name) => {
                write!(f, "host \"{name}\" needs one link, to a switch")
            }
            Self::Tick(name) => {
                write!(f, "the gates of switch \"{name}\" need a precision of whole nanoseconds")
            }
        }
    }
}

impl core::error::Error for NetworkError {}

impl Network {
    /// The node of a switch by its index among the switches.
    pub fn switch_node(&self, switch: usize) -> usize {
        self.hosts.len() + switch
    }

    /// The switch that a node is, by its index among the switches.
    pub fn switch_of(&self, node: usize) -> Option<usize> {
        node.checked_sub(self.hosts.len()).filter(|switch| *switch < self.switches.len())
    }

    /// The other direction of a link.
    pub const fn back(link: usize) -> usize {
        link ^ 1
    }

    /// The links that leave a node.
    pub fn leaving(&self, node: usize) -> impl Iterator<Item = (usize, &Link)> {
        self.links.iter().enumerate().filter(move |(_, link)| link.from == node)
    }

    /// The ids of all VLANs that hosts are in.
    pub(crate) fn vlans(&self) -> BTreeSet<u16> {
        self.hosts.iter().flat_map(|host| &host.vlans).map(|vlan| vlan.id).collect()
    }

    /// The VLAN in which a host has an address; `None` if frames from and to it have no tag.
    pub fn vlan_of(&self, address: Address) -> Option<u16> {
        let mut all = self.hosts.iter().flat_map(Host::all_addresses);
        all.find(|(own, _)| *own == address).and_then(|(_, vlan)| vlan)
    }

    /// Whether a flow may go between the addresses of a request as far as VLANs go.
    ///
    /// # Errors
    /// Why it may not, for people.
    pub(crate) fn check_vlans(&self, request: &Request, is_aggregate: bool) -> Result<(), String> {
        let (from, to) = (request.source.address, request.destination.address);
        let (of_writer, of_reader) = (self.vlan_of(from), self.vlan_of(to));
        let told = |vlan: Option<u16>| vlan.map_or("no VLAN".into(), |id| alloc::format!("VLAN {id}"));
        if of_writer != of_reader {
            return Err(alloc::format!(
                "the writer's address {from} is in {}, the reader's {to} in {}: a flow stays in one VLAN",
                told(of_writer),
                told(of_reader)
            ));
        }
        if is_aggregate && of_writer.is_some() {
            return Err(alloc::format!(
                "{from} and {to} are in {}: what goes between two hosts together is not tagged",
                told(of_writer)
            ));
        }
        Ok(())
    }

    /// The name of a node.
    pub fn node_name(&self, node: usize) -> &str {
        match self.switch_of(node) {
            Some(switch) => self.switches.get(switch).map_or("?", |switch| &switch.name),
            None => self.hosts.get(node).map_or("?", |host| &host.name),
        }
    }

    /// A port in words: `s1 to display`.
    pub fn port_name(&self, link: usize) -> String {
        let (from, to) = self.links.get(link).map_or((usize::MAX, usize::MAX), |link| (link.from, link.to));
        alloc::format!("{} to {}", self.node_name(from), self.node_name(to))
    }

    /// What a site is called.
    pub(crate) fn site_name(&self, site: Site) -> String {
        let name = |switch: usize| self.switches.get(switch).map_or("?", |switch| &switch.name);
        match site {
            Site::Switch(switch) => alloc::format!("switch {}", name(switch)),
            Site::Gates(switch) => alloc::format!("the gates of {}", name(switch)),
        }
    }

    /// The link of a host, and the one back to it.
    pub(crate) fn access(&self, host: usize) -> Option<(usize, usize)> {
        let (link, _) = self.leaving(host).next()?;
        Some((link, Self::back(link)))
    }

    /// The link that leaves a switch by the port with this number.
    pub(crate) fn link_at(&self, switch: usize, number: u32) -> Option<usize> {
        let node = self.switch_node(switch);
        self.leaving(node).find(|(_, link)| link.number == number).map(|(index, _)| index)
    }

    /// True if both ends of the link are switches.
    pub(crate) fn is_trunk(&self, link: usize) -> bool {
        self.links
            .get(link)
            .is_some_and(|link| self.switch_of(link.from).is_some() && self.switch_of(link.to).is_some())
    }

    pub(crate) fn check(&self) -> Result<(), NetworkError> {
        let mut names: Vec<&str> = self.hosts.iter().map(|host| host.name.as_str()).collect();
        names.extend(self.switches.iter().map(|switch| switch.name.as_str()));
        names.sort_unstable();
        let twice = names.iter().zip(names.iter().skip(1)).find(|(one, other)| one == other);
        if let Some(name) =
            twice.map(|(name, _)| *name).or(names.first().copied().filter(|name| name.is_empty()))
        {
            return Err(NetworkError::Name(name.into()));
        }
        let mut datapaths: Vec<u64> = self.switches.iter().map(|switch| switch.datapath).collect();
        datapaths.sort_unstable();
        if let Some((twice, _)) = datapaths.iter().zip(datapaths.iter().skip(1)).find(|(a, b)| a == b) {
            return Err(NetworkError::Datapath(*twice));
        }
        let mut addresses: Vec<Address> =
            self.hosts.iter().flat_map(Host::all_addresses).map(|(address, _)| address).collect();
        addresses.sort_unstable();
        if let Some((twice, _)) = addresses.iter().zip(addresses.iter().skip(1)).find(|(a, b)| a == b) {
            return Err(NetworkError::Address(*twice));
        }
        if let Some(wrong) = self.hosts.iter().find(|host| !host.vlans_are_right()) {
            return Err(NetworkError::Vlan(wrong.name.clone()));
        }
        self.check_links()?;
        for switch in &self.switches {
            if let Guard::Gates { tick, .. } = switch.model.guard
                && (tick == 0 || tick % latency::units::NANOSECOND != 0)
            {
                return Err(NetworkError::Tick(switch.name.clone()));
            }
        }
        Ok(())
    }

    fn check_links(&self) -> Result<(), NetworkError> {
        let nodes = self.hosts.len() + self.switches.len();
        let mut numbers: Vec<(usize, u32)> = Vec::new();
        for (index, link) in self.links.iter().enumerate() {
            let back = self.links.get(Self::back(index));
            let fits = back.is_some_and(|back| back.from == link.to && back.to == link.from);
            if link.from >= nodes || link.from == link.to || !fits {
                return Err(NetworkError::Link(index));
            }
            if self.switch_of(link.from).is_some() {
                if link.number == 0 || link.number > openflow::words::PortNo::MAX.0 {
                    return Err(NetworkError::Number(index));
                }
                numbers.push((link.from, link.number));
            }
        }
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        if let Some((twice, _)) = sorted.iter().zip(sorted.iter().skip(1)).find(|(a, b)| a == b) {
            let index =
                self.links.iter().position(|link| (link.from, link.number) == *twice).unwrap_or_default();
            return Err(NetworkError::Number(index));
        }
        for (node, host) in self.hosts.iter().enumerate() {
            let mut links = self.leaving(node);
            let good = links.next().is_some_and(|(_, link)| self.switch_of(link.to).is_some());
            if !good || links.next().is_some() {
                return Err(NetworkError::Host(host.name.clone()));
            }
        }
        Ok(())
    }
}
