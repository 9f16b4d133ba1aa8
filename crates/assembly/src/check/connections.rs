//! Connections: their ends, the types and numbers of these, what carries them, what they filter.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use filter::Expression;

use super::Checker;
use crate::gateways::reaches;
use crate::links::Link;
use crate::manifest::PortKind;
use crate::plan::{Connection, End, FullPolicy, Placement, Queue, ServiceKind};
use crate::shape::meant;

impl Checker<'_> {
    pub(super) fn connections(&mut self) {
        let plan = self.plan;
        for (name, connection) in &plan.connections {
            let path = format!("connection.{name}");
            self.end(&format!("{path}.from"), &connection.from, true);
            if connection.to.is_empty() {
                self.wrong(&format!("{path}.to"), "a connection to nothing", "name a port or a topic");
            }
            let mut known = BTreeSet::new();
            for (index, to) in connection.to.iter().enumerate() {
                let path = format!("{path}.to.{index}");
                self.end(&path, to, false);
                if !known.insert(to) {
                    self.wrong(&path, format!("\"{to}\" is there twice"), "remove one of both");
                }
                self.fits(&path, connection, to);
            }
            self.service_of(&path, connection);
            self.queue(&path, connection.queue.as_ref());
            self.filter(&path, connection);
            self.required_of_service(&path, connection);
            self.suspended(&path, connection);
        }
        for (name, component) in &plan.components {
            for (port, said) in &component.ports {
                self.queue(&format!("component.{name}.port.{port}"), said.queue.as_ref());
            }
        }
        let links: Vec<Link<'_>> = self.layout.links().collect();
        for link in &links {
            self.carried(link);
            self.can_leave(link);
        }
        self.federated(&links);
        self.numbers(&links);
    }

    /// An end is there, and a connection may begin or end at it.
    fn end(&mut self, path: &str, end: &End, is_source: bool) {
        let (component, port) = match end {
            End::Topic(topic) => return self.needs(path, "topic", topic, &self.plan.topics),
            End::Port { component, port } => (component, port),
        };
        self.needs(path, "component", component, &self.plan.components);
        let Some(of_type) = self.type_of(component) else { return };
        match of_type.ports.get(port) {
            None => {
                let fitting = of_type.ports.iter().filter(|(_, port)| port.kind.is_source() == is_source);
                let list: Vec<&str> = fitting.map(|(name, _)| name.as_str()).collect();
                let otherwise = match list.as_slice() {
                    [] => format!("\"{component}\" has no port that would fit"),
                    list => format!("its ports that would fit: {}", list.join(", ")),
                };
                let remedy = meant(port, of_type.ports.keys().map(String::as_str), otherwise);
                self.wrong(path, format!("\"{component}\" has no port \"{port}\""), remedy);
            }
            Some(port) if port.kind == PortKind::Timer => {
                self.wrong(
                    path,
                    format!("\"{end}\" is a timer"),
                    "timers are not connected; a chain may begin at one",
                );
            }
            Some(port) if port.kind.is_source() != is_source => {
                let (where_it_is, remedy) = if is_source {
                    ("begin", "name a publisher, an emitter or a receptacle here, and this port in \"to\"")
                } else {
                    ("end", "name a consumer or a facet here, and this port in \"from\"")
                };
                let what = format!("\"{end}\" is a {}: no connection {where_it_is}s at one", port.kind);
                self.wrong(path, what, remedy);
            }
            Some(_) => {}
        }
    }

    /// Kinds and types of both ends suit each other.
    fn fits(&mut self, path: &str, connection: &Connection, to: &End) {
        let from = &connection.from;
        if let (End::Topic(_), End::Topic(_)) = (from, to) {
            return self.wrong(
                path,
                "a connection from a topic to a topic",
                "one end is a port of a component",
            );
        }
        let (from_port, to_port) = (self.port_type(from), self.port_type(to));
        let topic = [from, to].into_iter().any(|end| matches!(end, End::Topic(_)));
        let is_call = [from_port, to_port].into_iter().flatten().any(|port| port.kind.is_call());
        if topic && is_call {
            return self.wrong(path, "calls do not go through topics", "connect the receptacle to a facet");
        }
        if let (Some(left), Some(right)) = (from_port, to_port)
            && left.kind.is_source()
            && !right.kind.is_source()
            && left.kind.is_call() != right.kind.is_call()
        {
            let what = format!("\"{from}\" is a {}, and \"{to}\" is a {}", left.kind, right.kind);
            let fits = left.kind.fits().map(PortKind::name).unwrap_or_default();
            return self.wrong(path, what, format!("a {} goes to a {fits}", left.kind));
        }
        if let (Some(left), Some(right)) = (self.data_type(from), self.data_type(to))
            && left != right
        {
            let what = format!("\"{from}\" is of the type {left}, and \"{to}\" of the type {right}");
            self.wrong(path, what, self.others(from, &left));
        }
    }

    /// The type of what goes through an end.
    fn data_type(&self, end: &End) -> Option<String> {
        match end {
            End::Topic(topic) => self.plan.topics.get(topic).map(|topic| topic.topic_type.clone()),
            End::Port { .. } => self.port_type(end).and_then(|port| port.port_type.clone()),
        }
    }

    /// The ports that a port could be connected to.
    pub(super) fn others(&self, from: &End, data_type: &str) -> String {
        if self.problems.are_enough() {
            return String::new();
        }
        let fits = self.port_type(from).and_then(|port| port.kind.fits());
        let mut found = Vec::new();
        for (name, component) in &self.plan.components {
            let ports = self.types.components.get(&component.component_type).map(|of_type| &of_type.ports);
            for (port, of_port) in ports.into_iter().flatten() {
                let is_fitting =
                    of_port.port_type.as_deref() == Some(data_type) && Some(of_port.kind) == fits;
                if is_fitting && found.len() < 8 {
                    found.push(format!("{name}.{port}"));
                }
            }
        }
        if found.is_empty() {
            format!("no component of the plan has a port of the type {data_type} that would fit")
        } else {
            format!("ports of the type {data_type} that would fit: {}", found.join(", "))
        }
    }

    /// Programs can hand events of a type to other processes if they say so.
    fn can_leave(&mut self, link: &Link<'_>) {
        if !matches!(link.kind, ServiceKind::Dds | ServiceKind::Federated) {
            return;
        }
        for end in [link.from, link.to] {
            let Some(event) = self.port_type(end).filter(|port| !port.kind.is_call()) else { continue };
            let topics =
                end.component().and_then(|name| self.type_of(name)).and_then(|it| it.topics.as_ref());
            let (Some(event), Some(topics)) = (&event.port_type, topics) else { continue };
            if !topics.contains(event) {
                let what = format!("events of the type {event} cannot leave the program of \"{end}\"");
                let remedy = format!(
                    "list it in serve!(..., topics: [{event}]), build it, and describe it again: its manifest has {}",
                    if topics.is_empty() { "none".into() } else { topics.join(", ") }
                );
                self.wrong(&format!("connection.{}", link.name), what, remedy);
            }
        }
    }

    fn service_of(&mut self, path: &str, connection: &Connection) {
        let Some(said) = connection.service.as_deref() else { return };
        if self.plan.services.contains_key(said) || ServiceKind::named(said).is_some() {
            return;
        }
        let kinds = ServiceKind::NAMES.iter().copied();
        let known = kinds.chain(self.plan.services.keys().map(String::as_str));
        let remedy = meant(
            said,
            known,
            format!("write one of {}, or add [service.{said}]", ServiceKind::NAMES.join(", ")),
        );
        self.wrong(&format!("{path}.service"), format!("there is no service \"{said}\""), remedy);
    }

    fn queue(&mut self, path: &str, queue: Option<&Queue>) {
        let Some(queue) = queue else { return };
        if queue.wait.is_some() != (queue.full == FullPolicy::Block) {
            let what =
                if queue.wait.is_some() { "only block waits" } else { "it is not said how long block waits" };
            self.wrong(
                &format!("{path}.queue"),
                what,
                "full = \"block\" comes with wait = TIME, others without",
            );
        }
    }

    fn filter(&mut self, path: &str, connection: &Connection) {
        let Some(text) = &connection.filter else { return };
        let path = format!("{path}.filter");
        if self.port_type(&connection.from).is_some_and(|port| port.kind.is_call()) {
            return self.wrong(&path, "calls are not filtered", "take the filter out");
        }
        self.expression(&path, text, &connection.parameters, &connection.from);
    }

    /// A filter is an expression over the fields of the events of an end, as far as these are known.
    pub(super) fn expression(&mut self, path: &str, text: &str, parameters: &[String], end: &End) {
        // In a plain text of one line, what is wrong has a place of its own.
        let at = self.places.at(path);
        let source = self.problems.source.text;
        let inside = source.get(at + 1..).is_some_and(|rest| rest.starts_with(text));
        let place = |offset: usize| if inside { at + 1 + offset.min(text.len()) } else { at };
        let remedy = "docs/components.md says what filters look like";
        let expression = match Expression::parse(text) {
            Ok(expression) => expression,
            Err(error) => return self.problems.add(place(error.at), format!("the filter: {error}"), remedy),
        };
        if parameters.len() > expression.parameters() {
            let what = format!("the filter has {} parameters", expression.parameters());
            self.wrong(path, what, format!("{} are given", parameters.len()));
        }
        let event = self.data_type(end).and_then(|name| self.types.events.get(&name));
        let Some(event) = event.filter(|event| event.is_known) else { return };
        let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
        if let Err(error) = expression.compile(event, &parameters) {
            let fields = event.fields.keys().map(String::as_str);
            let list = fields.clone().collect::<Vec<_>>().join(", ");
            let otherwise = if list.is_empty() {
                "filters cannot compare fields of this type: its program lists none".into()
            } else {
                format!("fields are {list}; {remedy}")
            };
            let remedy = match &error.problem {
                filter::CompileProblem::UnknownField(field) => meant(field, fields, otherwise),
                _ => otherwise,
            };
            self.problems.add(place(error.at), format!("the filter: {error}"), remedy);
        }
    }

    /// The service of a link reaches from its one end to the other.
    fn carried(&mut self, link: &Link<'_>) {
        let path = format!(
            "connection.{}.{}",
            link.name,
            if link.connection.service.is_some() { "service" } else { "to" }
        );
        let place = |end: &End| end.component().and_then(|component| self.layout.place_of(component));
        let (from_place, to_place) = (place(link.from), place(link.to));
        let is_call = self.port_type(link.from).is_some_and(|port| port.kind.is_call());
        let is_one_process = match (from_place, to_place) {
            (Some(from), Some(to)) => from.process == to.process,
            _ => false,
        };
        let is_topic = matches!((link.from, link.to), (End::Topic(_), _) | (_, End::Topic(_)));
        if is_topic && link.kind != ServiceKind::Dds {
            self.wrong(&path, format!("{} does not reach a topic", link.kind), "write service = \"dds\"");
        } else if is_call
            && matches!(link.kind, ServiceKind::Channel | ServiceKind::Federated)
            && link.connection.service.is_some()
        {
            let what = format!("calls do not go through a service of the kind {}", link.kind);
            self.wrong(
                &path,
                what,
                "write direct within a process, and dds otherwise; or leave the service out",
            );
        } else if matches!(link.kind, ServiceKind::Direct | ServiceKind::Channel) && !is_one_process {
            let both = from_place.is_some() && to_place.is_some();
            if both {
                let what = format!(
                    "\"{}\" and \"{}\" are in different processes, and {} is within one",
                    link.from, link.to, link.kind
                );
                self.wrong(
                    &path,
                    what,
                    "write service = \"dds\" or \"federated\", or put both into one process",
                );
            }
        } else if let Some((service, at)) = self.is_elsewhere(link) {
            let what = format!("\"{}\" is at \"{at}\", and \"{}\" is not", service, link.to);
            let remedy =
                "name a service where the consumer is; placement = \"server\" is for all of a process";
            self.wrong(&path, what, remedy);
        } else if link.kind == ServiceKind::Direct && link.connection.queue.is_some() {
            let what = "direct calls the handler at once: there is no queue";
            self.wrong(
                &format!("connection.{}.queue", link.name),
                what,
                "take the queue out, or write service = \"channel\"",
            );
        }
    }

    /// The service of a link and the place that it serves, if the consumer is elsewhere.
    fn is_elsewhere(&self, link: &Link<'_>) -> Option<(&str, &str)> {
        let (name, service) = self.plan.services.get_key_value(link.service?)?;
        let (component, at) = (link.to.component()?, service.at.as_deref()?);
        let place = self.layout.place_of(component).filter(|_| link.kind == ServiceKind::Channel)?;
        let is_there = match service.placement {
            Placement::Component => component == at,
            Placement::Container => place.container == Some(at),
            Placement::Server => place.process == at,
        };
        (!is_there).then_some((name.as_str(), at))
    }

    /// Gateways lead from the one end of a federated connection to the other.
    fn federated(&mut self, links: &[Link<'_>]) {
        let plan = self.plan;
        let gateways = plan.gateways();
        for link in links.iter().filter(|link| link.kind == ServiceKind::Federated) {
            let process = |end: &End| Some(self.layout.place_of(end.component()?)?.process);
            let (Some(from), Some(to)) = (process(link.from), process(link.to)) else { continue };
            let (is_reached, looked) = reaches(&gateways, from, to);
            if !self.spend(looked) {
                return;
            }
            if is_reached {
                continue;
            }
            let service = |process: &str| gateways.get(process).and_then(|it| it.services.first());
            let remedy = match (service(from), service(to)) {
                (Some((name, of)), Some((peer, _))) => {
                    let ttl = of.ttl.unwrap_or(1);
                    format!("add \"{peer}\" to the peers of \"{name}\", or raise its ttl ({ttl})")
                }
                _ => "let the service have peers".into(),
            };
            let path = format!("connection.{}.to.{}", link.name, link.index);
            self.wrong(&path, format!("no gateways lead from \"{from}\" to \"{to}\""), remedy);
        }
    }

    /// How many connections a port has.
    fn numbers(&mut self, links: &[Link<'_>]) {
        let mut of_port: BTreeMap<&End, Vec<&Link<'_>>> = BTreeMap::new();
        for link in links {
            of_port.entry(link.from).or_default().push(link);
            of_port.entry(link.to).or_default().push(link);
        }
        if !self.knows_types() {
            return;
        }
        for (end, links) in &of_port {
            let Some(port) = self.port_type(end) else { continue };
            let most = match port.kind {
                PortKind::Emitter | PortKind::Receptacle => Some(1),
                PortKind::Multiplex => port.most,
                _ => None,
            };
            let count = u32::try_from(links.len()).unwrap_or(u32::MAX);
            let (Some(most), Some(last)) = (most.filter(|most| count > *most), links.last()) else {
                continue;
            };
            let path = format!("connection.{}.to.{}", last.name, last.index);
            let what = format!("\"{end}\" is a {} with {count} connections, and may have {most}", port.kind);
            let remedy = match port.kind {
                PortKind::Emitter => "remove the others; a publisher may have any number of consumers",
                _ => "remove the others",
            };
            self.wrong(&path, what, remedy);
        }
        let plan = self.plan;
        for (name, component) in &plan.components {
            let Some(of_type) = self.types.components.get(&component.component_type) else { continue };
            for (port, port_type) in &of_type.ports {
                let end = End::port(name.as_str(), port.as_str());
                if port_type.is_required && port_type.kind != PortKind::Timer && !of_port.contains_key(&end) {
                    let data_type = port_type.port_type.clone().unwrap_or_default();
                    let remedy = self.others(&end, &data_type);
                    let what = format!("the {} \"{end}\" has to be connected", port_type.kind);
                    self.wrong(&format!("component.{name}"), what, remedy);
                }
            }
        }
    }
}
