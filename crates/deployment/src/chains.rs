//! The way of a plan's chains through its connections, for the processes that measure them.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use assembly::{Catalogue, Chain, End, Named, Plan, PortKind, ServiceKind};

use crate::part::{Carrier, ChainPart, Half, HopPart, Part};

/// Ports of the longest chain that is measured.
const MOST_PORTS: usize = 16;

/// A port of a chain with a handler, and how it is reached.
type Way<'p> = (&'p End, By<'p>);

/// How a port is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By<'p> {
    /// The chain begins at it.
    First,
    /// By a connection.
    Connection(&'p str),
    /// Its handler samples what the one before has left in the component.
    Sample,
}

/// The ports with handlers that a chain passes, or why it is not measured.
///
/// # Errors
/// The reason, with what to do if something can be done.
pub(crate) fn ways<'p>(plan: &'p Plan, types: &Catalogue, chain: &'p Chain) -> Result<Vec<Way<'p>>, String> {
    let kind = |end: &End| {
        let End::Port { component, port } = end else { return None };
        let of_type = &plan.components.get(component)?.component_type;
        types.components.get(of_type)?.ports.get(port).map(|port| port.kind)
    };
    let mut ways: Vec<Way<'p>> = Vec::new();
    let mut through: Option<&End> = None;
    let mut path = chain.path.iter().peekable();
    if path.next_if(|end| matches!(end, End::Topic(_))).is_some() && path.peek().is_none() {
        return Err("no component is on its path".to_string());
    }
    for end in path {
        match (end, kind(end)) {
            (End::Topic(topic), _) => {
                return Err(format!("events pass the topic {topic}, which carries no stamps"));
            }
            (_, Some(PortKind::Timer | PortKind::Consumer)) => {}
            (_, Some(kind)) if kind.is_call() => {
                return Err(format!("calls as those of {end} are not measured"));
            }
            (_, Some(_)) => {
                through = Some(end);
                continue;
            }
            (_, None) => return Err(format!("the type of {end} is not known: name the manifests")),
        }
        let by = match ways.last() {
            None => By::First,
            Some((before, _)) if through.is_none() && samples(plan, before, end) => By::Sample,
            Some((before, _)) => {
                let name = connection(plan, before, through, end)?;
                if is_by_gateways(plan, name, end) {
                    return Err(format!("events of {name} come by gateways, which carry no stamps"));
                }
                By::Connection(name)
            }
        };
        ways.push((end, by));
        through = None;
    }
    if through.is_some() {
        return Err("it ends where something is published: end it at a port with a handler".to_string());
    }
    if ways.is_empty() || ways.len() > MOST_PORTS {
        return Err(format!("{} ports have handlers: it has to be 1 to {MOST_PORTS}", ways.len()));
    }
    Ok(ways)
}

/// Whether a connection leads to a port in another process by gateways.
fn is_by_gateways(plan: &Plan, connection: &str, to: &End) -> bool {
    let layout = plan.layout();
    let process = |end: &End| layout.place_of(end.component()?).map(|place| place.process);
    let mut links = layout.links().filter(|link| link.name == connection && link.to == to);
    links.any(|link| link.kind == ServiceKind::Federated && process(link.from) != process(link.to))
}

/// Whether a port samples another one.
fn samples(plan: &Plan, from: &End, to: &End) -> bool {
    let (End::Port { component, port }, End::Port { component: other, port: reader }) = (from, to) else {
        return false;
    };
    let said = plan.components.get(component).and_then(|component| component.ports.get(reader));
    component == other && said.is_some_and(|said| said.samples.contains(port))
}

fn connection<'p>(plan: &'p Plan, before: &End, through: Option<&End>, to: &End) -> Result<&'p str, String> {
    let mut found = plan.connections.iter().filter(|(_, connection)| {
        let is_from = match through {
            Some(port) => connection.from == *port,
            None => connection.from.component() == before.component(),
        };
        is_from && connection.to.contains(to)
    });
    match (found.next(), found.next()) {
        (Some((name, _)), None) => Ok(name),
        (None, _) => Err(format!("no connection leads from {before} to {to}")),
        (Some(_), Some(_)) => {
            Err(format!("several connections lead to {to}: name the port that publishes in the path, too"))
        }
    }
}

