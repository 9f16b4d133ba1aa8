//! Tests of a component without a server around it: events in, what was published out, in virtual time.
use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::calls::{AnyFacet, Provider, Receptacle};
use crate::cell::{Cell, State};
use crate::component::{Component, In, PortKind};
use crate::context::Context;
use crate::entry::Entry;
use crate::error::ServerError;
use crate::glue::Given;
use crate::instance::Instance;
use crate::outcome::{Failure, Outcome};
use crate::policy::Policy;
use crate::reports::Report;
use crate::server::Server;
use crate::settings::Value;
use crate::turn;

/// The component's name in the harness, and the container's.
const NAME: &str = "component";

/// One component, without threads, in virtual time. All that it publishes is kept. It becomes active when it is first given an event, or when
/// time first goes on, unless [`Harness::activate`] has done that before.
pub struct Harness<C: Component> {
    server: Server,
    cell: Arc<Cell<C>>,
    /// Published events, by port: each is an `Arc<Mutex<Vec<T>>>`.
    published: HashMap<&'static str, Box<dyn Any + Send>>,
}

impl<C: Component> Harness<C> {
    /// Takes a component, and constructs and configures it.
    ///
    /// # Errors
    /// A hook fails, or a setting is out of its range.
    pub fn new(component: C) -> Result<Self, ServerError> {
        Self::with(component, &[])
    }

    /// The same with settings.
    ///
    /// # Errors
    /// As [`Harness::new`].
    pub fn with(mut component: C, settings: &[(&str, Value)]) -> Result<Self, ServerError> {
        let own = component.settings();
        let all = own.iter().map(|(name, value)| (*name, value));
        for (name, value) in all.chain(settings.iter().map(|(name, value)| (*name, value))) {
            let set = component.set(name, value);
            set.map_err(|error| ServerError::Setting { instance: NAME.to_owned(), error })?;
        }
        let mut published = HashMap::new();
        for port in C::manifest().ports {
            if !matches!(port.kind, PortKind::Publisher | PortKind::Emitter) {
                continue;
            }
            if let Some(outlet) = component.outlet(port.name) {
                let (link, log) = outlet.event().recorder();
                if outlet.attach(u32::MAX, link).is_ok() {
                    published.insert(port.name, log);
                }
            }
        }
        let mut server = Server::simulated();
        server.container(NAME, Policy::default())?;
        let cell = server.cell(NAME, component);
        server.place(NAME, NAME, Arc::clone(&cell) as Arc<dyn Instance>)?;
        Ok(Self { server, cell, published })
    }

    /// Connects a receptacle with something that stands for another component, seen as the interface.
    ///
    /// # Errors
    /// There is no such receptacle, it is for another interface, or is connected already.
    pub fn provide<I: ?Sized + 'static, S: Send + 'static>(
        &mut self,
        port: &str,
        stand_in: S,
        view: fn(&mut S) -> &mut I,
    ) -> Result<(), ServerError> {
        let provider: Arc<dyn Provider<I>> = Arc::new(StandIn { who: Mutex::new(stand_in), view });
        self.server.call_outside(&format!("{NAME}.{port}"), AnyFacet::new(provider))
    }

    /// Activates the component.
    ///
    /// # Errors
    /// A receptacle is not connected, or a hook fails.
    pub fn activate(&mut self) -> Result<(), ServerError> {
        self.server.launch()
    }

    /// Gives a port an event, and says what its handler returned.
    ///
    /// # Errors
    /// The handler's error; [`Failure::Panic`] if it panicked, and [`Failure::NotActive`] if the component is not active.
    pub fn feed<M: In<Component = C>>(&mut self, event: &M::Event) -> Outcome {
        self.give::<M>(Given::Event(event), 0, None)
    }

    /// The same for an event of some importance.
    ///
    /// # Errors
    /// As [`Harness::feed`].
    pub fn feed_with<M: In<Component = C>>(
        &mut self,
        event: &M::Event,
        priority: u8,
        deadline: Option<u64>,
    ) -> Outcome {
        self.give::<M>(Given::Event(event), priority, deadline)
    }

