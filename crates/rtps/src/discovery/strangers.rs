//! Participants that have announced themselves and have not answered a probe yet: what is known of them, and what may be sent to them.
use alloc::boxed::Box;
use core::net::{IpAddr, SocketAddr};

use wire::discovery::ParticipantData;
use wire::{Duration, GuidPrefix, Instant, SequenceNumberSet};

use super::config::Limits;
use super::messages::answers_probes;
use super::recent::{Key, Recent};
use super::rejection::Rejection;
use super::remote::Asked;
use crate::network::Network;
use crate::path::Path;
use crate::spacing::Spacing;

/// How long a stranger is remembered.
const STRANGER_LEASE: Duration = Duration::from_secs(10);
/// Most strangers of one IP address: a flood from there evicts its own.
const PER_ADDRESS: usize = 128;
/// Probes of one that may still be answered.
const MAX_ASKED: usize = 4;
/// Bytes of an ACKNACK, the least that a message of a stranger brings besides its announcement.
const ACKNACK_LEN: u64 = 28;
/// So many announcements of one are answered at once, others ever less often.
const PROMPT_ANSWERS: u8 = 8;
/// A stranger that names us is probed at most so often.
const PROBE_PERIOD: Duration = Duration::from_millis(20);

/// A participant that has not been validated at this address.
#[derive(Debug)]
pub(super) struct Stranger {
    pub(super) data: Box<ParticipantData>,
    /// Bytes that may be sent to it.
    credit: u64,
    /// What it counts for in memory: the bytes of its newest announcement.
    bytes: u64,
    until: Instant,
    /// It names our prefix: it may have heard our announcement.
    pub(super) names_us: bool,
    /// It was answered with a probe alone the last time.
    pub(super) answered_shortly: bool,
    /// An answer has left.
    pub(super) answered: bool,
    /// When an announcement may be answered again, and how often that was done.
    answers: Spacing,
    times_answered: u8,
    /// It answers probes in a way of its own, which proves no more than that it hears us.
    is_odd: bool,
    probe_after: Instant,
    /// The last probes, the newest first.
    asked: [Option<Asked>; MAX_ASKED],
    /// It answered a probe. Kept while the participant that is known is asked.
    pub(super) proof: Option<Answered>,
}

/// An answer to a probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    /// Where it came from.
    pub(super) from: SocketAddr,
    /// Where the probe went.
    pub(super) to: SocketAddr,
    /// How long it took; `None` if it may have been the answer to something else.
    pub(super) round_trip: Option<Duration>,
}

impl Stranger {
    /// Bytes that may still be sent to it.
    pub(super) const fn credit(&self) -> u64 {
        self.credit
    }

    /// Whether it answers no probes as it should: that it answers at all has to do.
    pub(super) fn is_mute(&self) -> bool {
        self.is_odd || !answers_probes(&self.data)
    }

    /// Whether its announcement is answered now. It may announce itself because of that, and so without end.
    pub(super) fn takes_answer(&mut self, now: Instant) -> bool {
        self.times_answered = self.times_answered.saturating_add(1);
        if self.times_answered <= PROMPT_ANSWERS {
            return true;
        }
        let is_due = self.answers.earliest(now, false) <= now;
        if is_due {
            self.answers.answered(now, false);
        }
        is_due
    }
}

#[derive(Debug, Default)]
pub(super) struct Strangers {
    /// By when they announced themselves last.
    all: Recent<Stranger>,
    bytes: u64,
}

