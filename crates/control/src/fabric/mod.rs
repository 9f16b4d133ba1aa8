//! The fabric: switches and gates with what they are to have and how far they are, links that are up, and the tree of what is not admitted.
//!
//! [`Fabric`] keeps them. It is told what switches and gates say of themselves and what has been confirmed; it says what they need, as steps of
//! operations. It knows nothing of requests and grants.
mod binding;
mod drained;
pub(crate) mod entries;
mod inspection;
mod learning;
mod moves;
mod packets;
mod rates;
mod refusal;
mod reserved;
mod site;
mod spanning;
mod status;
mod table;
mod tagged;
mod tree;
mod vlans;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use wire::admission::Address;

use latency::routes::{Topology, Tree};
use latency::switch::Guard;
use openflow::Message;
use openflow::words::MacAddress;

use crate::action::{GateChange, GateKey};
use crate::network::{Link, Network, Switch};
use crate::operations::{Kind, Step, Task, installs};
use crate::requests::Wish;

use binding::{Claims, PacketMeter};

pub(crate) use entries::{
    ARP, FLOOD, OF_AGGREGATE, OF_FLOW, OF_FLOW_IN_VLAN, OF_TUNNEL, UDP, cookie, flow_of,
};
pub(crate) use inspection::Inspected;
use inspection::Inspection;
use learning::Addresses;
pub(crate) use learning::{is_neighbour, sender, source};
pub(crate) use moves::{ANSWER as MOVES_ANSWER, Claimed};
pub(crate) use packets::{Heard, MOST_OF_A_HOST};
pub use refusal::SwitchRefusal;
pub(crate) use reserved::Reserved;
pub(crate) use site::{Phase, Scarce, Site};
use table::{Places, Table};
pub(crate) use vlans::GROUPS as VLAN_GROUPS;

/// The network, and what is known of it and wanted of it.
#[derive(Debug)]
pub(crate) struct Fabric {
    network: Network,
    /// Links that can be used now.
    topology: Topology,
    switches: Vec<SwitchState>,
    /// Links whose port is down.
    down: BTreeSet<usize>,
    /// Links that are plugged elsewhere.
    elsewhere: BTreeSet<usize>,
    /// Links that lose what they carry although their ports are up.
    silent: BTreeSet<usize>,
    /// How fast ports are that are slower than the network file says, by their links, in bits per second.
    slow: BTreeMap<usize, u64>,
    /// Links whose rate is to be another one than flows are planned with.
    changing: BTreeSet<usize>,
    /// Switches that flows are to leave, and why.
    drained: BTreeMap<usize, String>,
    /// Links between switches that carry what is not admitted.
    tree: BTreeSet<usize>,
    /// The reserved class, or why there is none.
    reserved: Result<Reserved, String>,
    /// Switches that leave the codepoint of control on what comes from hosts: their gates have been seen in order, so that no host
    /// but them has set it.
    marked: BTreeSet<usize>,
    /// Hosts by their addresses.
    located: BTreeMap<Address, usize>,
    /// Addresses that speak by another port than they are at, until the former place has had time to answer.
    claims: BTreeMap<Address, moves::Claim>,
    /// Ethernet addresses of hosts by their IPv4 addresses, as their ports have said.
    ethernet: BTreeMap<Address, MacAddress>,
    refused_switches: BTreeMap<u64, String>,
    /// Addresses that frames have claimed and that are another host's.
    false_claims: Claims,
    /// Frames with VLAN tags that were dropped.
    tagged: tagged::Tagged,
}

/// A switch.
#[derive(Debug)]
struct SwitchState {
    phase: Phase,
    /// What it is to have.
    table: Table,
    /// Changes whenever `table` does while the switch is not ready.
    version: u64,
    gates_phase: Phase,
    gates: BTreeMap<GateKey, gate::Contract>,
    gates_version: u64,
    addresses: Addresses,
    /// The limit of copies of packets to the manager.
    packet_meter: PacketMeter,
    /// It has not been there, or has been away for too long.
    lost: bool,
    /// How its tables are compared with what they are to be, and how its gates are.
    inspection: Inspection<Places>,
    gates_inspection: Inspection<BTreeSet<GateKey>>,
}

