//! What if: flows taken out of a plan and others asked for, and what that does to the rest.
use std::collections::{BTreeMap, BTreeSet};

use latency::ledger::FlowId;
use network::Problem;
use serde::Serialize;

use crate::planning::{Plan, Verdict};
use crate::report::Bounds;

/// What a change does.
#[derive(Clone, PartialEq, Eq, Serialize, Default, Debug)]
pub struct Changes {
    /// Flows that were taken out.
    pub removed: Vec<String>,
    /// Flows that were asked for.
    pub added: Vec<Added>,
    /// Flows that are put into another level.
    pub moved: Vec<Moved>,
    /// Flows whose bound is another one.
    pub changed: Vec<Changed>,
}

/// A flow that was asked for.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Added {
    /// Its name.
    pub name: String,
    /// Whether it is admitted.
    pub admitted: bool,
    /// If not, the less important flows in whose place it would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_yield: Option<Vec<String>>,
}

/// A flow in another level.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Moved {
    /// Its name.
    pub name: String,
    /// The port.
    pub port: String,
    /// Its level before.
    pub from: u8,
    /// Its level after.
    pub to: u8,
}

/// A flow with another bound.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Changed {
    /// Its name.
    pub name: String,
    /// The largest bound of its subscribers before, in picoseconds.
    pub before_ps: u64,
    /// And after.
    pub after_ps: u64,
}

/// Reads a change and does it to the plan. Nothing is done if the file is wrong.
pub(crate) fn apply(plan: &mut Plan<'_>, file: &str, text: &str) -> Result<Changes, Problem> {
    let network::Change { remove, flows } = plan.network.read_change(file, text)?;
    let mut leaving: BTreeSet<FlowId> = BTreeSet::new();
    let known_as: BTreeMap<&str, FlowId> =
        (0..).zip(&plan.flows).map(|(id, (asked, _))| (asked.name.as_str(), id)).collect();
    for flow in &remove {
        let name = &flow.name;
        let id = *known_as.get(name.as_str()).ok_or_else(|| {
            flow.problem(format!("there is no flow \"{name}\""), "name a flow of the network file")
        })?;
        if let Some(main) = plan.repairs_of(id) {
            let what = format!("\"{name}\" is there for \"{}\"", plan.name(main));
            return Err(flow.problem(what, "remove that flow"));
        }
        if !leaving.insert(id) {
            return Err(flow.problem(format!("the flow \"{name}\" is removed twice"), "each flow once"));
        }
    }
    let before = Bounds::new(plan);
    let known = plan.flows.len() as FlowId;
    let largest = |plan: &Plan<'_>, bounds: &Bounds, id: FlowId| {
        let subscribers = plan.ledger.flow(id)?.flow.subscribers.len();
        (0..subscribers).map(|index| plan.latest(bounds, id, index)).max()?
    };
    let bounds_before: Vec<Option<u64>> = (0..known).map(|id| largest(plan, &before, id)).collect();
    let ports = 0..plan.network.ports().len();
    let levels = |plan: &Plan<'_>| -> Vec<Vec<(FlowId, u8)>> {
        let at = |port| {
            plan.ledger.entries(port).iter().map(|entry| (entry.flow, entry.contender.level)).collect()
        };
        ports.clone().map(at).collect()
    };
    let levels_before = levels(plan);
    let beside: Vec<FlowId> = leaving
        .iter()
        .filter_map(|id| plan.repaired.remove(id))
        .flat_map(|repaired| repaired.beside)
        .flatten()
        .collect();
    leaving.extend(beside);
    let mut changes = Changes::default();
    plan.remove(&leaving);
    changes.removed = remove.into_iter().map(|flow| flow.name).collect();
    for asked in flows {
        let id = plan.add(asked);
        if plan.finished().is_err() {
            break;
        }
        let admitted = plan.ledger.flow(id).is_some();
        plan.begin();
        let would_yield = if admitted { None } else { plan.yielding(id) };
        let name = |id: &FlowId| plan.name(*id).to_owned();
        let would_yield = would_yield.map(|flows| flows.iter().map(name).collect());
        changes.added.push(Added { name: plan.name(id).to_owned(), admitted, would_yield });
    }
    let after = Bounds::new(plan);
    for (id, before) in (0..known).zip(bounds_before) {
        if let (Some(before_ps), Some(after_ps)) = (before, largest(plan, &after, id))
            && before_ps != after_ps
        {
            changes.changed.push(Changed { name: plan.name(id).to_owned(), before_ps, after_ps });
        }
    }
    for (port, (before, after)) in levels_before.iter().zip(levels(plan)).enumerate() {
        for (id, from) in before {
            // Flows of a port are in the order of their identities.
            let at = after.binary_search_by_key(id, |(other, _)| *other);
            if let Some((_, to)) = at.ok().and_then(|at| after.get(at)).filter(|(_, to)| to != from) {
                let port = plan.network.port_name(port);
                changes.moved.push(Moved { name: plan.name(*id).to_owned(), port, from: *from, to: *to });
            }
        }
    }
    Ok(changes)
}

impl Plan<'_> {
    fn remove(&mut self, ids: &BTreeSet<FlowId>) {
        // A flow that was refused is in the plan's list only.
        self.ledger.remove_all(&ids.iter().copied().collect::<Vec<_>>());
        for id in ids {
            if let Some((_, verdict)) = usize::try_from(*id).ok().and_then(|id| self.flows.get_mut(id)) {
                *verdict = Verdict::Removed;
            }
        }
    }
}
