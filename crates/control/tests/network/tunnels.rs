//! Tunnels of who manages more than the network: what goes into them, that they are told apart, and how they end.
use std::time::Duration;

use control::tunnels::{Packets, TunnelState, TunnelStatus, TunnelWish, TunnelsWanted};
use frames::{Bounds, Contract, Counts, Effort, Flow, Hop, Network, Node, Policer, Port, Random, Search};
use openflow::flow::FlowMod;
use openflow::instruction::Instruction;
use openflow::oxm::OxmField;
use testkit::openflow_switch::Packet;

use crate::networks::{GATES, METERS, network, open_vswitch, with_one_queue};
use crate::world::{World, address, mac};

const OWNER: u32 = 65_003;
const LIFETIME: Duration = Duration::from_secs(7);
const SECOND: Duration = Duration::from_secs(1);
const MBIT: u64 = 1_000_000;
const MS: u64 = 1_000_000;

/// Two switches in a row: a router and a host at the first, two hosts at the second.
fn up() -> World {
    let mut world = World::up(with_one_queue(network(&open_vswitch(METERS), 2, &[0, 0, 1, 1], &[(0, 1)])));
    world.greet();
    world.settle();
    world
}

fn wish(id: &str, from: usize, to: usize) -> TunnelWish {
    TunnelWish {
        id: id.into(),
        from: format!("h{from}"),
        to: format!("h{to}"),
        packets: Packets::Codepoint(46),
        rate: MBIT,
        burst: 4_000,
        least_packet: 1_000,
        largest_packet: 1_000,
        jitter: MS,
        limit: 5 * MS,
        importance: 7,
    }
}

fn wanted(tunnels: &[TunnelWish]) -> TunnelsWanted {
    let lifetime = u64::try_from(LIFETIME.as_nanos()).unwrap();
    TunnelsWanted { lifetime, keep_others: false, tunnels: tunnels.to_vec() }
}

fn hold(world: &mut World, tunnels: &[TunnelWish]) -> Vec<TunnelStatus> {
    world.manager.hold_tunnels(world.now, OWNER, &wanted(tunnels)).unwrap();
    world.collect();
    world.settle();
    world.manager.tunnels_of(OWNER)
}

fn states(all: &[TunnelStatus]) -> Vec<TunnelState> {
    all.iter().map(|status| status.state).collect()
}

/// A packet from far away that the router hands on.
fn from_afar(router: usize, to: usize, dscp: u8) -> Packet {
    Packet {
        from: mac(router),
        to: mac(to),
        tag: None,
        kind: 0x0800,
        source: [172, 16, 9, 1].into(),
        destination: address(to),
        protocol: 17,
        ports: (40_000, 7_411),
        dscp,
    }
}

/// The codepoints that a packet has behind its first hop, where it arrives at a host, and the host.
fn way(world: &mut World, from: usize, packet: Packet) -> Vec<(usize, Packet, Vec<u8>)> {
    let arrived = world.send(from, packet);
    let codepoints = |trace: &[(usize, u8)]| trace.iter().skip(1).map(|(_, dscp)| *dscp).collect();
    arrived.into_iter().map(|(host, packet, trace)| (host, packet, codepoints(&trace))).collect()
}

fn is_served(world: &mut World, from: usize, packet: Packet, to: usize) -> bool {
    let arrived = way(world, from, packet);
    arrived.len() == 1
        && arrived[0].0 == to
        && arrived[0].1.to == mac(to)
        && !arrived[0].2.is_empty()
        && arrived[0].2.iter().all(|dscp| *dscp != 0)
}

fn rules(world: &World) -> Vec<&FlowMod> {
    let flows = world.switches.iter().flat_map(|switch| &switch.flows);
    flows
        .filter(|flow| flow.table.0 == 0 && flow.cookie & 0xffff_ff00_0000_0000 == 0x5043_0200_0000_0000)
        .collect()
}

fn meters(world: &World) -> usize {
    world.switches.iter().map(|switch| switch.meters.len()).sum()
}

