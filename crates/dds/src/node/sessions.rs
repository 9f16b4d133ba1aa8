//! The hidden endpoints by which a participant hears of the sessions over domains of its writers and readers, and what becomes of that: a
//! status, and a token bucket (docs/decisions/0060-sessions-told-to-programs.md).
//!
//! A participant with keys believes those alone that have shown the certificate of a manager, as with verdicts about assurance. The locks of
//! this come before those of endpoints, and none of them is taken under another.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use dcps::Error;
use dcps::assurance::{Opinion, Trust};
use dcps::session::{Action, PairSession, Sessions};
use wire::admission::{IDENTITY_TYPE, Identity};
use wire::seal::Credentials;
use wire::session::{SESSION_TOPIC, SESSION_TYPE, SessionVerdict, TELLER_TOPIC};
use wire::{EntityId, Guid, GuidPrefix, Now};

use super::Node;
use super::assurance::{decoded, take};
use super::reader::ReaderCell;
use super::timers::Alarm;
use super::work::Work;
use crate::lock::lock;

/// Names this among the timers; no entity has this id.
pub(super) const ALARM: EntityId = EntityId([0, 0, 1, 1]);

/// What a participant keeps for the sessions of its endpoints.
pub(super) struct ToldSessions {
    /// All writers and readers hear of theirs, and not only writers whose QoS says so.
    pub(super) is_for_all: bool,
    known: Mutex<Sessions>,
    trust: Option<Mutex<Trust<SessionVerdict>>>,
    is_used: AtomicBool,
    alarm: Arc<Alarm>,
    /// Held while hidden endpoints are made.
    making: Mutex<()>,
    verdicts: OnceLock<Arc<ReaderCell>>,
    /// Certificates of those that tell.
    tellers: OnceLock<Arc<ReaderCell>>,
}

impl ToldSessions {
    pub(super) fn new(
        prefix: GuidPrefix,
        is_for_all: bool,
        credentials: Option<Arc<dyn Credentials>>,
    ) -> Self {
        Self {
            is_for_all,
            known: Mutex::new(Sessions::new(prefix)),
            trust: credentials.map(|credentials| Mutex::new(Trust::of_sessions(prefix, credentials))),
            is_used: AtomicBool::new(false),
            alarm: Alarm::new(),
            making: Mutex::new(()),
            verdicts: OnceLock::new(),
            tellers: OnceLock::new(),
        }
    }

    /// True for the ids of hidden endpoints.
    pub(super) fn has(&self, id: EntityId) -> bool {
        let cells = [&self.verdicts, &self.tellers].into_iter().filter_map(OnceLock::get);
        self.is_used.load(Ordering::SeqCst) && cells.map(|cell| cell.guid).any(|guid| guid.entity_id == id)
    }
}

impl Node {
    /// Makes the hidden endpoints that an endpoint needs that hears of its sessions, if they are not there.
    pub(crate) fn prepare_sessions(self: &Arc<Self>, is_asked: bool, work: &mut Work) -> Result<(), Error> {
        if !is_asked && !self.sessions.is_for_all {
            return Ok(());
        }
        let _making = lock(&self.sessions.making);
        self.sessions.is_used.store(true, Ordering::SeqCst);
        let hear: fn(&Self) = Self::hear_sessions;
        if self.sessions.trust.is_some() {
            self.hidden_reader::<Identity>(
                &self.sessions.tellers,
                (TELLER_TOPIC, IDENTITY_TYPE),
                hear,
                work,
            )?;
        }
        self.hidden_reader::<SessionVerdict>(
            &self.sessions.verdicts,
            (SESSION_TOPIC, SESSION_TYPE),
            hear,
            work,
        )
    }

    /// What is known of the sessions of a local endpoint.
    pub(crate) fn sessions_of(&self, local: EntityId) -> Vec<PairSession> {
        lock(&self.sessions.known).sessions_of(local)
    }

    /// Takes what was told.
    fn hear_sessions(&self) {
        self.command(|work| {
            let now = self.host.now();
            // Each look takes what has come, and another one may have come meanwhile: one at a time, in turn.
            let mut known = lock(&self.sessions.known);
            let tellers = take(self.sessions.tellers.get(), now);
            let verdicts = take(self.sessions.verdicts.get(), now);
            let from = |sample: &dcps::reader::Sample| {
                Guid::from_bytes(sample.info.publication_handle.to_bytes()).prefix
            };
            match &self.sessions.trust {
                None => {
                    for sample in &verdicts {
                        match decoded::<SessionVerdict>(sample) {
                            (Some(verdict), _) => known.heard(now.monotonic, from(sample), verdict),
                            (None, Some(key)) => {
                                let (writer, reader) = key.pair();
                                known.withdrawn(now.monotonic, from(sample), writer, reader);
                            }
                            (None, None) => {}
                        }
                    }
                }
                Some(trust) => {
                    let mut trust = lock(trust);
                    let seconds = u64::try_from(now.wall.as_nanos()).unwrap_or(0) / 1_000_000_000;
                    for sample in &tellers {
                        let teller = from(sample);
                        let (Some(identity), _) = decoded::<Identity>(sample) else { continue };
                        if let Err(reason) = trust.identity_heard(seconds, teller, &identity) {
                            tracing::warn!("what {teller} tells of sessions is not believed: {reason}");
                            continue;
                        }
                        for payload in trust.take_held(teller) {
                            if let Opinion::Believed(verdict) =
                                trust.verdict_heard(now.monotonic, teller, &payload)
                            {
                                known.heard(now.monotonic, teller, verdict);
                            }
                        }
                    }
                    for sample in &verdicts {
                        // That one is disposed of is not signed, and counts for nothing.
                        let Some(payload) = &sample.payload else { continue };
                        let teller = from(sample);
                        if let Opinion::Believed(verdict) =
                            trust.verdict_heard(now.monotonic, teller, payload.bytes())
                        {
                            known.heard(now.monotonic, teller, verdict);
                        }
                    }
                }
            }
            self.act_on_sessions(&mut known, now, work);
        });
    }

    /// Ends what was not told of again in time.
    pub(super) fn serve_sessions(&self, work: &mut Work) {
        if !self.sessions.is_used.load(Ordering::SeqCst) {
            return;
        }
        let now = self.host.now();
        let mut known = lock(&self.sessions.known);
        known.on_timeout(now.monotonic);
        self.act_on_sessions(&mut known, now, work);
    }

    fn act_on_sessions(&self, known: &mut Sessions, now: Now, work: &mut Work) {
        let routes = self.routes();
        while let Some(action) = known.poll_action() {
            match action {
                Action::Changed { local, remote } => {
                    if let Some(cell) = routes.writers.get(&local) {
                        cell.lock().machine.session_changed(remote);
                        work.touch_writer(cell);
                    } else if let Some(cell) = routes.readers.get(&local) {
                        cell.lock().cache.session_changed(remote);
                        work.touch_reader(cell);
                    }
                }
                Action::Grant { writer, bucket } => {
                    if let Some(cell) = routes.writers.get(&writer) {
                        cell.lock().machine.set_session_bucket(now, bucket);
                        work.touch_writer(cell);
                    }
                }
            }
        }
        self.timers.set(self.host(), ALARM, &self.sessions.alarm, known.poll_timeout());
    }
}
