//! What a domain of Linux routers consists of, as its operator says.
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};

use wan::{Asn, Class, Demand, LinkId, Place, Prefix};

use crate::demotion::excess;
use crate::policing::Policing;

/// Bytes that a tunnel puts before each packet: a header of IPv6 (RFC 8200) without extension headers.
pub const TUNNEL: u64 = 40;
/// Bytes that a packet occupies a link beyond itself: the header of Ethernet, preamble, check sequence and gap.
pub const AROUND: u64 = ETHERNET + 24;
/// Bytes of the header of Ethernet.
pub const ETHERNET: u64 = 14;
/// Bytes that the smallest frame occupies a link.
pub const LEAST_FRAME: u64 = 84;
/// The classes in the order in which ports serve them, the highest first.
pub const CLASSES: [Class; 5] = [Class::Control, Class::Ef, Class::Af4, Class::Af1, Class::BestEffort];
/// Shares are thousandths of the rate of a port.
pub const WHOLE: u32 = 1_000;

/// A domain.
#[derive(Clone, Debug)]
pub struct Domain {
    /// Its number.
    pub asn: Asn,
    /// Its routers. Others refer to them by their place here.
    pub routers: Vec<Router>,
    /// Links between its routers.
    pub links: Vec<CoreLink>,
    /// Where hosts are.
    pub edges: Vec<Edge>,
    /// Links to neighbours.
    pub borders: Vec<Border>,
    /// For EF, AF4, AF1 and control: how much of each port they may take at most. What has none is not carried.
    pub ceilings: BTreeMap<Class, Ceiling>,
    /// Nanoseconds that a router takes at most from the reception of a packet until it is in a queue.
    pub processing: u64,
    /// What its routers hold traffic to contracts by.
    pub policing: Policing,
    /// Where AF beyond its contract is marked down and not dropped.
    pub demoted: Demoted,
}

/// Where AF beyond its contract goes on as long as there is room, served with best effort: by [`Class`], EF is always dropped.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Demoted {
    /// Of flows that stay in the domain.
    pub inside: bool,
    /// Of flows to neighbours over these links, which take such packets.
    pub to: BTreeSet<LinkId>,
    /// Of what neighbours send over these.
    pub from: BTreeSet<LinkId>,
}

impl Demoted {
    /// Whether anything is.
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }

    /// Whether what exceeds a demand is: on its way over the next link too, if there is one.
    pub fn is(&self, demand: &Demand) -> bool {
        let may_leave = match demand.to {
            Place::Edges => true,
            Place::Border(link) => self.to.contains(&link),
        };
        let comes = match (demand.from, demand.to) {
            (Place::Border(link), _) => self.from.contains(&link),
            (Place::Edges, Place::Edges) => self.inside,
            (Place::Edges, Place::Border(_)) => true,
        };
        excess(demand.class).is_some() && may_leave && comes
    }
}

/// A router.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Router {
    /// Its name.
    pub name: String,
    /// The address that its tunnels come from.
    pub address: Ipv6Addr,
}

/// One end of a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// The router.
    pub router: usize,
    /// Its interface.
    pub interface: String,
    /// The address of the interface.
    pub address: Ipv6Addr,
}

/// A wire: it is the same in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wire {
    /// Bits per second.
    pub rate: u64,
    /// Nanoseconds that a bit is under way.
    pub propagation: u64,
    /// Bytes of the largest packet, tunnels included.
    pub mtu: u32,
    /// How many times the bytes at once of its ceiling a class may have on it: packets that have waited for a slow link come together on fast ones.
    pub bursts: u32,
}

/// A link between two routers of the domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CoreLink {
    /// Its ends.
    pub ends: [End; 2],
    /// What it is.
    pub wire: Wire,
    /// What is said besides if it is an access. Its `wire` has what is sent from the first end, and how long that takes at least.
    pub access: Option<Access>,
}

