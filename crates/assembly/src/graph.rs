//! The plan as a graph, for pictures: what there is, where it is, and what goes from where to where.
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::manifest::{Catalogue, PortKind};
use crate::plan::{End, Placement, Plan, ServiceKind};

/// Nodes and edges. Nodes are named by their number.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graph {
    /// Components, services and topics.
    pub nodes: Vec<GraphNode>,
    /// Connections, to each of their ends; and what services subscribe at others.
    pub edges: Vec<GraphEdge>,
}

/// What a node is.
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
    /// What it is.
    pub kind: NodeKind,
    /// Its component type, or the type of its topic.
    pub data_type: Option<String>,
    /// Host, process and container that it is in, from the outermost on; as many as are known.
    pub within: Vec<String>,
    /// Ports that connections use, by name; their kinds, if they are known.
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
    /// What carries it.
    pub kind: ServiceKind,
    /// The type of what goes along it.
    pub data_type: Option<String>,
    /// What it asks for, in picoseconds.
    pub limit: Option<u64>,
    /// What was proved of it, in picoseconds; an analysis fills it in.
    pub bound: Option<u64>,
}

impl Graph {
    /// Which nodes are in the middle of others, as pictures place them: services and topics.
    pub fn hubs(&self) -> Vec<bool> {
        self.nodes.iter().map(|node| node.kind != NodeKind::Component).collect()
    }

    /// The edges as pairs of nodes.
    pub fn pairs(&self) -> Vec<(usize, usize)> {
        self.edges.iter().map(|edge| (edge.from.0, edge.to.0)).collect()
    }
}

impl Plan {
    /// The plan as a graph. A connection that names a service goes through it, by two edges.
    pub fn graph(&self, types: &Catalogue) -> Graph {
        let layout = self.layout();
        let mut graph = Graph::default();
        let mut numbers: BTreeMap<(bool, String), usize> = BTreeMap::new();
        let within = |parts: &[Option<&str>]| {
            parts.iter().map_while(|part| part.map(ToString::to_string)).collect::<Vec<_>>()
        };
        for (name, component) in &self.components {
            let place = layout.place(component);
            numbers.insert((false, name.clone()), graph.nodes.len());
            graph.nodes.push(GraphNode {
                name: name.clone(),
                kind: NodeKind::Component,
                data_type: Some(component.component_type.clone()),
                within: within(&[place.host, Some(place.process), place.container]),
                ports: BTreeMap::new(),
            });
        }
        for (name, service) in &self.services {
            let at = service.at.as_deref().unwrap_or_default();
            let parts = match service.placement {
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
                within: within(&parts),
                ports: BTreeMap::new(),
            });
        }
        for (name, topic) in &self.topics {
            numbers.insert((true, name.clone()), graph.nodes.len());
            graph.nodes.push(GraphNode {
                name: name.clone(),
                kind: NodeKind::Topic,
                data_type: Some(topic.topic_type.clone()),
                within: Vec::new(),
                ports: BTreeMap::new(),
            });
        }
        let number = |end: &End| match end {
            End::Port { component, port } => {
                Some((*numbers.get(&(false, component.clone()))?, Some(port.clone())))
            }
            End::Topic(topic) => Some((*numbers.get(&(true, topic.clone()))?, None)),
        };
        for link in layout.links() {
            let (Some(from), Some(to)) = (number(link.from), number(link.to)) else { continue };
            for (node, port) in [&from, &to] {
                let Some(node) = graph.nodes.get_mut(*node) else { continue };
                let of_type = node.data_type.as_ref().and_then(|name| types.components.get(name));
                if let Some(port) = port {
                    let kind = of_type.and_then(|of_type| of_type.ports.get(port)).map(|port| port.kind);
                    node.ports.insert(port.clone(), kind);
                }
            }
            let through = link.service.and_then(|name| numbers.get(&(false, name.to_string()))).copied();
            let edge = GraphEdge {
                from,
                to,
                connection: Some(link.name.to_string()),
                kind: link.kind,
                data_type: crate::explain::event_type(self, &link, types).map(ToString::to_string),
                limit: link.connection.latency,
                bound: None,
            };
            match through {
                None => graph.edges.push(edge),
                Some(service) => {
                    // What several ends share is drawn once.
                    if link.index == 0 {
                        graph.edges.push(GraphEdge { to: (service, None), limit: None, ..edge.clone() });
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
                    limit: None,
                    bound: None,
                });
            }
        }
        graph
    }
}
