//! The flows of switches, as a function of the description and of what is held.
//!
//! | table | what comes there |
//! |---|---|
//! | 0 | all, by the port; keep-alives of links are sent back |
//! | 1, 5 | packets of hosts: flows by their tuples, the meter of bytes; then that of packets |
//! | 2, 3 | packets of neighbours: labels, the meter of bytes; then that of packets, and the next label or none |
//! | 4 | packets of other switches of the domain: by the label of the port that they leave by |
//! | 6 | packets of flows, by their aggregate (register 0) |
//! | 7 | packets of aggregates to edges, among them those that have left their tunnel |
//! | 8 | packets of IP, by where they go to |
//! | 9 | by the port that they leave by (register 1), with their class (register 2) |
//! | 250, 251 | nothing: notes of aggregates and flows |
use std::net::IpAddr;

use linux_edge::backend::MOST_SLOTS;
use linux_edge::domain::{CLASSES, Wire};
use linux_edge::entry::Tuple;
use linux_edge::policing::{Contract, Meters};
use linux_edge::record::{AggregateRecord, FlowRecord};
use linux_edge::routes::{PortId, Routes};
use wan::{Class, Place, Prefix};

use crate::domain::Domain;
use crate::keep_alive::{self, REPLY, REQUEST, sent_back};
use crate::program::Content;
use crate::record::{flow_text, note};

/// The address of Ethernet of every switch toward its hosts, which is administered locally.
const OWN: &str = "02:00:00:00:00:01";
/// The first label that is not reserved (RFC 3032).
const FIRST_LABEL: usize = 16;
/// The largest label.
pub(crate) const LAST_LABEL: u32 = (1 << 20) - 1;
/// The table of notes about aggregates and about how a switch was set up, and that about flows.
pub(crate) const NOTES: [u8; 2] = [250, 251];
/// How the note begins that says by which description a switch was set up.
pub(crate) const MARK: &str = "set-up-";
/// Where the numbers of meters begin: of flows, in packets; of aggregates, in bytes and in packets.
pub(crate) const FLOW_PACKETS: u32 = 0x1_0000;
pub(crate) const AGGREGATE_BYTES: u32 = 0x2_0000;
const AGGREGATE_PACKETS: u32 = 0x3_0000;
/// Cookies of aggregates and of flows, beside the number.
pub(crate) const OF_AGGREGATE: u64 = 1 << 32;
pub(crate) const OF_FLOW: u64 = 2 << 32;

/// Numbers of meters between the last of one kind and the first of the next, and kinds: so many links of a switch can be looked at.
const LEFT: u16 = 0xffff - MOST_SLOTS;
pub(crate) const MOST_WATCHED: usize = 4 * LEFT as usize;

/// The class in EXP: the first three bits of its codepoint.
pub fn exp(class: Class) -> u8 {
    class.dscp() >> 3
}

/// The ports by which packets leave the domain, in order: their numbers are places here from 1, their labels follow.
fn leaving(domain: &Domain) -> Vec<(PortId, usize, &str)> {
    let edges = domain.plan.edges.iter().enumerate();
    let edges = edges.map(|(at, edge)| (PortId::Edge(at), edge.router, edge.interface.as_str()));
    let borders = domain.plan.borders.iter().enumerate();
    let borders =
        borders.map(|(at, border)| (PortId::Border(at), border.end.router, border.end.interface.as_str()));
    edges.chain(borders).collect()
}

fn number(domain: &Domain, port: PortId) -> usize {
    leaving(domain).iter().position(|(other, ..)| *other == port).map_or(0, |at| at + 1)
}

/// The interfaces of a switch at which links to other switches end, with these links.
pub fn watched(domain: &Domain, switch: usize) -> impl Iterator<Item = (&str, &Wire)> {
    let ends = domain.plan.links.iter().flat_map(|link| link.ends.iter().map(move |end| (end, &link.wire)));
    let ends = ends.chain(domain.plan.borders.iter().map(|border| (&border.end, &border.wire)));
    let here = ends.filter(move |(end, _)| end.router == switch);
    here.map(|(end, wire)| (end.interface.as_str(), wire))
}

