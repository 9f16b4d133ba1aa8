//! A LAN as the inside of a domain, as its file describes it.
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;

use diagnostics::Problem;
use serde::Deserialize;
use toml::Spanned;
use wan::{Config, LinkId};

use super::check::{Checker, by_class};
use super::quantities::{Addresses, Bytes, Rate, Time};
use crate::lan::{BorderStation, EdgeStation, LanPlan, Service};

/// Most hosts and border links: from each router each host has a tunnel in each class.
const MOST_EDGES: usize = 32;
const MOST_BORDERS: usize = 8;
/// Tunnels that an owner may have in a LAN, less what is left for flows of hosts.
const MOST_TUNNELS: usize = 120;
/// Characters of the name of a station.
const LONGEST_NAME: usize = 64;
/// Bytes of packets of UDP over IPv4.
const SMALLEST: u64 = 28;
const LARGEST: u64 = 1_500;
/// Unless the file says otherwise, in bytes and nanoseconds.
const LEAST_PACKET: u64 = 100;
const PROCESSING: u64 = 200_000;
const JITTER: u64 = 1_000_000;
/// The shortest lifetime, in nanoseconds: the manager of the LAN is asked each second.
const SHORTEST: u64 = 4_000_000_000;

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LanTable {
    manager: Spanned<String>,
    #[serde(default)]
    keys: Option<PathBuf>,
    #[serde(default)]
    lifetime: Option<Time>,
    #[serde(default)]
    importance: u8,
    #[serde(default)]
    jitter: Option<Time>,
    #[serde(default)]
    ef: Option<Spanned<ServiceTable>>,
    #[serde(default)]
    af4: Option<Spanned<ServiceTable>>,
    #[serde(default)]
    af1: Option<Spanned<ServiceTable>>,
    #[serde(default, rename = "border")]
    borders: Vec<Spanned<BorderTable>>,
    #[serde(rename = "edge")]
    edges: Vec<Spanned<EdgeTable>>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ServiceTable {
    rate: Rate,
    burst: Bytes,
    limit: Time,
    #[serde(default)]
    least_packet: Option<Bytes>,
    #[serde(default)]
    packet: Option<Bytes>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BorderTable {
    link: u32,
    station: Spanned<String>,
    #[serde(default)]
    processing: Option<Time>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct EdgeTable {
    station: Spanned<String>,
    addresses: Vec<Addresses>,
}

impl Checker<'_> {
    /// The LAN.
    pub(super) fn lan(&self, table: &Spanned<LanTable>, config: &Config) -> Result<LanPlan, Problem> {
        let (at, table) = (table.span().start, table.get_ref());
        let manager = self.lan_manager(table)?;
        let lifetime = table.lifetime.map_or(config.limits.lifetime, |time| time.0).max(1);
        if lifetime < SHORTEST {
            return self.wrong(
                at,
                "the lifetime is shorter than 4 s",
                "the manager of the LAN is asked each second",
            );
        }
        let services = by_class(table.ef.as_ref(), table.af4.as_ref(), table.af1.as_ref());
        let services = services
            .map(|(class, service)| Ok((class, self.service(service)?)))
            .collect::<Result<std::collections::BTreeMap<_, _>, Problem>>()?;
        if services.is_empty() {
            let remedy = "add `ef = { rate = \"5 Mbit/s\", burst = \"6 kB\", limit = \"3 ms\" }`";
            return self.wrong(at, "[lan] carries no class", remedy);
        }
        let agreed: BTreeSet<LinkId> = config.agreements.iter().map(|agreement| agreement.link).collect();
        let mut borders: Vec<BorderStation> = Vec::new();
        for border in &table.borders {
            let (at, border) = (border.span().start, border.get_ref());
            let link = LinkId(border.link);
            if !agreed.contains(&link) {
                let what = format!("no [[agreement]] is about link {}", border.link);
                return self.wrong(at, what, "add one, or correct `link`");
            }
            if borders.iter().any(|other| other.link == link) {
                return self.wrong(at, format!("link {} is there twice", border.link), "remove one of them");
            }
            let (station, processing) = (self.station(&border.station)?, border.processing);
            let processing = processing.map_or(PROCESSING, |time| time.0);
            borders.push(BorderStation { link, station, processing });
        }
        if let Some(link) = agreed.iter().find(|link| !borders.iter().any(|border| border.link == **link)) {
            let what = format!("border link {} has no router in [lan]", link.0);
            return self.wrong(at, what, "add a [[lan.border]] with its `link` and `station`");
        }
        let mut edges: Vec<EdgeStation> = Vec::new();
        for edge in &table.edges {
            let (place, edge) = (edge.span().start, edge.get_ref());
            let station = self.station(&edge.station)?;
            let is_there = edges.iter().any(|other| other.station == station)
                || borders.iter().any(|border| border.station == station);
            if is_there {
                let what = format!("the station \"{station}\" is there twice");
                return self.wrong(edge.station.span().start, what, "give each host one [[lan.edge]]");
            }
            let addresses: Vec<_> = edge.addresses.iter().map(|range| range.0).collect();
            let is_strange =
                |of: &wan::Prefix| !of.address.is_ipv4() || config.owner(of.address) != Some(self.own());
            if addresses.is_empty() || addresses.iter().any(is_strange) {
                let what = "an edge has no address of IPv4, or one that is not of this domain";
                return self.wrong(place, what, "its [[domain]] says which `prefixes` it has");
            }
            edges.push(EdgeStation { station, addresses });
        }
        if edges.is_empty() || edges.len() > MOST_EDGES || borders.len() > MOST_BORDERS {
            let what = format!("[lan] has 1 to {MOST_EDGES} hosts, and up to {MOST_BORDERS} border links");
            return self.wrong(at, what, "divide the domain");
        }
        let routers: BTreeSet<&str> = borders.iter().map(|border| &*border.station).collect();
        let ways = routers.len().saturating_mul(edges.len().saturating_add(routers.len()));
        if ways.saturating_mul(services.len()) > MOST_TUNNELS {
            let what = format!("routers, hosts and classes need more than {MOST_TUNNELS} tunnels");
            return self.wrong(at, what, "name the hosts alone that take part in sessions");
        }
        Ok(LanPlan {
            owner: config.asn.0,
            manager,
            keys: table.keys.clone(),
            lifetime,
            importance: table.importance,
            jitter: table.jitter.map_or(JITTER, |time| time.0),
            services,
            borders,
            edges,
        })
    }

    fn lan_manager(&self, table: &LanTable) -> Result<SocketAddr, Problem> {
        let (at, text) = (table.manager.span().start, table.manager.get_ref());
        let Ok(manager) = text.parse::<SocketAddr>() else {
            let what = format!("\"{}\" is no address with a port", text.escape_default());
            return self.wrong(at, what, "write the address of its --web: \"127.0.0.1:8080\"");
        };
        if table.keys.is_none() && !manager.ip().is_loopback() {
            let what = "a manager on another host is asked by TLS alone";
            return self.wrong(at, what, "add `keys`, the folder with the key of an operator");
        }
        Ok(manager)
    }

    fn service(&self, table: &Spanned<ServiceTable>) -> Result<Service, Problem> {
        let (at, table) = (table.span().start, table.get_ref());
        let least = table.least_packet.map_or(LEAST_PACKET, |bytes| bytes.0);
        let largest = table.packet.map_or(LARGEST, |bytes| bytes.0);
        let sizes = SMALLEST..=LARGEST;
        if !sizes.contains(&least) || !sizes.contains(&largest) || least > largest {
            let what =
                format!("packets have {SMALLEST} to {LARGEST} bytes, the least no more than the largest");
            return self.wrong(at, what, "correct `least-packet` and `packet`");
        }
        if table.rate.0 == 0 || table.limit.0 == 0 || table.burst.0 < largest {
            let what = "a class has no rate, no limit, or a burst with no room for its largest packet";
            return self.wrong(at, what, "correct `rate`, `limit`, `burst` or `packet`");
        }
        let size = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        Ok(Service {
            rate: table.rate.0,
            burst: table.burst.0,
            least_packet: size(least),
            largest_packet: size(largest),
            limit: table.limit.0,
        })
    }

    fn station(&self, name: &Spanned<String>) -> Result<String, Problem> {
        let text = name.get_ref();
        if text.is_empty() || text.chars().count() > LONGEST_NAME || text.chars().any(char::is_control) {
            let what = "this is no name of a host of the LAN";
            return self.wrong(name.span().start, what, "`punctual grm status` lists the hosts");
        }
        Ok(text.clone())
    }
}
