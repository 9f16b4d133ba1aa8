//! What a participant tells the application's log (crate `tracing`): never on the way of a sample, and with no lock held.
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use dcps::reader::DropReason;
use rtps::Path;
use rtps::discovery::{Event, LossReason};
use tracing::{debug, info, warn};
use wire::{EntityId, Guid, GuidPrefix, Instant};

use super::reader::ReaderCell;
use crate::Transport;

/// Time between two lines of one kind.
const PERIOD: u64 = 1_000_000_000;

/// Lets one line of a kind through in a second.
#[derive(Debug, Default)]
pub(super) struct Limiter(AtomicU64);

impl Limiter {
    /// True if a line may be written now.
    pub(super) fn allows(&self, now: Instant) -> bool {
        let (next, now) = (self.0.load(Relaxed), now.as_nanos());
        now >= next && self.0.compare_exchange(next, now.saturating_add(PERIOD), Relaxed, Relaxed).is_ok()
    }
}

/// An event of discovery.
pub(super) fn event(own: GuidPrefix, event: &Event) {
    match event {
        Event::ParticipantFound { participant } => {
            let name = participant.entity_name.as_deref().unwrap_or_default();
            info!(%own, participant = %participant.prefix, name, "participant found");
        }
        Event::ParticipantChanged { participant } => {
            info!(%own, participant = %participant.prefix, "participant announces other addresses or QoS");
        }
        Event::ParticipantLost { participant, reason } => {
            let cause = match reason {
                LossReason::LeaseExpired => "it was silent for as long as its lease",
                LossReason::Left => "it said goodbye, and answers no more",
                LossReason::MadeRoom => "it was silent, and there was no room for another one",
            };
            info!(%own, %participant, cause, "participant lost");
        }
        Event::WriterMatched { reader, writer, paths, .. } => {
            let (topic, way) = (&*writer.topic_name, way(paths));
            info!(%own, reader = %reader, writer = %writer.guid, topic, way, "matched");
        }
        Event::ReaderMatched { writer, reader, paths, .. } => {
            let (topic, way) = (&*reader.topic_name, way(paths));
            info!(%own, writer = %writer, reader = %reader.guid, topic, way, "matched");
        }
        Event::WriterUnmatched { reader, writer, .. } => unmatched(own, *reader, *writer),
        Event::ReaderUnmatched { writer, reader } => unmatched(own, *writer, *reader),
        Event::NotMatched { local, remote, reasons } => {
            let reasons = reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            warn!(%own, local = %local, remote = %remote.guid, topic = &*remote.topic_name, reasons, "not matched");
        }
        Event::LivelinessChanged { reader, writer, alive } => {
            info!(%own, reader = %reader, %writer, alive, "liveliness changed");
        }
        Event::SourcesChanged { participant, sources } => {
            debug!(%own, %participant, ?sources, "participant speaks from");
        }
        Event::Rejected { reason, count } => {
            debug!(%own, %reason, count, "discovery dropped what it received")
        }
    }
}

/// A reader has lost, rejected or dropped samples.
#[cold]
#[inline(never)]
pub(super) fn losses(cell: &ReaderCell, now: Instant) {
    if !cell.log.allows(now) || !tracing::enabled!(tracing::Level::WARN) {
        return;
    }
    let counts = {
        let state = cell.lock();
        DropReason::ALL.map(|reason| (reason, state.cache.dropped(reason).count))
    };
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(reason, count)| format!("{reason:?}: {count}"))
        .collect();
    warn!(reader = %cell.guid, counts = counts.join(", "), "samples were lost, rejected or dropped");
}

fn unmatched(own: GuidPrefix, local: EntityId, remote: Guid) {
    info!(%own, local = %local, %remote, "unmatched");
}

/// How samples of a pair travel.
fn way(paths: &[Path]) -> &'static str {
    paths.first().map_or("none", |path| Transport::of(path).name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_in_a_second_is_let_through() {
        let limiter = Limiter::default();
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let allowed: Vec<u64> = (0..3_500).filter(|millis| limiter.allows(at(*millis))).collect();
        assert_eq!(allowed, [0, 1_000, 2_000, 3_000]);
    }
}
