//! Components whose type only they know, and how their hooks are run.
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::calls::{AnyFacet, AnyReceptacle};
use crate::cell::{About, Body, Cell, text_of};
use crate::component::{Component, Hook, Manifest, PortKind};
use crate::context::{Clock, Context};
use crate::outcome::Failure;
use crate::ports::Outlet;
use crate::reports::{Fault, Reports};
use crate::settings::{SettingError, Value};
use crate::target::AnyInlet;
use crate::turn;

/// How long a change of a component's connections waits for its handlers.
const PATIENCE: Duration = Duration::from_secs(1);

/// A component in its container.
pub(crate) trait Instance: Send + Sync {
    fn about(&self) -> &About;
    fn manifest(&self) -> Manifest;
    fn inlet(self: Arc<Self>, port: &str) -> Option<AnyInlet>;
    fn facet(self: Arc<Self>, port: &str) -> Option<AnyFacet>;
    /// Does something with a port that publishes; `Ok(false)` if there is none of that name.
    fn outlet(&self, port: &str, act: &mut dyn FnMut(&mut dyn Outlet)) -> Result<bool, threads::Refused>;
    /// The same for a receptacle.
    fn receptacle(
        &self,
        port: &str,
        act: &mut dyn FnMut(&mut dyn AnyReceptacle),
    ) -> Result<bool, threads::Refused>;
    /// Ports that need a connection and have none.
    fn incomplete(&self) -> Result<Vec<&'static str>, threads::Refused>;
    fn limit(&self, hook: Hook) -> Duration;
    /// Gives a setting a value, or its default, and says which it had.
    fn set(
        &self,
        setting: &str,
        value: Option<&Value>,
    ) -> Result<Result<Value, SettingError>, threads::Refused>;
    /// Puts a new component into the place of one in the error state: it has these settings, and the connections of the former one.
    fn renew(&self, settings: &[(&str, Value)]) -> Result<Result<(), SettingError>, Fault>;
    /// Runs a hook on the calling thread; `state` is for [`Hook::Freeze`] and [`Hook::Thaw`].
    fn hook(&self, hook: Hook, state: &mut Vec<u8>) -> Result<(), Fault>;
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<C: Component> Instance for Cell<C> {
    fn about(&self) -> &About {
        &self.about
    }

    fn manifest(&self) -> Manifest {
        C::manifest()
    }

    fn inlet(self: Arc<Self>, port: &str) -> Option<AnyInlet> {
        C::inlet(&self, port)
    }

    fn facet(self: Arc<Self>, port: &str) -> Option<AnyFacet> {
        C::facet(&self, port)
    }

    fn outlet(&self, port: &str, act: &mut dyn FnMut(&mut dyn Outlet)) -> Result<bool, threads::Refused> {
        self.body.alone(Some(PATIENCE), |component| component.outlet(port).map(act).is_some())
    }

    fn receptacle(
        &self,
        port: &str,
        act: &mut dyn FnMut(&mut dyn AnyReceptacle),
    ) -> Result<bool, threads::Refused> {
        self.body.alone(Some(PATIENCE), |component| component.receptacle(port).map(act).is_some())
    }

    fn incomplete(&self) -> Result<Vec<&'static str>, threads::Refused> {
        let ports = C::manifest().ports;
        self.body.alone(Some(PATIENCE), |component| {
            let open = ports.iter().filter(|port| match port.kind {
                PortKind::Emitter => component.outlet(port.name).is_some_and(|port| !port.is_complete()),
                PortKind::Receptacle => {
                    component.receptacle(port.name).is_some_and(|port| !port.is_complete())
                }
                _ => false,
            });
            open.map(|port| port.name).collect()
        })
    }

    fn limit(&self, hook: Hook) -> Duration {
        self.limits.get(hook as usize).copied().unwrap_or(PATIENCE)
    }

    fn set(
        &self,
        setting: &str,
        value: Option<&Value>,
    ) -> Result<Result<Value, SettingError>, threads::Refused> {
        let of = |component: &C| component.settings().into_iter().find(|(name, _)| *name == setting);
        self.body.alone(Some(PATIENCE), |component| {
            let unknown = || SettingError::Unknown { name: setting.to_owned() };
            let (_, before) = of(component).ok_or_else(unknown)?;
            let default = of(&C::default()).map(|(_, value)| value);
            component.set(setting, value.or(default.as_ref()).ok_or_else(unknown)?)?;
            Ok(before)
        })
    }

