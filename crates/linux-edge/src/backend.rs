//! The back-end of a domain as a state machine: commands of the manager come in, its answer and the programs of routers come out.
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use wan::{
    Addresses, AggregateId, BackendAnswer, BackendCommand, Class, Demand, FlowRequest, Holding, LegId, Place,
};

use crate::budget::Budget;
use crate::copy::Copy;
use crate::domain::{Domain, Family, segment};
use crate::entry::{Entry, FROM_TUNNEL, Segments, Tuple, family};
use crate::ledger::{Ledger, Load, Short};
use crate::observed::Observed;
use crate::policing::Contract;
use crate::program::Program;
use crate::record::{AggregateRecord, FlowRecord, Labels, mark};
use crate::routes::PortId;
use crate::setup::is_forgotten;

/// The highest number of an aggregate or a flow, which are classes of HTB and priorities of filters too.
pub const MOST_SLOTS: u16 = 0xfff0;
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

/// What is decided about a command, whatever devices are told then.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decided {
    /// The answer.
    pub answer: Option<BackendAnswer>,
    /// Why there is no answer to a command that has one.
    pub trouble: Option<String>,
}

impl From<BackendAnswer> for Decided {
    fn from(answer: BackendAnswer) -> Self {
        Self { answer: Some(answer), trouble: None }
    }
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
            match edge.ledger.reserve(&edge.domain, *id, demand, Load::default()) {
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
            // Both copies of a flow have one number.
            let beside = edge.flows.get(&record.leg.other_copy());
            let is_of_both = beside.is_some_and(|beside| beside.record.slot == record.slot);
            let is_held = edge.aggregates.contains_key(&record.aggregate);
            if is_held && (is_of_both || edge.used_by_flows.insert(record.slot)) {
                edge.flows.insert(record.leg, Flow { record: record.clone(), tuples: tuples.clone() });
            } else {
                told.push(format!("flow {:?} has no aggregate", record.leg));
            }
        }
        for id in edge.aggregates.keys().copied().collect::<Vec<_>>() {
            if edge.hold(id).is_err() {
                told.push(format!("the flows of aggregate {id:?} do not fit into the domain any more"));
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
        let touched = self.touched(&command);
        let entries = |edge: &Self| -> Vec<Entry> {
            touched.iter().flat_map(|holding| edge.entries(holding)).collect()
        };
        let before = entries(self);
        let (commits, releases) = (
            matches!(command, BackendCommand::Commit { .. }),
            matches!(command, BackendCommand::Release { .. }),
        );
        let Decided { answer, trouble } = self.decide(command);
        let after = entries(self);
        let mut programs = changes(&before, &after);
        // The record that it is forwarded comes after the rules that do it: a manager that is killed in between leaves none without rules.
        if commits && !programs.is_empty() {
            programs.rotate_left(1);
        }
        // What is taken away only in part is taken away once more.
        let undo = if releases { Vec::new() } else { changes(&after, &before) };
        Handled { programs, undo, answer, trouble }
    }

    /// What a command may change at devices, in the order in which they are told.
    pub fn touched(&self, command: &BackendCommand) -> Vec<Holding> {
        match command {
            BackendCommand::Offer { .. } | BackendCommand::Observe { .. } => Vec::new(),
            BackendCommand::Reserve { aggregate, .. } => vec![Holding::Aggregate(*aggregate)],
            BackendCommand::Commit { aggregate: id, .. } => {
                // Flows that were let in before there was a tunnel for them.
                let is_first = self.aggregates.get(id).is_some_and(|aggregate| aggregate.labels.is_none());
                let waiting = self.flows.iter().filter(|(_, flow)| is_first && flow.record.aggregate == *id);
                let flows = waiting.flat_map(|(leg, _)| self.copies(*leg));
                std::iter::once(Holding::Aggregate(*id)).chain(flows).collect()
            }
            BackendCommand::Open { leg, .. } => self.copies(*leg),
            BackendCommand::Release { holding: Holding::Aggregate(id), .. } => {
                // Flows that are let in for it still are let in no more: its number may be that of another one soon.
                let flows = self.flows.iter().filter(|(_, flow)| flow.record.aggregate == *id);
                let flows = flows.flat_map(|(leg, _)| self.copies(*leg));
                std::iter::once(Holding::Aggregate(*id)).chain(flows).collect()
            }
            BackendCommand::Release { holding: Holding::Flow(leg), .. } => self.copies(*leg),
        }
    }

    /// A flow, and its other copy if that is let in: what is done for one is different with the other.
    fn copies(&self, leg: LegId) -> Vec<Holding> {
        let other = Some(leg.other_copy()).filter(|other| self.flows.contains_key(other));
        std::iter::once(leg).chain(other).map(Holding::Flow).collect()
    }

    /// The routes of aggregates that the kernel forgets when an interface of a router goes down: those into tunnels, and those that end tunnels.
    pub fn routes_again(&self, router: usize, interface: &str) -> Vec<Program> {
        let flows = self.flows.keys().flat_map(|leg| self.of_flow(*leg));
        let entries = self.aggregates.keys().flat_map(|id| self.of_aggregate(*id)).chain(flows);
        let programs = entries.flat_map(|entry| entry.add());
        programs.filter(|program| is_forgotten(program, router, interface)).collect()
    }

    /// What an aggregate is held with.
    pub fn aggregate(&self, id: AggregateId) -> Option<AggregateRecord> {
        let (aggregate, held) = self.aggregates.get(&id).zip(self.ledger.held(id))?;
        Some(AggregateRecord { id, slot: aggregate.slot, demand: held.demand, labels: aggregate.labels })
    }

    /// What a flow is let in with: its packets, by the router at which they come in.
    pub fn flow(&self, leg: LegId) -> Option<(&FlowRecord, BTreeMap<usize, Vec<Tuple>>)> {
        let Flow { record, tuples } = self.flows.get(&leg)?;
        Some((record, self.by_router(tuples)))
    }

    fn by_router(&self, tuples: &[Tuple]) -> BTreeMap<usize, Vec<Tuple>> {
        let mut routers: BTreeMap<usize, Vec<Tuple>> = BTreeMap::new();
        for tuple in tuples {
            if let Some(edge) = self.edge_of(tuple.source).and_then(|edge| self.domain.edges.get(edge)) {
                routers.entry(edge.router).or_default().push(*tuple);
            }
        }
        routers
    }

    /// What policers let through of the flows of an aggregate.
    fn flows_on_wire(&self, id: AggregateId) -> Load {
        let flows = self.flows.values().filter(|flow| flow.record.aggregate == id);
        let contracts = flows.flat_map(|Flow { record, tuples }| {
            let parts = self.by_router(tuples).len().max(1);
            std::iter::repeat_n(record.contract(parts), parts)
        });
        self.domain.policing.flows_on_wire(contracts, self.domain.processing)
    }

    /// Holds what an aggregate holds, with the flows that are there now.
    fn hold(&mut self, id: AggregateId) -> Result<(), Short> {
        let Some(demand) = self.ledger.held(id).map(|held| held.demand) else { return Ok(()) };
        let flows = self.flows_on_wire(id);
        self.ledger.reserve(&self.domain, id, &demand, flows).map(drop)
    }

    /// Decides about a command: what is held afterwards says what devices have to be told.
    pub fn decide(&mut self, command: BackendCommand) -> Decided {
        match command {
            BackendCommand::Offer { ticket, demand } => self.offer(ticket, &demand).into(),
            BackendCommand::Reserve { ticket, aggregate, demand } => {
                self.reserve(ticket, aggregate, &demand).into()
            }
            BackendCommand::Commit { aggregate, label_in, label_out } => {
                if let Some(aggregate) = self.aggregates.get_mut(&aggregate) {
                    aggregate.labels = Some((label_in, label_out));
                }
                Decided::default()
            }
            BackendCommand::Open { ticket, leg, aggregate, flow, addresses } => {
                match self.open(leg, aggregate, &flow, &addresses) {
                    Ok(()) => BackendAnswer::Done { ticket }.into(),
                    // Short enough to be told whole to who asked.
                    Err(trouble) => Decided { answer: None, trouble: Some(trouble) },
                }
            }
            BackendCommand::Release { ticket, holding } => self.release(ticket, holding).into(),
            BackendCommand::Observe { ticket } => {
                let holdings = self.holdings().into_iter().collect();
                BackendAnswer::Observed { ticket, holdings }.into()
            }
        }
    }

    fn offer(&self, ticket: u64, demand: &Demand) -> BackendAnswer {
        let ways = self.ledger.ways(&self.domain, demand.from, demand.to, demand.class);
        match ways {
            Some(ways) => {
                // A demand without a size is about the largest packets.
                let sized = Demand { burst: 1_500, least_packet: 1_500, largest_packet: 1_500, ..*demand };
                let demand = if demand.largest_packet > 1 { demand } else { &sized };
                let rate = self.ledger.free(&self.domain, &ways, demand, None);
                BackendAnswer::Offered {
                    ticket,
                    rate,
                    delay: ways.budget.delay,
                    jitter: ways.budget.jitter,
                    loss: ways.budget.loss,
                }
            }
            None => BackendAnswer::Offered { ticket, rate: 0, delay: u64::MAX, jitter: u64::MAX, loss: 0 },
        }
    }

    fn reserve(&mut self, ticket: u64, id: AggregateId, demand: &Demand) -> BackendAnswer {
        let refused = |Short { missing, offer }: Short| BackendAnswer::Refused { ticket, missing, offer };
        if !self.aggregates.contains_key(&id) && self.used.len() >= usize::from(MOST_SLOTS) {
            return refused(Short { missing: demand.rate, offer: 0 });
        }
        let flows = self.flows_on_wire(id);
        match self.ledger.reserve(&self.domain, id, demand, flows) {
            Err(short) => refused(short),
            Ok(budget) => {
                if !self.aggregates.contains_key(&id)
                    && let Some(slot) = take(&mut self.used)
                {
                    self.aggregates.insert(id, Aggregate { slot, labels: None });
                }
                let Budget { delay, jitter, loss } = budget;
                BackendAnswer::Reserved { ticket, delay, jitter, loss }
            }
        }
    }

    fn open(
        &mut self,
        leg: LegId,
        aggregate: AggregateId,
        flow: &FlowRequest,
        addresses: &Addresses,
    ) -> Result<(), String> {
        if !self.aggregates.contains_key(&aggregate) {
            return Err(format!("aggregate {} is not reserved", aggregate.tunnel.number));
        }
        let tuples = self.tuples(flow, addresses)?;
        let beside = self.flows.get(&leg.other_copy()).filter(|_| flow.copies == 2).cloned();
        let is_same = |other: &LegId| *other == leg || (beside.is_some() && *other == leg.other_copy());
        let of_others = self.flows.iter().filter(|(other, _)| !is_same(other));
        let is_taken = |tuple: &Tuple| tuples.iter().any(|own| own.meets(tuple));
        if of_others.flat_map(|(_, flow)| &flow.tuples).any(is_taken) {
            return Err("another flow has the same addresses and ports".to_owned());
        }
        if beside.as_ref().is_some_and(|beside| beside.tuples != tuples) {
            return Err("the copies of a flow have other addresses or ports".to_owned());
        }
        // One policer holds both to what each aggregate counts.
        if beside.as_ref().is_some_and(|beside| !beside.record.sends(&flow.desired)) {
            return Err("the copies of a flow have other traffic".to_owned());
        }
        let before = self.flows.get(&leg).cloned();
        let slot = match before.as_ref().or(beside.as_ref()) {
            Some(flow) => flow.record.slot,
            None => match take(&mut self.used_by_flows) {
                Some(slot) => slot,
                None => return Err(format!("{MOST_SLOTS} flows are there already")),
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
        if self.hold(aggregate).is_err() {
            match before {
                Some(flow) => drop(self.flows.insert(leg, flow)),
                None => {
                    self.flows.remove(&leg);
                    if beside.is_none() {
                        self.used_by_flows.remove(&slot);
                    }
                }
            }
            return Err("there is no room for what meters round up of its rate and burst".to_owned());
        }
        Ok(())
    }

    fn release(&mut self, ticket: u64, holding: Holding) -> BackendAnswer {
        match holding {
            Holding::Aggregate(id) => {
                self.ledger.release(id);
                if let Some(aggregate) = self.aggregates.remove(&id) {
                    self.used.remove(&aggregate.slot);
                }
            }
            Holding::Flow(leg) => {
                if let Some(flow) = self.flows.remove(&leg) {
                    if !self.flows.contains_key(&leg.other_copy()) {
                        self.used_by_flows.remove(&flow.record.slot);
                    }
                    // Less than before always fits.
                    let _ = self.hold(flow.record.aggregate);
                }
            }
        }
        BackendAnswer::Done { ticket }
    }

    /// All that it holds. A flow whose aggregate is released is let in by nothing.
    pub fn holdings(&self) -> BTreeSet<Holding> {
        let aggregates = self.aggregates.keys().map(|id| Holding::Aggregate(*id));
        let flows =
            self.flows.iter().filter(|(_, flow)| self.aggregates.contains_key(&flow.record.aggregate));
        aggregates.chain(flows.map(|(leg, _)| Holding::Flow(*leg))).collect()
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

    /// What routers have for what it holds.
    pub(crate) fn entries(&self, holding: &Holding) -> Vec<Entry> {
        match holding {
            Holding::Aggregate(id) => self.of_aggregate(*id),
            Holding::Flow(leg) => self.of_flow(*leg),
        }
    }

    fn edge_of(&self, address: IpAddr) -> Option<usize> {
        self.domain.edges.iter().position(|edge| edge.has(address))
    }

    /// The entries of a flow: one at each edge where it has sources, which share what it may send. None before its aggregate is forwarded. What is
    /// there for a second copy is part of the entries of the first one, as long as both are forwarded.
    fn of_flow(&self, leg: LegId) -> Vec<Entry> {
        let Some(Flow { record, tuples }) = self.flows.get(&leg) else { return Vec::new() };
        let Some(own) = self.forwarded(record.aggregate) else { return Vec::new() };
        let beside = self.flows.get(&leg.other_copy()).map(|beside| &beside.record);
        let beside = beside.filter(|beside| self.forwarded(beside.aggregate).is_some());
        if beside.is_some() && leg.is_second_copy() {
            return Vec::new();
        }
        let mut edges: BTreeMap<usize, Vec<Tuple>> = BTreeMap::new();
        for tuple in tuples {
            if let Some(edge) = self.edge_of(tuple.source) {
                edges.entry(edge).or_default().push(*tuple);
            }
        }
        let contract = record.contract(edges.len());
        let mark = mark(own, record.aggregate.class);
        let held = self.ledger.held(record.aggregate);
        let demoted = held.and_then(|held| self.demoted(&held.demand));
        let entry = |(edge, tuples): (usize, Vec<Tuple>)| {
            let edge = self.domain.edges.get(edge)?;
            let copy = beside.and_then(|beside| self.copy_of(beside, edge.router, mark, &tuples));
            Some(Entry::Flow {
                router: edge.router,
                interface: edge.interface.clone(),
                slot: record.slot,
                text: record.text(),
                mark,
                contract,
                tuples,
                copy,
                demoted,
            })
        };
        edges.into_iter().filter_map(entry).collect()
    }

    /// The number of an aggregate that is forwarded.
    fn forwarded(&self, id: AggregateId) -> Option<u16> {
        self.aggregates
            .get(&id)
            .filter(|aggregate| aggregate.labels.is_some())
            .map(|aggregate| aggregate.slot)
    }

    /// The second copy of a flow at a router where that is let in, in the tunnel of its own aggregate.
    fn copy_of(&self, record: &FlowRecord, router: usize, first: u32, tuples: &[Tuple]) -> Option<Copy> {
        let tunnel = self.forwarded(record.aggregate)?;
        let (slot, text, tuples) = (record.slot, record.text(), tuples.to_vec());
        Some(Copy { router, slot, text, first, mark: mark(tunnel, record.aggregate.class), tunnel, tuples })
    }

    /// The class of a demand, if what is beyond it is marked down.
    fn demoted(&self, demand: &Demand) -> Option<Class> {
        Some(demand.class).filter(|_| self.domain.demoted.is(demand))
    }

    /// The entries of an aggregate.
    fn of_aggregate(&self, id: AggregateId) -> Vec<Entry> {
        let Some(record) = self.aggregate(id) else { return Vec::new() };
        let AggregateRecord { slot, demand, labels, .. } = record;
        let mut entries = vec![Entry::Held { slot, text: record.text() }];
        if let Some(labels) = labels {
            entries.extend(self.forwarding(slot, id.class, &demand, labels));
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
                let contract = Contract::of(demand);
                let ends = if next.is_none() { FROM_TUNNEL } else { 0 };
                vec![Entry::Label {
                    router: border.end.router,
                    interface: border.end.interface.clone(),
                    slot,
                    mark: mark(slot, class) | ends,
                    contract,
                    segments: segments(border.locator, label),
                    next: next.map(|(_, next)| next),
                    demoted: self.demoted(demand),
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

/// What makes the entries that are to be there of those that are. What is new comes first, so that what is let in meets all that it needs.
pub(crate) fn changes(before: &[Entry], after: &[Entry]) -> Vec<Program> {
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
