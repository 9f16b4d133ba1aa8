//! Changes of single components and containers while the others work; each can be taken back.
use std::fmt;
use std::sync::Arc;

use crate::cell::State;
use crate::component::Hook;
use crate::error::ServerError;
use crate::hooks::Hooks;
use crate::instance::Instance;
use crate::policy::Container;
use crate::reports::Fault;
use crate::server::{Backlog, Placed, Server};
use crate::settings::Value;

/// A component that was taken out of its server with its state, and gets nothing.
pub struct TakenComponent(Placed);

/// A container that was taken out of its server. It has no components.
#[derive(Debug)]
pub struct TakenContainer(Arc<Container>);

impl Server {
    /// Tells a component that its settings and connections are there.
    ///
    /// # Errors
    /// A port that needs a connection has none, it works already, or its hook fails.
    pub fn configured(&mut self, name: &str) -> Result<(), ServerError> {
        let instance = self.still(name, &[State::Inactive, State::Passive])?;
        self.complete(&instance)?;
        let ended = self.with_hooks(|_, hooks| hooks.run(&instance, &[Hook::Configured], Vec::new()));
        ended.map(drop).map_err(|fault| ServerError::hook(name, fault))
    }

    /// Activates a component that is inactive, or passive.
    ///
    /// # Errors
    /// It works already, or its hook fails.
    pub fn activate(&mut self, name: &str) -> Result<(), ServerError> {
        self.change_from(name, &[State::Inactive, State::Passive], Hook::Activate)
    }

    /// The same for one that was at rest for long: what has come for it meanwhile is dropped, and does not come at once now.
    ///
    /// # Errors
    /// As [`Server::activate`].
    pub fn activate_anew(&mut self, name: &str) -> Result<(), ServerError> {
        let instance = self.still(name, &[State::Inactive, State::Passive])?;
        self.with_hooks(|server, hooks| server.begin(hooks, &instance, Hook::Activate, Backlog::Dropped))
    }

    /// Makes a component in the error state anew, with these settings: its connections stay, and all that waits elsewhere for what it had published.
    /// What came to it meanwhile is missed. It is inactive then.
    ///
    /// # Errors
    /// It is not in the error state, a handler or hook is still in it, its settings are wrong, or [`ServerError::Hook`]; then it is in the error state.
    pub fn renew(&mut self, name: &str, settings: &[(&str, Value)]) -> Result<(), ServerError> {
        let instance = self.still(name, &[State::Error])?;
        let renewed = instance.renew(settings).map_err(|fault| ServerError::hook(name, fault))?;
        renewed.map_err(|error| ServerError::Setting { instance: name.to_owned(), error })?;
        self.made(name);
        let begun = self.hooks.run(&instance, &[Hook::Construct, Hook::Configure], Vec::new());
        begun.map(drop).map_err(|fault| ServerError::hook(name, fault))
    }

    /// Gives a component that does not work another value of a setting; `None` is its default. Says which value it had.
    ///
    /// # Errors
    /// It works, or what is wrong with the setting: then it is as before.
    pub fn set(&mut self, name: &str, setting: &str, value: Option<&Value>) -> Result<Value, ServerError> {
        let instance = self.still(name, &[State::Inactive, State::Suspended, State::Passive])?;
        let refused = |refused| ServerError::Busy { port: name.to_owned(), refused };
        let changed = instance.set(setting, value).map_err(refused)?;
        changed.map_err(|error| ServerError::Setting { instance: name.to_owned(), error })
    }

    /// Takes a component out that does not work and has no connections; it keeps its state, and no hook is called.
    ///
    /// # Errors
    /// It works, or is connected.
    pub fn take(&mut self, name: &str) -> Result<TakenComponent, ServerError> {
        self.still(name, &[State::Inactive, State::Passive, State::Error])?;
        self.unconnected(name)?;
        let index = self.placed.iter().position(|placed| placed.instance.about().name == name);
        let index = index.ok_or_else(|| ServerError::Unknown(name.to_owned()))?;
        Ok(TakenComponent(self.placed.remove(index)))
    }

