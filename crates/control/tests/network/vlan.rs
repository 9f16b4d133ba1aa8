//! VLAN tags that nothing allows: a host that writes them gains no level and no part of the reserved class, and is named.
use std::time::Duration;

use control::network::Network;
use control::note::Note;
use gate::class;
use latency::port::Control;
use openflow::flow::FlowMod;
use openflow::oxm::OxmField;
use testkit::openflow_switch::{Packet, Tag};
use wire::admission::{Request, State};

use crate::cases::{MS, at_once, pair};
use crate::judge::announcement;
use crate::networks::{GATES, METERS, network, network_with, open_vswitch};
use crate::world::{World, packet_of, request};

/// VLAN ids that hosts might write: none (a tag for the priority alone), some, and the one that is reserved.
const IDS: [u16; 4] = [0, 1, 5, 4_095];

/// A packet with one tag, and with two; with two no switch looks at what is in it.
fn tagged(packet: Packet) -> Vec<Packet> {
    let with = |vid: u16| Packet { tag: Some(Tag { vid, pcp: 7 }), ..packet };
    let double = |packet: Packet| Packet { kind: 0x8100, ..packet };
    IDS.into_iter().map(with).flat_map(|one| [one, double(one)]).collect()
}

fn line(guard: latency::switch::Guard) -> Network {
    network(&open_vswitch(guard), 2, &[0, 0, 1, 1], &[(0, 1)])
}

fn admitted(network: Network) -> (World, Request) {
    let mut world = World::up(network);
    world.greet();
    let asked = request(pair(1), 1, 0, 2, (5_000, 6_000), at_once(1_000, 5 * MS), 8 * MS);
    world.ask(asked.clone());
    world.settle();
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts);
    world.pass(Duration::from_secs(1));
    let _ = notes(&mut world);
    (world, asked)
}

fn notes(world: &mut World) -> Vec<Note> {
    std::iter::from_fn(|| world.manager.poll_note()).collect()
}

/// The hosts that were named, with the number of tagged frames.
fn named(world: &mut World) -> Vec<(String, u64)> {
    let told = notes(world).into_iter().filter_map(|note| match note {
        Note::Tagged { from, frames, .. } => Some((from, frames)),
        _ => None,
    });
    told.collect()
}

/// Whether an entry matches tagged frames alone.
fn is_for_tags(flow: &FlowMod) -> bool {
    flow.matching.get(OxmField::VlanVid).is_some_and(|oxm| oxm.value() != 0)
}

#[test]
fn a_tagged_frame_of_an_admitted_flow_goes_nowhere_and_its_host_is_named() {
    for guard in [GATES, METERS] {
        let (mut world, asked) = admitted(line(guard));
        let dscp = world.verdicts[&pair(1)].dscp;
        let packet = packet_of(&asked, 0, 2, dscp);
        let all = tagged(packet);
        for tagged in &all {
            assert!(world.send(0, *tagged).is_empty(), "{tagged:?}");
        }
        assert_eq!(world.send(0, packet).len(), 1, "without a tag it is the flow's");
        world.pass(Duration::from_secs(2));
        assert_eq!(named(&mut world), [("h0".to_owned(), all.len() as u64)]);
        world.pass(Duration::from_secs(20));
        assert_eq!(named(&mut world), [], "once");
        world.send(0, all[0]);
        world.pass(Duration::from_secs(2));
        assert_eq!(named(&mut world), [("h0".to_owned(), 1)]);
    }
}

