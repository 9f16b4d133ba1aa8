//! The parts of plans: ports that run, where they run, and their names.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use assembly::{
    ArtefactKind, Component, ComponentType, End, LaneDispatch, Layout, PortKind, PortType, SchedulingClass,
};

use crate::Deployed;
use crate::obstacle::Obstacle;

/// A port with a handler.
#[derive(Clone, Debug)]
pub(crate) struct Handler<'p> {
    /// The plan, from 0.
    pub(crate) plan: usize,
    /// Its component.
    pub(crate) component: &'p str,
    /// Its port.
    pub(crate) port: &'p str,
    pub(crate) of_type: &'p PortType,
    /// The lane that calls it, if a queue or a timer leads to it; the lane that would, otherwise.
    pub(crate) lane: usize,
}

/// Threads of a container, or those that serve all ports of a process without a lane.
#[derive(Clone, Debug)]
pub(crate) struct Threads<'p> {
    pub(crate) plan: usize,
    pub(crate) host: &'p str,
    /// As people would say it: `flight.control`.
    pub(crate) name: String,
    /// Where the plan says it, if it does.
    pub(crate) path: Option<String>,
    pub(crate) class: SchedulingClass,
    pub(crate) priority: Option<u8>,
    pub(crate) count: usize,
    pub(crate) cores: Vec<u16>,
    /// Runtime and period of the class deadline, in picoseconds.
    pub(crate) budget: Option<(u64, u64)>,
    /// Whether the kernel keeps threads of the class deadline on these cores.
    pub(crate) keeps_deadline: bool,
    /// Whether a thread without work stays awake for a time.
    pub(crate) spins: bool,
    pub(crate) dispatch: LaneDispatch,
}

impl Threads<'_> {
    /// Whether the kernel runs them before threads of the class normal.
    pub(crate) const fn is_real_time(&self) -> bool {
        !matches!(self.class, SchedulingClass::Normal)
    }
}

/// All plans together.
pub(crate) struct Parts<'p> {
    pub(crate) plans: Vec<(Deployed<'p>, Layout<'p>)>,
    pub(crate) handlers: Vec<Handler<'p>>,
    pub(crate) lanes: Vec<Threads<'p>>,
    pub(crate) obstacles: BTreeSet<Obstacle>,
    handler_of: BTreeMap<(usize, &'p str, &'p str), usize>,
    /// For each plan the components that are active, if not all are.
    active: Vec<Active<'p>>,
}

/// Components of a plan that are active; `None` is all.
pub(crate) type Active<'p> = Option<&'p BTreeSet<String>>;

impl<'p> Parts<'p> {
    /// The parts of plans of which these components are active.
    pub(crate) fn of(plans: &[Deployed<'p>], active: &[Active<'p>]) -> Self {
        let mut parts = Self {
            plans: plans.iter().map(|plan| (*plan, plan.plan.layout())).collect(),
            handlers: Vec::new(),
            lanes: Vec::new(),
            obstacles: BTreeSet::new(),
            handler_of: BTreeMap::new(),
            active: active.to_vec(),
        };
        for plan in 0..plans.len() {
            parts.add(plan, plans);
        }
        parts
    }

    fn add(&mut self, plan: usize, plans: &[Deployed<'p>]) {
        let Some(deployed) = plans.get(plan) else { return };
        let mut known: BTreeMap<(&str, Option<&str>, Option<&str>), usize> = BTreeMap::new();
        for (name, component) in &deployed.plan.components {
            if !self.is_active(plan, name) {
                continue;
            }
            let path = format!("component.{name}");
            let Some(host) = self.place(plan, name) else {
                let what = format!("it is not said on which host \"{name}\" is");
                self.obstacle(plan, path, "", what, "add host = NAME to the component or its process");
                continue;
            };
            let Some(of_type) = deployed.types.components.get(&component.component_type) else {
                let what = format!("nothing is known of the type {}", component.component_type);
                self.obstacle(plan, path, host, what, "add the manifest of the program that has it");
                continue;
            };
            for (port, of_port) in &of_type.ports {
                if !matches!(of_port.kind, PortKind::Consumer | PortKind::Facet | PortKind::Timer) {
                    continue;
                }
                let end = End::port(name.as_str(), port.as_str());
                let lane = self.plans.get(plan).and_then(|(_, layout)| layout.lane_of(&end));
                let container = component.container.as_deref();
                let key = (component.process.as_str(), container, lane);
                let lane = match known.get(&key) {
                    Some(lane) => *lane,
                    None => {
                        let threads = threads(plan, deployed, component, host, lane);
                        self.lanes.push(threads);
                        known.insert(key, self.lanes.len() - 1);
                        self.lanes.len() - 1
                    }
                };
                self.handler_of.insert((plan, name, port), self.handlers.len());
                self.handlers.push(Handler { plan, component: name, port, of_type: of_port, lane });
            }
        }
    }

    /// Whether a component is active.
    pub(crate) fn is_active(&self, plan: usize, component: &str) -> bool {
        self.active.get(plan).copied().flatten().is_none_or(|active| active.contains(component))
    }

    /// Whether all components of a chain are active, or both ends of a connection.
    pub(crate) fn are_active<'e>(&self, plan: usize, mut ends: impl Iterator<Item = &'e End>) -> bool {
        ends.all(|end| end.component().is_none_or(|component| self.is_active(plan, component)))
    }

