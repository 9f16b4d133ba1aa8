//! Connections: which ports belong together, and by which service.
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::calls::AnyFacet;
use crate::channel_service::Core;
use crate::error::ServerError;
use crate::event::{AnyLink, EventType};
use crate::ports::{AttachError, Outlet};
use crate::server::Server;
use crate::service::{End, Joined, Route, Service};

/// A connection that is there.
pub(crate) struct Connected {
    number: u32,
    pub(crate) name: String,
    /// `instance.port`.
    from: Vec<String>,
    to: Vec<String>,
    /// The components at `to` are called while those at `from` wait.
    is_call: bool,
    pub(crate) end: Option<Box<dyn End>>,
}

impl Connected {
    /// Whether a port of this instance is connected by it.
    pub(crate) fn is_of(&self, instance: &str) -> bool {
        self.from.iter().chain(&self.to).any(|port| instance_of(port) == instance)
    }
}

fn instance_of(port: &str) -> &str {
    port.split('.').next().unwrap_or_default()
}

/// A port that publishes, with its component.
struct Publishes {
    event: &'static dyn EventType,
    is_single: bool,
    is_complete: bool,
}

impl Server {
    /// Connects ports that publish with ports that consume, all as `instance.port`. A service of its own kind may have no ports on one of
    /// both sides.
    ///
    /// # Errors
    /// Names, types, the number of consumers, or the service are wrong; then nothing is connected.
    pub fn connect(
        &mut self,
        name: &str,
        from: &[&str],
        to: &[&str],
        service: &dyn Service,
    ) -> Result<(), ServerError> {
        self.check_name(name)?;
        let mut targets = Vec::new();
        for port in to {
            let (inlet, container) = self.inlet(port)?;
            let inlet = self.kept(name, port, inlet);
            targets.push((self.inlet_of(name, port, inlet), container));
        }
        let mut event: Option<(&str, &'static dyn EventType)> = None;
        for port in from {
            let publishes = self.publishes(port)?;
            same(&mut event, port, publishes.event)?;
            if publishes.is_single && (publishes.is_complete || to.len() > 1) {
                return Err(ServerError::Single(port.to_string()));
            }
        }
        for (port, (inlet, _)) in to.iter().zip(&targets) {
            same(&mut event, port, inlet.0.event())?;
        }
        let (_, event) = event.ok_or_else(|| ServerError::Empty(name.to_owned()))?;
        let is_followed = self.is_followed(name);
        let event = if is_followed { event.stamped() } else { event };
        let is_call = service.is_call() && !targets.iter().all(|(inlet, _)| inlet.0.keeps());
        if is_call {
            self.check_circle(from, to)?;
        }
        let sources: Vec<String> = from.iter().map(|port| port.to_string()).collect();
        let route = Route {
            connection: name,
            event,
            sources: &sources,
            targets: &targets,
            clock: &self.clock,
            clocks: &self.clocks,
            is_followed,
            is_held: self.is_holding,
            reports: &self.reports,
        };
        let joined = service.connect(&route);
        let Joined { links, end } =
            joined.map_err(|error| ServerError::Service { connection: name.to_owned(), error })?;
        let number = self.enter(name, from, to, is_call, Some(end));
        for (port, links) in from.iter().zip(links) {
            for link in links {
                let link = self.begun(name, event, link);
                let link = self.watched(port, event, link);
                let link = self.deferred(port, event, link);
                self.attach(port, number, link).inspect_err(|_| self.end(number))?;
            }
        }
        Ok(())
    }

    /// Calls a timer of a component, as `instance.port`, by the threads of its container.
    ///
    /// # Errors
    /// As [`Server::connect`].
    pub fn every(&mut self, name: &str, timer: &str, every: crate::Every) -> Result<(), ServerError> {
        let (inlet, _) = self.inlet(timer)?;
        if inlet.0.event().id() != std::any::TypeId::of::<crate::Tick>() {
            let other = ("a timer".to_owned(), std::any::type_name::<crate::Tick>());
            return Err(ServerError::Types { one: (timer.to_owned(), inlet.0.event().name()), other });
        }
        self.connect(name, &[], &[timer], &every)
    }

    /// Connects a receptacle with a facet.
    ///
    /// # Errors
    /// Names or types are wrong, or [`ServerError::Circle`]; then nothing is connected.
    pub fn call(&mut self, name: &str, receptacle: &str, facet: &str) -> Result<(), ServerError> {
        self.check_name(name)?;
        let unknown = |port: &str| ServerError::Unknown(port.to_owned());
        let (instance, port) = facet.split_once('.').ok_or_else(|| unknown(facet))?;
        let offered = self.find(instance)?.facet(port).ok_or_else(|| unknown(facet))?;
        self.check_circle(&[receptacle], &[facet])?;
        let number = self.enter(name, &[receptacle], &[facet], true, None);
        self.attach_facet(receptacle, facet, number, offered).inspect_err(|_| self.end(number))
    }

    /// Connects a receptacle with what is no component of the server.
    pub(crate) fn call_outside(&mut self, receptacle: &str, offered: AnyFacet) -> Result<(), ServerError> {
        self.attach_facet(receptacle, "what is provided", u32::MAX, offered)
    }

    fn attach_facet(
        &self,
        receptacle: &str,
        facet: &str,
        number: u32,
        offered: AnyFacet,
    ) -> Result<(), ServerError> {
        let unknown = || ServerError::Unknown(receptacle.to_owned());
        let (instance, port) = receptacle.split_once('.').ok_or_else(unknown)?;
        let of_facet = offered.name;
        let (mut offered, mut attached, mut wanted) = (Some(offered), None, "");
        let found = self.find(instance)?.receptacle(port, &mut |port| {
            wanted = port.interface().1;
            attached = offered.take().map(|offered| port.attach(number, offered));
        });
        if !found.map_err(|refused| ServerError::Busy { port: receptacle.to_owned(), refused })? {
            return Err(unknown());
        }
        match attached {
            Some(Err(AttachError::Type)) => {
                let (one, other) = ((receptacle.to_owned(), wanted), (facet.to_owned(), of_facet));
                Err(ServerError::Types { one, other })
            }
            Some(Err(AttachError::Taken)) => Err(ServerError::Single(receptacle.to_owned())),
            _ => Ok(()),
        }
    }

    /// Ends a connection. What is queued for its consumers is lost.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn disconnect(&mut self, name: &str) -> Result<(), ServerError> {
        let found = self.connections.iter().find(|connection| connection.name == name);
        let number = found.ok_or_else(|| ServerError::Unknown(name.to_owned()))?.number;
        self.end(number);
        Ok(())
    }

