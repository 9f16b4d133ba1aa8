//! What goes from one host to another: which parts it has, and why it cannot be promised anything.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;
use wire::admission::Address;

use latency::framing::Ip;
use latency::network::Port;
use wire::admission::Contract;

use super::aggregate::{Aggregate, CONTROL, Part};
use super::pattern::fits;
use super::{Described, Endpoint, Importance, Limit, Separation, Topic};
use crate::requests::dotted;

/// Pairs of writers and readers that are looked at; beyond it nothing is promised to any.
pub(super) const MOST_PAIRS: usize = 65_536;

/// A writer and a reader that take part in the same topic, and where a sample may go between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match<'e> {
    pub(super) writer: &'e Endpoint,
    pub(super) reader: &'e Endpoint,
}

impl Match<'_> {
    /// The versions of IP of which both participants have addresses.
    fn versions(&self) -> Vec<Ip> {
        let has = |endpoint: &Endpoint, ip| endpoint.addresses.iter().any(|at| ip_of(*at) == ip);
        let both = |ip: &Ip| has(self.writer, *ip) && has(self.reader, *ip);
        [Ip::V4, Ip::V6].into_iter().filter(both).collect()
    }
}

/// The version of IP of an address.
pub(super) const fn ip_of(address: Address) -> Ip {
    if address.is_ipv4() { Ip::V4 } else { Ip::V6 }
}

/// Whether an address is valid on a single link alone. No network file has such addresses, and none is bound to a port.
pub(super) const fn is_link_local(address: Address) -> bool {
    matches!(address.ip(), IpAddr::V6(six) if six.is_unicast_link_local())
}

/// From which address to which.
pub(super) type Ends = (Address, Address);

/// All matches by their ends. A match whose participants have several addresses is at each of them, since it is not known which one it takes. A match without a
/// version of IP in common is between addresses of different versions, where nothing can go.
pub(super) type Matches<'e> = BTreeMap<Ends, Vec<Match<'e>>>;

/// The matches of endpoints by topic and type, and whether these are all: no more are looked at than may be. Their QoS is not compared; what does not
/// match takes room and does no harm.
pub(super) fn matches(endpoints: &[Endpoint]) -> (Matches<'_>, bool) {
    let mut topics: BTreeMap<(&str, &str), [Vec<&Endpoint>; 2]> = BTreeMap::new();
    for endpoint in endpoints {
        let [writers, readers] = topics.entry((&endpoint.topic, &endpoint.kind)).or_default();
        if endpoint.is_writer { writers } else { readers }.push(endpoint);
    }
    let mut count = 0;
    let mut matches = Matches::new();
    for [writers, readers] in topics.into_values() {
        for writer in &writers {
            for reader in &readers {
                let found = Match { writer, reader };
                let none = found.versions().is_empty();
                for from in &writer.addresses {
                    let comes = |to: &&Address| *to != from && (none || to.is_ipv4() == from.is_ipv4());
                    for to in reader.addresses.iter().filter(comes) {
                        count += 1;
                        if count > MOST_PAIRS {
                            return (matches, false);
                        }
                        matches.entry((*from, *to)).or_default().push(found);
                    }
                }
            }
        }
    }
    (matches, true)
}

/// The names of two hosts, and the addresses by which they are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'n> {
    pub(super) from: &'n str,
    pub(super) to: &'n str,
    pub(super) ends: Ends,
}

impl Names<'_> {
    const fn turned(self) -> Self {
        Self { from: self.to, to: self.from, ends: (self.ends.1, self.ends.0) }
    }
}

impl Described {
    /// What is described of a match between two hosts. A link-local address may be that of any host.
    pub(super) fn of(&self, found: Match<'_>, names: Names<'_>) -> Option<&Topic> {
        let is = |hosts: &[String], name: &str, at: Address| {
            hosts.is_empty() || is_link_local(at) || hosts.iter().any(|host| host == name)
        };
        let (from, to) = names.ends;
        let suits = |topic: &&Topic| {
            fits(&topic.name, &found.writer.topic)
                && is(&topic.from, names.from, from)
                && is(&topic.to, names.to, to)
        };
        self.topics.iter().find(suits)
    }

