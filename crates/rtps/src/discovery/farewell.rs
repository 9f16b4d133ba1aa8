//! Writers that have said goodbye and are kept for a moment longer, and their participants.
//!
//! Goodbyes come to the address of discovery, samples to that of the endpoints: two sockets, and what was sent last may be read
//! first. A writer that writes and leaves at once would lose its last samples that way, so its matches outlive its goodbye.

use wire::{Duration, EntityId, Guid, GuidPrefix, Instant};

use crate::sorted::{SortedMap, SortedSet};

/// How much longer a writer is kept: time for a thread to read what had arrived before.
const MOMENT: Duration = Duration::from_millis(50);

/// Who is on the way out, each once.
#[derive(Debug, Default)]
pub(super) struct Farewells {
    until: SortedMap<Guid, Instant>,
    order: SortedSet<(Instant, Guid)>,
}

/// Who goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leaver {
    /// A participant with all that is left of it.
    Participant(GuidPrefix),
    /// An endpoint.
    Endpoint(Guid),
}

impl Leaver {
    const fn guid(self) -> Guid {
        match self {
            Self::Participant(prefix) => Guid::new(prefix, EntityId::PARTICIPANT),
            Self::Endpoint(guid) => guid,
        }
    }
}

impl Farewells {
    /// It goes a moment after its first goodbye.
    pub(super) fn add(&mut self, now: Instant, leaver: Leaver) {
        let guid = leaver.guid();
        let until = *self.until.get_or_insert_with(guid, || now.after(MOMENT));
        self.order.insert((until, guid));
    }

    /// It is on its way out.
    pub(super) fn contains(&self, leaver: Leaver) -> bool {
        self.until.contains_key(&leaver.guid())
    }

    /// It comes back; true if it was on its way out.
    pub(super) fn remove(&mut self, leaver: Leaver) -> bool {
        let guid = leaver.guid();
        self.until.remove(&guid).is_some_and(|until| self.order.remove(&(until, guid)))
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
    pub(super) fn due(&mut self, now: Instant) -> Option<Leaver> {
        let (until, guid) = self.order.first().copied().filter(|(until, _)| *until <= now)?;
        self.order.remove(&(until, guid));
        self.until.remove(&guid);
        Some(match guid.entity_id {
            EntityId::PARTICIPANT => Leaver::Participant(guid.prefix),
            _ => Leaver::Endpoint(guid),
        })
    }
}
