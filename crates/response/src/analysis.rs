//! The analysis of a system: bounds of ports, chains and connections, and verdicts.
use alloc::vec;
use alloc::vec::Vec;

use crate::chains::{Ask, Share};
use crate::gaps::Gaps;
use crate::model::Model;
use crate::problems::{Problem, problems};
use crate::system::{Chain, System, Target, Time};
use crate::work::{Bound, Limits, Reason};

/// The proved bounds of a system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Analysis {
    /// By port.
    pub ports: Vec<PortBounds>,
    /// By chain.
    pub chains: Vec<ChainBounds>,
    /// By connection.
    pub connections: Vec<ConnectionBounds>,
    /// The steps that it took.
    pub steps: u64,
}

/// Bounds of a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortBounds {
    /// Of the response (B6), in nanoseconds.
    pub response: Bound,
    /// Of the backlog (B7), in deliveries. A direct port has none.
    pub backlog: Result<u64, Reason>,
    /// Whether the bounds rest on figures that were measured and not declared.
    pub conditional: bool,
}

/// The bound of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectionBounds {
    /// Of the latency (B9), in nanoseconds.
    pub latency: Bound,
    /// Its parts; their sum is the bound.
    pub shares: Vec<Share>,
    /// Whether the bound rests on figures that were measured and not declared.
    pub conditional: bool,
    /// When events come to it, if one source makes them all.
    pub stream: Option<Stream>,
}

/// Events that come from one source, one for each of its instants at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream {
    /// The least time between two instants, by the clock of a timer's host.
    pub period: Time,
    /// How much later than others an event may be, counted from its instant, in true time.
    pub jitter: Bound,
}

/// Bounds of a chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainBounds {
    /// Of the reaction (B4), in nanoseconds.
    pub reaction: Bound,
    /// Its parts; their sum is the bound.
    pub reaction_shares: Vec<Share>,
    /// Of the data age (B5), in nanoseconds.
    pub age: Bound,
    /// Its parts; their sum is the bound.
    pub age_shares: Vec<Share>,
    /// Whether the bounds rest on figures that were measured and not declared.
    pub conditional: bool,
    /// Whether the bounds are as small as the chain asks for.
    pub verdict: Verdict,
}

/// Whether a chain is as fast as it asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Each bound that is asked for is within its limit.
    Admitted,
    /// A bound is above its limit.
    Refused {
        /// By how much the reaction is above.
        reaction: Time,
        /// By how much the age is above.
        age: Time,
    },
    /// There is no bound.
    NoBound(Reason),
}

impl ChainBounds {
    /// The shares of a chain's bounds, the largest first: of the reaction, or of the age if that is what fails alone.
    pub fn largest(&self) -> Vec<Share> {
        let of_age = matches!(self.verdict, Verdict::Refused { reaction: 0, .. });
        let mut shares = if of_age { self.age_shares.clone() } else { self.reaction_shares.clone() };
        shares.sort_by_key(|share| core::cmp::Reverse(share.time));
        shares
    }
}

/// Bounds for all ports, chains and connections of a system.
///
/// # Errors
///
/// The problems of a system that cannot be analysed.
pub fn analyse(system: &System, limits: Limits) -> Result<Analysis, Vec<Problem>> {
    let problems = problems(system);
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(match settled(system, limits) {
        Ok(model) => report(&model),
        Err(reason) => nothing(system, reason, limits.steps),
    })
}

fn settled(system: &System, limits: Limits) -> Result<Model<'_>, Reason> {
    let mut model = Model::new(system, limits)?;
    model.settle()?;
    Ok(model)
}

/// No bounds at all.
fn nothing(system: &System, reason: Reason, steps: u64) -> Analysis {
    let port = PortBounds { response: Err(reason), backlog: Err(reason), conditional: false };
    let chains = system.chains.iter().map(|chain| ChainBounds {
        reaction: Err(reason),
        reaction_shares: Vec::new(),
        age: Err(reason),
        age_shares: Vec::new(),
        conditional: false,
        verdict: verdict(chain, &Err(reason), &Err(reason)),
    });
    let connection =
        ConnectionBounds { latency: Err(reason), shares: Vec::new(), conditional: false, stream: None };
    Analysis {
        ports: vec![port; system.ports.len()],
        chains: chains.collect(),
        connections: vec![connection; system.connections.len()],
        steps,
    }
}

