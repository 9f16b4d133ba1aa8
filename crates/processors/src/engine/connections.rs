//! Events of connections: when each was pushed, and when the handler that it leads to has run for it (B9).
use alloc::vec::Vec;

use super::{Engine, Origins};
use crate::system::Target;

/// Passages are in a list of the engine; this is the end of each list.
pub(super) const NO_PASSAGE: u32 = u32::MAX;

/// An event that came over a connection, and the next of those that came with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    connection: usize,
    number: usize,
    rest: u32,
}

/// The events of a connection.
#[derive(Clone, Default, Debug)]
pub(super) struct Pushes {
    /// When each was pushed, and whether it needs no further answer.
    events: Vec<(u64, bool)>,
    /// Those before this one need no answer.
    open: usize,
}

impl Engine<'_> {
    /// An event goes over a connection, pushed at this instant: what it carries.
    pub(super) fn pass(&mut self, connection: usize, origins: &Origins, pushed: u64) -> Origins {
        let mut passed = origins.only(self.system.passed[connection]);
        let events = &mut self.pushes[connection].events;
        passed.came = self.passages.len() as u32;
        self.passages.push(Passage { connection, number: events.len(), rest: NO_PASSAGE });
        events.push((pushed, false));
        passed
    }

    /// What two things stem from, together.
    pub(super) fn gather(&mut self, into: &mut Origins, other: &Origins) {
        into.merge(other);
        let mut next = other.came;
        while let Some(passage) = self.passages.get(next as usize).copied() {
            let place = self.passages.len() as u32;
            self.passages.push(Passage { rest: into.came, ..passage });
            (into.came, next) = (place, passage.rest);
        }
    }

    fn passages(&self, origins: &Origins) -> Vec<Passage> {
        let first = self.passages.get(origins.came as usize);
        core::iter::successors(first, |last| self.passages.get(last.rest as usize)).copied().collect()
    }

    /// Whether each event of a connection has a run of its own.
    fn is_single(&self, connection: usize) -> bool {
        let target = self.system.parts.connections[connection].target;
        matches!(target, Target::Queue(_) | Target::Direct(_))
    }

    /// The run of a handler has ended for what it was called with.
    pub(super) fn answer(&mut self, origins: &Origins) {
        for Passage { connection, number, .. } in self.passages(origins) {
            let errors = self.system.clock_errors_of(connection);
            let (now, single) = (self.now, self.is_single(connection));
            let pushes = &mut self.pushes[connection];
            let first = if single { number } else { pushes.open };
            for (pushed, is_answered) in pushes.events.iter_mut().take(number + 1).skip(first) {
                if !*is_answered {
                    self.outcome.latency[connection].add(now - *pushed + errors, *pushed, now);
                    *is_answered = true;
                }
            }
            while pushes.events.get(pushes.open).is_some_and(|(_, is_answered)| *is_answered) {
                pushes.open += 1;
            }
        }
    }

    /// What was on its way to a queue is lost: no run will end for it. At a join or a register a later event answers.
    pub(super) fn never_answered(&mut self, origins: &Origins) {
        for Passage { connection, number, .. } in self.passages(origins) {
            if self.is_single(connection) {
                let event = &mut self.pushes[connection].events[number];
                event.1 = true;
                self.outcome.latency[connection].add(u64::MAX, event.0, self.now);
            }
        }
    }

    /// Counts events without an answer as if it came now.
    pub(super) fn close_connections(&mut self) {
        for connection in 0..self.pushes.len() {
            let errors = self.system.clock_errors_of(connection);
            let open = self.pushes[connection].events.iter().find(|(_, is_answered)| !is_answered);
            if let Some((pushed, _)) = open {
                self.outcome.latency[connection].add(self.now - pushed + errors, *pushed, self.now);
            }
        }
    }
}
