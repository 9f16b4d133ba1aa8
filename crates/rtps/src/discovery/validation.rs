//! How participants are validated: probes that leave, and what their answers prove.
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use wire::discovery::ParticipantData;
use wire::{GuidPrefix, Instant, SequenceNumberSet};

use super::check::{Check, Why};
use super::config::Limits;
use super::messages::answers_probes;
use super::numbers::Numbers;
use super::participants::Ledger;
use super::probe::{PROBE_LEN, Window};
use super::recent::Key;
use super::rejection::Rejection;
use super::remote::{Asked, RemoteParticipant, remember};
use super::strangers::Answered;
use crate::network::{Network, canonical};
use crate::path::Path;

/// Probes that may still be answered.
const MAX_ASKED: usize = 16;
/// One participant in so many that are validated may have no reader that answers probes.
const MUTE_SHARE: usize = 8;
/// Most probes that wait to be sent.
const MAX_OUTBOX: usize = 1_024;

/// What the answer to a probe made of its sender.
#[derive(Debug)]
pub(super) enum Proof {
    /// It proves nothing.
    Nothing,
    /// A participant that is known is there. `learned`: it is reached somewhere else, or speaks from somewhere else.
    Known { learned: bool },
    /// A stranger that can be validated now.
    Stranger(Key),
}

/// Where a probe goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// To a validated participant.
    Known(SocketAddr),
    /// To a stranger.
    Stranger(SocketAddr),
}

/// A probe that is to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) prefix: GuidPrefix,
    pub(super) path: Path,
    /// It answers no probes: what it answers at all has to do.
    pub(super) is_mute: bool,
}

impl Ledger {
    /// An ACKNACK with this set has come from there: it may answer a probe.
    pub(super) fn proved(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        answer: &SequenceNumberSet,
        from: SocketAddr,
    ) -> Proof {
        if let Some(known) = self.validated.get_mut(&prefix)
            && let Some(at) = known.asked.iter().position(|asked| asked.window.is_answered_by(answer))
            && let Some(asked) = known.asked.remove(at)
        {
            known.round_trip = Some(now.since(asked.at));
            known.answered(now, asked.at);
            if core::mem::take(&mut known.is_mute) {
                self.mute = self.mute.saturating_sub(1);
            }
            known.wanted.retain(|(address, ..)| address.ip() != asked.to.ip());
            let learned = remember(&mut known.proven, from) | remember(&mut known.reached, asked.to);
            self.schedule(prefix);
            return Proof::Known { learned };
        }
        let Some((key, asked)) = self.strangers.find(prefix, answer) else { return Proof::Nothing };
        let to = asked.to;
        if let Some(known) = self.validated.get_mut(&prefix) {
            if known.speaks_from(from) {
                // The participant itself is there, whatever the source of that message: it may be reached there, too.
                remember(&mut known.reached, to);
                known.answered(now, asked.at);
                self.schedule(prefix);
                self.strangers.forget(key);
                return Proof::Known { learned: true };
            }
            if known.check.is_none() {
                known.check = Some(Check::new(now, Why::Claim(key), known.round_trip));
            }
            self.schedule(prefix);
        }
        if let Some(stranger) = self.strangers.get_mut(key) {
            stranger.proof = Some(Answered { from, to, round_trip: Some(now.since(asked.at)) });
        }
        if self.validated.contains_key(&prefix) { Proof::Nothing } else { Proof::Stranger(key) }
    }

    /// A message that names us has come for a writer of ours from a participant that answers no probes.
    pub(super) fn heard_mute(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        from: SocketAddr,
        network: &Network,
    ) -> Proof {
        if let Some(known) = self.validated.get_mut(&prefix) {
            if known.is_mute && known.speaks_from(from) {
                known.answered(now, now);
            }
            return Proof::Nothing;
        }
        let Some(key) = self.strangers.find_mute(prefix, from.ip()) else { return Proof::Nothing };
        let to = self.strangers.spend(network, key, 0).map_or(key.1, |path| canonical(path.destination));
        if let Some(stranger) = self.strangers.get_mut(key) {
            stranger.proof = Some(Answered { from, to, round_trip: None });
        }
        Proof::Stranger(key)
    }

