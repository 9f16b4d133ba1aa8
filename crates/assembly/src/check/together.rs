//! Plans that run at the same time: what they use up of a host, together.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

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

/// Who has resources. Plans share hosts; a service is of its plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owner<'p> {
    Host(&'p str),
    Service(usize, &'p str),
}

impl Owner<'_> {
    const fn remedy(self) -> &'static str {
        match self {
            Self::Host(_) => "require less, or move something to another host",
            Self::Service(..) => "require less, or let another service carry some connections",
        }
    }
}

impl fmt::Display for Owner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(name) => write!(f, "on \"{name}\""),
            Self::Service(_, name) => write!(f, "of the service \"{name}\""),
        }
    }
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

/// Reports resources that are used up, at the first requirement that does not fit any more; once for each resource of each host and service.
pub(super) fn check(plans: &[Placed<'_>]) -> Vec<Problem> {
    let mut uses: BTreeMap<(Owner<'_>, &str), Use<'_>> = BTreeMap::new();
    for (number, placed) in plans.iter().enumerate() {
        let plan = placed.plan;
        let hosts = plan.hosts.iter().map(|(name, said)| (Owner::Host(name), &said.resources));
        let services =
            plan.services.iter().map(|(name, said)| (Owner::Service(number, name), &said.resources));
        for (owner, resources) in hosts.chain(services) {
            for (resource, value) in resources {
                if let Value::Integer(has) = value {
                    let used = uses.entry((owner, resource)).or_default();
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
            let host = layout.place(component).host.map(Owner::Host);
            (format!("component.{name}"), host, &component.requires)
        });
        let processes = placed.plan.processes.iter().map(|(name, process)| {
            (format!("process.{name}"), process.host.as_deref().map(Owner::Host), &process.requires)
        });
        let connections = placed.plan.connections.iter().map(|(name, connection)| {
            let service = connection.service.as_deref().map(|name| Owner::Service(number, name));
            (format!("connection.{name}"), service, &connection.requires)
        });
        for (path, owner, requires) in components.chain(processes).chain(connections) {
            for (resource, value) in requires {
                let known = owner.and_then(|owner| uses.get_mut(&(owner, resource.as_str())));
                if let (Some(used), Value::Integer(amount @ 1..)) = (known, value) {
                    used.amount += u128::from(amount.unsigned_abs());
                    used.by.push((number, path.clone(), *amount));
                }
            }
        }
    }
    let mut problems = Vec::new();
    for ((owner, _), used) in uses {
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
            format!("{} of {resource} are required {owner}{by}, and it has {has}", used.amount),
            owner.remedy(),
        ));
    }
    problems
}
