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
    let target = Target { plan, types: types.clone(), file: String::new(), proofs: Vec::new() };
    let steps = Steps::between(&Target::default(), &target);
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
/// cycle the first by name is the last, unless it depends on another one.
pub fn start_order(plan: &Plan, types: &Catalogue) -> Vec<String> {
    let layout = plan.layout();
    let mut needs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for part in plan.split(types).into_iter().flat_map(|host| host.processes) {
        let others =
            part.needs.iter().filter_map(|need| Some(layout.place_of(need.end.component()?)?.process));
        let others = others.map(ToString::to_string).chain(part.process.depends_on.iter().cloned());
        needs.insert(part.name.clone(), others.collect());
    }
    let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
    for first in needs.keys() {
        // Each process with how many of its needs were looked at.
        let mut open: Vec<(&String, usize)> = Vec::new();
        if seen.insert(first) {
            open.push((first, 0));
        }
        while let Some((process, looked)) = open.last_mut() {
            let need = needs.get(*process).and_then(|all| all.get(*looked));
            *looked += 1;
            match need {
                Some(need) if seen.insert(need) => open.push((need, 0)),
                Some(_) => {}
                None => order.extend(open.pop().map(|(process, _)| process.clone())),
            }
        }
    }
    // What a cycle of connections has brought forward.
    let items: Vec<(&str, &str)> = order.iter().map(|name: &String| (name.as_str(), name.as_str())).collect();
    plan.after_dependencies(&items).into_iter().map(ToString::to_string).collect()
}
