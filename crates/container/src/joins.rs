//! Joins: several connections call one handler, with one queue. Each connection leads to a part of the join.
use std::fmt;
use std::sync::Arc;

use channel::{Header, Part};

use crate::channel_service::ByChannel;
use crate::context::{Clock, Context};
use crate::error::ServerError;
use crate::event::{AnyLink, Body, Event};
use crate::outcome::{Failure, Outcome};
use crate::ports::Sink;
use crate::server::Server;
use crate::service::{Joined, Route, Service};
use crate::target::{AnyInlet, ConsumerPort, Target};

/// The separator between the name of a port and the number of a part of its join.
const PART: char = '#';

/// Most parts of a join.
pub(crate) const MOST: usize = 256;

/// A join that is connected.
pub(crate) struct PortOfParts {
    /// The number of its connection.
    pub(crate) number: u32,
    /// `instance.port`.
    port: String,
    parts: Vec<AnyInlet>,
}

impl Server {
    /// Joins what comes to a port that consumes: from now on connections may lead to its parts, which are called as the port, `#`, and a number
    /// from 0. The parts share the queue and the threads that `by` names. With [`ByChannel::join`] the handler is called once each
    /// part has an event, and gets these in the order of the parts; without, it is called for each event. [`Context::part`] says which part
    /// an event came to. While a delivery is handled no other thread enters the component.
    ///
    /// # Errors
    /// The name is taken, the port is none that consumes, or the service refuses it.
    pub fn join(&mut self, name: &str, port: &str, parts: usize, by: &ByChannel) -> Result<(), ServerError> {
        self.check_name(name)?;
        if parts == 0 || parts > MOST {
            return Err(ServerError::Parts { port: port.to_owned(), parts });
        }
        let (inlet, container) = self.inlet(port)?;
        let plain = inlet.0.event();
        let is_followed = self.is_followed(name);
        let event = if is_followed { plain.stamped() } else { plain };
        let target = self.inlet_of(name, port, inlet);
        let inner = Arc::clone(&target.0);
        let sources: Vec<String> = (0..parts).map(|part| format!("{port}{PART}{part}")).collect();
        let targets = [(target, container)];
        let (connection, clock, reports) = (name, &self.clock, &self.reports);
        let route = Route {
            connection,
            event,
            sources: &sources,
            targets: &targets,
            clock,
            clocks: &self.clocks,
            is_followed,
            is_held: false,
            reports,
        };
        let made = by.connect(&route);
        let Joined { links, end } =
            made.map_err(|error| ServerError::Service { connection: name.to_owned(), error })?;
        let links = sources.into_iter().zip(links.into_iter().map(|links| links.into_iter().next()));
        let parts = links.filter_map(|(name, link)| plain.part(name, link?, Arc::clone(&inner))).collect();
        let number = self.enter(name, &[], &[port], false, Some(end));
        self.joins.push(PortOfParts { number, port: port.to_owned(), parts });
        Ok(())
    }

    /// A part of a join, by its name; `None` if it is not called like one.
    pub(crate) fn part(&self, name: &str) -> Option<Result<AnyInlet, ServerError>> {
        let (port, part) = name.split_once(PART)?;
        let join = self.joins.iter().find(|join| join.port == port);
        let found = join.zip(part.parse::<usize>().ok()).and_then(|(join, part)| join.parts.get(part));
        Some(
            found
                .map(|inlet| AnyInlet(Arc::clone(&inlet.0)))
                .ok_or_else(|| ServerError::Unknown(name.to_owned())),
        )
    }
}

/// The part of a join that a connection leads to.
pub(crate) struct PartOf<T> {
    /// `instance.port#part`.
    name: String,
    /// The way into the channel of the join.
    sink: Arc<dyn Sink<T>>,
    inner: Arc<dyn Target>,
}

impl<T: Event> PartOf<T> {
    /// The part; `None` if the link is for events of another type.
    pub(crate) fn inlet(name: String, link: AnyLink, inner: Arc<dyn Target>) -> Option<AnyInlet> {
        let sink = link.sink::<T>()?;
        Some(AnyInlet(Arc::new(Self { name, sink, inner })))
    }
}

impl<T: Event> Target for PartOf<T> {
    fn port(&self) -> &dyn ConsumerPort {
        self.inner.port()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn link(self: Arc<Self>) -> AnyLink {
        AnyLink::new::<T>(Arc::clone(&self.sink))
    }

    fn deliver(&self, part: &Part<Body>, at: &Context) {
        if let Part::Event { body, .. } = part
            && let Some(event) = body.0.event().downcast_ref::<T>()
        {
            // A queue that refuses says so by its counts.
            let _ = self.sink.take(event, at);
        }
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn keeps(&self) -> bool {
        true
    }
}

/// The events and timeouts of one delivery.
#[derive(Clone, Copy)]
pub struct Together<'a> {
    parts: &'a [Part<Body>],
    clock: &'a Clock,
    /// The numbers of the sources, in the order of the connection.
    sources: &'a [u32],
}

impl<'a> Together<'a> {
    pub(crate) fn new(parts: &'a [Part<Body>], clock: &'a Clock, sources: &'a [u32]) -> Self {
        Self { parts, clock, sources }
    }

    /// The parts of the delivery.
    pub(crate) fn parts(&self) -> &'a [Part<Body>] {
        self.parts
    }

    /// The circumstances of one of them.
    pub(crate) fn context(&self, index: usize) -> Context {
        let follows = self.parts.len().saturating_sub(index + 1);
        match self.parts.get(index) {
            Some(Part::Event { header, .. }) => {
                let part = self.sources.iter().position(|source| *source == header.source);
                Context::of(self.clock, header, follows, part.unwrap_or(0))
            }
            Some(Part::Timeout { at, priority, .. }) => {
                let header = Header { created: *at, priority: *priority, ..Header::default() };
                Context::of(self.clock, &header, follows, 0)
            }
            None => Context::new(self.clock),
        }
    }

    /// Does something with each, one after the other.
    pub(crate) fn each(&self, mut act: impl FnMut(&Part<Body>, &Context)) {
        for (index, part) in self.parts.iter().enumerate() {
            act(part, &self.context(index));
        }
    }

    /// Gives each to a handler, unless one before has led to the error state; the first failure is that of all.
    pub(crate) fn give<E: Event>(
        &self,
        at: &Context,
        mut act: impl FnMut(crate::glue::Given<'_, E>, &Context) -> Outcome,
    ) -> Outcome {
        let mut outcome = Ok(());
        for (index, part) in self.parts.iter().enumerate() {
            let own = self.context(index);
            let one = match part {
                Part::Event { body, .. } => match body.0.event().downcast_ref::<E>() {
                    Some(event) => act(crate::glue::Given::Event(event), &own),
                    // Types were compared when the ports were connected.
                    None => Err(Failure::Service),
                },
                Part::Timeout { timer, .. } => act(crate::glue::Given::Timeout(*timer), &own),
            };
            if one == Err(Failure::Broken) {
                return Err(at.broken(own.reason()));
            }
            outcome = outcome.and(one);
        }
        outcome
    }
}

impl fmt::Debug for Together<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} parts", self.parts.len())
    }
}
