//! Hosts of a file: the queues of their ports, and what they send besides their flows.
use std::collections::BTreeSet;
use std::net::IpAddr;

use diagnostics::{Problem, Source};
use latency::network::Imperfections;
use latency::port::Control;
use latency::switch::Interface;
use toml::Spanned;

use crate::description::{Host, HostVlan, Other};
use crate::document::{self, Document, Pause};
use crate::network::Network;

/// Queues of a host's port if a file does not say: cards send in the order in which they are given frames.
const QUEUES: u8 = 1;
/// The largest id of a VLAN (IEEE 802.1Q).
const MOST_VLAN: u16 = 4_094;
/// What a host with one queue sends besides its flows, if a file does not say: so many full frames at once, and of the rate of its link
/// one part of so many.
const OTHER_FRAMES: u32 = 10;
const OTHER_PART: u64 = 10;
/// What a card takes from several queues before it has sent the frame on the wire, if a file does not say: at least so many full frames, and
/// what the link carries in so many microseconds, which it takes until more is handed to a card that has sent. `punctual host` lets it
/// take no more.
const RING_FRAMES: u32 = 3;
const RING_MICROSECONDS: u64 = 100;

/// Bytes of frames, beside the one on the wire, that the card of a host with several queues takes from them if a network file does not say,
/// on a link of `rate` bits per second that carries frames of so many bytes.
pub fn default_ring(rate: u64, largest_frame: u32) -> u32 {
    let meanwhile = rate / 8 / (1_000_000 / RING_MICROSECONDS);
    u32::try_from(meanwhile).unwrap_or(u32::MAX).max(largest_frame.saturating_mul(RING_FRAMES))
}

impl Network {
    pub(crate) fn add_host(
        &mut self,
        source: Source<'_>,
        document: &Document,
        host: &document::Host,
        taken: &mut BTreeSet<IpAddr>,
    ) -> Result<(), Problem> {
        let addresses = addresses(source, host.address.as_ref(), taken)?;
        let vlans = vlans(source, host, taken)?;
        let mac = host.mac.as_ref().map(|said| self.mac(source, said)).transpose()?;
        let place = host.name.span().start;
        if host.manager && self.hosts.iter().any(|other| other.manager) {
            return Err(source.problem(place, "two hosts have manager = true", "switches have one manager"));
        }
        let own = &host.sending();
        let defaults = document.host_defaults.clone().unwrap_or_default();
        let queues = own.queues.or(defaults.queues).unwrap_or(QUEUES);
        let best_effort = own.best_effort.or(defaults.best_effort).unwrap_or(document.best_effort);
        let taken = u8::from(best_effort && queues > 1);
        if queues <= taken {
            let what = "the host has no queue for assured flows";
            return Err(source.problem(place, what, "more queues, or best-effort = false"));
        }
        let other = own.other.as_ref().or(defaults.other.as_ref());
        let other = (best_effort && queues == 1).then(|| Other {
            burst: other.map(|other| other.burst),
            rate: other.map(|other| other.rate.0),
            limited: other.is_some_and(|other| other.limited),
        });
        let interface = interface(
            own.pause.or(defaults.pause),
            own.energy_efficient.or(if own.wake.is_some() { None } else { defaults.energy_efficient }),
            own.wake.or(if own.energy_efficient.is_some() { None } else { defaults.wake }),
        );
        self.hosts.push(Host {
            name: host.name.get_ref().clone(),
            addresses,
            mac,
            manager: host.manager,
            queues,
            best_effort: best_effort && queues > 1,
            other,
            ring: own.ring.or(defaults.ring),
            interface: interface.map_err(|what| {
                source.problem(place, what, "write the time to wake, or energy-efficient = false")
            })?,
            vlans,
        });
        Ok(())
    }
}

/// The addresses of a host that no host before it has taken.
fn addresses(
    source: Source<'_>,
    said: Option<&Spanned<document::Addresses>>,
    taken: &mut BTreeSet<IpAddr>,
) -> Result<Vec<IpAddr>, Problem> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    let place = said.map_or(0, |said| said.span().start);
    let wrong = |what: String, help: &'static str| Err(source.problem(place, what, help));
    for address in said.iter().flat_map(|said| said.get_ref().list()).copied() {
        let version = if address.is_ipv4() { "IPv4" } else { "IPv6" };
        let local = matches!(address, IpAddr::V6(six) if six.is_unicast_link_local());
        let mapped = address.to_canonical() != address;
        if address.is_unspecified() || address.is_multicast() || address.is_loopback() || mapped {
            return wrong(format!("no host has the address {address}"), "write that of the host's interface");
        }
        if local {
            let what = format!("{address} is an address of one link alone");
            return wrong(what, "write a unique local address (fd00::/8) or a global one");
        }
        if addresses.iter().any(|other| other.is_ipv4() == address.is_ipv4()) {
            let what = format!("the host has two {version} addresses");
            return wrong(what, "give a host one of IPv4 and one of IPv6 at most");
        }
        if !taken.insert(address) {
            let what = format!("two hosts have the address {address}");
            return wrong(what, "give each host an address of its own");
        }
        addresses.push(address);
    }
    Ok(addresses)
}

