//! Ports that consume, as services see them.
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use channel::Part;

use crate::cell::{Body as _, Cell};
use crate::component::{Component, In};
use crate::context::Context;
use crate::event::{AnyLink, Body, EventType, Of};
use crate::glue::Given;
use crate::joins::Together;
use crate::outcome::{Failure, Outcome};
use crate::ports::Sink;
use crate::reports::Fault;
use crate::watch;

/// A port that consumes: what it is called, and how its component is.
pub trait ConsumerPort: Send + Sync {
    /// `instance.port`.
    fn name(&self) -> &str;
    /// The type of the events that it consumes.
    fn event(&self) -> &'static dyn EventType;
    /// Its handler panicked: its component is in the error state.
    fn caught(&self, panic: &(dyn Any + Send));
    /// Whether its component has failed, or is gone: what is taken for it is missed.
    fn is_over(&self) -> bool;
    /// Whether its component is active.
    fn is_active(&self) -> bool;
    /// Whether its handler may run on several threads at once.
    fn is_parallel(&self) -> bool;
    /// Its handler has not ended for so long: its component is in the error state.
    fn is_silent(&self, limit: Duration);
}

/// Where a service delivers: a port, or what stands before it.
pub trait Target: Send + Sync {
    /// The port that it leads to.
    fn port(&self) -> &dyn ConsumerPort;
    /// A link that calls it on the thread that publishes.
    fn link(self: Arc<Self>) -> AnyLink;
    /// Gives it a part of a delivery. A panic of the handler comes through, and is handed to [`ConsumerPort::caught`].
    #[doc(hidden)]
    fn deliver(&self, part: &Part<Body>, at: &Context);
    /// Gives it all of a delivery of several, as one.
    #[doc(hidden)]
    fn deliver_together(&self, together: Together<'_>, _: &Context) {
        together.each(|part, at| self.deliver(part, at));
    }
    /// As connections call it.
    fn name(&self) -> &str {
        self.port().name()
    }
    /// The type of the events that are delivered.
    fn event(&self) -> &'static dyn EventType {
        self.port().event()
    }
    /// Whether several threads may deliver at once.
    fn is_parallel(&self) -> bool {
        self.port().is_parallel()
    }
    /// Whether it keeps what comes for later, so that no handler runs on the thread that pushes.
    #[doc(hidden)]
    fn keeps(&self) -> bool {
        false
    }
}

/// A port of a component in its container.
pub(crate) struct PortOf<M: In> {
    pub(crate) cell: Arc<Cell<M::Component>>,
    /// `instance.port`.
    name: String,
}

impl<M: In> PortOf<M> {
    /// Calls a handler with what is rare. It is apart so that the call for an event of a direct connection becomes a part of that.
    #[inline(never)]
    pub(crate) fn give(&self, given: Given<'_, M::Event>, at: &Context) {
        let Cell { about, body, .. } = &*self.cell;
        self.cell.settle(M::give(body, &about.gate, given, at), at);
    }
}

impl<M: In> ConsumerPort for PortOf<M> {
    fn name(&self) -> &str {
        &self.name
    }

    fn event(&self) -> &'static dyn EventType {
        &Of::<M::Event>(PhantomData)
    }

    fn caught(&self, panic: &(dyn Any + Send)) {
        self.cell.caught(panic);
    }

    fn is_over(&self) -> bool {
        self.cell.about.gate.is_over()
    }

    fn is_active(&self) -> bool {
        self.cell.about.gate.is_open()
    }

    fn is_parallel(&self) -> bool {
        <M::Component as Component>::Body::IS_PARALLEL
    }

    fn is_silent(&self, limit: Duration) {
        // The component is held by what does not end, so its hook is not called.
        self.cell.about.fail(Fault::Silent { limit });
    }
}

/// Services lead straight to the port.
struct Inlet<M: In>(PortOf<M>);

impl<M: In> Sink<M::Event> for Inlet<M> {
    fn take(&self, event: &M::Event, at: &Context) -> Outcome {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.hand(event, at))) {
            self.0.caught(&*panic);
        }
        Ok(())
    }

    fn hand(&self, event: &M::Event, at: &Context) -> Outcome {
        let Cell { about, body, .. } = &*self.0.cell;
        self.0.cell.settle(M::hand(body, &about.gate, event, at), at);
        Ok(())
    }

    fn caught(&self, panic: Box<dyn Any + Send>) {
        self.0.caught(&*panic);
    }
}

impl<M: In> Target for Inlet<M> {
    fn port(&self) -> &dyn ConsumerPort {
        &self.0
    }

    fn link(self: Arc<Self>) -> AnyLink {
        AnyLink::new::<M::Event>(self)
    }

    fn deliver(&self, part: &Part<Body>, at: &Context) {
        match part {
            Part::Event { body, .. } => match body.0.event().downcast_ref::<M::Event>() {
                // What a consumer does with an event is no matter of its publisher.
                Some(event) => drop(self.hand(event, at)),
                // Types were compared when the ports were connected.
                None => self.0.cell.settle(Ok(Err(Failure::Service)), at),
            },
            Part::Timeout { timer, .. } => self.0.give(Given::Timeout(*timer), at),
        }
    }

    fn deliver_together(&self, together: Together<'_>, at: &Context) {
        self.0.give(Given::Together(&together), at);
    }
}

/// A port that consumes, as it is handed on.
pub struct AnyInlet(pub(crate) Arc<dyn Target>);

impl fmt::Debug for AnyInlet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "AnyInlet({})", self.0.name())
    }
}

/// Code of the derive macro for a port that consumes.
#[doc(hidden)]
pub fn inlet<M: In>(cell: &Arc<Cell<M::Component>>) -> AnyInlet {
    let name = format!("{}.{}", cell.about.name, M::NAME);
    let watch = cell.about.watch.get().map(Arc::clone);
    let port = PortOf::<M> { cell: Arc::clone(cell), name };
    match watch {
        Some(watch) => watch::inlet(port, watch),
        None => AnyInlet(Arc::new(Inlet(port))),
    }
}
