//! Fills in what plans leave open: lanes of components on chains and connections with limits, cores, priorities, and depths of queues.
//!
//! Priorities come from Audsley's algorithm: from the lowest level up, the lane is chosen whose chains keep their limits below all that are
//! not chosen yet. Where a verdict depends only on which lanes are higher, and not on their order, it finds an order if there is one.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use assembly::{End, Plan, PortKind, SchedulingClass};

use crate::Deployed;
use crate::admission::{Admission, State, admit};
use crate::change::{Change, Distance, Effect, Effort, depths, distance, improve, with};
use crate::links::Links;
use crate::parts::Parts;

/// What became of plans.
#[derive(Clone, Debug)]
pub struct Assigned {
    /// The plans with the changes.
    pub plans: Vec<Plan>,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// The verdicts after the changes.
    pub admission: Admission,
    /// What is known of the order of priorities: by host, where one was looked for.
    pub orders: Vec<(String, Order)>,
}

/// What is known of the order of priorities on a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// An order that keeps all limits. One is found if there is one.
    Found,
    /// With these lanes and cores no order keeps all limits.
    None,
    /// The order is the best that was found; another one may do more, for this reason.
    Search(String),
}

/// A lane of the class fifo: its plan, container and name.
type Name = (usize, String, String);

/// Fills in what plans leave open, and looks for an order of priorities that keeps the limits of all chains. What all is admitted with stays as
/// it is.
pub fn assign(plans: &[Deployed<'_>], effort: Effort) -> Assigned {
    let mut work = Assigning {
        of: plans,
        plans: plans.iter().map(|deployed| deployed.plan.clone()).collect(),
        changes: Vec::new(),
        admission: admit(plans, effort.each),
        orders: Vec::new(),
        effort,
    };
    if !work.admission.is_whole() {
        work.lanes();
        work.cores();
        work.deepen();
        for host in work.hosts() {
            if work.admission.is_whole() {
                break;
            }
            work.order(&host);
        }
        work.deepen();
        let now = with(&work.plans, plans);
        let improved = improve(&now, work.effort);
        work.changes.extend(improved.changes);
        (work.plans, work.admission) = (improved.plans, improved.admission);
    }
    let Assigning { plans, changes, admission, orders, .. } = work;
    Assigned { plans, changes: last_of_each(changes), admission, orders }
}

struct Assigning<'p> {
    of: &'p [Deployed<'p>],
    plans: Vec<Plan>,
    changes: Vec<Change>,
    admission: Admission,
    orders: Vec<(String, Order)>,
    effort: Effort,
}

