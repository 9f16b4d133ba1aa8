//! Connections: between two ports, or to a service by one connection and from it by another.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use diagnostics::Source;

use super::Import;
use super::events::Filter;
use super::instances::Known;
use super::names::plain;
use super::xml::{Element, at, elements, first, name, named, reference, text_of};
use crate::plan::{Connection, End, Join, Topic};
use crate::tree::Problems;

/// The most connections that are made: publishers of a service times its consumers.
const MOST: usize = 8_192;

/// One end of a connection through a service.
struct Half {
    name: String,
    end: End,
    place: usize,
    /// The filter that its requirement names, and where.
    filter: Option<(String, usize)>,
}

/// The publishers and the consumers of a service.
#[derive(Default)]
struct Through {
    publishers: Vec<Half>,
    consumers: Vec<Half>,
}

/// Consumers whose handler is called once all of their publishers have sent something: the connections that lead to each.
type Collecting = BTreeMap<End, Vec<String>>;

/// The publishers whose events a consumer gets.
struct Wanted {
    publishers: Vec<String>,
    /// An event of each is collected first.
    collects: bool,
}

/// An end with what its descriptor says of it.
struct Side {
    end: End,
    is_source: bool,
}

impl Import {
    pub(super) fn connections(
        &mut self,
        source: Source<'_>,
        root: Element<'_>,
        known: &Known,
        problems: &mut Problems<'_>,
    ) {
        let mut through: BTreeMap<String, Through> = BTreeMap::new();
        for element in named(root, "connection") {
            self.connection(source, element, known, &mut through);
        }
        let mut count = 0_usize;
        for (service, halves) in &through {
            let reached = self.reached(service);
            let consumers = reached.iter().filter_map(|name| through.get(name)).map(|it| it.consumers.len());
            count = count.saturating_add(halves.publishers.len().saturating_mul(consumers.sum()));
        }
        if count > MOST {
            let what =
                format!("publishers and consumers of services make {count} connections, more than {MOST}");
            problems.add(at(root), what, "split the plan");
            return;
        }
        let mut supplied: BTreeSet<String> = BTreeSet::new();
        let mut collecting = Collecting::new();
        for (service, halves) in &through {
            if !self.services.known.contains_key(service) {
                self.with_topic(source, service, halves);
                supplied.insert(service.clone());
                continue;
            }
            self.join(source, service, &through, &mut collecting);
            if !halves.publishers.is_empty() {
                supplied.extend(self.reached(service));
            }
        }
        self.collect(collecting);
        for (service, halves) in through.iter().filter(|(service, _)| !supplied.contains(*service)) {
            for consumer in &halves.consumers {
                let what = format!("nothing is published to \"{service}\" for \"{}\"", consumer.end);
                self.leave(source, consumer.place, what, "connect a publisher");
            }
        }
    }

    /// Ports that collect get a join of the connections that lead to them.
    fn collect(&mut self, collecting: Collecting) {
        for (end, parts) in collecting {
            let End::Port { component, port } = end else { continue };
            if let Some(component) = self.plan.components.get_mut(&component) {
                component.ports.entry(port).or_default().join = Some(Join { parts, ..Join::default() });
            }
        }
    }

    /// A service of the events descriptor, and its peers: what is published to it comes to the consumers of all of these.
    fn reached(&self, service: &String) -> Vec<String> {
        let called = self.services.known.get(service).and_then(|known| known.service.as_ref());
        let peers = called.and_then(|name| self.plan.services.get(name)).map(|service| &service.peers);
        let of_peer = |peer: &String| {
            let mut known = self.services.known.iter();
            known.find(|(_, known)| known.service.as_ref() == Some(peer)).map(|(name, _)| name.clone())
        };
        core::iter::once(service.clone()).chain(peers.into_iter().flatten().filter_map(of_peer)).collect()
    }