    /// What all that goes one way by a version of IP comes to, where these matches go that way and those back.
    ///
    /// # Errors
    /// Why it cannot be said.
    pub(super) fn aggregate(
        &self,
        forth: &[Match<'_>],
        back: &[Match<'_>],
        names: Names<'_>,
        port: &Port,
    ) -> Result<(Aggregate, Contract), String> {
        let range = || String::from("the numbers of its topics are out of range");
        let ip = ip_of(names.ends.0);
        let mut parts = Vec::new();
        let is_reliable = |found: &Match<'_>| found.writer.is_reliable && found.reader.is_reliable;
        let mut importance = 0;
        for found in forth {
            let topic = self.of(*found, names).ok_or_else(|| {
                let name = &found.writer.topic;
                format!(
                    "topic \"{name}\" goes from {} to {} by the same way and is not described: describe it, too",
                    names.from, names.to
                )
            })?;
            let often = often(topic, found.writer)?;
            let late = (topic.jitter, topic.emission);
            let sizes = (topic.largest, topic.fragment);
            parts.push(Part::samples(ip, sizes, often, late).ok_or_else(range)?);
            if is_reliable(found) {
                parts.push(Part::of(ip, CONTROL, often, late).ok_or_else(range)?);
                parts.push(Part::of(ip, CONTROL, (self.overhead.heartbeat, 1), late).ok_or_else(range)?);
                if topic.repairs > 0 {
                    let each = 1_000_000_000 / u64::from(topic.repairs);
                    let burst = topic.repairs;
                    parts.push(Part::samples(ip, sizes, (each.max(1), burst), late).ok_or_else(range)?);
                }
            }
            if topic.latency.is_some() {
                importance = importance.max(importance_of(topic, found.writer));
            }
        }
        // What acknowledges samples that come the other way: as many as there are HEARTBEATs.
        for found in back.iter().filter(|found| is_reliable(found)) {
            let topic = self.of(*found, names.turned()).ok_or_else(|| {
                let name = &found.writer.topic;
                format!(
                    "topic \"{name}\" from {} to {} is acknowledged by the same way and is not described: describe it, too",
                    names.to, names.from
                )
            })?;
            let often = often(topic, found.writer)?;
            let late = (topic.jitter, topic.emission);
            parts.push(Part::of(ip, CONTROL, often, late).ok_or_else(range)?);
            parts.push(Part::of(ip, CONTROL, (self.overhead.heartbeat, 1), late).ok_or_else(range)?);
        }
        if self.overhead.burst > 0 {
            let often = (self.overhead.separation, self.overhead.burst);
            parts.push(Part::full(ip, often, (0, 0)).ok_or_else(range)?);
        }
        let (aggregate, contract) = Aggregate::of(&parts, port).ok_or_else(range)?;
        Ok((aggregate, Contract { importance, ..contract }))
    }
}

/// Separation and burst of a writer's samples.
fn often(topic: &Topic, writer: &Endpoint) -> Result<(u64, u32), String> {
    let separation = match topic.separation {
        Separation::Fixed(separation) => separation,
        Separation::Deadline if writer.deadline > 0 => writer.deadline,
        Separation::Deadline => {
            return Err(format!(
                "the separation of \"{}\" is to be its DEADLINE, and a writer of it has none: give a separation",
                writer.topic
            ));
        }
    };
    Ok((separation, topic.burst))
}

fn importance_of(topic: &Topic, writer: &Endpoint) -> u8 {
    match topic.importance {
        Importance::Fixed(importance) => importance,
        Importance::Priority => u8::try_from(writer.transport_priority.clamp(0, 255)).unwrap_or(u8::MAX),
    }
}

/// The latency that is asked for a match; `None` if none is.
///
/// # Errors
/// It cannot be said which.
pub(super) fn limit_of(topic: &Topic, found: Match<'_>) -> Result<Option<u64>, String> {
    match topic.latency {
        None => Ok(None),
        Some(Limit::Fixed(limit)) => Ok(Some(limit)),
        Some(Limit::Budget) if found.reader.latency_budget > 0 => Ok(Some(found.reader.latency_budget)),
        Some(Limit::Budget) => {
            Err("its latency is to be the reader's LATENCY_BUDGET, which is 0: give a latency, or let the reader request one".into())
        }
    }
}

/// Why it cannot be said which way the samples of a match go, if it cannot. If the participants have one version of IP in common, that one carries the samples.
pub(super) fn ambiguous(found: Match<'_>) -> Option<String> {
    let versions = found.versions();
    let [ip] = *versions else {
        return Some(match versions.is_empty() {
            true => "the participants of writer and reader announce addresses of different versions of IP, and no sample can go between them: let both use the \
                     same version"
                .into(),
            false => "the participants of writer and reader announce IPv4 and IPv6 both, and it is not known which of them carries the samples: let one of the \
                      participants use one version alone"
                .into(),
        });
    };
    let list = |addresses: &[Address]| {
        let addresses: BTreeSet<String> = addresses.iter().take(4).map(|address| dotted(*address)).collect();
        addresses.into_iter().collect::<Vec<_>>().join(", ")
    };
    for (what, endpoint) in [("writer", found.writer), ("reader", found.reader)] {
        let addresses: Vec<Address> =
            endpoint.addresses.iter().copied().filter(|at| ip_of(*at) == ip).collect();
        if let Some(local) = addresses.iter().find(|at| is_link_local(**at)) {
            return Some(format!(
                "the {what}'s participant announces the link-local address {local}, which does not say what host it is: give the host another address of IPv6, \
                 such as one of fd00::/8, and tell the participant to use that one alone"
            ));
        }
        if addresses.len() != 1 {
            return Some(format!(
                "the {what}'s participant has {} addresses ({}), and it must be one: tell it which interface to use",
                addresses.len(),
                list(&addresses)
            ));
        }
    }
    found.reader.groups.iter().any(|group| ip_of(*group) == ip).then(|| {
        "the reader announces a group for samples, and it is not known whether the writer sends there: let its participant use multicast for \
         discovery alone (Cyclone DDS: AllowMulticast spdp)"
            .into()
    })
}
