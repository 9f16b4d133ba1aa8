//! The link from a publisher into a channel. Its events lie in slots that are used again once all consumers are done with them.
use std::sync::{Arc, Mutex, PoisonError};

use channel::{Header, PublisherId};

use super::core::Core;
use crate::context::Context;
use crate::event::{Body, Event};
use crate::outcome::Outcome;
use crate::ports::Sink;

/// A publisher of a channel.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub(crate) publisher: PublisherId,
    /// The source number of its events.
    pub(crate) number: u32,
    /// The priority of its events, in place of the priority of the event that led to them.
    pub(crate) priority: Option<u8>,
    /// Nanoseconds from when an event was made to its deadline, instead of that of what led to it.
    pub(crate) timeout: Option<u64>,
}

impl Source {
    pub(super) const fn new(publisher: PublisherId, number: u32) -> Self {
        Self { publisher, number, priority: None, timeout: None }
    }
}

pub(crate) struct ChannelLink<T> {
    core: Arc<Core>,
    source: Source,
    slots: Mutex<Slots<T>>,
}

struct Slots<T> {
    /// All that there are; the one that was used longest ago is at `next`.
    all: Vec<Arc<T>>,
    next: usize,
}

impl<T: Event> Slots<T> {
    /// A slot with a copy of the event. There come to be as many slots as events are under way at once.
    fn fill(&mut self, event: &T) -> Arc<T> {
        let count = self.all.len();
        for step in 0..count {
            let index = (self.next + step) % count;
            let Some(slot) = self.all.get_mut(index) else { break };
            if let Some(free) = Arc::get_mut(slot) {
                free.clone_from(event);
                self.next = (index + 1) % count;
                return Arc::clone(slot);
            }
        }
        // The slot is allocated before what the event has on the heap. Without that between them, a large copy often begins 16 bytes further in its
        // page than its source, where some C libraries copy 30 times slower on some processors.
        let slot = Arc::new_cyclic(|_| event.clone());
        self.all.insert(self.next, Arc::clone(&slot));
        self.next = (self.next + 1) % (count + 1);
        slot
    }
}

impl<T: Event> ChannelLink<T> {
    pub(crate) fn new(core: Arc<Core>, source: Source) -> Self {
        Self { core, source, slots: Mutex::new(Slots { all: Vec::new(), next: 0 }) }
    }
}

impl<T: Event> Sink<T> for ChannelLink<T> {
    fn take(&self, event: &T, at: &Context) -> Outcome {
        let body = self.slots.lock().unwrap_or_else(PoisonError::into_inner).fill(event);
        let (created, now) = at.created_and_now();
        let header = Header {
            kind: 0,
            source: self.source.number,
            created,
            priority: self.source.priority.unwrap_or_else(|| at.priority()),
            deadline: match self.source.timeout {
                Some(timeout) => Some(created.saturating_add(timeout)),
                None => at.deadline(),
            },
        };
        self.core.push(now, self.source.publisher, &header, &Body(body))
    }
}
