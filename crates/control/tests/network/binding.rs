//! Addresses belong to ports: who claims another host's harms it in nothing, and is named.
use std::time::Duration;

use control::network::Network;
use control::note::Note;
use openflow::Message;
use openflow::meter::{BandKind, MeterMod};
use openflow::words::MeterId;
use testkit::openflow_switch::Packet;
use wire::admission::State;

use crate::cases::{MS, at_once, one_switch};
use crate::networks::{GATES, network, open_vswitch};
use crate::world::{Trace, World, address, guid, mac, packet_of, request};

/// Hosts 0 and 1 at the first of three switches in a line, 2 and 3 at the last one, 4 in the middle.
fn line() -> Network {
    network(&open_vswitch(GATES), 3, &[0, 0, 2, 2, 1], &[(0, 1), (1, 2)])
}

fn greeted(network: Network) -> World {
    let mut world = World::up(network);
    world.greet();
    world.settle();
    notes(&mut world);
    world
}

fn notes(world: &mut World) -> Vec<Note> {
    std::iter::from_fn(|| world.manager.poll_note()).collect()
}

/// The claims that operators have been told of: the host at the port, and whose address it is.
fn claims(world: &mut World) -> Vec<(String, String, String)> {
    let told = notes(world).into_iter().filter_map(|note| match note {
        Note::FalseClaim { from, claim, owner, .. } => Some((from, claim, owner)),
        _ => None,
    });
    told.collect()
}

fn arp(sender: usize, names: usize) -> Packet {
    Packet {
        from: mac(sender),
        to: [0xff; 6],
        tag: None,
        kind: 0x0806,
        source: address(names),
        destination: address(0),
        protocol: 0,
        ports: (0, 0),
        dscp: 0,
    }
}

fn datagram(sender: usize, names: usize, to: usize) -> Packet {
    Packet {
        from: mac(sender),
        to: mac(to),
        tag: None,
        kind: 0x0800,
        source: address(names),
        destination: address(to),
        protocol: 17,
        ports: (40_000, 7_411),
        dscp: 0,
    }
}

fn hosts(arrived: &[(usize, Packet, Trace)]) -> Vec<usize> {
    let mut hosts: Vec<usize> = arrived.iter().map(|(host, _, _)| *host).collect();
    hosts.sort_unstable();
    hosts
}

fn sent(world: &mut World, from: usize, packet: Packet) -> Vec<usize> {
    let arrived = world.send(from, packet);
    world.settle();
    hosts(&arrived)
}

#[test]
fn a_lie_by_arp_reaches_no_host_and_its_port_is_named() {
    let mut world = greeted(line());
    for liar in [0, 3, 4] {
        assert_eq!(sent(&mut world, liar, arp(liar, 1)), [0_usize; 0], "of host {liar}");
        let told = claims(&mut world);
        assert_eq!(told, [(format!("h{liar}"), "the IPv4 address 10.0.0.2".to_owned(), "h1".to_owned())]);
        assert_eq!(sent(&mut world, liar, arp(liar, 1)), [0_usize; 0]);
        assert_eq!(claims(&mut world), [], "it is told once in a while");
    }
    assert_eq!(sent(&mut world, 1, arp(1, 1)), [0, 2, 3, 4], "the host itself may say it");
    assert_eq!(claims(&mut world), []);
}

/// That the frame is dropped, and that the address stays where it is, is one alarm; as long as it goes on it stands in the report.
#[test]
fn a_lie_is_one_alarm_with_what_becomes_of_the_frame_and_of_the_address() {
    for packet in [arp(3, 1), datagram(3, 1, 0)] {
        let mut world = greeted(line());
        world.watch();
        sent(&mut world, 3, packet);
        let warnings: Vec<String> =
            notes(&mut world).iter().filter(|note| note.is_warning()).map(ToString::to_string).collect();
        let told = "frames of h3 claim the IPv4 address 10.0.0.2, which is that of h1: they are dropped, and the address stays with h1";
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains(told), "{warnings:?}");
        let stands = world.manager.report().cabling.len();
        assert_eq!(stands, usize::from(packet.kind == 0x0806));
        world.pass(Duration::from_secs(30));
        assert!(world.manager.report().cabling.is_empty());
    }
}

