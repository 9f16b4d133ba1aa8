//! A server: containers, their components, and how they are connected.
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::aside::Aside;
use crate::cell::{Cell, State};
use crate::chains::{Clocks, Comparison, Probes, Track};
use crate::component::{Component, Hook};
use crate::connection::Connected;
use crate::context::{Clock, nanos};
use crate::entry::Entry;
use crate::error::ServerError;
use crate::hooks::Hooks;
use crate::instance::{ComponentType, Instance};
use crate::joins::PortOfParts;
use crate::logical::{Logical, Read};
use crate::policy::{Container, Policy};
use crate::reports::{Report, Reports};
use crate::settings::Value;
use crate::target::AnyInlet;

/// Where a server is in its machine.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Locality {
    /// The name of the calling thread: that of the process if it is the main thread. `None` leaves it as it is.
    pub name: Option<String>,
    /// Its real-time priority, 1 to 99. Threads of containers have what their policies say.
    pub priority: Option<u8>,
    /// Its cores, from 0, and those of threads that are started later and say nothing else. Empty leaves them as they are.
    pub cores: Vec<usize>,
}

/// Containers with components.
///
/// The owner of the server changes its structure; components work meanwhile. Dropping it ends all connections and threads without
/// hooks; [`Server::stop`] calls these.
pub struct Server {
    pub(crate) clock: Clock,
    pub(crate) reports: Arc<Reports>,
    pub(crate) containers: Vec<Arc<Container>>,
    /// What has the channel that all containers share.
    whole: Arc<Container>,
    pub(crate) placed: Vec<Placed>,
    pub(crate) connections: Vec<Connected>,
    pub(crate) next_connection: u32,
    pub(crate) joins: Vec<PortOfParts>,
    /// What was set aside of joins, by their names.
    pub(crate) aside: BTreeMap<String, Vec<Aside>>,
    pub(crate) logical: Arc<Logical>,
    pub(crate) reads: Vec<Read>,
    pub(crate) chains: Vec<Arc<Track>>,
    /// What is known of the clocks of other machines.
    pub(crate) clocks: Arc<Clocks>,
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) probes: Option<Probes>,
    /// What comes from elsewhere waits.
    pub(crate) is_holding: bool,
    pub(crate) hooks: Hooks,
}

/// A component and its container.
pub(crate) struct Placed {
    pub(crate) instance: Arc<dyn Instance>,
    pub(crate) container: Arc<Container>,
}

/// What becomes of what waits for a component that begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Backlog {
    Kept,
    Dropped,
}

/// Counts of a component's events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Events that came by a direct connection, or were taken for it, while it was not active, or that could not reach it.
    pub missed: u64,
    /// Handlers that returned an error.
    pub failed: u64,
}

impl Server {
    /// A server on the threads and the clock of the system. What the system does not grant is reported.
    pub fn new(locality: &Locality) -> Self {
        let server = Self::with_clock(Clock::Monotonic(Instant::now()));
        let Locality { priority, cores, .. } = locality;
        let asked = priority.map_or_else(crate::Threads::default, crate::Threads::fifo);
        let asked = crate::Threads { cores: cores.clone(), ..asked };
        asked.settle(locality.name.as_deref(), "server", &server.reports);
        server
    }

    /// A server without threads, whose time is as [`Server::advance`] says: what it does is the same each time.
    pub fn simulated() -> Self {
        Self::with_clock(Clock::Virtual(Arc::new(AtomicU64::new(0))))
    }

    fn with_clock(clock: Clock) -> Self {
        let reports = Arc::default();
        let whole = Arc::new(Container::whole(&clock, &reports));
        let hooks = Hooks::new(&clock);
        Self {
            logical: Logical::new(&clock, &reports),
            clock,
            reports,
            containers: Vec::new(),
            whole,
            placed: Vec::new(),
            connections: Vec::new(),
            next_connection: 0,
            joins: Vec::new(),
            aside: BTreeMap::new(),
            reads: Vec::new(),
            chains: Vec::new(),
            clocks: Arc::default(),
            comparisons: Vec::new(),
            probes: None,
            is_holding: false,
            hooks,
        }
    }

    /// A new container.
    ///
    /// # Errors
    /// There is one of this name.
    pub fn container(&mut self, name: &str, policy: Policy) -> Result<(), ServerError> {
        if self.containers.iter().any(|other| other.name() == name) {
            return Err(ServerError::Twice(name.to_owned()));
        }
        self.containers.push(Arc::new(Container::new(name, policy, &self.whole)));
        Ok(())
    }

