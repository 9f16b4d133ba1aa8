//! Hosts of a file: the queues of their ports, and what they send besides their flows.
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use latency::network::Imperfections;
use latency::port::Control;
use latency::switch::Interface;
use toml::Spanned;

use crate::description::{Host, Other};
use crate::document::{self, Document, Pause};
use crate::network::Network;
use crate::problem::{Problem, Source};

/// Queues of a host's port if a file does not say: cards send in the order in which they are given frames.
const QUEUES: u8 = 1;
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
        addresses: &mut BTreeSet<Ipv4Addr>,
    ) -> Result<(), Problem> {
        let address = host.address.as_ref().map(|address| *address.get_ref());
        if let (Some(place), Some(taken)) = (&host.address, address)
            && !addresses.insert(taken)
        {
            let what = format!("two hosts have the address {taken}");
            return Err(source.problem(place.span().start, what, "give each host an address of its own"));
        }
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
            address,
            mac,
            manager: host.manager,
            queues,
            best_effort: best_effort && queues > 1,
            other,
            ring: own.ring.or(defaults.ring),
            interface: interface.map_err(|what| {
                source.problem(place, what, "write the time to wake, or energy-efficient = false")
            })?,
        });
        Ok(())
    }
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