#[test]
fn packets_with_its_codepoint_have_a_level_to_the_station_and_no_others() {
    let mut world = up();
    let before = meters(&world);
    let all = hold(&mut world, &[wish("01", 0, 2)]);
    assert_eq!(states(&all), [TunnelState::Admitted], "{all:?}");
    assert!(all[0].bound > 0 && all[0].bound <= 5 * MS && all[0].grant > 0, "{all:?}");
    assert_eq!((world.store.len(), rules(&world).len(), meters(&world) - before), (1, 2, 1));
    assert!(is_served(&mut world, 0, from_afar(0, 2, 46), 2));
    let plain = from_afar(0, 2, 46);
    for (host, packet) in [
        (0, from_afar(0, 2, 34)),
        (0, from_afar(0, 2, 0)),
        (0, from_afar(0, 3, 46)),
        (0, Packet { protocol: 6, ..plain }),
        (1, from_afar(1, 2, 46)),
        (3, from_afar(3, 2, 46)),
    ] {
        assert!(!is_served(&mut world, host, packet, packet.to[5] as usize - 1), "{host} {packet:?}");
    }
    // A host that knows the address of a tunnel on its way does not get into it.
    let label = rules(&world).iter().find_map(|rule| {
        let to = rule.matching.get(OxmField::EthDst)?.value().to_be_bytes();
        let to: [u8; 6] = to[10..].try_into().unwrap();
        (to != mac(2)).then_some(to)
    });
    let forged = Packet { to: label.unwrap(), ..from_afar(1, 2, 46) };
    assert!(
        way(&mut world, 1, forged).iter().all(|(_, _, codepoints)| codepoints.iter().all(|dscp| *dscp == 0))
    );
}

#[test]
fn tunnels_over_the_same_links_are_told_apart() {
    let mut world = up();
    let flow = |port: u16| Packets::Flow {
        source: [10, 0, 0, 2].into(),
        source_port: 0,
        destination: [172, 16, 9, 1].into(),
        destination_port: port,
    };
    let wish =
        |id: &str, from: usize, to: usize| TunnelWish { limit: 40 * MS, burst: 1_000, ..wish(id, from, to) };
    let other =
        |id: &str, codepoint: u8| TunnelWish { packets: Packets::Codepoint(codepoint), ..wish(id, 0, 2) };
    let all = hold(
        &mut world,
        &[
            wish("01", 0, 2),
            other("02", 34),
            wish("03", 1, 2),
            wish("04", 0, 3),
            TunnelWish { packets: flow(7_400), ..wish("05", 1, 0) },
            TunnelWish { packets: flow(7_401), ..wish("06", 1, 3) },
        ],
    );
    assert_eq!(all.len(), 6);
    // Those before give time of theirs to those that come later, one after the other.
    world.pass(SECOND);
    let all = world.manager.tunnels_of(OWNER);
    assert_eq!(states(&all), [TunnelState::Admitted; 6], "{all:?}");
    for (from, to, dscp) in [(0, 2, 46), (0, 2, 34), (1, 2, 46), (0, 3, 46)] {
        assert!(is_served(&mut world, from, from_afar(from, to, dscp), to), "{from} {to} {dscp}");
    }
    let out = |to: usize, port: u16| Packet {
        source: address(1),
        destination: [172, 16, 9, 1].into(),
        ports: (5_000, port),
        ..from_afar(1, to, 0)
    };
    assert!(is_served(&mut world, 1, out(0, 7_400), 0) && is_served(&mut world, 1, out(3, 7_401), 3));
    assert!(!is_served(&mut world, 1, out(0, 7_402), 0) && !is_served(&mut world, 1, out(3, 7_400), 3));
    // One of them goes, and the others stay.
    let left = hold(&mut world, &[other("02", 34), wish("03", 1, 2)]);
    assert_eq!(states(&left), [TunnelState::Admitted; 2]);
    world.pass(SECOND);
    assert!(
        is_served(&mut world, 0, from_afar(0, 2, 34), 2) && is_served(&mut world, 1, from_afar(1, 2, 46), 2)
    );
    assert!(!is_served(&mut world, 0, from_afar(0, 2, 46), 2) && !is_served(&mut world, 1, out(0, 7_400), 0));
    assert_eq!(world.store.len(), 2);
}

