//! Components: their ports and settings, their handlers, their life cycle.
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::calls::{AnyFacet, AnyReceptacle};
use crate::cell::{Body, Cell, Gate, Shut};
use crate::context::Context;
use crate::glue::Given;
use crate::outcome::Outcome;
use crate::ports::Outlet;
use crate::reports::Fault;
use crate::settings::{SettingError, Value};
use crate::target::AnyInlet;

/// The implementation that `#[derive(Component)]` writes: how the container reaches the ports and settings of a component.
pub trait Component: Lifecycle + Default + Send + Sized + 'static {
    /// How handlers get at the component: one after the other, or several at once.
    type Body: Body<Self>;
    /// Its ports and settings.
    fn manifest() -> Manifest;
    /// Gives a setting a value.
    ///
    /// # Errors
    /// The name or the value is wrong; the setting is as before.
    fn set(&mut self, setting: &str, value: &Value) -> Result<(), SettingError>;
    /// Its settings with their values.
    fn settings(&self) -> Vec<(&'static str, Value)>;
    /// A port that publishes.
    fn outlet(&mut self, port: &str) -> Option<&mut dyn Outlet>;
    /// A receptacle.
    fn receptacle(&mut self, port: &str) -> Option<&mut dyn AnyReceptacle>;
    /// A port that consumes.
    fn inlet(cell: &Arc<Cell<Self>>, port: &str) -> Option<AnyInlet>;
    /// A facet.
    fn facet(cell: &Arc<Cell<Self>>, port: &str) -> Option<AnyFacet>;
}

/// The marker of a port that consumes; the derive macro makes one for each, named after the port: `airframe::Fix` for the port `fix` of
/// `Airframe`.
pub trait In: Send + Sync + 'static {
    /// The component that has the port.
    type Component: Component;
    /// The type of the events that it consumes.
    type Event: crate::Event;
    /// The name of the port.
    const NAME: &'static str;
    /// Calls the handler for an event.
    ///
    /// # Errors
    /// The thread did not get into the component.
    #[doc(hidden)]
    fn hand(body: &BodyOf<Self>, gate: &Gate, event: &Self::Event, at: &Context) -> Result<Outcome, Shut>;
    /// Gives the component whatever it may be given. It costs more than [`In::hand`].
    ///
    /// # Errors
    /// As [`In::hand`].
    #[doc(hidden)]
    fn give(
        body: &BodyOf<Self>,
        gate: &Gate,
        given: Given<'_, Self::Event>,
        at: &Context,
    ) -> Result<Outcome, Shut>;
}

/// How the component of a port is reached.
pub type BodyOf<M> = <<M as In>::Component as Component>::Body;

/// The handler of a port. While it runs no other thread is in the component.
#[diagnostic::on_unimplemented(
    message = "the component has no handler for this port",
    label = "this port needs `impl Handle<{M}> for {Self}`",
    note = "a parallel component needs `impl HandleParallel<{M}> for {Self}`"
)]
pub trait Handle<M: In> {
    /// An event came. In what a join gives, the events come one by one; [`Context::follows`] says how many there are to come.
    ///
    /// # Errors
    /// Any failure, which is counted; after [`Context::broken`] the component is in the error state.
    fn handle(&mut self, event: &M::Event, at: &Context) -> Outcome;

    /// A timeout of the subscription came.
    ///
    /// # Errors
    /// As [`Handle::handle`].
    fn timeout(&mut self, timer: u16, at: &Context) -> Outcome {
        let _ = (timer, at);
        Ok(())
    }
}

/// The handler of a port of a parallel component: it may run on several threads at once.
#[diagnostic::on_unimplemented(
    message = "the parallel component has no handler for this port",
    label = "this port needs `impl HandleParallel<{M}> for {Self}`"
)]
pub trait HandleParallel<M: In> {
    /// As [`Handle::handle`].
    ///
    /// # Errors
    /// As [`Handle::handle`].
    fn handle(&self, event: &M::Event, at: &Context) -> Outcome;

    /// As [`Handle::timeout`].
    ///
    /// # Errors
    /// As [`Handle::handle`].
    fn timeout(&self, timer: u16, at: &Context) -> Outcome {
        let _ = (timer, at);
        Ok(())
    }
}

/// The hooks of a component's life. What returns an error, panics or takes longer than its limit leads to the error state.
pub trait Lifecycle {
    /// It was made.
    ///
    /// # Errors
    /// It cannot be used.
    fn construct(&mut self, at: &Context) -> Outcome {
        let _ = at;
        Ok(())
    }

    /// Its settings have their values.
    ///
    /// # Errors
    /// It cannot be used so.
    fn configure(&mut self, at: &Context) -> Outcome {
        let _ = at;
        Ok(())
    }

    /// Its ports are connected.
    ///
    /// # Errors
    /// It cannot be used so.
    fn configured(&mut self, at: &Context) -> Outcome {
        let _ = at;
        Ok(())
    }

    /// From the end of this on it gets events.
    ///
    /// # Errors
    /// It cannot work.
    fn activate(&mut self, at: &Context) -> Outcome {
        let _ = at;
        Ok(())
    }