/// The meter for keep-alives at one of these: numbers that are left between those of flows and aggregates.
fn meter_of(number: usize) -> Option<u32> {
    let firsts = [0, FLOW_PACKETS, AGGREGATE_BYTES, AGGREGATE_PACKETS];
    let first = firsts.get(number / usize::from(LEFT))?;
    let within = u32::try_from(number % usize::from(LEFT)).ok()?;
    Some(first + u32::from(MOST_SLOTS) + 1 + within)
}

fn meter(id: u32, kind: &str, rate: u64, burst: u64) -> String {
    let most = u64::from(u32::MAX);
    let (rate, burst) = (rate.min(most), burst.min(most));
    format!("meter={id} {kind} burst stats bands=type=drop rate={rate} burst_size={burst}")
}

/// The interfaces of a switch that lead to others of the domain.
fn core(domain: &Domain, switch: usize) -> impl Iterator<Item = &str> {
    let ends = domain.plan.links.iter().flat_map(|link| &link.ends);
    ends.filter(move |end| end.router == switch).map(|end| end.interface.as_str())
}

fn hardware(of: [u8; 6]) -> String {
    of.map(|byte| format!("{byte:02x}")).join(":")
}

/// A range of IPv4 without the bits of hosts.
pub(crate) fn prefix(of: &Prefix) -> Option<String> {
    let IpAddr::V4(address) = of.address else { return None };
    let mask = u32::MAX.checked_shl(32 - u32::from(of.length.min(32))).unwrap_or(0);
    Some(format!("{}/{}", std::net::Ipv4Addr::from_bits(address.to_bits() & mask), of.length))
}

/// What answers who asks for the address of an edge (ARP).
fn answers(interface: &str, address: IpAddr) -> (String, String) {
    let matching = format!("in_port={interface},arp,arp_op=1,arp_tpa={address}");
    let actions = format!(
        "move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:{OWN}->eth_src,set_field:2->arp_op,move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],\
         move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:{OWN}->arp_sha,set_field:{address}->arp_spa,IN_PORT"
    );
    (matching, actions)
}

