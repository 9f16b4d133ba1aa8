//! What a participant with keys adds to admission: it shows its certificate to managers, signs what it asks for, and hears managers alone
//! that have shown theirs (`docs/decisions/0019-signed-requests.md`). Without keys nothing of this is made.
//!
//! The lock comes after that of the gate and before those of endpoints.
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

use dcps::Error;
use dcps::assurance::{Gate, Opinion, Trust};
use dcps::reader::Sample as Octets;
use dcps::writer::WriteOptions;
use rtps::writer::Body;
use wire::admission::{IDENTITY_TOPIC, IDENTITY_TYPE, Identity, MANAGER_TOPIC, Request, Verdict};
use wire::cdr::{DdsType as _, Encoding};
use wire::seal::{self, Credentials, Purpose};
use wire::{Duration, Guid, GuidPrefix, Instant, Now};

use super::Node;
use super::assurance::{decoded, publish, take, withdraw};
use super::reader::ReaderCell;
use super::work::Work;
use super::writer::WriterCell;
use crate::lock::lock;

/// How long a signed withdrawal stays in the history, for managers to hear it, and how many of them do.
const STAY: Duration = Duration::from_secs(10);
const MOST_WITHDRAWN: usize = 1_024;

/// What is kept for it.
pub(super) struct Signing {
    trust: Mutex<Trust>,
    /// Certificates of managers.
    pub(super) managers: OnceLock<Arc<ReaderCell>>,
    /// The own one.
    pub(super) identity: OnceLock<Arc<WriterCell>>,
    withdrawn: Mutex<VecDeque<(Instant, Request)>>,
}

impl Signing {
    pub(super) fn new(prefix: GuidPrefix, credentials: Arc<dyn Credentials>) -> Self {
        Self {
            trust: Mutex::new(Trust::new(prefix, credentials)),
            managers: OnceLock::new(),
            identity: OnceLock::new(),
            withdrawn: Mutex::default(),
        }
    }

    /// Discovery has found a writer of verdicts; true if its manager is believed.
    pub(super) fn manager_found(&self, gate: &mut Gate, writer: Guid) -> bool {
        let mut trust = lock(&self.trust);
        let is_believed = trust.manager_found(writer);
        gate.set_distrust(trust.has_strangers_alone());
        is_believed
    }

    /// Discovery has lost it.
    pub(super) fn manager_lost(&self, gate: &mut Gate, writer: Guid) {
        let mut trust = lock(&self.trust);
        trust.manager_lost(writer);
        gate.set_distrust(trust.has_strangers_alone());
    }

    /// What managers have shown since; verdicts that have waited for that are heard.
    pub(super) fn hear_managers(&self, gate: &mut Gate, now: Now) {
        for sample in take(self.managers.get(), now) {
            let from = Guid::from_bytes(sample.info.publication_handle.to_bytes()).prefix;
            let (Some(identity), _) = decoded::<Identity>(&sample) else { continue };
            let seconds = u64::try_from(now.wall.as_nanos()).unwrap_or(0) / 1_000_000_000;
            let mut trust = lock(&self.trust);
            let (before, asked) = (trust.epoch_of(from), gate.managers().0);
            match trust.identity_heard(seconds, from, &identity) {
                Ok(writer) => {
                    gate.set_distrust(trust.has_strangers_alone());
                    if let Some(writer) = writer {
                        gate.manager_found(now.monotonic, writer);
                    }
                    // What was signed for the start before counts for nothing.
                    if asked == Some(from) && before != trust.epoch_of(from) {
                        gate.ask_anew(now.monotonic);
                    }
                    for payload in trust.take_held(from) {
                        if let Opinion::Believed(verdict) = trust.verdict_heard(now.monotonic, from, &payload)
                        {
                            gate.verdict_heard(now.monotonic, from, verdict);
                        }
                    }
                }
                Err(reason) => tracing::warn!("the resource manager {from} is not believed: {reason}"),
            }
        }
    }

    /// The verdict of a sample, if it is believed. That a verdict is disposed of is not signed, and counts for nothing.
    pub(super) fn believed(&self, from: GuidPrefix, sample: &Octets, now: Now) -> Option<Verdict> {
        let payload = sample.payload.as_ref()?;
        match lock(&self.trust).verdict_heard(now.monotonic, from, payload.bytes()) {
            Opinion::Believed(verdict) => Some(verdict),
            Opinion::Waits | Opinion::Refused => None,
        }
    }

    /// Publishes a request, signed if the manager that it names is believed.
    pub(super) fn ask(&self, out: &WriterCell, request: &Request, now: Now) {
        lock(&self.withdrawn).retain(|(_, known)| known.pair() != request.pair());
        self.publish(out, request, Purpose::Request, now);
    }

    /// Says that a pair is not wanted any more, and forgets it later: the signature is in a sample, and a sample that is disposed of at once
    /// may not arrive.
    pub(super) fn withdraw(&self, out: &WriterCell, request: &Request, now: Now) {
        if !self.publish(out, request, Purpose::Withdrawal, now) {
            return withdraw(out, request, now);
        }
        let mut withdrawn = lock(&self.withdrawn);
        withdrawn.push_back((now.monotonic.after(STAY), request.clone()));
        while withdrawn.front().is_some_and(|(until, _)| *until <= now.monotonic)
            || withdrawn.len() > MOST_WITHDRAWN
        {
            let Some((_, request)) = withdrawn.pop_front() else { break };
            withdraw(out, &request, now);
        }
    }

    /// True if it is signed. A withdrawal that is not is not published.
    fn publish(&self, out: &WriterCell, request: &Request, purpose: Purpose, now: Now) -> bool {
        let mut payload = Vec::new();
        if request.encode_payload(Encoding::XCDR1, &mut payload).is_err() {
            return false;
        }
        let wall = u64::try_from(now.wall.as_nanos()).unwrap_or(0);
        let manager = Guid::from_bytes(request.manager).prefix;
        let is_signed = lock(&self.trust).seal(wall, purpose, manager, &mut payload);
        if is_signed || purpose == Purpose::Request {
            let _ = out.lock().machine.write(now, Body::Copy(&payload), &WriteOptions::default());
        }
        is_signed
    }
}

/// Whether a sample of the request topic is a signed withdrawal. For the participant of the writer it is as good as one that is disposed of.
pub(super) fn is_withdrawal(sample: &Octets) -> bool {
    let sealed = sample.payload.as_ref().and_then(|payload| seal::open(payload.bytes()));
    sealed.is_some_and(|sealed| sealed.purpose == Purpose::Withdrawal)
}

impl Node {
    /// Makes the hidden endpoints that a participant with keys needs besides, if they are not there.
    pub(super) fn prepare_signing(self: &Arc<Self>, asks: bool, work: &mut Work) -> Result<(), Error> {
        let Some(signing) = self.signing() else { return Ok(()) };
        self.hidden_reader::<Identity>(&signing.managers, (MANAGER_TOPIC, IDENTITY_TYPE), Self::hear, work)?;
        if !asks || signing.identity.get().is_some() {
            return Ok(());
        }
        self.hidden_writer::<Identity>(&signing.identity, IDENTITY_TOPIC, IDENTITY_TYPE, true, work)?;
        let shown = lock(&signing.trust).identity();
        if let (Some(out), Some(shown)) = (signing.identity.get(), shown) {
            publish(out, &shown, self.host().now());
            work.touch_writer(out);
        }
        Ok(())
    }
}
