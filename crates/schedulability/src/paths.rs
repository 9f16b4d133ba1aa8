//! The way of a chain through the system: its source, and the connections that its events pass.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use assembly::{Chain, End};
use response::Step;

use crate::handlers::Unknown;
use crate::kept::Keeper;
use crate::links::Links;
use crate::parts::Parts;
use crate::system::Built;

/// A chain in the system.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) source: usize,
    pub(crate) connections: Vec<usize>,
    /// The conditions of the bounds, in words.
    pub(crate) only: Vec<String>,
    /// Why the age of what is read on the way has no bound.
    pub(crate) stale: Option<Unknown>,
}

/// The hosts that a chain passes.
pub(crate) fn hosts<'p>(parts: &Parts<'p>, plan: usize, chain: &Chain) -> BTreeSet<&'p str> {
    let components = chain.path.iter().filter_map(End::component);
    components.map(|component| parts.place(plan, component).unwrap_or("")).collect()
}

/// Finds the way of a chain, or says why it has none.
pub(crate) fn path(
    parts: &Parts<'_>,
    links: &Links<'_>,
    built: &Built,
    plan: usize,
    chain: &Chain,
) -> Result<Path, Unknown> {
    let (mut only, mut stale) = (Vec::new(), None);
    let source = source(parts, links, built, plan, chain, &mut only)?;
    let mut at = built.system.sources.get(source).map(|it| it.port);
    let mut connections = Vec::new();
    // The publisher that the path names between two handlers.
    let mut through: Option<&str> = None;
    // Whether the last handler is called by the run of a timer that reads what came to it.
    let mut is_read = false;
    for end in chain.path.iter().skip(usize::from(matches!(chain.path.first(), Some(End::Port { .. })))) {
        let Some(port) = at else { break };
        let handler = parts.handler(plan, end);
        let Some(target) = handler.and_then(|it| built.port_of.get(&it)).copied() else {
            match end {
                End::Port { port, .. } => through = Some(port),
                // The one that it begins with.
                End::Topic(_) if connections.is_empty() && through.is_none() => {}
                End::Topic(topic) => {
                    let what = format!("the way through the topic \"{topic}\" is not analysed");
                    let remedy = "end the chain at the component that publishes to it";
                    return Err((what, remedy.to_string()));
                }
            }
            continue;
        };
        if target == port && through.is_none() && (connections.is_empty() || is_read) {
            // The consumer of the topic that the chain begins with, or the timer that reads.
            is_read = false;
            continue;
        }
        is_read = handler.is_some_and(|it| matches!(links.kept.get(&it), Some(Keeper::Timer(_))));
        if let Some(connection) = built.samples.get(&(port, target)).filter(|_| through.is_none()) {
            let sampled = built.ports.get(port).and_then(|it| links.stales(parts, *it));
            stale = stale.or(sampled);
            connections.push(*connection);
            at = Some(target);
            continue;
        }
        let from = built.ports.get(port).and_then(|it| parts.handlers.get(*it));
        let ways = from.into_iter().flat_map(|from| links.numbered(from.plan, from.component));
        let mut found = ways.filter_map(|(index, way)| {
            let fits = Some(way.to) == handler && through.is_none_or(|named| named == way.from.1);
            let connection = *built.connection_of.get(&index).filter(|_| fits)?;
            pushes(built, port, connection).map(|_| (connection, way))
        });
        let (first, second) = (found.next(), found.next());
        let Some((connection, way)) = first else {
            let what =
                format!("nothing leads to \"{end}\" from the port before by a push that the steps name");
            return Err((what, "see the steps of the handler before".to_string()));
        };
        if second.is_some() {
            let what = format!("several connections lead to \"{end}\"");
            return Err((what, "name the port that publishes in the path, too".to_string()));
        }
        if pushes(built, port, connection) != Some(true) {
            let what = format!("the push to \"{end}\" may be left out by the handler before");
            let remedy = "a chain with a limit needs pushes that are always made: end the chain at the port before, or take the ? away if the handler always pushes";
            return Err((what, remedy.to_string()));
        }
        if let Some(why) = links.starves(parts, plan, way.name, way.to) {
            return Err(why);
        }
        if is_read {
            stale = stale.or_else(|| links.stales(parts, way.to));
        }
        only.extend(links.thinned.get(&(plan, way.name)).cloned());
        connections.push(connection);
        at = Some(target);
        through = None;
    }
    Ok(Path { source, connections, only, stale })
}

fn source(
    parts: &Parts<'_>,
    links: &Links<'_>,
    built: &Built,
    plan: usize,
    chain: &Chain,
    only: &mut Vec<String>,
) -> Result<usize, Unknown> {
    let first = chain.path.first();
    let leads = |origin: &crate::links::Origin<'_>| match first {
        Some(End::Topic(topic)) => {
            let next = chain.path.get(1).and_then(|end| parts.handler(plan, end));
            origin.topic.is_some_and(|(name, _)| name == topic) && next == Some(origin.to)
        }
        Some(end) => parts.handler(plan, end) == Some(origin.to),
        None => false,
    };
    let mut found =
        built.origins.iter().enumerate().filter(|(_, it)| links.origins.get(**it).is_some_and(leads));
    let (one, more) = (found.next(), found.next());
    match (one, more) {
        (Some((source, origin)), None) => {
            let topic = links.origins.get(*origin).and_then(|origin| origin.topic);
            only.extend(topic.and_then(|(_, name)| links.thinned.get(&(plan, name)).cloned()));
            Ok(source)
        }
        (Some(_), Some(_)) => {
            let what = "several topics lead to the first port".to_string();
            Err((what, "begin the path with topic: and the name of one".to_string()))
        }
        (None, _) => {
            let what = "a chain begins with a timer or a topic: what makes its events".to_string();
            Err((what, "begin the path with one of them".to_string()))
        }
    }
}

/// Whether the handler of a port pushes over a connection: certainly, perhaps, or not at all.
fn pushes(built: &Built, port: usize, connection: usize) -> Option<bool> {
    let output = built.system.connections.get(connection)?.output;
    let steps = built.system.ports.get(port)?.steps.iter();
    let pushes = steps.filter_map(|step| match step {
        Step::Push { output: to, optional } if *to == output => Some(!optional),
        _ => None,
    });
    pushes.max()
}
