//! From the file to the model: nodes, ports, ways and flows, each checked with its place in the file.
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use diagnostics::{Problem, Source};
use latency::bundle::bundle;
use latency::framing::{Framing, Ip};
use latency::network::{Flow, Policing, Port, Subscriber};
use latency::reserve::Edge;
use latency::routes::Topology;
use latency::split::Split;
use latency::switch::{Interface, SwitchModel};
use toml::Spanned;

use crate::description::{Host, Link, Switch, VLAN_TAG};
use crate::document::{self, Document};
use crate::file::LARGEST_FILE;
use crate::links::Links;
use crate::losses::Losses;
use crate::models::Models;
use crate::models::made_of;

/// The most nodes, links and flows of a network, and subscribers of a flow.
pub(crate) const MOST: usize = 100_000;
const MOST_SUBSCRIBERS: usize = 1_000;
/// The most flows of a bundle, each of which is weighed against each other.
const MOST_MEMBERS: usize = 1_000;
/// Bytes of the memory behind the queues of a host's port: 1 TiB, as good as without limit.
pub const HOST_BUFFER: u64 = 1 << 40;
/// By how much clocks run apart if a file does not say, in parts of a million: twice what IEEE 802.3 allows a clock of a link.
const CLOCK_DRIFT: u32 = 200;
/// UDP payload of a full frame of IPv4.
const DATAGRAM: u32 = 1_472;
/// The same of IPv6, whose header is longer by 20 bytes.
const DATAGRAM_IPV6: u32 = 1_452;
/// Bytes of an encapsulation header, which RTPS puts before a sample.
const ENCAPSULATION: u32 = 4;

/// A flow as it was asked for, without its way.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What it is called in the network.
    pub name: String,
    /// What is written; for a bundle that of its first flow.
    pub topic: String,
    /// The node of the publisher.
    pub publisher: usize,
    /// The nodes of the subscribers of `flow`, in their order; the hop of a subscriber is its number.
    pub subscribers: Vec<usize>,
    /// What is promised and asked for; its tree is empty.
    pub flow: Flow,
    /// The VLAN in which it is sent, with a tag on every link; `None` if it has no tag.
    pub vlan: Option<u16>,
    /// The switches that it may pass, by their numbers; all if there is no list.
    pub through: Option<Vec<usize>>,
    /// The flows in it, if it is a bundle.
    pub members: Vec<(String, Flow)>,
    /// Frames that may be lost, if the limits are to hold all the same.
    pub losses: Option<Losses>,
}

/// A network that makes sense: what a network file says, with everything filled in that it leaves out.
#[derive(Debug)]
pub struct Network {
    pub(crate) name: String,
    pub(crate) best_effort: bool,
    /// Parts of a million by which clocks run apart at most.
    pub(crate) clock_drift: u32,
    /// Whether that is so because the file does not say otherwise.
    pub(crate) drift_by_default: bool,
    pub(crate) hosts: Vec<Host>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) cables: Vec<Link>,
    pub(crate) split: Split,
    /// What nodes are called: the hosts, then the switches.
    pub(crate) nodes: Vec<String>,
    pub(crate) ports: Vec<Port>,
    /// For each port, its node and the node that it leads to.
    pub(crate) links: Vec<(usize, usize)>,
    /// Ports that take no further flows.
    pub(crate) full: BTreeSet<usize>,
    pub(crate) topology: Topology,
    pub(crate) flows: Vec<Asked>,
    /// For each switch with a limit: its number among the switches, the ports of hosts that lead to it, and how many flows it can police.
    pub(crate) guards: Vec<(usize, Vec<usize>, u32)>,
    policing: Vec<Option<Policing>>,
    pub(crate) names: BTreeMap<String, usize>,
    /// Bytes of the files that say all this.
    pub(crate) bytes: u64,
}

