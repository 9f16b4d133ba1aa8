//! Flows over IPv6, beside those over IPv4, and neighbour discovery in the place of ARP.
use std::time::Duration;

use control::network::Network;
use control::note::Note;
use latency::switch::Guard;
use openflow::oxm::OxmField;
use testkit::openflow_switch::Packet;
use wire::admission::{Request, State};

use crate::cases::{MS, at_once, one_switch};
use crate::networks::{GATES, METERS, network, open_vswitch};
use crate::trees::ethernet_of;
use crate::world::{Pair, World, address, address6, guid, mac, over_ipv6, packet_of, request};

fn pair(writer: u8, reader: u8) -> Pair {
    (guid(writer, 1), guid(100 + reader, 1))
}

/// What the writer of host 0 and a reader of a host ask for over IPv6.
fn wish(to: u8, limit: u64) -> Request {
    let asked = request(pair(1, to), 1, 0, to.into(), (5_000, 6_000), at_once(8_004, 5 * MS), limit);
    over_ipv6(asked, 0, to.into())
}

fn up(network: Network) -> World {
    let mut world = World::up(network);
    world.greet();
    world.settle();
    world
}

/// Hosts 0 and 1 at the first of three switches in a line, 2 and 3 at the last one, 4 in the middle.
fn line(guard: Guard) -> Network {
    network(&open_vswitch(guard), 3, &[0, 0, 2, 2, 1], &[(0, 1), (1, 2)])
}

#[test]
fn a_flow_over_ipv6_has_its_level_on_its_way_and_nothing_that_looks_like_it() {
    let mut world = up(line(METERS));
    let asked = wish(2, 20 * MS);
    world.ask(asked.clone());
    world.settle();
    let verdict = world.verdicts[&pair(1, 2)].clone();
    assert_eq!(
        (verdict.state, verdict.source, verdict.destination),
        (State::Admitted, asked.source, asked.destination)
    );
    let packet = packet_of(&asked, 0, 2, verdict.dscp);
    let arrived = world.send(0, packet);
    assert_eq!(arrived.len(), 1);
    let (host, arrived, trace) = &arrived[0];
    assert_eq!((*host, arrived.to, arrived.destination), (2, mac(2), address6(2)));
    assert!(trace.len() == 4 && trace.iter().all(|(_, dscp)| *dscp != 0), "{trace:?}");
    // Other ports, and the same addresses' IPv4, are best effort; the source of another host is not let through.
    let other = Packet { ports: (5_001, 6_000), ..packet };
    let four = Packet { kind: 0x0800, source: address(0), destination: address(2), ..packet };
    for packet in [other, four] {
        let arrived = world.send(0, packet);
        assert!(arrived.iter().all(|(_, packet, _)| packet.dscp == 0) && !arrived.is_empty(), "{arrived:?}");
    }
    assert!(world.send(1, packet).is_empty());
}

#[test]
fn an_ipv6_flow_has_its_own_contract_and_entries_at_the_gate() {
    let mut world = up(line(GATES));
    world.ask(wish(2, 20 * MS));
    let four = request(pair(2, 2), 1, 0, 2, (5_000, 6_000), at_once(8_004, 5 * MS), 20 * MS);
    world.ask(four);
    world.settle();
    let keys: Vec<gate::Key> =
        world.gates[0].keys().map(|key| key.flow).filter(|key| key.domain().is_none()).collect();
    assert_eq!(keys.len(), 2, "{keys:?}");
    let six = keys.iter().find(|key| key.source.is_ipv6()).unwrap();
    assert_eq!((six.source, six.destination), (address6(0).ip(), address6(2).ip()));
    // Each frame of IPv6 has 20 bytes more.
    let bytes = |six: bool| {
        let gates = world.gates[0]
            .iter()
            .find(|(key, _)| key.flow.source.is_ipv6() == six && key.flow.domain().is_none());
        gates.unwrap().1.octets
    };
    assert!(bytes(true) > bytes(false), "{} {}", bytes(true), bytes(false));
}

/// A gate looks behind no extension headers of IPv6, and lowers what has them; a switch looks behind them.
#[test]
fn what_a_gate_has_not_marked_has_no_level() {
    let mut world = up(line(GATES));
    let asked = wish(2, 20 * MS);
    world.ask(asked.clone());
    world.settle();
    let sent = |world: &mut World| {
        let arrived = world.send(0, packet_of(&asked, 0, 2, 0));
        assert_eq!(arrived.len(), 1);
        arrived[0].2.iter().skip(1).map(|(_, dscp)| *dscp).collect::<Vec<u8>>()
    };
    assert!(sent(&mut world).iter().all(|dscp| *dscp != 0));
    // As if it came past the gate.
    world.attached[0] = false;
    assert!(sent(&mut world).iter().all(|dscp| *dscp == 0));
}

