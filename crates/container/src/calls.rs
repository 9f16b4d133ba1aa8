//! Ports for calls: a facet offers a trait, a receptacle uses it.
use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::cell::{Cell, Serialised};
use crate::component::Component;
use crate::outcome::Failure;
use crate::ports::AttachError;

/// A port by which others call the component, which implements the trait: `Facet<dyn Tuning>`.
pub struct Facet<I: ?Sized>(PhantomData<fn(&I)>);

/// A port by which the component calls the one that is connected to it: `Receptacle<dyn Tuning>`.
pub struct Receptacle<I: ?Sized> {
    provider: Option<(u32, Arc<dyn Provider<I>>)>,
}

/// The component that a call reaches.
pub trait Provider<I: ?Sized>: Send + Sync {
    /// Calls it once, on the calling thread, while no other thread is in the component.
    ///
    /// # Errors
    /// Why it was not called, or [`Failure::Panic`].
    fn call(&self, act: &mut dyn FnMut(&mut I)) -> Result<(), Failure>;
}

impl<I: ?Sized + 'static> Receptacle<I> {
    /// Calls the component that is connected, on the calling thread.
    ///
    /// # Errors
    /// [`Failure::NotConnected`], [`Failure::NotActive`], [`Failure::Circle`], [`Failure::Panic`], [`Failure::Lock`].
    pub fn call<R>(&self, act: impl FnOnce(&mut I) -> R) -> Result<R, Failure> {
        let (_, provider) = self.provider.as_ref().ok_or(Failure::NotConnected)?;
        let (mut act, mut result) = (Some(act), None);
        provider.call(&mut |interface| result = act.take().map(|act| act(interface)))?;
        result.ok_or(Failure::NotActive)
    }
}

/// A facet as the container hands it on: an `Arc<dyn Provider<I>>`.
pub struct AnyFacet {
    provider: Box<dyn Any + Send>,
    /// The interface.
    pub(crate) name: &'static str,
}

impl AnyFacet {
    pub(crate) fn new<I: ?Sized + 'static>(provider: Arc<dyn Provider<I>>) -> Self {
        Self { provider: Box::new(provider), name: type_name::<I>() }
    }
}

/// A receptacle as the container uses it.
pub trait AnyReceptacle {
    /// The interface.
    fn interface(&self) -> (TypeId, &'static str);
    /// Whether a facet is connected.
    fn is_complete(&self) -> bool;
    /// Connects a facet.
    ///
    /// # Errors
    /// The facet is of another type, or the receptacle has one already.
    fn attach(&mut self, connection: u32, facet: AnyFacet) -> Result<(), AttachError>;
    /// Takes the facet of a connection off.
    fn detach(&mut self, connection: u32);
    /// Takes over the facet of a receptacle of the same type.
    fn take_over(&mut self, from: &mut dyn AnyReceptacle);
    /// The receptacle as a value, for [`AnyReceptacle::take_over`].
    fn as_any(&mut self) -> &mut dyn Any;
}

impl<I: ?Sized + 'static> AnyReceptacle for Receptacle<I> {
    fn interface(&self) -> (TypeId, &'static str) {
        (TypeId::of::<I>(), type_name::<I>())
    }

    fn is_complete(&self) -> bool {
        self.provider.is_some()
    }

    fn attach(&mut self, connection: u32, facet: AnyFacet) -> Result<(), AttachError> {
        let provider = facet.provider.downcast::<Arc<dyn Provider<I>>>().map_err(|_| AttachError::Type)?;
        if self.provider.is_some() {
            return Err(AttachError::Taken);
        }
        self.provider = Some((connection, *provider));
        Ok(())
    }

    fn detach(&mut self, connection: u32) {
        self.provider.take_if(|(of, _)| *of == connection);
    }

    fn take_over(&mut self, from: &mut dyn AnyReceptacle) {
        if let Some(from) = from.as_any().downcast_mut::<Self>() {
            self.provider = from.provider.take();
        }
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// A component as one of its facets.
struct Provided<C: Component, I: ?Sized> {
    cell: Arc<Cell<C>>,
    view: fn(&mut C) -> &mut I,
}

impl<C: Component<Body = Serialised<C>>, I: ?Sized + 'static> Provider<I> for Provided<C, I> {
    fn call(&self, act: &mut dyn FnMut(&mut I)) -> Result<(), Failure> {
        self.cell.called(|component| act((self.view)(component)))
    }
}

/// Code of the derive macro for a facet.
#[doc(hidden)]
pub fn provide<C: Component<Body = Serialised<C>>, I: ?Sized + 'static>(
    cell: &Arc<Cell<C>>,
    view: fn(&mut C) -> &mut I,
) -> AnyFacet {
    AnyFacet::new::<I>(Arc::new(Provided { cell: Arc::clone(cell), view }))
}

impl<I: ?Sized> Default for Facet<I> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<I: ?Sized> Default for Receptacle<I> {
    fn default() -> Self {
        Self { provider: None }
    }
}

impl<I: ?Sized> fmt::Debug for Facet<I> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Facet<{}>", type_name::<I>())
    }
}

impl<I: ?Sized> fmt::Debug for Receptacle<I> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.provider.is_some() { "connected" } else { "not connected" };
        write!(out, "Receptacle<{}>, {state}", type_name::<I>())
    }
}

impl fmt::Debug for AnyFacet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "AnyFacet<{}>", self.name)
    }
}