    /// Makes a component of the type `C` in a container, and gives it its settings.
    ///
    /// # Errors
    /// Names or settings are wrong, or [`ServerError::Hook`].
    pub fn install<C: Component>(
        &mut self,
        container: &str,
        name: &str,
        settings: &[(&str, Value)],
    ) -> Result<(), ServerError> {
        self.install_as(&ComponentType::of::<C>(), container, name, settings)
    }

    /// The same for a type of a list.
    ///
    /// # Errors
    /// As [`Server::install`].
    pub fn install_as(
        &mut self,
        of: &ComponentType,
        container: &str,
        name: &str,
        settings: &[(&str, Value)],
    ) -> Result<(), ServerError> {
        let clock = self.clock.clone();
        let reports = Arc::clone(&self.reports);
        let instance = of.make(name, settings, &clock, &reports);
        let instance = instance.map_err(|error| ServerError::Setting { instance: name.to_owned(), error })?;
        self.place(container, name, instance)
    }

    pub(crate) fn place(
        &mut self,
        container: &str,
        name: &str,
        instance: Arc<dyn Instance>,
    ) -> Result<(), ServerError> {
        if name.is_empty() || name.contains('.') {
            return Err(ServerError::Name(name.to_owned()));
        }
        if self.find(name).is_ok() {
            return Err(ServerError::Twice(name.to_owned()));
        }
        let found = self.containers.iter().find(|other| other.name() == container);
        let container = Arc::clone(found.ok_or_else(|| ServerError::Unknown(container.to_owned()))?);
        let begun = self.hooks.run(&instance, &[Hook::Construct, Hook::Configure], Vec::new());
        begun.map_err(|fault| ServerError::hook(name, fault))?;
        self.placed.push(Placed { instance, container });
        self.made(name);
        Ok(())
    }

    /// A component with what the server needs to know of its type.
    pub(crate) fn cell<C: Component>(&self, name: &str, component: C) -> Arc<Cell<C>> {
        Arc::new(Cell::new(name, &self.clock, &self.reports, component))
    }

    /// Activates all components that are inactive, in the order in which they were installed: first each is told that it is connected. A
    /// component that publishes directly while it is activated reaches those that were installed before.
    ///
    /// # Errors
    /// The first thing that went wrong. Other components are active all the same.
    pub fn launch(&mut self) -> Result<(), ServerError> {
        let inactive: Vec<Arc<dyn Instance>> = self
            .placed
            .iter()
            .map(|placed| Arc::clone(&placed.instance))
            .filter(|instance| instance.about().gate.state() == State::Inactive)
            .collect();
        let mut first = Ok(());
        let mut keep = |end: Result<(), ServerError>| {
            let is_ok = end.is_ok();
            if first.is_ok() {
                first = end;
            }
            is_ok
        };
        self.with_hooks(|server, hooks| {
            let mut ready = Vec::new();
            for instance in &inactive {
                let name = &instance.about().name;
                if !keep(server.complete(instance)) {
                    continue;
                }
                let ended = hooks.run(instance, &[Hook::Configured], Vec::new());
                if keep(ended.map(drop).map_err(|fault| ServerError::hook(name, fault))) {
                    ready.push(instance);
                }
            }
            for instance in ready {
                keep(server.change(hooks, instance, Hook::Activate));
            }
        });
        first
    }

    /// Suspends a component: what comes by channels waits, what comes directly is missed.
    ///
    /// # Errors
    /// It is not active, or its hook fails.
    pub fn suspend(&mut self, name: &str) -> Result<(), ServerError> {
        self.change_from(name, &[State::Active], Hook::Suspend)
    }

    /// Lets a suspended component go on.
    ///
    /// # Errors
    /// It is not suspended, or its hook fails.
    pub fn resume(&mut self, name: &str) -> Result<(), ServerError> {
        self.change_from(name, &[State::Suspended], Hook::Resume)
    }

    /// Ends the work of a component.
    ///
    /// # Errors
    /// It is neither active nor suspended, or its hook fails.
    pub fn passivate(&mut self, name: &str) -> Result<(), ServerError> {
        self.change_from(name, &[State::Active, State::Suspended], Hook::Passivate)
    }