/// What a switch has before anything is reserved, without its mark.
pub(crate) fn setup(domain: &Domain, switch: usize) -> Content {
    let (mut content, routes, leaving) = (Content::default(), Routes::new(&domain.plan), leaving(domain));
    let mut flow = |at: (u8, u16), matching: String, actions: String| content.flow(0, at, matching, actions);
    for edge in domain.plan.edges.iter().filter(|edge| edge.router == switch) {
        for own in edge.addresses.iter().filter(|own| own.address.is_ipv4()) {
            let (matching, actions) = answers(&edge.interface, own.address);
            flow((0, 20), matching, actions);
        }
        flow((0, 10), format!("in_port={},ip", edge.interface), "goto_table:1".to_owned());
    }
    for border in domain.plan.borders.iter().filter(|border| border.end.router == switch) {
        let port = format!("in_port={}", border.end.interface);
        flow((0, 10), format!("{port},mpls"), "goto_table:2".to_owned());
        flow((0, 10), format!("{port},ip"), "set_field:0->ip_dscp,goto_table:8".to_owned());
    }
    for interface in core(domain, switch) {
        flow((0, 10), format!("in_port={interface},mpls"), "goto_table:4".to_owned());
    }
    let mut meters = Vec::new();
    for (number, (interface, wire)) in (0..).zip(watched(domain, switch)) {
        let frames = format!("in_port={interface},{}", keep_alive::FIELDS);
        // Those that come back are for the program that has sent them, which hears them beside the switch.
        let (request, reply) = (hardware(REQUEST), hardware(REPLY));
        flow((0, 30), format!("{frames},dl_dst={reply}"), "drop".to_owned());
        let (Some((rate, burst)), Some(id)) = (sent_back(&domain.plan, wire), meter_of(number)) else {
            continue;
        };
        meters.push((id, meter(id, "kbps", rate, burst)));
        let actions = format!("meter:{id},set_field:{reply}->eth_dst,IN_PORT");
        flow((0, 30), format!("{frames},dl_dst={request}"), actions);
    }
    // Hosts choose no class.
    flow((1, 0), "ip".to_owned(), "set_field:0->ip_dscp,goto_table:8".to_owned());
    for class in CLASSES {
        let (exp, dscp) = (exp(class), class.dscp());
        flow((7, 10), format!("ip,reg2={exp}"), format!("set_field:{dscp}->ip_dscp,goto_table:8"));
    }
    for (at, (edge, stations)) in domain.plan.edges.iter().zip(&domain.stations).enumerate() {
        let port = number(domain, PortId::Edge(at));
        for station in stations {
            let Some(addresses) = prefix(&station.addresses) else { continue };
            let to = hardware(station.hardware);
            let actions = format!(
                "dec_ttl,set_field:{OWN}->eth_src,set_field:{to}->eth_dst,set_field:{port}->reg1,goto_table:9"
            );
            flow((8, 100 + u16::from(station.addresses.length)), format!("ip,nw_dst={addresses}"), actions);
        }
        // The address of the edge itself has nothing behind it.
        for own in edge.addresses.iter().filter(|own| own.address.is_ipv4()) {
            flow((8, 200), format!("ip,nw_dst={}", own.address), "drop".to_owned());
        }
    }
    for (at, border) in domain.plan.borders.iter().enumerate() {
        let port = number(domain, PortId::Border(at));
        for beyond in &border.beyond {
            let Some(addresses) = prefix(beyond) else { continue };
            // What is in an aggregate to another domain does not come here. Who chooses this by the address has nothing reserved there.
            let actions =
                format!("set_field:0->ip_dscp,set_field:0->reg2,dec_ttl,set_field:{port}->reg1,goto_table:9");
            flow((8, 100 + u16::from(beyond.length)), format!("ip,nw_dst={addresses}"), actions);
        }
    }
    for (at, (_, router, interface)) in leaving.iter().enumerate() {
        let (port, label) = (at + 1, FIRST_LABEL + at);
        if *router == switch {
            flow((9, 10), format!("reg1={port}"), format!("output:{interface}"));
            for (bottom, inside) in [(1, "0x0800"), (0, "0x8847")] {
                let actions = format!("pop_mpls:{inside},set_field:{port}->reg1,goto_table:9");
                flow((4, 10), format!("mpls,mpls_label={label},mpls_bos={bottom}"), actions);
            }
            continue;
        }
        let next = match routes.next(switch, *router) {
            Some(PortId::Core(link, end)) => domain.plan.links.get(link).and_then(|link| link.ends.get(end)),
            _ => None,
        };
        let Some(next) = next.map(|end| end.interface.as_str()) else { continue };
        flow((4, 10), format!("mpls,mpls_label={label}"), format!("dec_mpls_ttl,output:{next}"));
        for exp in CLASSES.map(exp) {
            let actions = format!(
                "push_mpls:0x8847,set_field:{label}->mpls_label,set_field:{exp}->mpls_tc,set_field:64->mpls_ttl,output:{next}"
            );
            flow((9, 10), format!("reg1={port},reg2={exp}"), actions);
        }
    }
    content.meters.extend(meters);
    content
}

/// The note by which a switch knows its description.
pub(crate) fn marked(mark: &str) -> Content {
    let mut content = Content::default();
    content.flow(0, (NOTES[0], 0), "reg0=0".to_owned(), note(mark));
    content
}

fn meters(
    content: &mut Content,
    contract: &Contract,
    from: Place,
    processing: u64,
    [bytes, packets]: [u32; 2],
) {
    let of = Meters::of(contract, from, processing);
    content.meters.insert(bytes, meter(bytes, "kbps", of.rate, of.burst));
    content.meters.insert(packets, meter(packets, "pktps", of.packets, of.packets_at_once));
}

