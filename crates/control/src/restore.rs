//! Grants across starts: how they are stored, and how they are taken up again.
use alloc::string::ToString;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::time::Duration;

use wire::Guid;
use wire::admission::{Contract, Socket};

use crate::action::{Pair, StoreChange};
use crate::change_network::{hops, ports};
use crate::fabric::Site;
use crate::grant::{Grant, StoredAddress, StoredContract, StoredEnd, StoredHop, StoredPair};
use crate::losses::Role;
use crate::operations::Timer;
use crate::requests::{Goal, Wish};
use crate::reservations::{End, GrantPhase, Granted, GrantedHop};
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    pub(crate) fn to_store(&self, grant: &Granted) -> Grant {
        let contract = &grant.contract;
        let latency = grant.ends.iter().map(|end| end.maximum_latency).min().unwrap_or(0);
        let separations = grant.ends.iter().map(|end| end.maximum_separation);
        let separation = separations.filter(|separation| *separation > 0).min().unwrap_or(0);
        let end = |end: &End| StoredEnd {
            hop: end.hop,
            to: (end.to.address.into(), end.to.port),
            address: end.address.unwrap_or_default(),
            maximum_latency: end.maximum_latency,
            maximum_separation: end.maximum_separation,
        };
        let ends = grant.ends.iter().filter(|_| grant.is_tree()).map(end);
        let pairs = grant.pairs.iter().map(|pair| {
            let asked = self.requests.get(*pair).map(|asked| &asked.request);
            StoredPair {
                writer: pair.0.to_bytes(),
                reader: pair.1.to_bytes(),
                serial: asked.map_or(0, |request| request.serial),
                topic: asked.map(|request| request.topic.clone()).unwrap_or_default(),
                maximum_latency: asked.map_or(latency, |request| request.maximum_latency),
                maximum_separation: asked.map_or(separation, |request| request.maximum_separation),
                end: grant.at.get(pair).copied().unwrap_or(0),
            }
        });
        let hops = grant.hops.iter().filter_map(|hop| {
            let link = self.fabric.network().links.get(hop.link)?;
            Some(StoredHop {
                from: self.fabric.network().node_name(link.from).to_string(),
                to: self.fabric.network().node_name(link.to).to_string(),
                number: link.number,
                share: hop.share,
                level: hop.level,
                parent: hop.parent,
                group: hop.group.unwrap_or(0),
            })
        });
        Grant {
            number: grant.number,
            pairs: pairs.collect(),
            source: (grant.source.address.into(), grant.source.port),
            destination: (grant.destination.address.into(), grant.destination.port),
            contract: StoredContract {
                largest_message: contract.largest_message,
                smallest_message: contract.smallest_message,
                datagram: contract.datagram,
                minimum_separation: contract.minimum_separation,
                maximum_separation: contract.maximum_separation,
                jitter: contract.jitter,
                emission: contract.emission,
                slack: contract.slack,
                importance: contract.importance,
            },
            aggregate: grant.aggregate,
            tunnel: grant.tunnel,
            role: grant.role.to_store(),
            maximum_latency: latency,
            maximum_separation: separation,
            hops: hops.collect(),
            ends: ends.collect(),
            address: grant
                .ends
                .first()
                .filter(|_| !grant.is_tree())
                .and_then(|end| end.address)
                .unwrap_or_default(),
            meter: grant.meter.unwrap_or(0),
        }
    }

    /// Takes up what an earlier manager has stored; once, before anything else. What does not fit the network any more is
    /// forgotten, and taken out of the switches when they come. Grants that no reader asks for within the grace are revoked.
    pub fn restore(&mut self, now: Duration, grants: Vec<Grant>) {
        let ports = ports(self.fabric.network());
        // Of two for the same flow the later one was in force when it was stored.
        let mut grants = grants;
        grants.sort_by_key(|grant| Reverse(grant.number));
        let mut found = Vec::new();
        for grant in grants {
            self.reservations.use_number(grant.number);
            found.push((hops(&ports, &grant), grant));
        }
        for (hops, grant) in found {
            let number = grant.number;
            let kept = hops.ok().and_then(|hops| self.take_up(grant, hops));
            if kept.is_some() {
                let until = now.saturating_add(self.config.grace);
                self.operations.wake(until, Timer::Restored(number));
            } else {
                self.operations.store_with_others(StoreChange::Remove(number));
            }
        }
        self.end_incomplete(now);
        self.store_again(now);
    }

    /// Takes a stored grant up along these hops, as it was; `None` if it does not fit.
    pub(crate) fn take_up(&mut self, stored: Grant, hops: Vec<GrantedHop>) -> Option<()> {
        let contract = stored.contract;
        let number = stored.number;
        let pairs = stored.pairs.iter();
        let pairs: Vec<Pair> =
            pairs.map(|pair| (Guid::from_bytes(pair.writer), Guid::from_bytes(pair.reader))).collect();
        let socket = |(address, port): (StoredAddress, u16)| Socket { address: address.into(), port };
        let from = self.fabric.network().links.get(hops.first()?.link)?.from;
        let way = StoredEnd {
            hop: hops.len().checked_sub(1)?,
            to: stored.destination,
            address: stored.address,
            maximum_latency: stored.maximum_latency,
            maximum_separation: stored.maximum_separation,
        };
        let is_tree = !stored.ends.is_empty();
        let role = Role::of_stored(stored.role.as_ref());
        // Those beside another flow serve no pair by themselves.
        let pair = match role.leader() {
            Some(_) => (Guid::UNKNOWN, Guid::UNKNOWN),
            None => *pairs.first()?,
        };
        let ends = if is_tree { stored.ends } else { alloc::vec![way] };
        let goal = |end: &StoredEnd| {
            let link = hops.get(end.hop)?.link;
            Some(Goal {
                host: self.fabric.network().links.get(link)?.to,
                to: socket(end.to),
                address: Some(end.address).filter(|address| *address != [0; 6]),
                maximum_latency: end.maximum_latency,
                maximum_separation: end.maximum_separation,
            })
        };
        let wish = Wish {
            pair,
            from,
            source: socket(stored.source),
            destination: socket(stored.destination),
            contract: Contract {
                largest_message: contract.largest_message,
                smallest_message: contract.smallest_message,
                datagram: contract.datagram,
                minimum_separation: contract.minimum_separation,
                maximum_separation: contract.maximum_separation,
                jitter: contract.jitter,
                emission: contract.emission,
                slack: contract.slack,
                importance: contract.importance,
            },
            aggregate: stored.aggregate,
            tunnel: stored.tunnel,
            losses: None,
            part: role.part(),
            goals: ends.iter().map(goal).collect::<Option<_>>()?,
        };
        let flow = self.fabric.network().flow_along(&wish, &hops, ends.iter().map(|end| end.hop))?;
        let readers = wish.goals.iter().map(|goal| (goal.to.address, goal.host, goal.address));
        if !readers
            .chain([(wish.source.address, from, None)])
            .all(|(address, host, ethernet)| self.fabric.remember(address, host, ethernet))
        {
            return None;
        }
        if self.reservations.at(wish.source, wish.destination).is_some()
            || !self.reservations.numbers().are_groups_free(self.fabric.network(), &hops)
        {
            return None;
        }
        let admitted = self.reservations.put_back(number, &flow, &hops)?;
        let at = pairs.iter().copied().zip(stored.pairs.iter().map(|pair| pair.end)).collect();
        let granted = self.reservations.grant_of(self.fabric.network(), number, &admitted, hops, &wish, at);
        let Ok(granted) = granted else {
            self.reservations.free(number);
            return None;
        };
        let meter = granted.meter.map(|_| stored.meter);
        if !self.reservations.numbers().is_meter_free(self.fabric.network(), &granted.hops, meter) {
            self.reservations.free(number);
            return None;
        }
        let serials = pairs.into_iter().zip(stored.pairs.iter().map(|pair| pair.serial)).collect();
        let mut granted = Granted { phase: GrantPhase::Restored, meter, serials, role, ..granted };
        if let Some(together) = granted.role.together().copied() {
            if !self.keeps_bound(&granted, &together) {
                self.reservations.free(number);
                return None;
            }
            granted.ends.iter_mut().for_each(|end| end.promised = together.promised);
        }
        for (index, (switch, entry)) in self.fabric.network().flow_entries(&granted).into_iter().enumerate() {
            let meter = self.reservations.meter_of(number, granted.meter).filter(|_| index == 0);
            let messages: Vec<_> = meter.into_iter().chain(entry.add()).collect();
            self.fabric.note_table(switch, &messages);
        }
        if let (Some((key, contract)), Some(switch)) =
            (granted.gate, self.fabric.network().first_switch(&granted.hops))
        {
            self.fabric.note_gate(switch, &crate::action::GateChange::Set(key, contract));
        }
        self.reservations.insert(self.fabric.network(), granted);
        Some(())
    }

    /// Restored grants whose switches and gates are all there are in force again.
    pub(crate) fn hold_restored(&mut self) {
        let there = |grant: &Granted| {
            let switches = self.fabric.network().flow_entries(grant);
            let gates =
                grant.gate.and_then(|_| self.fabric.network().first_switch(&grant.hops)).map(Site::Gates);
            let mut sites = switches.iter().map(|(switch, _)| Site::Switch(*switch)).chain(gates);
            sites.all(|site| self.fabric.is_ready(site))
        };
        let there = self.all_there(there);
        self.reservations.hold_restored(&there);
        self.requests.unpark();
    }

    /// Who has not asked again for what was restored does not need it.
    pub(crate) fn restored_for_long(&mut self, now: Duration, number: u64) {
        let Some(grant) = self.reservations.get(number) else { return };
        if grant.is_restored() {
            self.revoke(now, number, "a switch on its way did not come back");
            self.requests.unpark();
            return;
        }
        let served =
            |pair: &&Pair| self.requests.get(**pair).is_some_and(|asked| asked.grant == Some(number));
        let quiet: Vec<Pair> = grant.pairs.iter().filter(|pair| !served(pair)).copied().collect();
        for pair in quiet {
            self.leave(now, number, pair, "no reader asks for it any more");
        }
    }
}
