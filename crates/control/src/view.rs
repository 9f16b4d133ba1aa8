//! The report: what can be seen of the manager.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Reverse;

use latency::units::{NANOSECOND, scale_up};
use latency::work::Limits;
use wire::Guid;
use wire::admission::{Socket, State};

use crate::entries;
use crate::report::{
    HopReport, HostStatus, LinkReport, MeasuredReport, PairReport, Report, ReservedStatus, SwitchStatus,
};
use crate::requests::dotted;
use crate::resource_manager::ResourceManager;
use crate::state::{Asked, End, Granted, GrantedHop, Phase, Site, dscp};

impl ResourceManager {
    /// What there is now.
    pub fn report(&self) -> Report {
        self.report_of(usize::MAX)
    }

    /// What there is now, with so many pairs at most: the admitted ones first, then the more important ones.
    ///
    /// Takes no more steps than a request; where more pairs than that come, the worst case of the others is what their shares say.
    pub fn report_of(&self, most: usize) -> Report {
        self.ledger.work().apart(Limits::REQUEST, || self.view(most)).0
    }

    fn view(&self, most: usize) -> Report {
        let is_admitted = |asked: &&Asked| asked.verdict.state == State::Admitted;
        let mut asked: Vec<&Asked> = self.asked.values().collect();
        if asked.len() > most {
            let rank =
                |asked: &&Asked| (!is_admitted(asked), Reverse(asked.request.contract.importance), asked.age);
            asked.sort_by_key(rank);
            asked.truncate(most);
        }
        Report {
            epoch: self.epoch,
            requests: self.asked.len(),
            admitted: self.asked.values().filter(is_admitted).count(),
            pairs: asked.into_iter().map(|asked| self.pair_report(asked)).collect(),
            switches: (0..self.network.switches.len()).map(|switch| self.switch_status(switch)).collect(),
            refused_switches: self.refused_switches.iter().map(|(id, why)| (*id, why.clone())).collect(),
            hosts: self.hosts(),
            reserved: self.reserved_status(),
            operations: self.operations.len(),
            managers: self.managers.clone(),
        }
    }

    /// All directions of all links of the network, with what is promised on them. Links 2k and 2k + 1 are those of one cable.
    pub fn link_reports(&self) -> Vec<LinkReport> {
        let links = self.network.links.iter().enumerate();
        links
            .map(|(index, link)| {
                let entries = self.ledger.entries(index);
                let rates = entries.iter().filter_map(|entry| entry.contender.arrival.rate());
                let rate = self.ledger.ports().get(index).map_or(0, |port| port.rate);
                LinkReport {
                    from: self.network.node_name(link.from).to_string(),
                    to: self.network.node_name(link.to).to_string(),
                    rate,
                    load: scale_up(rates.fold(0, u64::saturating_add), 1_000_000, rate).unwrap_or(u64::MAX),
                    flows: entries.len(),
                    up: self.is_up(index),
                }
            })
            .collect()
    }

    /// The name of a switch, or its number if the network has none of that.
    pub fn switch_name(&self, datapath: u64) -> String {
        let found = self.switch_index(datapath).and_then(|switch| self.network.switches.get(switch));
        found.map_or_else(|| format!("switch {datapath:#x}"), |switch| format!("switch {}", switch.name))
    }

    /// Computes anew whether every promise can be kept with all that is promised.
    ///
    /// # Errors
    /// The port at which one cannot, in words. That would be a fault of this crate.
    pub fn audit(&self) -> Result<(), String> {
        (0..self.network.links.len()).try_for_each(|port| {
            self.ledger.audit(port).map_err(|flow| {
                format!("grant {flow} is not kept at {}: report this", self.network.port_name(port))
            })
        })
    }

    /// The most steps of work ([`latency::work`]) that any decision has taken so far, for a request or what follows from it.
    pub fn most_steps(&self) -> u64 {
        self.most_steps
    }

