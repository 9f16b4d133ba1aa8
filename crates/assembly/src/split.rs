//! The plan by host, process and container: what each has to install, in which order, and what it provides and needs.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::links::{Layout, Link, Place};
use crate::manifest::{Catalogue, PortKind};
use crate::plan::{Artefact, Container, End, Placement, Plan, Process, ServiceKind};

/// The part of a host in a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct HostPart {
    /// Its name; `None` for what no host is said for.
    pub host: Option<String>,
    /// Its processes.
    pub processes: Vec<ProcessPart>,
}

/// The part of a process in a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct ProcessPart {
    /// Its name.
    pub name: String,
    /// Its entry in the plan.
    pub process: Process,
    /// Code that it executes or loads, by name.
    pub artefacts: BTreeMap<String, Artefact>,
    /// Services that it has itself, in the order of names.
    pub services: Vec<String>,
    /// Its containers: that without a name first, if components are in it.
    pub containers: Vec<ContainerPart>,
    /// Ends that others connect to.
    pub provides: Vec<Endpoint>,
    /// Ends elsewhere that it connects to.
    pub needs: Vec<Endpoint>,
}

/// The part of a container in a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct ContainerPart {
    /// Its name; `None` for that of all components without one.
    pub name: Option<String>,
    /// Its entry in the plan.
    pub container: Option<Container>,
    /// Services that it has.
    pub services: Vec<String>,
    /// Components in the order of installation: what is called before what calls, and what consumes before what publishes. Where there is a
    /// cycle, by name.
    pub components: Vec<String>,
}

/// An end of a connection that leaves a process.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Endpoint {
    /// The end.
    pub end: End,
    /// The connection.
    pub connection: String,
    /// Which of its ends `to` it leads to.
    pub index: usize,
    /// The service that carries it.
    pub kind: ServiceKind,
}

