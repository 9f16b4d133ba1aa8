//! One domain of a world: its store, its back-end and its operator's data, which all outlive its manager.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wan::{
    AggregateId, BackendAnswer, BackendCommand, BgpPath, Class, Config, Demand, FlowRequest, Holding, Key,
    LegId, Place, Record, ResourceManager, SessionId,
};

use crate::world::Account;

/// The inside of a domain: one pool of capacity for each class, with a delay that does not depend on how much is used.
#[derive(Default)]
pub(crate) struct Backend {
    pub(crate) capacity: BTreeMap<Class, u64>,
    pub(crate) budget: BTreeMap<Class, (u64, u64)>,
    /// Packets of a million that it loses.
    pub(crate) loss: BTreeMap<Class, u32>,
    pub(crate) held: BTreeMap<AggregateId, Demand>,
    pub(crate) committed: BTreeMap<AggregateId, (Option<u32>, Option<u32>)>,
    /// What edges let in, with the path at the time.
    pub(crate) open: BTreeMap<LegId, (AggregateId, FlowRequest, Vec<u32>)>,
}

impl Backend {
    fn others(&self, class: Class, except: Option<AggregateId>) -> u64 {
        let of = self.held.iter().filter(|(id, _)| id.class == class && Some(**id) != except);
        of.map(|(_, demand)| demand.rate).sum()
    }

    /// Carries out a command. `path` is that of a flow that is let in.
    pub(crate) fn execute(&mut self, command: BackendCommand, path: Vec<u32>) -> Option<BackendAnswer> {
        match command {
            BackendCommand::Offer { ticket, demand } => {
                let (delay, jitter) = self.budget[&demand.class];
                let rate = self.capacity[&demand.class].saturating_sub(self.others(demand.class, None));
                Some(BackendAnswer::Offered { ticket, rate, delay, jitter, loss: self.loss[&demand.class] })
            }
            BackendCommand::Reserve { ticket, aggregate, demand } => {
                assert_eq!(aggregate.class, demand.class);
                let others = self.others(demand.class, Some(aggregate));
                let offer = self.capacity[&demand.class].saturating_sub(others);
                let is_less = self.held.get(&aggregate).is_some_and(|held| demand.rate <= held.rate);
                if demand.rate > offer && !is_less {
                    return Some(BackendAnswer::Refused { ticket, missing: demand.rate - offer, offer });
                }
                self.held.insert(aggregate, demand);
                let (delay, jitter) = self.budget[&demand.class];
                Some(BackendAnswer::Reserved { ticket, delay, jitter, loss: self.loss[&demand.class] })
            }
            BackendCommand::Commit { aggregate, label_in, label_out } => {
                if let Some(held) = self.held.get(&aggregate) {
                    assert!(label_out.is_some() || held.to == Place::Edges, "{aggregate:?} without a label");
                    self.committed.insert(aggregate, (label_in, label_out));
                }
                None
            }
            BackendCommand::Open { ticket, leg, aggregate, flow, .. } => {
                self.open.insert(leg, (aggregate, flow, path));
                Some(BackendAnswer::Done { ticket })
            }
            BackendCommand::Release { ticket, holding } => {
                match holding {
                    Holding::Aggregate(aggregate) => {
                        self.held.remove(&aggregate);
                        self.committed.remove(&aggregate);
                    }
                    Holding::Flow(leg) => drop(self.open.remove(&leg)),
                }
                Some(BackendAnswer::Done { ticket })
            }
            BackendCommand::Observe { ticket } => {
                let aggregates = self.held.keys().map(|id| Holding::Aggregate(*id));
                let holdings = aggregates.chain(self.open.keys().map(|id| Holding::Flow(*id))).collect();
                Some(BackendAnswer::Observed { ticket, holdings })
            }
        }
    }
}

/// One domain.
pub(crate) struct Domain {
    pub(crate) config: Config,
    pub(crate) paths: Vec<BgpPath>,
    /// None while it has crashed.
    pub(crate) manager: Option<ResourceManager>,
    pub(crate) epoch: u32,
    pub(crate) store: BTreeMap<Key, Record>,
    /// Not durable yet, in order.
    pub(crate) unstored: VecDeque<(u64, Key, Option<Record>)>,
    pub(crate) stored_until: u64,
    /// The store hangs when the record of a session comes.
    pub(crate) hangs_at_sessions: bool,
    pub(crate) backend: Backend,
    pub(crate) commands: VecDeque<BackendCommand>,
    pub(crate) executed_until: u64,
    pub(crate) down: BTreeSet<u32>,
    /// What it was told of links that it sends on: the least measured rate.
    pub(crate) measured: BTreeMap<(u32, Class), u64>,
    pub(crate) tick: u64,
    /// What its AAA server knows, and until when that is away.
    pub(crate) accounts: BTreeMap<SessionId, Account>,
    pub(crate) aaa_down_until: u64,
    /// When its manager started last.
    pub(crate) started: u64,
    /// Until then, what edges let in may be more than what this domain holds, because of a fault of its own.
    pub(crate) excused: u64,
}

impl Domain {
    pub(crate) fn new(config: Config, paths: Vec<BgpPath>, backend: Backend) -> Self {
        Self {
            config,
            paths,
            manager: None,
            epoch: 0,
            store: BTreeMap::new(),
            unstored: VecDeque::new(),
            stored_until: 0,
            hangs_at_sessions: false,
            backend,
            commands: VecDeque::new(),
            executed_until: 0,
            down: BTreeSet::new(),
            measured: BTreeMap::new(),
            tick: u64::MAX,
            accounts: BTreeMap::new(),
            aaa_down_until: 0,
            started: 0,
            excused: 0,
        }
    }

    /// Makes so many records durable.
    pub(crate) fn make_durable(&mut self) -> Option<u64> {
        let is_session = |key: &Key| matches!(key, Key::Own(_) | Key::Hosted(_));
        if self.hangs_at_sessions && self.unstored.front().is_some_and(|(_, key, _)| is_session(key)) {
            return None;
        }
        let (ticket, key, record) = self.unstored.pop_front()?;
        match record {
            Some(record) => drop(self.store.insert(key, record)),
            None => drop(self.store.remove(&key)),
        }
        Some(ticket)
    }
}
