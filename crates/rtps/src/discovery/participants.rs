//! The ledger of remote participants: who has been validated, from which addresses, until when, and what may be sent to
//! those that have not been.
//!
//! Rules (plain mode, without DDS Security):
//! - A participant is a *stranger* until a message in its name names our GUID prefix in INFO_DST and comes from the address
//!   that its announcement came from. Our prefix is random: who names it has heard from us, so that the address is real.
//! - A stranger is answered at the address of its packet alone, with no more octets than came from it.
//! - Strangers are kept for ten seconds, the least recently heard makes room. They never displace a validated participant.
//! - What comes in the name of a validated participant counts if it comes from an address that was validated for it or is in
//!   its announced locators. From another address it is a stranger's message, and validated alike.
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use wire::discovery::ParticipantData;
use wire::{Duration, GuidPrefix, Instant, Locator};

use super::config::Limits;
use super::rejection::Rejection;
use crate::network::Network;
use crate::path::Path;
use crate::sorted::{SortedMap, SortedSet};

/// How long a stranger is remembered.
const STRANGER_LEASE: Duration = Duration::from_secs(10);
/// Most validated addresses that are kept of one participant; the oldest goes.
const MAX_SOURCES: usize = 8;

/// A validated participant.
#[derive(Debug)]
pub struct RemoteParticipant {
    data: Arc<ParticipantData>,
    /// Where its validated announcements came from, newest last.
    sources: Vec<SocketAddr>,
    lease_until: Instant,
    /// Where it stands in the ledger's order of leases: no later than the lease ends.
    check_at: Instant,
    heard: Instant,
}

impl RemoteParticipant {
    /// What it announces.
    pub const fn data(&self) -> &Arc<ParticipantData> {
        &self.data
    }

    /// When it was last heard.
    pub const fn heard(&self) -> Instant {
        self.heard
    }

    /// The address that its newest validated announcement came from.
    pub fn source(&self) -> Option<SocketAddr> {
        self.sources.last().copied()
    }

    /// The path to its built-in endpoints.
    pub fn metatraffic_path(&self, network: &Network) -> Option<Path> {
        self.path(network, &[&self.data.metatraffic_unicast, &self.data.default_unicast])
    }

    /// The first list of locators with a usable one decides; if none has, the address that its packets come from.
    pub(super) fn path(&self, network: &Network, lists: &[&[Locator]]) -> Option<Path> {
        let source = self.source()?;
        let same_host = network.is_own(source.ip());
        lists
            .iter()
            .find_map(|locators| network.path(locators, same_host))
            .or_else(|| network.path_to(source))
    }

    fn knows(&self, address: IpAddr) -> bool {
        let data = &self.data;
        self.sources.iter().any(|source| source.ip() == address)
            || data
                .metatraffic_unicast
                .iter()
                .chain(&data.default_unicast)
                .filter_map(Locator::socket_addr)
                .any(|locator| locator.ip().to_canonical() == address)
    }

    fn add_source(&mut self, source: SocketAddr) {
        self.sources.retain(|known| known.ip() != source.ip());
        if self.sources.len() >= MAX_SOURCES {
            self.sources.remove(0);
        }
        self.sources.push(source);
    }

    fn refresh(&mut self, now: Instant) {
        self.heard = now;
        self.lease_until = now.after(self.data.lease_duration);
    }
}

/// A participant that has not been validated at this address.
#[derive(Debug)]
struct Stranger {
    source: SocketAddr,
    data: Box<ParticipantData>,
    /// Octets that may be sent to it.
    credit: u64,
    /// What it counts for in memory: the octets of its newest announcement.
    octets: u64,
    /// Place in the order of hearing.
    stamp: u64,
    until: Instant,
}

/// What an announcement or another message made of its participant.
#[derive(Debug)]
pub(super) enum Standing {
    /// Not validated.
    Stranger,
    /// It is validated from now on.
    Validated(Arc<ParticipantData>),
    /// It was validated before and announces something else now.
    Changed(Arc<ParticipantData>),
    /// It was validated before and nothing changed.
    Known,
    /// The message does not count.
    Refused(Rejection),
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    validated: SortedMap<GuidPrefix, RemoteParticipant>,
    /// When leases are looked at next; each participant is in it once, with its `check_at`.
    leases: SortedSet<(Instant, GuidPrefix)>,
    strangers: SortedMap<(GuidPrefix, IpAddr), Stranger>,
    /// Strangers by the order in which they were last heard.
    order: SortedMap<u64, (GuidPrefix, IpAddr)>,
    next_stamp: u64,
    stranger_octets: u64,
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