#[test]
fn a_datagram_with_another_hosts_source_reaches_no_host() {
    let mut world = greeted(line());
    assert_eq!(sent(&mut world, 3, datagram(3, 1, 0)), [0_usize; 0]);
    assert_eq!(claims(&mut world).len(), 1);
    assert_eq!(sent(&mut world, 1, datagram(1, 1, 0)), [0]);
    assert_eq!(sent(&mut world, 3, datagram(3, 3, 0)), [0], "over all switches, with its own");
    // What the network file does not know belongs to no port.
    let unknown = Packet { source: [10, 9, 9, 9].into(), ..datagram(3, 3, 0) };
    assert_eq!(sent(&mut world, 3, unknown), [0]);
    assert_eq!(claims(&mut world), []);
}

#[test]
fn a_learned_mac_address_stays_with_its_host_as_long_as_that_is_there() {
    let mut world = greeted(line());
    // Host 3 sends frames from the MAC address of host 1, with its own IPv4 address.
    let stolen = Packet { from: mac(1), ..datagram(3, 3, 0) };
    world.send(3, stolen);
    world.settle();
    assert_eq!(
        claims(&mut world),
        [("h3".to_owned(), "the MAC address 02:00:00:00:00:02".to_owned(), "h1".to_owned())]
    );
    assert_eq!(sent(&mut world, 3, stolen), [0_usize; 0], "the next ones are dropped");
    for host in [0, 2, 4] {
        assert_eq!(sent(&mut world, host, datagram(host, host, 1)), [1], "from host {host}");
    }
    // A machine that is unplugged may come back elsewhere.
    let (access, _) = world.network.leaving(1).next().unwrap();
    world.cable(access, false);
    world.settle();
    let there = Packet { from: mac(1), ..datagram(2, 2, 0) };
    assert_eq!(sent(&mut world, 2, there), [0]);
    assert_eq!(sent(&mut world, 0, datagram(0, 0, 1)), [2]);
    assert_eq!(claims(&mut world), []);
}

/// A host that speaks from ever new addresses takes no room that others need, and is named, once for as long as it goes on.
#[test]
fn a_crowd_of_addresses_at_one_port_is_named_and_not_learned() {
    let mut world = greeted(line());
    world.watch();
    let before = world.manager.report().switches[2].addresses;
    for number in 0..200_u8 {
        let from = [0x02, 0x66, 0, 0, 0, number];
        assert_eq!(sent(&mut world, 3, Packet { from, ..datagram(3, 3, 0) }), [0]);
        world.pass(Duration::from_millis(20));
    }
    let warnings: Vec<String> =
        notes(&mut world).iter().filter(|note| note.is_warning()).map(ToString::to_string).collect();
    let told = "frames of h3 come from more than 64 Ethernet addresses";
    assert!(warnings.len() == 1 && warnings[0].contains(told), "{warnings:?}");
    assert!(world.manager.report().switches[2].addresses <= before + 64);
    assert!(world.manager.report().cabling.iter().any(|alarm| alarm.what.contains(told)));
    // Another host at that switch is learned as before.
    let late = Packet { from: [0x02, 0x77, 0, 0, 0, 1], ..datagram(2, 2, 0) };
    let known = world.manager.report().switches[2].addresses;
    assert_eq!(sent(&mut world, 2, late), [0]);
    assert_eq!(world.manager.report().switches[2].addresses, known + 1);
    world.pass(Duration::from_secs(30));
    assert!(world.manager.report().cabling.is_empty());
}