    /// Gives back what was taken out.
    ///
    /// # Errors
    /// There is another component of this name, or no such container any more.
    pub fn give_back(&mut self, taken: TakenComponent) -> Result<(), ServerError> {
        let name = taken.name();
        if self.find(name).is_ok() {
            return Err(ServerError::Twice(name.to_owned()));
        }
        if !self.containers.iter().any(|container| Arc::ptr_eq(container, &taken.0.container)) {
            return Err(ServerError::Unknown(taken.0.container.name().to_owned()));
        }
        self.placed.push(taken.0);
        Ok(())
    }

    /// Takes a container out that has no components.
    ///
    /// # Errors
    /// There is none of this name, or it has components.
    pub fn take_container(&mut self, name: &str) -> Result<TakenContainer, ServerError> {
        let index = self.containers.iter().position(|container| container.name() == name);
        let index = index.ok_or_else(|| ServerError::Unknown(name.to_owned()))?;
        if let Some(placed) = self.placed.iter().find(|placed| placed.container.name() == name) {
            return Err(ServerError::Occupied {
                container: name.to_owned(),
                component: placed.instance.about().name.clone(),
            });
        }
        Ok(TakenContainer(self.containers.remove(index)))
    }

    /// Gives back a container that was taken out.
    ///
    /// # Errors
    /// There is another one of this name.
    pub fn give_container_back(&mut self, taken: TakenContainer) -> Result<(), ServerError> {
        if self.containers.iter().any(|container| container.name() == taken.0.name()) {
            return Err(ServerError::Twice(taken.0.name().to_owned()));
        }
        self.containers.push(taken.0);
        Ok(())
    }

    /// Counts of a component's deliveries, summed over its queues since they were connected. Direct connections have no queue.
    pub fn deliveries(&self, name: &str) -> channel::Counts {
        let ends = self.connections.iter().filter_map(|connection| connection.end.as_ref());
        ends.map(|end| end.counts(name)).fold(channel::Counts::default(), |sum, one| channel::Counts {
            queued: sum.queued.wrapping_add(one.queued),
            taken: sum.taken.wrapping_add(one.taken),
            dropped: sum.dropped.wrapping_add(one.dropped),
            expired: sum.expired.wrapping_add(one.expired),
            late: sum.late.wrapping_add(one.late),
        })
    }

    /// That a component has all connections that it needs.
    pub(crate) fn complete(&self, instance: &Arc<dyn Instance>) -> Result<(), ServerError> {
        let name = &instance.about().name;
        match instance.incomplete() {
            Ok(open) => match open.first() {
                Some(port) => Err(ServerError::NotConnected(format!("{name}.{port}"))),
                None => Ok(()),
            },
            Err(refused) => Err(ServerError::hook(name, Fault::Lock(refused))),
        }
    }

    /// That no connection has a port of a component.
    pub(crate) fn unconnected(&self, name: &str) -> Result<(), ServerError> {
        match self.connections.iter().find(|connection| connection.is_of(name)) {
            Some(connection) => {
                let connection = connection.name.clone();
                Err(ServerError::Connected { name: name.to_owned(), connection })
            }
            None => Ok(()),
        }
    }
}

impl TakenComponent {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.instance.about().name
    }

    /// Ends it for good: its hook `remove` is called, unless it is in the error state.
    ///
    /// # Errors
    /// Its hook fails; it is gone all the same.
    pub fn end(self) -> Result<(), ServerError> {
        let instance = self.0.instance;
        let (state, clock) = (instance.about().gate.state(), instance.about().clock.clone());
        let ended = match state {
            State::Error => Ok(()),
            _ => Hooks::new(&clock).run(&instance, &[Hook::Remove], Vec::new()).map(drop),
        };
        instance.about().gate.go(State::Removed);
        ended.map_err(|fault| ServerError::hook(&instance.about().name, fault))
    }
}

impl fmt::Debug for TakenComponent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "TakenComponent({})", self.name())
    }
}
