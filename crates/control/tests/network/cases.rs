//! One thing after the other.
use std::time::Duration;

use control::network::Network;
use latency::policing::Counts;
use openflow::flow::FlowMod;
use wire::admission::{Contract, Request, State};

use crate::doing::Next;
use crate::networks::{GATES, meters, network, open_vswitch};
use crate::world::{Pair, World, address, guid, mac, packet_of, request};
use testkit::openflow_switch::Packet;

/// Nanoseconds in a millisecond.
pub(crate) const MS: u64 = 1_000_000;

pub(crate) fn contract(bytes: u32, separation: u64) -> Contract {
    Contract {
        largest_message: bytes,
        smallest_message: bytes,
        datagram: 1_472,
        minimum_separation: separation,
        maximum_separation: 0,
        jitter: 0,
        emission: 300_000,
        slack: 0,
        importance: 0,
    }
}

pub(crate) fn pair(number: u8) -> Pair {
    (guid(number, 1), guid(100 + number, 1))
}

/// As for a message that leaves in one segmented send.
pub(crate) fn at_once(bytes: u32, separation: u64) -> Contract {
    Contract { emission: 0, ..contract(bytes, separation) }
}

pub(crate) fn one_switch() -> Network {
    network(&open_vswitch(GATES), 1, &[0, 0, 0, 0], &[])
}

#[test]
fn a_request_is_admitted_and_its_packets_have_the_level() {
    let mut world = World::up(one_switch());
    let asked = request(pair(1), 1, 0, 3, (5000, 6000), contract(8_004, 5 * MS), 5 * MS);
    world.ask(asked.clone());
    assert_eq!(world.state(pair(1)), Some(State::Pending));
    world.settle();
    let verdict = world.verdicts[&pair(1)].clone();
    assert_eq!(verdict.state, State::Admitted, "{}", verdict.reason);
    assert!(verdict.bound > 0 && verdict.bound <= 5 * MS, "{verdict:?}");
    assert_ne!(verdict.dscp, 0);
    assert_eq!(verdict.separation, 5 * MS);
    let arrived = world.send(0, packet_of(&asked, 0, 3, verdict.dscp));
    assert_eq!(arrived.len(), 1);
    assert_eq!(arrived[0].0, 3);
    assert_ne!(arrived[0].1.dscp, 0, "it has the DSCP of a level");
    // The gate knows it, and the store.
    assert_eq!(world.gates[0].len(), 1);
    assert_eq!(world.gates[0].values().next().unwrap().octets, verdict.octets);
    assert_eq!(world.store.len(), 1);
    // Somebody else's packets to the same place have no level, from whatever port.
    for host in [1, 2] {
        let forged = packet_of(&asked, 0, 3, 46);
        assert!(world.send(host, forged).is_empty(), "its address is another host's");
        let arrived = world.send(host, Packet { source: address(host), ..forged });
        assert!(arrived.iter().all(|(_, packet, _)| packet.dscp == 0), "{arrived:?}");
        assert!(arrived.iter().any(|(host, _, _)| *host == 3));
    }
    world.withdraw(pair(1));
    world.pass(Duration::from_millis(100));
    assert!(world.store.is_empty() && world.gates[0].is_empty());
    assert!(world.disposed.contains(&pair(1)));
    let arrived = world.send(0, packet_of(&asked, 0, 3, 46));
    assert!(arrived.iter().all(|(_, packet, _)| packet.dscp == 0));
    assert_eq!(world.manager.report().switches[0].flows, 0);
}

fn entry(world: &World, switch: usize) -> Option<FlowMod> {
    let mut flows = world.switches[switch].flows.iter();
    flows.find(|flow| flow.table.0 == 0 && flow.priority == 60_000).cloned()
}

fn gate(world: &World) -> Option<gate::Contract> {
    world.gates[0].values().next().copied()
}

/// What becomes different from what there is, until there is nothing more: at the last switch, the first one, the gate.
fn changes(world: &mut World) -> Vec<[bool; 3]> {
    let (before, former) = ([entry(world, 0), entry(world, 1)], gate(world));
    let mut order = vec![[false; 3]];
    while let Some(next) = world.next().first().copied() {
        world.happen(next, usize::MAX);
        let changed = [entry(world, 1) != before[1], entry(world, 0) != before[0], gate(world) != former];
        if order.last() != Some(&changed) {
            order.push(changed);
        }
    }
    order
}

/// A flow by two switches, in force, and what its pair asks for next: larger messages.
fn larger_messages() -> (World, Request) {
    let mut world = World::up(network(&open_vswitch(GATES), 2, &[0, 1], &[(0, 1)]));
    let asked = request(pair(1), 1, 0, 1, (5000, 6000), contract(1_004, 20 * MS), 20 * MS);
    world.ask(asked.clone());
    world.pass(Duration::from_secs(1));
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
    assert!(entry(&world, 0).is_some() && entry(&world, 1).is_some(), "the flow passes both");
    let wider = Contract { smallest_message: 1_004, ..contract(1_304, 20 * MS) };
    (world, Request { serial: 2, contract: wider, ..asked })
}

