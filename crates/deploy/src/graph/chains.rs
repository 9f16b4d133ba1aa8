//! The way of a chain in a picture.
use std::collections::BTreeMap;

use assembly::{Chain, End, NodeKind};

use super::scene::Scene;

/// The way of a chain.
#[derive(Default)]
pub(super) struct Steps {
    /// The port on the left of a node that it begins at, if it begins at one.
    pub(super) begin: Option<(usize, usize)>,
    /// The wires that it passes; `None` where none leads on, which a plan that makes sense has not.
    pub(super) wires: Vec<Option<usize>>,
    /// The port on the right of a node that it ends at, if it ends at one.
    pub(super) end: Option<(usize, usize)>,
    /// The node that it ends at.
    pub(super) last: Option<usize>,
}

/// Nodes by the number of their plan, whether they are topics, and their name.
pub(super) type Numbers = BTreeMap<(usize, bool, String), usize>;

/// The way of a chain of that plan. Of several connections between two of its ports the first one is taken.
pub(super) fn steps(scene: &Scene<'_>, numbers: &Numbers, plan: usize, chain: &Chain) -> Steps {
    let number = |end: &End| {
        let (is_topic, name) = match end {
            End::Port { component, .. } => (false, component),
            End::Topic(topic) => (true, topic),
        };
        numbers.get(&(plan, is_topic, name.clone())).copied()
    };
    let port = |end: &End, is_right: bool| {
        let (node, End::Port { port, .. }) = (number(end)?, end) else { return None };
        let of_node = scene.nodes.get(node)?;
        let ports = if is_right { &of_node.right } else { &of_node.left };
        Some((node, ports.iter().position(|known| known.name == *port)?))
    };
    let mut steps = Steps {
        begin: chain.path.first().and_then(|end| port(end, false)),
        end: chain.path.last().and_then(|end| port(end, true)),
        last: chain.path.last().and_then(number),
        wires: Vec::new(),
    };
    for hop in chain.path.windows(2) {
        let [from, to] = hop else { continue };
        let (begin, out) = (number(from), port(from, true));
        // The wires that end at the port, each with the one before it where it comes through a service.
        let ends = match (to, port(to, false), number(to)) {
            (End::Port { .. }, Some(end), _) => Some(end),
            (End::Topic(_), _, Some(node)) => Some((node, 0)),
            _ => None,
        };
        let arriving = ends.and_then(|(node, port)| scene.nodes.get(node)?.left.get(port));
        let ways = arriving.into_iter().flat_map(|port| &port.wires).filter_map(|wire| {
            let last = scene.wires.get(*wire)?;
            let service =
                scene.nodes.get(last.from.0).filter(|node| matches!(node.kind, NodeKind::Service(_)));
            let Some(service) = service else { return Some((None, *wire, last.from)) };
            let mut fed = service.left.iter().flat_map(|port| &port.wires);
            let first =
                fed.find(|first| scene.wires.get(**first).is_some_and(|first| first.name == last.name))?;
            Some((Some(*first), *wire, scene.wires.get(*first)?.from))
        });
        let mut fitting = ways.filter(|(.., source)| match out {
            Some(out) => *source == out,
            None => Some(source.0) == begin,
        });
        match fitting.next() {
            Some((first, last, _)) => steps.wires.extend(first.into_iter().chain([last]).map(Some)),
            // From the port that is called to the one that it pushes to, in one component.
            None if begin == number(to) => {}
            None => steps.wires.push(None),
        }
    }
    steps
}