impl Fabric {
    /// A network of which nothing is connected yet, with its reserved class, or why there is none.
    pub(crate) fn new(network: Network, reserved: Result<Reserved, String>) -> Self {
        let hosts = network.hosts.iter().enumerate();
        let located = hosts
            .flat_map(|(index, host)| host.all_addresses().map(move |(address, _)| (address, index)))
            .collect();
        let ethernet: BTreeMap<Address, MacAddress> = network
            .hosts
            .iter()
            .filter_map(|host| Some((host, host.mac?)))
            .flat_map(|(host, mac)| host.all_addresses().map(move |(address, _)| (address, mac)))
            .collect();
        let mut fabric = Self {
            network,
            topology: Topology::default(),
            switches: Vec::new(),
            down: BTreeSet::new(),
            elsewhere: BTreeSet::new(),
            silent: BTreeSet::new(),
            slow: BTreeMap::new(),
            changing: BTreeSet::new(),
            drained: BTreeMap::new(),
            tree: BTreeSet::new(),
            reserved,
            marked: BTreeSet::new(),
            located,
            claims: BTreeMap::new(),
            ethernet,
            refused_switches: BTreeMap::new(),
            false_claims: Claims::default(),
            tagged: tagged::Tagged::default(),
        };
        let switches = (0..fabric.network.switches.len()).map(|switch| fabric.unknown_switch(switch));
        fabric.switches = switches.collect();
        fabric
    }

    fn unknown_switch(&self, switch: usize) -> SwitchState {
        let away = Phase::Away(None);
        let has_gates = self.has_gates(switch);
        SwitchState {
            phase: away,
            table: entries::base(&self.network, switch, &self.carried(&self.tree, &self.marked)),
            version: 0,
            gates_phase: if has_gates { away } else { Phase::Ready },
            gates: self.reserved.iter().flat_map(|reserved| reserved.at(&self.network, switch)).collect(),
            gates_version: 0,
            addresses: Addresses::default(),
            packet_meter: PacketMeter::default(),
            lost: true,
            inspection: Inspection::default(),
            gates_inspection: Inspection::default(),
        }
    }

    /// The network as the operator has described it.
    pub(crate) const fn network(&self) -> &Network {
        &self.network
    }

    /// Whether there are gates at a switch: its model has them, and hosts come in by it.
    pub(crate) fn has_gates(&self, switch: usize) -> bool {
        let is = |found: &Switch| matches!(found.model.guard, Guard::Gates { .. });
        let node = self.network.switch_node(switch);
        let has_hosts = |_: &&Switch| {
            self.network.leaving(node).any(|(_, link)| self.network.switch_of(link.to).is_none())
        };
        self.network.switches.get(switch).filter(has_hosts).is_some_and(is)
    }

    /// Whether flows pass meters at a switch.
    pub(crate) fn has_meters(&self, switch: usize) -> bool {
        let switch = self.network.switches.get(switch);
        switch.is_some_and(|switch| matches!(switch.model.guard, Guard::Meters { .. }))
    }

    pub(crate) fn datapath(&self, switch: usize) -> u64 {
        self.network.switches.get(switch).map_or(0, |switch| switch.datapath)
    }

    pub(crate) fn switch_index(&self, datapath: u64) -> Option<usize> {
        self.network.switches.iter().position(|switch| switch.datapath == datapath)
    }

    /// What a site is called.
    pub(crate) fn site_name(&self, site: Site) -> String {
        self.network.site_name(site)
    }

    pub(crate) fn phase(&self, site: Site) -> Phase {
        let state = self.switches.get(site.switch());
        match site {
            Site::Switch(_) => state.map_or(Phase::Away(None), |state| state.phase),
            Site::Gates(_) => state.map_or(Phase::Away(None), |state| state.gates_phase),
        }
    }

    fn set_phase(&mut self, site: Site, phase: Phase) {
        if let Some(state) = self.switches.get_mut(site.switch()) {
            match site {
                Site::Switch(_) => state.phase = phase,
                Site::Gates(_) => state.gates_phase = phase,
            }
        }
    }

    pub(crate) fn is_ready(&self, site: Site) -> bool {
        self.phase(site) == Phase::Ready
    }

    /// Whether a change can be told to a site now; one that prepares it also before it is ready.
    pub(crate) fn is_reachable(&self, site: Site, prepares: bool) -> bool {
        match self.phase(site) {
            Phase::Ready => true,
            Phase::Preparing => prepares,
            Phase::Away(_) => false,
        }
    }