/// What a gate lets through changes last, and entries change from the last switch to the first: until then the gate holds the flow to what
/// the switches have been told of.
#[test]
fn a_gate_has_the_new_contract_when_all_switches_have_the_new_entries() {
    let (mut world, wider) = larger_messages();
    let former = gate(&world).unwrap();
    world.ask(wider);
    let order = changes(&mut world);
    assert_eq!(order, [[false; 3], [true, false, false], [true, true, false], [true; 3]]);
    assert!(gate(&world).unwrap().octets > former.octets);
}

/// The way back is the same: the gate is narrow again before a switch has its former entry. Then the former flow ends, since its request has
/// been refused.
#[test]
fn a_change_that_cannot_be_stored_is_undone_from_the_gate_on() {
    let (mut world, wider) = larger_messages();
    world.store_fails = true;
    world.ask(wider);
    let order = changes(&mut world);
    let (one, two, all) = ([true, false, false], [true, true, false], [true; 3]);
    assert!(order.starts_with(&[[false; 3], one, two, all, two, one, [false; 3]]), "{order:?}");
}

/// At no moment does a switch give frames a level that no gate holds to their contract.
#[test]
fn a_flow_that_cannot_be_stored_leaves_the_switches_before_its_gate() {
    let mut world = World::up(network(&open_vswitch(GATES), 2, &[0, 1], &[(0, 1)]));
    world.store_fails = true;
    world.ask(request(pair(1), 1, 0, 1, (5000, 6000), contract(1_004, 20 * MS), 20 * MS));
    let order = changes(&mut world);
    assert!(order.contains(&[true; 3]), "all of it was there: {order:?}");
    let is_held = |[last, first, gate]: &[bool; 3]| *gate || !first && !last;
    assert!(order.iter().all(is_held), "{order:?}");
    assert_eq!(order.last(), Some(&[false; 3]));
    assert_eq!(world.state(pair(1)), Some(State::Refused));
}

/// The gate bears what the contract asks for beyond itself, and it is stored; the bound is the same.
#[test]
fn slack_of_a_contract_is_borne_by_its_gate() {
    let admitted = |slack| {
        let mut world = World::up(one_switch());
        let contract = Contract { slack, ..contract(8_004, 5 * MS) };
        world.ask(request(pair(1), 1, 0, 3, (5000, 6000), contract, 5 * MS));
        world.settle();
        let verdict = &world.verdicts[&pair(1)];
        assert_eq!((verdict.state, world.gates[0].len()), (State::Admitted, 1), "{}", verdict.reason);
        let stored = world.store.values().next().unwrap().contract.slack;
        (verdict.bound, world.gates[0].values().next().unwrap().window, stored)
    };
    let (bound, window, stored) = admitted(0);
    assert_eq!(stored, 0);
    // By the gate's clock it may be 200 ppm more.
    assert_eq!(admitted(70_000), (bound, window + 70_014, 70_000));
}

/// Table II of the MIDAS paper, sizes divided by 4, times multiplied by 2.5, at 100 Mb/s.
fn table_two(world: &mut World) -> Vec<(State, String)> {
    let flows =
        [(48_048, 7_500_000, 5_000_000), (24_000, 7_500_000, 7_500_000), (16_000, 27_500_000, 20_000_000)];
    for (index, (bytes, separation, limit)) in flows.into_iter().enumerate() {
        let number = u8::try_from(index).unwrap();
        let asked = request(
            pair(number),
            1,
            index,
            3,
            (5000, 6000 + u16::from(number)),
            at_once(bytes + 4, separation),
            limit,
        );
        world.ask(asked);
    }
    // Others move, and what is queued has to leave before the next step.
    world.pass(Duration::from_millis(100));
    let verdict = |number: u8| &world.verdicts[&pair(number)];
    (0..3).map(|number| (verdict(number).state, verdict(number).reason.clone())).collect()
}

#[test]
fn table_two_is_admitted_with_gates_and_refused_with_meters() {
    let mut world = World::up(one_switch());
    let states = table_two(&mut world);
    assert!(states.iter().all(|(state, _)| *state == State::Admitted), "{states:?}");
    for (counts, small) in [(Counts::Wire, false), (Counts::Frame, true)] {
        let mut world = World::up(network(&open_vswitch(meters(counts)), 1, &[0, 0, 0, 0], &[]));
        let states = table_two(&mut world);
        let refused: Vec<_> = states.iter().filter(|(state, _)| *state == State::Refused).collect();
        assert!(!refused.is_empty(), "{states:?}");
        let told =
            |reason: &str| reason.contains("has meters") && reason.contains("in small frames twice") == small;
        // Or others would have to overtake what they have sent before.
        let why = |reason: &str| told(reason) || reason.contains("would have to change levels");
        assert!(refused.iter().any(|(_, reason)| told(reason)), "{refused:?}");
        assert!(refused.iter().all(|(_, reason)| why(reason)), "{refused:?}");
    }
}

