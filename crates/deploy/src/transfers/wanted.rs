//! The flows that a plan needs of its network: one for each process that takes events of a connection from another host.
use std::collections::BTreeMap;

use assembly::{Chain, End, Link, ServiceKind};
use network::Network;

use super::{DRIFT, Flow, NANOSECOND};
use crate::command::Failure;
use crate::files::Loaded;

/// The limit of a flow for which the plan has none, in picoseconds.
const NO_LIMIT: u64 = 1_000_000_000_000;
/// By how many parts of a thousand million a clock drifts if a plan does not say.
const USUAL_DRIFT: u32 = 200_000;
/// Most bytes that a sample has behind its event if chains pass its connection: the stamps by which they are measured, one for each place of a
/// chain in the component that pushes.
const STAMPS: u32 = 64;
const STAMP: u32 = 512;
/// The same of the stamp by which the latency of the connection is measured: it has passed no port yet.
const OWN_STAMP: u32 = 128;

/// The flows of a plan that names a network: of connections that go by DDS to other hosts and do not say a transfer themselves. Without the
/// network none has a bound.
pub(super) fn wanted(plan: usize, loaded: &Loaded, network: Option<&Network>) -> Result<Vec<Flow>, Failure> {
    let Some(file) = &loaded.plan.network else { return Ok(Vec::new()) };
    let layout = loaded.plan.layout();
    let place = |end: &End| end.component().and_then(|component| layout.place_of(component));
    let mut flows: BTreeMap<(String, String), Flow> = BTreeMap::new();
    for link in layout.links() {
        let (Some(from), Some(to)) = (place(link.from), place(link.to)) else { continue };
        let (Some(source), Some(sink)) = (from.host, to.host) else { continue };
        if link.kind != ServiceKind::Dds || link.connection.transfer.is_some() || source == sink {
            continue;
        }
        for (host, network) in [source, sink].into_iter().filter_map(|host| Some((host, network?))) {
            if !network.hosts().iter().any(|known| known.name == host) {
                let known: Vec<&str> = network.hosts().iter().map(|host| host.name.as_str()).collect();
                let what =
                    format!("the network file {file} has no host \"{host}\", where \"{}\" goes", link.name);
                let remedy = format!(
                    "hosts have the same names in both files; those of the network are {}",
                    known.join(", ")
                );
                return Err(loaded.wrong(&format!("host.{host}"), what, &remedy));
            }
        }
        let key = (link.name.to_owned(), to.process.to_owned());
        let end = (link.index, link.to.to_string());
        match flows.get_mut(&key) {
            Some(flow) => flow.ends.push(end),
            None => drop(
                flows.insert(key, flow_of(plan, loaded, network, &link, [source, sink], to.process, end)),
            ),
        }
    }
    Ok(flows.into_values().collect())
}

fn flow_of(
    plan: usize,
    loaded: &Loaded,
    network: Option<&Network>,
    link: &Link<'_>,
    [from, to]: [&str; 2],
    process: &str,
    end: (usize, String),
) -> Flow {
    let deployment = deployment::deployment_name(&loaded.plan);
    let costs = |host: &str| loaded.plan.hosts.get(host).and_then(|host| host.costs.as_ref());
    let (send, receive) = (costs(from).and_then(|it| it.send), costs(to).and_then(|it| it.receive));
    let lacks = |what: String, remedy: &str| Err((what, remedy.to_owned()));
    // Parts of a million, rounded up.
    let drift = |host: &str| costs(host).and_then(|it| it.drift).unwrap_or(USUAL_DRIFT).div_ceil(1_000);
    let clocks = network.map_or(DRIFT, |network| network.clock_drift().min(DRIFT));
    let bound = match (link.connection.size, send, receive) {
        _ if network.is_none() => lacks(
            "the plan came without its network file".to_owned(),
            "punctual deploy admit PLAN --write FILE computes the transfers and writes a plan with them",
        ),
        (None, _, _) => lacks(
            format!("it is not said how large events of \"{}\" are", link.name),
            "add size = BYTES: those of the largest event, serialized; or transfer = { most = TIME }",
        ),
        (_, None, _) => lacks(
            format!("it is not said how long {from} takes to send an event"),
            "add send = TIME to its costs: from the push until its port has all frames",
        ),
        (_, _, None) => lacks(
            format!("it is not said how long {to} takes to receive an event"),
            "add receive = TIME to its costs: from the last frame until the event is in the queue",
        ),
        _ if drift(from).max(drift(to)) > clocks => lacks(
            format!("clocks of {from} or {to} drift more than the {clocks} ppm that flows are computed for"),
            "say the same in both files, at most 1000 ppm: clock-drift",
        ),
        _ => Ok(0),
    };
    let mut topics = vec![format!("{deployment}/{}", link.name)];
    let own = link.connection.latency.map_or(0, |_| OWN_STAMP);
    let is_traced = own > 0 || loaded.plan.chains.values().any(|chain| passes(chain, link));
    if is_traced {
        topics.push(format!("{deployment}/{}/traced", link.name));
    }
    let places = loaded.plan.chains.values().flat_map(|chain| &chain.path);
    let places = places.filter(|end| end.component() == link.from.component()).count();
    let stamps = STAMPS.saturating_add(STAMP.saturating_mul(u32::try_from(places).unwrap_or(u32::MAX)));
    let stamps = stamps.saturating_add(own);
    let stamps = if is_traced { stamps } else { 0 };
    Flow {
        plan,
        connection: link.name.to_owned(),
        name: format!("{deployment}/{} to {process}", link.name),
        topics,
        ends: vec![end],
        from: from.to_owned(),
        to: to.to_owned(),
        size: link.connection.size.unwrap_or(0).saturating_add(stamps),
        separation: (link.connection.separation.filter(|time| *time > 0), 0),
        jitter: (link.connection.jitter, 0),
        is_declared: false,
        send: send.unwrap_or(0),
        receive: receive.unwrap_or(0),
        is_measured: [from, to].into_iter().any(|host| costs(host).is_some_and(|costs| costs.is_measured)),
        limit: limit(loaded, link),
        bound,
        is_forbidden: false,
    }
}

/// What a flow asks the network for: of the least limit of its connection and of chains that pass it, the part that is left to each connection
/// between hosts if the hosts have one part, too.
fn limit(loaded: &Loaded, link: &Link<'_>) -> u64 {
    let layout = loaded.plan.layout();
    let host = |end: &End| layout.place_of(end.component()?)?.host;
    let own = link.connection.latency.map(|limit| limit / 2);
    let of_chains = loaded.plan.chains.values().filter(|chain| passes(chain, link)).filter_map(|chain| {
        let hosts: Vec<&str> = chain.path.iter().filter_map(host).collect();
        let hops = hosts.windows(2).filter(|pair| pair.first() != pair.last()).count();
        let least = chain.reaction.into_iter().chain(chain.age).min()?;
        Some(least / (u64::try_from(hops).unwrap_or(u64::MAX).saturating_add(1)))
    });
    own.into_iter().chain(of_chains).min().unwrap_or(NO_LIMIT).max(NANOSECOND)
}

/// Whether a chain may pass a connection: it has a port of the component that pushes, and then the end.
fn passes(chain: &Chain, link: &Link<'_>) -> bool {
    let at = chain
        .path
        .iter()
        .position(|end| end.component().is_some() && end.component() == link.from.component());
    at.is_some_and(|at| chain.path.iter().skip(at).any(|end| end == link.to))
}
