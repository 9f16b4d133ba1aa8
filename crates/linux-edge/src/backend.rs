//! The back-end of a domain as a state machine: commands of the manager come in, its answer and the programs of routers come out.
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use wan::{
    Addresses, AggregateId, BackendAnswer, BackendCommand, Class, Demand, FlowRequest, Holding, LegId, Place,
};

use crate::domain::{Domain, Family, segment};
use crate::entry::{Contract, Entry, Segments, Tuple, family};
use crate::ledger::{Ledger, Short};
use crate::observed::Observed;
use crate::program::Program;
use crate::record::{AggregateRecord, FlowRecord, Labels, mark};
use crate::routes::PortId;

/// The highest number of an aggregate or a flow, which are classes of HTB and priorities of filters too.
const MOST_SLOTS: u16 = 0xfff0;
/// The protocols whose ports are the first four bytes: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];

/// What comes of a command.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Handled {
    /// What to do at routers before the answer is given.
    pub programs: Vec<Program>,
    /// What takes that back, as far as it was done.
    pub undo: Vec<Program>,
    /// The answer.
    pub answer: Option<BackendAnswer>,
    /// Why there is no answer to a command that has one: for the operator. The manager takes it for a refusal after a time.
    pub trouble: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Aggregate {
    slot: u16,
    labels: Option<Labels>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Flow {
    record: FlowRecord,
    tuples: Vec<Tuple>,
}

/// A domain of Linux routers, and what it carries.
#[derive(Clone, Debug)]
pub struct LinuxEdge {
    domain: Domain,
    ledger: Ledger,
    aggregates: BTreeMap<AggregateId, Aggregate>,
    flows: BTreeMap<LegId, Flow>,
    used: BTreeSet<u16>,
    used_by_flows: BTreeSet<u16>,
}

/// The least number that is free.
fn take(used: &mut BTreeSet<u16>) -> Option<u16> {
    let slot = (1..=MOST_SLOTS).find(|slot| !used.contains(slot))?;
    used.insert(slot);
    Some(slot)
}

impl LinuxEdge {
    /// Of a domain that carries nothing yet.
    ///
    /// # Errors
    /// What is wrong with the description.
    pub fn new(domain: Domain) -> Result<Self, String> {
        domain.check()?;
        let ledger = Ledger::new(&domain);
        let (aggregates, flows) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { domain, ledger, aggregates, flows, used: BTreeSet::new(), used_by_flows: BTreeSet::new() })
    }

    /// Of a domain whose routers have rules already. What can no longer be held, because the description is another one, and what
    /// this version cannot read is told; its rules stay until the domain is set up anew.
    ///
    /// # Errors
    /// What is wrong with the description.
    pub fn restored(domain: Domain, observed: &Observed) -> Result<(Self, Vec<String>), String> {
        let mut edge = Self::new(domain)?;
        let mut told = observed.unread.clone();
        for AggregateRecord { id, slot, demand, labels } in &observed.aggregates {
            match edge.ledger.reserve(&edge.domain, *id, demand) {
                Ok(_) if edge.used.insert(*slot) => {
                    edge.aggregates.insert(*id, Aggregate { slot: *slot, labels: *labels });
                }
                _ => {
                    edge.ledger.release(*id);
                    told.push(format!("aggregate {id:?} does not fit into the domain any more"));
                }
            }
        }
        for (record, tuples) in &observed.flows {
            if edge.aggregates.contains_key(&record.aggregate) && edge.used_by_flows.insert(record.slot) {
                edge.flows.insert(record.leg, Flow { record: record.clone(), tuples: tuples.clone() });
            } else {
                told.push(format!("flow {:?} has no aggregate", record.leg));
            }
        }
        Ok((edge, told))
    }

    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// What is held of its ports.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Carries out a command.
    pub fn handle(&mut self, command: BackendCommand) -> Handled {
        match command {
            BackendCommand::Offer { ticket, demand } => self.offer(ticket, &demand),
            BackendCommand::Reserve { ticket, aggregate, demand } => self.reserve(ticket, aggregate, &demand),
            BackendCommand::Commit { aggregate, label_in, label_out } => {
                self.commit(aggregate, (label_in, label_out))
            }
            BackendCommand::Open { ticket, leg, aggregate, flow, addresses } => {
                self.open(ticket, leg, aggregate, &flow, &addresses)
            }
            BackendCommand::Release { ticket, holding } => self.release(ticket, holding),
            BackendCommand::Observe { ticket } => {
                let holdings = self.holdings().into_iter().collect();
                let answer = Some(BackendAnswer::Observed { ticket, holdings });
                Handled { answer, ..Handled::default() }
            }
        }
    }

    fn offer(&self, ticket: u64, demand: &Demand) -> Handled {
        let ways = self.ledger.ways(&self.domain, demand.from, demand.to, demand.class);
        let answer = match ways {
            Some(ways) => {
                // A demand without a size is about the largest packets.
                let packet = if demand.largest_packet > 1 { demand.least_packet } else { 1_500 };
                let rate = self.ledger.free(&self.domain, &ways, demand.class, packet, None);
                BackendAnswer::Offered { ticket, rate, delay: ways.budget.delay, jitter: ways.budget.jitter }
            }
            None => BackendAnswer::Offered { ticket, rate: 0, delay: u64::MAX, jitter: u64::MAX },
        };
        Handled { answer: Some(answer), ..Handled::default() }
    }

    fn reserve(&mut self, ticket: u64, id: AggregateId, demand: &Demand) -> Handled {
        let refused = |Short { missing, offer }: Short| Handled {
            answer: Some(BackendAnswer::Refused { ticket, missing, offer }),
            ..Handled::default()
        };
        let before = self.of_aggregate(id);
        if !self.aggregates.contains_key(&id) && self.used.len() >= usize::from(MOST_SLOTS) {
            return refused(Short { missing: demand.rate, offer: 0 });
        }
        match self.ledger.reserve(&self.domain, id, demand) {
            Err(short) => refused(short),
            Ok(budget) => {
                if !self.aggregates.contains_key(&id)
                    && let Some(slot) = take(&mut self.used)
                {
                    self.aggregates.insert(id, Aggregate { slot, labels: None });
                }
                let answer = BackendAnswer::Reserved { ticket, delay: budget.delay, jitter: budget.jitter };
                Handled { answer: Some(answer), ..between(&before, &self.of_aggregate(id)) }
            }
        }
    }

    fn commit(&mut self, id: AggregateId, labels: Labels) -> Handled {
        // Flows that were let in before there was a tunnel for them.
        let waiting: Vec<LegId> = match self.aggregates.get(&id) {
            Some(Aggregate { labels: None, .. }) => {
                let of = self.flows.iter().filter(|(_, flow)| flow.record.aggregate == id);
                of.map(|(leg, _)| *leg).collect()
            }
            _ => Vec::new(),
        };
        let before = self.of_aggregate(id);
        if let Some(aggregate) = self.aggregates.get_mut(&id) {
            aggregate.labels = Some(labels);
        }
        let mut handled = between(&before, &self.of_aggregate(id));
        // The record that it is forwarded comes after the rules that do it: a manager that is killed in between leaves none without rules.
        if !handled.programs.is_empty() {
            handled.programs.rotate_left(1);
        }
        for leg in waiting {
            let Handled { programs, undo, .. } = between(&[], &self.of_flow(leg));
            handled.programs.extend(programs);
            handled.undo.splice(..0, undo);
        }
        handled
    }

    fn open(
        &mut self,
        ticket: u64,
        leg: LegId,
        aggregate: AggregateId,
        flow: &FlowRequest,
        addresses: &Addresses,
    ) -> Handled {
        // Short enough to be told whole to who asked.
        let trouble = |trouble: String| Handled { trouble: Some(trouble), ..Handled::default() };
        if !self.aggregates.contains_key(&aggregate) {
            return trouble(format!("aggregate {} is not reserved", aggregate.tunnel.number));
        }
        let tuples = match self.tuples(flow, addresses) {
            Ok(tuples) => tuples,
            Err(what) => return trouble(what),
        };
        let of_others = self.flows.iter().filter(|(other, _)| **other != leg);
        let is_taken = |tuple: &Tuple| tuples.iter().any(|own| own.meets(tuple));
        if of_others.flat_map(|(_, flow)| &flow.tuples).any(is_taken) {
            return trouble("another flow has the same addresses and ports".to_owned());
        }
        let before = self.of_flow(leg);
        let slot = match self.flows.get(&leg) {
            Some(flow) => flow.record.slot,
            None => match take(&mut self.used_by_flows) {
                Some(slot) => slot,
                None => {
                    return trouble(format!("{MOST_SLOTS} flows are there already"));
                }
            },
        };
        let traffic = flow.desired;
        let record = FlowRecord {
            leg,
            aggregate,
            slot,
            rate: traffic.rate,
            bucket: traffic.bucket,
            least: traffic.least_unit,
            largest: traffic.largest_packet,
        };
        self.flows.insert(leg, Flow { record, tuples });
        Handled { answer: Some(BackendAnswer::Done { ticket }), ..between(&before, &self.of_flow(leg)) }
    }

    fn release(&mut self, ticket: u64, holding: Holding) -> Handled {
        let programs = match holding {
            Holding::Aggregate(id) => {
                let before = self.of_aggregate(id);
                self.ledger.release(id);
                if let Some(aggregate) = self.aggregates.remove(&id) {
                    self.used.remove(&aggregate.slot);
                }
                changes(&before, &[])
            }
            Holding::Flow(leg) => {
                let before = self.of_flow(leg);
                if let Some(flow) = self.flows.remove(&leg) {
                    self.used_by_flows.remove(&flow.record.slot);
                }
                changes(&before, &[])
            }
        };
        // What is taken away only in part is taken away once more.
        Handled { programs, answer: Some(BackendAnswer::Done { ticket }), ..Handled::default() }
    }

    /// All that it holds.
    pub fn holdings(&self) -> BTreeSet<Holding> {
        let aggregates = self.aggregates.keys().map(|id| Holding::Aggregate(*id));
        aggregates.chain(self.flows.keys().map(|leg| Holding::Flow(*leg))).collect()
    }

    fn tuples(&self, flow: &FlowRequest, addresses: &Addresses) -> Result<Vec<Tuple>, String> {
        if !WITH_PORTS.contains(&flow.protocol) {
            return Err(format!("protocol {} has no ports", flow.protocol));
        }
        if flow.destination_port == 0 {
            return Err("it goes to port 0; only the port of the sender may be left open, by 0".to_owned());
        }
        let mut tuples = Vec::new();
        for source in &addresses.sources {
            self.edge_of(*source).ok_or_else(|| format!("{source} is at no edge of the domain"))?;
            for destination in &addresses.destinations {
                let tuple = Tuple {
                    source: *source,
                    destination: *destination,
                    protocol: flow.protocol,
                    source_port: flow.source_port,
                    destination_port: flow.destination_port,
                };
                if family(&tuple).is_some() {
                    tuples.push(tuple);
                }
            }
        }
        tuples.sort_unstable();
        tuples.dedup();
        if tuples.is_empty() {
            return Err("its addresses have no version of IP in common".to_owned());
        }
        Ok(tuples)
    }

    fn edge_of(&self, address: IpAddr) -> Option<usize> {
        self.domain.edges.iter().position(|edge| edge.has(address))
    }

    /// The entries of a flow: one at each edge where it has sources, which share what it may send. None before its aggregate is forwarded.
    fn of_flow(&self, leg: LegId) -> Vec<Entry> {
        let Some(Flow { record, tuples }) = self.flows.get(&leg) else { return Vec::new() };
        let aggregate = self.aggregates.get(&record.aggregate).filter(|aggregate| aggregate.labels.is_some());
        let Some(aggregate) = aggregate else { return Vec::new() };
        let mut edges: BTreeMap<usize, Vec<Tuple>> = BTreeMap::new();
        for tuple in tuples {
            if let Some(edge) = self.edge_of(tuple.source) {
                edges.entry(edge).or_default().push(*tuple);
            }
        }
        let parts = (edges.len() as u64).max(1);
        let contract = Contract {
            rate: record.rate / parts,
            bucket: record.bucket / parts,
            least: record.least,
            largest: record.largest,
        };
        let entry = |(edge, tuples): (usize, Vec<Tuple>)| {
            let edge = self.domain.edges.get(edge)?;
            Some(Entry::Flow {
                router: edge.router,
                interface: edge.interface.clone(),
                slot: record.slot,
                text: record.text(),
                mark: mark(aggregate.slot, record.aggregate.class),
                contract,
                tuples,
            })
        };
        edges.into_iter().filter_map(entry).collect()
    }

    /// The entries of an aggregate.
    fn of_aggregate(&self, id: AggregateId) -> Vec<Entry> {
        let Some((Aggregate { slot, labels }, held)) = self.aggregates.get(&id).zip(self.ledger.held(id))
        else {
            return Vec::new();
        };
        let demand = held.demand;
        let record = AggregateRecord { id, slot: *slot, demand, labels: *labels };
        let mut entries = vec![Entry::Held { slot: *slot, text: record.text() }];
        if let Some(labels) = labels {
            entries.extend(self.forwarding(*slot, id.class, &demand, *labels));
        }
        entries
    }

    fn forwarding(&self, slot: u16, class: Class, demand: &Demand, labels: Labels) -> Vec<Entry> {
        let segments = |locator, label| -> Segments {
            [Family::V4, Family::V6].map(|family| (family, segment(locator, label, class, family)))
        };
        let out = match demand.to {
            Place::Border(link) => self.domain.border(link),
            Place::Edges => None,
        };
        let next =
            out.zip(labels.1).map(|(border, label)| (border, segments(border.neighbour_locator, label)));
        match (demand.from, labels.0) {
            (Place::Border(link), Some(label)) => {
                let Some(border) = self.domain.border(link) else { return Vec::new() };
                let contract = Contract {
                    rate: demand.rate,
                    bucket: demand.burst,
                    least: demand.least_packet,
                    largest: demand.largest_packet,
                };
                vec![Entry::Label {
                    router: border.end.router,
                    interface: border.end.interface.clone(),
                    slot,
                    mark: mark(slot, class),
                    contract,
                    segments: segments(border.locator, label),
                    next: next.map(|(_, next)| next),
                }]
            }
            (Place::Edges, _) => {
                let Some((border, segments)) = next else { return Vec::new() };
                let routers: BTreeSet<usize> = self.domain.edges.iter().map(|edge| edge.router).collect();
                let entry = |router: usize| {
                    let interface = match self.ledger.routes().next(router, border.end.router) {
                        Some(PortId::Core(link, end)) => {
                            self.domain.links.get(link)?.ends.get(end)?.interface.clone()
                        }
                        _ => border.end.interface.clone(),
                    };
                    Some(Entry::Tunnel { router, slot, mark: mark(slot, class), interface, segments })
                };
                routers.into_iter().filter_map(entry).collect()
            }
            (Place::Border(_), None) => Vec::new(),
        }
    }
}

/// The way from some entries to others, and back.
fn between(before: &[Entry], after: &[Entry]) -> Handled {
    Handled { programs: changes(before, after), undo: changes(after, before), ..Handled::default() }
}

/// What makes the entries that are to be there of those that are. What is new comes first, so that what is let in meets all that it needs.
fn changes(before: &[Entry], after: &[Entry]) -> Vec<Program> {
    let mut programs = Vec::new();
    for entry in after {
        match before.iter().find(|other| other.key() == entry.key()) {
            Some(other) if other == entry => {}
            Some(other) => match other.change(entry) {
                Some(change) => programs.extend(change),
                None => {
                    programs.extend(other.remove());
                    programs.extend(entry.add());
                }
            },
            None => programs.extend(entry.add()),
        }
    }
    for entry in before.iter().rev().filter(|entry| !after.iter().any(|other| other.key() == entry.key())) {
        programs.extend(entry.remove());
    }
    programs
}
