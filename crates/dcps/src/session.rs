//! What a participant knows of the sessions over domains of its writers and readers (docs/decisions/0060-sessions-told-to-programs.md).
//!
//! Who asks managers for sessions tells it, again and again: each verdict is a lease. What is told of pairs of others is passed over.
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use rtps::writer::TokenBucket;
use wire::session::{SessionState, SessionVerdict};
use wire::sorted::SortedMap;
use wire::{Duration, EntityId, Guid, GuidPrefix, Instant};

/// Pairs that are known at most; what is told of more is passed over.
const MOST_PAIRS: usize = 4_096;
/// Verdicts last no longer than this, whatever they say, ...
const LONGEST_LEASE: Duration = Duration::from_secs(3_600);
/// ... and what is over is known for so long.
const KEPT: Duration = Duration::from_secs(60);

/// The session over domains of a writer and a reader, as a participant of one of them was told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PairSession {
    /// The writer.
    pub writer: Guid,
    /// The reader.
    pub reader: Guid,
    /// What became of it.
    pub state: SessionState,
    /// Its name; empty without one.
    pub session: String,
    /// Most time from write to read that is asked for, if that is known.
    pub limit: Option<Duration>,
    /// What the writer's host takes of that.
    pub writer_host: Duration,
    /// What the reader's host takes of that.
    pub reader_host: Duration,
    /// Most time from edge to edge of packets that arrive, while it is granted.
    pub bound: Option<Duration>,
    /// Packets of a million that do not arrive, at most: with 0 the bound is one of every packet.
    pub loss: u32,
    /// What the writer may send to this reader, while it is granted and if that is known.
    pub bucket: Option<TokenBucket>,
    /// How often its flow has gone another way since it was granted.
    pub detours: u32,
    /// One copy of two of its flow is left.
    pub has_one_copy_left: bool,
    /// Why there is none; empty otherwise.
    pub reason: String,
}

/// What the owner of [`Sessions`] has to do, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Something else is known of the session of a local endpoint and another one.
    Changed {
        /// The local endpoint.
        local: EntityId,
        /// The other.
        remote: Guid,
    },
    /// All sessions of a writer together grant it this from now on; none if there is none.
    Grant {
        /// The writer.
        writer: EntityId,
        /// What it may send to each of its readers.
        bucket: Option<TokenBucket>,
    },
}

#[derive(Clone, Debug)]
struct Entry {
    /// Who has told it.
    from: GuidPrefix,
    /// What is told, without what says how long it holds.
    told: SessionVerdict,
    until: Instant,
}

/// See the module.
#[derive(Debug)]
pub struct Sessions {
    own: GuidPrefix,
    entries: SortedMap<(EntityId, Guid), Entry>,
    /// What writers were told last.
    grants: SortedMap<EntityId, TokenBucket>,
    actions: VecDeque<Action>,
}

impl Sessions {
    /// Those of a participant that was told nothing yet.
    pub const fn new(own: GuidPrefix) -> Self {
        Self { own, entries: SortedMap::new(), grants: SortedMap::new(), actions: VecDeque::new() }
    }

    /// What is to be done next.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`Sessions::on_timeout`] has to be called at the latest.
    pub fn poll_timeout(&self) -> Instant {
        self.entries.values().map(|entry| entry.until).min().unwrap_or(Instant::NEVER)
    }

    /// What is known of the sessions of a local endpoint.
    pub fn sessions_of(&self, local: EntityId) -> Vec<PairSession> {
        let of_it = self.entries.iter().filter(|((id, _), _)| *id == local);
        of_it.map(|(_, entry)| entry.shown()).collect()
    }

    /// The participant `from` tells this.
    pub fn heard(&mut self, now: Instant, from: GuidPrefix, verdict: SessionVerdict) {
        let (writer, reader) = verdict.pair();
        for (local, remote) in [(writer, reader), (reader, writer)] {
            if local.prefix == self.own {
                self.heard_of(now, (local.entity_id, remote), from, &verdict);
            }
        }
    }