    fn connection(
        &mut self,
        source: Source<'_>,
        element: Element<'_>,
        known: &Known,
        through: &mut BTreeMap<String, Through>,
    ) {
        let called = text_of(element, "name").unwrap_or_default();
        let mut sides = Vec::new();
        for inner in named(element, "internalEndpoint") {
            match self.side(inner, known) {
                Some(side) => sides.push(side),
                None => {
                    let what = "an endpoint of no instance, or without a port or a kind that is known";
                    self.leave(source, at(inner), what, "add the connection by hand");
                }
            }
        }
        for inner in named(element, "externalEndpoint") {
            let what = "a port of the assembly itself has no place in a plan";
            self.leave(source, at(inner), what, "connect what is outside to the port inside, or to a topic");
        }
        let requirements: Vec<Element<'_>> = named(element, "deployRequirement").collect();
        let mut filter = None;
        for inner in requirements {
            let resource = text_of(inner, "resourceType").unwrap_or_default();
            if resource == "EventFilter" {
                filter = text_of(inner, "name").map(|name| (name, at(inner)));
            } else if !resource.is_empty() && resource.len() <= 128 {
                let what =
                    format!("the connection requires \"{}\" of what it goes over", resource.escape_debug());
                let remedy =
                    "add [service.NAME] with that among its resources, name it by service, and say requires";
                self.leave(source, at(inner), what, remedy);
            } else {
                self.leave(source, at(inner), "a requirement without a resource", "add it by hand");
            }
        }
        let reference = first(element, "externalReference").and_then(|inner| text_of(inner, "location"));
        let others = [
            "name",
            "internalEndpoint",
            "externalEndpoint",
            "deployRequirement",
            "externalReference",
            "source",
        ];
        for inner in elements(element).filter(|inner| !others.contains(&name(*inner))) {
            let what = format!("<{}> of <connection> has no place in a plan", name(inner));
            self.leave(source, at(inner), what, "say what is required by requires");
        }
        if let Some(service) = reference {
            for side in sides {
                let half =
                    Half { name: called.clone(), end: side.end, place: at(element), filter: filter.clone() };
                let halves = through.entry(service.clone()).or_default();
                if side.is_source { halves.publishers.push(half) } else { halves.consumers.push(half) }
            }
            return;
        }
        if let Some((filter, place)) = filter {
            let what = format!("the filter \"{filter}\" is at a connection without a service");
            self.leave(source, place, what, "write filter = \"...\" over the fields of the event");
        }
        let (from, to): (Vec<Side>, Vec<Side>) = sides.into_iter().partition(|side| side.is_source);
        match (from.as_slice(), to.is_empty()) {
            ([from], false) => {
                let to = to.into_iter().map(|side| side.end).collect();
                let said = Connection { from: from.end.clone(), to, ..Connection::default() };
                self.add(&called, at(element), said);
            }
            _ => self.leave(
                source,
                at(element),
                format!("the connection \"{called}\" does not go from one port to others"),
                "a connection has one publisher, emitter or receptacle, and consumers or facets",
            ),
        }
    }

    /// Adds a connection: its name in the plan.
    fn add(&mut self, called: &str, place: usize, connection: Connection) -> String {
        let name = self.names.fresh("connection", called);
        self.places.note(format!("connection.{name}"), place);
        self.plan.connections.insert(name.clone(), connection);
        name
    }

    fn side(&mut self, element: Element<'_>, known: &Known) -> Option<Side> {
        let port = plain(&text_of(element, "portName")?);
        let component = known.components.get(&named(element, "instance").find_map(reference)?)?;
        let kind = text_of(element, "kind").unwrap_or_default();
        let is_source = match kind.as_str() {
            "Facet" | "EventConsumer" => false,
            "SimplexReceptacle" | "MultiplexReceptacle" | "EventEmitter" | "EventPublisher" => true,
            _ => text_of(element, "provider")? != "true",
        };
        Some(Side { end: End::port(component.as_str(), port), is_source })
    }