impl Assigning<'_> {
    fn admit(&mut self, plans: &[Plan]) -> Admission {
        let admission = admit(&with(plans, self.of), self.effort.each);
        self.effort.spend(admission.work);
        admission
    }

    fn change(&mut self, change: Change) {
        if let Some(plan) = self.plans.get_mut(change.plan) {
            change.apply(plan);
            self.changes.push(change);
        }
    }

    /// Components on chains and connections with limits whose handlers run without a lane get one, for the one with the shortest limit.
    fn lanes(&mut self) {
        let mut wanted = Vec::new();
        for (index, plan) in self.plans.iter().enumerate() {
            let Some(types) = self.of.get(index).map(|of| of.types) else { continue };
            let layout = plan.layout();
            let mut given: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
            let chains = plan.chains.iter().flat_map(|(name, chain)| {
                let limit = chain.reaction.into_iter().chain(chain.age).min().unwrap_or(u64::MAX);
                chain.path.iter().map(move |end| (end, limit, name))
            });
            let connections = plan.connections.iter().flat_map(|(name, connection)| {
                let ends = core::iter::once(&connection.from).chain(&connection.to);
                ends.filter_map(move |end| Some((end, connection.latency?, name)))
            });
            for (end, limit, name) in chains.chain(connections) {
                let Some(component) = end.component() else { continue };
                let known = given.entry(component).or_insert((limit, name));
                *known = (*known).min((limit, name));
            }
            for (component, (_, name)) in given {
                let Some(said) = plan.components.get(component) else { continue };
                let of_type = types.components.get(&said.component_type);
                let handlers = of_type.into_iter().flat_map(|of_type| &of_type.ports);
                let mut handlers =
                    handlers.filter(|(_, port)| matches!(port.kind, PortKind::Consumer | PortKind::Timer));
                let is_open =
                    handlers.any(|(port, _)| layout.lane_of(&End::port(component, port.as_str())).is_none());
                let Some(host) = layout.place_of(component).and_then(|place| place.host).filter(|_| is_open)
                else {
                    continue;
                };
                let lane = of_type.and_then(|of_type| of_type.lanes.first()).map_or(name, String::as_str);
                let container = said.container.clone().unwrap_or_else(|| format!("{}-lanes", said.process));
                wanted.push((index, component.to_string(), container, lane.to_string(), host.to_string()));
            }
        }
        for (plan, component, container, lane, host) in wanted {
            let priority = self.free_priority(&host);
            let core = self.least_used(&host);
            let effect = Effect::Lane { container, lane, priority, core };
            self.change(Change { plan, path: format!("component.{component}"), effect });
        }
    }

    /// A priority that no lane of a host has.
    fn free_priority(&self, host: &str) -> u8 {
        let lanes = self.lanes_of(host);
        let used: BTreeSet<u8> = lanes.iter().filter_map(|name| self.lane(name)?.priority).collect();
        (1..=99)
            .rev()
            .map(|level| level / 2 + 25)
            .chain(1..=99)
            .find(|level| !used.contains(level))
            .unwrap_or(1)
    }

    fn lane(&self, (plan, container, lane): &Name) -> Option<&assembly::Lane> {
        self.plans.get(*plan)?.containers.get(container)?.lanes.get(lane)
    }

    /// The lanes of the class fifo on a host.
    fn lanes_of(&self, host: &str) -> Vec<Name> {
        let mut names = Vec::new();
        for (index, plan) in self.plans.iter().enumerate() {
            let layout = plan.layout();
            for (container, said) in
                plan.containers.iter().filter(|(_, it)| layout.host_of(&it.process) == Some(host))
            {
                let fifo = said.lanes.iter().filter(|(_, lane)| lane.class == SchedulingClass::Fifo);
                names.extend(fifo.map(|(lane, _)| (index, container.clone(), lane.clone())));
            }
        }
        names
    }

    fn hosts(&self) -> Vec<String> {
        let hosts: BTreeSet<String> = self.plans.iter().flat_map(|plan| plan.hosts.keys().cloned()).collect();
        hosts.into_iter().collect()
    }

    /// The core of a host with the fewest lanes.
    fn least_used(&self, host: &str) -> u16 {
        let cores = self.plans.iter().filter_map(|plan| plan.hosts.get(host)?.cores).max().unwrap_or(1);
        let lanes = self.lanes_of(host);
        let on = |core: u16| {
            lanes.iter().filter(|name| self.lane(name).is_some_and(|lane| lane.cores == [core])).count()
        };
        (0..cores).min_by_key(|core| (on(*core), *core)).unwrap_or(0)
    }

    /// Lanes whose threads may run on none or several cores get one.
    fn cores(&mut self) {
        for host in self.hosts() {
            for name in self.lanes_of(&host) {
                let process = self
                    .plans
                    .get(name.0)
                    .and_then(|plan| plan.containers.get(&name.1))
                    .map(|it| it.process.clone());
                let of_process = process
                    .and_then(|process| Some(self.plans.get(name.0)?.processes.get(&process)?.cores.len()));
                let own = self.lane(&name).map_or(0, |lane| lane.cores.len());
                if own == 1 || (own == 0 && of_process == Some(1)) {
                    continue;
                }
                let becomes = self.least_used(&host);
                let (plan, container, lane) = name;
                let path = format!("container.{container}.lanes.{lane}");
                self.change(Change { plan, path, effect: Effect::Core { was: None, becomes } });
            }
        }
        let plans = self.plans.clone();
        self.admission = self.admit(&plans);
    }

    /// Queues become as deep as they may have to be.
    fn deepen(&mut self) {
        // A deeper queue loses less, so that others may have to be deeper, too.
        for _ in 0..4 {
            let changes = depths(&self.admission);
            if changes.is_empty() || self.effort.total == 0 {
                return;
            }
            changes.into_iter().for_each(|change| self.change(change));
            let plans = self.plans.clone();
            self.admission = self.admit(&plans);
        }
    }

    /// Audsley's algorithm for the lanes of a host.
    fn order(&mut self, host: &str) {
        let lanes = self.lanes_of(host);
        if lanes.len() < 2 || lanes.len() > 90 {
            return;
        }
        let deployed = with(&self.plans, self.of);
        let mut of_lanes = Passing::of(&deployed, host);
        // The longest limit first: it is the likeliest at the lowest level.
        let mut open = lanes.clone();
        open.sort_by_key(|name| (core::cmp::Reverse(of_lanes.limit(name)), name.clone()));
        let (mut plans, mut is_stuck, mut is_cut) = (self.plans.clone(), false, false);
        let lowest = 10;
        for level in lowest.. {
            if open.is_empty() {
                break;
            }
            let mut best: Option<(bool, Distance, usize)> = None;
            for place in 0..open.len() {
                if best.is_some() && self.effort.total == 0 {
                    is_cut = true;
                    break;
                }
                let mut trial = plans.clone();
                let (Some(tried), mut above) = (open.get(place), level) else { continue };
                give(&mut trial, tried, level);
                for (_, name) in open.iter().enumerate().filter(|(other, _)| *other != place) {
                    above += 1;
                    give(&mut trial, name, above);
                }
                let admission = self.admit(&trial);
                // What is cut off has no verdict.
                is_cut |= admission.work >= self.effort.each.steps;
                let lacks = of_lanes.lacks(tried, &admission);
                let found = (lacks, distance(&admission), place);
                if best.as_ref().is_none_or(|best| found < *best) {
                    best = Some(found);
                }
                if !lacks {
                    break;
                }
            }
            let Some((lacks, _, place)) = best else { break };
            is_stuck |= lacks;
            let chosen = open.remove(place);
            give(&mut plans, &chosen, level);
        }
        let admission = self.admit(&plans);
        let why = of_lanes.why.take();
        let order = match (why, is_cut) {
            (_, true) => Order::Search("its steps are used up".to_string()),
            (Some(why), _) => Order::Search(why),
            (None, _) if is_stuck => Order::None,
            (None, _) => Order::Found,
        };
        self.orders.push((host.to_string(), order));
        if distance(&admission) >= distance(&self.admission) {
            return;
        }
        for name in lanes {
            let priority = |plans: &[Plan]| {
                plans.get(name.0).and_then(|plan| plan.containers.get(&name.1)?.lanes.get(&name.2)?.priority)
            };
            let (Some(was), Some(becomes)) = (priority(&self.plans), priority(&plans)) else { continue };
            if was != becomes {
                let path = format!("container.{}.lanes.{}", name.1, name.2);
                self.change(Change { plan: name.0, path, effect: Effect::Priority { was, becomes } });
            }
        }
        self.admission = admission;
    }
}