    fn heard_of(&mut self, now: Instant, pair: (EntityId, Guid), from: GuidPrefix, verdict: &SessionVerdict) {
        let lease = Duration::from_nanos(i64::try_from(verdict.lease).unwrap_or(i64::MAX)).min(LONGEST_LEASE);
        let until = now.after(if verdict.state == SessionState::Over { KEPT } else { lease });
        let told = SessionVerdict { epoch: 0, lease: 0, ..verdict.clone() };
        let is_full = self.entries.len() >= MOST_PAIRS;
        match self.entries.get_mut(&pair) {
            // Two may watch one domain: which of them has a session is what counts.
            Some(entry)
                if entry.from != from && entry.is_granted() && verdict.state != SessionState::Granted =>
            {
                return;
            }
            Some(entry) => {
                let is_same = entry.told == told;
                *entry = Entry { from, told, until };
                if is_same {
                    return;
                }
            }
            None if verdict.state == SessionState::Over || is_full => return,
            None => drop(self.entries.insert(pair, Entry { from, told, until })),
        }
        self.changed(pair);
    }

    /// The participant `from` has withdrawn what it has told of a pair.
    pub fn withdrawn(&mut self, now: Instant, from: GuidPrefix, writer: Guid, reader: Guid) {
        for (local, remote) in [(writer, reader), (reader, writer)] {
            let pair = (local.entity_id, remote);
            if local.prefix == self.own && self.entries.get(&pair).is_some_and(|entry| entry.from == from) {
                self.end(now, pair, "it is told of no more");
            }
        }
    }

    /// Time has passed.
    pub fn on_timeout(&mut self, now: Instant) {
        let due: Vec<((EntityId, Guid), SessionState)> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.until <= now)
            .map(|(pair, entry)| (*pair, entry.told.state))
            .collect();
        for (pair, state) in due {
            if state == SessionState::Over {
                self.entries.remove(&pair);
            } else {
                self.end(now, pair, "it was not told of again in time");
            }
        }
    }

    fn end(&mut self, now: Instant, pair: (EntityId, Guid), reason: &str) {
        let Some(entry) = self.entries.get_mut(&pair) else { return };
        if entry.told.state == SessionState::Over {
            return;
        }
        let SessionVerdict { writer, reader, .. } = entry.told;
        let (state, reason) = (SessionState::Over, reason.into());
        entry.told = SessionVerdict { writer, reader, state, reason, ..SessionVerdict::default() };
        entry.until = now.after(KEPT);
        self.changed(pair);
    }

    fn changed(&mut self, (local, remote): (EntityId, Guid)) {
        self.actions.push_back(Action::Changed { local, remote });
        if !local.is_writer() {
            return;
        }
        let of_it = self.entries.iter().filter(|((id, _), _)| *id == local);
        // A datagram goes to several readers at once, and has to conform to each session.
        let bucket = of_it.filter_map(|(_, entry)| entry.bucket()).reduce(|one, other| TokenBucket {
            rate: one.rate.min(other.rate),
            bucket: one.bucket.min(other.bucket),
            largest_packet: one.largest_packet.min(other.largest_packet),
        });
        if self.grants.get(&local).copied() == bucket {
            return;
        }
        match bucket {
            Some(bucket) => drop(self.grants.insert(local, bucket)),
            None => drop(self.grants.remove(&local)),
        }
        self.actions.push_back(Action::Grant { writer: local, bucket });
    }
}

fn duration(nanos: u64) -> Duration {
    Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

impl Entry {
    fn is_granted(&self) -> bool {
        self.told.state == SessionState::Granted
    }

    /// What the writer may send. A bucket that holds no packet that every path carries is none: a writer cannot keep to it.
    fn bucket(&self) -> Option<TokenBucket> {
        let SessionVerdict { rate, bucket, largest_packet, .. } = self.told;
        let bucket = u32::try_from(bucket).unwrap_or(u32::MAX);
        let fits = rate > 0 && bucket >= TokenBucket::LEAST && largest_packet >= TokenBucket::LEAST;
        let largest_packet = largest_packet.min(TokenBucket::LARGEST);
        (self.is_granted() && fits).then_some(TokenBucket { rate, bucket, largest_packet })
    }

    fn shown(&self) -> PairSession {
        let told = &self.told;
        let (writer, reader) = told.pair();
        PairSession {
            writer,
            reader,
            state: told.state,
            session: told.session.clone(),
            limit: (told.limit > 0).then(|| duration(told.limit)),
            writer_host: duration(told.writer_host),
            reader_host: duration(told.reader_host),
            bound: self.is_granted().then(|| duration(told.bound)),
            loss: told.loss,
            bucket: self.bucket(),
            detours: told.detours,
            has_one_copy_left: told.has_one_copy_left,
            reason: told.reason.clone(),
        }
    }
}
