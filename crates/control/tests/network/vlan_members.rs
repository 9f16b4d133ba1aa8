//! Hosts in VLANs: flows keep their tag, best effort stays among members, and a tag of another VLAN gains nothing.
use std::collections::BTreeSet;
use std::time::Duration;

use control::network::{Network, NetworkError};
use control::note::Note;
use control::{ResourceManager, config::Config};
use openflow::oxm::OxmField;
use testkit::openflow_switch::{Packet, Tag};
use wire::admission::{Request, State};

use crate::cases::{MS, at_once, pair};
use crate::counts::Fault;
use crate::networks::{GATES, METERS, network, open_vswitch, with_vlans};
use crate::seeds::Play;
use crate::world::{
    World, address, in_vlan, mac, over_ipv6, packet_of, request, vlan_address, vlan_address6,
};

/// Three switches in a row with two hosts each: the first of each is in VLAN 10, those of the last switch are in 20, and host 1 is in none.
const VLANS: [&[u16]; 6] = [&[10], &[], &[10], &[], &[10, 20], &[20]];

fn row(guard: latency::switch::Guard) -> Network {
    let plain = network(&open_vswitch(guard), 3, &[0, 0, 1, 1, 2, 2], &[(0, 1), (1, 2)]);
    with_vlans(plain, |host| VLANS[host].to_vec())
}

fn up(guard: latency::switch::Guard) -> World {
    let mut world = World::up(row(guard));
    world.greet();
    world
}

fn asked(number: u8, from: usize, to: usize) -> Request {
    let ports = (5_000, 6_000 + u16::from(number));
    request(pair(number), 1, from, to, ports, at_once(1_000, 5 * MS), 8 * MS)
}

fn admit(world: &mut World, asked: &Request) {
    world.ask(asked.clone());
    world.settle();
    world.pass(Duration::from_secs(1));
    assert_eq!(world.state(asked.pair()), Some(State::Admitted), "{:?}", world.verdicts);
}

/// Whether a way has a level on any link but the first.
fn has_level(trace: &[(usize, u8)]) -> bool {
    trace.iter().skip(1).any(|(_, dscp)| *dscp != 0)
}

#[test]
fn a_flow_in_a_vlan_keeps_its_tag_and_has_its_level_on_every_link() {
    for guard in [GATES, METERS] {
        for six in [false, true] {
            let mut world = up(guard);
            let plain = asked(1, 0, 4);
            let asked = in_vlan(if six { over_ipv6(plain, 0, 4) } else { plain }, 10, 0, 4);
            admit(&mut world, &asked);
            let packet = packet_of(&asked, 0, 4, world.verdicts[&pair(1)].dscp);
            let arrived = world.send(0, packet);
            let [(host, heard, trace)] = &arrived[..] else { panic!("{arrived:?}") };
            assert_eq!((*host, heard.tag, trace.len()), (4, packet.tag, 4));
            assert!(trace.iter().all(|(_, dscp)| *dscp != 0), "{trace:?}");
            // Its tag identifies it, and the priority in the tag has no effect.
            let one = world.send(0, Packet { tag: Some(Tag { vid: 10, pcp: 0 }), ..packet });
            assert_eq!((one.len(), &one[0].2), (1, trace));
            for tag in [
                None,
                Some(Tag { vid: 20, pcp: 7 }),
                Some(Tag { vid: 5, pcp: 7 }),
                Some(Tag { vid: 0, pcp: 7 }),
            ] {
                let others = world.send(0, Packet { tag, ..packet });
                assert!(others.is_empty(), "{tag:?} {others:?}");
            }
            // Nor does another member have its level, whatever it writes.
            assert!(world.send(2, packet).is_empty());
        }
    }
}

/// The same contract, with four bytes more for each frame of the largest message.
#[test]
fn the_gate_of_a_flow_in_a_vlan_has_room_for_its_tags() {
    let counted = |id: Option<u16>| {
        let mut world = up(GATES);
        let plain = Request { contract: at_once(4_000, 5 * MS), ..asked(1, 0, 4) };
        let asked = match id {
            Some(id) => in_vlan(plain, id, 0, 4),
            None => plain,
        };
        admit(&mut world, &asked);
        let contracts: Vec<u32> = world.gates[0].values().map(|contract| contract.octets).collect();
        assert_eq!(contracts.len(), 1);
        contracts[0]
    };
    assert_eq!(counted(Some(10)) - counted(None), 3 * 4);
}