    /// Removes a component that has no connections and does not work any more; one in the error state without its hook.
    ///
    /// # Errors
    /// It is connected or works still, or its hook fails; in the last case it is gone.
    pub fn remove(&mut self, name: &str) -> Result<(), ServerError> {
        let instance = self.find(name)?;
        let state = instance.about().gate.state();
        self.unconnected(name)?;
        let ended = match state {
            State::Error => Ok(()),
            State::Inactive | State::Passive => {
                self.hooks.run(&instance, &[Hook::Remove], Vec::new()).map(drop)
            }
            state => return Err(ServerError::State { name: name.to_owned(), state }),
        };
        instance.about().gate.go(State::Removed);
        self.placed.retain(|placed| placed.instance.about().name != name);
        ended.map_err(|fault| ServerError::hook(name, fault))
    }

    /// The state of a component, written by itself. It has to be suspended or passive.
    ///
    /// # Errors
    /// It works, or its hook fails.
    pub fn freeze(&mut self, name: &str) -> Result<Vec<u8>, ServerError> {
        let instance = self.still(name, &[State::Suspended, State::Passive, State::Inactive])?;
        let ended = self.with_hooks(|_, hooks| hooks.run(&instance, &[Hook::Freeze], Vec::new()));
        ended.map_err(|fault| ServerError::hook(name, fault))
    }

    /// Gives a component that does not work yet a state that another one has written.
    ///
    /// # Errors
    /// It works, or its hook fails.
    pub fn thaw(&mut self, name: &str, state: &[u8]) -> Result<(), ServerError> {
        let instance = self.still(name, &[State::Inactive, State::Suspended])?;
        let ended = self.with_hooks(|_, hooks| hooks.run(&instance, &[Hook::Thaw], state.to_vec()));
        ended.map(drop).map_err(|fault| ServerError::hook(name, fault))
    }

