//! The ledger of remote participants: who has been validated, which socket addresses they speak from and are reached at, until when.
//!
//! Rules (plain mode, without DDS Security; docs/decisions/0013-sources.md):
//! - A participant is a *stranger* until it answers a probe: with numbers that it cannot know unless it has received the probe.
//! - A stranger is answered at the address of its packet alone, with no more bytes than came from it.
//! - What comes in the name of a validated participant counts from its sources alone: socket addresses that probes were answered from,
//!   and those that it announces. Whatever else names it is a reason to probe it where it was reached.
//! - It is sent to where a probe was answered, and to other ports there. Other addresses that it announces get probes, for no more bytes
//!   than came from it.
//! - A goodbye, another claim to the same name, and silence beyond the longest lease are believed once probes stay unanswered.
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use wire::discovery::ParticipantData;
use wire::{Duration, GuidPrefix, Instant};

use super::check::{Check, Turn, Why};
use super::config::Limits;
use super::numbers::Numbers;
use super::probe::PROBE_LEN;
use super::recent::Key;
use super::rejection::Rejection;
use super::remote::{LONGEST_LEASE, REACH_PERIOD, RemoteParticipant};
use super::strangers::Strangers;
use super::validation::Target;
use wire::sorted::{SortedMap, SortedSet};

/// A participant is probed at most so often because something came in its name from elsewhere.
const DOUBT_PERIOD: Duration = Duration::from_millis(100);

/// What an announcement or another message made of its participant.
#[derive(Debug)]
pub(super) enum Standing {
    /// Not validated: it is to be answered.
    Stranger(Key),
    /// It was validated before and announces something else now.
    Changed(Arc<ParticipantData>),
    /// It was validated before and nothing changed.
    Known,
    /// The message does not count.
    Refused(Rejection),
}

/// What has become of a participant with time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// It was silent for as long as its lease.
    Silent,
    /// It said goodbye and answers no more.
    Left,
    /// It answers no more where it was, and a stranger of the same name does.
    Replaced(Key),
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) validated: SortedMap<GuidPrefix, RemoteParticipant>,
    /// When participants are looked at next; each is in it once, with its `check_at`.
    looks: SortedSet<(Instant, GuidPrefix)>,
    pub(super) strangers: Strangers,
    /// Probes of participants and of strangers that are to be sent.
    pub(super) outbox: VecDeque<(GuidPrefix, Target)>,
    /// How many of the validated ones answer no probes.
    pub(super) mute: usize,
}