    /// Strangers, with the address that each was heard from.
    pub(super) fn strangers(&self) -> impl Iterator<Item = (SocketAddr, &ParticipantData)> {
        self.strangers.values().map(|stranger| (stranger.source, &*stranger.data))
    }

    pub(super) fn stranger_count(&self) -> usize {
        self.strangers.len()
    }

    /// An announcement of `octets` octets arrived. `addressed`: it named our prefix.
    pub(super) fn announced(
        &mut self,
        now: Instant,
        from: SocketAddr,
        addressed: bool,
        data: ParticipantData,
        octets: u64,
        limits: &Limits,
    ) -> (Standing, Option<Rejection>) {
        let prefix = data.prefix;
        if let Some(known) = self.validated.get_mut(&prefix).filter(|known| known.knows(from.ip())) {
            known.add_source(from);
            let standing = if *known.data == data {
                Standing::Known
            } else {
                known.data = Arc::new(data);
                Standing::Changed(Arc::clone(&known.data))
            };
            known.refresh(now);
            self.schedule(prefix);
            return (standing, None);
        }
        if addressed {
            self.forget_stranger((prefix, from.ip()));
            return (self.validate(now, from, data, limits), None);
        }
        self.meet(now, from, data, octets, limits)
    }

    /// Something else arrived in the name of a participant.
    pub(super) fn heard(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        from: SocketAddr,
        addressed: bool,
        limits: &Limits,
    ) -> Standing {
        let known = self.validated.get_mut(&prefix);
        let is_validated = known.is_some();
        if let Some(known) = known.filter(|known| known.knows(from.ip())) {
            known.refresh(now);
            return Standing::Known;
        }
        let key = (prefix, from.ip());
        match self.strangers.get(&key) {
            Some(_) if addressed => match self.forget_stranger(key) {
                Some(stranger) => self.validate(now, stranger.source, *stranger.data, limits),
                None => Standing::Refused(Rejection::UnknownParticipant),
            },
            _ if is_validated => Standing::Refused(Rejection::UnknownAddress),
            Some(_) => Standing::Refused(Rejection::NotValidated),
            None => Standing::Refused(Rejection::UnknownParticipant),
        }
    }

    /// Whether a goodbye in the name of a participant means a validated one that is to be lost: it has to come from one of its
    /// addresses. One of a participant that is not known is nothing special: goodbyes go to groups and to each participant.
    pub(super) fn may_leave(&self, prefix: GuidPrefix, from: SocketAddr) -> Result<bool, Rejection> {
        match self.validated.get(&prefix) {
            Some(known) if !known.knows(from.ip()) => Err(Rejection::UnknownAddress),
            known => Ok(known.is_some()),
        }
    }

    /// Forgets a stranger that says goodbye.
    pub(super) fn stranger_left(&mut self, prefix: GuidPrefix, from: SocketAddr) -> bool {
        self.forget_stranger((prefix, from.ip())).is_some()
    }

    pub(super) fn remove(&mut self, prefix: GuidPrefix) -> Option<RemoteParticipant> {
        let removed = self.validated.remove(&prefix)?;
        self.leases.remove(&(removed.check_at, prefix));
        Some(removed)
    }

    /// Takes `octets` from what may be sent to a stranger, and says which way they go: to one of its locators at the address
    /// that its packet came from, or to that very source. `None`: nothing may be sent there now.
    pub(super) fn spend(
        &mut self,
        network: &Network,
        prefix: GuidPrefix,
        source: IpAddr,
        octets: u64,
    ) -> Option<Path> {
        let stranger = self.strangers.get_mut(&(prefix, source))?;
        let credit = stranger.credit.checked_sub(octets)?;
        let own = network.is_own(source);
        let mut at_source = stranger.data.metatraffic_unicast.clone();
        at_source.retain(|locator| {
            locator.socket_addr().is_some_and(|address| {
                address.ip().to_canonical() == source || own && network.is_own(address.ip())
            })
        });
        let path = network.path(&at_source, own).or_else(|| network.path_to(stranger.source))?;
        stranger.credit = credit;
        Some(path)
    }