    /// Gives a port a timeout of its subscription, by the number of the timer; or lets a timer tick.
    ///
    /// # Errors
    /// As [`Harness::feed`].
    pub fn timeout<M: In<Component = C>>(&mut self, timer: u16) -> Outcome {
        self.give::<M>(Given::Timeout(timer), 0, None)
    }

    fn give<M: In<Component = C>>(
        &mut self,
        given: Given<'_, M::Event>,
        priority: u8,
        deadline: Option<u64>,
    ) -> Outcome {
        if self.state() == State::Inactive && self.activate().is_err() {
            return Err(Failure::NotActive);
        }
        let Cell { about, body, .. } = &*self.cell;
        let at = Context::new(&about.clock).with(priority, deadline);
        let act = || turn::run(|| M::give(body, &about.gate, given, &at));
        match catch_unwind(AssertUnwindSafe(act)) {
            Ok(attempt) => {
                self.cell.settle(attempt, &at);
                attempt.unwrap_or(Err(Failure::NotActive))
            }
            Err(panic) => {
                self.cell.caught(&*panic);
                Err(Failure::Panic)
            }
        }
    }

    /// Calls a timer of the component with this period, as time goes on.
    ///
    /// # Errors
    /// There is no such timer, or it is called already.
    pub fn every(&mut self, timer: &str, period: Duration) -> Result<(), ServerError> {
        let every = crate::Every { period, dispatch: channel::Dispatch::Pool, patience: None };
        self.server.every(timer, &format!("{NAME}.{timer}"), every)
    }

    /// Lets time go on, and timers tick meanwhile.
    ///
    /// # Errors
    /// As [`Harness::activate`], if the component is not active yet.
    pub fn advance(&mut self, time: Duration) -> Result<(), ServerError> {
        if self.state() == State::Inactive {
            self.activate()?;
        }
        self.server.advance(time);
        Ok(())
    }

    /// The events that a port has published since the last call.
    ///
    /// # Panics
    /// The component publishes at no such port, or events of another type: a test that asks for these would see nothing, whatever happens.
    pub fn published<T: crate::Event>(&mut self, port: &str) -> Vec<T> {
        let log = self.published.get(port).and_then(|log| log.downcast_ref::<Arc<Mutex<Vec<T>>>>());
        assert!(
            log.is_some(),
            "no port \"{port}\" publishes events of the type {}",
            std::any::type_name::<T>()
        );
        log.map(|log| std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner)))
            .unwrap_or_default()
    }

    /// Calls a facet of the component.
    ///
    /// # Errors
    /// [`Failure::NotConnected`] if there is no such facet of this interface, and what [`Receptacle::call`] says.
    pub fn call<I: ?Sized + 'static, R>(
        &mut self,
        facet: &str,
        act: impl FnOnce(&mut I) -> R,
    ) -> Result<R, Failure> {
        let mut receptacle = Receptacle::<I>::default();
        let offered = C::facet(&self.cell, facet).ok_or(Failure::NotConnected)?;
        let attached = crate::calls::AnyReceptacle::attach(&mut receptacle, 0, offered);
        attached.map_err(|_| Failure::NotConnected)?;
        receptacle.call(act)
    }

    /// A way to the component itself.
    pub fn component(&self) -> Entry<C> {
        Entry::of(&self.cell)
    }

    /// Where the component is in its life.
    pub fn state(&self) -> State {
        self.cell.about.gate.state()
    }

    /// The next report of a fault, the oldest first.
    pub fn next_report(&mut self) -> Option<Report> {
        self.server.next_report(Duration::ZERO)
    }

    /// The server around it, for hooks and states.
    pub fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}

/// The stand-in for another component.
struct StandIn<S, I: ?Sized> {
    who: Mutex<S>,
    view: fn(&mut S) -> &mut I,
}

impl<S: Send, I: ?Sized> Provider<I> for StandIn<S, I> {
    fn call(&self, act: &mut dyn FnMut(&mut I)) -> Result<(), Failure> {
        act((self.view)(&mut self.who.lock().unwrap_or_else(PoisonError::into_inner)));
        Ok(())
    }
}

impl<C: Component> std::fmt::Debug for Harness<C> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Harness({:?})", self.cell)
    }
}