    /// A site is not connected any more. False if it was not before.
    pub(crate) fn goes_away(&mut self, now: Duration, site: Site) -> bool {
        let was_there = !matches!(self.phase(site), Phase::Away(_));
        if was_there {
            self.set_phase(site, Phase::Away(Some(now)));
        }
        was_there
    }

    /// A site that has connected is to be put right: the operation that does so.
    pub(crate) fn prepare(&mut self, site: Site) -> Option<(Kind, Step)> {
        self.set_phase(site, Phase::Preparing);
        let state = self.switches.get(site.switch())?;
        Some(match site {
            Site::Switch(switch) => {
                let kind = Kind::Prepare { switch, version: state.version };
                (kind, Step::of(alloc::vec![Task::Read(switch)]))
            }
            Site::Gates(switch) => {
                let wanted = state.gates.iter().map(|(key, contract)| (*key, *contract));
                let change = GateChange::Replace(wanted.collect());
                let kind = Kind::PrepareGates { switch, version: state.gates_version };
                (kind, Step::of(alloc::vec![Task::Gate { switch, change, sure: true }]))
            }
        })
    }

    /// What a switch needs that has this, to have what it is to have.
    pub(crate) fn repair(&self, switch: usize, content: &crate::action::SwitchContent) -> Vec<Step> {
        let Some(state) = self.switches.get(switch) else { return Vec::new() };
        let (less, more) = state.table.repair(content);
        [installs(switch, &less, true), installs(switch, &more, true)].concat()
    }

    /// Whether a site that was prepared for this version is to have something else by now.
    pub(crate) fn is_outdated(&self, site: Site, version: u64) -> bool {
        self.switches.get(site.switch()).is_some_and(|state| match site {
            Site::Switch(_) => state.version != version,
            Site::Gates(_) => state.gates_version != version,
        })
    }

    /// A site has what it is to have.
    pub(crate) fn becomes_ready(&mut self, site: Site) {
        self.set_phase(site, Phase::Ready);
        if let (Site::Switch(_), Some(state)) = (site, self.switches.get_mut(site.switch())) {
            state.lost = false;
        }
    }

    /// A site has been away for too long to be waited for.
    pub(crate) fn lose(&mut self, site: Site) {
        if let (Site::Switch(_), Some(state)) = (site, self.switches.get_mut(site.switch())) {
            state.lost = true;
        }
    }

    /// A sure change counts from when it begins.
    pub(crate) fn foresee(&mut self, task: &Task) {
        match task {
            Task::Install { switch, messages, sure: true } => self.note_table(*switch, messages),
            Task::Gate { switch, change, sure: true } => self.note_gate(*switch, change),
            _ => {}
        }
    }

    /// A change that is not sure counts when it is confirmed.
    pub(crate) fn confirmed(&mut self, task: &Task) {
        match task {
            Task::Install { switch, messages, sure: false } => self.note_table(*switch, messages),
            Task::Gate { switch, change, sure: false } => self.note_gate(*switch, change),
            _ => {}
        }
    }

    /// A switch is to have this, too.
    pub(crate) fn note_table(&mut self, switch: usize, messages: &[Message]) {
        if let Some(state) = self.switches.get_mut(switch) {
            messages.iter().for_each(|message| state.table.apply(message));
            state.version += 1;
        }
    }

    /// Gates are to have this, too.
    pub(crate) fn note_gate(&mut self, switch: usize, change: &GateChange) {
        if let Some(state) = self.switches.get_mut(switch) {
            match change {
                GateChange::Set(key, contract) => {
                    state.gates.insert(*key, *contract);
                }
                GateChange::Remove(key) => {
                    state.gates.remove(key);
                }
                GateChange::Replace(list) => state.gates = list.iter().copied().collect(),
            }
            state.gates_version += 1;
        }
    }

    /// What a switch has learned of addresses is not known any more.
    pub(crate) fn forget_addresses(&mut self, switch: usize) {
        if let Some(state) = self.switches.get_mut(switch) {
            state.addresses.clear();
        }
    }

    /// Whether a link can be used: a cable is down if either end is, and none is where it is plugged elsewhere.
    pub(crate) fn is_up(&self, link: usize) -> bool {
        let either = |links: &BTreeSet<usize>| links.contains(&link) || links.contains(&Network::back(link));
        !either(&self.down) && !either(&self.elsewhere) && !either(&self.silent)
    }

