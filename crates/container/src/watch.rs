//! What comes to a component and what it publishes, for a recording; and the same given to it again, in virtual time.
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use channel::{Header, Part};

use crate::component::{In, PortKind};
use crate::context::Context;
use crate::error::ServerError;
use crate::event::{AnyLink, Body, Event, EventType};
use crate::glue::Given;
use crate::joins::Together;
use crate::outcome::Outcome;
use crate::ports::Sink;
use crate::server::Server;
use crate::target::{AnyInlet, ConsumerPort, PortOf, Target};
use crate::turn;

/// The circumstances of something that comes to a component. Times are nanoseconds since the start of the server.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Moment {
    /// When the handler begins.
    pub now: u64,
    /// As [`Context::created`].
    pub created: u64,
    /// As [`Context::priority`].
    pub priority: u8,
    /// As [`Context::deadline`].
    pub deadline: Option<u64>,
    /// As [`Context::follows`].
    pub follows: usize,
    /// As [`Context::part`].
    pub part: usize,
}

impl Moment {
    fn of(at: &Context) -> Self {
        let (now, created) = (at.now(), at.created());
        let (priority, deadline, follows, part) = (at.priority(), at.deadline(), at.follows(), at.part());
        Self { now, created, priority, deadline, follows, part }
    }
}

/// Is told what comes to a component, and what it publishes, in this order. It is told on the threads that do so, while the component is
/// locked, if it is serialised.
pub trait Watch: Send + Sync {
    /// The handler of a port is about to be called, for one event or for all of a delivery, by this thread.
    fn begins(&self, _port: &str) {}
    /// It has ended, also by a panic: on the same thread, after those that have begun since.
    fn ends(&self, _port: &str) {}
    /// An event comes to a port.
    fn event(&self, port: &str, event: &dyn Any, moment: Moment);
    /// A timeout of a subscription, or an instant of a timer.
    fn timeout(&self, port: &str, timer: u16, moment: Moment);
    /// The component publishes an event.
    fn published(&self, port: &str, event: &dyn Any, now: u64);
}

/// Something that is given to a component again.
#[derive(Clone, Debug)]
pub enum Again {
    /// An event.
    Event(Body),
    /// A timeout, or an instant of a timer.
    Timeout(u16),
}

impl Again {
    /// An event of this type.
    pub fn event<T: Event>(event: T) -> Self {
        Self::Event(Body(Arc::new(event)))
    }
}

impl Server {
    /// Has what comes to a component, and what it publishes, told from now on. Ports that are connected later are watched; to a port that
    /// publishes to any number, it is one connection more.
    ///
    /// # Errors
    /// There is no such component, or it is watched already.
    pub fn watch(&mut self, instance: &str, watch: Arc<dyn Watch>) -> Result<(), ServerError> {
        self.tap(instance, watch, false)
    }

    /// The same for a component that gets no connections: what it publishes to one consumer is told, too.
    ///
    /// # Errors
    /// As [`Server::watch`].
    pub fn watch_alone(&mut self, instance: &str, watch: Arc<dyn Watch>) -> Result<(), ServerError> {
        self.tap(instance, watch, true)
    }

    fn tap(&mut self, instance: &str, watch: Arc<dyn Watch>, is_alone: bool) -> Result<(), ServerError> {
        let found = self.find(instance)?;
        if found.about().watch.set(Arc::clone(&watch)).is_err() {
            return Err(ServerError::Twice(format!("watch of {instance}")));
        }
        for port in found.manifest().ports {
            let name = format!("{instance}.{}", port.name);
            let watched = found.outlet(port.name, &mut |outlet| {
                if is_alone || !outlet.is_single() {
                    let link = outlet.event().watched(port.name, Arc::clone(&watch), None);
                    // There is room for it in any case.
                    let _ = outlet.attach(u32::MAX, link);
                }
            });
            watched.map_err(|refused| ServerError::Busy { port: name, refused })?;
        }
        Ok(())
    }

    /// The link of a port that publishes to one consumer: it tells of what passes if its component is watched.
    pub(crate) fn watched(&self, port: &str, event: &dyn EventType, link: AnyLink) -> AnyLink {
        let found = port.split_once('.').and_then(|(instance, name)| Some((self.find(instance).ok()?, name)));
        let Some((found, name)) = found else { return link };
        let kinds = found.manifest().ports;
        let is_single = kinds.iter().any(|port| port.name == name && port.kind == PortKind::Emitter);
        match found.about().watch.get().filter(|_| is_single) {
            Some(watch) => event.watched(name, Arc::clone(watch), Some(link)),
            None => link,
        }
    }

    /// Gives a port, as `instance.port`, something as it came before: at that time, if that is not past. The server is simulated.
    ///
    /// # Errors
    /// There is no such port.
    pub fn again(&mut self, port: &str, what: Again, moment: Moment) -> Result<(), ServerError> {
        let (inlet, _) = self.inlet(port)?;
        self.advance(Duration::from_nanos(moment.now.saturating_sub(self.now())));
        let Moment { created, priority, deadline, follows, part, .. } = moment;
        let header = Header { created, priority, deadline, ..Header::default() };
        let at = Context::of(&self.clock, &header, follows, part);
        let given = match what {
            Again::Event(body) => Part::Event { number: 0, header, body },
            Again::Timeout(timer) => Part::Timeout { timer, at: created, priority },
        };
        let delivered = catch_unwind(AssertUnwindSafe(|| turn::run(|| inlet.0.deliver(&given, &at))));
        if let Err(panic) = delivered {
            inlet.0.port().caught(&*panic);
        }
        Ok(())
    }
}

