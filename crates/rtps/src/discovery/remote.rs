//! What is known of one validated participant: what it announces, where it speaks from, where it is reached.
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use wire::discovery::ParticipantData;
use wire::{Duration, Instant, Locator};

use super::check::Check;
use super::probe::{PROBE_LEN, Window};
use crate::network::{Network, canonical};
use crate::path::Path;

/// Most addresses of each kind that are kept of one participant; the oldest goes.
const MAX_SOURCES: usize = 8;
/// The lease of a participant that announces none. One that is silent for longer is asked whether it is there, whatever it announced.
pub(super) const LONGEST_LEASE: Duration = ParticipantData::DEFAULT_LEASE;
/// After this silence a participant may make room for another one.
const SILENCE: Duration = Duration::from_secs(30);
/// Probes of an announced address, and the time between two of them to one participant: each hides the one before, to which the answer
/// may not have left.
const REACH_TRIES: u8 = 3;
pub(super) const REACH_PERIOD: Duration = Duration::from_millis(100);
/// The wait after those, for one that announces no address any more at which it was reached; it doubles this often.
const REACH_AGAIN: Duration = Duration::from_secs(1);
const REACH_DOUBLINGS: u8 = 6;

/// A probe that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) window: Window,
    pub(super) to: SocketAddr,
    pub(super) at: Instant,
}

/// A validated participant.
#[derive(Debug)]
pub struct RemoteParticipant {
    pub(super) data: Arc<ParticipantData>,
    /// It answers no probes as it should.
    pub(super) is_mute: bool,
    /// Where answers to probes came from, newest last.
    pub(super) proven: Vec<SocketAddr>,
    /// Where its first announcement came from, if that is none of those. It counts for what built-in endpoints say, as long as no
    /// announcement from another source says otherwise.
    pub(super) announcer: Option<SocketAddr>,
    /// Where probes were answered, newest last.
    pub(super) reached: Vec<SocketAddr>,
    /// Announced addresses that are probed: how often, and when next.
    pub(super) wanted: Vec<(SocketAddr, u8, Instant)>,
    /// Bytes that may be sent to those.
    pub(super) credit: u64,
    pub(super) asked: VecDeque<Asked>,
    /// Not before then is it probed again for what comes from elsewhere.
    pub(super) doubt_after: Instant,
    pub(super) doubted: bool,
    /// What came may be what its built-in writers have, from a socket that sends to groups: they are to be asked.
    pub(super) is_questioned: bool,
    pub(super) check: Option<Check>,
    pub(super) round_trip: Option<Duration>,
    pub(super) lease_until: Instant,
    /// Where it stands in the ledger's order: no later than it has to be looked at.
    pub(super) check_at: Instant,
    pub(super) heard: Instant,
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

    /// Where it was reached last.
    pub fn source(&self) -> Option<SocketAddr> {
        self.reached.last().copied()
    }