    /// What is wrong with a link that is not up, in words.
    pub(crate) fn why_down(&self, link: usize) -> String {
        let what = match () {
            () if self.elsewhere.contains(&link) => "is plugged elsewhere",
            () if self.silent.contains(&link) && !self.down.contains(&link) => {
                "loses what it carries, although its ports are up"
            }
            () => "is down",
        };
        alloc::format!("the link from {} {what}", self.network.port_name(link))
    }

    /// These links, in both directions, are plugged elsewhere, and these lose what they carry, and no others. Whether that is new.
    pub(crate) fn set_wrong_cables(&mut self, elsewhere: BTreeSet<usize>, silent: BTreeSet<usize>) -> bool {
        let is_new = (&self.elsewhere, &self.silent) != (&elsewhere, &silent);
        (self.elsewhere, self.silent) = (elsewhere, silent);
        is_new
    }

    /// Ways lead through links that are up between switches that are ready, with the gates of the first.
    pub(crate) fn rebuild_topology(&mut self) {
        let ready = |node: usize| {
            let switch = self.network.switch_of(node);
            switch.is_none_or(|switch| self.is_ready(Site::Switch(switch)))
        };
        let guarded = |link: &Link| {
            let first = self.network.switch_of(link.from).is_none();
            let switch = self.network.switch_of(link.to).filter(|_| first);
            switch.is_none_or(|switch| self.is_ready(Site::Gates(switch)))
        };
        let links = self.network.links.iter().enumerate();
        let usable = links.map(|(index, link)| {
            let open = self.is_up(index) && !self.changing.contains(&index) && !self.touches_drained(link);
            let good = open && ready(link.from) && ready(link.to) && guarded(link);
            if good { (link.from, link.to) } else { (usize::MAX, usize::MAX) }
        });
        let usable = usable.collect();
        self.topology = Topology::new(usable, self.forwards());
    }

    /// For each node, whether it forwards.
    fn forwards(&self) -> Vec<bool> {
        let nodes = self.network.hosts.len() + self.network.switches.len();
        (0..nodes).map(|node| self.network.switch_of(node).is_some()).collect()
    }

    /// The ways that are compared for a wish, so many at most.
    pub(crate) fn trees(&self, wish: &Wish, ways: usize) -> Vec<Tree> {
        self.topology.trees(wish.from, &wish.hosts(), &[], ways.max(1))
    }

    /// What is in the way of a flow that has no way.
    pub(crate) fn no_way(&self, wish: &Wish) -> String {
        let links = self.network.links.iter().map(|link| (link.from, link.to)).collect();
        let all = Topology::new(links, self.forwards());
        let Some(tree) = all.trees(wish.from, &wish.hosts(), &[], 1).into_iter().next() else {
            return "there is no way from the writer's host to the reader's".into();
        };
        for hop in &tree.hops {
            if !self.is_up(hop.port) {
                return self.why_down(hop.port);
            }
            if self.changing.contains(&hop.port) {
                return alloc::format!(
                    "the link from {} is changing its rate",
                    self.network.port_name(hop.port)
                );
            }
            let Some(link) = self.network.links.get(hop.port) else { continue };
            let drained = [link.from, link.to].into_iter().filter_map(|node| self.network.switch_of(node));
            if let Some(switch) = drained.into_iter().find(|switch| self.drained.contains_key(switch)) {
                return alloc::format!("{} is drained", self.site_name(Site::Switch(switch)));
            }
            let mut sites: Vec<Site> = Vec::new();
            if let Some(switch) = self.network.switch_of(link.to) {
                sites.push(Site::Switch(switch));
                sites.extend(hop.parent.is_none().then_some(Site::Gates(switch)));
            }
            if let Some(site) = sites.into_iter().find(|site| !self.is_ready(*site)) {
                return alloc::format!("{} is not ready", self.site_name(site));
            }
        }
        "there is no way from the writer's host to the reader's now".into()
    }

    /// The host that has an address.
    pub(crate) fn host_of(&self, address: Address) -> Option<usize> {
        self.located.get(&address).copied()
    }

    /// An address of IPv4 that a host has said to have.
    pub(crate) fn address_of(&self, host: usize) -> Option<Address> {
        let mut of_host = self.located.iter().filter(|(address, at)| **at == host && address.is_ipv4());
        of_host.next().map(|(address, _)| *address)
    }

    /// The Ethernet address of the host that has an address, if its port has said it.
    pub(crate) fn ethernet_of(&self, address: Address) -> Option<MacAddress> {
        self.ethernet.get(&address).copied()
    }
}
