//! Writers that have said goodbye and are kept for a moment longer.
//!
//! Goodbyes come to the address of discovery, samples to that of the endpoints: two sockets, and what was sent last may be read
//! first. A writer that writes and leaves at once would lose its last samples that way, so its matches outlive its goodbye.

use wire::{Duration, EntityId, Guid, GuidPrefix, Instant};

use wire::sorted::{SortedMap, SortedSet};

/// How much longer a writer is kept: time for a thread to read what had arrived before.
const MOMENT: Duration = Duration::from_millis(50);

/// Writers on the way out, each once.
#[derive(Debug, Default)]
pub(super) struct Farewells {
    until: SortedMap<Guid, Instant>,
    order: SortedSet<(Instant, Guid)>,
}

impl Farewells {
    /// It goes a moment after its first goodbye.
    pub(super) fn add(&mut self, now: Instant, writer: Guid) {
        let until = *self.until.get_or_insert_with(writer, || now.after(MOMENT));
        self.order.insert((until, writer));
    }

    /// It comes back; true if it was on its way out.
    pub(super) fn remove(&mut self, writer: Guid) -> bool {
        self.until.remove(&writer).is_some_and(|until| self.order.remove(&(until, writer)))
    }

    /// The participant is gone, and its writers with it.
    pub(super) fn remove_participant(&mut self, prefix: GuidPrefix) {
        let all = Guid::new(prefix, EntityId([0; 4]))..=Guid::new(prefix, EntityId([0xff; 4]));
        loop {
            let next = self.until.range(all.clone()).next().map(|(guid, until)| (*guid, *until));
            let Some((guid, until)) = next else { break };
            self.until.remove(&guid);
            self.order.remove(&(until, guid));
        }
    }

    pub(super) fn next_timeout(&self) -> Instant {
        self.order.first().map_or(Instant::NEVER, |(until, _)| *until)
    }

    /// The next whose moment is over.
    pub(super) fn due(&mut self, now: Instant) -> Option<Guid> {
        let (until, writer) = self.order.first().copied().filter(|(until, _)| *until <= now)?;
        self.order.remove(&(until, writer));
        self.until.remove(&writer);
        Some(writer)
    }
}