    fn pair_report(&self, asked: &Asked) -> PairReport {
        let (request, verdict) = (&asked.request, &asked.verdict);
        let (writer, reader) = request.pair();
        let grant = asked.grant.and_then(|number| self.grants.get(&number));
        let end = grant.and_then(|grant| Some((grant, grant.end_of(request.pair())?)));
        let present = end.and_then(|(grant, end)| self.present(grant, end));
        let way = end.map(|(grant, end)| grant.way_to(end)).unwrap_or_default();
        let hops = way.into_iter().map(|hop| self.hop_report(hop));
        PairReport {
            writer: digits(writer),
            reader: digits(reader),
            from: self.host_name(request.source.address),
            to: self.host_name(request.destination.address),
            topic: request.topic.clone(),
            state: match verdict.state {
                State::Pending => "pending",
                State::Admitted => "admitted",
                State::Refused => "refused",
                State::Revoked => "revoked",
            },
            reason: verdict.reason.clone(),
            maximum_latency: request.maximum_latency,
            promised: verdict.bound,
            present: present.map_or(0, |latency| latency.div_ceil(NANOSECOND)),
            offered_latency: verdict.offered_latency,
            offered_separation: verdict.offered_separation,
            importance: request.contract.importance,
            source: place(verdict.source),
            destination: place(verdict.destination),
            reader_at: place(request.destination),
            readers: grant.map_or(0, |grant| grant.pairs.len()),
            hops: hops.collect(),
            measured: asked.measured.map(|measured| MeasuredReport {
                samples: measured.samples,
                late: measured.late,
                lost: measured.lost,
                worst: measured.worst,
                median: measured.median,
                clock_error: Some(measured.clock_error).filter(|error| *error < u64::MAX),
            }),
        }
    }

    pub(crate) fn hop_report(&self, hop: &GrantedHop) -> HopReport {
        HopReport {
            port: self.network.port_name(hop.link),
            level: hop.level,
            dscp: dscp(hop.level),
            share: hop.share.div_ceil(NANOSECOND),
        }
    }

    /// What is the worst at an end with the flows that there are now, in picoseconds.
    fn present(&self, grant: &Granted, end: &End) -> Option<u64> {
        let number = grant.covered_by.unwrap_or(grant.number);
        let flow = &self.ledger.flow(number)?.flow;
        let link = grant.hops.get(end.hop)?.link;
        let leads_there = |hop: usize| flow.tree.get(hop).is_some_and(|hop| hop.port == link);
        let at = flow.subscribers.iter().position(|subscriber| leads_there(subscriber.hop))?;
        Some(self.ledger.bounds(number)?.get(at)?.latency)
    }

    fn switch_status(&self, switch: usize) -> SwitchStatus {
        let node = self.network.switch_node(switch);
        let down = |link: &usize| self.down.contains(link);
        let links = self.network.leaving(node).filter(|(index, _)| down(index));
        let state = self.switches.get(switch);
        let flows = state.map_or(0, |state| state.table.count(entries::is_of_flow));
        SwitchStatus {
            name: self.network.node_name(node).to_string(),
            datapath: self.datapath(switch),
            state: match self.phase(Site::Switch(switch)) {
                Phase::Away(_) => "away",
                Phase::Preparing => "preparing",
                Phase::Ready => "ready",
            },
            gates: self.has_gates(switch).then(|| self.phase(Site::Gates(switch)) == Phase::Ready),
            ports_down: links.map(|(_, link)| link.number).collect(),
            flows,
            entries: state.map_or(0, |state| state.table.count(|_| true)) - flows,
            contracts: state.map_or(0, |state| state.gates.len()),
            meters: state.map_or(0, |state| state.table.meters()),
            groups: state.map_or(0, |state| state.groups.len()),
            addresses: state.map_or(0, |state| state.addresses.len()),
        }
    }

    /// The reserved class, or why there is none.
    pub fn reserved_status(&self) -> ReservedStatus {
        let domains = self.config.domains.clone();
        match &self.reserved {
            Ok(reserved) => {
                let bits = u128::from(reserved.contract.octets) * 8_000_000_000;
                let rate = bits / u128::from(reserved.contract.separation.max(1));
                ReservedStatus {
                    reason: String::new(),
                    hosts: reserved.share.hosts,
                    domains,
                    octets: reserved.contract.octets,
                    rate: u64::try_from(rate).unwrap_or(u64::MAX),
                }
            }
            Err(reason) => ReservedStatus { reason: reason.clone(), hosts: 0, domains, octets: 0, rate: 0 },
        }
    }

    fn hosts(&self) -> Vec<HostStatus> {
        let hosts = self.network.hosts.iter().enumerate();
        hosts
            .map(|(index, host)| {
                let located = self.located.iter().filter(|(_, at)| **at == index);
                let link = self.network.leaving(index).next();
                HostStatus {
                    name: host.name.clone(),
                    addresses: located.map(|(address, _)| dotted(*address)).collect(),
                    switch: link
                        .map_or_else(String::new, |(_, link)| self.network.node_name(link.to).to_string()),
                }
            })
            .collect()
    }
}

pub(crate) fn digits(guid: Guid) -> String {
    guid.to_bytes().iter().map(|octet| format!("{octet:02x}")).collect()
}

fn place(socket: Socket) -> String {
    format!("{}:{}", dotted(socket.address), socket.port)
}
