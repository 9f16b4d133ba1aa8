//! Gateways between federated services: no event comes back, and none comes twice.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::Checker;
use crate::plan::ServiceKind;

/// Federated services of a plan: ways are followed from each of them.
const MOST: usize = 256;

impl Checker<'_> {
    pub(super) fn loops(&mut self) {
        let plan = self.plan;
        let federated = plan.services.values().filter(|service| service.kind == ServiceKind::Federated);
        if federated.count() > MOST {
            return self.wrong("service", format!("more than {MOST} federated services"), "split the plan");
        }
        for (start, service) in
            plan.services.iter().filter(|(_, service)| service.kind == ServiceKind::Federated)
        {
            let ttl = usize::from(service.ttl.unwrap_or(1));
            // To each service the first way that was found; shorter ways come first.
            let mut reached: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            let mut ways: Vec<Vec<&str>> = [[start.as_str()].into()].into();
            let mut next = 0;
            while let Some(way) = ways.get(next).cloned() {
                next += 1;
                let last = way.last().copied().unwrap_or_default();
                let Some(peers) = plan.services.get(last).map(|service| &service.peers) else { continue };
                if way.len() > ttl {
                    continue;
                }
                for (index, peer) in peers.iter().enumerate() {
                    let mut longer = way.clone();
                    longer.push(peer);
                    let shown = longer.join(" → ");
                    let path = format!("service.{last}.peers.{index}");
                    let remedy = if ttl > 1 {
                        format!("lower the ttl of \"{start}\" ({ttl}), or take a peer out")
                    } else {
                        "take the peer out".to_string()
                    };
                    if way.contains(&peer.as_str()) {
                        self.wrong(&path, format!("events of \"{start}\" come back: {shown}"), remedy);
                        return;
                    }
                    if let Some(first) = reached.get(peer.as_str()) {
                        let what = format!(
                            "events of \"{start}\" come to \"{peer}\" twice: {}, and {shown}",
                            first.join(" → ")
                        );
                        self.wrong(&path, what, remedy);
                        return;
                    }
                    reached.insert(peer, longer.clone());
                    ways.push(longer);
                }
            }
        }
    }
}