#[test]
fn packets_of_two_tunnels_are_refused_and_wait_for_one_that_leaves() {
    let mut world = up();
    let all = hold(&mut world, &[wish("01", 0, 2), wish("02", 0, 2)]);
    assert_eq!(states(&all), [TunnelState::Admitted, TunnelState::Refused], "{all:?}");
    assert!(all[1].reason.contains("those of another tunnel"), "{all:?}");
    // Another owner has no other packets.
    world.manager.hold_tunnels(world.now, 1, &wanted(&[wish("01", 0, 2)])).unwrap();
    world.collect();
    world.settle();
    assert_eq!(states(&world.manager.tunnels_of(1)), [TunnelState::Refused]);
    world.acknowledge = false;
    let first = hold(&mut world, &[wish("02", 0, 2)]);
    assert_eq!(states(&first), [TunnelState::Refused], "its entry would go with the former one: {first:?}");
    for _ in 0..12 {
        world.pass(SECOND);
        hold(&mut world, &[wish("02", 0, 2)]);
    }
    assert_eq!(states(&world.manager.tunnels_of(OWNER)), [TunnelState::Admitted]);
    assert!(is_served(&mut world, 0, from_afar(0, 2, 46), 2));
}

#[test]
fn an_owner_that_falls_silent_has_nothing_after_a_lifetime() {
    let mut world = up();
    let empty = (rules(&world).len(), meters(&world));
    hold(&mut world, &[wish("01", 0, 2)]);
    for _ in 0..3 {
        world.pass(LIFETIME - SECOND);
        assert_eq!(states(&hold(&mut world, &[wish("01", 0, 2)])), [TunnelState::Admitted]);
    }
    let grant = world.manager.tunnels_of(OWNER)[0].grant;
    world.pass(LIFETIME - SECOND);
    assert_eq!(world.manager.tunnels_of(OWNER)[0].grant, grant, "heard in time it stays as it is");
    world.pass(2 * SECOND);
    assert!(world.manager.tunnels_of(OWNER).is_empty());
    assert_eq!((world.store.len(), (rules(&world).len(), meters(&world))), (0, empty));
}

#[test]
fn an_owner_that_has_begun_anew_keeps_what_it_does_not_name_yet() {
    let mut world = up();
    hold(&mut world, &[wish("01", 0, 2), wish("02", 0, 3)]);
    let keep = TunnelsWanted { keep_others: true, ..wanted(&[wish("02", 0, 3)]) };
    world.manager.hold_tunnels(world.now, OWNER, &keep).unwrap();
    world.collect();
    world.settle();
    assert_eq!(states(&world.manager.tunnels_of(OWNER)), [TunnelState::Admitted; 2]);
    assert!(is_served(&mut world, 0, from_afar(0, 2, 46), 2));
    hold(&mut world, &[wish("02", 0, 3)]);
    world.pass(SECOND);
    assert!(
        !is_served(&mut world, 0, from_afar(0, 2, 46), 2) && is_served(&mut world, 0, from_afar(0, 3, 46), 3)
    );
}

#[test]
fn a_manager_that_starts_again_goes_on_with_what_owners_ask_for_again() {
    let mut world = up();
    hold(&mut world, &[wish("01", 0, 2), wish("02", 0, 3)]);
    let numbers = |world: &World| world.store.keys().copied().collect::<Vec<u64>>();
    let (grants, there) = (numbers(&world), rules(&world).len());
    world.restart();
    assert!(is_served(&mut world, 0, from_afar(0, 2, 46), 2), "rules stand while the manager is away");
    world.connect_all();
    world.greet();
    world.settle();
    assert_eq!(states(&hold(&mut world, &[wish("01", 0, 2)])), [TunnelState::Admitted]);
    assert_eq!((numbers(&world), rules(&world).len()), (grants, there));
    for _ in 0..4 {
        world.pass(4 * SECOND);
        assert_eq!(states(&hold(&mut world, &[wish("01", 0, 2)])), [TunnelState::Admitted]);
    }
    assert_eq!((world.store.len(), rules(&world).len()), (1, 2), "nothing is left of what nobody asks for");
    assert!(
        is_served(&mut world, 0, from_afar(0, 2, 46), 2) && !is_served(&mut world, 0, from_afar(0, 3, 46), 3)
    );
}