    /// Connections from what publishes to a service.
    fn join(
        &mut self,
        source: Source<'_>,
        service: &String,
        through: &BTreeMap<String, Through>,
        collecting: &mut Collecting,
    ) {
        let Some(halves) = through.get(service) else { return };
        let known = self.services.known.get(service).and_then(|known| known.service.clone());
        let plan_service = known.unwrap_or_else(|| "direct".to_string());
        let publishers = || halves.publishers.iter().map(|half| half.end.component().unwrap_or_default());
        let all: Vec<String> = publishers().map(ToString::to_string).collect();
        // Consumers with the filter that decides whose events they get.
        let mut of_publisher: BTreeMap<usize, Vec<End>> = BTreeMap::new();
        let mut collectors: BTreeSet<&End> = BTreeSet::new();
        for reached in self.reached(service) {
            for consumer in through.get(&reached).into_iter().flat_map(|halves| &halves.consumers) {
                let wanted = self.wanted_by(source, &reached, consumer, &all);
                if wanted.collects {
                    collectors.insert(&consumer.end);
                }
                for (number, publisher) in publishers().enumerate() {
                    if wanted.publishers.iter().any(|name| name == publisher) {
                        of_publisher.entry(number).or_default().push(consumer.end.clone());
                    }
                }
            }
        }
        for (number, publisher) in halves.publishers.iter().enumerate() {
            if let Some((name, place)) = &publisher.filter {
                let what = format!("the filter \"{name}\" is at a publisher");
                self.leave(source, *place, what, "filters belong to consumers");
            }
            let Some(to) = of_publisher.remove(&number) else {
                let what = format!("no consumer gets what \"{}\" publishes to \"{service}\"", publisher.end);
                self.leave(source, publisher.place, what, "connect a consumer");
                continue;
            };
            let collected: Vec<End> = to.iter().filter(|end| collectors.contains(end)).cloned().collect();
            let said = Connection {
                from: publisher.end.clone(),
                to,
                service: Some(plan_service.clone()),
                ..Connection::default()
            };
            let name = self.add(&publisher.name, publisher.place, said);
            for end in collected {
                collecting.entry(end).or_default().push(name.clone());
            }
        }
    }

    /// The publishers of a service whose events a consumer gets.
    fn wanted_by(&mut self, source: Source<'_>, service: &str, consumer: &Half, all: &[String]) -> Wanted {
        let everything = || Wanted { publishers: all.to_vec(), collects: false };
        let Some((name, place)) = &consumer.filter else { return everything() };
        let filter = self.services.known.get(service).and_then(|known| known.filters.get(name)).cloned();
        match filter.map(|filter| wanted(&filter, all)) {
            Some(Ok(wanted)) => {
                if wanted.collects {
                    let what = format!(
                        "the filter \"{name}\" becomes a join that keeps the first event of each source"
                    );
                    let why =
                        "the service of CIAO hands over all that it has collected: keep = \"all\" does that";
                    self.leave(source, *place, what, why);
                }
                return wanted;
            }
            Some(Err(why)) => {
                self.leave(source, *place, format!("the filter \"{name}\" has no place in a plan"), &why);
            }
            None => {
                let what = format!("the service \"{service}\" has no filter \"{name}\"");
                self.leave(source, *place, what, "the consumer gets all events");
            }
        }
        everything()
    }

    /// An end outside of the plan is a topic of DDS.
    fn with_topic(&mut self, source: Source<'_>, location: &str, halves: &Through) {
        let topic = self.names.fresh("topic", location);
        let said =
            Topic { topic: Some(location.to_string()), topic_type: "unknown".to_string(), domain: None };
        self.plan.topics.insert(topic.clone(), said);
        for half in halves.publishers.iter().chain(&halves.consumers) {
            let what = format!("\"{location}\" is no service of an events descriptor, and becomes a topic");
            self.leave(source, half.place, what, "say of which type it is");
        }
        for publisher in &halves.publishers {
            let to = [End::Topic(topic.clone())].into();
            let said = Connection { from: publisher.end.clone(), to, ..Connection::default() };
            self.add(&publisher.name, publisher.place, said);
        }
        for consumer in &halves.consumers {
            let from = End::Topic(topic.clone());
            let said = Connection { from, to: [consumer.end.clone()].into(), ..Connection::default() };
            self.add(&consumer.name, consumer.place, said);
        }
    }
}

/// The publishers whose events pass a filter over sources; or why that cannot be said by connections.
fn wanted(filter: &Filter, all: &[String]) -> Result<Wanted, String> {
    let of = |passes: &dyn Fn(&String) -> bool, collects| {
        Ok(Wanted { publishers: all.iter().filter(|name| passes(name)).cloned().collect(), collects })
    };
    let is_source = |name: &String| filter.sources.contains(name);
    let kind = filter.kind.as_str();
    if kind.starts_with("disj") || (kind.starts_with("and") && filter.sources.len() == 1) {
        return of(&is_source, false);
    }
    if kind.starts_with("neg") {
        return of(&|name| !is_source(name), false);
    }
    if !kind.starts_with("conj") {
        return Err(format!("no event is of several sources at once ({kind}); the consumer gets all events"));
    }
    if let Some(missing) = filter.sources.iter().find(|name| !all.contains(name)) {
        return Err(format!(
            "it waits for an event of \"{missing}\", which publishes nothing to the service; the consumer gets all events"
        ));
    }
    of(&is_source, filter.sources.len() > 1)
}