    /// Ends all: components are passivated in the reverse of their order, connections end, components are removed.
    ///
    /// # Errors
    /// The first hook that failed. All is ended all the same.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        let mut first = Ok(());
        let mut keep = |end: Result<(), ServerError>| first = first.clone().and(end);
        let names: Vec<String> =
            self.placed.iter().rev().map(|placed| placed.instance.about().name.clone()).collect();
        for name in &names {
            if matches!(self.state(name), Some(State::Active | State::Suspended)) {
                keep(self.passivate(name));
            }
        }
        self.disconnect_all();
        for name in &names {
            keep(self.remove(name));
        }
        first
    }

    /// Where a component is in its life; `None` if there is none of this name.
    pub fn state(&self, name: &str) -> Option<State> {
        Some(self.find(name).ok()?.about().gate.state())
    }

    /// Counts of a component's events; `None` if there is none of this name.
    pub fn counts(&self, name: &str) -> Option<Counts> {
        let instance = self.find(name).ok()?;
        let about = instance.about();
        Some(Counts { missed: about.missed.load(Relaxed), failed: about.failed.load(Relaxed) })
    }

    /// The ports and settings of a component; `None` if there is none of this name.
    pub fn manifest(&self, name: &str) -> Option<crate::Manifest> {
        Some(self.find(name).ok()?.manifest())
    }

    /// The container of a component.
    pub fn container_of(&self, instance: &str) -> Option<&Container> {
        let placed = self.placed.iter().find(|placed| placed.instance.about().name == instance);
        placed.map(|placed| &*placed.container)
    }

    /// The oldest thing that went wrong and was not asked for yet, waiting for it for so long at most.
    pub fn next_report(&self, limit: Duration) -> Option<Report> {
        self.reports.next(limit)
    }

    /// The time, in nanoseconds since the start of the server.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// A way into a component of the type `C` from threads of one's own; `None` if there is no such component.
    pub fn entry<C: Component>(&self, name: &str) -> Option<Entry<C>> {
        let cell = self.find(name).ok()?.as_any().downcast::<Cell<C>>().ok()?;
        Some(Entry::of(&cell))
    }

    /// In virtual time: does all that there is to do now, the most important first, and then lets time go on by so much, doing what is due
    /// when it is. Says how many deliveries were taken. With the clock of the system it does nothing.
    pub fn advance(&mut self, time: Duration) -> usize {
        if !matches!(self.clock, Clock::Virtual(_)) {
            return 0;
        }
        let until = self.clock.now().saturating_add(nanos(time));
        let mut count = self.work();
        loop {
            let next = self.cores().iter().filter_map(|core| core.tick()).chain(self.logical.due()).min();
            count += self.work();
            match next.filter(|next| *next <= until) {
                Some(next) => self.clock.advance(next),
                None => break,
            }
            self.logical.act();
            for core in self.cores() {
                let _ = core.tick();
            }
            count += self.work();
        }
        self.clock.advance(until);
        count
    }

    /// Does what there is to do, one delivery after the other: after each the most important is next.
    fn work(&mut self) -> usize {
        let cores = self.cores();
        let workers: Vec<_> = cores.iter().map(|core| core.workers()).collect();
        let mut count = 0;
        loop {
            let most = workers.iter().map(Vec::len).max().unwrap_or(0);
            let mut all = (0..most).flat_map(|rank| {
                let of_rank = cores.iter().zip(&workers);
                of_rank.filter_map(move |(core, workers)| Some((core, *workers.get(rank)?)))
            });
            if !all.any(|(core, worker)| core.serve(worker, 1) > 0) {
                return count;
            }
            count += 1;
        }
    }

    pub(crate) fn find(&self, name: &str) -> Result<Arc<dyn Instance>, ServerError> {
        let found = self.placed.iter().find(|placed| placed.instance.about().name == name);
        found.map(|placed| Arc::clone(&placed.instance)).ok_or_else(|| ServerError::Unknown(name.to_owned()))
    }

    pub(crate) fn inlet(&self, port: &str) -> Result<(AnyInlet, Arc<Container>), ServerError> {
        let unknown = || ServerError::Unknown(port.to_owned());
        let (instance, name) = port.split_once('.').ok_or_else(unknown)?;
        let placed = self.placed.iter().find(|placed| placed.instance.about().name == instance);
        let placed = placed.ok_or_else(unknown)?;
        if let Some(part) = self.part(port) {
            return Ok((part?, Arc::clone(&placed.container)));
        }
        let inlet = Arc::clone(&placed.instance).inlet(name).ok_or_else(unknown)?;
        Ok((inlet, Arc::clone(&placed.container)))
    }

    pub(crate) fn still(&self, name: &str, states: &[State]) -> Result<Arc<dyn Instance>, ServerError> {
        let instance = self.find(name)?;
        let state = instance.about().gate.state();
        let error = ServerError::State { name: name.to_owned(), state };
        if states.contains(&state) { Ok(instance) } else { Err(error) }
    }

    pub(crate) fn change_from(&mut self, name: &str, from: &[State], hook: Hook) -> Result<(), ServerError> {
        let instance = self.still(name, from)?;
        self.with_hooks(|server, hooks| server.change(hooks, &instance, hook))
    }

    /// Does something with the server that calls hooks.
    pub(crate) fn with_hooks<R>(&mut self, act: impl FnOnce(&Self, &mut Hooks) -> R) -> R {
        let mut hooks = std::mem::replace(&mut self.hooks, Hooks::new(&self.clock));
        let result = act(self, &mut hooks);
        self.hooks = hooks;
        result
    }

    fn change(&self, hooks: &mut Hooks, instance: &Arc<dyn Instance>, hook: Hook) -> Result<(), ServerError> {
        self.begin(hooks, instance, hook, Backlog::Kept)
    }

    /// Closes a component for events, runs a hook, and goes to the state that follows.
    pub(crate) fn begin(
        &self,
        hooks: &mut Hooks,
        instance: &Arc<dyn Instance>,
        hook: Hook,
        backlog: Backlog,
    ) -> Result<(), ServerError> {
        let about = instance.about();
        let state = match hook {
            Hook::Activate | Hook::Resume => State::Active,
            Hook::Suspend => State::Suspended,
            _ => State::Passive,
        };
        let ends = || self.connections.iter().filter_map(|connection| connection.end.as_ref());
        if state != State::Active {
            ends().for_each(|end| end.suspend(&about.name, true));
        }
        about.gate.go(State::Changing);
        let ended = hooks.run(instance, &[hook], Vec::new());
        ended.map_err(|fault| ServerError::hook(&about.name, fault))?;
        // What timers read at their instants they read as soon as the gate is open.
        if backlog == Backlog::Dropped {
            ends().for_each(|end| end.discard(&about.name));
        }
        about.gate.go(state);
        if state == State::Active {
            self.renew_chains(&about.name);
            // What has come since all was dropped would be a backlog, too.
            match backlog {
                Backlog::Kept => ends().for_each(|end| end.suspend(&about.name, false)),
                Backlog::Dropped => ends().for_each(|end| end.resume_anew(&about.name)),
            }
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.disconnect_all();
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instances: Vec<&str> =
            self.placed.iter().map(|placed| placed.instance.about().name.as_str()).collect();
        out.debug_struct("Server")
            .field("containers", &self.containers)
            .field("instances", &instances)
            .finish_non_exhaustive()
    }
}