/// A meter is set to what it counts, and the place of the flow is that of what it may let through.
#[test]
fn meters_are_set_to_what_the_model_says_they_count() {
    let band = |counts| {
        let mut world = World::up(network(&open_vswitch(meters(counts)), 1, &[0, 0, 0, 0], &[]));
        world.ask(request(pair(1), 1, 0, 3, (5000, 6000), at_once(8_004, 50 * MS), 40 * MS));
        world.settle();
        let verdict = &world.verdicts[&pair(1)];
        assert_eq!(verdict.state, State::Admitted, "{}", verdict.reason);
        let meter = world.switches[0].meters.values().next().unwrap();
        (meter.bands[0].rate, meter.bands[0].burst, verdict.bound)
    };
    // Six fragments, each with 24 bytes more on the wire.
    let (wire, frame) = (band(Counts::Wire), band(Counts::Frame));
    let apart = f64::from(wire.0) - f64::from(frame.0);
    assert!((apart - 6.0 * 24.0 * 8.0 / 50.0).abs() <= 1.0, "{wire:?} {frame:?}");
    // Its bucket is as much smaller, and up to two milliseconds of the rate larger, because it is filled in whole ones.
    let (around, filling) = (6 * 24 * 8 / 1000 + 1, frame.0.div_ceil(1000));
    assert!((wire.1 - around..=wire.1 + 2 * filling).contains(&frame.1), "{wire:?} {frame:?}");
}

fn ping(from: usize, to: usize) -> Packet {
    Packet {
        from: mac(from),
        to: mac(to),
        tag: None,
        kind: 0x0800,
        source: address(from),
        destination: address(to),
        protocol: 1,
        ports: (0, 0),
        dscp: 46,
    }
}

fn arp(from: usize) -> Packet {
    Packet { to: [0xff; 6], kind: 0x0806, dscp: 0, ..ping(from, from) }
}

#[test]
fn a_ring_forwards_what_is_not_admitted_without_loops() {
    let mut world = World::up(network(&open_vswitch(GATES), 3, &[0, 1, 2], &[(0, 1), (1, 2), (2, 0)]));
    let hosts = |arrived: Vec<(usize, Packet, crate::world::Trace)>| {
        let mut hosts: Vec<usize> = arrived.into_iter().map(|(host, _, _)| host).collect();
        hosts.sort_unstable();
        hosts
    };
    assert_eq!(hosts(world.send(0, arp(0))), [1, 2]);
    assert_eq!(hosts(world.send(1, arp(1))), [0, 2]);
    assert_eq!(hosts(world.send(2, arp(2))), [0, 1]);
    // Now everybody is known.
    world.settle();
    let arrived = world.send(0, ping(0, 2));
    assert_eq!(arrived.len(), 1);
    assert_eq!((arrived[0].0, arrived[0].1.dscp), (2, 0));
    // A link of the tree breaks: the others carry on.
    let broken = arrived[0].2.iter().find(|(link, _)| *link >= 6).unwrap().0;
    world.cable(broken, false);
    world.settle();
    assert_eq!(hosts(world.send(0, arp(0))), [1, 2]);
    assert_eq!(hosts(world.send(2, arp(2))), [0, 1]);
    world.settle();
    assert_eq!(hosts(world.send(0, ping(0, 2))), [2]);
    world.cable(broken, true);
    world.settle();
    assert_eq!(hosts(world.send(1, arp(1))), [0, 2]);
}

/// The tree changes while all its cables are up, and two switches are slow: they have closed nothing of the former tree, so the others
/// may open nothing of the new one.
#[test]
fn while_the_tree_changes_nothing_goes_round() {
    let mut world =
        World::up(network(&open_vswitch(GATES), 4, &[0, 1, 2, 3], &[(0, 1), (1, 2), (2, 3), (3, 0)]));
    // The first cable, and the third one, there and back.
    let (first, across) = ([8, 9], [12, 13]);
    // Where a broadcast comes to, and by which of the two cables.
    let broadcast = |world: &mut World| {
        let arrived = world.send(0, arp(0));
        let by = |cable: [usize; 2]| {
            arrived.iter().flat_map(|(_, _, trace)| trace).any(|(link, _)| cable.contains(link))
        };
        let mut hosts: Vec<usize> = arrived.iter().map(|(host, _, _)| *host).collect();
        hosts.sort_unstable();
        (hosts, by(first), by(across))
    };
    let everybody = vec![1, 2, 3];
    assert_eq!(broadcast(&mut world), (everybody.clone(), true, false));
    world.cable(first[0], false);
    world.settle();
    assert_eq!(broadcast(&mut world), (everybody.clone(), false, true));
    world.cable(first[0], true);
    let is_slow = |next: Next| matches!(next, Next::Octets(2 | 3, _));
    world.settle_if(|next| !is_slow(next));
    assert_eq!(broadcast(&mut world), (everybody.clone(), false, true), "the former tree, and nothing else");
    world.settle();
    assert_eq!(broadcast(&mut world), (everybody, true, false));
}
