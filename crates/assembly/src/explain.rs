//! Which quality of service holds for each connection, and which scope it comes from.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::links::Link;
use crate::manifest::Catalogue;
use crate::plan::{End, FullPolicy, Plan, Port, Queue, ServiceKind};
use crate::qos::{Qos, Quality, Said, Scope, Side};

/// The effective service and QoS of a connection to one of its ends.
#[derive(Clone, PartialEq, Debug)]
pub struct Explained {
    /// The name of the connection.
    pub connection: String,
    /// The port where it begins.
    pub from: End,
    /// The port where it ends.
    pub to: End,
    /// The service that carries it.
    pub kind: ServiceKind,
    /// The service of the plan that carries it, if it names one.
    pub service: Option<String>,
    /// Why that, in words.
    pub because: String,
    /// The lane of the consumer's handler.
    pub lane: Option<String>,
    /// The filter of the connection.
    pub filter: Option<String>,
    /// The join that it leads to, in one line.
    pub join: Option<String>,
    /// Whether it carries nothing until it is resumed.
    pub is_suspended: bool,
    /// Every quality, in the order of [`Quality`].
    pub values: Vec<Holding>,
}

/// A value of quality that holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holding {
    /// Its name.
    pub quality: Quality,
    /// The effective value.
    pub value: Said,
    /// The scope that says it.
    pub scope: Scope,
    /// The path in the plan that says it; `None` for the default.
    pub path: Option<String>,
    /// The values of outer scopes that it overrides, the innermost first.
    pub overridden: Vec<(Scope, String, Said)>,
    /// Whether what carries the connection does what it says.
    pub is_carried_out: bool,
}

impl Plan {
    /// What holds for each connection to each of its ends, of one connection or of all. The type of events is known by the manifests, or for
    /// topics by the plan; without it, nothing of the scope event holds.
    pub fn explain(&self, types: &Catalogue, connection: Option<&str>) -> Vec<Explained> {
        let layout = self.layout();
        let links = layout.links().filter(|link| connection.is_none_or(|name| name == link.name));
        links
            .map(|link| Explained {
                connection: link.name.to_string(),
                from: link.from.clone(),
                to: link.to.clone(),
                kind: link.kind,
                service: link.service.map(ToString::to_string),
                because: link.reason.words().to_string(),
                lane: layout.lane_of(link.to).map(ToString::to_string),
                filter: link.connection.filter.clone(),
                join: self.port(link.to).and_then(Port::join_tree).map(|join| join.to_string()),
                is_suspended: link.connection.is_suspended,
                values: self.holding(&link, types),
            })
            .collect()
    }

    /// The entry of a port.
    fn port(&self, end: &End) -> Option<&Port> {
        let End::Port { component, port } = end else { return None };
        self.components.get(component)?.ports.get(port)
    }

    fn holding(&self, link: &Link<'_>, types: &Catalogue) -> Vec<Holding> {
        if is_call(self, link, types) {
            return Vec::new();
        }
        // From the outermost to the innermost.
        let mut scopes: Vec<(Scope, String, Qos)> = Vec::new();
        if let Some((name, service)) = link.service.and_then(|name| Some((name, self.services.get(name)?))) {
            scopes.push((Scope::Service, format!("service.{name}"), service.qos.clone()));
        }
        let path = format!("connection.{}", link.name);
        scopes.push((Scope::Connection, path, laid(&link.connection.qos, link.connection.queue.as_ref())));
        for (end, side) in [(link.from, Side::Publisher), (link.to, Side::Consumer)] {
            let End::Port { component, port } = end else { continue };
            if let Some(said) = self.port(end) {
                let mut qos = laid(&said.qos, said.queue.as_ref());
                qos.retain(|quality, _| quality.side() == side || *quality == Quality::RejectNewEvents);
                scopes.push((Scope::Port, format!("component.{component}.port.{port}"), qos));
            }
        }
        if let Some((name, qos)) =
            event_type(self, link, types).and_then(|name| Some((name, self.events.get(name)?)))
        {
            scopes.push((Scope::Event, format!("event.{name}"), qos.clone()));
        }
        Quality::all()
            .map(|quality| {
                let mut said = scopes.iter().rev().filter_map(|(scope, path, qos)| {
                    Some((*scope, path.clone(), qos.get(&quality)?.clone()))
                });
                let (scope, path, value) = match said.next() {
                    Some((scope, path, value)) => (scope, Some(path), value),
                    None => (Scope::Default, None, quality.default()),
                };
                let is_carried_out = quality.is_carried_out(link.kind, &value);
                Holding { quality, value, scope, path, overridden: said.collect(), is_carried_out }
            })
            .collect()
    }
}