/// An access: between the ports of two routers there are devices of others, such as modems, satellites or a mobile network. Ports send at the rates
/// of the access, which are below what those devices carry; so what waits does so at the ports, and not where all classes are alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Bits per second from the second end to the first.
    pub back: u64,
    /// Nanoseconds by which a packet may take longer than the propagation of the wire.
    pub jitter: u64,
    /// Packets of a million that do not arrive, at most.
    pub loss: u32,
}

impl CoreLink {
    /// What a port of an end sends on.
    pub fn wire_from(&self, end: usize) -> Wire {
        let back = self.access.as_ref().filter(|_| end == 1);
        back.map_or(self.wire, |access| Wire { rate: access.back, ..self.wire })
    }

    /// Nanoseconds by which a packet may take longer than the propagation.
    pub fn jitter(&self) -> u64 {
        self.access.as_ref().map_or(0, |access| access.jitter)
    }

    /// Packets of a million that do not arrive, at most.
    pub fn loss(&self) -> u32 {
        self.access.as_ref().map_or(0, |access| access.loss)
    }
}

/// An interface with hosts behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The router.
    pub router: usize,
    /// Its interface.
    pub interface: String,
    /// The addresses of the interface, with the addresses of the hosts behind it.
    pub addresses: Vec<Prefix>,
    /// What the link is.
    pub wire: Wire,
}

impl Edge {
    /// Whether a host with this address is there.
    pub fn has(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|prefix| prefix.contains(address))
    }
}

/// A link to a neighbour.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Border {
    /// The link, as both domains call it.
    pub link: LinkId,
    /// The end of this domain.
    pub end: End,
    /// The address of the other end.
    pub neighbour: Ipv6Addr,
    /// The first 64 bits of the segments by which the neighbour sends here.
    pub locator: Ipv6Addr,
    /// The first 64 bits of the segments by which the neighbour is sent to.
    pub neighbour_locator: Ipv6Addr,
    /// What is reached by it without a session.
    pub beyond: Vec<Prefix>,
    /// What the link is.
    pub wire: Wire,
}

/// The most that a class may take of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ceiling {
    /// Thousandths of its rate.
    pub share: u32,
    /// Bytes on the wire at once.
    pub burst: u64,
}

/// The version of IP inside a tunnel: each has a segment of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// The segment of a label and a class: what a packet with them is sent to. All classes of a tunnel have one label.
pub fn segment(locator: Ipv6Addr, label: u32, class: Class, family: Family) -> Ipv6Addr {
    let last: u128 = match family {
        Family::V4 => 4,
        Family::V6 => 6,
    };
    let class = u128::from(crate::record::code(class)) << 16;
    Ipv6Addr::from_bits((locator.to_bits() >> 64 << 64) | (u128::from(label) << 32) | class | last)
}

