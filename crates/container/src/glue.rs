//! Items that `#[derive(Component)]` uses. Nothing here is for programs.
use crate::component::{Handle, HandleParallel, In};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::ports::Tick;

pub use crate::calls::{AnyFacet, AnyReceptacle, provide};
pub use crate::cell::{AnyInlet, Cell, Gate, Parallel, Serialised, Shut, inlet};
pub use crate::chains::Hops;
pub use crate::channel_service::{Core, Source};
pub use crate::component::BodyOf;
pub use crate::event::{Body, Carried};
pub use crate::ports::Outlet;
pub use crate::settings::{Setting, assign};

/// The input of a port: an event or a timeout.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a, E> {
    /// An event.
    Event(&'a E),
    /// A timeout of the subscription.
    Timeout(u16),
}

/// Calls a handler.
///
/// # Errors
/// The handler's.
#[inline]
pub fn give<C: Handle<M>, M: In>(component: &mut C, given: Given<'_, M::Event>, at: &Context) -> Outcome {
    match given {
        Given::Event(event) => component.handle(event, at),
        Given::Timeout(timer) => component.timeout(timer, at),
    }
}

/// Calls a handler of a parallel component.
///
/// # Errors
/// The handler's.
#[inline]
pub fn give_parallel<C: HandleParallel<M>, M: In>(
    component: &C,
    given: Given<'_, M::Event>,
    at: &Context,
) -> Outcome {
    match given {
        Given::Event(event) => component.handle(event, at),
        Given::Timeout(timer) => component.timeout(timer, at),
    }
}

/// Calls the handler of a timer.
///
/// # Errors
/// The handler's.
#[inline]
pub fn tick<C: Handle<M>, M: In<Event = Tick>>(
    component: &mut C,
    _: Given<'_, Tick>,
    at: &Context,
) -> Outcome {
    component.handle(&Tick, at)
}

/// Calls the handler of a timer of a parallel component.
///
/// # Errors
/// The handler's.
#[inline]
pub fn tick_parallel<C: HandleParallel<M>, M: In<Event = Tick>>(
    component: &C,
    _: Given<'_, Tick>,
    at: &Context,
) -> Outcome {
    component.handle(&Tick, at)
}