#[test]
fn what_cannot_be_kept_is_refused_with_the_link_and_what_could_be_had() {
    let mut world = up();
    let all = hold(&mut world, &[TunnelWish { rate: 120 * MBIT, ..wish("01", 0, 2) }]);
    assert_eq!(states(&all), [TunnelState::Refused]);
    assert!(all[0].reason.contains("h0 to s0"), "{all:?}");
    let short = hold(&mut world, &[TunnelWish { limit: MS / 2, ..wish("01", 0, 2) }]);
    assert!(short[0].state == TunnelState::Refused && short[0].offered_limit > MS / 2, "{short:?}");
    let offered = TunnelWish { limit: short[0].offered_limit, ..wish("01", 0, 2) };
    assert_eq!(states(&hold(&mut world, &[offered])), [TunnelState::Admitted]);
}

#[test]
fn a_more_important_flow_takes_its_place_and_that_is_told() {
    let mut world = up();
    let half = TunnelWish { rate: 30 * MBIT, burst: 1_000, limit: 20 * MS, ..wish("01", 0, 2) };
    assert_eq!(states(&hold(&mut world, std::slice::from_ref(&half))), [TunnelState::Admitted]);
    let above = TunnelWish { importance: 9, ..half.clone() };
    let above = [TunnelWish { id: "02".into(), from: "h1".into(), rate: 30 * MBIT, ..above }];
    world.manager.hold_tunnels(world.now, 1, &wanted(&above)).unwrap();
    world.collect();
    for _ in 0..3 {
        world.pass(SECOND);
        hold(&mut world, std::slice::from_ref(&half));
        world.manager.hold_tunnels(world.now, 1, &wanted(&above)).unwrap();
    }
    world.pass(SECOND);
    assert_eq!(states(&world.manager.tunnels_of(1)), [TunnelState::Admitted]);
    let displaced = &world.manager.tunnels_of(OWNER)[0];
    assert!(displaced.state == TunnelState::Revoked && !displaced.reason.is_empty(), "{displaced:?}");
}

#[test]
fn what_is_wrong_changes_nothing_and_says_where() {
    let mut world = up();
    hold(&mut world, &[wish("01", 0, 2)]);
    let good = wish("02", 0, 3);
    for (wrong, why) in [
        (TunnelWish { id: "x".into(), ..good.clone() }, "an id has"),
        (TunnelWish { rate: 0, ..good.clone() }, "rate"),
        (TunnelWish { limit: 0, ..good.clone() }, "limit"),
        (TunnelWish { burst: 999, ..good.clone() }, "burst"),
        (TunnelWish { least_packet: 27, ..good.clone() }, "packets have"),
        (TunnelWish { largest_packet: 1_501, burst: 9_000, ..good.clone() }, "packets have"),
        (TunnelWish { packets: Packets::Codepoint(0), ..good.clone() }, "codepoint"),
        (TunnelWish { rate: u64::MAX, ..good.clone() }, "range"),
        (TunnelWish { burst: u64::MAX, ..good.clone() }, "range"),
        (TunnelWish { id: "01".into(), ..good.clone() }, "twice"),
    ] {
        let set = wanted(&[wish("01", 0, 2), wrong.clone()]);
        let said = world.manager.hold_tunnels(world.now, OWNER, &set).unwrap_err();
        assert!(said.contains(why) && said.contains(&format!("\"{}\"", wrong.id)), "{said}");
    }
    let many: Vec<TunnelWish> = (0..201).map(|id| wish(&format!("{id:04x}"), 0, 2)).collect();
    assert!(world.manager.hold_tunnels(world.now, OWNER, &wanted(&many)).is_err());
    let short = TunnelsWanted { lifetime: 1, ..wanted(&[]) };
    assert!(world.manager.hold_tunnels(world.now, OWNER, &short).is_err());
    world.settle();
    assert_eq!(states(&world.manager.tunnels_of(OWNER)), [TunnelState::Admitted]);
    // What is right in itself and not of this network is said of the tunnel alone.
    let all = hold(
        &mut world,
        &[
            wish("01", 0, 2),
            TunnelWish { to: "h9".into(), ..good.clone() },
            TunnelWish { id: "03".into(), to: "h0".into(), ..good },
        ],
    );
    assert_eq!(states(&all), [TunnelState::Admitted, TunnelState::Refused, TunnelState::Refused]);
    assert!(all[1].reason.contains("no host \"h9\"") && all[2].reason.contains("same"), "{all:?}");
}