    /// Addresses at which it has answered; of one that answers no probes, those that it has spoken from.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        let of = if self.is_mute { &self.proven } else { &self.reached };
        of.iter().map(|at| at.ip().to_canonical())
    }

    /// The path to its built-in endpoints.
    pub fn metatraffic_path(&self, network: &Network) -> Option<Path> {
        self.path(network, &[&self.data.metatraffic_unicast, &self.data.default_unicast])
    }

    /// The first list of locators with a usable one decides; if none has, the address that it was reached at.
    pub(super) fn path(&self, network: &Network, lists: &[&[Locator]]) -> Option<Path> {
        let same_host = self.reached.iter().any(|reached| network.is_own(reached.ip()));
        let is_reached = |ip: IpAddr| {
            self.reached.iter().any(|reached| reached.ip() == ip) || same_host && network.is_own(ip)
        };
        let mut usable = Vec::new();
        for locators in lists {
            usable.clear();
            let all = locators.iter().filter(|locator| {
                locator.socket_addr().is_some_and(|address| is_reached(address.ip().to_canonical()))
            });
            usable.extend(all.copied());
            if let Some(path) = network.path(&usable, same_host) {
                return Some(path);
            }
        }
        self.reached.iter().rev().find_map(|reached| network.path_to(*reached))
    }

    /// Where it speaks from besides the sources of its flows: newest proven first.
    pub(super) fn sources(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        let announced = self.announced();
        let [v4, v6] = self.data.sending_ports;
        let port = move |at: &SocketAddr| if at.is_ipv4() { v4 } else { v6 };
        let sending = self.announced().filter(move |at| port(at) != 0);
        let sending = sending.map(move |at| SocketAddr::new(at.ip(), port(&at)));
        self.proven.iter().rev().copied().chain(announced).chain(sending)
    }

    pub(super) fn announced(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        let locators = self.data.metatraffic_unicast.iter().chain(&self.data.default_unicast);
        locators.filter_map(Locator::socket_addr).map(canonical)
    }

    pub(super) fn speaks_from(&self, from: SocketAddr) -> bool {
        self.sources().any(|source| (source.ip(), source.port()) == (from.ip(), from.port()))
    }

    /// True if its built-in endpoints speak from there: RustDDS sends to groups from another socket than by unicast.
    pub(super) fn announces_from(&self, from: SocketAddr) -> bool {
        self.announcer == Some(from) || self.speaks_from(from)
    }

    pub(super) fn is_at(&self, ip: IpAddr) -> bool {
        let seen = self.announcer.iter().chain(&self.reached).copied();
        seen.chain(self.sources()).any(|source| source.ip() == ip)
    }

    pub(super) fn refresh(&mut self, now: Instant) {
        self.heard = now;
        self.lease_until = now.after(self.data.lease_duration.min(LONGEST_LEASE));
    }

    /// It has answered a probe that was sent at `asked`.
    pub(super) fn answered(&mut self, now: Instant, asked: Instant) {
        if self.check.as_mut().is_some_and(|check| !check.answered(now, asked)) {
            self.check = None;
        }
        self.refresh(now);
    }

    /// Takes over what it announces, and wants to reach it at every address that is new.
    pub(super) fn announce(&mut self, now: Instant, data: Arc<ParticipantData>) {
        self.data = data;
        let mut wanted: Vec<SocketAddr> = Vec::new();
        for address in self.announced() {
            let is_new = |known: &SocketAddr| known.ip() != address.ip();
            if wanted.iter().all(is_new) && self.reached.iter().all(is_new) {
                wanted.push(address);
            }
        }
        self.wanted.retain(|(address, ..)| wanted.contains(address));
        wanted.retain(|address| self.wanted.iter().all(|(known, ..)| known != address));
        let mut at = now;
        for address in wanted {
            self.wanted.push((address, 0, at));
            at = at.after(REACH_PERIOD);
        }
    }

    /// It announces itself from there: if that address has not answered yet, its next probe does not wait for long.
    pub(super) fn is_heard_from(&mut self, now: Instant, ip: IpAddr) {
        for (_, _, at) in self.wanted.iter_mut().filter(|(address, ..)| address.ip() == ip) {
            *at = (*at).min(now.after(REACH_AGAIN));
        }
    }

    /// True if it was reached at an IP address that it announces.
    fn is_reached(&self) -> bool {
        self.announced().any(|address| self.is_reached_at(address.ip()))
    }

    /// True if a probe that went to this IP address was answered.
    pub(super) fn is_reached_at(&self, ip: IpAddr) -> bool {
        self.reached.iter().any(|reached| reached.ip() == ip)
    }

    /// Most probes of an announced address.
    pub(super) fn most_tries(&self) -> u8 {
        if self.is_reached() { REACH_TRIES } else { u8::MAX }
    }

    /// The wait after so many probes of an announced address; `round` after the first ones.
    pub(super) fn reach_wait(tries: u8, round: Duration) -> Duration {
        match tries.checked_sub(REACH_TRIES) {
            None => round,
            Some(more) => REACH_AGAIN.scaled(1 << more.min(REACH_DOUBLINGS), 1).max(round),
        }
    }

    /// The next time at which something is to be done about it.
    pub(super) fn due(&self) -> Instant {
        let most = self.most_tries();
        let wanted = self.wanted.iter().filter(|(_, tries, _)| *tries < most && self.credit >= PROBE_LEN);
        let wanted = wanted.map(|(.., at)| *at);
        let doubt = self.doubted.then_some(self.doubt_after);
        let check = self.check.as_ref().map(|check| check.at());
        wanted.chain(doubt).chain(check).fold(self.lease_until, Instant::min)
    }

    pub(super) fn is_silent(&self, now: Instant) -> bool {
        now.since(self.heard) >= SILENCE
    }
}

/// Notes an address as the newest; true if it was not known.
pub(super) fn remember(addresses: &mut Vec<SocketAddr>, address: SocketAddr) -> bool {
    let before = addresses.len();
    addresses.retain(|known| *known != address);
    let is_new = addresses.len() == before;
    if addresses.len() >= MAX_SOURCES {
        addresses.remove(0);
    }
    addresses.push(address);
    is_new
}
