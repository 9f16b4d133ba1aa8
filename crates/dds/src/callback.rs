//! Functions of the application that are called for a status of an entity.
use std::sync::Mutex;

use dcps::status::StatusMask;

use crate::lock::lock;

type Call<E, S> = Box<dyn FnMut(&E, S) + Send>;

/// A function, if there is one. Calls of one entity follow each other: the lock is never waited for.
pub(crate) struct Callback<E, S>(Option<Mutex<Call<E, S>>>);

impl<E, S> Default for Callback<E, S> {
    fn default() -> Self {
        Self(None)
    }
}

impl<E, S> Callback<E, S> {
    /// Sets it, in the place of a former one.
    pub(crate) fn set(&mut self, call: impl FnMut(&E, S) + Send + 'static) {
        self.0 = Some(Mutex::new(Box::new(call)));
    }

    /// `status` if there is a function for it.
    pub(crate) fn mask(&self, status: StatusMask) -> StatusMask {
        if self.0.is_some() { status } else { StatusMask::NONE }
    }

    pub(crate) fn call(&self, entity: &E, status: S) {
        if let Some(call) = &self.0 {
            lock(call)(entity, status);
        }
    }
}