fn report(model: &Model<'_>) -> Analysis {
    let system = model.system;
    let measured = measured_hosts(system);
    let conditional =
        |port: usize| model.host_index(port).and_then(|host| measured.get(host)).copied().unwrap_or(false);
    let ports = (0..system.ports.len()).map(|port| PortBounds {
        response: model.response(port),
        backlog: if system.ports.get(port).is_some_and(|port| port.lane.is_some()) {
            model.backlog(port)
        } else {
            Ok(0)
        },
        conditional: conditional(port),
    });
    let ports = ports.collect();
    let mut gaps = Gaps::default();
    let mut bounds = |chain: &Chain, ask: Ask| match model.chain(chain, ask, &mut gaps) {
        Ok((time, shares)) => (Ok(time), shares),
        Err(reason) => (Err(reason), Vec::new()),
    };
    let chains = system.chains.iter().map(|chain| {
        let (reaction, reaction_shares) = bounds(chain, Ask::Reaction);
        let (age, age_shares) = bounds(chain, Ask::Age);
        let first = system.sources.get(chain.source).map_or(0, |source| source.port);
        let verdict = verdict(chain, &reaction, &age);
        ChainBounds { reaction, reaction_shares, age, age_shares, conditional: conditional(first), verdict }
    });
    let chains = chains.collect();
    let connections = system.connections.iter().enumerate().map(|(index, connection)| {
        let (latency, shares) = match model.connection(index, &mut gaps) {
            Ok((time, shares)) => (Ok(time), shares),
            Err(reason) => (Err(reason), Vec::new()),
        };
        let to = connection.port(&system.registers);
        ConnectionBounds {
            latency,
            shares,
            conditional: to.is_some_and(conditional),
            stream: model.stream(index),
        }
    });
    let connections = connections.collect();
    Analysis { ports, chains, connections, steps: model.limits.steps.saturating_sub(model.work.left()) }
}

fn verdict(chain: &Chain, reaction: &Bound, age: &Bound) -> Verdict {
    let missing = |limit: Option<Time>, bound: &Bound| match (limit, bound) {
        (Some(limit), Ok(bound)) => Ok(bound.saturating_sub(limit)),
        (Some(_), Err(reason)) => Err(*reason),
        (None, _) => Ok(0),
    };
    match (missing(chain.reaction, reaction), missing(chain.age, age)) {
        (Ok(0), Ok(0)) => Verdict::Admitted,
        (Ok(reaction), Ok(age)) => Verdict::Refused { reaction, age },
        (Err(reason), _) | (_, Err(reason)) => Verdict::NoBound(reason),
    }
}

/// The hosts whose bounds rest on measured figures: their own, or those of hosts that they are connected with.
fn measured_hosts(system: &System) -> Vec<bool> {
    let host = |port: usize| {
        let component = system.ports.get(port).and_then(|port| system.components.get(port.component));
        component.map(|component| component.host)
    };
    let mut measured: Vec<bool> = system.hosts.iter().map(|host| host.measured).collect();
    let mut mark = |host: Option<usize>| {
        if let Some(measured) = host.and_then(|host| measured.get_mut(host)) {
            *measured = true;
        }
    };
    for (index, port) in system.ports.iter().enumerate() {
        if port.measured {
            mark(host(index));
        }
    }
    for source in system.sources.iter().filter(|source| source.measured) {
        mark(host(source.port));
    }
    let target = |connection: &crate::system::Connection| connection.port(&system.registers).and_then(host);
    for connection in &system.connections {
        if connection.transfer.is_some_and(|transfer| transfer.measured) {
            mark(target(connection));
        }
    }
    // Over connections between hosts, in both directions.
    let mut pushing = alloc::collections::BTreeMap::new();
    for (index, port) in system.ports.iter().enumerate() {
        for step in &port.steps {
            if let crate::system::Step::Push { output, .. } = step {
                pushing.insert(*output, host(index));
            }
        }
    }
    loop {
        let mut changed = false;
        for connection in system
            .connections
            .iter()
            .filter(|it| it.transfer.is_some() && !matches!(it.target, Target::Direct(_)))
        {
            let ends = [pushing.get(&connection.output).copied().flatten(), target(connection)];
            let any = ends.iter().flatten().any(|end| measured.get(*end).copied().unwrap_or(false));
            for end in ends.into_iter().flatten() {
                if let Some(measured) = measured.get_mut(end).filter(|it| any && !**it) {
                    *measured = true;
                    changed = true;
                }
            }
        }
        if !changed {
            return measured;
        }
    }
}
