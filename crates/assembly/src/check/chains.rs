//! The paths of chains exist.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Checker;
use crate::explain::Holding;
use crate::manifest::PortKind;
use crate::plan::{Chain, Connection, End, Placement, ServiceKind};
use crate::qos::{Quality, Said};
use crate::shape::meant;

/// Ports of a chain.
const LONGEST: usize = 64;

/// The connections that lead to each end.
type Leading<'p> = BTreeMap<&'p End, Vec<&'p Connection>>;

impl Checker<'_> {
    pub(super) fn chains(&mut self) {
        let mut leading = Leading::new();
        for connection in self.plan.connections.values() {
            for to in &connection.to {
                leading.entry(to).or_default().push(connection);
            }
        }
        for (name, chain) in &self.plan.chains {
            self.chain(&format!("chain.{name}"), chain, &leading);
        }
        if !self.plan.chains.is_empty() {
            self.held();
        }
    }

    /// No limit of time is known where events are held, dropped for their age, lost, or give way to those of other connections, or are served by
    /// threads that are not those of a container.
    fn held(&mut self) {
        let plan = self.plan;
        let mut held: BTreeMap<End, Vec<(End, String, String)>> = BTreeMap::new();
        for link in plan.explain(self.types, None) {
            let is_against = |holding: &&Holding| match (holding.quality, &holding.value) {
                (Quality::StartTime | Quality::StopTime, Said::Time(time)) => *time > 0,
                (Quality::MaxQueueLength, Said::Number(most)) => *most > 0,
                (Quality::EventReliability | Quality::ConnectionReliability, Said::Word(word)) => {
                    link.kind == ServiceKind::Dds && word == "best-effort"
                }
                _ => false,
            };
            let said = link.values.iter().filter(|holding| holding.path.is_some()).find(is_against);
            let said = said.map(|said| format!("{} = {}", said.quality, said.value));
            // The analysis knows the threads of containers.
            let service = link.service.as_ref().and_then(|name| Some((name, plan.services.get(name)?)));
            let service = service
                .filter(|(_, it)| it.kind == ServiceKind::Channel && it.placement != Placement::Container);
            let placed =
                service.map(|(name, it)| format!("a service, {name}, with placement = {}", it.placement));
            if let Some(what) = said.or(placed) {
                held.entry(link.to).or_default().push((link.from, link.connection, what));
            }
        }
        for (name, chain) in plan.chains.iter().filter(|_| !held.is_empty()) {
            for (index, hop) in chain.path.windows(2).enumerate() {
                let [before, to] = hop else { continue };
                let comes = |(from, ..): &&(End, String, String)| {
                    from == before || (from.component().is_some() && from.component() == before.component())
                };
                let Some((_, connection, said)) = held.get(to).and_then(|links| links.iter().find(comes))
                else {
                    continue;
                };
                let what = format!("no limit is known behind the connection \"{connection}\": it has {said}");
                let remedy = "take that out, or end the chain before";
                self.wrong(&format!("chain.{name}.path.{}", index + 1), what, remedy);
            }
        }
    }

    fn chain(&mut self, path: &str, chain: &Chain, leading: &Leading<'_>) {
        if chain.path.is_empty() || chain.path.len() > LONGEST {
            let what = format!("a chain has 1 to {LONGEST} ports");
            return self.wrong(
                &format!("{path}.path"),
                what,
                "name the first port and what follows, up to the last",
            );
        }
        if chain.reaction.is_none() && chain.age.is_none() {
            self.wrong(path, "a chain without a limit", "add reaction = TIME or age = TIME");
        }
        let mut are_there = true;
        for (index, end) in chain.path.iter().enumerate() {
            are_there &= self.is_there(&format!("{path}.path.{index}"), end);
        }
        if !are_there {
            return;
        }
        let ends: usize = self.plan.connections.values().map(|connection| connection.to.len() + 1).sum();
        if !self.spend(ends * chain.path.len()) {
            return;
        }
        for (index, hop) in chain.path.windows(2).enumerate() {
            let [from, to] = hop else { continue };
            if let Err((what, remedy)) = self.hop(from, to, leading) {
                let what = format!("hop {} of the chain, from \"{from}\" to \"{to}\": {what}", index + 1);
                self.wrong(&format!("{path}.path.{}", index + 1), what, remedy);
            }
        }
    }

    fn is_there(&mut self, path: &str, end: &End) -> bool {
        let before = self.problems.count();
        match end {
            End::Topic(topic) => self.needs(path, "topic", topic, &self.plan.topics),
            End::Port { component, port } => {
                self.needs(path, "component", component, &self.plan.components);
                if let Some(of_type) = self.type_of(component)
                    && !of_type.ports.contains_key(port)
                {
                    let known = of_type.ports.keys().map(String::as_str);
                    let list = known.clone().collect::<Vec<_>>().join(", ");
                    let remedy = meant(port, known, format!("its ports are {list}"));
                    self.wrong(path, format!("\"{component}\" has no port \"{port}\""), remedy);
                }
            }
        }
        self.problems.count() == before
    }

    /// Whether something at one port leads to something at the next; or why not, and what would fit.
    fn hop(&self, from: &End, to: &End, leading: &Leading<'_>) -> Result<(), (String, String)> {
        let (from_kind, to_kind) = (self.kind_of(from), self.kind_of(to));
        let is_input = |kind: Option<PortKind>| kind.is_some_and(|kind| !kind.is_source());
        let leading = || leading.get(to).into_iter().flatten();
        // A component may be connected with itself.
        let is_connected = leading().any(|connection| connection.from == *from);
        if let (End::Port { component, port }, End::Port { component: other, port: next }) = (from, to)
            && component == other
            && !is_connected
        {
            let said = self.plan.components.get(component).and_then(|component| component.ports.get(next));
            if said.is_some_and(|said| said.samples.contains(port)) {
                return Ok(());
            }
            // Within a component: from what calls its handler to what that handler uses.
            if from_kind.is_some_and(PortKind::is_source) || to_kind.is_some_and(|kind| !kind.is_source()) {
                let remedy = "within a component a chain goes from a consumer, facet or timer to a publisher, emitter or receptacle, or from a consumer to a port that samples it";
                return Err(("nothing goes this way within a component".to_string(), remedy.to_string()));
            }
            return if self.triggers(from, next) {
                Ok(())
            } else {
                let triggered = self.triggered(from).join(", ");
                Err((
                    format!("the handler of \"{port}\" does not use \"{next}\""),
                    format!(
                        "by its manifest it uses: {}",
                        if triggered.is_empty() { "nothing" } else { &triggered }
                    ),
                ))
            };
        }
        // Between two: by a connection, from this port or from one that its handler uses.
        let leads = |source: &End| match (from, source) {
            _ if source == from => true,
            (End::Port { component, .. }, End::Port { component: other, port }) => {
                component == other && !from_kind.is_some_and(PortKind::is_source) && self.triggers(from, port)
            }
            _ => false,
        };
        if leading().any(|connection| leads(&connection.from)) {
            return Ok(());
        }
        let connections = self.plan.connections.values();
        let onward: Vec<String> = connections
            .filter(|connection| leads(&connection.from))
            .flat_map(|connection| connection.to.iter())
            .take(8)
            .map(ToString::to_string)
            .collect();
        let backward: Vec<String> = leading().map(|connection| connection.from.to_string()).take(8).collect();
        let list = |ends: Vec<String>| if ends.is_empty() { "nowhere".to_string() } else { ends.join(", ") };
        let mut remedy = format!("from there connections lead to {}", list(onward));
        if is_input(to_kind) || to_kind.is_none() {
            remedy = format!("{remedy}; \"{to}\" is reached from {}", list(backward));
        }
        Err(("no connection leads there".to_string(), remedy))
    }

    fn kind_of(&self, end: &End) -> Option<PortKind> {
        self.port_type(end).map(|port| port.kind)
    }

    /// Whether the handler of a port may use another port of its component; it may if nothing is known.
    pub(super) fn triggers(&self, from: &End, port: &str) -> bool {
        let known = self.port_type(from).and_then(|port| port.triggers.as_ref());
        known.is_none_or(|known| known.iter().any(|known| known == port))
    }

    /// The ports that the handler of a port may use.
    fn triggered(&self, from: &End) -> Vec<String> {
        self.port_type(from).and_then(|port| port.triggers.clone()).unwrap_or_default()
    }
}