/// A letter and a digit of `text` are enough for names of interfaces; anything else could be read as something else by programs.
fn is_plain(text: &str, longest: usize) -> bool {
    let plain = |at: char| at.is_ascii_alphanumeric() || matches!(at, '-' | '_' | '.');
    !text.is_empty()
        && text.len() <= longest
        && text.chars().all(plain)
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// The most times that a class may have the bytes at once of its ceiling on a wire.
pub const MOST_BURSTS: u32 = 1_000;

/// The longest that a packet may be under way, in nanoseconds, and that it may take longer on an access.
const LONGEST_WAY: u64 = 10_000_000_000;
/// All packets, in packets of a million.
pub const ALL: u32 = 1_000_000;

/// The longest name of an interface, so that a device for its policers can be named after it.
pub const LONGEST_INTERFACE: usize = 11;

impl Wire {
    /// Bits per second at which ports serve: `tc` counts whole bytes.
    pub const fn served(&self) -> u64 {
        self.rate / 8 * 8
    }

    fn check(&self, of: &str) -> Result<(), String> {
        if !(8_000..=100_000_000_000).contains(&self.rate) {
            return Err(format!(
                "{of}: a rate of {} bit/s; from 8 kbit/s to 100 Gbit/s is possible",
                self.rate
            ));
        }
        if !(576..=9_216).contains(&self.mtu) {
            return Err(format!("{of}: packets of {} bytes; from 576 to 9,216 is possible", self.mtu));
        }
        if !(1..=MOST_BURSTS).contains(&self.bursts) {
            return Err(format!(
                "{of}: {} times the bytes at once; from 1 to {MOST_BURSTS} is possible",
                self.bursts
            ));
        }
        if self.propagation > LONGEST_WAY {
            return Err(format!("{of}: {} ns on the way; 10 s is possible at most", self.propagation));
        }
        Ok(())
    }
}

impl Domain {
    /// Whether it makes sense.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn check(&self) -> Result<(), String> {
        if self.routers.is_empty() || self.routers.len() > 1_000 {
            return Err(format!(
                "AS {}: {} routers; from 1 to 1,000 are possible",
                self.asn.0,
                self.routers.len()
            ));
        }
        let mut names = BTreeSet::new();
        for router in &self.routers {
            if !is_plain(&router.name, 32) || !names.insert(&router.name) {
                return Err(format!("router \"{}\": no name, or one of two", router.name.escape_default()));
            }
        }
        let mut interfaces = BTreeSet::new();
        let mut take = |router: usize, interface: &str| {
            if router >= self.routers.len() {
                return Err(format!("interface {}: there is no router {router}", interface.escape_default()));
            }
            if !is_plain(interface, LONGEST_INTERFACE) || !interfaces.insert((router, interface.to_owned())) {
                let name = interface.escape_default();
                return Err(format!(
                    "interface \"{name}\": longer than {LONGEST_INTERFACE}, no name, or one of two"
                ));
            }
            Ok(())
        };
        for link in &self.links {
            for end in &link.ends {
                take(end.router, &end.interface)?;
            }
            for (sends, end) in link.ends.iter().enumerate() {
                link.wire_from(sends).check(&end.interface)?;
            }
            if link.jitter() > LONGEST_WAY || link.loss() >= ALL {
                return Err(format!(
                    "{}: {} ns of jitter, and {} of a million packets lost; 10 s and less than all are possible",
                    link.ends[0].interface,
                    link.jitter(),
                    link.loss()
                ));
            }
        }
        for edge in &self.edges {
            take(edge.router, &edge.interface)?;
            edge.wire.check(&edge.interface)?;
        }
        let mut links = BTreeSet::new();
        for border in &self.borders {
            take(border.end.router, &border.end.interface)?;
            border.wire.check(&border.end.interface)?;
            if !links.insert(border.link) {
                return Err(format!("link {} is there twice", border.link.0));
            }
        }
        self.check_ceilings()
    }

    fn check_ceilings(&self) -> Result<(), String> {
        let mut sum = 0_u32;
        for (class, ceiling) in &self.ceilings {
            if *class == Class::BestEffort {
                return Err("best effort has no ceiling: it gets what is left".to_owned());
            }
            if ceiling.share == 0 || ceiling.burst > 1 << 40 {
                return Err(format!("{class:?}: a share of {} and {} bytes", ceiling.share, ceiling.burst));
            }
            sum = sum.saturating_add(ceiling.share);
        }
        if sum >= WHOLE {
            return Err(format!(
                "classes may take {sum} thousandths of a port: less than {WHOLE} is possible"
            ));
        }
        Ok(())
    }

    /// Whether a link of it is an access, of which no more is known than what its operator says.
    pub fn has_access(&self) -> bool {
        self.links.iter().any(|link| link.access.is_some())
    }

    /// The border link with this number.
    pub fn border(&self, link: LinkId) -> Option<&Border> {
        self.borders.iter().find(|border| border.link == link)
    }
}
