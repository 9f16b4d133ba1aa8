//! Which processes can be handed over to another build of their program while the rest of the deployment works.
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::diff::{Version, carried};
use crate::plan::{Component, Connection, Plan, Port, Process, ServiceKind};

/// Whether a component can go on with the state of a former one: both are of one type, and the types of both versions are swappable.
pub(crate) fn can_go_on(old: Version<'_>, was: &Component, new: Version<'_>, is: &Component) -> bool {
    let can = |version: Version<'_>, component: &Component| {
        version.types.components.get(&component.component_type).is_some_and(|it| it.is_swappable)
    };
    was.component_type == is.component_type && can(old, was) && can(new, is)
}

/// These processes in the order in which they are handed over: each after those that it depends on. A circle, which a plan that was checked does
/// not have, is entered at the first name.
pub(crate) fn in_order(plan: &Plan, mut processes: BTreeSet<String>) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    loop {
        let is_free = |process: &&String| {
            let mut others = plan.dependencies(process).iter();
            !others.any(|other| other != *process && processes.contains(other))
        };
        let Some(next) = processes.iter().find(is_free).or(processes.first()).cloned() else { return order };
        processes.remove(&next);
        order.push(next);
    }
}

/// Whether all that is in a process goes on in one of another build: components, ports and connections are the same, and all that comes in or
/// goes out does so by topics.
pub(crate) fn goes_on(old: Version<'_>, new: Version<'_>, process: &str) -> bool {
    let said = |version: Version<'_>| {
        let process = version.plan.processes.get(process).cloned();
        process.map(|process| Process { depends_on: Vec::new(), artefact: None, ..process })
    };
    let (was, is) = (old.plan.layout(), new.plan.layout());
    if said(old) != said(new) || was.processes().get(process) != is.processes().get(process) {
        return false;
    }
    let of_process = |version: Version<'_>| -> BTreeSet<String> {
        let here = version.plan.components.iter().filter(|(_, it)| it.process == process);
        here.map(|(name, _)| name.clone()).collect()
    };
    let names = of_process(old);
    if names.is_empty() || names != of_process(new) {
        return false;
    }
    let keeps = |name: &String| match (old.plan.components.get(name), new.plan.components.get(name)) {
        (Some(was), Some(is)) => {
            can_go_on(old, was, new, is) && was.ports == is.ports && is.ports.values().all(is_plain)
        }
        _ => false,
    };
    if !names.iter().all(keeps) || connections(old, process) != connections(new, process) {
        return false;
    }
    let (before, after) = (carried(old), carried(new));
    let is_same = |name: &str| before.get(name) == after.get(name);
    let by_topic = |name: &str| {
        let layout = new.plan.layout();
        let links = layout.links();
        let mut links = links.filter(|link| link.name == name);
        links.all(|link| {
            let is_here = |end: &crate::plan::End| end.component().is_some_and(|name| names.contains(name));
            let is_inside = is_here(link.from) && is_here(link.to);
            match link.kind {
                ServiceKind::Federated => false,
                ServiceKind::Dds => true,
                _ => is_inside || !(is_here(link.from) || is_here(link.to)),
            }
        })
    };
    connections(new, process).iter().all(|(name, _)| is_same(name) && by_topic(name))
}

/// Whether nothing is kept for a port beyond what is handled before the process hands over. What a join keeps of earlier events is in the container, and
/// no component can hand it on. What is read at instants is read until the end of the last interval.
fn is_plain(port: &Port) -> bool {
    port.join.is_none()
}

/// The connections that have an end in a process.
pub(crate) fn connections<'v>(version: Version<'v>, process: &str) -> Vec<(&'v str, &'v Connection)> {
    let is_here = |name: &String| version.plan.components.get(name).is_some_and(|it| it.process == process);
    let touches = |connection: &Connection| ends(connection).iter().any(is_here);
    let all = version.plan.connections.iter().filter(|(_, connection)| touches(connection));
    all.map(|(name, connection)| (name.as_str(), connection)).collect()
}

/// The components at the ends of a connection.
fn ends(connection: &Connection) -> Vec<String> {
    let ends = core::iter::once(&connection.from).chain(&connection.to);
    ends.filter_map(|end| end.component()).map(ToString::to_string).collect()
}