#[test]
fn addresses_of_different_versions_are_no_flow() {
    let mut world = up(line(GATES));
    let mut asked = wish(2, 20 * MS);
    asked.destination.address = address(2);
    world.ask(asked);
    world.settle();
    let verdict = &world.verdicts[&pair(1, 2)];
    assert_eq!(verdict.state, State::Refused);
    assert!(verdict.reason.contains("different versions of IP"), "{verdict:?}");
}

#[test]
fn readers_of_ipv6_share_a_flow_to_a_group() {
    let mut world = up(one_switch());
    // So their Ethernet addresses are known, which the switch writes into what goes to a group.
    for host in 0..4 {
        world.send(host, advertisement(host, host, host));
    }
    for host in [1, 2, 3] {
        world.ask(wish(host, 9 * MS));
        world.settle();
    }
    let verdict = world.verdicts[&pair(1, 1)].clone();
    assert_eq!(verdict.state, State::Admitted, "{verdict:?}");
    assert!(
        verdict.destination.address.is_multicast() && !verdict.destination.address.is_ipv4(),
        "{verdict:?}"
    );
    let asked = Request { destination: verdict.destination, ..wish(1, MS) };
    let packet =
        Packet { to: ethernet_of(verdict.destination.address), ..packet_of(&asked, 0, 1, verdict.dscp) };
    assert_eq!(packet.to[..2], [0x33, 0x33]);
    let mut arrived = world.send(0, packet);
    arrived.sort_by_key(|(host, _, _)| *host);
    let hosts: Vec<usize> = arrived.iter().map(|(host, _, _)| *host).collect();
    assert_eq!(hosts, [1, 2, 3]);
    for (host, packet, _) in arrived {
        assert_eq!((packet.to, packet.destination, packet.ports.1), (mac(host), address6(host), 6_000));
        assert_ne!(packet.dscp, 0);
    }
}

/// A neighbour advertisement of a host's port, from the address of a host, about that of a host.
fn advertisement(from: usize, source: usize, about: usize) -> Packet {
    Packet {
        from: mac(from),
        to: [0x33, 0x33, 0, 0, 0, 1],
        tag: None,
        kind: 0x86dd,
        source: address6(source),
        destination: address6(about),
        protocol: 58,
        ports: (136, 0),
        dscp: 63,
    }
}

fn claims(world: &mut World) -> Vec<(String, String, String)> {
    let notes = std::iter::from_fn(|| world.manager.poll_note());
    let told = notes.filter_map(|note| match note {
        Note::FalseClaim { from, claim, owner, .. } => Some((from, claim, owner)),
        _ => None,
    });
    told.collect()
}

#[test]
fn a_lie_by_neighbour_discovery_reaches_no_host_and_its_port_is_named() {
    let mut world = up(line(GATES));
    claims(&mut world);
    for liar in [0, 3, 4] {
        for source in [liar, 1] {
            assert!(
                world.send(liar, advertisement(liar, source, 1)).is_empty(),
                "of host {liar} as {source}"
            );
        }
        world.settle();
        let told = claims(&mut world);
        assert_eq!(told, [(format!("h{liar}"), "the IPv6 address fd00::2".to_owned(), "h1".to_owned())]);
    }
    // The host itself may say it, to all; and it has no level.
    let arrived = world.send(1, advertisement(1, 1, 1));
    assert_eq!(arrived.len(), 4);
    assert!(
        arrived
            .iter()
            .all(|(_, packet, trace)| packet.dscp == 0 && trace.iter().skip(1).all(|(_, dscp)| *dscp == 0))
    );
    world.settle();
    assert_eq!(claims(&mut world), []);
}

#[test]
fn an_address_that_is_not_in_the_file_is_learned_by_neighbour_discovery() {
    let mut network = line(GATES);
    network.hosts.iter_mut().for_each(|host| host.addresses.clear());
    let mut world = World::up(network);
    world.settle();
    let known = |world: &World| world.manager.report().hosts[3].addresses.clone();
    assert_eq!(known(&world), [""; 0]);
    world.send(3, advertisement(3, 3, 3));
    world.settle();
    assert_eq!(known(&world), ["fd00::4"]);
    // It asks for it at the former place before it believes another port.
    world.send(2, advertisement(2, 3, 3));
    world.settle();
    assert_eq!(known(&world), ["fd00::4"]);
    world.pass(Duration::from_secs(3));
    assert_eq!(world.manager.report().hosts[2].addresses, ["fd00::4"]);
    let is_there = |field| {
        world.switches.iter().flat_map(|switch| &switch.flows).any(|flow| flow.matching.get(field).is_some())
    };
    assert!(is_there(OxmField::Icmpv6Type));
}