/// The tunnel as meters have it, for a judge that shares no code with the analysis.
fn as_metered(world: &mut World, wish: &TunnelWish, dscp: u8) -> Flow {
    let host = |name: &str| name[1..].parse::<usize>().unwrap();
    let (from, to) = (host(&wish.from), host(&wish.to));
    let arrived = world.send(from, from_afar(from, to, dscp));
    let [(at, _, trace)] = &arrived[..] else { panic!("{arrived:?}") };
    assert_eq!(*at, to);
    let levels: Vec<u8> = (0..gate::class::MOST_LEVELS).filter_map(gate::class::of_level).collect();
    // Hosts have one queue.
    let level = |at: usize, dscp: u8| match at {
        0 => 0,
        _ => u8::try_from(levels.iter().position(|level| *level == dscp).expect("a level")).unwrap(),
    };
    let tree = trace
        .iter()
        .enumerate()
        .map(|(at, (port, dscp))| Hop { port: *port, level: level(at, *dscp) })
        .collect();
    let (link, _) = trace[0];
    let entry = &world.network.links[link ^ 1];
    let switch = world.network.switch_of(entry.from).unwrap();
    let number = entry.number;
    let rule = world.switches[switch].flows.iter().find(|flow| {
        let field = |field| flow.matching.get(field).map(|oxm| oxm.value());
        flow.priority == 59_000
            && field(OxmField::InPort) == Some(number.into())
            && field(OxmField::IpDscp) == Some(dscp.into())
            && field(OxmField::EthDst).map(|to| to.to_be_bytes()[15]) == Some(mac(to)[5])
    });
    let meter = rule.unwrap().instructions.iter().find_map(|instruction| match instruction {
        Instruction::Meter(meter) => Some(meter.0),
        _ => None,
    });
    let band = &world.switches[switch].meters[&meter.expect("a meter")].bands[0];
    let frame = u64::from(wish.largest_packet).max(46) + 38;
    let packets = wish.burst / u64::from(wish.largest_packet);
    Flow {
        tree,
        frames: vec![frame],
        others: Vec::new(),
        contract: Contract::Bucket {
            burst: packets * frame,
            bytes: wish.rate / 8 / u64::from(wish.largest_packet) * frame,
            period: 1_000 * frames::MILLISECOND,
        },
        policer: Some(Policer::Meter {
            burst: u64::from(band.burst) * 125,
            bytes: u64::from(band.rate) * 125,
            period: 1_000 * frames::MILLISECOND,
            counts: Counts::Frame,
            tick: frames::MILLISECOND,
        }),
        tag: 0,
        babbles: false,
    }
}