fn give(plans: &mut [Plan], (plan, container, lane): &Name, priority: u8) {
    let lane = plans.get_mut(*plan).and_then(|plan| plan.containers.get_mut(container)?.lanes.get_mut(lane));
    if let Some(lane) = lane {
        lane.priority = Some(priority);
    }
}

/// Of several changes of one kind at one place the last one says all.
fn last_of_each(changes: Vec<Change>) -> Vec<Change> {
    let mut kept: Vec<Change> = Vec::new();
    for change in changes {
        let is_same = |other: &Change| {
            (other.plan, &other.path) == (change.plan, &change.path)
                && core::mem::discriminant(&other.effect) == core::mem::discriminant(&change.effect)
        };
        let before = kept.iter().position(is_same).map(|place| kept.remove(place));
        let effect = match (before.map(|before| before.effect), change.effect) {
            (Some(Effect::Priority { was, .. }), Effect::Priority { becomes, .. }) => {
                Effect::Priority { was, becomes }
            }
            (Some(Effect::Core { was, .. }), Effect::Core { becomes, .. }) => Effect::Core { was, becomes },
            (Some(Effect::Depth { was, .. }), Effect::Depth { becomes, .. }) => {
                Effect::Depth { was, becomes }
            }
            (_, effect) => effect,
        };
        kept.push(Change { effect, ..change });
    }
    kept
}

/// Something with a limit that passes lanes, with its plan.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Passes {
    Chain(usize, String),
    Connection(usize, String),
}

/// Which chains and connections pass the lanes of a host.
struct Passing {
    /// For each lane what passes it, and the shortest limit.
    limited: BTreeMap<Name, (BTreeSet<Passes>, u64)>,
    /// Why a verdict may depend on the order of higher lanes, if it may.
    why: Option<String>,
}