    pub(crate) fn disconnect_all(&mut self) {
        while let Some(number) = self.connections.last().map(|connection| connection.number) {
            self.end(number);
        }
    }

    /// The channels that are there.
    pub(crate) fn cores(&self) -> Vec<Arc<Core>> {
        let mut cores: Vec<Arc<Core>> = Vec::new();
        for core in self
            .connections
            .iter()
            .filter_map(|connection| connection.end.as_ref())
            .flat_map(|end| end.cores())
        {
            if !cores.iter().any(|other| Arc::ptr_eq(other, &core)) {
                cores.push(core);
            }
        }
        cores
    }

    pub(crate) fn enter(
        &mut self,
        name: &str,
        from: &[&str],
        to: &[&str],
        is_call: bool,
        end: Option<Box<dyn End>>,
    ) -> u32 {
        let number = self.next_connection;
        self.next_connection = number.wrapping_add(1);
        let owned = |ports: &[&str]| ports.iter().map(|port| port.to_string()).collect();
        let connected =
            Connected { number, name: name.to_owned(), from: owned(from), to: owned(to), is_call, end };
        self.connections.push(connected);
        number
    }

    /// Takes the links of a connection off its ports, and ends the service's side.
    fn end(&mut self, number: u32) {
        let Some(index) = self.connections.iter().position(|connection| connection.number == number) else {
            return;
        };
        let connected = self.connections.remove(index);
        self.joins.retain(|join| join.number != number);
        self.reads.retain(|read| read.number != number);
        for port in &connected.from {
            let Some((instance, port)) = port.split_once('.') else { continue };
            let Ok(instance) = self.find(instance) else { continue };
            // A component that hangs keeps its links: what it pushes by them is refused, or reaches no consumer.
            let _ = instance.outlet(port, &mut |outlet| outlet.detach(number));
            let _ = instance.receptacle(port, &mut |receptacle| receptacle.detach(number));
        }
    }