    /// It gets no events for a time: those of channels wait, others are missed.
    ///
    /// # Errors
    /// It cannot stop so.
    fn suspend(&mut self, at: &Context) -> Outcome {
        let _ = at;
        Ok(())
    }

    /// It gets events again.
    ///
    /// # Errors
    /// It cannot go on.
    fn resume(&mut self, at: &Context) -> Outcome {
        let _ = at;
        Ok(())
    }

    /// It gets no more events.
    ///
    /// # Errors
    /// Something could not be brought to an end.
    fn passivate(&mut self, at: &Context) -> Outcome {
        let _ = at;
        Ok(())
    }

    /// It is about to be dropped.
    ///
    /// # Errors
    /// Something could not be given back.
    fn remove(&mut self, at: &Context) -> Outcome {
        let _ = at;
        Ok(())
    }

    /// It is in the error state, and gets nothing from now on. Called on the thread where that was found out.
    fn error(&mut self, fault: &Fault) {
        let _ = fault;
    }

    /// Writes its state for another one to go on with. By default it has none.
    ///
    /// # Errors
    /// It cannot be taken over now.
    fn freeze(&mut self, state: &mut Vec<u8>) -> Outcome {
        let _ = state;
        Ok(())
    }

    /// Goes on with a state that another one has written.
    ///
    /// # Errors
    /// The state is not understood.
    fn thaw(&mut self, state: &[u8]) -> Outcome {
        let _ = state;
        Ok(())
    }

    /// How long a hook may take, counted from when its thread begins with it.
    fn limit(&self, hook: Hook) -> Duration {
        let _ = hook;
        Duration::from_secs(1)
    }
}

/// The hooks of [`Lifecycle`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hook {
    /// [`Lifecycle::construct`].
    Construct,
    /// [`Lifecycle::configure`].
    Configure,
    /// [`Lifecycle::configured`].
    Configured,
    /// [`Lifecycle::activate`].
    Activate,
    /// [`Lifecycle::suspend`].
    Suspend,
    /// [`Lifecycle::resume`].
    Resume,
    /// [`Lifecycle::passivate`].
    Passivate,
    /// [`Lifecycle::remove`].
    Remove,
    /// [`Lifecycle::error`].
    Error,
    /// [`Lifecycle::freeze`].
    Freeze,
    /// [`Lifecycle::thaw`].
    Thaw,
}

/// All hooks, in the order of their numbers.
pub(crate) const HOOKS: [Hook; 11] = [
    Hook::Construct,
    Hook::Configure,
    Hook::Configured,
    Hook::Activate,
    Hook::Suspend,
    Hook::Resume,
    Hook::Passivate,
    Hook::Remove,
    Hook::Error,
    Hook::Freeze,
    Hook::Thaw,
];

/// The type, ports and settings of a component.
#[derive(Clone, PartialEq, Debug)]
pub struct Manifest {
    /// The type's name.
    pub component: &'static str,
    /// Whether its handlers may run at once.
    pub is_parallel: bool,
    /// Whether one of another build may go on with its state.
    pub is_swappable: bool,
    /// Its ports, in the order in which they are written.
    pub ports: Vec<Port>,
    /// Its settings, in the order in which they are written.
    pub settings: Vec<SettingInfo>,
}

/// A port, as a manifest shows it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Port {
    /// The name.
    pub name: &'static str,
    /// The kind of port.
    pub kind: PortKind,
    /// The type of its events, or its interface, as it is written.
    pub of: &'static str,
    /// The fields of its events, if it has any.
    pub fields: Option<crate::EventFields>,
}

/// The kind of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortKind {
    /// [`crate::Publisher`].
    Publisher,
    /// [`crate::Emitter`].
    Emitter,
    /// [`crate::Consumer`].
    Consumer,
    /// [`crate::Timer`].
    Timer,
    /// [`crate::Facet`].
    Facet,
    /// [`crate::Receptacle`].
    Receptacle,
}

/// A setting, as a manifest shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct SettingInfo {
    /// The name.
    pub name: &'static str,
    /// The type.
    pub kind: &'static str,
    /// The value without another one in the plan.
    pub default: Value,
    /// The range of its values, as it is written; `None` is all values of its type.
    pub range: Option<&'static str>,
}

impl fmt::Display for Manifest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |is_so: bool, word: &'static str| if is_so { word } else { "" };
        let (parallel, swappable) =
            (said(self.is_parallel, ", parallel"), said(self.is_swappable, ", swappable"));
        writeln!(out, "component {}{parallel}{swappable}", self.component)?;
        for port in &self.ports {
            let kind = format!("{:?}", port.kind).to_lowercase();
            writeln!(out, "  {kind} {}: {}", port.name, port.of)?;
        }
        for setting in &self.settings {
            write!(out, "  setting {}: {} = {}", setting.name, setting.kind, setting.default)?;
            if let Some(range) = setting.range {
                write!(out, " in {range}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&format!("{self:?}").to_lowercase())
    }
}
