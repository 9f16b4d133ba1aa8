//! Why received discovery data was dropped, and how often.
use core::fmt;

use wire::{Duration, Instant};

use super::events::{Event, Events};

/// Why something received was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// A participant or endpoint record could not be read.
    Malformed,
    /// A participant record of a protocol version that is not 2.x.
    Version,
    /// A participant record of another domain or domain tag.
    OtherDomain,
    /// A record names another participant than the one that sent it.
    ForeignRecord,
    /// A participant record with a lease that is zero or negative.
    Lease,
    /// Something from a participant of which no announcement is known (yet).
    UnknownParticipant,
    /// Something from a participant that has not proved yet that it hears us.
    NotValidated,
    /// Something in the name of a known participant, from an address that is not known for it.
    UnknownAddress,
    /// Something for an endpoint of the application in the name of a participant, from an address that is not known for it.
    UserSource,
    /// A source address that no socket can have: multicast, broadcast, unspecified, port 0.
    SourceAddress,
    /// There are as many participants as the limit allows.
    ParticipantLimit,
    /// The participant has as many endpoints, or bytes of endpoint data, as the limit allows.
    EndpointLimit,
    /// All participants together have as many endpoints, or bytes of endpoint data, as the limit allows.
    MemoryLimit,
    /// The least recently heard of the participants that have not been validated made room for a new one.
    Evicted,
    /// Endpoint data whose id does not fit the topic that it was announced on.
    EndpointKind,
    /// A built-in endpoint that is not implemented here.
    UnknownEndpoint,
    /// Events were not taken from the queue, which has reached its limit.
    EventsNotTaken,
}

impl Rejection {
    /// Every reason.
    pub const ALL: [Self; 17] = [
        Self::Malformed,
        Self::Version,
        Self::OtherDomain,
        Self::ForeignRecord,
        Self::Lease,
        Self::UnknownParticipant,
        Self::NotValidated,
        Self::UnknownAddress,
        Self::UserSource,
        Self::SourceAddress,
        Self::ParticipantLimit,
        Self::EndpointLimit,
        Self::MemoryLimit,
        Self::Evicted,
        Self::EndpointKind,
        Self::UnknownEndpoint,
        Self::EventsNotTaken,
    ];
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the record cannot be read",
            Self::Version => "protocol version is not 2",
            Self::OtherDomain => "other domain or domain tag",
            Self::ForeignRecord => "the record names another participant than its sender",
            Self::Lease => "lease duration is zero or negative",
            Self::UnknownParticipant => "no announcement of that participant is known",
            Self::NotValidated => "the participant has not proved yet that it hears us",
            Self::UnknownAddress => "sent from an address that is not known for that participant",
            Self::UserSource => "sent to endpoints from an address that is not known for that participant",
            Self::SourceAddress => "the source address cannot be that of a participant",
            Self::ParticipantLimit => "limit of participants reached",
            Self::EndpointLimit => "limit of endpoints of a participant reached",
            Self::MemoryLimit => "limit of endpoints of all participants together reached",
            Self::Evicted => "unvalidated participant made room for a newer one",
            Self::EndpointKind => "the id is not of the kind that is announced there",
            Self::UnknownEndpoint => "built-in endpoint is not implemented",
            Self::EventsNotTaken => "events are not taken",
        })
    }
}

/// Counts per reason.
#[derive(Debug, Default)]
pub(super) struct Rejections {
    counts: [u64; Rejection::ALL.len()],
    /// What was counted when an event was last made of it.
    reported: [u64; Rejection::ALL.len()],
    /// When events may next be made; `None` while there is nothing new.
    due: Option<Instant>,
    quiet_until: Instant,
}

impl Rejections {
    pub(super) fn add(&mut self, reason: Rejection) {
        if let Some(count) = self.counts.get_mut(reason as usize) {
            *count = count.saturating_add(1);
            self.due = Some(self.quiet_until);
        }
    }

    pub(super) fn count(&self, reason: Rejection) -> u64 {
        self.counts.get(reason as usize).copied().unwrap_or(0)
    }

    pub(super) fn next_timeout(&self) -> Instant {
        self.due.unwrap_or(Instant::NEVER)
    }

    /// Makes one event of every reason that was counted since the last time, at most once per second.
    pub(super) fn report(&mut self, now: Instant, events: &mut Events) {
        if self.next_timeout() > now {
            return;
        }
        for (reason, (count, reported)) in
            Rejection::ALL.into_iter().zip(self.counts.into_iter().zip(&mut self.reported))
        {
            if count != *reported {
                *reported = count;
                events.push(Event::Rejected { reason, count });
            }
        }
        self.due = None;
        self.quiet_until = now.after(Duration::from_secs(1));
    }
}