impl Network {
    /// Reads a network file, and the model files that it names.
    pub(crate) fn read(
        source: Source<'_>,
        load: impl Fn(&Path) -> Result<String, String>,
    ) -> Result<Self, Problem> {
        let document: Document = document::read(source)?;
        let mut models = Models::shipped();
        let mut bytes = source.text.len() as u64;
        for file in &document.model_files {
            let path = Path::new(source.file).parent().unwrap_or(Path::new("")).join(file.get_ref());
            let text = load(&path).map_err(|error| {
                let what = format!("the model file cannot be read: {error}");
                source.problem(file.span().start, what, "paths are relative to the network file")
            })?;
            bytes += text.len() as u64;
            if bytes > LARGEST_FILE {
                let what = format!("the files are larger than {LARGEST_FILE} bytes together");
                return Err(source.problem(file.span().start, what, "leave out models that no switch has"));
            }
            models.add_xml(Source { file: &path.to_string_lossy(), text: &text })?;
        }
        for model in &document.models {
            models.add_document(source, model)?;
        }
        let mut network = Self {
            name: document.name.clone().unwrap_or_default(),
            best_effort: document.best_effort,
            clock_drift: document.clock_drift.map_or(CLOCK_DRIFT, |drift| drift.0),
            drift_by_default: document.clock_drift.is_none(),
            hosts: Vec::new(),
            switches: Vec::new(),
            cables: Vec::new(),
            split: match document.split {
                document::Split::Load => Split::Load,
                document::Split::Last => Split::Last,
                document::Split::Even => Split::Even,
            },
            nodes: Vec::new(),
            ports: Vec::new(),
            links: Vec::new(),
            full: BTreeSet::new(),
            topology: Topology::default(),
            flows: Vec::new(),
            guards: Vec::new(),
            policing: Vec::new(),
            names: BTreeMap::new(),
            bytes,
        };
        let mut addresses = BTreeSet::new();
        for host in &document.hosts {
            network.add_node(source, &host.name)?;
            network.add_host(source, &document, host, &mut addresses)?;
        }
        let mut kinds: Vec<&SwitchModel> = Vec::new();
        for switch in &document.switches {
            let model = models.get(switch.model.get_ref()).ok_or_else(|| {
                let what = format!("there is no model \"{}\"", switch.model.get_ref());
                source.problem(switch.model.span().start, what, format!("models are {}", models.names()))
            })?;
            network.add_node(source, &switch.name)?;
            network.switches.push(Switch {
                name: switch.name.get_ref().clone(),
                datapath: network.datapath(source, switch)?,
                model: switch.model.get_ref().clone(),
                kind: model.clone(),
                made: switch.kind.unwrap_or_else(|| made_of(switch.model.get_ref())),
            });
            kinds.push(model);
        }
        network.check_vlans(source, &document)?;
        if document.hosts.is_empty() {
            return Err(source.problem(0, "the network has no hosts", "write [[host]] and a name for each"));
        }
        network.policing = document
            .hosts
            .iter()
            .map(|_| None)
            .chain(kinds.iter().map(|kind| Some(kind.policing())))
            .collect();
        Links {
            network: &mut network,
            document: &document,
            kinds: &kinds,
            used: BTreeMap::new(),
            linked: BTreeMap::new(),
        }
        .add(source)?;
        network.check_connected(source, &document)?;
        let forwards = (0..network.nodes.len()).map(|node| network.switch_of(node).is_some()).collect();
        network.topology = Topology::new(network.links.clone(), forwards);
        let edge = Edge {
            hosts: document.hosts.len(),
            models: &kinds,
            ports: &network.ports,
            links: &network.links,
        };
        // As the manager of a network does it, which serves one domain.
        network.guards = edge.guards_of_flows(edge.reserve(1).ok().as_ref());
        network.flows = network.asked(source, &document.flows, &BTreeSet::new())?;
        Ok(network)
    }