/// A part that has its turn in the order of installation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn<'p> {
    /// A component.
    Component(&'p str),
    /// All that a process depends on is there.
    Begin(&'p str),
    /// All components of a process are there.
    Done(&'p str),
}

impl Plan {
    /// The plan by hosts, in the order of their names. What depends on what is known by the kinds of ports; without manifests, what a
    /// connection goes to is installed before what it comes from.
    pub fn split(&self, types: &Catalogue) -> Vec<HostPart> {
        let layout = self.layout();
        let ranks = self.order(types);
        let mut hosts: BTreeMap<Option<&str>, Vec<ProcessPart>> = BTreeMap::new();
        let mut endpoints = self.endpoints(&layout);
        let mut by_process: BTreeMap<&str, Vec<(&str, Place<'_>)>> = BTreeMap::new();
        for name in ranks {
            if let Some(place) = layout.place_of(name) {
                by_process.entry(place.process).or_default().push((name, place));
            }
        }
        for (process, host) in layout.processes() {
            let components = by_process.remove(process).unwrap_or_default();
            let (provides, needs) = endpoints.remove(process).unwrap_or_default();
            let said = self.processes.get(*process).cloned().unwrap_or_default();
            let of_components =
                components.iter().filter_map(|(name, _)| self.components.get(*name)?.artefact.as_ref());
            let artefacts: BTreeSet<&String> = said.artefact.iter().chain(of_components).collect();
            let part = ProcessPart {
                name: process.to_string(),
                artefacts: artefacts
                    .into_iter()
                    .filter_map(|name| Some((name.clone(), self.artefacts.get(name)?.clone())))
                    .collect(),
                services: self.services_at(Placement::Server, process),
                containers: self.container_parts(process, &components),
                provides: provides.into_iter().collect(),
                needs: needs.into_iter().collect(),
                process: said,
            };
            hosts.entry(*host).or_default().push(part);
        }
        hosts
            .into_iter()
            .map(|(host, processes)| HostPart { host: host.map(ToString::to_string), processes })
            .collect()
    }

    /// All components in the order of installation: those of a process after those of the processes that it depends on, and then what is called
    /// before what calls, and what consumes before what publishes.
    pub fn order<'c>(&'c self, types: &Catalogue) -> Vec<&'c str> {
        let has_dependencies = self.processes.values().any(|process| !process.depends_on.is_empty());
        let kind_of = |end: &End| {
            let End::Port { component, port } = end else { return None };
            let of_type = types.components.get(&self.components.get(component)?.component_type)?;
            of_type.ports.get(port).map(|port| port.kind)
        };
        // For each part those that come after it.
        let mut after: BTreeMap<Turn<'_>, BTreeSet<Turn<'_>>> = BTreeMap::new();
        let mut missing: BTreeMap<Turn<'_>, usize> =
            self.components.keys().map(|name| (Turn::Component(name), 0)).collect();
        let mut comes_after = |first: Turn<'c>, second: Turn<'c>| {
            if first != second && after.entry(first).or_default().insert(second) {
                *missing.entry(second).or_default() += 1;
                missing.entry(first).or_default();
            }
        };
        for connection in self.connections.values() {
            let Some((from, _)) =
                connection.from.component().and_then(|name| self.components.get_key_value(name))
            else {
                continue;
            };
            for to in &connection.to {
                let Some((to_name, _)) = to.component().and_then(|name| self.components.get_key_value(name))
                else {
                    continue;
                };
                let is_backward = matches!(kind_of(to), Some(PortKind::Publisher | PortKind::Emitter));
                let (first, second) = if is_backward { (from, to_name) } else { (to_name, from) };
                comes_after(Turn::Component(first), Turn::Component(second));
            }
        }
        for (name, component) in self.components.iter().filter(|_| has_dependencies) {
            comes_after(Turn::Begin(&component.process), Turn::Component(name));
            comes_after(Turn::Component(name), Turn::Done(&component.process));
        }
        for (name, process) in &self.processes {
            for other in &process.depends_on {
                comes_after(Turn::Begin(name), Turn::Done(name));
                comes_after(Turn::Begin(other), Turn::Done(other));
                comes_after(Turn::Done(other), Turn::Begin(name));
            }
        }
        let mut ready: BTreeSet<Turn<'_>> =
            missing.iter().filter(|(_, count)| **count == 0).map(|(turn, _)| *turn).collect();
        let mut order = Vec::new();
        while !missing.is_empty() {
            // A cycle is entered at the first name.
            let Some(next) = ready.pop_first().or_else(|| missing.keys().next().copied()) else { break };
            missing.remove(&next);
            if let Turn::Component(name) = next {
                order.push(name);
            }
            for later in after.get(&next).into_iter().flatten() {
                if let Some(count) = missing.get_mut(later) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        ready.insert(*later);
                    }
                }
            }
        }
        // What a cycle of connections has brought forward.
        let process = |name: &str| self.components.get(name).map_or("", |component| &component.process);
        let items: Vec<(&str, &str)> = order.into_iter().map(|name| (process(name), name)).collect();
        self.after_dependencies(&items)
    }

    fn services_at(&self, placement: Placement, at: &str) -> Vec<String> {
        let here = self
            .services
            .iter()
            .filter(|(_, service)| service.placement == placement && service.at.as_deref() == Some(at));
        here.map(|(name, _)| name.clone()).collect()
    }

    fn container_parts(&self, process: &str, components: &[(&str, Place<'_>)]) -> Vec<ContainerPart> {
        let of_process = self.containers.iter().filter(|(_, container)| container.process == process);
        let named = of_process.map(|(name, container)| (Some(name.as_str()), Some(container)));
        let has_other = components.iter().any(|(_, place)| place.container.is_none());
        let other = has_other.then_some((None, None));
        other
            .into_iter()
            .chain(named)
            .map(|(name, container)| ContainerPart {
                name: name.map(ToString::to_string),
                container: container.cloned(),
                services: name.map(|name| self.services_at(Placement::Container, name)).unwrap_or_default(),
                components: components
                    .iter()
                    .filter(|(_, place)| place.container == name)
                    .map(|(name, _)| name.to_string())
                    .collect(),
            })
            .collect()
    }

    /// The ends that each process provides to others, and those that it needs of them.
    fn endpoints<'p>(
        &'p self,
        layout: &Layout<'p>,
    ) -> BTreeMap<&'p str, (BTreeSet<Endpoint>, BTreeSet<Endpoint>)> {
        let mut endpoints: BTreeMap<&str, (BTreeSet<Endpoint>, BTreeSet<Endpoint>)> = BTreeMap::new();
        let process =
            |end: &End| end.component().and_then(|name| layout.place_of(name)).map(|place| place.process);
        for link in layout.links() {
            let (from, to) = (process(link.from), process(link.to));
            if from == to {
                continue;
            }
            if let Some(from) = from {
                endpoints.entry(from).or_default().1.insert(endpoint(&link, link.to));
            }
            if let Some(to) = to {
                endpoints.entry(to).or_default().0.insert(endpoint(&link, link.to));
                // An event from a topic is needed, too.
                if link.from.component().is_none() {
                    endpoints.entry(to).or_default().1.insert(endpoint(&link, link.from));
                }
            }
        }
        endpoints
    }
}

fn endpoint(link: &Link<'_>, end: &End) -> Endpoint {
    Endpoint { end: end.clone(), connection: link.name.to_string(), index: link.index, kind: link.kind }
}
