//! The first of the four admissions: what the operator's data say of a request, before anything is asked of a network.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::config::{Config, Contract};
use crate::request::{FlowRequest, SessionRequest};
use crate::words::{Asn, Direction, Reason};

/// A session that counts already: its request, and how many domains it goes to.
pub(crate) type Counted<'a> = (&'a SessionRequest, usize);

/// Bits per second toward callees, once for each of their domains and each copy.
fn forward(request: &SessionRequest, domains: usize) -> u64 {
    let flows = request.flows.iter().filter(|flow| flow.direction == Direction::Forward);
    let rate = |flow: &FlowRequest| flow.desired.rate.saturating_mul(flow.copies.into());
    let sum = flows.fold(0_u64, |sum, flow| sum.saturating_add(rate(flow)));
    sum.saturating_mul(domains as u64)
}

/// The contract of a user, if it is valid now.
pub(crate) fn contract(now: u64, config: &Config, user: u32) -> Result<&Contract, Reason> {
    let contract = config.users.iter().find(|(known, _)| *known == user).map(|(_, contract)| contract);
    let contract = contract.ok_or(Reason::UnknownUser)?;
    if now < contract.begins || contract.ends <= now {
        return Err(Reason::ContractExpired);
    }
    Ok(contract)
}

/// The domains of the callees and which callees they have, or why the request is refused.
pub(crate) fn admit<'a>(
    now: u64,
    config: &Config,
    others: impl Iterator<Item = Counted<'a>> + Clone,
    request: &SessionRequest,
) -> Result<BTreeMap<Asn, Vec<IpAddr>>, Reason> {
    if !request.is_valid() {
        return Err(Reason::Invalid);
    }
    let owner = config.owner(request.caller);
    if owner != Some(config.asn) {
        return Err(Reason::ForeignSource { owner });
    }
    let mut peers: BTreeMap<Asn, Vec<IpAddr>> = BTreeMap::new();
    for callee in &request.callees {
        let asn = config.owner(*callee).ok_or(Reason::UnknownDestination(*callee))?;
        peers.entry(asn).or_default().push(*callee);
    }
    let contract = contract(now, config, request.user)?;
    let service = config.session_services.iter().find(|service| service.id == request.service);
    let service = service.ok_or(Reason::UnknownService)?;
    let network = config.network_services.iter().find(|network| network.id == service.network_service);
    let network = network.ok_or(Reason::UnknownService)?;
    for flow in &request.flows {
        if !contract.classes.contains(&flow.class) || !service.classes.contains(&flow.class) {
            return Err(Reason::ClassNotAgreed);
        }
        if flow.desired.rate > service.most_rate {
            let missing = flow.desired.rate - service.most_rate;
            return Err(Reason::ServiceFull { missing, offer: service.most_rate });
        }
    }
    if let Some(asn) =
        peers.keys().find(|asn| !contract.destinations.contains(asn) || !network.destinations.contains(asn))
    {
        return Err(Reason::DestinationNotAgreed(*asn));
    }
    let own = forward(request, peers.len());
    let of_user = others.clone().filter(|(other, _)| other.user == request.user);
    if of_user.clone().count() >= contract.most_sessions {
        return Err(Reason::TooManySessions);
    }
    let used = of_user.fold(0_u64, |sum, (other, domains)| sum.saturating_add(forward(other, domains)));
    let offer = contract.quota.saturating_sub(used);
    if own > offer {
        return Err(Reason::Quota { missing: own - offer, offer });
    }
    let services = config.session_services.iter().filter(|other| other.network_service == network.id);
    let services: Vec<u32> = services.map(|service| service.id).collect();
    let in_service = others.filter(|(other, _)| services.contains(&other.service));
    let used = in_service.fold(0_u64, |sum, (other, domains)| sum.saturating_add(forward(other, domains)));
    let offer = network.bandwidth.saturating_sub(used);
    if own > offer {
        return Err(Reason::ServiceFull { missing: own - offer, offer });
    }
    Ok(peers)
}