impl Ledger {
    pub(super) fn get(&self, prefix: GuidPrefix) -> Option<&RemoteParticipant> {
        self.validated.get(&prefix)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &RemoteParticipant> {
        self.validated.values()
    }

    /// The first participant after `previous`, in the order of prefixes.
    pub(super) fn after(&self, previous: Option<GuidPrefix>) -> Option<(GuidPrefix, &RemoteParticipant)> {
        use core::ops::Bound::{Excluded, Unbounded};
        let from = previous.map_or(Unbounded, Excluded);
        self.validated.range((from, Unbounded)).next().map(|(prefix, participant)| (*prefix, participant))
    }

    pub(super) fn validated_count(&self) -> usize {
        self.validated.len()
    }

    /// True if an answer along the path to the participant goes to the IP address that something in its name has come from.
    pub(super) fn is_answered_at(&self, prefix: GuidPrefix, from: SocketAddr) -> bool {
        let known = self.validated.get(&prefix);
        known.is_some_and(|known| known.speaks_from(from) && known.is_reached_at(from.ip()))
    }

    /// An announcement of `bytes` arrived. `addressed`: it named our prefix.
    pub(super) fn announced(
        &mut self,
        now: Instant,
        from: SocketAddr,
        addressed: bool,
        data: ParticipantData,
        bytes: u64,
        limits: &Limits,
    ) -> (Standing, Option<Rejection>) {
        let prefix = data.prefix;
        if let Some(known) = self.validated.get_mut(&prefix) {
            let speaks = known.speaks_from(from);
            if known.announces_from(from) {
                let changes = *known.data != data;
                if speaks && changes {
                    known.announcer = None;
                }
                known.credit = known.credit.saturating_add(bytes);
                let standing = if changes {
                    known.announce(now, Arc::new(data));
                    Standing::Changed(Arc::clone(&known.data))
                } else {
                    Standing::Known
                };
                known.is_heard_from(now, from.ip());
                known.refresh(now);
                self.schedule(prefix);
                return (standing, None);
            }
            let same = *known.data == data;
            self.doubt(now, prefix);
            if same {
                // It says nothing new; that it lives is for the answer to say.
                return (Standing::Refused(Rejection::UnknownAddress), None);
            }
        }
        let key = (prefix, from);
        let evicted = self.strangers.meet(now, key, addressed, data, bytes, limits);
        (Standing::Stranger(key), evicted)
    }

    /// Something else arrived in the name of a participant.
    pub(super) fn heard(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        from: SocketAddr,
        addressed: bool,
    ) -> Standing {
        let known = self.validated.get_mut(&prefix);
        let is_validated = known.is_some();
        if let Some(known) = known.filter(|known| known.announces_from(from)) {
            known.refresh(now);
            return Standing::Known;
        }
        if is_validated {
            self.doubt(now, prefix);
        }
        let (is_met, probed) = self.strangers.heard(now, prefix, from, addressed);
        if let Some((prefix, source)) = probed {
            self.post(prefix, Target::Stranger(source));
        }
        match (is_validated, is_met) {
            (true, _) => Standing::Refused(Rejection::UnknownAddress),
            (false, true) => Standing::Refused(Rejection::NotValidated),
            (false, false) => Standing::Refused(Rejection::UnknownParticipant),
        }
    }

    /// Something came in the name of a participant from an address that is not known for it: it is asked, where it is known, whether it
    /// speaks from elsewhere.
    pub(super) fn doubt(&mut self, now: Instant, prefix: GuidPrefix) {
        if let Some(known) = self.validated.get_mut(&prefix)
            && !known.doubted
        {
            known.doubted = true;
            known.is_questioned = true;
            known.doubt_after = known.doubt_after.max(now);
            self.schedule(prefix);
        }
    }

    /// True once after a doubt began: the built-in writers of the participant are to be asked what they have.
    pub(super) fn takes_question(&mut self, prefix: GuidPrefix) -> bool {
        self.validated.get_mut(&prefix).is_some_and(|known| core::mem::take(&mut known.is_questioned))
    }

    /// A goodbye in the name of a participant has come: it is asked whether it is still there.
    pub(super) fn said_goodbye(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        from: SocketAddr,
    ) -> Result<(), Rejection> {
        if self.strangers.left(prefix, from.ip()) {
            return Ok(());
        }
        match self.validated.get_mut(&prefix) {
            None => Ok(()),
            Some(known) if !known.is_at(from.ip()) => Err(Rejection::UnknownAddress),
            Some(known) => {
                let check = Check::new(now, Why::Goodbye, known.round_trip);
                if known.check.as_ref().is_none_or(|check| !check.is_for_goodbye()) {
                    known.check = Some(check);
                } else if let Some(check) = &mut known.check {
                    check.again();
                }
                self.schedule(prefix);
                Ok(())
            }
        }
    }

    pub(super) fn remove(&mut self, prefix: GuidPrefix) -> Option<RemoteParticipant> {
        let removed = self.validated.remove(&prefix)?;
        self.looks.remove(&(removed.check_at, prefix));
        if removed.is_mute {
            self.mute = self.mute.saturating_sub(1);
        }
        Some(removed)
    }

    /// The participant that was not heard for longest, of those that have been silent, or answer no probes.
    pub(super) fn oldest(&self, now: Instant, mute: bool) -> Option<GuidPrefix> {
        let candidates = self.validated.iter().filter(|(_, known)| {
            if mute { known.is_mute && now.since(known.heard) >= DOUBT_PERIOD } else { known.is_silent(now) }
        });
        candidates.min_by_key(|(_, known)| known.heard).map(|(prefix, _)| *prefix)
    }

    pub(super) fn next_timeout(&self) -> Instant {
        if !self.outbox.is_empty() {
            return Instant::START;
        }
        let look = self.looks.first().map_or(Instant::NEVER, |(at, _)| *at);
        look.min(self.strangers.next_timeout())
    }

    /// Announced addresses are probed anew: the network has changed.
    pub(super) fn reach_anew(&mut self, now: Instant) {
        let prefixes: Vec<GuidPrefix> = self.validated.keys().copied().collect();
        for prefix in prefixes {
            if let Some(known) = self.validated.get_mut(&prefix) {
                known.wanted.iter_mut().for_each(|wanted| (wanted.1, wanted.2) = (0, now));
            }
            self.schedule(prefix);
        }
    }

    /// Does what is due: a participant that is gone, the same until it is removed.
    pub(super) fn look(&mut self, now: Instant, numbers: &Numbers) -> Option<(GuidPrefix, Verdict)> {
        self.strangers.expire(now);
        while let Some((at, prefix)) = self.looks.first().copied().filter(|(at, _)| *at <= now) {
            let verdict = self.look_at(now, prefix, numbers);
            if verdict.is_some() {
                return verdict.map(|verdict| (prefix, verdict));
            }
            self.looks.remove(&(at, prefix));
            if let Some(known) = self.validated.get_mut(&prefix) {
                // Never again at once: what is not done now is no reason to turn in circles.
                known.check_at = known.due().max(now.after(Duration::from_nanos(1)));
                self.looks.insert((known.check_at, prefix));
            }
        }
        None
    }

    fn look_at(&mut self, now: Instant, prefix: GuidPrefix, numbers: &Numbers) -> Option<Verdict> {
        let known = self.validated.get_mut(&prefix)?;
        let mut probes: Vec<SocketAddr> = Vec::new();
        let reached = known.reached.iter();
        let after = |burst| {
            reached.clone().map(|at| numbers.probed_after(prefix, at.ip(), burst)).max().unwrap_or(now)
        };
        let (soon, in_turn) = (after(true), after(false));
        let round = REACH_PERIOD.scaled(known.wanted.len() as u32, 1);
        let most = known.most_tries();
        for (address, tries, at) in &mut known.wanted {
            let paid = PROBE_LEN.saturating_mul(probes.len() as u64 + 1);
            if *at <= now && *tries < most && paid <= known.credit {
                *tries = tries.saturating_add(1).min(u8::MAX - 1);
                *at = now.after(RemoteParticipant::reach_wait(*tries, round));
                probes.push(*address);
            }
        }
        if known.doubted {
            known.doubt_after = known.doubt_after.max(in_turn);
        }
        if known.doubted && known.doubt_after <= now {
            known.doubted = false;
            known.doubt_after = now.after(DOUBT_PERIOD);
            probes.extend(&known.reached);
        }
        if known.lease_until <= now && known.check.is_none() {
            if known.data.lease_duration <= LONGEST_LEASE {
                return Some(Verdict::Silent);
            }
            known.check = Some(Check::new(now, Why::Silence, known.round_trip));
        }
        if known.lease_until <= now {
            // The check decides.
            known.lease_until = now.after(LONGEST_LEASE);
        }
        if let Some(check) = &mut known.check {
            check.put_off(soon);
            match check.turn(now) {
                Turn::Wait => {}
                Turn::Ask => probes.extend(&known.reached),
                Turn::Over => {
                    return Some(match check.why() {
                        Why::Goodbye => Verdict::Left,
                        Why::Silence => Verdict::Silent,
                        Why::Claim(key) => Verdict::Replaced(key),
                    });
                }
            }
        }
        for to in probes {
            self.post(prefix, Target::Known(to));
        }
        None
    }

    /// Sees to it that a participant is looked at no later than it has to be.
    pub(super) fn schedule(&mut self, prefix: GuidPrefix) {
        let Some(known) = self.validated.get_mut(&prefix) else { return };
        let due = known.due();
        if due < known.check_at {
            self.looks.remove(&(known.check_at, prefix));
            known.check_at = due;
            self.looks.insert((due, prefix));
        }
    }
}