    /// The number by which the next switch names itself.
    fn datapath(&self, source: Source<'_>, switch: &document::Switch) -> Result<u64, Problem> {
        let given = switch.datapath.as_ref().map(|datapath| datapath.get_ref().0);
        let datapath = given.unwrap_or(self.switches.len() as u64 + 1);
        let place = switch.datapath.as_ref().map_or(switch.name.span(), Spanned::span).start;
        match self.switches.iter().find(|other| other.datapath == datapath) {
            Some(other) => {
                let what = format!("\"{}\" has the datapath id {datapath:#x}, too", other.name);
                Err(source.problem(
                    place,
                    what,
                    "give each switch a number of its own with datapath = \"0x...\"",
                ))
            }
            None => Ok(datapath),
        }
    }

    /// A node without a link is a mistake, or the end of the file is missing.
    fn check_connected(&self, source: Source<'_>, document: &Document) -> Result<(), Problem> {
        let linked: BTreeSet<usize> = self.links.iter().map(|(from, _)| *from).collect();
        let hosts = document.hosts.iter().map(|host| ("host", &host.name));
        let switches = document.switches.iter().map(|switch| ("switch", &switch.name));
        let lonely = hosts.chain(switches).enumerate().find(|(node, _)| !linked.contains(node));
        let Some((_, (kind, name))) = lonely else { return Ok(()) };
        let what = format!("the {kind} \"{}\" has no link", name.get_ref());
        let remedy = "connect it with [[link]] and ends = [\"...\", \"...\"]; if it had one, the end of the file is missing";
        Err(source.problem(name.span().start, what, remedy))
    }

    fn add_node(&mut self, source: Source<'_>, name: &Spanned<String>) -> Result<(), Problem> {
        let at = name.span().start;
        let text = name.get_ref();
        if text.is_empty() || text.len() > 64 || text.contains(|c: char| c.is_control() || c == ':') {
            return Err(source.problem(at, "a name is 1 to 64 bytes without \":\"", "choose another name"));
        }
        if self.nodes.len() >= MOST {
            return Err(source.problem(at, format!("more than {MOST} nodes"), "plan parts of the network"));
        }
        if self.names.insert(text.clone(), self.nodes.len()).is_some() {
            return Err(source.problem(at, format!("there are two nodes \"{text}\""), "rename one"));
        }
        self.nodes.push(text.clone());
        Ok(())
    }

    fn node(&self, source: Source<'_>, name: &Spanned<String>, host: bool) -> Result<usize, Problem> {
        let kind = if host { "host" } else { "switch" };
        let found = self.names.get(name.get_ref()).copied();
        let fits = |node: &usize| (*node < self.hosts.len()) == host;
        found.filter(fits).ok_or_else(|| {
            let what = format!("there is no {kind} \"{}\"", name.get_ref());
            source.problem(name.span().start, what, format!("name a [[{kind}]] of the network file"))
        })
    }

    /// The flows of a file, bundles put together, the most important first, else in the order of the file. Names of flows
    /// that are there are taken, but for those that are `leaving`.
    pub(crate) fn asked(
        &self,
        source: Source<'_>,
        flows: &[document::Flow],
        leaving: &BTreeSet<&str>,
    ) -> Result<Vec<Asked>, Problem> {
        let mut asked: Vec<Asked> = Vec::new();
        let there = self.flows.iter().filter(|flow| !leaving.contains(flow.name.as_str()));
        let mut names: BTreeSet<String> = there.map(|flow| flow.name.clone()).collect();
        let mut bundles: BTreeMap<&str, Vec<(usize, Asked)>> = BTreeMap::new();
        for (index, flow) in flows.iter().enumerate() {
            let at = flow.topic.span().start;
            if index >= MOST {
                return Err(source.problem(
                    at,
                    format!("more than {MOST} flows"),
                    "plan parts of the network",
                ));
            }
            let one = self.flow(source, flow)?;
            if !names.insert(one.name.clone()) {
                let what = format!("there are two flows \"{}\"", one.name);
                return Err(source.problem(at, what, "give one a name of its own with name = \"...\""));
            }
            match &flow.bundle {
                Some(bundle) => bundles.entry(bundle.get_ref()).or_default().push((at, one)),
                None => asked.push(one),
            }
        }
        for (name, members) in bundles {
            let at = members.first().map_or(0, |(at, _)| *at);
            check_name(source, at, name)?;
            if !names.insert(name.to_owned()) {
                return Err(source.problem(
                    at,
                    format!("the bundle \"{name}\" is called like a flow"),
                    "rename one",
                ));
            }
            asked.push(self.bundled(source, name, members)?);
        }
        asked.sort_by_key(|flow| std::cmp::Reverse(flow.flow.importance));
        Ok(asked)
    }