/// What leads to a level matches untagged frames by itself: it is no matter if an operator takes the entry away that drops others.
#[test]
fn without_the_entry_that_drops_them_tagged_frames_have_no_level_either() {
    for guard in [GATES, METERS] {
        let (mut world, asked) = admitted(line(guard));
        let flows = world.switches.iter().map(|switch| switch.flows.len()).sum::<usize>();
        for switch in &mut world.switches {
            switch.flows.retain(|flow| !is_for_tags(flow));
        }
        let left = world.switches.iter().map(|switch| switch.flows.len()).sum::<usize>();
        assert_eq!(flows - left, 6, "one for each port");
        for tagged in tagged(packet_of(&asked, 0, 2, world.verdicts[&pair(1)].dscp)) {
            for (_, packet, trace) in world.send(0, tagged) {
                let has_level = packet.kind == 0x0800 && trace.iter().skip(1).any(|(_, dscp)| *dscp != 0);
                assert!(!has_level, "{packet:?} {trace:?}");
            }
            // Nor as if it came from the other switch.
            let trunk = world.network.links.iter().rfind(|link| link.number > 0).unwrap();
            let (switch, port) = (world.network.switch_of(trunk.from).unwrap(), trunk.number);
            for dscp in [10, 18, 46, class::CONTROL] {
                let fate = world.switches[switch].forward(port, Packet { dscp, ..tagged });
                let levels = fate.out.iter().filter(|(_, packet)| packet.kind == 0x0800 && packet.dscp != 0);
                assert_eq!(levels.count(), 0, "{fate:?}");
            }
        }
        world.pass(Duration::from_secs(2));
        let right = world.switches.iter().map(|switch| switch.flows.len()).sum::<usize>();
        assert_eq!(right, flows, "it is put right");
    }
}

#[test]
fn tagged_discovery_has_no_part_of_the_reserved_class() {
    let control = Control { burst: 12_000 * 8, rate: 2_000_000 };
    let mut world = World::up(network_with(Some(control), &open_vswitch(GATES), 2, &[0, 0, 1, 1], &[(0, 1)]));
    world.greet();
    world.pass(Duration::from_secs(1));
    let classes = |arrived: Vec<(usize, Packet, crate::world::Trace)>| -> Vec<u8> {
        arrived
            .into_iter()
            .flat_map(|(_, _, trace)| trace.into_iter().skip(1))
            .map(|(_, dscp)| dscp)
            .collect()
    };
    let announced = Packet { dscp: class::CONTROL, ..announcement(0) };
    assert!(classes(world.send(0, announced)).contains(&class::CONTROL), "there is a class");
    for tagged in tagged(announced) {
        assert!(world.send(0, tagged).is_empty());
    }
    for switch in &mut world.switches {
        switch.flows.retain(|flow| !is_for_tags(flow));
    }
    for tagged in tagged(announced).into_iter().filter(|packet| packet.kind == 0x0800) {
        assert!(classes(world.send(0, tagged)).iter().all(|dscp| *dscp == 0));
    }
}

#[test]
fn what_gates_have_dropped_is_told_with_the_name_of_the_host() {
    let (mut world, _) = admitted(line(GATES));
    world.tagged_at_gates.insert((1, 2), 40);
    // A port that the network does not have is of no matter.
    world.tagged_at_gates.insert((1, 60), 40);
    world.pass(Duration::from_secs(2));
    assert_eq!(named(&mut world), [("h3".to_owned(), 40)]);
    // An agent that was started anew counts from 0.
    world.tagged_at_gates.insert((1, 2), 0);
    world.pass(Duration::from_secs(20));
    world.tagged_at_gates.insert((1, 2), 3);
    world.pass(Duration::from_secs(2));
    assert_eq!(named(&mut world), [("h3".to_owned(), 3)]);
}

/// Tagged frames change neither cabling nor the places of addresses.
#[test]
fn the_manager_hears_nothing_of_tagged_frames() {
    let (world, _) = admitted(line(GATES));
    let arp = Packet { kind: 0x0806, source: [10, 9, 9, 9].into(), from: [6; 6], ..announcement(1) };
    let neighbour = Packet { kind: 0x88cc, to: lldp::NEAREST_BRIDGE, ..announcement(1) };
    for packet in [arp, neighbour] {
        for tagged in tagged(packet).into_iter().filter(|tagged| tagged.kind == packet.kind) {
            let fate = world.switches[0].forward(2, tagged);
            assert!(fate.copies.is_empty() && fate.out.is_empty(), "{fate:?}");
        }
        assert!(!world.switches[0].forward(2, packet).copies.is_empty(), "without a tag it does");
    }
}
