//! Ports that publish and consume.
use std::any::{Any, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use crate::context::Context;
use crate::event::{AnyLink, Event, EventType, Of};
use crate::outcome::{Failure, Outcome};

/// Where events go. Services make them, and consumers are some.
pub trait Sink<T>: Send + Sync {
    /// Takes an event, or refuses it.
    ///
    /// # Errors
    /// Why it was refused. What a consumer does with an event is no matter of its publisher.
    fn take(&self, event: &T, at: &Context) -> Outcome;

    /// The same for callers that catch panics anyway, and hand them to [`Sink::caught`]: so they are caught once for all sinks of a push.
    ///
    /// # Errors
    /// As [`Sink::take`].
    #[doc(hidden)]
    fn hand(&self, event: &T, at: &Context) -> Outcome {
        self.take(event, at)
    }

    /// [`Sink::hand`] panicked. Unless it is the panic of a consumer, it is the panic of the publisher.
    #[doc(hidden)]
    fn caught(&self, panic: Box<dyn Any + Send>) {
        resume_unwind(panic)
    }
}

/// A port that publishes to any number of consumers.
pub struct Publisher<T> {
    links: Vec<Link<T>>,
}

/// A port that publishes to one consumer.
pub struct Emitter<T> {
    link: Option<Link<T>>,
}

/// A port that consumes. What comes is given to the component's handler of this port.
pub struct Consumer<T>(PhantomData<fn(T)>);

/// A port that is called each so many nanoseconds. Its period is said when it is connected.
#[derive(Clone, Copy, Default, Debug)]
pub struct Timer(());

/// The event of a [`Timer`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tick;

impl Event for Tick {}

struct Link<T> {
    connection: u32,
    sink: Arc<dyn Sink<T>>,
}

impl<T: Event> Publisher<T> {
    /// Publishes an event to all consumers that are connected.
    ///
    /// # Errors
    /// The first refusal of a service. The other services have got the event all the same.
    #[inline]
    pub fn push(&self, at: &Context, event: &T) -> Outcome {
        let (mut outcome, mut left, mut last) = (Ok(()), self.links.iter(), None);
        loop {
            let all = catch_unwind(AssertUnwindSafe(|| {
                for link in left.by_ref() {
                    last = Some(link);
                    if let Err(failure) = link.sink.hand(event, at) {
                        keep_first(&mut outcome, failure);
                    }
                }
            }));
            let Err(panic) = all else { return outcome };
            // The others get the event all the same.
            if let Some(link) = last {
                link.sink.caught(panic);
            }
        }
    }

    /// How many connections there are; a service may lead to several consumers by one.
    pub fn connections(&self) -> usize {
        self.links.len()
    }
}

#[cold]
fn keep_first(outcome: &mut Outcome, failure: Failure) {
    if outcome.is_ok() {
        *outcome = Err(failure);
    }
}

impl<T: Event> Emitter<T> {
    /// Publishes an event to the consumer.
    ///
    /// # Errors
    /// [`Failure::NotConnected`], or the refusal of the service.
    #[inline]
    pub fn push(&self, at: &Context, event: &T) -> Outcome {
        match &self.link {
            Some(link) => link.sink.take(event, at),
            None => Err(Failure::NotConnected),
        }
    }
}

/// Why a link is not attached to a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttachError {
    /// It is a link for another type.
    Type,
    /// The port has its one link already.
    Taken,
}

/// A port that publishes, as the container uses it.
pub trait Outlet {
    /// The type of the events that it publishes.
    fn event(&self) -> &'static dyn EventType;
    /// Whether it leads to exactly one consumer.
    fn is_single(&self) -> bool;
    /// Whether it has what it needs to be used.
    fn is_complete(&self) -> bool;
    /// Attaches a link of a connection.
    ///
    /// # Errors
    /// The link is for another type, or the port has the one link that it may have.
    fn attach(&mut self, connection: u32, link: AnyLink) -> Result<(), AttachError>;
    /// Takes all links of a connection off.
    fn detach(&mut self, connection: u32);
    /// Takes over all links of a port of the same type.
    fn take_over(&mut self, from: &mut dyn Outlet);
    /// The port as a value, for [`Outlet::take_over`].
    fn as_any(&mut self) -> &mut dyn Any;
}

impl<T: Event> Outlet for Publisher<T> {
    fn event(&self) -> &'static dyn EventType {
        &Of::<T>(PhantomData)
    }

    fn is_single(&self) -> bool {
        false
    }

    fn is_complete(&self) -> bool {
        true
    }

    fn attach(&mut self, connection: u32, link: AnyLink) -> Result<(), AttachError> {
        let sink = link.sink::<T>().ok_or(AttachError::Type)?;
        self.links.push(Link { connection, sink });
        Ok(())
    }

    fn detach(&mut self, connection: u32) {
        self.links.retain(|link| link.connection != connection);
    }

    fn take_over(&mut self, from: &mut dyn Outlet) {
        if let Some(from) = from.as_any().downcast_mut::<Self>() {
            self.links.append(&mut from.links);
        }
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl<T: Event> Outlet for Emitter<T> {
    fn event(&self) -> &'static dyn EventType {
        &Of::<T>(PhantomData)
    }

    fn is_single(&self) -> bool {
        true
    }

    fn is_complete(&self) -> bool {
        self.link.is_some()
    }

    fn attach(&mut self, connection: u32, link: AnyLink) -> Result<(), AttachError> {
        let sink = link.sink::<T>().ok_or(AttachError::Type)?;
        if self.link.is_some() {
            return Err(AttachError::Taken);
        }
        self.link = Some(Link { connection, sink });
        Ok(())
    }

    fn detach(&mut self, connection: u32) {
        self.link.take_if(|link| link.connection == connection);
    }

    fn take_over(&mut self, from: &mut dyn Outlet) {
        if let Some(from) = from.as_any().downcast_mut::<Self>() {
            self.link = from.link.take();
        }
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl<T> Default for Publisher<T> {
    fn default() -> Self {
        Self { links: Vec::new() }
    }
}

impl<T> Default for Emitter<T> {
    fn default() -> Self {
        Self { link: None }
    }
}

impl<T> Default for Consumer<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T> fmt::Debug for Publisher<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Publisher<{}> with {} connections", type_name::<T>(), self.links.len())
    }
}

impl<T> fmt::Debug for Emitter<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.link.is_some() { "connected" } else { "not connected" };
        write!(out, "Emitter<{}>, {state}", type_name::<T>())
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Consumer<{}>", type_name::<T>())
    }
}