    pub(super) fn next_timeout(&self) -> Instant {
        let lease = self.leases.first().map_or(Instant::NEVER, |(at, _)| *at);
        let stranger = self.order.first().and_then(|(_, key)| self.strangers.get(key));
        lease.min(stranger.map_or(Instant::NEVER, |stranger| stranger.until))
    }

    /// A validated participant whose lease has ended: the same until it is removed. Strangers whose time is over are forgotten.
    pub(super) fn expired(&mut self, now: Instant) -> Option<GuidPrefix> {
        while let Some((stamp, key)) = self.order.first() {
            let (stamp, key) = (*stamp, *key);
            match self.strangers.get(&key) {
                Some(stranger) if stranger.until > now => break,
                Some(_) => {
                    self.forget_stranger(key);
                }
                None => {
                    self.order.remove(&stamp);
                }
            }
        }
        while let Some((at, prefix)) = self.leases.first().copied().filter(|(at, _)| *at <= now) {
            match self.validated.get_mut(&prefix) {
                Some(known) if known.lease_until > now => {
                    known.check_at = known.lease_until;
                    self.leases.insert((known.lease_until, prefix));
                    self.leases.remove(&(at, prefix));
                }
                Some(_) => return Some(prefix),
                None => {
                    self.leases.remove(&(at, prefix));
                }
            }
        }
        None
    }

    fn validate(
        &mut self,
        now: Instant,
        source: SocketAddr,
        data: ParticipantData,
        limits: &Limits,
    ) -> Standing {
        let prefix = data.prefix;
        let full = self.validated.len() >= limits.participants;
        let data = Arc::new(data);
        let standing = match self.validated.get_mut(&prefix) {
            Some(known) => {
                known.add_source(source);
                let changed = known.data != data;
                known.data = Arc::clone(&data);
                known.refresh(now);
                if changed { Standing::Changed(data) } else { Standing::Known }
            }
            None if full => return Standing::Refused(Rejection::ParticipantLimit),
            None => {
                let mut participant = RemoteParticipant {
                    data: Arc::clone(&data),
                    sources: [source].into(),
                    lease_until: now,
                    // Not in the order yet.
                    check_at: Instant::NEVER,
                    heard: now,
                };
                participant.refresh(now);
                self.validated.insert(prefix, participant);
                Standing::Validated(data)
            }
        };
        self.schedule(prefix);
        standing
    }

    /// Sees to it that the lease of a participant is looked at no later than it ends.
    fn schedule(&mut self, prefix: GuidPrefix) {
        let Some(known) = self.validated.get_mut(&prefix) else { return };
        if known.lease_until < known.check_at {
            self.leases.remove(&(known.check_at, prefix));
            known.check_at = known.lease_until;
            self.leases.insert((known.check_at, prefix));
        }
    }

    fn meet(
        &mut self,
        now: Instant,
        from: SocketAddr,
        data: ParticipantData,
        octets: u64,
        limits: &Limits,
    ) -> (Standing, Option<Rejection>) {
        let key = (data.prefix, from.ip());
        let before = self.forget_stranger(key);
        let credit = before.as_ref().map_or(0, |stranger| stranger.credit).saturating_add(octets);
        let mut evicted = None;
        while self.strangers.len() >= limits.strangers
            || self.stranger_octets.saturating_add(octets) > limits.stranger_octets
        {
            let Some(oldest) = self.order.first().map(|(_, key)| *key) else { break };
            self.forget_stranger(oldest);
            evicted = Some(Rejection::Evicted);
        }
        let stamp = self.next_stamp;
        self.next_stamp = stamp.wrapping_add(1);
        self.order.insert(stamp, key);
        self.stranger_octets = self.stranger_octets.saturating_add(octets);
        let (data, until) = (Box::new(data), now.after(STRANGER_LEASE));
        self.strangers.insert(key, Stranger { source: from, data, credit, octets, stamp, until });
        (Standing::Stranger, evicted)
    }

    fn forget_stranger(&mut self, key: (GuidPrefix, IpAddr)) -> Option<Stranger> {
        let stranger = self.strangers.remove(&key)?;
        self.order.remove(&stranger.stamp);
        self.stranger_octets = self.stranger_octets.saturating_sub(stranger.octets);
        Some(stranger)
    }
}
