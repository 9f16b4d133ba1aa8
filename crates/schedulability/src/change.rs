//! Changes of plans that admit more: another priority, another core, a real-time class, a deeper queue.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use assembly::{Plan, SchedulingClass};
use response::Limits;

use crate::Deployed;
use crate::admission::{Admission, State, admit};

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
        }
    }
}

/// How far an admission is from all that is asked for: chains without a bound, chains that are refused, and what is missing in all.
type Distance = (usize, usize, u64);

fn distance(admission: &Admission) -> Distance {
    let mut distance = (0, 0, 0_u64);
    for chain in &admission.chains {
        match &chain.state {
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

/// Most changes that are tried for one answer.
const MOST_TRIED: usize = 400;
/// Cores that are tried for a lane.
const MOST_CORES: u16 = 16;

impl Change {
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
                    Effect::Depth { .. } => {}
                }
            }
            (Some("connection"), Some(connection), ..) => {
                let Some(connection) = plan.connections.get_mut(connection) else { return };
                if let (Effect::Depth { becomes, .. }, Some(queue)) = (&self.effect, &mut connection.queue) {
                    queue.depth = *becomes;
                }
            }
            (Some("component"), Some(component), Some("port"), Some(port)) => {
                let component = plan.components.get_mut(component);
                let Some(port) = component.and_then(|component| component.ports.get_mut(port)) else {
                    return;
                };
                if let (Effect::Depth { becomes, .. }, Some(queue)) = (&self.effect, &mut port.queue) {
                    queue.depth = *becomes;
                }
            }
            _ => {}
        }
    }
}

/// Single changes after which more is admitted than before and nothing less, the best first. `limits` are of each analysis.
pub fn changes(plans: &[Deployed<'_>], limits: Limits) -> Vec<Change> {
    let before = admit(plans, limits);
    let tried = tried(plans, &before, limits);
    let is_kept = |after: &Admission| {
        before
            .chains
            .iter()
            .zip(&after.chains)
            .all(|(was, is)| was.state != State::Admitted || is.state == State::Admitted)
    };
    let mut better: Vec<(Distance, Change)> = tried
        .into_iter()
        .filter(|(after, _)| {
            let (one, other) = (distance(after), distance(&before));
            is_kept(after) && (one.0, one.1) < (other.0, other.1)
        })
        .map(|(after, change)| (distance(&after), change))
        .collect();
    better.sort();
    better.into_iter().map(|(_, change)| change).collect()
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

/// Makes changes one after the other, each the one that brings most, until all chains are admitted or no single change brings more.
/// It is a search, not a proof that nothing else would do.
pub fn improve(plans: &[Deployed<'_>], limits: Limits) -> Improved {
    let mut all: Vec<Plan> = plans.iter().map(|deployed| deployed.plan.clone()).collect();
    let mut made = Vec::new();
    let mut admission = admit(plans, limits);
    // Each round comes nearer; more rounds than lanes and queues of a usual plan are not needed.
    for _ in 0..16 {
        if admission.is_whole() {
            break;
        }
        let now: Vec<Deployed<'_>> =
            all.iter().zip(plans).map(|(plan, deployed)| Deployed { plan, types: deployed.types }).collect();
        let tried = tried(&now, &admission, limits);
        let best = tried.into_iter().min_by(|(one, change), (other, second)| {
            distance(one).cmp(&distance(other)).then_with(|| change.cmp(second))
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

/// The verdicts of the plans after each change that could help.
fn tried(plans: &[Deployed<'_>], before: &Admission, limits: Limits) -> Vec<(Admission, Change)> {
    let mut candidates = BTreeSet::new();
    for (index, deployed) in plans.iter().enumerate() {
        lanes(index, deployed.plan, plans, &mut candidates);
    }
    for port in &before.ports {
        let (depth, path) = &port.depth;
        let (Some(path), Some(backlog)) = (path, port.backlog) else { continue };
        let deeper = u32::try_from(backlog).ok().filter(|backlog| u64::from(*backlog) > *depth);
        candidates.extend(deeper.map(|becomes| Change {
            plan: port.plan,
            path: path.clone(),
            effect: Effect::Depth { was: *depth, becomes },
        }));
    }
    let one = |change: Change| {
        let mut changed: Vec<Plan> = plans.iter().map(|deployed| deployed.plan.clone()).collect();
        change.apply(changed.get_mut(change.plan)?);
        let deployed: Vec<Deployed<'_>> = changed
            .iter()
            .zip(plans)
            .map(|(plan, deployed)| Deployed { plan, types: deployed.types })
            .collect();
        Some((admit(&deployed, limits), change))
    };
    candidates.into_iter().filter_map(one).collect()
}

/// Other priorities and cores for the lanes of a plan.
fn lanes(index: usize, plan: &Plan, plans: &[Deployed<'_>], candidates: &mut BTreeSet<Change>) {
    let layout = plan.layout();
    for (name, container) in &plan.containers {
        if candidates.len() >= MOST_TRIED {
            return;
        }
        let Some(host) = layout.host_of(&container.process) else { continue };
        let cores = plan.hosts.get(host).and_then(|host| host.cores).unwrap_or(0);
        let others = priorities(plans, host);
        for (lane, it) in &container.lanes {
            let path = format!("container.{name}.lanes.{lane}");
            let mut add = |effect| {
                if candidates.len() < MOST_TRIED {
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