    pub(crate) fn check_name(&self, name: &str) -> Result<(), ServerError> {
        let is_known = self.connections.iter().any(|connection| connection.name == name);
        if is_known { Err(ServerError::Twice(name.to_owned())) } else { Ok(()) }
    }

    fn publishes(&self, port: &str) -> Result<Publishes, ServerError> {
        let mut publishes = None;
        self.outlet(port, &mut |outlet| {
            publishes = Some(Publishes {
                event: outlet.event(),
                is_single: outlet.is_single(),
                is_complete: outlet.is_complete(),
            });
        })?;
        publishes.ok_or_else(|| ServerError::Unknown(port.to_owned()))
    }

    fn attach(&self, port: &str, number: u32, link: AnyLink) -> Result<(), ServerError> {
        let (mut link, mut attached) = (Some(link), Ok(()));
        self.outlet(port, &mut |outlet| {
            if let Some(link) = link.take() {
                attached = outlet.attach(number, link);
            }
        })?;
        attached.map_err(|_| ServerError::Single(port.to_owned()))
    }

    fn outlet(&self, port: &str, act: &mut dyn FnMut(&mut dyn Outlet)) -> Result<(), ServerError> {
        let unknown = || ServerError::Unknown(port.to_owned());
        let (instance, name) = port.split_once('.').ok_or_else(unknown)?;
        let found = self.find(instance)?.outlet(name, act);
        let found = found.map_err(|refused| ServerError::Busy { port: port.to_owned(), refused })?;
        if found { Ok(()) } else { Err(unknown()) }
    }

    /// A call that comes back to the component that waits for it would never be answered.
    fn check_circle(&self, from: &[&str], to: &[&str]) -> Result<(), ServerError> {
        for first in from {
            for next in to {
                let mut way = vec![instance_of(first).to_owned(), instance_of(next).to_owned()];
                let mut seen = BTreeSet::new();
                if self.leads_to(instance_of(next), instance_of(first), &mut seen, &mut way) {
                    return Err(ServerError::Circle(way));
                }
            }
        }
        Ok(())
    }

    fn leads_to(&self, from: &str, to: &str, seen: &mut BTreeSet<String>, way: &mut Vec<String>) -> bool {
        if from == to {
            return true;
        }
        if !seen.insert(from.to_owned()) {
            return false;
        }
        let calls = self.connections.iter().filter(|connection| connection.is_call);
        let next: Vec<&str> = calls
            .filter(|connection| connection.from.iter().any(|port| instance_of(port) == from))
            .flat_map(|connection| connection.to.iter().map(|port| instance_of(port)))
            .collect();
        for next in next {
            way.push(next.to_owned());
            if self.leads_to(next, to, seen, way) {
                return true;
            }
            way.pop();
        }
        false
    }
}

/// Compares the type of a port with that of the ports before.
fn same<'a>(
    known: &mut Option<(&'a str, &'static dyn EventType)>,
    port: &'a str,
    event: &'static dyn EventType,
) -> Result<(), ServerError> {
    let (first, of_first) = *known.get_or_insert((port, event));
    if of_first.id() == event.id() {
        return Ok(());
    }
    let (one, other) = ((first.to_owned(), of_first.name()), (port.to_owned(), event.name()));
    Err(ServerError::Types { one, other })
}