#[test]
fn a_flow_stays_in_one_vlan() {
    let mut world = up(GATES);
    let inside = in_vlan(asked(1, 0, 4), 10, 0, 4);
    let other = in_vlan(asked(1, 0, 4), 20, 0, 4);
    let cases = [
        (
            1,
            Request { destination: asked(1, 0, 4).destination, ..inside.clone() },
            "in VLAN 10, the reader's 10.0.0.5 in no VLAN",
        ),
        (
            2,
            Request { destination: other.destination, ..inside.clone() },
            "in VLAN 10, the reader's 10.20.0.5 in VLAN 20",
        ),
        (
            3,
            Request { source: asked(1, 0, 4).source, ..inside.clone() },
            "in no VLAN, the reader's 10.10.0.5 in VLAN 10",
        ),
        // Not a member.
        (4, in_vlan(asked(1, 1, 4), 10, 1, 4), "no host of the network has the address 10.10.0.2"),
    ];
    for (number, case, reason) in cases {
        let case = Request { writer: pair(number).0.to_bytes(), reader: pair(number).1.to_bytes(), ..case };
        world.ask(case);
        world.pass(Duration::from_secs(15));
        let verdict = &world.verdicts[&pair(number)];
        assert_eq!(verdict.state, State::Refused, "{verdict:?}");
        assert!(verdict.reason.contains(reason), "{}", verdict.reason);
    }
}

/// What a host says to all of a VLAN, and to a member of it.
fn said(from: usize, to: Option<usize>, id: u16) -> Vec<Packet> {
    let of = |kind: u16, source| Packet {
        from: mac(from),
        to: to.map_or([0xff; 6], mac),
        tag: Some(Tag { vid: id, pcp: 7 }),
        kind,
        source,
        destination: if kind == 0x86dd { vlan_address6(id, 4) } else { vlan_address(id, 4) },
        protocol: if kind == 0x86dd { 58 } else { 17 },
        ports: if kind == 0x86dd { (135, 0) } else { (7_400, 7_411) },
        dscp: 46,
    };
    let mut local = [0; 16];
    (local[0], local[1], local[15]) = (0xfe, 0x80, 9);
    let sources = [
        vlan_address6(id, from),
        wire::admission::Address::from_bytes(local),
        wire::admission::Address::from_bytes([0; 16]),
    ];
    let mut all = vec![
        of(0x0800, vlan_address(id, from)),
        of(0x0806, vlan_address(id, from)),
        of(0x0806, [0; 4].into()),
    ];
    all.extend(sources.map(|source| of(0x86dd, source)));
    all
}

fn hosts(arrived: &[(usize, Packet, crate::world::Trace)]) -> BTreeSet<usize> {
    arrived.iter().map(|(host, _, _)| *host).collect()
}

#[test]
fn best_effort_of_a_vlan_comes_to_its_members_alone() {
    for guard in [GATES, METERS] {
        let mut world = up(guard);
        for (id, members) in [(10, vec![0, 2, 4]), (20, vec![4, 5])] {
            for from in &members {
                for packet in said(*from, None, id) {
                    let arrived = world.send(*from, packet);
                    let others: BTreeSet<usize> = members.iter().filter(|to| *to != from).copied().collect();
                    assert_eq!(hosts(&arrived), others, "{packet:?}");
                    assert_eq!(arrived.len(), others.len(), "once: {packet:?}");
                    for (_, heard, trace) in &arrived {
                        assert_eq!(heard.tag.map(|tag| tag.vid), Some(id));
                        assert!(packet.kind == 0x0806 || !has_level(trace), "{trace:?}");
                    }
                }
                // To one of them it goes there alone; to a host that is none, to the members as if it were unknown.
                let to = *members.iter().find(|to| *to != from).unwrap();
                for packet in said(*from, Some(to), id) {
                    assert_eq!(hosts(&world.send(*from, packet)), BTreeSet::from([to]));
                }
                for packet in said(*from, Some(1), id) {
                    assert!(!hosts(&world.send(*from, packet)).contains(&1));
                }
            }
        }
        world.pass(Duration::from_secs(2));
        let named =
            std::iter::from_fn(|| world.manager.poll_note()).any(|note| matches!(note, Note::Tagged { .. }));
        assert!(!named, "no host has done anything wrong");
    }
}

