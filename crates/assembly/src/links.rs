//! Where components are, and what carries each connection to each of its ends.
use alloc::collections::BTreeMap;

use crate::plan::{Component, Connection, End, Plan, Port, ServiceKind, Timing};

/// Where a component is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place<'p> {
    /// Its host; `None` if neither it nor its process says one.
    pub host: Option<&'p str>,
    /// Its process.
    pub process: &'p str,
    /// Its container; `None` is that of the process for all without one.
    pub container: Option<&'p str>,
}

/// Why a service of a kind carries a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The connection says so.
    Said,
    /// Both ends are in one container.
    SameContainer,
    /// Both ends are in one container, and the consumer has a queue or a lane of its own.
    Queued,
    /// Both ends are in one process.
    SameProcess,
    /// The ends are in different processes.
    DifferentProcess,
    /// One end is a topic.
    Topic,
}

impl Reason {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Said => "the connection says so",
            Self::SameContainer => "both ends are in one container",
            Self::Queued => "both ends are in one container, and the consumer has a queue or another lane",
            Self::SameProcess => "both ends are in one process",
            Self::DifferentProcess => "the ends are in different processes",
            Self::Topic => "one end is a topic",
        }
    }
}

/// A connection to one of its ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link<'p> {
    /// The name of the connection.
    pub name: &'p str,
    /// The connection.
    pub connection: &'p Connection,
    /// Which of its ends, from 0.
    pub index: usize,
    /// The port where it begins.
    pub from: &'p End,
    /// The port where it ends.
    pub to: &'p End,
    /// The service that carries it.
    pub kind: ServiceKind,
    /// The service of the plan that carries it, if the connection names one.
    pub service: Option<&'p str>,
    /// Why that service carries it.
    pub reason: Reason,
}

/// Where everything of a plan is.
#[derive(Clone, Debug)]
pub struct Layout<'p> {
    plan: &'p Plan,
    /// Hosts of processes: those with a table, and those that components name.
    processes: BTreeMap<&'p str, Option<&'p str>>,
}

impl Plan {
    /// The host, process and container of everything.
    pub fn layout(&self) -> Layout<'_> {
        let mut processes: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        for (name, process) in &self.processes {
            processes.insert(name, process.host.as_deref());
        }
        for component in self.components.values() {
            let known = processes.entry(&component.process).or_insert(None);
            *known = known.or(component.host.as_deref());
        }
        Layout { plan: self, processes }
    }
}

impl<'p> Layout<'p> {
    /// All processes, with their hosts as far as these are known.
    pub const fn processes(&self) -> &BTreeMap<&'p str, Option<&'p str>> {
        &self.processes
    }

    /// The host of a process, if there is such a process and its host is known.
    pub fn host_of(&self, process: &str) -> Option<&'p str> {
        self.processes.get(process).copied().flatten()
    }

    /// Where a component is; `None` if there is no such component.
    pub fn place_of(&self, component: &str) -> Option<Place<'p>> {
        self.plan.components.get(component).map(|component| self.place(component))
    }

    pub(crate) fn place(&self, component: &'p Component) -> Place<'p> {
        Place {
            host: component.host.as_deref().or_else(|| self.host_of(&component.process)),
            process: &component.process,
            container: component.container.as_deref(),
        }
    }

    /// The lane that calls the handler of a port; `None` if that is the thread of the container, or there is no such component.
    pub fn lane_of(&self, end: &End) -> Option<&'p str> {
        let End::Port { component, port } = end else { return None };
        let component = self.plan.components.get(component)?;
        let container = component.container.as_ref().and_then(|name| self.plan.containers.get(name));
        let of_port = component.ports.get(port).and_then(|port| port.lane.as_deref());
        of_port.or(component.lane.as_deref()).or_else(|| container?.lane.as_deref())
    }

    /// Every connection to each of its ends, in the order of names.
    pub fn links(&self) -> impl Iterator<Item = Link<'p>> {
        self.plan.connections.iter().flat_map(move |(name, connection)| {
            let ends = connection.to.iter().enumerate();
            ends.map(move |(index, to)| {
                let (kind, service, reason) = self.carrier(connection, to);
                Link { name, connection, index, from: &connection.from, to, kind, service, reason }
            })
        })
    }

    fn carrier(&self, connection: &'p Connection, to: &End) -> (ServiceKind, Option<&'p str>, Reason) {
        if let Some(said) = connection.service.as_deref() {
            if let Some(service) = self.plan.services.get(said) {
                return (service.kind, Some(said), Reason::Said);
            }
            if let Some(kind) = ServiceKind::named(said) {
                return (kind, None, Reason::Said);
            }
        }
        let place = |end: &End| end.component().and_then(|component| self.place_of(component));
        let (Some(from_place), Some(to_place)) = (place(&connection.from), place(to)) else {
            return (ServiceKind::Dds, None, Reason::Topic);
        };
        if from_place.process != to_place.process {
            (ServiceKind::Dds, None, Reason::DifferentProcess)
        } else if from_place.container != to_place.container {
            (ServiceKind::Channel, None, Reason::SameProcess)
        } else if connection.queue.is_some()
            || self.port_of(to).is_some_and(|port| port.queue.is_some() || port.join.is_some())
            || self.lane_of(&connection.from) != self.lane_of(to)
        {
            (ServiceKind::Channel, None, Reason::Queued)
        } else {
            (ServiceKind::Direct, None, Reason::SameContainer)
        }
    }

    /// The timer in logical execution time whose handler reads, at the timer's instants, what has come to a port.
    pub fn read_at_instants(&self, end: &End) -> Option<(&'p str, &'p Port)> {
        let End::Port { component, port } = end else { return None };
        let mut ports = self.plan.components.get(component)?.ports.iter();
        let (name, reader) = ports.find(|(_, it)| it.timing == Timing::Let && it.samples.contains(port))?;
        Some((name, reader))
    }

    /// Whether there is one.
    pub(crate) fn is_read_at_instants(&self, end: &End) -> bool {
        self.read_at_instants(end).is_some()
    }

    /// The port's entry in the plan, if there is one.
    pub(crate) fn port_of(&self, end: &End) -> Option<&'p Port> {
        let End::Port { component, port } = end else { return None };
        self.plan.components.get(component)?.ports.get(port)
    }
}
