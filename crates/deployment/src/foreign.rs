//! Programs that are no component servers: they are started as they are, and know nothing of the plan.
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use assembly::{ArtefactKind, End, Lane, LaneDispatch, Plan, SchedulingClass};

use crate::deadline::deadline_troubles;
use crate::launchable::Trouble;

/// Whether a process of a plan executes a program that is no component server.
pub fn is_foreign(plan: &Plan, process: &str) -> bool {
    let artefact = plan.processes.get(process).and_then(|process| process.artefact.as_ref());
    let artefact = artefact.and_then(|name| plan.artefacts.get(name));
    artefact.is_some_and(|artefact| artefact.kind == ArtefactKind::Foreign)
}

/// The lane that a foreign program is in as a whole, if the plan gives its process one.
pub fn foreign_lane<'p>(plan: &'p Plan, process: &str) -> Option<&'p Lane> {
    let mut containers = plan.containers.values().filter(|container| container.process == process);
    containers.find_map(|container| container.lanes.values().next())
}

/// What a plan says of a foreign program, and nothing carries out.
pub(crate) fn foreign_troubles(plan: &Plan, process: &str) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    let mut wrong = |path, what: &str, remedy: &str| troubles.push(Trouble::wrong(path, what, remedy));
    let said = plan.processes.get(process).cloned().unwrap_or_default();
    if said.locks_memory {
        let what = "the memory of a foreign program is locked by itself alone";
        wrong(format!("process.{process}.lock-memory"), what, "take it out");
    }
    let mut lanes = 0;
    let mut of_kernel = Vec::new();
    for (name, container) in plan.containers.iter().filter(|(_, container)| container.process == process) {
        for (lane_name, lane) in &container.lanes {
            let path = format!("container.{name}.lanes.{lane_name}");
            lanes += 1;
            if lanes > 1 {
                let what = "a foreign program is in one lane, with all of its threads";
                wrong(path.clone(), what, "leave one lane of its process");
            }
            if lane.threads > 1 {
                let what = "a foreign program has the threads that it makes itself";
                wrong(path.clone(), what, "take threads out: one thread at a time is what is analysed");
            }
            if lane.spin.is_some() || lane.dispatch != LaneDispatch::Lane {
                let what = "a foreign program serves nothing of the plan's with its threads";
                wrong(path.clone(), what, "take spin and dispatch out");
            }
            if lane.class == SchedulingClass::Deadline {
                of_kernel.extend(deadline_troubles(plan, process, lane, &path));
            }
        }
    }
    troubles.extend(of_kernel);
    let mut wrong = |path, what: &str, remedy: &str| troubles.push(Trouble::wrong(path, what, remedy));
    let is_here = |end: &End| {
        let component = end.component().and_then(|name| plan.components.get(name));
        component.map(|component| component.process == process)
    };
    let of_server = |end: &End| {
        let component = end.component().and_then(|name| plan.components.get(name));
        component.is_some_and(|component| !is_foreign(plan, &component.process))
    };
    for (name, connection) in &plan.connections {
        for to in &connection.to {
            let ends = [(&connection.from, to), (to, &connection.from)];
            if ends.iter().any(|(end, other)| is_here(end) == Some(true) && of_server(other)) {
                let path = format!("connection.{name}");
                let what = "a foreign program does not know the topic of a connection";
                let remedy =
                    "add [topic.NAME] with the topic that it has, and connect topic:NAME with the component";
                wrong(path, what, remedy);
            }
        }
    }
    for (name, component) in plan.components.iter().filter(|(_, component)| component.process == process) {
        if !component.settings.is_empty() {
            let path = format!("component.{name}.settings");
            let what = "a foreign program gets no settings";
            troubles.push(Trouble::warning(path, what, "give it arguments, or variables of its environment"));
        }
    }
    troubles
}

/// Processes on other hosts that a process depends on: no supervisor knows when they begin.
pub(crate) fn far_dependencies(plan: &Plan, process: &str) -> Vec<Trouble> {
    let layout = plan.layout();
    let mut troubles = Vec::new();
    for (index, other) in plan.dependencies(process).iter().enumerate() {
        let hosts = [process, other].map(|process| layout.host_of(process));
        if let [Some(here), Some(there)] = hosts
            && here != there
        {
            let path = format!("process.{process}.depends-on.{index}");
            let what = format!("\"{other}\" is on {there}: which of both begins first is left open");
            let remedy = "what keeps the order of processes is of one host".to_string();
            troubles.push(Trouble::warning(path, what, remedy));
        }
    }
    troubles
}