    fn bundled(
        &self,
        source: Source<'_>,
        name: &str,
        members: Vec<(usize, Asked)>,
    ) -> Result<Asked, Problem> {
        let flows: Vec<Flow> = members.iter().map(|(_, member)| member.flow.clone()).collect();
        let Some((at, first)) = members.first() else {
            return Err(source.problem(0, format!("the bundle \"{name}\" is empty"), ""));
        };
        if members.len() > MOST_MEMBERS {
            let what = format!("the bundle \"{name}\" has more than {MOST_MEMBERS} flows");
            return Err(source.problem(*at, what, "make several bundles of it"));
        }
        for (at, member) in &members {
            let way = |asked: &Asked| (asked.publisher, asked.subscribers.clone(), asked.vlan);
            if way(member) != way(first) {
                let what =
                    format!("flows of the bundle \"{name}\" have different publishers, subscribers or VLANs");
                return Err(source.problem(
                    *at,
                    what,
                    "a bundle is what the network cannot tell apart: one way for all",
                ));
            }
        }
        let port = self.topology.leaving(first.publisher).first();
        let port = port.and_then(|port| self.ports.get(*port));
        let flow = port.and_then(|port| bundle(&flows, port)).ok_or_else(|| {
            let what = format!("the bundle \"{name}\" has numbers that are too large");
            source.problem(*at, what, "take smaller sizes or longer separations")
        })?;
        // A gate lets one message through at a time, so that only meters hold a bundle.
        let policing = match flow.policing {
            Policing::Gate { .. } => Policing::Trusted,
            policing => policing,
        };
        let members: Vec<(String, Flow)> =
            members.iter().map(|(_, member)| (member.name.clone(), member.flow.clone())).collect();
        Ok(Asked { name: name.to_owned(), flow: Flow { policing, ..flow }, members, ..first.clone() })
    }