#[test]
fn who_is_not_in_a_vlan_or_claims_what_is_not_its_own_is_not_heard_there() {
    let mut world = up(GATES);
    for (from, id) in [(1, 10), (3, 10), (5, 10), (0, 20), (1, 20)] {
        for packet in said(from, None, id).into_iter().chain(said(4, None, id)) {
            let arrived = world.send(from, packet);
            assert!(arrived.is_empty(), "{packet:?} of {from}: {arrived:?}");
        }
    }
    // A member that claims another one's address, IP or Ethernet, or that of its own outside.
    for packet in said(0, None, 10).into_iter().take(2) {
        let claims = [
            Packet { source: vlan_address(10, 2), ..packet },
            Packet { from: mac(2), ..packet },
            Packet { source: address(0), ..packet },
        ];
        for claim in claims {
            assert!(world.send(0, claim).is_empty(), "{claim:?}");
        }
    }
    // What advertises a neighbour's address. The target is the destination in the model of a packet.
    let own = said(0, None, 10).into_iter().find(|packet| packet.kind == 0x86dd).unwrap();
    let advertises = |host: usize| Packet { ports: (136, 0), destination: vlan_address6(10, host), ..own };
    assert!(world.send(0, advertises(2)).is_empty());
    assert_eq!(hosts(&world.send(0, advertises(0))), BTreeSet::from([2, 4]));
    // Without a tag no host has an address of a VLAN.
    let bare = Packet { tag: None, ..said(0, None, 10)[0] };
    assert!(world.send(0, bare).is_empty() && world.send(1, Packet { from: mac(1), ..bare }).is_empty());
    // And what has no tag is as it always was.
    let plain = Packet { source: address(0), destination: address(1), ..bare };
    assert!(hosts(&world.send(0, plain)).contains(&1));
}

#[test]
fn who_writes_other_tags_is_named_and_members_are_not() {
    let mut world = up(GATES);
    world.pass(Duration::from_secs(2));
    let _ = std::iter::from_fn(|| world.manager.poll_note()).count();
    let packet = said(0, None, 10)[0];
    for (from, vid) in [(0, 20), (1, 10), (1, 5), (4, 0), (4, 10)] {
        world.send(
            from,
            Packet {
                from: mac(from),
                source: vlan_address(10, from),
                tag: Some(Tag { vid, pcp: 0 }),
                ..packet
            },
        );
    }
    world.pass(Duration::from_secs(2));
    let mut named: Vec<(String, u64)> = std::iter::from_fn(|| world.manager.poll_note())
        .filter_map(|note| match note {
            Note::Tagged { from, frames, .. } => Some((from, frames)),
            _ => None,
        })
        .collect();
    named.sort();
    assert_eq!(named, [("h0".to_owned(), 1), ("h1".to_owned(), 2), ("h4".to_owned(), 1)]);
}

/// Between switches a frame without a level is none of a flow's, whatever its tag.
#[test]
fn between_switches_nothing_without_a_level_has_one_again() {
    let mut world = up(GATES);
    let asked = in_vlan(asked(1, 0, 4), 10, 0, 4);
    admit(&mut world, &asked);
    let packet = packet_of(&asked, 0, 4, 0);
    let trunk = world
        .network
        .leaving(world.network.switch_node(1))
        .find(|(_, link)| link.to == world.network.switch_node(0));
    let port = trunk.unwrap().1.number;
    let fate = world.switches[1].forward(port, packet);
    assert!(!fate.out.is_empty() && fate.out.iter().all(|(_, packet)| packet.dscp == 0), "{fate:?}");
    let level = world.verdicts[&pair(1)].dscp;
    let fate = world.switches[1].forward(port, Packet { dscp: level, ..packet });
    assert_eq!((fate.out.len(), fate.out[0].1.dscp != 0), (1, true), "the flow has");
}

#[test]
fn readers_in_a_vlan_share_a_flow_with_its_tag() {
    let mut world = up(GATES);
    let first = in_vlan(asked(1, 0, 2), 10, 0, 2);
    let second = Request { reader: pair(2).1.to_bytes(), ..in_vlan(asked(1, 0, 4), 10, 0, 4) };
    admit(&mut world, &first);
    admit(&mut world, &second);
    world.pass(Duration::from_secs(5));
    let verdict = world.verdicts[&second.pair()].clone();
    assert!(verdict.destination.address.is_multicast(), "{verdict:?}");
    let sent = packet_of(&Request { destination: verdict.destination, ..second }, 0, 4, verdict.dscp);
    let arrived = world.send(0, sent);
    assert_eq!((hosts(&arrived), arrived.len()), (BTreeSet::from([2, 4]), 2), "{arrived:?}");
    assert!(arrived.iter().all(|(_, heard, trace)| heard.tag == sent.tag && has_level(trace)));
    assert!(world.send(0, Packet { tag: None, ..sent }).is_empty());
}

/// A network file in which a member is in the VLAN no more: its flow has no place there.
#[test]
fn a_flow_whose_host_leaves_the_vlan_is_an_obstacle() {
    let mut world = up(GATES);
    admit(&mut world, &in_vlan(asked(1, 0, 4), 10, 0, 4));
    let obstacles = |network: Network| world.manager.obstacles_to(network, solver::multipliers).unwrap();
    assert!(obstacles(world.network.clone()).is_empty());
    let mut without = world.network.clone();
    without.hosts[4].vlans.retain(|vlan| vlan.id != 10);
    let found = obstacles(without);
    assert!(found.len() == 1 && found[0].reason.contains("not in one VLAN"), "{found:?}");
}