/// Something that is told of before a handler gets it.
#[derive(Clone, Copy)]
pub struct Watched<'a, E> {
    what: What<'a, E>,
    watch: &'a dyn Watch,
    port: &'a str,
}

#[derive(Clone, Copy)]
enum What<'a, E> {
    Event(&'a E),
    Timeout(u16),
    Together(Together<'a>),
}

impl<'a, E: Event> Watched<'a, E> {
    /// Hands it on, each part of a delivery by itself, and tells of it before. What is not watched does not pay for it, in registers neither.
    #[cold]
    #[inline(never)]
    pub(crate) fn give(
        &self,
        at: &Context,
        mut act: impl FnMut(Given<'_, E>, &Context) -> Outcome,
    ) -> Outcome {
        self.watch.begins(self.port);
        let _end = End { watch: self.watch, port: self.port };
        match &self.what {
            What::Event(event) => {
                self.watch.event(self.port, *event, Moment::of(at));
                act(Given::Event(event), at)
            }
            What::Timeout(timer) => {
                self.watch.timeout(self.port, *timer, Moment::of(at));
                act(Given::Timeout(*timer), at)
            }
            What::Together(together) => together.give(at, |given, own| {
                match &given {
                    Given::Event(event) => self.watch.event(self.port, *event, Moment::of(own)),
                    Given::Timeout(timer) => self.watch.timeout(self.port, *timer, Moment::of(own)),
                    Given::Together(_) | Given::Watched(_) => {}
                }
                act(given, own)
            }),
        }
    }
}

/// Tells that a handler has ended, however it does.
struct End<'a> {
    watch: &'a dyn Watch,
    port: &'a str,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.watch.ends(self.port);
    }
}

impl<E> fmt::Debug for Watched<'_, E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Watched({})", self.port)
    }
}

/// A port of a component that is watched.
struct Inlet<M: In> {
    port: PortOf<M>,
    watch: Arc<dyn Watch>,
}

pub(crate) fn inlet<M: In>(port: PortOf<M>, watch: Arc<dyn Watch>) -> AnyInlet {
    AnyInlet(Arc::new(Inlet { port, watch }))
}

impl<M: In> Inlet<M> {
    fn give(&self, what: What<'_, M::Event>, at: &Context) {
        let watched = Watched { what, watch: &*self.watch, port: M::NAME };
        self.port.give(Given::Watched(&watched), at);
    }
}

impl<M: In> Sink<M::Event> for Inlet<M> {
    fn take(&self, event: &M::Event, at: &Context) -> Outcome {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.give(What::Event(event), at))) {
            self.port.caught(&*panic);
        }
        Ok(())
    }
}

impl<M: In> Target for Inlet<M> {
    fn port(&self) -> &dyn ConsumerPort {
        &self.port
    }

    fn link(self: Arc<Self>) -> AnyLink {
        AnyLink::new::<M::Event>(self)
    }

    fn deliver(&self, part: &Part<Body>, at: &Context) {
        match part {
            Part::Event { body, .. } => {
                // Types were compared when the ports were connected.
                if let Some(event) = body.0.event().downcast_ref::<M::Event>() {
                    self.give(What::Event(event), at);
                }
            }
            Part::Timeout { timer, .. } => self.give(What::Timeout(*timer), at),
        }
    }

    fn deliver_together(&self, together: Together<'_>, at: &Context) {
        self.give(What::Together(together), at);
    }
}

/// Tells of what is published, and hands it on if there is where to.
pub(crate) struct Tap<T> {
    port: String,
    watch: Arc<dyn Watch>,
    sink: Option<Arc<dyn Sink<T>>>,
}

impl<T: Event> Tap<T> {
    /// A link that tells of what passes. One for events of another type stays as it is.
    pub(crate) fn link(port: &str, watch: Arc<dyn Watch>, link: Option<AnyLink>) -> AnyLink {
        let port = port.to_owned();
        match link.map(|link| link.0.downcast::<Arc<dyn Sink<T>>>()) {
            None => AnyLink::new::<T>(Arc::new(Self { port, watch, sink: None })),
            Some(Ok(sink)) => AnyLink::new::<T>(Arc::new(Self { port, watch, sink: Some(*sink) })),
            Some(Err(other)) => AnyLink(other),
        }
    }
}

impl<T: Event> Sink<T> for Tap<T> {
    fn take(&self, event: &T, at: &Context) -> Outcome {
        self.watch.published(&self.port, event, at.now());
        self.sink.as_ref().map_or(Ok(()), |sink| sink.take(event, at))
    }

    fn hand(&self, event: &T, at: &Context) -> Outcome {
        self.watch.published(&self.port, event, at.now());
        self.sink.as_ref().map_or(Ok(()), |sink| sink.hand(event, at))
    }

    fn caught(&self, panic: Box<dyn Any + Send>) {
        if let Some(sink) = &self.sink {
            sink.caught(panic);
        }
    }
}
