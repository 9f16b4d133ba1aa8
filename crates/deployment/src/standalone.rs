//! The part of a launch that belongs to one process, for a process that no supervisor leads.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use assembly::{Catalogue, Plan};
use diagnostics::Source;

use crate::protocol::Instruction;
use crate::steps::Steps;
use crate::supervisor::Target;

/// The only change that a standalone process goes through.
const EPOCH: u64 = 1;

/// What a standalone process does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standalone {
    /// The instructions that lead the process from nothing to its part of the plan: those that a supervisor sends when it starts the process
    /// again.
    pub instructions: Vec<Instruction>,
    /// Whether the plan has chains, whose limits are proved for what the plan says of priorities and cores.
    pub has_chains: bool,
}

/// What a process of a plan does by itself. `text` is the plan; `types` are the component types of the program.
///
/// # Errors
/// The plan cannot be read, or has no such process.
pub fn standalone(text: &str, process: &str, types: &Catalogue) -> Result<Standalone, String> {
    let read = Plan::read(Source { file: "the plan", text });
    let (plan, _) =
        read.map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    let known: Vec<&str> = plan.layout().processes().keys().copied().collect();
    if !known.contains(&process) {
        return Err(format!(
            "the plan has no process \"{}\": it has {}",
            process.escape_default(),
            known.join(", ")
        ));
    }
    let (text, has_chains) = (plan.to_toml(), !plan.chains.is_empty());
    let target = Target { plan, types: types.clone(), ..Target::default() };
    let steps = Steps::between(&Target::default(), &target, false);
    let mut all = vec![Instruction::PreparePlan { epoch: EPOCH, process: process.to_string(), plan: text }];
    let own = steps.batches.into_iter().filter(|batch| batch.process == process);
    all.extend(own.zip(0..).map(|(batch, number)| Instruction::Perform {
        epoch: EPOCH,
        number,
        phase: batch.phase,
        orders: batch.orders,
    }));
    all.push(Instruction::Commit { epoch: EPOCH });
    Ok(Standalone { instructions: all, has_chains })
}

/// The processes of a plan in the order in which they start best: a process that others depend on, push to or call comes before these. In a
/// cycle the first by name is the last, unless others of the cycle depend on it.
pub fn start_order(plan: &Plan, types: &Catalogue) -> Vec<String> {
    let layout = plan.layout();
    let parts: Vec<_> = plan.split(types).into_iter().flat_map(|host| host.processes).collect();
    let known: BTreeSet<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    let mut needs: Graph<'_> = BTreeMap::new();
    for part in &parts {
        let others =
            part.needs.iter().filter_map(|need| Some(layout.place_of(need.end.component()?)?.process));
        let others = others.chain(part.process.depends_on.iter().map(String::as_str));
        needs.insert(&part.name, others.filter(|other| known.contains(other)).collect());
    }
    let mut needed: Graph<'_> = needs.keys().map(|name| (*name, Vec::new())).collect();
    for (name, others) in &needs {
        for other in others {
            needed.entry(other).or_default().push(name);
        }
    }
    // Trees of the turned graph, begun at what was looked at last, are cycles and what is in none: those that need others come before these (Kosaraju).
    let looked_at: Vec<&str> = trees(needs.keys().copied(), &needs).concat();
    let cycles = trees(looked_at.iter().rev().copied(), &needed);
    let in_order = cycles.iter().rev().flat_map(|cycle| {
        let members: BTreeSet<&str> = cycle.iter().copied().collect();
        let members = looked_at.iter().filter(|name| members.contains(**name));
        let items: Vec<(&str, &str)> = members.map(|name| (*name, *name)).collect();
        plan.after_dependencies(&items)
    });
    in_order.map(ToString::to_string).collect()
}

/// Names with the names that they lead to.
type Graph<'n> = BTreeMap<&'n str, Vec<&'n str>>;

/// For each root that no earlier one leads to, what it leads to and no earlier one does, in the order in which looking deeper first is done with it.
fn trees<'n>(roots: impl Iterator<Item = &'n str>, graph: &Graph<'n>) -> Vec<Vec<&'n str>> {
    let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
    for root in roots {
        // Each name with how many of those that it leads to were looked at.
        let mut open: Vec<(&str, usize)> = Vec::new();
        let mut tree = Vec::new();
        if seen.insert(root) {
            open.push((root, 0));
        }
        while let Some((name, looked)) = open.last_mut() {
            let next = graph.get(name).and_then(|all| all.get(*looked));
            *looked += 1;
            match next {
                Some(next) if seen.insert(next) => open.push((next, 0)),
                Some(_) => {}
                None => tree.extend(open.pop().map(|(name, _)| name)),
            }
        }
        if !tree.is_empty() {
            all.push(tree);
        }
    }
    all
}