/// What an aggregate needs, by switches.
pub(crate) fn aggregate(domain: &Domain, record: &AggregateRecord) -> Vec<(usize, Content)> {
    let (slot, class, demand) = (record.slot, record.id.class, &record.demand);
    let cookie = OF_AGGREGATE | u64::from(slot);
    let mut held = Content::default();
    held.flow(cookie, (NOTES[0], 0), format!("reg0={slot}"), note(&record.text()));
    let mut all = vec![(0, held)];
    let Some((label_in, label_out)) = record.labels else { return all };
    let (exp, dscp) = (exp(class), class.dscp());
    let border = |place: Place| match place {
        Place::Border(link) => domain.plan.borders.iter().position(|border| border.link == link),
        Place::Edges => None,
    };
    let out = border(demand.to).zip(label_out);
    let leaves = |at: usize| {
        let port = number(domain, PortId::Border(at));
        format!("set_field:{port}->reg1,set_field:{exp}->reg2,goto_table:9")
    };
    match (border(demand.from), label_in) {
        (Some(at), Some(label)) => {
            let Some(from) = domain.plan.borders.get(at) else { return all };
            let mut content = Content::default();
            let ids = [AGGREGATE_BYTES, AGGREGATE_PACKETS].map(|first| first + u32::from(slot));
            meters(&mut content, &Contract::of(demand), demand.from, domain.plan.processing, ids);
            let [bytes, packets] = ids;
            let matching =
                format!("in_port={},mpls,mpls_label={label},mpls_tc={exp},mpls_bos=1", from.end.interface);
            content.flow(
                cookie,
                (2, 10),
                matching,
                format!("meter:{bytes},set_field:{slot}->reg0,goto_table:3"),
            );
            let then = match out {
                Some((at, label)) => {
                    format!("set_field:{label}->mpls_label,dec_mpls_ttl,{}", leaves(at))
                }
                None => format!("set_field:{exp}->reg2,pop_mpls:0x0800,goto_table:7"),
            };
            content.flow(cookie, (3, 10), format!("mpls,reg0={slot}"), format!("meter:{packets},{then}"));
            all.push((from.end.router, content));
        }
        (Some(_), None) => {}
        (None, _) => {
            let mut routers: Vec<usize> = domain.plan.edges.iter().map(|edge| edge.router).collect();
            routers.sort_unstable();
            routers.dedup();
            let then = match (out, demand.to) {
                (Some((at, label)), _) => format!(
                    "push_mpls:0x8847,set_field:{label}->mpls_label,set_field:{exp}->mpls_tc,set_field:64->mpls_ttl,{}",
                    leaves(at)
                ),
                (None, Place::Edges) => format!("set_field:{exp}->reg2,goto_table:7"),
                (None, Place::Border(_)) => return all,
            };
            for router in routers {
                let mut content = Content::default();
                let actions = format!("set_field:{dscp}->ip_dscp,{then}");
                content.flow(cookie, (6, 10), format!("ip,reg0={slot}"), actions);
                all.push((router, content));
            }
        }
    }
    all
}

/// What a flow needs at a switch where it comes in, with the number of its aggregate and with how many switches it shares its contract.
pub(crate) fn flow(
    domain: &Domain,
    record: &FlowRecord,
    tuples: &[Tuple],
    aggregate: u16,
    parts: usize,
) -> Content {
    let (slot, cookie) = (record.slot, OF_FLOW | u64::from(record.slot));
    let mut content = Content::default();
    let [bytes, packets] = [u32::from(slot), FLOW_PACKETS + u32::from(slot)];
    meters(&mut content, &record.contract(parts), Place::Edges, domain.plan.processing, [bytes, packets]);
    content.flow(cookie, (NOTES[1], 0), format!("reg0={slot}"), note(&flow_text(record, tuples)));
    for tuple in tuples {
        let Some(edge) = domain.plan.edges.iter().find(|edge| edge.has(tuple.source)) else { continue };
        let Tuple { source, destination, protocol, source_port, destination_port } = tuple;
        let mut matching =
            format!("in_port={},ip,nw_proto={protocol},nw_src={source},nw_dst={destination}", edge.interface);
        if *source_port != 0 {
            matching += &format!(",tp_src={source_port}");
        }
        matching += &format!(",tp_dst={destination_port}");
        content.flow(cookie, (1, 10), matching, format!("meter:{bytes},set_field:{slot}->reg0,goto_table:5"));
    }
    let actions = format!("meter:{packets},set_field:{aggregate}->reg0,goto_table:6");
    content.flow(cookie, (5, 10), format!("ip,reg0={slot}"), actions);
    content
}
