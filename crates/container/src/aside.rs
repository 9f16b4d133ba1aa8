//! What joins have kept is set aside for a change of the server: it is part of no delivery any more, and comes back if the change is taken back.
use std::fmt;

use channel::{Kept, Part};

use crate::error::ServerError;
use crate::event::Body;
use crate::server::Server;

/// What a join has kept. Sources are the parts of its port, from 0, so that it suits the join also when that was made anew.
#[derive(Clone)]
pub struct Aside(Kept<Body>);

impl Aside {
    /// With the numbers of the sources, in the order of the parts.
    pub(crate) fn of(mut kept: Kept<Body>, sources: &[u32]) -> Self {
        for part in kept.parts_mut() {
            if let Part::Event { header, .. } = part {
                let place = sources.iter().position(|source| *source == header.source);
                header.source = place.and_then(|place| u32::try_from(place).ok()).unwrap_or(u32::MAX);
            }
        }
        Self(kept)
    }

    /// The same for a join whose sources have these numbers; `None` if it has not so many.
    pub(crate) fn kept(mut self, sources: &[u32]) -> Option<Kept<Body>> {
        for part in self.0.parts_mut() {
            if let Part::Event { header, .. } = part {
                header.source = *sources.get(usize::try_from(header.source).ok()?)?;
            }
        }
        Some(self.0)
    }

    /// How many events it has.
    pub fn events(&self) -> usize {
        self.0.events()
    }
}

impl fmt::Debug for Aside {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} events", self.events())
    }
}

impl Server {
    /// Sets aside what a join has kept, by the name of its connection: from now on it delivers nothing of that. Says how many events it is. What
    /// was set aside before stays so.
    ///
    /// # Errors
    /// There is no join of this name.
    pub fn set_aside(&mut self, join: &str) -> Result<usize, ServerError> {
        let connection = self.connections.iter().find(|connection| connection.name == join);
        let aside = connection.and_then(|connection| connection.end.as_ref()?.set_aside());
        let aside = aside.ok_or_else(|| ServerError::Unknown(join.to_owned()))?;
        let events = aside.events();
        self.aside.entry(join.to_owned()).or_default().push(aside);
        Ok(events)
    }

    /// Gives a join back what was set aside last, before what it has kept since. If it was made anew meanwhile, it has to have the same tree.
    ///
    /// # Errors
    /// There is no join of this name, or it is another one.
    pub fn put_back(&mut self, join: &str) -> Result<(), ServerError> {
        let unknown = || ServerError::Unknown(join.to_owned());
        let aside = self.aside.get_mut(join).and_then(Vec::pop).ok_or_else(unknown)?;
        let connection = self.connections.iter().find(|connection| connection.name == join);
        let end = connection.and_then(|connection| connection.end.as_ref());
        if end.is_some_and(|end| end.put_back(aside)) { Ok(()) } else { Err(unknown()) }
    }

    /// Drops all that was set aside of a join.
    pub fn drop_aside(&mut self, join: &str) {
        self.aside.remove(join);
    }
}
