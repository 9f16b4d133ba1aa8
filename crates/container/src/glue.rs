//! Items that `#[derive(Component)]` uses. Nothing here is for programs.
use crate::component::{Handle, HandleParallel, In};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::ports::Tick;

pub use crate::calls::{AnyFacet, AnyReceptacle, provide};
pub use crate::cell::{Cell, Gate, Parallel, Serialised, Shut};
pub use crate::chains::Hops;
pub use crate::channel_service::{Core, Source};
pub use crate::component::BodyOf;
pub use crate::event::{Body, Carried};
pub use crate::joins::Together;
pub use crate::logical::Latch;
pub use crate::ports::Outlet;
pub use crate::settings::{Setting, assign};
pub use crate::target::{AnyInlet, inlet};
pub use crate::watch::Watched;

/// The input of a port: an event or a timeout.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a, E> {
    /// An event.
    Event(&'a E),
    /// A timeout of the subscription.
    Timeout(u16),
    /// All of a delivery of several.
    Together(&'a Together<'a>),
    /// One of these, of which is told before.
    Watched(&'a Watched<'a, E>),
}

/// Calls a handler.
///
/// # Errors
/// The handler's.
#[inline(always)]
pub fn give<C: Handle<M>, M: In>(component: &mut C, given: Given<'_, M::Event>, at: &Context) -> Outcome {
    match given {
        Given::Event(event) => component.handle(event, at),
        other => give_other(component, other, at),
    }
}

/// What is no plain event. It is apart so that what is one costs a call of the handler alone.
#[inline(never)]
fn give_other<C: Handle<M>, M: In>(component: &mut C, given: Given<'_, M::Event>, at: &Context) -> Outcome {
    match given {
        Given::Event(event) => component.handle(event, at),
        Given::Timeout(timer) => component.timeout(timer, at),
        Given::Together(together) => together.give(at, |given, at| give_other(component, given, at)),
        Given::Watched(watched) => watched.give(at, |given, at| give_other(component, given, at)),
    }
}

/// Calls a handler of a parallel component.
///
/// # Errors
/// The handler's.
#[inline(always)]
pub fn give_parallel<C: HandleParallel<M>, M: In>(
    component: &C,
    given: Given<'_, M::Event>,
    at: &Context,
) -> Outcome {
    match given {
        Given::Event(event) => component.handle(event, at),
        other => give_other_parallel(component, other, at),
    }
}

/// [`give_other`] of a parallel component.
#[inline(never)]
fn give_other_parallel<C: HandleParallel<M>, M: In>(
    component: &C,
    given: Given<'_, M::Event>,
    at: &Context,
) -> Outcome {
    match given {
        Given::Event(event) => component.handle(event, at),
        Given::Timeout(timer) => component.timeout(timer, at),
        Given::Together(together) => together.give(at, |given, at| give_other_parallel(component, given, at)),
        Given::Watched(watched) => watched.give(at, |given, at| give_other_parallel(component, given, at)),
    }
}

/// Calls the handler of a timer.
///
/// # Errors
/// The handler's.
pub fn tick<C: Handle<M>, M: In<Event = Tick>>(
    component: &mut C,
    given: Given<'_, Tick>,
    at: &Context,
) -> Outcome {
    match given {
        Given::Watched(watched) => watched.give(at, |_, at| component.handle(&Tick, at)),
        _ => component.handle(&Tick, at),
    }
}

/// Calls the handler of a timer of a parallel component.
///
/// # Errors
/// The handler's.
pub fn tick_parallel<C: HandleParallel<M>, M: In<Event = Tick>>(
    component: &C,
    given: Given<'_, Tick>,
    at: &Context,
) -> Outcome {
    match given {
        Given::Watched(watched) => watched.give(at, |_, at| component.handle(&Tick, at)),
        _ => component.handle(&Tick, at),
    }
}
