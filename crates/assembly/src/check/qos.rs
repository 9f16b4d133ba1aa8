//! QoS stands in scopes where it means something.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use diagnostics::{Problem, Source};

use super::Checker;
use crate::manifest::{Catalogue, PortKind};
use crate::places::Places;
use crate::plan::{End, Plan, ServiceKind};
use crate::qos::{Qos, Quality, Said, Scope, Side};

/// Every place of QoS, with its path.
fn all(plan: &Plan) -> impl Iterator<Item = (String, Scope, &Qos)> {
    let services =
        plan.services.iter().map(|(name, it)| (format!("service.{name}.qos"), Scope::Service, &it.qos));
    let connections = plan
        .connections
        .iter()
        .map(|(name, it)| (format!("connection.{name}.qos"), Scope::Connection, &it.qos));
    let ports = plan.components.iter().flat_map(|(name, it)| {
        it.ports
            .iter()
            .map(move |(port, it)| (format!("component.{name}.port.{port}.qos"), Scope::Port, &it.qos))
    });
    let events = plan.events.iter().map(|(name, qos)| (format!("event.{name}.qos"), Scope::Event, qos));
    services.chain(connections).chain(ports).chain(events)
}

/// Qualities that what carries a connection does not carry out.
pub(super) fn notes(plan: &Plan, source: Source<'_>, places: &Places, types: &Catalogue) -> Vec<Problem> {
    let mut told: BTreeSet<(String, ServiceKind)> = BTreeSet::new();
    let mut notes = Vec::new();
    for link in plan.explain(types, None) {
        for holding in link.values.iter().filter(|holding| !holding.is_carried_out) {
            let (Some(path), quality) = (&holding.path, holding.quality) else { continue };
            let path = format!("{path}.qos.{quality}");
            if told.insert((path.clone(), link.kind)) {
                let what =
                    format!("{quality} is not carried out for {}, which is {}", link.connection, link.kind);
                notes.push(source.problem(places.at(&path), what, "it changes nothing there"));
            }
        }
    }
    notes.sort_by_key(|note| note.place);
    notes
}

impl Checker<'_> {
    pub(super) fn qos(&mut self) {
        for (path, scope, qos) in all(self.plan) {
            for quality in qos.keys().filter(|quality| !quality.is_in(scope)) {
                let scopes = Scope::NAMES.iter().filter_map(|name| Scope::named(name));
                let fitting: Vec<&str> =
                    scopes.filter(|scope| quality.is_in(*scope)).map(Scope::name).collect();
                let what = format!("{quality} means nothing in the scope {scope}");
                self.wrong(
                    &format!("{path}.{quality}"),
                    what,
                    format!("it may be said at: {}", fitting.join(", ")),
                );
            }
        }
        self.ends();
        let plan = self.plan;
        for (event, qos) in &plan.events {
            if let (Some(Said::Time(start)), Some(Said::Time(stop))) =
                (qos.get(&Quality::StartTime), qos.get(&Quality::StopTime))
                && stop <= start
            {
                let what = "nothing would be delivered: events are held until then, and dropped before";
                let path = format!("event.{event}.qos.{}", Quality::StopTime);
                self.wrong(&path, what, "let stop-time be later than start-time");
            }
        }
        for (name, component) in &plan.components {
            for (port, said) in &component.ports {
                let path = format!("component.{name}.port.{port}");
                self.side(&path, &End::port(name.as_str(), port.as_str()), &said.qos);
                self.both(&path, said.queue.is_some(), &said.qos);
            }
        }
        for (name, connection) in &plan.connections {
            self.both(&format!("connection.{name}"), connection.queue.is_some(), &connection.qos);
        }
        if self.knows_types() && !self.types.events.is_empty() {
            for event in plan.events.keys().filter(|event| !self.types.events.contains_key(*event)) {
                let known = self.types.events.keys().map(String::as_str);
                let remedy = crate::shape::meant(event, known, "manifests list the types of events".into());
                self.wrong(
                    &format!("event.{event}"),
                    format!("no manifest has an event type \"{event}\""),
                    remedy,
                );
            }
        }
    }

    /// A channel has no more consumers and publishers than it may: that of a service all of its connections, that of a connection its own.
    fn ends(&mut self) {
        let plan = self.plan;
        // By service: publishers and consumers.
        let mut of: BTreeMap<&str, [BTreeSet<&End>; 2]> = BTreeMap::new();
        for (name, connection) in &plan.connections {
            let own = [BTreeSet::from([&connection.from]), connection.to.iter().collect()];
            self.has_room(&format!("connection.{name}.qos"), &connection.qos, &own);
            if let Some(service) = &connection.service {
                let [publishers, consumers] = of.entry(service).or_default();
                publishers.insert(&connection.from);
                consumers.extend(&connection.to);
            }
        }
        for (name, service) in &plan.services {
            if let Some(ends) = of.get(name.as_str()) {
                self.has_room(&format!("service.{name}.qos"), &service.qos, ends);
            }
        }
    }

    /// Tells if there are more publishers or consumers than QoS says.
    fn has_room(&mut self, path: &str, qos: &Qos, ends: &[BTreeSet<&End>; 2]) {
        let kinds = [(Quality::MaxSuppliers, "publishers"), (Quality::MaxConsumers, "consumers")];
        for ((quality, what), ends) in kinds.into_iter().zip(ends) {
            let most = match qos.get(&quality) {
                Some(Said::Number(most)) => usize::try_from(*most).unwrap_or(0),
                _ => 0,
            };
            if most > 0 && ends.len() > most {
                let count = ends.len();
                let what = format!("the channel has {count} {what}, and {quality} is {most}");
                self.wrong(&format!("{path}.{quality}"), what, "raise it, or take connections out");
            }
        }
    }

    /// A quality that one kind of port decides is not set at the other kind.
    fn side(&mut self, path: &str, end: &End, qos: &Qos) {
        let Some(port) = self.port_type(end) else { return };
        let side = match port.kind {
            PortKind::Publisher | PortKind::Emitter => Side::Publisher,
            PortKind::Consumer => Side::Consumer,
            _ if qos.is_empty() => return,
            kind => {
                let what = format!("a {kind} has no QoS of events");
                return self.wrong(&format!("{path}.qos"), what, "take it out");
            }
        };
        for quality in qos.keys().filter(|quality| quality.is_in(Scope::Port) && quality.side() != side) {
            let what =
                format!("{quality} is decided by the {}, and \"{end}\" is a {}", quality.side(), port.kind);
            self.wrong(
                &format!("{path}.qos.{quality}"),
                what,
                "say it at the other port, or at the connection",
            );
        }
    }

    /// A queue says the same as some names of QoS: only one of both may be there.
    fn both(&mut self, path: &str, has_queue: bool, qos: &Qos) {
        let same = [Quality::MaxEventsPerConsumer, Quality::DiscardPolicy, Quality::RejectNewEvents];
        for quality in same.into_iter().filter(|quality| has_queue && qos.contains_key(quality)) {
            let what = format!("{quality} is said twice: a queue says it, too");
            self.wrong(&format!("{path}.qos.{quality}"), what, "keep the queue or the names of QoS");
        }
    }
}
