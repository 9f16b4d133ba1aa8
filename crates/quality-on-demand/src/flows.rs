//! From a profile and the ports of a session to the flows that a manager reserves.
use std::collections::BTreeSet;
use std::net::IpAddr;

use wan_server::protocol::{Flow, SessionAsked, SessionStatus};

use crate::body::{CreateSession, Ports};
use crate::problem::Problem;
use crate::record::Session;
use crate::service_file::{Client, Profile};

/// Most flows of a session.
const MOST_FLOWS: usize = 8;
/// A manager keeps a session so many nanoseconds longer than a client is promised.
pub(crate) const SLACK: u64 = 10_000_000_000;
/// Nanoseconds by which the clock of a manager may differ.
pub(crate) const SKEW: u64 = 5_000_000_000;
/// Milliseconds that a session is looked for whose admission may have been lost.
pub(crate) const LOOKED_FOR: u64 = 60_000;
pub(crate) const SECOND: u64 = 1_000_000_000;

/// The ports that were named, or that of the profile.
fn ports(named: Option<&Ports>, otherwise: u16) -> Option<Vec<u16>> {
    match named {
        Some(ports) => Some(ports.all(MOST_FLOWS)?.into_iter().collect()),
        None => Some(vec![otherwise]),
    }
}

/// All flows of a session: each has the whole rate of the profile, since each may send all of it.
///
/// # Errors
/// There are too many.
fn flows(profile: &Profile, asked: &CreateSession) -> Result<Vec<Flow>, Problem> {
    let (device, server) = (asked.device_ports.as_ref(), asked.application_server_ports.as_ref());
    let up = profile.upstream.as_ref().map(|flow| (flow, device, server));
    let down = profile.downstream.as_ref().map(|flow| (flow, server, device));
    let mut all = Vec::new();
    for (flow, from, to) in up.into_iter().chain(down) {
        let too_many = || {
            let what = format!(
                "devicePorts and applicationServerPorts: a session has at most {MOST_FLOWS} flows, one for each pair of ports and direction"
            );
            Problem::profile(what)
        };
        let from = ports(from, flow.source_port).ok_or_else(too_many)?;
        let to = ports(to, flow.destination_port).ok_or_else(too_many)?;
        if all.len() + from.len() * to.len() > MOST_FLOWS {
            return Err(too_many());
        }
        for source_port in from {
            all.extend(to.iter().map(|to| Flow { source_port, destination_port: *to, ..flow.clone() }));
        }
    }
    Ok(all)
}

/// What the manager is asked for.
///
/// # Errors
/// The profile cannot be had with these ports, or the device cannot reach these servers.
pub(crate) fn session(
    client: &Client,
    profile: &Profile,
    device: IpAddr,
    asked: &CreateSession,
) -> Result<SessionAsked, Problem> {
    let servers = asked.servers.iter().filter(|server| server.is_ipv4() == device.is_ipv4());
    let callees: Vec<IpAddr> = servers.copied().collect();
    if callees.is_empty() {
        let what = format!(
            "applicationServer: {device} reaches none of these addresses: they are of the other version of IP"
        );
        return Err(Problem::service(what));
    }
    Ok(SessionAsked {
        user: client.user.clone(),
        service: profile.service.clone(),
        caller: device,
        callees,
        flows: flows(profile, asked)?,
        lasts: u64::from(asked.duration) * SECOND + SLACK,
    })
}

/// Some packet is of both flows.
fn meet(one: &Flow, other: &Flow) -> bool {
    let same = |one: u16, other: u16| one == other || one == 0 || other == 0;
    one.direction == other.direction
        && one.protocol == other.protocol
        && same(one.source_port, other.source_port)
        && same(one.destination_port, other.destination_port)
}

/// Some packet is of both sessions.
pub(crate) fn conflict(one: &SessionAsked, other: &SessionAsked) -> bool {
    one.caller == other.caller
        && one.callees.iter().any(|callee| other.callees.contains(callee))
        && one.flows.iter().any(|flow| other.flows.iter().any(|of| meet(flow, of)))
}

fn same(one: &[IpAddr], other: &[IpAddr]) -> bool {
    one.iter().collect::<BTreeSet<_>>() == other.iter().collect::<BTreeSet<_>>()
}

/// What a manager shows of both is the same, but for their ends.
pub(crate) fn alike(one: &SessionAsked, other: &SessionAsked) -> bool {
    one.user == other.user
        && one.caller == other.caller
        && same(&one.callees, &other.callees)
        && one.flows.iter().map(|flow| flow.rate).eq(other.flows.iter().map(|flow| flow.rate))
}

/// What a manager holds is what was asked for, in the time in which it was.
pub(crate) fn is_that(session: &Session, lost: u64, held: &SessionStatus) -> bool {
    let asked = &session.asked;
    let ends = |at: u64| at.saturating_mul(1_000_000).saturating_add(asked.lasts);
    held.user == asked.user
        && held.caller == asked.caller
        && same(&held.callees, &asked.callees)
        && held.rates.iter().eq(asked.flows.iter().map(|flow| &flow.rate))
        && held.ends.saturating_add(SKEW) >= ends(session.asked_at)
        && held.ends <= ends(lost.saturating_add(LOOKED_FOR)).saturating_add(SKEW)
}
