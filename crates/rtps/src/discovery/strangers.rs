//! Participants that have announced themselves and have not answered a probe yet: what is known of them, and what may be sent to them.
use alloc::boxed::Box;
use core::net::{IpAddr, SocketAddr};

use wire::discovery::ParticipantData;
use wire::{Duration, GuidPrefix, Instant, SequenceNumber};

use super::config::Limits;
use super::rejection::Rejection;
use super::remote::Asked;
use crate::network::Network;
use crate::path::Path;
use crate::sorted::SortedMap;

/// How long a stranger is remembered.
const STRANGER_LEASE: Duration = Duration::from_secs(10);
/// Most strangers of one IP address: a flood from there evicts its own.
const PER_ADDRESS: usize = 128;
/// Bytes of an ACKNACK, the least that a message of a stranger brings besides its announcement.
const ACKNACK_LEN: u64 = 28;
/// A stranger that names us is probed at most so often.
const PROBE_PERIOD: Duration = Duration::from_millis(20);

/// A stranger is a GUID prefix at a socket address: who else names the prefix is another one.
pub(super) type Key = (GuidPrefix, SocketAddr);

/// A participant that has not been validated at this address.
#[derive(Debug)]
pub(super) struct Stranger {
    pub(super) data: Box<ParticipantData>,
    /// Bytes that may be sent to it.
    credit: u64,
    /// What it counts for in memory: the bytes of its newest announcement.
    octets: u64,
    /// Place in the order of hearing.
    stamp: u64,
    until: Instant,
    /// It names our prefix: it may have heard our announcement.
    pub(super) names_us: bool,
    /// It was answered with a probe alone the last time.
    pub(super) answered_shortly: bool,
    /// An answer has left.
    pub(super) answered: bool,
    probe_after: Instant,
    /// The last two probes.
    asked: [Option<Asked>; 2],
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
}

#[derive(Debug, Default)]
pub(super) struct Strangers {
    all: SortedMap<Key, Stranger>,
    /// By the order in which they were last heard.
    order: SortedMap<u64, Key>,
    per_address: SortedMap<IpAddr, usize>,
    next_stamp: u64,
    octets: u64,
}