impl Part {
    /// Adds the chains of which something is here.
    pub(crate) fn add_chains(&mut self, plan: &Plan, types: &Catalogue) {
        for (name, chain) in &plan.chains {
            let Ok(ways) = ways(plan, types, chain) else { continue };
            let nanoseconds = |time: Option<u64>| time.map(|time| time / 1_000);
            let mut part = ChainPart {
                reaction: nanoseconds(chain.reaction),
                age: nanoseconds(chain.age),
                ..ChainPart::default()
            };
            let mut is_here = false;
            for (end, by) in ways {
                let port = end.to_string();
                let connections = match by {
                    By::Connection(connection) => {
                        let halves = names(self.connections.get(connection));
                        halves.into_iter().chain(self.keeper(&port).map(|half| half.name.clone())).collect()
                    }
                    By::First => {
                        part.period = part.period.or(nanoseconds(period(plan, types, end)));
                        self.starts(&port)
                    }
                    By::Sample => self.starts(&port),
                };
                is_here |= !connections.is_empty();
                part.hops.push(HopPart { port, connections, samples: by == By::Sample });
            }
            if is_here {
                self.chains.insert(name.clone(), part);
            }
        }
    }

    /// The ends by which events come to the first port of a chain.
    fn starts(&self, port: &str) -> Vec<String> {
        let leads = |half: &&Half| half.to.as_deref() == Some(port);
        let halves = self.connections.values().flatten().chain(self.own());
        halves.filter(leads).map(|half| half.name.clone()).collect()
    }

    /// Joins and timers.
    fn own(&self) -> impl Iterator<Item = &Half> {
        self.components.values().flat_map(|component| &component.own)
    }

    /// The join of a port, or the timer that reads what comes to it.
    fn keeper(&self, port: &str) -> Option<&Half> {
        self.own().find(|half| half.keeps(port))
    }

    /// Ends, joins and timers that chains pass which are not the same in another part. What leads to what a join or a timer keeps is made
    /// anew with it.
    pub(crate) fn retraced<'p>(&'p self, other: &'p Self) -> BTreeSet<&'p str> {
        let mut names = self.passed_otherwise(other);
        let keepers: Vec<&Half> = self.own().filter(|half| names.contains(&*half.name)).collect();
        for half in self.connections.values().flatten() {
            let to = half.to.as_deref().unwrap_or_default();
            let port = to.split('#').next().unwrap_or(to);
            if keepers.iter().any(|keeper| keeper.keeps(port)) {
                names.insert(&half.name);
            }
        }
        names
    }

    fn passed_otherwise<'p>(&'p self, other: &'p Self) -> BTreeSet<&'p str> {
        let lacks = |of: &Named<ChainPart>, name: &str, chain: &ChainPart| of.get(name) != Some(chain);
        let here = self.chains.iter().filter(|(name, chain)| lacks(&other.chains, name, chain));
        let there = other.chains.iter().filter(|(name, chain)| lacks(&self.chains, name, chain));
        let hops = here.chain(there).flat_map(|(_, chain)| &chain.hops);
        hops.flat_map(|hop| &hop.connections).map(String::as_str).collect()
    }
}

impl Half {
    /// Whether it keeps what comes to a port: as its join, or as a timer that reads it.
    fn keeps(&self, port: &str) -> bool {
        match &self.carrier {
            Carrier::Join { .. } => self.to.as_deref() == Some(port),
            Carrier::Timer { logical: Some(logical), .. } => logical.reads.iter().any(|read| read == port),
            _ => false,
        }
    }
}

fn names(halves: Option<&Vec<Half>>) -> Vec<String> {
    halves.into_iter().flatten().filter(|half| !half.is_shared()).map(|half| half.name.clone()).collect()
}

/// The period of a timer.
fn period(plan: &Plan, types: &Catalogue, end: &End) -> Option<u64> {
    let End::Port { component, port } = end else { return None };
    let component = plan.components.get(component)?;
    let of_type = types.components.get(&component.component_type)?.ports.get(port)?;
    component.ports.get(port)?.period.filter(|_| of_type.kind == PortKind::Timer)
}
