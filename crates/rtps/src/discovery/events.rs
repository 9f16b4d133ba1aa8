//! What discovery tells its owner.
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use wire::discovery::{EndpointData, ParticipantData};
use wire::{EntityId, Guid, GuidPrefix};

use super::matching::Mismatch;
use super::rejection::Rejection;
use crate::path::Path;

/// Why a participant is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossReason {
    /// It was silent for as long as its lease.
    LeaseExpired,
    /// It said goodbye, and answers no more.
    Left,
    /// It was silent, and made room for another one: there are as many as the limit allows.
    MadeRoom,
}

/// Something that its owner has to act on, in the order in which it happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A participant was found: it announced itself and proved that it hears us.
    ParticipantFound {
        /// What it announced.
        participant: Arc<ParticipantData>,
    },
    /// A known participant announced something else.
    ParticipantChanged {
        /// What it announces now.
        participant: Arc<ParticipantData>,
    },
    /// A participant is gone, after all its endpoints were unmatched.
    ParticipantLost {
        /// Its prefix.
        participant: GuidPrefix,
        /// Why.
        reason: LossReason,
    },
    /// What comes in the name of a participant counts from these socket addresses alone.
    SourcesChanged {
        /// The participant.
        participant: GuidPrefix,
        /// Where it speaks from.
        sources: Arc<[SocketAddr]>,
    },
    /// A local reader has a new matched writer; for one that was matched already: its QoS or paths changed.
    WriterMatched {
        /// The local reader.
        reader: EntityId,
        /// The writer.
        writer: Arc<EndpointData>,
        /// Where acknowledgements go: one path; none if the writer is `local` or no path leads there.
        paths: Vec<Path>,
        /// True if the writer is one of our own participant.
        local: bool,
    },
    /// A local writer has a new matched reader; for one that was matched already: its QoS or paths changed.
    ReaderMatched {
        /// The local writer.
        writer: EntityId,
        /// The reader.
        reader: Arc<EndpointData>,
        /// Where fresh changes go: one path, to a group if `direct` is there; none if the reader is `local` or no path leads there.
        paths: Vec<Path>,
        /// The reader's own path, if `paths` goes to a group.
        direct: Option<Path>,
        /// True if the reader is one of our own participant.
        local: bool,
    },
    /// A local reader has lost a matched writer.
    WriterUnmatched {
        /// The local reader.
        reader: EntityId,
        /// The writer.
        writer: Guid,
        /// True if its participant is silent, and has not left for all that is known: the writer may come back with what it has written.
        may_return: bool,
    },
    /// A local writer has lost a matched reader.
    ReaderUnmatched {
        /// The local writer.
        writer: EntityId,
        /// The reader.
        reader: Guid,
    },
    /// A local endpoint and another one of the same topic do not match.
    NotMatched {
        /// The local endpoint.
        local: EntityId,
        /// The other.
        remote: Arc<EndpointData>,
        /// Every reason against it, one or more.
        reasons: Vec<Mismatch>,
    },
    /// A matched writer with a finite liveliness lease went silent, or is heard again.
    LivelinessChanged {
        /// The local reader.
        reader: EntityId,
        /// The writer.
        writer: Guid,
        /// False: the lease has expired.
        alive: bool,
    },
    /// Something received was dropped; at most one event per reason and second.
    Rejected {
        /// Why.
        reason: Rejection,
        /// How often so far.
        count: u64,
    },
}

/// Events that wait to be taken. It has no limit of its own: while it is longer than the configured number, discovery
/// takes no input, as if the datagrams had been lost, so that it ends at that number plus what one input can cause.
#[derive(Debug, Default)]
pub(super) struct Events {
    queue: VecDeque<Event>,
}

impl Events {
    pub(super) fn push(&mut self, event: Event) {
        self.queue.push_back(event);
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        self.queue.pop_front()
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}
