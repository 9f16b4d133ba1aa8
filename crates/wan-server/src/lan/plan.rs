//! A LAN as a part of a domain: its stations, what it carries in each class, and the tunnels that sessions need in it.
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use wan::{Addresses, Class, Demand, FlowRequest, LinkId, Place, Prefix};

use super::words::{Packets, Wish};

/// Bytes of the smallest packet of UDP.
const SMALLEST: u32 = 28;
/// The protocol number of UDP.
const UDP: u8 = 17;

/// What a LAN carries in a class, on each way by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Service {
    /// Bits per second of packets of IP.
    pub rate: u64,
    /// Bytes at once.
    pub burst: u64,
    /// Bytes of the smallest packet.
    pub least_packet: u32,
    /// Bytes of the largest packet.
    pub largest_packet: u32,
    /// Nanoseconds from the port of one station to another station, at most.
    pub limit: u64,
}

/// The router of a border link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BorderStation {
    /// The link.
    pub link: LinkId,
    /// The router, by its name as a host of the LAN.
    pub station: String,
    /// Nanoseconds that it takes at most between link and LAN.
    pub processing: u64,
}

/// A host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeStation {
    /// Its name as a host of the LAN.
    pub station: String,
    /// Its addresses.
    pub addresses: Vec<Prefix>,
}

/// A LAN as a part of a domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LanPlan {
    /// The domain, which owns the tunnels.
    pub owner: u32,
    /// Where the manager of the LAN is.
    pub manager: SocketAddr,
    /// The folder with the key of an operator, if the manager has keys.
    pub keys: Option<PathBuf>,
    /// Nanoseconds that tunnels outlast the manager of the domain.
    pub lifetime: u64,
    /// Which flows of the LAN yield: those with smaller numbers.
    pub importance: u8,
    /// How much later than it should a host hands a packet to its port, in nanoseconds.
    pub jitter: u64,
    /// What it carries.
    pub services: BTreeMap<Class, Service>,
    /// Routers of border links, each link once.
    pub borders: Vec<BorderStation>,
    /// Hosts.
    pub edges: Vec<EdgeStation>,
}

/// The end of a way: all hosts, or a router by its place among the different ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Side {
    Edges,
    Router(usize),
}

/// A way through the LAN in a class: what goes there is counted together.
pub(super) type Way = (Side, Side, Class);

impl LanPlan {
    /// The way of a demand, and what is counted for it; or why the LAN cannot carry it.
    pub(super) fn way(&self, demand: &Demand) -> Result<(Way, &Service), String> {
        let side = |place: Place| -> Result<Side, String> {
            match place {
                Place::Edges => Ok(Side::Edges),
                Place::Border(link) => {
                    let at = self.borders.iter().find(|border| border.link == link);
                    let at = at.ok_or_else(|| format!("border link {} is not in [lan]", link.0))?;
                    let first = self.borders.iter().position(|border| border.station == at.station);
                    Ok(Side::Router(first.unwrap_or(0)))
                }
            }
        };
        let service = self.services.get(&demand.class).ok_or("[lan] carries no such class")?;
        if demand.least_packet < service.least_packet || demand.largest_packet > service.largest_packet {
            return Err(format!(
                "[lan] carries packets of {} to {} bytes in this class",
                service.least_packet, service.largest_packet
            ));
        }
        Ok(((side(demand.from)?, side(demand.to)?, demand.class), service))
    }

    /// Nanoseconds from one place to another at most.
    pub(super) fn delay(&self, demand: &Demand, service: &Service) -> u64 {
        let processing = |place: Place| match place {
            Place::Edges => 0,
            Place::Border(link) => self.processing(|border| border.link == link),
        };
        let [from, to] = [demand.from, demand.to].map(processing);
        service.limit.saturating_add(from).saturating_add(to)
    }

    fn processing(&self, is: impl Fn(&BorderStation) -> bool) -> u64 {
        self.borders.iter().filter(|border| is(border)).map(|border| border.processing).max().unwrap_or(0)
    }

    fn router(&self, at: usize) -> &str {
        self.borders.get(at).map_or("", |border| &border.station)
    }

