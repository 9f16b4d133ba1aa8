//! The report: what can be seen of the manager.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Reverse;

use latency::units::NANOSECOND;
use wire::Guid;
use wire::admission::{Socket, State};

use crate::network::Link;
use crate::report::{
    HopReport, LinkReport, LossesReport, MeasuredReport, PairReport, Report, ReservedStatus,
};
use crate::requests::{Asked, dotted};
use crate::reservations::{GrantedHop, Load, dscp};
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// What there is now.
    pub fn report(&self) -> Report {
        self.report_of(usize::MAX)
    }

    /// What there is now, with so many pairs at most: the admitted ones first, then the more important ones.
    ///
    /// Takes no more steps than a request; where more pairs than that come, the worst case of the others is what their shares say.
    pub fn report_of(&self, most: usize) -> Report {
        self.reservations.apart(|| self.view(most)).0
    }

    fn view(&self, most: usize) -> Report {
        let is_admitted = |asked: &&Asked| asked.is_admitted();
        let mut asked: Vec<&Asked> = self.requests.all().map(|(_, asked)| asked).collect();
        if asked.len() > most {
            let rank =
                |asked: &&Asked| (!is_admitted(asked), Reverse(asked.request.contract.importance), asked.age);
            asked.sort_by_key(rank);
            asked.truncate(most);
        }
        Report {
            epoch: self.requests.epoch(),
            requests: self.requests.len(),
            admitted: self.requests.all().filter(|(_, asked)| asked.is_admitted()).count(),
            pairs: asked.into_iter().map(|asked| self.pair_report(asked)).collect(),
            switches: (0..self.fabric.network().switches.len())
                .map(|switch| {
                    self.fabric.switch_status(switch, self.reservations.numbers().groups_at(switch))
                })
                .collect(),
            refused_switches: self.fabric.refused_switches(),
            hosts: self.fabric.hosts(),
            reserved: self.reserved_status(),
            access: self.access(),
            operations: self.operations.len(),
            cabling: self.cabling_alarms(),
            plugged: self.cabling.plugged(self.fabric.network()),
            managers: self.managers.clone(),
        }
    }

    /// All directions of all links of the network, with what is promised on them. Links 2k and 2k + 1 are those of one cable.
    pub fn link_reports(&self) -> Vec<LinkReport> {
        let network = self.fabric.network();
        let report = |(index, link): (usize, &Link)| {
            let Load { rate, load, flows } = self.reservations.load(index);
            let name = |node: usize| network.node_name(node).to_string();
            LinkReport {
                from: name(link.from),
                to: name(link.to),
                rate,
                load,
                flows,
                up: self.fabric.is_up(index),
                full: network.full.contains(&index),
                cable: self.cabling.cable(network, index),
            }
        };
        network.links.iter().enumerate().map(report).collect()
    }

    /// The name of a switch, or its number if the network has none of that.
    pub fn switch_name(&self, datapath: u64) -> String {
        self.fabric.switch_name(datapath)
    }

    /// Computes anew whether every promise can be kept with all that is promised.
    ///
    /// # Errors
    /// The port at which one cannot, in words. That would be a fault of this crate.
    pub fn audit(&self) -> Result<(), String> {
        self.reservations.audit(self.fabric.network())
    }

    /// The most steps of work ([`latency::work`]) that any decision has taken so far, for a request or what follows from it.
    pub fn most_steps(&self) -> u64 {
        self.reservations.most_steps()
    }

    fn pair_report(&self, asked: &Asked) -> PairReport {
        let (request, verdict) = (&asked.request, &asked.verdict);
        let (writer, reader) = request.pair();
        let grant = asked.grant.and_then(|number| self.reservations.get(number));
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
            losses: LossesReport::of(verdict.losses),
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
            port: self.fabric.network().port_name(hop.link),
            level: hop.level,
            dscp: dscp(hop.level),
            share: hop.share.div_ceil(NANOSECOND),
        }
    }

    /// The reserved class, or why there is none.
    pub fn reserved_status(&self) -> ReservedStatus {
        self.fabric.reserved_status(&self.config.domains)
    }
}

pub(crate) fn digits(guid: Guid) -> String {
    guid.to_bytes().iter().map(|octet| format!("{octet:02x}")).collect()
}

fn place(socket: Socket) -> String {
    match socket.port {
        0 => format!("{}:*", dotted(socket.address)),
        port => format!("{}:{port}", dotted(socket.address)),
    }
}