/// QoS with what a queue says in its names.
fn laid(qos: &Qos, queue: Option<&Queue>) -> Qos {
    let mut qos = qos.clone();
    let Some(queue) = queue else { return qos };
    qos.insert(Quality::MaxEventsPerConsumer, Said::Number(queue.depth.into()));
    let discard = match queue.full {
        FullPolicy::DropOldest => "fifo",
        FullPolicy::DropNewest => "lifo",
        FullPolicy::DropLowestPriority => "priority",
        FullPolicy::DropLatestDeadline => "deadline",
        // No name of the service is for these: what is said is the name of ours.
        other => other.name(),
    };
    if queue.full == FullPolicy::Reject {
        qos.insert(Quality::RejectNewEvents, Said::Flag(true));
    } else {
        qos.insert(Quality::DiscardPolicy, Said::Word(discard.into()));
    }
    qos
}

/// Whether an end of a link is known to be about calls.
pub(crate) fn is_call(plan: &Plan, link: &Link<'_>, types: &Catalogue) -> bool {
    [link.from, link.to].into_iter().any(|end| {
        let End::Port { component, port } = end else { return false };
        let of_type = plan.components.get(component).and_then(|it| types.components.get(&it.component_type));
        of_type.and_then(|of_type| of_type.ports.get(port)).is_some_and(|port| port.kind.is_call())
    })
}

/// The type of the events of a link.
pub(crate) fn event_type<'t>(plan: &'t Plan, link: &Link<'_>, types: &'t Catalogue) -> Option<&'t str> {
    let of_end = |end: &End| match end {
        End::Topic(topic) => plan.topics.get(topic).map(|topic| topic.topic_type.as_str()),
        End::Port { component, port } => {
            let of_type = types.components.get(&plan.components.get(component)?.component_type)?;
            of_type.ports.get(port)?.port_type.as_deref()
        }
    };
    of_end(link.from).or_else(|| of_end(link.to))
}

impl fmt::Display for Explained {
    /// A line for the connection, and one for each quality that something is said of.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} → {} by {}", self.connection, self.from, self.to, self.kind)?;
        if let Some(service) = &self.service {
            write!(f, " ({service})")?;
        }
        write!(f, ", because {}", self.because)?;
        if let Some(lane) = &self.lane {
            write!(f, "; lane {lane}")?;
        }
        if let Some(filter) = &self.filter {
            write!(f, "; filter {filter}")?;
        }
        if let Some(join) = &self.join {
            write!(f, "; part of {join}")?;
        }
        if self.is_suspended {
            f.write_str("; suspended")?;
        }
        for holding in self.values.iter().filter(|holding| holding.scope != Scope::Default) {
            write!(f, "\n  {holding}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} from {}", self.quality, self.value, self.scope)?;
        if let Some(path) = &self.path {
            write!(f, " ({path})")?;
        }
        for (scope, path, said) in &self.overridden {
            write!(f, ", over {said} from {scope} ({path})")?;
        }
        if self.is_carried_out { Ok(()) } else { f.write_str("; not carried out") }
    }
}