    fn flow(&self, source: Source<'_>, flow: &document::Flow) -> Result<Asked, Problem> {
        let topic = flow.topic.get_ref();
        let default = format!("{}/{topic}", flow.publisher.get_ref());
        let name = flow.name.as_ref().map_or(default, |name| name.get_ref().clone());
        check_name(source, flow.topic.span().start, &name)?;
        let publisher = self.node(source, &flow.publisher, true)?;
        let mut subscribers = Vec::new();
        let mut known = BTreeSet::new();
        let list = flow.subscribers.get_ref();
        if list.is_empty() || list.len() > MOST_SUBSCRIBERS {
            let what = format!("a flow has 1 to {MOST_SUBSCRIBERS} subscribers");
            return Err(source.problem(
                flow.subscribers.span().start,
                what,
                "write { host = \"...\", limit = \"...\" }",
            ));
        }
        for subscriber in list {
            let node = self.node(source, &subscriber.host, true)?;
            if node == publisher || !known.insert(node) {
                let what = format!("\"{}\" cannot subscribe to this flow", subscriber.host.get_ref());
                let remedy =
                    "a subscriber is another host than the publisher, and named once with its least limit";
                return Err(source.problem(subscriber.host.span().start, what, remedy));
            }
            subscribers.push(node);
        }
        let separation = flow.separation.get_ref().0;
        if separation == 0 {
            return Err(source.problem(
                flow.separation.span().start,
                "a separation of 0",
                "write the least time between samples",
            ));
        }
        if flow.maximum_separation.is_some_and(|most| most.0 < separation) {
            let what = "the maximum-separation of the flow is less than its separation";
            let remedy = "separation is the least time between samples, maximum-separation the most";
            return Err(source.problem(flow.separation.span().start, what, remedy));
        }
        let size = *flow.size.get_ref();
        let least = flow.least_size.unwrap_or(size);
        if least > size || size > 1 << 30 {
            let what = "least-size is above size, or size above 2^30 bytes";
            return Err(source.problem(flow.size.span().start, what, "size is that of the largest sample"));
        }
        let vlan = self.vlan_of(source, flow, publisher, &subscribers)?;
        let ip = self.version(source, flow, publisher, &subscribers)?;
        let full = if ip == Ip::V6 { DATAGRAM_IPV6 } else { DATAGRAM };
        let datagram = flow.datagram.unwrap_or(full);
        let (framing, header) = match flow.framing {
            document::Framing::Udp => (Framing::Udp { datagram, ip }, 0),
            document::Framing::Rtps => (Framing::Rtps { datagram, ip }, ENCAPSULATION),
        };
        let through = match &flow.through {
            None => None,
            Some(names) => {
                // In order, as searches look them up.
                let nodes = names.iter().map(|name| self.node(source, name, false));
                Some(nodes.collect::<Result<BTreeSet<_>, _>>()?.into_iter().collect())
            }
        };
        let time = |time: Option<crate::quantity::Time>| time.map_or(0, |time| time.0);
        let asked = flow;
        let flow = Flow {
            largest_message: size + header,
            smallest_message: least + header,
            framing,
            tag: vlan.map_or(0, |_| VLAN_TAG),
            separation,
            maximum_separation: flow.maximum_separation.map(|time| time.0),
            jitter: time(flow.jitter),
            emission: time(flow.emission),
            slack: time(flow.slack),
            policing: if flow.trusted { Policing::Trusted } else { self.first_switch(publisher) },
            tree: Vec::new(),
            subscribers: (0..)
                .zip(list)
                .map(|(hop, subscriber)| Subscriber {
                    hop,
                    limit: subscriber.limit.0,
                    maximum_separation: subscriber.maximum_separation.map(|time| time.0),
                })
                .collect(),
            importance: flow.importance,
            bundle: None,
        };
        let topic = topic.clone();
        let losses = Losses::read(source, asked, &flow)?;
        Ok(Asked { name, topic, publisher, subscribers, flow, vlan, through, members: Vec::new(), losses })
    }

    /// How the switch behind a host holds its flows to their contracts.
    pub fn first_switch(&self, host: usize) -> Policing {
        let link = self.topology.leaving(host).first().and_then(|port| self.links.get(*port));
        link.and_then(|(_, to)| *self.policing.get(*to)?).unwrap_or(Policing::Trusted)
    }

    /// What the interfaces of a node do to its links.
    pub fn interface(&self, node: usize) -> Interface {
        let host = || self.hosts.get(node).map(|host| host.interface);
        self.switch_of(node).map(|switch| switch.kind.interface).or_else(host).unwrap_or_default()
    }

    /// A port in words: `s1 to display`.
    pub fn port_name(&self, port: usize) -> String {
        let (from, to) = self.links.get(port).copied().unwrap_or_default();
        let name = |node: usize| self.node_name(node).unwrap_or("?");
        format!("{} to {}", name(from), name(to))
    }
}

/// The name of a flow or of a bundle.
fn check_name(source: Source<'_>, at: usize, name: &str) -> Result<(), Problem> {
    if name.is_empty() || name.len() > 256 || name.contains(char::is_control) {
        return Err(source.problem(
            at,
            "the name of a flow is 1 to 256 bytes of text",
            "choose another name",
        ));
    }
    Ok(())
}