impl Strangers {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SocketAddr, &ParticipantData)> {
        self.all.iter().map(|((_, source), stranger)| (*source, &*stranger.data))
    }

    pub(super) fn get(&self, key: Key) -> Option<&Stranger> {
        self.all.get(&key)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Stranger> {
        self.all.get_mut(&key)
    }

    /// The strangers of this name.
    fn of(&self, prefix: GuidPrefix) -> impl Iterator<Item = (&Key, &Stranger)> {
        let first = (prefix, SocketAddr::from(([0, 0, 0, 0], 0)));
        self.all.range(first..).take_while(move |((name, _), _)| *name == prefix)
    }

    /// An announcement of so many bytes has come.
    pub(super) fn meet(
        &mut self,
        now: Instant,
        key: Key,
        names_us: bool,
        data: ParticipantData,
        octets: u64,
        limits: &Limits,
    ) -> Option<Rejection> {
        let before = self.forget(key);
        let mut evicted = None;
        if self.per_address.get(&key.1.ip()).is_some_and(|count| *count >= PER_ADDRESS) {
            let oldest = self.order.iter().map(|(_, other)| *other).find(|other| other.1.ip() == key.1.ip());
            oldest.map(|oldest| self.forget(oldest));
            evicted = Some(Rejection::Evicted);
        }
        while self.all.len() >= limits.strangers
            || self.octets.saturating_add(octets) > limits.stranger_octets
        {
            let Some(oldest) = self.order.first().map(|(_, key)| *key) else { break };
            self.forget(oldest);
            evicted = Some(Rejection::Evicted);
        }
        let stamp = self.next_stamp;
        self.next_stamp = stamp.wrapping_add(1);
        self.order.insert(stamp, key);
        self.octets = self.octets.saturating_add(octets);
        *self.per_address.get_or_insert_with(key.1.ip(), || 0) += 1;
        let mut stranger = before.unwrap_or_else(|| Stranger {
            data: Box::new(ParticipantData::new(key.0)),
            credit: 0,
            octets: 0,
            stamp,
            until: now,
            names_us,
            answered_shortly: false,
            answered: false,
            probe_after: now,
            asked: [None; 2],
            proof: None,
        });
        stranger.credit = stranger.credit.saturating_add(octets);
        stranger.names_us |= names_us;
        // It is answered.
        stranger.probe_after = now.after(PROBE_PERIOD);
        if *stranger.data != data {
            // What was proved was proved for something else.
            (stranger.proof, stranger.asked) = (None, [None; 2]);
        }
        *stranger.data = data;
        (stranger.octets, stranger.stamp, stranger.until) = (octets, stamp, now.after(STRANGER_LEASE));
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
        let here = || self.of(prefix).map(|(key, _)| *key).find(|(_, source)| source.ip() == from.ip());
        let found = if self.all.contains_key(&exact) { Some(exact) } else { here() };
        let Some(key) = found else { return (false, None) };
        let Some(stranger) = self.all.get_mut(&key) else { return (false, None) };
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
    /// packet came from, or to that very source. `None`: nothing may be sent there now.
    pub(super) fn spend(&mut self, network: &Network, key: Key, octets: u64) -> Option<Path> {
        let stranger = self.all.get_mut(&key)?;
        let credit = stranger.credit.checked_sub(octets)?;
        let source = key.1.ip();
        let own = network.is_own(source);
        let mut at_source = stranger.data.metatraffic_unicast.clone();
        at_source.retain(|locator| {
            locator.socket_addr().is_some_and(|address| {
                address.ip().to_canonical() == source || own && network.is_own(address.ip())
            })
        });
        let path = network.path(&at_source, own).or_else(|| network.path_to(key.1))?;
        stranger.credit = credit;
        stranger.answered = true;
        Some(path)
    }

    /// A probe has left.
    pub(super) fn asked(&mut self, key: Key, asked: Asked) {
        if let Some(stranger) = self.all.get_mut(&key) {
            let [newest, _] = stranger.asked;
            stranger.asked = [Some(asked), newest];
        }
    }

    /// The stranger whose probe has this number, and that probe.
    pub(super) fn find(&self, prefix: GuidPrefix, nonce: SequenceNumber) -> Option<(Key, Asked)> {
        self.of(prefix).find_map(|(key, stranger)| {
            let asked = stranger.asked.iter().flatten().find(|asked| asked.nonce == nonce)?;
            Some((*key, *asked))
        })
    }

    /// A stranger of that name and address that has no reader to answer probes, once it was answered.
    pub(super) fn find_mute(&self, prefix: GuidPrefix, from: IpAddr) -> Option<Key> {
        let mut here = self.of(prefix).filter(|((_, source), _)| source.ip() == from);
        here.find(|(_, stranger)| stranger.answered && !super::messages::answers_probes(&stranger.data))
            .map(|(key, _)| *key)
    }

    pub(super) fn forget(&mut self, key: Key) -> Option<Stranger> {
        let stranger = self.all.remove(&key)?;
        self.order.remove(&stranger.stamp);
        self.octets = self.octets.saturating_sub(stranger.octets);
        if let Some(count) = self.per_address.get_mut(&key.1.ip()) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.per_address.remove(&key.1.ip());
            }
        }
        Some(stranger)
    }

    /// Forgets a stranger that says goodbye.
    pub(super) fn left(&mut self, prefix: GuidPrefix, from: IpAddr) -> bool {
        let here = self.of(prefix).map(|(key, _)| *key).find(|(_, source)| source.ip() == from);
        here.is_some_and(|key| self.forget(key).is_some())
    }

    pub(super) fn next_timeout(&self) -> Instant {
        let first = self.order.first().and_then(|(_, key)| self.all.get(key));
        first.map_or(Instant::NEVER, |stranger| stranger.until)
    }

    /// Forgets those that have been silent.
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some(key) = self.order.first().map(|(_, key)| *key)
            && self.all.get(&key).is_none_or(|stranger| stranger.until <= now)
        {
            if self.forget(key).is_none() {
                self.order.pop_first();
            }
        }
    }
}
