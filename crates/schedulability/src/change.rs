//! Changes of plans that admit more: another priority, another core, a real-time class, a deeper queue.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use assembly::{Container, FullPolicy, Lane, Plan, Queue, SchedulingClass};
use response::Limits;

use crate::Deployed;
use crate::admission::{Admission, PortVerdict, State, admit};
use crate::nearby::Nearby;

/// A change of one place of a plan.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Change {
    /// Which of the plans, from 0.
    pub plan: usize,
    /// Where, as paths of [`assembly::Places`].
    pub path: String,
    /// What.
    pub effect: Effect,
}

/// The effect of a change.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// The priority of a lane of the class fifo.
    Priority {
        /// The present value.
        was: u8,
        /// The new value.
        becomes: u8,
    },
    /// The core of a lane.
    Core {
        /// The present core, if it has one.
        was: Option<u16>,
        /// The new value.
        becomes: u16,
    },
    /// The depth of a queue.
    Depth {
        /// The present value.
        was: u64,
        /// The new value.
        becomes: u32,
    },
    /// A lane of the class normal becomes one of the class fifo.
    Fifo {
        /// Its priority.
        priority: u8,
        /// Its core.
        core: u16,
    },
    /// A component without a lane gets one of the class fifo, which is made if it is not there.
    Lane {
        /// Its container.
        container: String,
        /// The lane.
        lane: String,
        /// The priority, if the lane is made.
        priority: u8,
        /// The core, if the lane is made.
        core: u16,
    },
}

/// How much searches may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// For each analysis.
    pub each: Limits,
    /// For all together, as [`Admission::work`] counts it.
    pub total: u64,
}

impl Effort {
    /// Whether this much more may be done; it is taken off.
    pub(crate) fn spend(&mut self, work: u64) {
        self.total = self.total.saturating_sub(work);
    }
}

impl Effect {
    /// What a change costs, by kind: memory, then an order, then a place, then another class.
    const fn cost(&self) -> u8 {
        match self {
            Self::Depth { .. } => 0,
            Self::Priority { .. } => 1,
            Self::Core { .. } => 2,
            Self::Fifo { .. } | Self::Lane { .. } => 3,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.effect {
            Effect::Priority { was, becomes } => write!(f, "{path}.priority = {becomes} instead of {was}"),
            Effect::Core { was: Some(was), becomes } => {
                write!(f, "{path}.cores = [{becomes}] instead of [{was}]")
            }
            Effect::Core { was: None, becomes } => write!(f, "{path}.cores = [{becomes}]"),
            Effect::Depth { was, becomes } => {
                write!(f, "{path}: a queue of depth {becomes} instead of {was}")
            }
            Effect::Fifo { priority, core } => {
                write!(f, "{path}: class = \"fifo\", priority = {priority}, cores = [{core}]")
            }
            Effect::Lane { container, lane, priority, core } => write!(
                f,
                "{path}: container = \"{container}\", lane = \"{lane}\" with class = \"fifo\", priority = {priority}, cores = [{core}]"
            ),
        }
    }
}

/// How far an admission is from all that is asked for: chains and connections without a bound, those that are refused, and what is missing
/// in all.
pub(crate) type Distance = (usize, usize, u64);

pub(crate) fn distance(admission: &Admission) -> Distance {
    let mut distance = (0, 0, 0_u64);
    for state in admission.states() {
        match state {
            State::Admitted => {}
            State::Refused { missing } => {
                distance.1 += 1;
                distance.2 = distance.2.saturating_add(*missing);
            }
            State::NoBound { .. } => distance.0 += 1,
        }
    }
    distance
}

/// Most changes that are looked at for one answer.
const MOST_CANDIDATES: usize = 10_000;
/// Cores that are tried for a lane.
const MOST_CORES: u16 = 16;

impl Change {
    fn give_lane(&self, plan: &mut Plan, name: &str) {
        let Effect::Lane { container, lane, priority, core } = &self.effect else { return };
        let Some(component) = plan.components.get_mut(name) else { return };
        let made = || Container { process: component.process.clone(), ..Container::default() };
        let lanes = &mut plan.containers.entry(container.clone()).or_insert_with(made).lanes;
        lanes.entry(lane.clone()).or_insert_with(|| Lane {
            class: SchedulingClass::Fifo,
            priority: Some(*priority),
            cores: [*core].into(),
            ..Lane::default()
        });
        component.container = Some(container.clone());
        component.lane = Some(lane.clone());
    }

