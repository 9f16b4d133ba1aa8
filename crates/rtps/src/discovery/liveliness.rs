//! LIVELINESS: of matched writers, and of our own (DDS 1.4, 2.2.3.11; RTPS 2.5, 8.4.13).
use alloc::vec::Vec;

use wire::qos::{Liveliness, LivelinessKind};
use wire::{Duration, EntityId, Guid, GuidPrefix, Instant};

use wire::sorted::{SortedMap, SortedSet};

/// Matched writers with a finite lease.
///
/// A sign of life counts for the writer itself (MANUAL_BY_TOPIC) or for all writers of its kind in its participant (the two
/// other kinds), so that those keep one time per participant.
#[derive(Debug, Default)]
pub(super) struct Leases {
    writers: SortedMap<Guid, Lease>,
    /// When leases are looked at next; each writer that is alive is in it once, with its `check_at`.
    checks: SortedSet<(Instant, Guid)>,
    /// The last sign of life of a participant, per kind.
    participants: SortedMap<(GuidPrefix, LivelinessKind), Sign>,
    /// Writers whose lease has ended.
    silent: SortedSet<(GuidPrefix, LivelinessKind, EntityId)>,
}

#[derive(Debug)]
struct Lease {
    kind: LivelinessKind,
    duration: Duration,
    asserted: Instant,
    check_at: Instant,
}

#[derive(Debug)]
struct Sign {
    at: Instant,
    writers: usize,
}

impl Leases {
    /// Watches a writer from now on, or with another lease than before. One with an infinite lease is not watched.
    pub(super) fn watch(&mut self, now: Instant, writer: Guid, liveliness: Liveliness) {
        let Liveliness { kind, lease_duration: duration } = liveliness;
        if self.writers.get(&writer).is_some_and(|lease| lease.kind == kind && lease.duration == duration) {
            return;
        }
        self.forget(writer);
        if duration.is_infinite() {
            return;
        }
        let unheard = || Sign { at: now, writers: 0 };
        self.participants.get_or_insert_with((writer.prefix, kind), unheard).writers += 1;
        let check_at = now.after(duration);
        self.writers.insert(writer, Lease { kind, duration, asserted: now, check_at });
        self.checks.insert((check_at, writer));
    }

    pub(super) fn forget(&mut self, writer: Guid) {
        let Some(lease) = self.writers.remove(&writer) else { return };
        self.checks.remove(&(lease.check_at, writer));
        self.silent.remove(&(writer.prefix, lease.kind, writer.entity_id));
        let key = (writer.prefix, lease.kind);
        if let Some(sign) = self.participants.get_mut(&key) {
            sign.writers = sign.writers.saturating_sub(1);
            if sign.writers == 0 {
                self.participants.remove(&key);
            }
        }
    }

    /// False if the lease of a watched writer has ended.
    pub(super) fn is_alive(&self, writer: Guid) -> bool {
        self.writers
            .get(&writer)
            .is_none_or(|lease| !self.silent.contains(&(writer.prefix, lease.kind, writer.entity_id)))
    }

    /// A writer showed that it lives: by data, or by a HEARTBEAT with the liveliness flag. Returns those that are heard again.
    pub(super) fn writer_asserted(&mut self, now: Instant, writer: Guid) -> Vec<Guid> {
        let Some(lease) = self.writers.get_mut(&writer) else { return Vec::new() };
        lease.asserted = now;
        let kind = lease.kind;
        if kind != LivelinessKind::ManualByTopic {
            return self.participant_asserted(now, writer.prefix, kind);
        }
        let key = (writer.prefix, kind, writer.entity_id);
        let mut again = Vec::new();
        if self.silent.remove(&key) {
            self.revive(now, key, &mut again);
        }
        again
    }

    /// A participant showed that it lives, which counts for its writers of this kind. Returns those that are heard again.
    pub(super) fn participant_asserted(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        kind: LivelinessKind,
    ) -> Vec<Guid> {
        let Some(sign) = self.participants.get_mut(&(prefix, kind)) else { return Vec::new() };
        sign.at = now;
        let mut again = Vec::new();
        let from = (prefix, kind, EntityId([0; 4]));
        loop {
            let next = self.silent.range(from..).next().copied();
            let Some(key) = next.filter(|key| (key.0, key.1) == (prefix, kind)) else { break };
            self.silent.remove(&key);
            self.revive(now, key, &mut again);
        }
        again
    }

    pub(super) fn next_timeout(&self) -> Instant {
        self.checks.first().map_or(Instant::NEVER, |(at, _)| *at)
    }

    /// The next writer whose lease has just ended.
    pub(super) fn expired(&mut self, now: Instant) -> Option<Guid> {
        while let Some((at, guid)) = self.checks.first().copied().filter(|(at, _)| *at <= now) {
            self.checks.remove(&(at, guid));
            let Some(lease) = self.writers.get_mut(&guid) else { continue };
            let shared = match lease.kind {
                LivelinessKind::ManualByTopic => Instant::START,
                kind => self.participants.get(&(guid.prefix, kind)).map_or(Instant::START, |sign| sign.at),
            };
            let until = lease.asserted.max(shared).after(lease.duration);
            if until > now {
                lease.check_at = until;
                self.checks.insert((until, guid));
            } else {
                self.silent.insert((guid.prefix, lease.kind, guid.entity_id));
                return Some(guid);
            }
        }
        None
    }

    fn revive(&mut self, now: Instant, key: (GuidPrefix, LivelinessKind, EntityId), again: &mut Vec<Guid>) {
        let guid = Guid::new(key.0, key.2);
        if let Some(lease) = self.writers.get_mut(&guid) {
            lease.check_at = now.after(lease.duration);
            self.checks.insert((lease.check_at, guid));
            again.push(guid);
        }
    }
}

/// When our participant asserts its writers of one kind: three times per shortest lease.
#[derive(Debug)]
pub(super) struct Assertions {
    kind: LivelinessKind,
    period: Duration,
    next: Instant,
    /// There is something to assert: always for AUTOMATIC, for the others only what the application did.
    wanted: bool,
}

impl Assertions {
    pub(super) const fn new(kind: LivelinessKind) -> Self {
        Self { kind, period: Duration::INFINITE, next: Instant::NEVER, wanted: false }
    }

    /// Takes over the policies of all local writers.
    pub(super) fn set(&mut self, now: Instant, writers: impl Iterator<Item = Liveliness>) {
        let shortest = writers
            .filter(|liveliness| liveliness.kind == self.kind)
            .map(|liveliness| liveliness.lease_duration)
            .min()
            .unwrap_or(Duration::INFINITE);
        // Not more often than a thousand times per second, whatever lease was asked for.
        let period = shortest.scaled(1, 3).max(Duration::from_millis(1));
        if period != self.period {
            self.next = if period.is_infinite() { Instant::NEVER } else { now };
            self.period = period;
        }
    }

    /// True if there are writers of this kind with a finite lease.
    pub(super) const fn is_needed(&self) -> bool {
        !self.period.is_infinite()
    }

    /// The application asserted a writer of this kind, which counts for all of them.
    pub(super) fn want(&mut self) {
        self.wanted = self.is_needed();
    }

    pub(super) fn next_timeout(&self) -> Instant {
        if self.wanted || self.kind == LivelinessKind::Automatic { self.next } else { Instant::NEVER }
    }

    /// True if an assertion is due; the next one is then a period later.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let due = self.next_timeout() <= now && self.is_needed();
        if due {
            self.next = now.after(self.period);
            self.wanted = false;
        }
        due
    }
}
