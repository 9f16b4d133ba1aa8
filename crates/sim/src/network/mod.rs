//! Hosts, segments and what happens to a datagram between two sockets.
//!
//! A host has a loopback interface (index 1) and one interface per segment that it is attached to (index 2 and up), each
//! with an IPv4 address, an IPv6 address or both. A datagram for an address of the host itself never leaves it and is never lost.
mod addresses;
mod profile;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use rtps::Path;
use wire::{Duration, Instant};

pub use addresses::{Attachment, Interface};
pub use profile::Profile;

use crate::coverage::{Coverage, Situation};
use crate::random::Random;
use profile::up_to;

/// Number of a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostId(pub usize);

/// Number of a segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SegmentId(pub usize);

/// Number of a node, which is what opens sockets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub usize);

/// One copy of a datagram on its way to a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When it reaches the receive buffer.
    pub at: Instant,
    /// Whose buffer.
    pub node: NodeId,
    /// The source that the receiver sees.
    pub from: SocketAddr,
    /// The destination address that the sender gave.
    pub to: SocketAddr,
}

/// All hosts, segments and sockets.
#[derive(Debug)]
pub struct Network {
    segments: Vec<Profile>,
    hosts: Vec<Vec<Interface>>,
    sockets: BTreeMap<(HostId, u16), NodeId>,
    groups: BTreeSet<(HostId, SocketAddr, NodeId)>,
    links: BTreeMap<(HostId, HostId), Link>,
    cuts: BTreeMap<(HostId, HostId), u32>,
    random: Random,
}

/// What is remembered about one direction between two hosts.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    burst_left: u64,
    last_arrival: Instant,
}

/// Bytes of IP and UDP headers.
const fn headers(address: &SocketAddr) -> u32 {
    if address.is_ipv4() { 28 } else { 48 }
}

const LOOPBACK_DELAY: Duration = Duration::from_micros(5);

impl Network {
    /// A network without hosts.
    pub const fn new(random: Random) -> Self {
        Self {
            segments: Vec::new(),
            hosts: Vec::new(),
            sockets: BTreeMap::new(),
            groups: BTreeSet::new(),
            links: BTreeMap::new(),
            cuts: BTreeMap::new(),
            random,
        }
    }

    /// Adds a segment, to which at most 250 hosts can be attached.
    pub fn add_segment(&mut self, profile: Profile) -> SegmentId {
        self.segments.push(profile);
        SegmentId(self.segments.len() - 1)
    }

    /// Adds a host.
    pub fn add_host(&mut self, attachments: &[Attachment]) -> HostId {
        let host = HostId(self.hosts.len());
        self.hosts.push(attachments.iter().map(|attachment| Interface::new(host, *attachment)).collect());
        host
    }

    /// The interfaces of a host without the loopback; the first has index 2.
    pub fn interfaces(&self, host: HostId) -> &[Interface] {
        self.hosts.get(host.0).map_or(&[], Vec::as_slice)
    }

    /// Gives every interface of a host new addresses; the old ones are gone.
    pub fn change_addresses(&mut self, host: HostId) {
        self.hosts.get_mut(host.0).into_iter().flatten().for_each(Interface::renumber);
    }

    /// Opens a socket on all addresses of a host. Each port belongs to one node.
    pub fn bind(&mut self, host: HostId, port: u16, node: NodeId) {
        self.sockets.insert((host, port), node);
    }

    /// Joins a multicast group (address and port) on all interfaces of a host; nodes share such a port.
    pub fn join(&mut self, host: HostId, group: SocketAddr, node: NodeId) {
        self.groups.insert((host, group, node));
    }

    /// Closes all sockets of a node.
    pub fn close(&mut self, node: NodeId) {
        self.sockets.retain(|_, owner| *owner != node);
        self.groups.retain(|(_, _, owner)| *owner != node);
    }

    /// Stops datagrams from one host to another, until mended as often as cut.
    pub fn cut(&mut self, from: HostId, to: HostId) {
        *self.cuts.entry((from, to)).or_default() += 1;
    }

    /// Takes one cut back.
    pub fn mend(&mut self, from: HostId, to: HostId) {
        if let Some(count) = self.cuts.get_mut(&(from, to)) {
            *count = count.saturating_sub(1);
        }
    }

    /// Ends every fault of the segments and every cut.
    pub fn calm(&mut self) {
        self.segments.iter_mut().for_each(|profile| *profile = profile.calmed());
        self.cuts.clear();
        self.links.values_mut().for_each(|link| link.burst_left = 0);
    }

    /// Sends `len` bytes of UDP payload from a port of a host along a path, and says where and when copies arrive.
    pub fn send(
        &mut self,
        now: Instant,
        host: HostId,
        port: u16,
        path: &Path,
        len: usize,
        coverage: &mut Coverage,
    ) -> Vec<Arrival> {
        // Scope ids of IPv6 say what the path's interface says.
        let to = SocketAddr::new(path.destination.ip(), path.destination.port());
        if to.is_ipv6() {
            coverage.hit(Situation::Ipv6);
        }
        let mut arrivals = Vec::new();
        if to.ip().is_multicast() {
            coverage.hit(Situation::Multicast);
            self.multicast(now, host, port, path, len, coverage, &mut arrivals);
        } else if to.ip().is_loopback() || self.owns(host, to.ip()) {
            let from = SocketAddr::new(path.local.unwrap_or(to.ip()), port);
            let own = path.local.is_none_or(|local| local.is_loopback() || self.owns(host, local));
            if let Some(node) = self.sockets.get(&(host, to.port())).filter(|_| own) {
                arrivals.push(Arrival { at: now.after(LOOPBACK_DELAY), node: *node, from, to });
            }
        } else if let Some((from, target, segment)) = self.route(host, port, path) {
            let copies = self.cross(now, host, target, segment, len as u32 + headers(&to), coverage);
            if let Some(node) = self.sockets.get(&(target, to.port())) {
                arrivals.extend(copies.into_iter().flatten().map(|at| Arrival { at, node: *node, from, to }));
            }
        }
        arrivals
    }