impl Passing {
    fn of(plans: &[Deployed<'_>], host: &str) -> Self {
        let mut parts = Parts::of(plans, &[]);
        let links = Links::of(&mut parts);
        let mut passing = Self { limited: BTreeMap::new(), why: None };
        let name = |lane: usize| -> Option<Name> {
            let threads = parts.lanes.get(lane)?;
            let (container, lane) = threads.name.split_once('.')?;
            threads.path.as_ref().map(|_| (threads.plan, container.to_string(), lane.to_string()))
        };
        for (plan, deployed) in plans.iter().enumerate() {
            for (chain, said) in &deployed.plan.chains {
                let limit = said.reaction.into_iter().chain(said.age).min().unwrap_or(u64::MAX);
                let handlers = said.path.iter().filter_map(|end| parts.handler(plan, end));
                let lanes: BTreeSet<usize> =
                    handlers.filter_map(|it| Some(parts.handlers.get(it)?.lane)).collect();
                if lanes.len() > 1 {
                    passing.why = Some(format!("\"{chain}\" passes several lanes"));
                }
                let lanes = lanes.into_iter().filter_map(name);
                lanes.for_each(|lane| passing.add(lane, Passes::Chain(plan, chain.clone()), limit));
            }
            for (connection, said) in &deployed.plan.connections {
                let Some(limit) = said.latency else { continue };
                let handlers = said.to.iter().filter_map(|end| parts.handler(plan, end));
                // A handler that is called runs in the lanes of those that call it.
                let callers = parts
                    .handlers
                    .iter()
                    .enumerate()
                    .filter(|(_, it)| it.plan == plan && said.from.component() == Some(it.component));
                let is_direct = handlers.clone().any(|it| links.direct.contains(&it));
                let callers = callers.map(|(index, _)| index).filter(|_| is_direct);
                let lanes: BTreeSet<usize> =
                    handlers.chain(callers).filter_map(|it| Some(parts.handlers.get(it)?.lane)).collect();
                let lanes = lanes.into_iter().filter_map(name);
                lanes.for_each(|lane| passing.add(lane, Passes::Connection(plan, connection.clone()), limit));
            }
        }
        if let Some(lane) =
            parts.lanes.iter().find(|lane| lane.host == host && lane.is_real_time() && lane.count > 1)
        {
            passing.why = Some(format!("lane {} has several threads", lane.name));
        }
        // What a handler pushes comes as its run ends, which depends on the lanes above its own.
        if let Some(way) = links.ways.iter().find(|way| !way.is_direct && parts.host_of(way.to) == host) {
            passing.why = Some(format!("\"{}\" leads from handler to handler by a queue", way.name));
        }
        let mut users: BTreeMap<(usize, &str), BTreeSet<usize>> = BTreeMap::new();
        for handler in &parts.handlers {
            users.entry((handler.plan, handler.component)).or_default().insert(handler.lane);
        }
        for way in links.ways.iter().filter(|way| way.is_direct) {
            let callers =
                parts.handlers.iter().filter(|it| it.plan == way.plan && it.component == way.from.0);
            let lanes: Vec<usize> = callers.map(|it| it.lane).collect();
            if let Some(called) = parts.handlers.get(way.to) {
                users.entry((called.plan, called.component)).or_default().extend(lanes);
            }
        }
        if let Some(((_, component), _)) = users.iter().find(|(_, lanes)| lanes.len() > 1) {
            passing.why = Some(format!("several lanes enter \"{component}\""));
        }
        passing
    }

    fn add(&mut self, lane: Name, passes: Passes, limit: u64) {
        let known = self.limited.entry(lane).or_insert_with(|| (BTreeSet::new(), u64::MAX));
        known.0.insert(passes);
        known.1 = known.1.min(limit);
    }

    fn limit(&self, name: &Name) -> u64 {
        self.limited.get(name).map_or(u64::MAX, |(_, limit)| *limit)
    }

    /// Whether a chain or connection of a lane is not admitted.
    fn lacks(&self, name: &Name, admission: &Admission) -> bool {
        let Some((limited, _)) = self.limited.get(name) else { return false };
        let chains = admission.chains.iter();
        let chains = chains.map(|it| (Passes::Chain(it.plan, it.name.clone()), &it.state));
        let connections = admission.limited();
        let connections = connections.map(|it| (Passes::Connection(it.plan, it.name.clone()), &it.state));
        let mut all = chains.chain(connections);
        all.any(|(passes, state)| limited.contains(&passes) && *state != State::Admitted)
    }
}