#[test]
fn vlans_without_ids_addresses_or_ethernet_addresses_are_refused() {
    let wrong = |spoil: &dyn Fn(&mut Network)| {
        let mut network = row(GATES);
        spoil(&mut network);
        ResourceManager::new(Config::default(), network, 1).err()
    };
    assert_eq!(wrong(&|_| ()), None);
    let h0 = Some(NetworkError::Vlan("h0".into()));
    assert_eq!(wrong(&|network| network.hosts[0].mac = None), h0);
    assert_eq!(wrong(&|network| network.hosts[0].vlans[0].id = 0), h0);
    assert_eq!(wrong(&|network| network.hosts[0].vlans[0].id = 4_095), h0);
    assert_eq!(wrong(&|network| network.hosts[0].vlans[0].addresses.clear()), h0);
    assert_eq!(
        wrong(&|network| network.hosts[0].vlans.extend_from_within(..)),
        Some(NetworkError::Address(vlan_address(10, 0)))
    );
    let taken = vlan_address(10, 2);
    assert_eq!(wrong(&|network| network.hosts[0].addresses.push(taken)), Some(NetworkError::Address(taken)));
}

/// What is in force for VLANs matches a tag: it is no matter to frames without one.
#[test]
fn entries_of_vlans_match_their_tags() {
    let world = up(GATES);
    let plain = World::up(network(&open_vswitch(GATES), 3, &[0, 0, 1, 1, 2, 2], &[(0, 1), (1, 2)]));
    let of_vlans = |world: &World| -> usize {
        let flows = world.switches.iter().flat_map(|switch| &switch.flows);
        flows
            .filter(|flow| {
                (65_201..=65_499).contains(&flow.priority)
                    || flow.table.0 == 2 && (155..=170).contains(&flow.priority)
            })
            .inspect(|flow| {
                assert!(
                    flow.matching.get(OxmField::VlanVid).is_some_and(|oxm| oxm.value() & 0xfff > 0),
                    "{flow:?}"
                )
            })
            .count()
    };
    assert!(of_vlans(&world) > 40, "{}", of_vlans(&world));
    assert_eq!(of_vlans(&plain), 0);
}

impl Play {
    /// What is in a VLAN comes to members alone, and from members with their own addresses alone, without a level.
    pub(crate) fn strange_tagged_packets(&mut self, from: usize, to: usize) {
        let Some(random) = &mut self.mix.vlans else { return };
        let id = *random.of(&[10, 20]);
        let claimed = if random.one_in(3) { to } else { from };
        let kind = *random.of(&[0x0800, 0x0806, 0x86dd]);
        let address = if kind == 0x86dd { vlan_address6 } else { vlan_address };
        let packet = Packet {
            from: mac(if random.one_in(6) { to } else { from }),
            to: if random.one_in(2) { [0xff; 6] } else { mac(to) },
            tag: Some(Tag { vid: id, pcp: 7 }),
            kind,
            source: address(id, claimed),
            destination: address(id, to),
            protocol: 17,
            ports: (7_400, *random.of(&[7_400, 7_410, 7_411])),
            dscp: *random.of(&[0, 10, 18, 46, 48]),
        };
        let is_in =
            |world: &World, host: usize| world.network.hosts[host].vlans.iter().any(|vlan| vlan.id == id);
        let may_send = is_in(&self.world, from) && claimed == from && packet.from == mac(from);
        for (host, heard, trace) in self.world.send(from, packet) {
            assert!(may_send && is_in(&self.world, host), "{packet:?} from {from} comes to {host}");
            assert_eq!(heard.tag.map(|tag| tag.vid), Some(id), "{packet:?} from {from} has lost its tag");
            let has_level = trace.iter().skip(1).any(|(_, dscp)| *dscp != 0) && kind != 0x0806;
            assert!(!has_level, "{packet:?} from {from} has a level: {trace:?}");
            self.world.counts.add(Fault::HeardInVlan);
        }
    }

    /// A packet of an admitted flow has no level with another tag than that of the flow, nor without one.
    pub(crate) fn other_tags_gain_nothing(&mut self, from: usize, sent: Packet) {
        let tags = [
            None,
            Some(Tag { vid: 10, pcp: 7 }),
            Some(Tag { vid: 20, pcp: 7 }),
            Some(Tag { vid: 5, pcp: 7 }),
        ];
        let Some(random) = &mut self.mix.vlans else { return };
        let tag = *random.of(&tags);
        if tag == sent.tag {
            return;
        }
        for (host, heard, trace) in self.world.send(from, Packet { tag, ..sent }) {
            let has_level = trace.iter().skip(1).any(|(_, dscp)| *dscp != 0);
            assert!(!has_level, "{heard:?} at {host} has a level: {trace:?}");
        }
    }
}