    fn renew(&self, settings: &[(&str, Value)]) -> Result<Result<(), SettingError>, Fault> {
        let caught = |panic: Box<dyn Any + Send>| Fault::Panic(text_of(&*panic));
        let made = match catch_unwind(AssertUnwindSafe(|| configured::<C>(settings))).map_err(caught)? {
            Ok(made) => made,
            Err(error) => return Ok(Err(error)),
        };
        let replace = |component: &mut C| {
            let mut made = made;
            for port in C::manifest().ports {
                if let Some((new, old)) = made.outlet(port.name).zip(component.outlet(port.name)) {
                    new.take_over(old);
                }
                if let Some((new, old)) = made.receptacle(port.name).zip(component.receptacle(port.name)) {
                    new.take_over(old);
                }
            }
            self.about.gate.renew();
            std::mem::replace(component, made)
        };
        let former = self.body.alone(Some(PATIENCE), replace).map_err(Fault::Lock)?;
        // It is gone, whatever it does at its end.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(former)));
        Ok(Ok(()))
    }

    fn hook(&self, hook: Hook, state: &mut Vec<u8>) -> Result<(), Fault> {
        let at = Context::new(&self.about.clock);
        let limit = self.limit(hook);
        let act = |component: &mut C| match hook {
            Hook::Construct => component.construct(&at),
            Hook::Configure => component.configure(&at),
            Hook::Configured => component.configured(&at),
            Hook::Activate => component.activate(&at),
            Hook::Suspend => component.suspend(&at),
            Hook::Resume => component.resume(&at),
            Hook::Passivate => component.passivate(&at),
            Hook::Remove => component.remove(&at),
            Hook::Freeze => component.freeze(state),
            Hook::Thaw => component.thaw(state),
            // Called where the fault is found, with it.
            Hook::Error => Ok(()),
        };
        let ended = match catch_unwind(AssertUnwindSafe(|| turn::run(|| self.body.alone(Some(limit), act)))) {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(Failure::Broken))) => Err(Fault::Hook { hook, reason: at.reason().to_owned() }),
            Ok(Ok(Err(failure))) => Err(Fault::Hook { hook, reason: failure.to_string() }),
            Ok(Err(threads::Refused::Late)) => Err(Fault::Overdue { hook, limit }),
            Ok(Err(refused)) => Err(Fault::Lock(refused)),
            Err(panic) => Err(Fault::Panic(text_of(&*panic))),
        };
        ended.inspect_err(|fault| self.fail(fault.clone()))
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// A type of components, as [`crate::components`] lists it.
#[derive(Clone, Copy)]
pub struct ComponentType {
    manifest: fn() -> Manifest,
    make: Make,
}

type Make = fn(
    name: &str,
    settings: &[(&str, Value)],
    clock: &Clock,
    reports: &Arc<Reports>,
) -> Result<Arc<dyn Instance>, SettingError>;

impl ComponentType {
    /// The type `C`.
    pub const fn of<C: Component>() -> Self {
        Self { manifest: C::manifest, make: make::<C> }
    }

    /// The ports and settings of the type.
    pub fn manifest(&self) -> Manifest {
        (self.manifest)()
    }

    pub(crate) fn make(
        &self,
        name: &str,
        settings: &[(&str, Value)],
        clock: &Clock,
        reports: &Arc<Reports>,
    ) -> Result<Arc<dyn Instance>, SettingError> {
        (self.make)(name, settings, clock, reports)
    }
}

impl std::fmt::Debug for ComponentType {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "ComponentType({})", self.manifest().component)
    }
}

fn make<C: Component>(
    name: &str,
    settings: &[(&str, Value)],
    clock: &Clock,
    reports: &Arc<Reports>,
) -> Result<Arc<dyn Instance>, SettingError> {
    Ok(Arc::new(Cell::new(name, clock, reports, configured::<C>(settings)?)))
}

/// A component with settings.
fn configured<C: Component>(settings: &[(&str, Value)]) -> Result<C, SettingError> {
    let mut component = C::default();
    // A default that is out of its range is found before the component works with it.
    for (name, value) in component.settings() {
        component.set(name, &value)?;
    }
    for (name, value) in settings {
        component.set(name, value)?;
    }
    Ok(component)
}