    /// Makes the change.
    pub fn apply(&self, plan: &mut Plan) {
        let mut path = self.path.split('.');
        match (path.next(), path.next(), path.next(), path.next()) {
            (Some("container"), Some(container), Some("lanes"), Some(lane)) => {
                let container = plan.containers.get_mut(container);
                let Some(lane) = container.and_then(|container| container.lanes.get_mut(lane)) else {
                    return;
                };
                match self.effect {
                    Effect::Priority { becomes, .. } => lane.priority = Some(becomes),
                    Effect::Core { becomes, .. } => lane.cores = [becomes].into(),
                    Effect::Fifo { priority, core } => {
                        lane.class = SchedulingClass::Fifo;
                        lane.priority = Some(priority);
                        lane.cores = [core].into();
                    }
                    Effect::Depth { .. } | Effect::Lane { .. } => {}
                }
            }
            (Some("connection"), Some(connection), ..) => {
                let Some(connection) = plan.connections.get_mut(connection) else { return };
                if let (Effect::Depth { becomes, .. }, Some(queue)) = (&self.effect, &mut connection.queue) {
                    queue.depth = *becomes;
                }
            }
            (Some("component"), Some(component), Some("port"), Some(port)) => {
                let Some(component) = plan.components.get_mut(component) else { return };
                let Effect::Depth { becomes, .. } = self.effect else { return };
                let port = component.ports.entry(port.to_string()).or_default();
                let queue = Queue { depth: becomes, full: FullPolicy::DropOldest, wait: None };
                port.queue.get_or_insert(queue).depth = becomes;
            }
            (Some("component"), Some(component), None, None) => self.give_lane(plan, component),
            _ => {}
        }
    }
}

/// The result of [`changes`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offered {
    /// Single changes after which more is admitted than before, and nothing less.
    pub changes: Vec<Change>,
    /// How many changes were tried.
    pub tried: usize,
    /// How many more could be tried with more effort.
    pub untried: usize,
}

