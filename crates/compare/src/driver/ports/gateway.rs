//! Events by gateways: with components at both ends, or with calls.
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use container::{ByGateway, filter};
use dds::DdsType;
use dds::cdr::Encoding;
use gateways::{Config, Federated, GatewayId, Group, Header, Interest, KindId, Peer, Transport};
use udp::monotonic;

use super::Order;
use super::board::{Board, address};
use super::carriers::{Kept, Out, Ported, Transfer};
use super::load::{Load, Tap, calls, server, takers};
use crate::driver::measure::Wrong;

const KIND: &str = "load";
/// That of the publisher; in one network the others have the next ones.
const PORT: u16 = 7_800;
const GROUP: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(239, 255, 77, 1)), 7_700);
/// No gateway is taken for dead because the machine is busy, in nanoseconds.
const LEASE: u64 = 60_000_000_000;

/// The gateway of a process, which has the publisher's or all others as peers.
fn start(transfer: Transfer, order: &Order) -> Result<Federated, Wrong> {
    let id = |node: usize| u64::try_from(node).map(|node| GatewayId(node + 1));
    let at = |node: usize| -> Result<SocketAddr, Wrong> {
        let more = if order.has_network { 0 } else { u16::try_from(node)? };
        Ok(SocketAddr::from((address(order, node), PORT + more)))
    };
    let mut config = Config::new(id(order.node)?);
    config.settings.lease = LEASE;
    let others = if order.node == 0 { 1..=order.nodes } else { 0..=0 };
    for node in others {
        let transport = match transfer {
            Transfer::Udp | Transfer::Group => Transport::Udp(at(node)?),
            Transfer::Tcp if order.node == 0 => Transport::Accept,
            Transfer::Tcp => Transport::Connect(at(node)?),
        };
        config.peers.push(Peer { id: id(node)?, transport });
    }
    let own = Some(at(order.node)?);
    match transfer {
        Transfer::Tcp if order.node == 0 => config.tcp = own,
        Transfer::Tcp => {}
        Transfer::Udp | Transfer::Group => config.udp = own,
    }
    if transfer == Transfer::Group {
        config.groups.push(Group { kind: KIND.to_owned(), address: GROUP });
        config.loopback = !order.has_network;
    }
    Ok(Federated::start(&config)?)
}

/// The publishing end.
pub(super) fn publishing(transfer: Transfer, has_ports: bool, order: &Order) -> Result<Box<dyn Out>, Wrong> {
    let gateway = start(transfer, order)?;
    if !has_ports {
        let kind = gateway.offer(KIND, None)?;
        return Ok(Box::new(Bare { gateway, kind, bytes: Vec::new() }));
    }
    let mut server = server()?;
    server.install::<Tap>("box", "tap", &[])?;
    server.connect("x", &["tap.out"], &[], &ByGateway::<Load>::new(&gateway, KIND))?;
    server.launch()?;
    let tap = server.entry::<Tap>("tap").ok_or("a component is missing")?;
    Ok(Box::new(Ported { tap, _kept: Box::new((server, gateway)) }))
}

/// The consuming end.
pub(super) fn consuming(
    transfer: Transfer,
    has_ports: bool,
    order: &Order,
    board: &Arc<Board>,
) -> Result<Kept, Wrong> {
    let gateway = start(transfer, order)?;
    if !has_ports {
        let calls = calls(order.subscribers, board);
        let interest = Interest { kind: Some(KIND.to_owned()), ..Interest::default() };
        let subscription = gateway.subscribe(interest, move |received| {
            if let Ok(load) = Load::decode_payload(received.body) {
                calls.iter().for_each(|call| call(load.seen()));
            }
        })?;
        return Ok(Box::new((subscription, gateway)));
    }
    let mut server = server()?;
    let ports = takers(&mut server, order.subscribers, board)?;
    let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
    server.connect("x", &[], &ports, &ByGateway::<Load>::new(&gateway, KIND))?;
    server.launch()?;
    Ok(Box::new((server, gateway)))
}

/// A gateway without components.
struct Bare {
    gateway: Federated,
    kind: KindId,
    bytes: Vec<u8>,
}

struct NoFields;

impl filter::Fields for NoFields {
    fn value(&self, _: u32) -> Option<filter::Value<'_>> {
        None
    }
}

impl Out for Bare {
    fn push(&mut self, load: &mut Load) -> Result<bool, Wrong> {
        load.stamp = monotonic();
        self.bytes.clear();
        load.encode_payload(Encoding::XCDR2, &mut self.bytes)?;
        let published = self.gateway.publish(self.kind, "tap.out", Header::default(), &NoFields, &self.bytes);
        Ok(published.map_err(|error| error.to_string())?.given_up == 0)
    }
}
