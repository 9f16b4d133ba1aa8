//! The way into a component from threads that are no container's.
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::cell::{Body, Cell, text_of};
use crate::component::Component;
use crate::context::Context;
use crate::reports::Fault;
use crate::turn;

/// A way into a component, from threads that are no container's: a driver of a device, for example.
pub struct Entry<C: Component> {
    cell: Arc<Cell<C>>,
}

impl<C: Component> Entry<C> {
    pub(crate) fn of(cell: &Arc<Cell<C>>) -> Self {
        Self { cell: Arc::clone(cell) }
    }

    /// Does something with the component while no other thread is in it, on the calling thread, in whatever state it is. What is published
    /// then goes as from a handler.
    ///
    /// # Errors
    /// It cannot be reached, or it panicked and is in the error state.
    pub fn with<R>(&self, act: impl FnOnce(&mut C, &Context) -> R) -> Result<R, EntryError> {
        let about = &self.cell.about;
        if about.gate.is_over() {
            return Err(EntryError::Over);
        }
        let at = Context::new(&about.clock);
        let act = || turn::run(|| self.cell.body.alone(None, |component| act(component, &at)));
        match catch_unwind(AssertUnwindSafe(act)) {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(refused)) => Err(EntryError::Lock(refused)),
            Err(panic) => {
                self.cell.fail(Fault::Panic(text_of(&*panic)));
                Err(EntryError::Over)
            }
        }
    }
}

impl<C: Component> Clone for Entry<C> {
    fn clone(&self) -> Self {
        Self { cell: Arc::clone(&self.cell) }
    }
}

impl<C: Component> fmt::Debug for Entry<C> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Entry({:?})", self.cell)
    }
}

/// Why a component is not entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EntryError {
    /// It is in the error state, or gone.
    Over,
    /// Its lock cannot be had.
    Lock(threads::Refused),
}

impl fmt::Display for EntryError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Over => out.write_str("the component is in the error state, or gone"),
            Self::Lock(refused) => write!(out, "the component cannot be entered: {refused}"),
        }
    }
}

impl std::error::Error for EntryError {}