    /// The host of a component.
    pub(crate) fn place(&self, plan: usize, component: &str) -> Option<&'p str> {
        let (_, layout) = self.plans.get(plan)?;
        layout.place_of(component)?.host
    }

    pub(crate) fn component(&self, plan: usize, component: &str) -> Option<&'p Component> {
        let (deployed, _) = self.plans.get(plan)?;
        deployed.plan.components.get(component)
    }

    pub(crate) fn type_of(&self, plan: usize, component: &str) -> Option<&'p ComponentType> {
        let (deployed, _) = self.plans.get(plan)?;
        deployed.types.components.get(&self.component(plan, component)?.component_type)
    }

    /// The handler of a port.
    pub(crate) fn handler(&self, plan: usize, end: &End) -> Option<usize> {
        let End::Port { component, port } = end else { return None };
        self.handler_of.get(&(plan, component.as_str(), port.as_str())).copied()
    }

    /// The host of a handler.
    pub(crate) fn host_of(&self, handler: usize) -> &'p str {
        let lane = self.handlers.get(handler).and_then(|handler| self.lanes.get(handler.lane));
        lane.map_or("", |lane| lane.host)
    }

    pub(crate) fn obstacle(
        &mut self,
        plan: usize,
        path: impl Into<String>,
        host: &str,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.obstacles.insert(Obstacle {
            plan,
            path: path.into(),
            host: host.to_string(),
            what: what.into(),
            remedy: remedy.into(),
        });
    }

    /// Whether a handler is in a program that is no component server.
    pub(crate) fn is_foreign(&self, handler: usize) -> bool {
        let Some(handler) = self.handlers.get(handler) else { return false };
        let plan = self.plans.get(handler.plan).map(|(deployed, _)| deployed.plan);
        let process = self.component(handler.plan, handler.component).map(|component| &component.process);
        let artefact = plan
            .zip(process)
            .and_then(|(plan, process)| plan.artefacts.get(plan.processes.get(process)?.artefact.as_ref()?));
        artefact.is_some_and(|artefact| artefact.kind == ArtefactKind::Foreign)
    }

    /// The name of a handler, for people.
    pub(crate) fn name(&self, handler: usize) -> String {
        self.handlers.get(handler).map_or_else(String::new, |it| format!("{}.{}", it.component, it.port))
    }
}

fn threads<'p>(
    plan: usize,
    deployed: &Deployed<'p>,
    component: &'p Component,
    host: &'p str,
    lane: Option<&str>,
) -> Threads<'p> {
    let process = deployed.plan.processes.get(&component.process);
    let of_process = process.map(|process| process.cores.clone()).unwrap_or_default();
    let container = component.container.as_deref();
    let said = container
        .and_then(|name| Some((name, deployed.plan.containers.get(name)?)))
        .and_then(|(name, it)| lane.and_then(|lane| Some((name, lane, it.lanes.get(lane)?))));
    let Some((container, name, lane)) = said else {
        let name = container.unwrap_or(&component.process);
        return Threads {
            plan,
            host,
            name: format!("{name} without a lane"),
            path: None,
            class: SchedulingClass::Normal,
            priority: None,
            count: 1,
            cores: of_process,
            budget: None,
            keeps_deadline: true,
            spins: false,
            dispatch: LaneDispatch::Lane,
        };
    };
    Threads {
        plan,
        host,
        name: format!("{container}.{name}"),
        path: Some(format!("container.{container}.lanes.{name}")),
        class: lane.class,
        priority: lane.priority,
        count: usize::from(lane.threads),
        cores: if lane.cores.is_empty() { of_process } else { lane.cores.clone() },
        budget: lane.runtime.zip(lane.period),
        keeps_deadline: deployed.plan.keeps_deadline_threads(&component.process, lane),
        spins: lane.spin.is_some_and(|time| time > 0),
        dispatch: lane.dispatch,
    }
}
