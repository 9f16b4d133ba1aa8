//! What a network file says, for programs that build such a network or manage it.
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;

use diagnostics::{Problem, Source};
use latency::network::Port;
use latency::routes::Topology;
use latency::split::Split;
use latency::switch::{Interface, SwitchModel};
use serde::Deserialize;

use crate::file::load;
use crate::network::{Asked, Network};

/// A host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// What it is called.
    pub name: String,
    /// The addresses that the file gives it: one of each version of IP at most.
    pub addresses: Vec<IpAddr>,
    /// Its MAC address, if the file says it.
    pub mac: Option<[u8; 6]>,
    /// Whether it is where switches find their manager; true for one host at most.
    pub manager: bool,
    /// Queues of its port; 1 if it is first-in first-out.
    pub queues: u8,
    /// Whether the lowest of several queues is for best effort.
    pub best_effort: bool,
    /// What it sends through its only queue besides its flows; `None` of one that sends nothing else, or has several queues.
    pub other: Option<Other>,
    /// Bytes of frames that its card may take from several queues beside the one on the wire; `None` if the file does not say.
    pub ring: Option<u32>,
    /// What its interface does to the link.
    pub interface: Interface,
    /// The VLANs of which it sends and receives tagged frames. It has a MAC address if there are any.
    pub vlans: Vec<HostVlan>,
}

/// A VLAN of a host, whose frames have a tag with its id (IEEE 802.1Q) on all links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostVlan {
    /// Its id, from 1 to 4,094.
    pub id: u16,
    /// The addresses of the host in it: one or two, of different versions of IP. No host has one of them elsewhere.
    pub addresses: Vec<IpAddr>,
}

/// Bytes of the tag of a frame in a VLAN.
pub const VLAN_TAG: u32 = 4;

/// What a host sends besides its flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Other {
    /// Bytes at once; `None` if the file does not say.
    pub burst: Option<u32>,
    /// Bits per second; `None` if the file does not say.
    pub rate: Option<u64>,
    /// Whether something holds it to that.
    pub limited: bool,
}

/// A switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Switch {
    /// What it is called.
    pub name: String,
    /// The number by which it names itself in OpenFlow: that of the file, or its place there, from 1.
    pub datapath: u64,
    /// The name of its model.
    pub model: String,
    /// Its model.
    pub kind: SwitchModel,
    /// What it is in a lab.
    pub made: SwitchKind,
}

/// Kinds of switches that a lab can be built of. The manager speaks OpenFlow with each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchKind {
    /// Open vSwitch in user space.
    #[default]
    OpenVswitch,
    /// A bridge of the kernel with nftables, and an agent that speaks OpenFlow for it.
    Bridge,
}

/// One end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// A node: hosts are counted first, then switches, both in the order of the file and from 0.
    pub node: usize,
    /// The number of its port, from 1; 1 at a host.
    pub port: u32,
}

/// A link, the same in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// What it connects.
    pub ends: [End; 2],
    /// Bits per second.
    pub rate: u64,
    /// Picoseconds that every frame is held.
    pub delay: u64,
    /// Frames of a million that are lost; 0 if the file has flows.
    pub loss: u32,
}

impl Network {
    /// Reads a network file, and the files with models of switches that it names; `-` is standard input.
    ///
    /// # Errors
    /// The first thing that is wrong with a file, and where.
    pub fn open(path: &Path) -> Result<Self, Problem> {
        Self::read(Source { file: &path.to_string_lossy(), text: &Self::text_of(path)? }, load)
    }

    /// The text of a network file.
    pub(crate) fn text_of(path: &Path) -> Result<String, Problem> {
        let file = path.to_string_lossy();
        load(path).map_err(|what| Problem {
            file: file.clone().into_owned(),
            place: None,
            what: what.strip_prefix(&format!("{file}: ")).unwrap_or(&what).to_owned(),
            remedy: "name a network file; docs/plan.md shows one".to_owned(),
        })
    }

    /// Reads the text of a network file, `file` being what it is called in errors; `load` reads the model files that it names.
    ///
    /// # Errors
    /// The first thing that is wrong with a file, and where.
    pub fn parse(
        file: &str,
        text: &str,
        load: impl Fn(&Path) -> Result<String, String>,
    ) -> Result<Self, Problem> {
        Self::read(Source { file, text }, load)
    }

    /// The title; empty if the file has none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The hosts; the number of each is its node.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Whether hosts are in VLANs, so that links may carry tagged frames.
    pub fn has_vlans(&self) -> bool {
        self.hosts.iter().any(|host| !host.vlans.is_empty())
    }

    /// The switches; their nodes come after those of the hosts.
    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// The links. Link `n` has the ports `2 n`, from its first end, and `2 n + 1`, from its second.
    pub fn cables(&self) -> &[Link] {
        &self.cables
    }

    /// The egress ports, as the analysis takes them.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The flows, the most important first, else in the order of the file.
    pub fn flows(&self) -> &[Asked] {
        &self.flows
    }

    /// The ports that take no flows besides those that they have: of a plan, those of the file.
    pub fn full(&self) -> &BTreeSet<usize> {
        &self.full
    }

    /// How slack is shared among hops.
    pub fn split(&self) -> Split {
        self.split
    }

    /// Whether there is traffic that is not admitted.
    pub fn best_effort(&self) -> bool {
        self.best_effort
    }

    /// What a node is called.
    pub fn node_name(&self, node: usize) -> Option<&str> {
        self.nodes.get(node).map(String::as_str)
    }

    /// The switch that is this node, if it is one.
    pub fn switch_of(&self, node: usize) -> Option<&Switch> {
        self.switches.get(node.checked_sub(self.hosts.len())?)
    }

    /// How many nodes there are: the hosts, then the switches.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// For each port the node that it is at, and the node that it leads to.
    pub fn links(&self) -> &[(usize, usize)] {
        &self.links
    }

    /// Which ports lead where, for the search for ways.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// For each switch that can hold a limited number of flows to their contracts: its number among the switches, the ports of hosts that
    /// lead to it, and that number.
    pub fn guards(&self) -> &[(usize, Vec<usize>, u32)] {
        &self.guards
    }

    /// By how much clocks of publishers and of what holds them to their contracts run apart at most, in parts of a million.
    pub fn clock_drift(&self) -> u32 {
        self.clock_drift
    }

    /// Whether [`Self::clock_drift`] is a default, because the file does not say.
    pub fn drift_by_default(&self) -> bool {
        self.drift_by_default
    }

    /// The bytes of the files that say all this.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