    /// Validates a stranger that was proved. If there is no room, gives a participant that has to make it first.
    ///
    /// # Errors
    /// There is no room, and no stranger that can make it.
    pub(super) fn validate(
        &mut self,
        now: Instant,
        key: Key,
        limits: &Limits,
    ) -> Result<Option<Arc<ParticipantData>>, Result<GuidPrefix, Rejection>> {
        let Some(stranger) = self.strangers.get(key) else { return Ok(None) };
        let Some(Answered { from, to, round_trip }) = stranger.proof else { return Ok(None) };
        let is_mute = stranger.is_mute();
        let prefix = key.0;
        if !self.validated.contains_key(&prefix) {
            let most_mute = (limits.participants / MUTE_SHARE).max(1);
            if is_mute && self.mute >= most_mute {
                return Err(self.oldest(now, true).ok_or(Rejection::ParticipantLimit));
            }
            if self.validated.len() >= limits.participants {
                let mute = (!is_mute).then(|| self.oldest(now, true)).flatten();
                return Err(mute.or_else(|| self.oldest(now, false)).ok_or(Rejection::ParticipantLimit));
            }
        }
        let Some(stranger) = self.strangers.forget(key) else { return Ok(None) };
        let credit = stranger.credit();
        let data: Arc<ParticipantData> = Arc::from(stranger.data);
        let announcer = Some(key.1).filter(|source| *source != from);
        let mut participant = RemoteParticipant {
            data: Arc::clone(&data),
            is_mute,
            proven: [from].into(),
            announcer,
            reached: [to].into(),
            wanted: Vec::new(),
            credit,
            asked: VecDeque::new(),
            doubt_after: now,
            // One that seemed to answer in a way of its own may do better.
            doubted: is_mute && answers_probes(&data),
            is_questioned: false,
            check: None,
            round_trip,
            lease_until: now,
            // Not in the order yet.
            check_at: Instant::NEVER,
            heard: now,
        };
        if is_mute {
            // It has shown no more than that: the socket address of its announcement counts as well.
            participant.announcer.map(|announcer| remember(&mut participant.proven, announcer));
            self.mute = self.mute.saturating_add(1);
        }
        participant.announce(now, Arc::clone(&data));
        participant.refresh(now);
        self.remove(prefix);
        self.validated.insert(prefix, participant);
        self.schedule(prefix);
        Ok(Some(data))
    }

    /// A stranger takes the place of the participant of the same name, which answers no more.
    pub(super) fn replace(&mut self, now: Instant, key: Key) -> Option<Arc<ParticipantData>> {
        if let Some(known) = self.validated.get_mut(&key.0) {
            known.check = None;
            known.refresh(now);
        }
        // There is room: it is counted already.
        self.validate(now, key, &Limits::default()).ok().flatten()
    }

    pub(super) fn post(&mut self, prefix: GuidPrefix, target: Target) {
        if self.outbox.len() < MAX_OUTBOX && !self.outbox.contains(&(prefix, target)) {
            self.outbox.push_back((prefix, target));
        }
    }

    /// The next probe that may be sent, and its window.
    pub(super) fn poll_probe(
        &mut self,
        now: Instant,
        network: &Network,
        numbers: &mut Numbers,
    ) -> Option<(Probe, Window)> {
        while let Some((prefix, target)) = self.outbox.pop_front() {
            let probe = match target {
                Target::Known(to) => self.probe_known(now, prefix, to, network, numbers),
                Target::Stranger(source) => self.probe_stranger(now, (prefix, source), network, numbers),
            };
            if probe.is_some() {
                return probe;
            }
        }
        None
    }

    fn probe_known(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        to: SocketAddr,
        network: &Network,
        numbers: &mut Numbers,
    ) -> Option<(Probe, Window)> {
        let known = self.validated.get_mut(&prefix)?;
        let path = network.path_to(to)?;
        if numbers.probed_after(prefix, to.ip(), true) > now {
            return None;
        }
        if !known.reached.contains(&to) {
            known.credit = known.credit.checked_sub(PROBE_LEN)?;
        }
        let window = numbers.window(now, prefix, to, true);
        if known.asked.len() >= MAX_ASKED {
            known.asked.pop_front();
        }
        known.asked.push_back(Asked { window, to, at: now });
        Some((Probe { prefix, path, is_mute: known.is_mute }, window))
    }

    fn probe_stranger(
        &mut self,
        now: Instant,
        key: Key,
        network: &Network,
        numbers: &mut Numbers,
    ) -> Option<(Probe, Window)> {
        let is_mute = self.strangers.get(key)?.is_mute();
        if numbers.probed_after(key.0, key.1.ip(), false) > now {
            return None;
        }
        let path = self.strangers.spend(network, key, PROBE_LEN)?;
        let window = self.ask_stranger(now, key, canonical(path.destination), numbers);
        Some((Probe { prefix: key.0, path, is_mute }, window))
    }

    /// Notes the probe of a stranger that leaves now.
    pub(super) fn ask_stranger(
        &mut self,
        now: Instant,
        key: Key,
        to: SocketAddr,
        numbers: &mut Numbers,
    ) -> Window {
        let is_known = self.validated.get(&key.0).is_some_and(|known| known.is_at(to.ip()));
        let window = numbers.window(now, key.0, to, is_known);
        self.strangers.asked(key, Asked { window, to, at: now });
        window
    }
}
