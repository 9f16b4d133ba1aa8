//! The way of a plan's chains through its connections, for the processes that measure them.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use assembly::{Catalogue, Chain, End, Link, Named, Plan, PortKind, ServiceKind};

use crate::part::{Carrier, ChainPart, ClockPart, Half, HopPart, Part};

/// Ports of the longest chain that is measured.
const MOST_PORTS: usize = 16;

/// How wrong the rate of a clock may be if the plan says nothing, in parts of 10^9.
const DRIFT: u32 = 200_000;

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

/// The name under which the latency of a connection to one of its ends is measured.
pub fn measure_of(connection: &str, to: &dyn core::fmt::Display) -> String {
    format!("connection {connection} to {to}")
}

/// Why the latency of a connection to one of its ends is not measured.
pub(crate) fn unmeasured(plan: &Plan, types: &Catalogue, link: &Link<'_>) -> Option<String> {
    for end in [link.from, link.to] {
        let End::Port { component, port } = end else {
            return Some(format!("{end} is a topic, which carries no stamps"));
        };
        let of_type = plan.components.get(component).map(|it| &it.component_type);
        match of_type.and_then(|of_type| types.components.get(of_type)?.ports.get(port)) {
            None => return Some(format!("the type of {end} is not known: name the manifests")),
            Some(port) if port.kind.is_call() => {
                return Some(format!("calls as those of {end} are not measured"));
            }
            Some(_) => {}
        }
    }
    let is_by_gateways = is_by_gateways(plan, link.name, link.to);
    is_by_gateways.then(|| format!("events of {} come by gateways, which carry no stamps", link.name))
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

    /// Adds the connections with a latency of which something is here.
    pub(crate) fn add_latencies(&mut self, plan: &Plan, types: &Catalogue) {
        for link in plan.layout().links() {
            let Some(latency) = link.connection.latency else { continue };
            if unmeasured(plan, types, &link).is_some() {
                continue;
            }
            let port = link.to.to_string();
            let leads = |half: &&Half| match half.to.as_deref() {
                None => true,
                Some(to) => to.split('#').next() == Some(&port),
            };
            let halves = self.connections.get(link.name).into_iter().flatten().filter(leads);
            let halves: Vec<String> = halves.map(|half| half.name.clone()).collect();
            if halves.is_empty() {
                continue;
            }
            let keeper = self.keeper(&port).map(|half| half.name.clone());
            let connections = halves.into_iter().chain(keeper).collect();
            let part = ChainPart {
                reaction: Some(latency / 1_000),
                connection: Some(link.name.to_string()),
                hops: Vec::from([HopPart { port, connections, samples: false }]),
                ..ChainPart::default()
            };
            self.chains.insert(measure_of(link.name, link.to), part);
        }
    }

    /// Has its clock compared with those of other hosts, if what is measured comes from there or goes there.
    pub(crate) fn add_clocks(&mut self, plan: &Plan) {
        let layout = plan.layout();
        let host = |end: &End| layout.place_of(end.component()?).map(|place| place.host);
        let is_measured = |name: &str| {
            let mut hops = self.chains.values().flat_map(|chain| &chain.hops);
            hops.any(|hop| hop.connections.iter().any(|of| of == name))
        };
        let mut domains = BTreeSet::new();
        for link in layout.links() {
            let (Some(from), Some(to)) = (host(link.from), host(link.to)) else { continue };
            if from == to {
                continue;
            }
            for half in self.connections.get(link.name).into_iter().flatten() {
                if let Carrier::Topic { domain, .. } = &half.carrier
                    && is_measured(&half.name)
                {
                    domains.insert(*domain);
                }
            }
        }
        // The two that drift most.
        let of_host = |host: &assembly::Host| host.costs.as_ref().and_then(|costs| costs.drift);
        let mut drifts: Vec<u32> = plan.hosts.values().map(|host| of_host(host).unwrap_or(DRIFT)).collect();
        drifts.sort_unstable_by(|a, b| b.cmp(a));
        let drift = drifts.iter().take(2).fold(0_u32, |sum, drift| sum.saturating_add(*drift));
        // The rates are counted by one of both clocks, and not by true time.
        let drift = drift.saturating_add(drift / 1_000).saturating_add(1);
        if !domains.is_empty() {
            // No connection has such a topic: names have no slash.
            self.clocks =
                Some(ClockPart { topic: format!("{}/clocks/time", self.deployment), domains, drift });
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