/// The VLANs of a host.
fn vlans(
    source: Source<'_>,
    host: &document::Host,
    taken: &mut BTreeSet<IpAddr>,
) -> Result<Vec<HostVlan>, Problem> {
    let mut vlans: Vec<HostVlan> = Vec::new();
    for vlan in &host.vlans {
        let (id, place) = (*vlan.id.get_ref(), vlan.id.span().start);
        vlan_id(source, &vlan.id)?;
        if vlans.iter().any(|other| other.id == id) {
            let what = format!("the host is in VLAN {id} twice");
            return Err(source.problem(place, what, "write each VLAN of a host once"));
        }
        if host.mac.is_none() {
            let what = format!("the host is in VLAN {id}, and its MAC address is not said");
            let remedy = "write mac = \"...\": switches take tagged frames from that address only, and lead them to it";
            return Err(source.problem(place, what, remedy));
        }
        let addresses = addresses(source, Some(&vlan.address), taken)?;
        if addresses.is_empty() {
            let what = format!("the host has no address in VLAN {id}");
            let remedy = "write that of its VLAN interface: it says which flows are tagged";
            return Err(source.problem(vlan.address.span().start, what, remedy));
        }
        vlans.push(HostVlan { id, addresses });
    }
    Ok(vlans)
}

/// Refuses what is no id of a VLAN: 0 is that of a tag for the priority alone, 4,095 is reserved (IEEE 802.1Q, 9.6).
pub(crate) fn vlan_id(source: Source<'_>, id: &Spanned<u16>) -> Result<(), Problem> {
    if (1..=MOST_VLAN).contains(id.get_ref()) {
        return Ok(());
    }
    let what = format!("there is no VLAN {}", id.get_ref());
    Err(source.problem(id.span().start, what, format!("ids of VLANs are 1 to {MOST_VLAN}")))
}

impl Network {
    /// The MAC address of one host, as it is written.
    fn mac(&self, source: Source<'_>, said: &Spanned<String>) -> Result<[u8; 6], Problem> {
        let wrong = |what: String, help: &'static str| source.problem(said.span().start, what, help);
        let text = said.get_ref();
        let byte = |pair: &str| {
            let digits = pair.len() == 2 && pair.bytes().all(|digit| digit.is_ascii_hexdigit());
            digits.then(|| u8::from_str_radix(pair, 16).ok()).flatten()
        };
        let bytes: Option<Vec<u8>> = text.split([':', '-']).map(byte).collect();
        let bytes: Option<[u8; 6]> = bytes.and_then(|bytes| bytes.try_into().ok());
        let Some(mac) = bytes else {
            return Err(wrong(format!("{text:?} is no MAC address"), "write it like \"52:54:00:12:34:56\""));
        };
        if mac[0] & 1 == 1 || mac == [0; 6] {
            return Err(wrong(
                format!("no host has the MAC address {text}"),
                "write that of the host's interface",
            ));
        }
        if self.hosts.iter().any(|other| other.mac == Some(mac)) {
            return Err(wrong(format!("two hosts have the MAC address {text}"), "give each host its own"));
        }
        Ok(mac)
    }
}

/// What a file says of an interface.
///
/// # Errors
/// It has a time to wake, and no Energy-Efficient Ethernet.
pub(crate) fn interface(
    pause: Option<Pause>,
    energy_efficient: Option<bool>,
    wake: Option<crate::quantity::Time>,
) -> Result<Interface, &'static str> {
    let wake = match (energy_efficient, wake) {
        (Some(false), Some(_)) => return Err("a link that does not sleep has a time to wake"),
        (Some(false), None) => Some(0),
        (Some(true) | None, wake) => wake.map(|time| time.0),
    };
    Ok(Interface { pause: pause.map(|pause| pause == Pause::On), wake })
}

impl Host {
    /// Its addresses in a VLAN, none if it is not in it; without one those of untagged frames.
    pub fn addresses_in(&self, vlan: Option<u16>) -> &[IpAddr] {
        match vlan {
            None => &self.addresses,
            Some(id) => self.vlans.iter().find(|vlan| vlan.id == id).map_or(&[], |vlan| &vlan.addresses),
        }
    }

    /// What its port has that an ideal one has not, on a link of `rate` bits per second that carries frames of so many bytes. Nothing is
    /// said of the link itself.
    pub(crate) fn imperfections(&self, rate: u64, largest_frame: u32) -> Imperfections {
        let beside = self.other.as_ref().map(|other| Control {
            burst: u64::from(other.burst.unwrap_or(largest_frame.saturating_mul(OTHER_FRAMES))) * 8,
            rate: other.rate.unwrap_or((rate / OTHER_PART).max(1)),
        });
        // Of one queue it is of no matter what the card has taken already.
        let ring = if self.queues > 1 { self.ring.unwrap_or(default_ring(rate, largest_frame)) } else { 0 };
        Imperfections { beside, ring, ..Imperfections::default() }
    }
}
