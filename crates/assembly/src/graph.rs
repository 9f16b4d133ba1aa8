//! The plan as a graph, for pictures: what there is, where it is, and what goes from where to where.
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::manifest::{Catalogue, PortKind};
use crate::plan::{End, Placement, Plan, ServiceKind};
use crate::timing::Transfer;

/// Nodes and edges. Nodes are named by their number.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graph {
    /// Components, services and topics.
    pub nodes: Vec<GraphNode>,
    /// Connections, to each of their ends; and what services subscribe at others.
    pub edges: Vec<GraphEdge>,
}

/// The kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// A component.
    Component,
    /// A service of the plan.
    Service(ServiceKind),
    /// A topic whose other end is no component.
    Topic,
}

/// A node.
#[derive(Clone, PartialEq, Debug)]
pub struct GraphNode {
    /// Its name.
    pub name: String,
    /// The kind of node.
    pub kind: NodeKind,
    /// Its component type, or the type of its topic.
    pub data_type: Option<String>,
    /// The host that it is on, if it is known.
    pub host: Option<String>,
    /// The process that it is in.
    pub process: Option<String>,
    /// The container that it is in; none for components of a process without one.
    pub container: Option<String>,
    /// Ports that the plan names, by name; their kinds, if they are known.
    pub ports: BTreeMap<String, Option<PortKind>>,
}

/// An edge.
#[derive(Clone, PartialEq, Debug)]
pub struct GraphEdge {
    /// The number of the node where it begins, and its port.
    pub from: (usize, Option<String>),
    /// The number of the node where it ends, and its port.
    pub to: (usize, Option<String>),
    /// The connection; none between services.
    pub connection: Option<String>,
    /// The service that carries it.
    pub kind: ServiceKind,
    /// The type of what goes along it.
    pub data_type: Option<String>,
    /// Whether it is about calls, from the port that calls to the one that is called.
    pub is_call: bool,
    /// The limit that it asks for, in picoseconds.
    pub limit: Option<u64>,
    /// How long an event is on its way, if the plan says so.
    pub transfer: Option<Transfer>,
}

impl Plan {
    /// The plan as a graph. A connection that names a service goes through it, by two edges.
    pub fn graph(&self, types: &Catalogue) -> Graph {
        let layout = self.layout();
        let mut graph = Graph::default();
        let mut numbers: BTreeMap<(bool, String), usize> = BTreeMap::new();
        let owned = |part: Option<&str>| part.map(ToString::to_string);
        for (name, component) in &self.components {
            let place = layout.place(component);
            numbers.insert((false, name.clone()), graph.nodes.len());
            graph.nodes.push(GraphNode {
                name: name.clone(),
                kind: NodeKind::Component,
                data_type: Some(component.component_type.clone()),
                host: owned(place.host),
                process: owned(Some(place.process)),
                container: owned(place.container),
                ports: component.ports.keys().map(|port| (port.clone(), None)).collect(),
            });
        }
        for (name, service) in &self.services {
            let at = service.at.as_deref().unwrap_or_default();
            let [host, process, container] = match service.placement {
                Placement::Server => [layout.host_of(at), service.at.as_deref(), None],
                Placement::Container => {
                    let process = self.containers.get(at).map(|container| container.process.as_str());
                    [process.and_then(|process| layout.host_of(process)), process, service.at.as_deref()]
                }
                Placement::Component => match layout.place_of(at) {
                    Some(place) => [place.host, Some(place.process), place.container],
                    None => [None; 3],
                },
            };
            numbers.insert((false, name.clone()), graph.nodes.len());
            let kind = NodeKind::Service(service.kind);
            graph.nodes.push(GraphNode {
                name: name.clone(),
                kind,
                data_type: None,
                host: owned(host),
                process: owned(process),
                container: owned(container),
                ports: BTreeMap::new(),
            });
        }
        for (name, topic) in &self.topics {
            numbers.insert((true, name.clone()), graph.nodes.len());
            graph.nodes.push(GraphNode {
                name: name.clone(),
                kind: NodeKind::Topic,
                data_type: Some(topic.topic_type.clone()),
                host: None,
                process: None,
                container: None,
                ports: BTreeMap::new(),
            });
        }
        let number = |end: &End| match end {
            End::Port { component, port } => {
                Some((*numbers.get(&(false, component.clone()))?, Some(port.clone())))
            }
            End::Topic(topic) => Some((*numbers.get(&(true, topic.clone()))?, None)),
        };
        let of_links = layout.links().flat_map(|link| [link.from, link.to]);
        for end in of_links.chain(self.chains.values().flat_map(|chain| &chain.path)) {
            if let Some((node, Some(port))) = number(end)
                && let Some(node) = graph.nodes.get_mut(node)
            {
                node.ports.insert(port, None);
            }
        }
        for node in graph.nodes.iter_mut().filter(|node| node.kind == NodeKind::Component) {
            let of_type = node.data_type.as_ref().and_then(|name| types.components.get(name));
            for (name, kind) in &mut node.ports {
                *kind = of_type.and_then(|of_type| of_type.ports.get(name)).map(|port| port.kind);
            }
        }
        for link in layout.links() {
            let (Some(from), Some(to)) = (number(link.from), number(link.to)) else { continue };
            let through = link.service.and_then(|name| numbers.get(&(false, name.to_string()))).copied();
            let edge = GraphEdge {
                from,
                to,
                connection: Some(link.name.to_string()),
                kind: link.kind,
                data_type: crate::explain::event_type(self, &link, types).map(ToString::to_string),
                is_call: crate::explain::is_call(self, &link, types),
                limit: link.connection.latency,
                transfer: link.connection.transfer,
            };
            match through {
                None => graph.edges.push(edge),
                Some(service) => {
                    // A service that several ends share is drawn once.
                    if link.index == 0 {
                        let edge = edge.clone();
                        let to = (service, None);
                        graph.edges.push(GraphEdge { to, limit: None, transfer: None, ..edge });
                    }
                    graph.edges.push(GraphEdge { from: (service, None), ..edge });
                }
            }
        }
        for (name, service) in &self.services {
            for peer in &service.peers {
                let node = |name: &String| numbers.get(&(false, name.clone())).copied();
                let (Some(from), Some(to)) = (node(name), node(peer)) else { continue };
                graph.edges.push(GraphEdge {
                    from: (from, None),
                    to: (to, None),
                    connection: None,
                    kind: service.kind,
                    data_type: None,
                    is_call: false,
                    limit: None,
                    transfer: None,
                });
            }
        }
        graph
    }
}