    /// The tunnels that all of a way needs. From hosts each flow has one of its own, once it is let in.
    pub(super) fn tunnels_of_way(&self, (from, to, class): Way) -> Vec<Wish> {
        let Some(service) = self.services.get(&class) else { return Vec::new() };
        let Side::Router(from) = from else { return Vec::new() };
        let station = self.router(from);
        let one = |kind: u8, number: usize, to: &str| Wish {
            id: digits(&[&[kind, class.dscp()], &short(from), &short(number)]),
            from: station.to_owned(),
            to: to.to_owned(),
            packets: Packets::Codepoint(class.dscp()),
            rate: service.rate,
            burst: service.burst,
            least_packet: service.least_packet,
            largest_packet: service.largest_packet,
            jitter: self.processing(|border| border.station == station),
            limit: service.limit,
            importance: self.importance,
        };
        match to {
            Side::Edges => {
                self.edges.iter().enumerate().map(|(number, edge)| one(1, number, &edge.station)).collect()
            }
            // On the other side of a router nothing goes over the LAN.
            Side::Router(to) if self.router(to) == station => Vec::new(),
            Side::Router(to) => vec![one(2, to, self.router(to))],
        }
    }

    /// The tunnels of a flow that hosts send, in an aggregate that leaves the LAN on this side; or why there are none.
    pub(super) fn tunnels_of_flow(
        &self,
        flow: &FlowRequest,
        addresses: &Addresses,
        (to, class): (Side, Class),
    ) -> Result<Vec<Wish>, String> {
        if flow.protocol != UDP {
            return Err("flows of [lan] are of UDP".to_owned());
        }
        let service = self.services.get(&class).ok_or("[lan] carries no such class")?;
        let mut tunnels = Vec::new();
        for source in &addresses.sources {
            let (from, source) = self.edge(*source)?;
            for destination in &addresses.destinations {
                let (number, station, destination) = match to {
                    Side::Router(at) => {
                        let IpAddr::V4(four) = *destination else { return Err(not_four(*destination)) };
                        (at, self.router(at), four)
                    }
                    Side::Edges => {
                        let (at, four) = self.edge(*destination)?;
                        (at, self.edges.get(at).map_or("", |edge| &*edge.station), four)
                    }
                };
                let from_station = self.edges.get(from).map_or("", |edge| &*edge.station);
                if station == from_station {
                    continue;
                }
                let ports = [flow.source_port.to_be_bytes(), flow.destination_port.to_be_bytes()].concat();
                let kind = if to == Side::Edges { 3 } else { 4 };
                tunnels.push(Wish {
                    id: digits(&[
                        &[kind, class.dscp()],
                        &source.octets(),
                        &destination.octets(),
                        &ports,
                        &short(from),
                        &short(number),
                    ]),
                    from: from_station.to_owned(),
                    to: station.to_owned(),
                    packets: Packets::Flow {
                        source,
                        source_port: flow.source_port,
                        destination,
                        destination_port: flow.destination_port,
                    },
                    rate: flow.desired.rate,
                    burst: flow.desired.bucket.max(flow.desired.largest_packet.into()),
                    least_packet: flow.desired.least_unit.max(SMALLEST).min(flow.desired.largest_packet),
                    largest_packet: flow.desired.largest_packet,
                    jitter: self.jitter,
                    limit: service.limit,
                    importance: self.importance,
                });
            }
        }
        Ok(tunnels)
    }

    /// The host that has an address: by the longest range.
    fn edge(&self, address: IpAddr) -> Result<(usize, Ipv4Addr), String> {
        let IpAddr::V4(four) = address else { return Err(not_four(address)) };
        let ranges = self.edges.iter().enumerate().flat_map(|(at, edge)| {
            edge.addresses.iter().filter(|range| range.contains(address)).map(move |range| (range.length, at))
        });
        let (_, at) = ranges.max().ok_or_else(|| format!("no [[lan.edge]] has the address {address}"))?;
        Ok((at, four))
    }
}

fn not_four(address: IpAddr) -> String {
    format!("{address} is not of IPv4, which [lan] carries alone")
}

/// A place in a list; lists of a file are shorter than that.
fn short(at: usize) -> [u8; 2] {
    u16::try_from(at).unwrap_or(u16::MAX).to_be_bytes()
}

/// Bytes as an id of a tunnel.
fn digits(parts: &[&[u8]]) -> String {
    parts.concat().iter().map(|byte| format!("{byte:02x}")).collect()
}
