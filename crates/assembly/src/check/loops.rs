//! Gateways between federated services: no event comes back. Several ways to one service are no mistake: gateways send an event by one of them.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use super::Checker;
use crate::plan::ServiceKind;

/// Federated services of a plan: ways are followed from each of them.
const MOST: usize = 256;

/// For each federated service those that subscribe at it.
type Peers<'p> = BTreeMap<&'p str, BTreeSet<&'p str>>;

impl Checker<'_> {
    pub(super) fn loops(&mut self) {
        let plan = self.plan;
        let federated = || plan.services.iter().filter(|(_, service)| service.kind == ServiceKind::Federated);
        if federated().count() > MOST {
            return self.wrong("service", format!("more than {MOST} federated services"), "split the plan");
        }
        let names: BTreeSet<&str> = federated().map(|(name, _)| name.as_str()).collect();
        let known = |peers: &'_ [alloc::string::String]| -> BTreeSet<&str> {
            peers.iter().filter_map(|peer| names.get(peer.as_str()).copied()).collect()
        };
        let peers: Peers<'_> =
            federated().map(|(name, service)| (name.as_str(), known(&service.peers))).collect();
        let loops: BTreeMap<&str, Vec<&str>> =
            names.iter().filter_map(|name| Some((*name, ways(name, &peers).remove(name)?))).collect();
        if loops.is_empty() {
            return;
        }
        for (start, service) in federated() {
            let ttl = usize::from(service.ttl.unwrap_or(1));
            let mut there = ways(start, &peers);
            there.insert(start, Vec::new());
            for (turn, way) in there {
                let Some(back) = loops.get(turn).filter(|back| way.len() + back.len() <= ttl) else {
                    continue;
                };
                let whole: Vec<&str> = [start.as_str()].iter().chain(&way).chain(back).copied().collect();
                let [.., last, first] = whole[..] else { continue };
                let said = plan.services.get(last).map(|service| service.peers.iter());
                let index = said.and_then(|mut peers| peers.position(|peer| peer == first)).unwrap_or(0);
                let remedy = if ttl > 1 {
                    format!(
                        "lower the ttl of \"{start}\" ({ttl}), or take a peer out: what joins two gateways carries events both ways"
                    )
                } else {
                    "take the peer out".into()
                };
                let what = format!("events of \"{start}\" come back: {}", whole.join(" → "));
                return self.wrong(&format!("service.{last}.peers.{index}"), what, remedy);
            }
        }
    }
}

/// The shortest way from a service to each one that its events reach, itself among them if there is a loop. A way begins behind the service.
fn ways<'p>(start: &'p str, peers: &Peers<'p>) -> BTreeMap<&'p str, Vec<&'p str>> {
    let mut ways: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut open: Vec<(&str, Vec<&str>)> = Vec::from([(start, Vec::new())]);
    let mut next = 0;
    while let Some((last, way)) = open.get(next).cloned() {
        next += 1;
        for peer in peers
            .get(last)
            .into_iter()
            .flatten()
            .filter(|peer| !ways.contains_key(*peer))
            .copied()
            .collect::<Vec<_>>()
        {
            let longer: Vec<&str> = way.iter().copied().chain([peer]).collect();
            ways.insert(peer, longer.clone());
            open.push((peer, longer));
        }
    }
    ways
}