/// Single changes after which more is admitted than before and nothing less, within an effort. First those after which all is admitted, the
/// cheapest of them first: deeper queues, then other priorities, other cores, another class. Changes of lanes of what is refused are tried
/// before those of others. `effort.each` has to be enough for an analysis of the plans as they are; without that nothing is found.
pub fn changes(plans: &[Deployed<'_>], effort: Effort) -> Offered {
    let before = admit(plans, effort.each);
    let mut effort = effort;
    effort.spend(before.work);
    let (tried, untried) = tried(plans, &before, &mut effort);
    let count = tried.len();
    let is_kept = |after: &Admission| {
        before.states().zip(after.states()).all(|(was, is)| *was != State::Admitted || *is == State::Admitted)
    };
    let mut better: Vec<((bool, u8, Distance), Change)> = tried
        .into_iter()
        .filter(|(after, _)| {
            let (one, other) = (distance(after), distance(&before));
            is_kept(after) && (one.0, one.1) < (other.0, other.1)
        })
        .map(|(after, change)| {
            let (whole, cost) = (after.is_whole(), change.effect.cost());
            ((!whole, if whole { cost } else { 0 }, distance(&after)), change)
        })
        .collect();
    better.sort_by(|(one, change), (other, second)| {
        let costs = (change.effect.cost(), change).cmp(&(second.effect.cost(), second));
        one.cmp(other).then(costs)
    });
    Offered { changes: better.into_iter().map(|(_, change)| change).collect(), tried: count, untried }
}

/// The result of [`improve`].
#[derive(Clone, Debug)]
pub struct Improved {
    /// The plans with the changes.
    pub plans: Vec<Plan>,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// The verdicts after the changes.
    pub admission: Admission,
}

/// Makes changes one after the other, each the one that brings most, until all chains and connections are admitted, no single change brings more, or the effort
/// is spent. It is a search, not a proof that nothing else would do.
pub fn improve(plans: &[Deployed<'_>], effort: Effort) -> Improved {
    let mut effort = effort;
    let mut all: Vec<Plan> = plans.iter().map(|deployed| deployed.plan.clone()).collect();
    let mut made = Vec::new();
    let mut admission = admit(plans, effort.each);
    // Each round comes nearer; more rounds than lanes and queues of a usual plan are not needed.
    for _ in 0..16 {
        if admission.is_whole() {
            break;
        }
        let now = with(&all, plans);
        let (tried, _) = tried(&now, &admission, &mut effort);
        let best = tried.into_iter().min_by(|(one, change), (other, second)| {
            let costs = (change.effect.cost(), change).cmp(&(second.effect.cost(), second));
            distance(one).cmp(&distance(other)).then(costs)
        });
        let Some((after, change)) = best.filter(|(after, _)| distance(after) < distance(&admission)) else {
            break;
        };
        if let Some(plan) = all.get_mut(change.plan) {
            change.apply(plan);
        }
        admission = after;
        made.push(change);
    }
    Improved { plans: all, changes: made, admission }
}

/// Other plans of the same types.
pub(crate) fn with<'p>(plans: &'p [Plan], of: &[Deployed<'p>]) -> Vec<Deployed<'p>> {
    plans.iter().zip(of).map(|(plan, deployed)| Deployed { plan, ..*deployed }).collect()
}

/// The verdicts of the plans after each change that could help, as far as the effort goes, and how many changes were left.
fn tried(
    plans: &[Deployed<'_>],
    before: &Admission,
    effort: &mut Effort,
) -> (Vec<(Admission, Change)>, usize) {
    let mut candidates = depths(before);
    for (index, deployed) in plans.iter().enumerate() {
        lanes(index, deployed.plan, plans, &mut candidates);
    }
    let nearby = Nearby::of(plans, before);
    let mut candidates: Vec<Change> = candidates.into_iter().collect();
    candidates.sort_by_cached_key(|change| nearby.rank(change));
    let mut tried = Vec::new();
    let mut left = candidates.len();
    for change in candidates {
        if effort.total == 0 {
            break;
        }
        left -= 1;
        let mut changed: Vec<Plan> = plans.iter().map(|deployed| deployed.plan.clone()).collect();
        let Some(plan) = changed.get_mut(change.plan) else { continue };
        change.apply(plan);
        let after = admit(&with(&changed, plans), effort.each);
        effort.spend(after.work);
        tried.push((after, change));
    }
    (tried, left)
}

/// Queues that are as deep as their backlog.
pub(crate) fn depths(admission: &Admission) -> BTreeSet<Change> {
    let deeper = |port: &PortVerdict| {
        let (depth, path) = &port.depth;
        let path = path.clone()?;
        let becomes = u32::try_from(port.backlog?).ok().filter(|backlog| u64::from(*backlog) > *depth)?;
        Some(Change { plan: port.plan, path, effect: Effect::Depth { was: *depth, becomes } })
    };
    admission.ports.iter().filter_map(deeper).collect()
}

/// Other priorities and cores for the lanes of a plan.
fn lanes(index: usize, plan: &Plan, plans: &[Deployed<'_>], candidates: &mut BTreeSet<Change>) {
    let layout = plan.layout();
    for (name, container) in &plan.containers {
        if candidates.len() >= MOST_CANDIDATES {
            return;
        }
        let Some(host) = layout.host_of(&container.process) else { continue };
        let cores = plan.hosts.get(host).and_then(|host| host.cores).unwrap_or(0);
        let others = priorities(plans, host);
        for (lane, it) in &container.lanes {
            let path = format!("container.{name}.lanes.{lane}");
            let mut add = |effect| {
                if candidates.len() < MOST_CANDIDATES {
                    candidates.insert(Change { plan: index, path: path.clone(), effect });
                }
            };
            let other: BTreeSet<u8> = others
                .iter()
                .filter(|(at, _)| **at != (index, name.to_string(), lane.to_string()))
                .map(|(_, priority)| *priority)
                .collect();
            // Above all, and between each two.
            let levels =
                other.iter().flat_map(|priority| [priority.saturating_add(1), priority.saturating_sub(1)]);
            let levels: BTreeSet<u8> =
                levels.filter(|level| (1..=99).contains(level) && !other.contains(level)).collect();
            match (it.class, it.priority) {
                (SchedulingClass::Fifo, Some(was)) => {
                    for becomes in levels.iter().filter(|level| **level != was) {
                        add(Effect::Priority { was, becomes: *becomes });
                    }
                    let was = it.cores.first().copied().filter(|_| it.cores.len() == 1);
                    for becomes in (0..cores.min(MOST_CORES)).filter(|core| Some(*core) != was) {
                        add(Effect::Core { was, becomes });
                    }
                }
                (SchedulingClass::Normal, _) => {
                    let levels = if levels.is_empty() { BTreeSet::from([50]) } else { levels };
                    let cores = cores.min(MOST_CORES);
                    for (core, priority) in
                        (0..cores).flat_map(|core| levels.iter().map(move |it| (core, *it)))
                    {
                        add(Effect::Fifo { priority, core });
                    }
                }
                _ => {}
            }
        }
    }
}

/// Priorities of the lanes of a host that are of the class fifo.
fn priorities(plans: &[Deployed<'_>], host: &str) -> BTreeMap<(usize, String, String), u8> {
    let mut all = BTreeMap::new();
    for (index, deployed) in plans.iter().enumerate() {
        let layout = deployed.plan.layout();
        for (name, container) in &deployed.plan.containers {
            if layout.host_of(&container.process) != Some(host) {
                continue;
            }
            let fifo = container.lanes.iter().filter(|(_, lane)| lane.class == SchedulingClass::Fifo);
            for (lane, priority) in fifo.filter_map(|(name, lane)| Some((name, lane.priority?))) {
                all.insert((index, name.clone(), lane.clone()), priority);
            }
        }
    }
    all
}