#[test]
fn a_mac_address_of_the_network_file_belongs_to_its_port_from_the_start() {
    let mut network = line();
    network.hosts.iter_mut().enumerate().for_each(|(host, of)| of.mac = Some(mac(host)));
    let mut world = World::up(network);
    notes(&mut world);
    for thief in [0, 2, 4] {
        let stolen = Packet { from: mac(1), ..datagram(thief, thief, 3) };
        assert_eq!(sent(&mut world, thief, stolen), [0_usize; 0]);
        assert_eq!(claims(&mut world).len(), 1, "of host {thief}");
    }
    for host in [0, 2, 3, 4] {
        assert_eq!(sent(&mut world, host, datagram(host, host, 1)), [1], "from host {host}");
        assert_eq!(sent(&mut world, 1, datagram(1, 1, host)), [host]);
    }
    assert_eq!(claims(&mut world), []);
}

/// A writer that believes a lie about the reader's MAC address reaches the reader all the same.
#[test]
fn an_admitted_flow_needs_no_arp() {
    let mut world = greeted(line());
    let asked = request((guid(1, 1), guid(2, 1)), 1, 0, 2, (5_000, 6_000), at_once(1_000, 5 * MS), 50 * MS);
    world.ask(asked.clone());
    world.settle();
    let verdict = world.verdicts[&asked.pair()].clone();
    assert_eq!(verdict.state, State::Admitted, "{}", verdict.reason);
    let misled = packet_of(&asked, 0, 3, verdict.dscp);
    let arrived = world.send(0, misled);
    assert_eq!(hosts(&arrived), [2]);
    assert_eq!(arrived[0].1.to, mac(2));
}

#[test]
fn a_host_with_a_new_mac_address_is_reached_by_it() {
    let mut world = greeted(line());
    let asked = request((guid(1, 1), guid(2, 1)), 1, 0, 2, (5_000, 6_000), at_once(1_000, 5 * MS), 50 * MS);
    world.ask(asked.clone());
    world.settle();
    let renewed = Packet { from: mac(20), ..arp(2, 2) };
    world.send(2, renewed);
    world.pass(Duration::from_secs(1));
    let verdict = world.verdicts[&asked.pair()].clone();
    assert_eq!(verdict.state, State::Admitted, "{}", verdict.reason);
    let arrived = world.send(0, packet_of(&asked, 0, 2, verdict.dscp));
    assert_eq!(arrived[0].1.to, mac(20));
    // It is the same after a restart.
    world.restart();
    world.connect_all();
    world.ask(asked.clone());
    world.settle();
    let arrived = world.send(0, packet_of(&asked, 0, 2, verdict.dscp));
    assert_eq!((hosts(&arrived), arrived[0].1.to), (vec![2], mac(20)));
}

fn limit(world: &World, switch: usize) -> Option<&MeterMod> {
    world.switches[switch].meters.get(&MeterId::CONTROLLER.0)
}

#[test]
fn copies_to_the_manager_are_limited_and_the_limit_is_kept() {
    let mut world = greeted(one_switch());
    world.pass(Duration::from_secs(2));
    let meter = limit(&world, 0).expect("a limit").clone();
    assert!(meter.bands.iter().all(|band| band.kind == BandKind::Drop && band.rate <= 1_000));
    let gone = Message::MeterMod(MeterMod::delete(MeterId::CONTROLLER));
    world.switches[0].take(&gone).unwrap();
    world.pass(Duration::from_secs(2));
    assert_eq!(limit(&world, 0), Some(&meter));
}

#[test]
fn a_switch_that_cannot_limit_copies_is_used_all_the_same() {
    let mut world = World::new(one_switch(), Default::default());
    world.switches[0].refuses_packet_meter = true;
    world.connect_all();
    world.pass(Duration::from_secs(20));
    assert_eq!(limit(&world, 0), None);
    assert_eq!(world.switches[0].refused, 3, "it is told so often");
    let is_ready =
        |world: &World| world.manager.report().switches.iter().all(|switch| switch.state == "ready");
    assert!(is_ready(&world));
}