    /// Puts datagrams with a forged source on a segment; they cross it like those of `host`.
    pub fn send_forged(
        &mut self,
        now: Instant,
        host: HostId,
        from: SocketAddr,
        to: SocketAddr,
        len: usize,
        coverage: &mut Coverage,
    ) -> Vec<Arrival> {
        let path = Path::routed(to, Path::MAX_DATAGRAM);
        let mut arrivals = self.send(now, host, from.port(), &path, len, coverage);
        arrivals.iter_mut().for_each(|arrival| arrival.from = from);
        arrivals
    }

    /// True if an address is one of the host's.
    pub fn owns(&self, host: HostId, address: IpAddr) -> bool {
        self.interfaces(host).iter().any(|interface| interface.addresses().contains(&address))
    }

    /// Source address, target host and segment of a datagram that leaves the host.
    fn route(&self, host: HostId, port: u16, path: &Path) -> Option<(SocketAddr, HostId, SegmentId)> {
        let to = path.destination.ip();
        let (interface, target) =
            self.interfaces(host).iter().enumerate().find_map(|(index, interface)| {
                if path.interface != 0 && path.interface as usize != index + 2 {
                    return None;
                }
                let target = (0..self.hosts.len()).map(HostId).find(|target| {
                    self.interfaces(*target).iter().any(|other| {
                        other.segment() == interface.segment() && other.addresses().contains(&to)
                    })
                })?;
                Some((interface, target))
            })?;
        let local = interface.source(path.local, to.is_ipv4())?;
        Some((SocketAddr::new(local, port), target, interface.segment()))
    }

    #[expect(clippy::too_many_arguments, reason = "the datagram and where its copies go")]
    fn multicast(
        &mut self,
        now: Instant,
        host: HostId,
        port: u16,
        path: &Path,
        len: usize,
        coverage: &mut Coverage,
        arrivals: &mut Vec<Arrival>,
    ) {
        let to = SocketAddr::new(path.destination.ip(), path.destination.port());
        let packet = len as u32 + headers(&to);
        let loopback = path.interface == 1;
        let index = (path.interface as usize).saturating_sub(2);
        let (from, segment) = match self.interfaces(host).get(index).filter(|_| !loopback) {
            Some(interface) => match interface.source(path.local, to.is_ipv4()) {
                Some(local) => (SocketAddr::new(local, port), Some(interface.segment())),
                None => return,
            },
            None if loopback => (SocketAddr::new(addresses::loopback(to.is_ipv4()), port), None),
            None => return,
        };
        let members: Vec<(HostId, NodeId)> =
            self.groups.iter().filter(|(_, group, _)| *group == to).map(|(h, _, node)| (*h, *node)).collect();
        let mut copies: BTreeMap<HostId, [Option<Instant>; 2]> = BTreeMap::new();
        for (member, node) in members {
            let attached =
                |segment: SegmentId| self.interfaces(member).iter().any(|i| i.segment() == segment);
            let times = match (member == host, segment) {
                (true, _) => [Some(now.after(LOOPBACK_DELAY)), None],
                (false, Some(segment)) if attached(segment) => match copies.get(&member) {
                    Some(times) => *times,
                    None => {
                        let times = self.cross(now, host, member, segment, packet, coverage);
                        copies.insert(member, times);
                        times
                    }
                },
                (false, _) => continue,
            };
            arrivals.extend(times.into_iter().flatten().map(|at| Arrival { at, node, from, to }));
        }
    }

    /// Takes an IP packet over a segment: when its copies come out, if at all.
    fn cross(
        &mut self,
        now: Instant,
        from: HostId,
        to: HostId,
        segment: SegmentId,
        packet: u32,
        coverage: &mut Coverage,
    ) -> [Option<Instant>; 2] {
        let Some(profile) = self.segments.get(segment.0).copied() else { return [None; 2] };
        if self.cuts.get(&(from, to)).is_some_and(|count| *count > 0) {
            coverage.hit(Situation::Cut);
            return [None; 2];
        }
        if packet > profile.mtu && !profile.fragments {
            coverage.hit(Situation::TooLarge);
            return [None; 2];
        }
        let link = self.links.entry((from, to)).or_default();
        let random = &mut self.random;
        if link.burst_left == 0 && random.chance(profile.burst) {
            link.burst_left = random.within(1..=u64::from(profile.burst_length.max(1)) * 2);
        }
        if link.burst_left > 0 {
            link.burst_left -= 1;
            coverage.hit(Situation::LostInBurst);
            return [None; 2];
        }
        // Losing one of its fragments loses the datagram.
        if (0..packet.div_ceil(profile.mtu.max(1))).any(|_| random.chance(profile.loss)) {
            coverage.hit(Situation::Lost);
            return [None; 2];
        }
        let arrival = now.after(profile.delay).after(up_to(random, profile.jitter));
        let first = if random.chance(profile.reorder) {
            coverage.hit(Situation::Reordered);
            arrival.after(up_to(random, profile.reorder_delay))
        } else {
            link.last_arrival = arrival.max(link.last_arrival);
            link.last_arrival
        };
        let second = random.chance(profile.duplicate).then(|| {
            coverage.hit(Situation::Duplicated);
            first.after(up_to(random, profile.reorder_delay.max(profile.jitter)))
        });
        [Some(first), second]
    }
}

#[cfg(test)]
mod tests;
