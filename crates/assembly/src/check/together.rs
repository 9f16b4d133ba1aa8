//! Plans that run at the same time: what they use up of a host, together.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use diagnostics::{Problem, Source};

use crate::places::Places;
use crate::plan::Plan;
use crate::value::Value;

/// A plan with its file.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'p> {
    /// The plan.
    pub plan: &'p Plan,
    /// The file that it was read from.
    pub source: Source<'p>,
    /// Where everything stands there.
    pub places: &'p Places,
}

/// The demand for a resource, and the components that make it.
#[derive(Default)]
struct Use<'p> {
    amount: u128,
    by: Vec<(usize, String, i64)>,
    /// The least that any plan says that the host has, and which plan.
    has: Option<(i64, usize)>,
    name: &'p str,
}

/// Reports resources that are used up, at the first requirement that does not fit any more; once for each resource of each host.
pub(super) fn check(plans: &[Placed<'_>]) -> Vec<Problem> {
    let mut uses: BTreeMap<(&str, &str), Use<'_>> = BTreeMap::new();
    for (number, placed) in plans.iter().enumerate() {
        for (host, said) in &placed.plan.hosts {
            for (resource, value) in &said.resources {
                if let Value::Integer(has) = value {
                    let used = uses.entry((host, resource)).or_default();
                    used.name = resource;
                    if used.has.is_none_or(|(least, _)| *has < least) {
                        used.has = Some((*has, number));
                    }
                }
            }
        }
    }
    for (number, placed) in plans.iter().enumerate() {
        let layout = placed.plan.layout();
        let components = placed.plan.components.iter().map(|(name, component)| {
            (format!("component.{name}"), layout.place(component).host, &component.requires)
        });
        let processes =
            placed.plan.processes.iter().map(|(name, process)| {
                (format!("process.{name}"), process.host.as_deref(), &process.requires)
            });
        for (path, host, requires) in components.chain(processes) {
            for (resource, value) in requires {
                let known = host.and_then(|host| uses.get_mut(&(host, resource.as_str())));
                if let (Some(used), Value::Integer(amount @ 1..)) = (known, value) {
                    used.amount += u128::from(amount.unsigned_abs());
                    used.by.push((number, path.clone(), *amount));
                }
            }
        }
    }
    let mut problems = Vec::new();
    for ((host, _), used) in uses {
        let Some((has, _)) = used.has else { continue };
        let available = u128::try_from(has).unwrap_or(0);
        if used.amount <= available {
            continue;
        }
        let mut sum = 0_u128;
        let first = used.by.iter().find(|(_, _, amount)| {
            sum += u128::from(amount.unsigned_abs());
            sum > available
        });
        let Some((number, path, _)) = first else { continue };
        let Some(placed) = plans.get(*number) else { continue };
        let mut files: Vec<&str> =
            used.by.iter().filter_map(|(number, ..)| Some(plans.get(*number)?.source.file)).collect();
        files.dedup();
        let by = if files.len() > 1 { format!(" by {} together", files.join(", ")) } else { String::new() };
        let resource = used.name;
        problems.push(placed.source.problem(
            placed.places.at(&format!("{path}.requires.{resource}")),
            format!("{} of {resource} are required on \"{host}\"{by}, and it has {has}", used.amount),
            "require less, or move something to another host",
        ));
    }
    problems
}