impl Strangers {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SocketAddr, &ParticipantData)> {
        self.all.iter().map(|((_, source), stranger)| (*source, &*stranger.data))
    }

    pub(super) fn get(&self, key: Key) -> Option<&Stranger> {
        self.all.get(key)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Stranger> {
        self.all.get_mut(key)
    }

    /// An announcement of so many bytes has come.
    pub(super) fn meet(
        &mut self,
        now: Instant,
        key: Key,
        names_us: bool,
        data: ParticipantData,
        bytes: u64,
        limits: &Limits,
    ) -> Option<Rejection> {
        let before = self.forget(key);
        let mut evicted = None;
        if self.all.count_at(key.1.ip()) >= PER_ADDRESS {
            self.all.oldest_at(key.1.ip()).map(|oldest| self.forget(oldest));
            evicted = Some(Rejection::Evicted);
        }
        while self.all.len() >= limits.strangers || self.bytes.saturating_add(bytes) > limits.stranger_octets
        {
            let Some(oldest) = self.all.oldest() else { break };
            self.forget(oldest);
            evicted = Some(Rejection::Evicted);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        let mut stranger = before.unwrap_or_else(|| Stranger {
            data: Box::new(ParticipantData::new(key.0)),
            credit: 0,
            bytes: 0,
            until: now,
            names_us,
            answered_shortly: false,
            answered: false,
            answers: Spacing::default(),
            times_answered: 0,
            is_odd: false,
            probe_after: now,
            asked: [None; MAX_ASKED],
            proof: None,
        });
        stranger.credit = stranger.credit.saturating_add(bytes);
        stranger.names_us |= names_us;
        // It is answered.
        stranger.probe_after = now.after(PROBE_PERIOD);
        if *stranger.data != data {
            // What was proved was proved for something else.
            (stranger.proof, stranger.asked) = (None, [None; MAX_ASKED]);
        }
        *stranger.data = data;
        (stranger.bytes, stranger.until) = (bytes, now.after(STRANGER_LEASE));
        self.all.insert(key, stranger);
        evicted
    }

    /// Something else has come: from a stranger, or from another port of its address. Says whether there is one, and which is to be probed
    /// now, because it `names_us`.
    pub(super) fn heard(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        from: SocketAddr,
        names_us: bool,
    ) -> (bool, Option<Key>) {
        let exact = (prefix, from);
        let here = || self.all.of(prefix).map(|(key, _)| *key).find(|(_, source)| source.ip() == from.ip());
        let found = if self.all.contains(exact) { Some(exact) } else { here() };
        let Some(key) = found else { return (false, None) };
        let Some(stranger) = self.all.get_mut(key) else { return (false, None) };
        if !names_us {
            return (true, None);
        }
        stranger.names_us = true;
        stranger.credit = stranger.credit.saturating_add(ACKNACK_LEN);
        if now < stranger.probe_after {
            return (true, None);
        }
        stranger.probe_after = now.after(PROBE_PERIOD);
        (true, Some(key))
    }

    /// Takes bytes from what may be sent to a stranger, and says which way they go: to one of its locators at the address that its
    /// packet came from, or to that very source. `None`: nothing may be sent there now, or a datagram of so many bytes is too large for that way.
    pub(super) fn spend(&mut self, network: &Network, key: Key, bytes: u64) -> Option<Path> {
        let stranger = self.all.get_mut(key)?;
        let credit = stranger.credit.checked_sub(bytes)?;
        let source = key.1.ip();
        let own = network.is_own(source);
        let mut at_source = stranger.data.metatraffic_unicast.clone();
        at_source.retain(|locator| {
            locator.socket_addr().is_some_and(|address| {
                address.ip().to_canonical() == source || own && network.is_own(address.ip())
            })
        });
        let path = network.path(&at_source, own).or_else(|| network.path_to(key.1))?;
        if bytes > u64::from(path.max_datagram) {
            return None;
        }
        stranger.credit = credit;
        stranger.answered = true;
        Some(path)
    }

    /// A probe has left.
    pub(super) fn asked(&mut self, key: Key, asked: Asked) {
        if let Some(stranger) = self.all.get_mut(key) {
            stranger.asked.rotate_right(1);
            stranger.asked[0] = Some(asked);
        }
    }

    /// The stranger whose probe this answers, and that probe.
    pub(super) fn find(&self, prefix: GuidPrefix, answer: &SequenceNumberSet) -> Option<(Key, Asked)> {
        self.all.of(prefix).find_map(|(key, stranger)| {
            let asked = stranger.asked.iter().flatten().find(|asked| asked.window.is_answered_by(answer))?;
            Some((*key, *asked))
        })
    }

    /// A stranger of that name and address that answers no probes as it should, once it was answered.
    pub(super) fn find_mute(&self, prefix: GuidPrefix, from: IpAddr) -> Option<Key> {
        let mut here = self.all.of(prefix).filter(|((_, source), _)| source.ip() == from);
        here.find(|(_, stranger)| stranger.answered && stranger.is_mute()).map(|(key, _)| *key)
    }

    /// An ACKNACK has come that proves nothing. If it is about a probe of a stranger at that address, that one answers in a way of its own:
    /// HDDS asks for the first number alone, whatever a GAP has said of it.
    pub(super) fn answers_oddly(&mut self, prefix: GuidPrefix, from: IpAddr, answer: &SequenceNumberSet) {
        let is_about = |stranger: &Stranger| {
            stranger.asked.iter().flatten().any(|asked| asked.window.begins_with(answer))
        };
        let here =
            self.all.of(prefix).find(|((_, source), stranger)| source.ip() == from && is_about(stranger));
        let Some(key) = here.map(|(key, _)| *key) else { return };
        if let Some(stranger) = self.all.get_mut(key) {
            stranger.is_odd = true;
        }
    }

    pub(super) fn forget(&mut self, key: Key) -> Option<Stranger> {
        let stranger = self.all.remove(key)?;
        self.bytes = self.bytes.saturating_sub(stranger.bytes);
        Some(stranger)
    }

    /// Forgets a stranger that says goodbye.
    pub(super) fn left(&mut self, prefix: GuidPrefix, from: IpAddr) -> bool {
        let here = self.all.of(prefix).map(|(key, _)| *key).find(|(_, source)| source.ip() == from);
        here.is_some_and(|key| self.forget(key).is_some())
    }

    pub(super) fn next_timeout(&self) -> Instant {
        let first = self.all.oldest().and_then(|key| self.all.get(key));
        first.map_or(Instant::NEVER, |stranger| stranger.until)
    }

    /// Forgets those that have been silent.
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some(key) = self.all.oldest()
            && self.all.get(key).is_none_or(|stranger| stranger.until <= now)
        {
            self.forget(key);
        }
    }
}