#[test]
fn no_packet_of_a_tunnel_is_late_or_dropped_whatever_others_send() {
    let (mut judged, mut flooding) = (0, 0);
    for seed in 0..16 {
        let mut random = Random::new(seed);
        let mut world = up();
        let mut wishes = Vec::new();
        // A router at each side and a third one, each with tunnels of two classes.
        for (number, (from, to)) in [(0, 2), (0, 3), (1, 2), (3, 0), (0, 2)].into_iter().enumerate() {
            let packet = u32::try_from(random.between(28, 1_500)).unwrap();
            wishes.push(TunnelWish {
                packets: Packets::Codepoint(if number < 4 { 46 } else { 34 }),
                rate: random.between(1, 6) * MBIT,
                burst: u64::from(packet) * random.between(1, 6),
                least_packet: packet,
                largest_packet: packet,
                jitter: 0,
                limit: random.between(10, 60) * MS,
                ..wish(&format!("{number:02}"), from, to)
            });
        }
        hold(&mut world, &wishes);
        world.pass(SECOND);
        let said = world.manager.tunnels_of(OWNER);
        let admitted: Vec<(TunnelWish, u64)> = wishes
            .into_iter()
            .zip(&said)
            .filter(|(_, said)| said.state == TunnelState::Admitted)
            .map(|(wish, said)| (wish, said.bound))
            .collect();
        assert!(admitted.len() >= 2, "seed {seed}: {said:?}");
        let mut flows: Vec<Flow> = Vec::new();
        let mut claims = Bounds::default();
        for (wish, bound) in &admitted {
            let Packets::Codepoint(dscp) = wish.packets else { panic!() };
            let flow = as_metered(&mut world, wish, dscp);
            let mut latency = vec![None; flow.tree.len()];
            *latency.last_mut().unwrap() = Some(bound * 1_000);
            claims.latency.push(latency);
            flows.push(flow);
        }
        let firsts: Vec<usize> = flows.iter().map(|flow| flow.tree[0].port).collect();
        for (index, flow) in flows.iter_mut().enumerate() {
            // What floods is promised nothing, nor what has its queue in common.
            let is_alone = firsts.iter().filter(|first| **first == firsts[index]).count() == 1;
            flow.babbles = is_alone && (seed + index as u64).is_multiple_of(2);
            if flow.babbles {
                flooding += 1;
                claims.latency[index].fill(None);
            }
        }
        let nodes = world.network.hosts.iter().map(|_| Node::Host).chain(world.network.switches.iter().map(
            |switch| Node::Switch {
                fastest: switch.model.least_multiplexing,
                slowest: switch.model.most_multiplexing,
                ordered: true,
            },
        ));
        let ports = world.network.links.iter().map(|link| Port {
            propagation: link.port.propagation,
            best_effort: link.port.best_effort.into(),
            ..Port::ideal(link.from, link.to, 8_000_000_000_000 / link.port.rate)
        });
        let network = Network::new(nodes.collect(), ports.collect(), flows).unwrap();
        let effort = Effort { aligned: 3, climbing: 4, random: 1, frames: 300 };
        for (flow, of) in admitted.iter().enumerate() {
            for hop in network.deliveries(flow) {
                let found = Search::new(&network, &claims, flow, hop, effort).worst(seed);
                assert_eq!(found.outcome.excess_count, 0, "seed {seed}: {of:?}");
                let policed = found.outcome.policed.iter().zip(network.flows());
                let dropped = policed.filter(|(frames, flow)| !flow.babbles && **frames > 0).count();
                assert_eq!(dropped, 0, "seed {seed}: a meter drops what keeps its contract");
                judged += 1;
            }
        }
    }
    assert!(judged > 40 && flooding > 5, "{judged} {flooding}");
}

#[test]
fn a_station_that_sorts_by_levels_is_refused() {
    let mut world = World::up(network(&open_vswitch(METERS), 2, &[0, 0, 1, 1], &[(0, 1)]));
    world.greet();
    world.settle();
    let all = hold(&mut world, &[wish("01", 0, 2)]);
    assert!(all[0].state == TunnelState::Refused && all[0].reason.contains("queues = 1"), "{all:?}");
}

#[test]
fn a_station_behind_gates_is_refused() {
    let mut world = World::up(with_one_queue(network(&open_vswitch(GATES), 2, &[0, 0, 1, 1], &[(0, 1)])));
    world.greet();
    world.settle();
    let all = hold(&mut world, &[wish("01", 0, 2)]);
    assert!(all[0].state == TunnelState::Refused && all[0].reason.contains("no meters"), "{all:?}");
}
