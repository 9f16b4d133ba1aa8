//! The reserved class: who is in it, how much, and that admitted flows keep their bounds beside all of it.
use std::time::Duration;

use control::config::Config;
use latency::port::Control;
use latency::switch::Guard;
use wire::admission::State;

use crate::cases::{MS, at_once, pair};
use crate::judge::{Case, announcement, judge};
use crate::networks::{GATES, METERS, network_with, open_vswitch};
use crate::world::{World, address6, packet_of, request};
use testkit::openflow_switch::Packet;

const CONTROL: Control = Control { burst: 20_000 * 8, rate: 2_000_000 };

/// Three switches in a row, with two hosts each.
fn row(guard: Guard, control: Option<Control>) -> control::network::Network {
    network_with(control, &open_vswitch(guard), 3, &[0, 0, 1, 1, 2, 2], &[(0, 1), (1, 2)])
}

/// The codepoints that a packet has behind the first switch, wherever it comes to.
fn codepoints(world: &mut World, from: usize, packet: Packet) -> Vec<u8> {
    let arrived = world.send(from, packet);
    assert!(!arrived.is_empty());
    let mut seen: Vec<u8> =
        arrived.iter().flat_map(|(_, _, trace)| trace.iter().skip(1).map(|(_, dscp)| *dscp)).collect();
    seen.sort_unstable();
    seen.dedup();
    seen
}

#[test]
fn discovery_is_in_the_class_and_nothing_else_whatever_it_says() {
    let mut world = World::up(row(GATES, Some(CONTROL)));
    let reserved = world.manager.report().reserved;
    assert_eq!((reserved.reason.as_str(), reserved.hosts, &*reserved.domains), ("", 6, [0].as_slice()));
    let all = announcement(0);
    assert_eq!(codepoints(&mut world, 0, all), [48]);
    assert_eq!(codepoints(&mut world, 0, Packet { ports: (1, 7_412), ..all }), [48]);
    let of_ipv6 = Packet { kind: 0x86dd, source: address6(0), destination: address6(1), ..all };
    assert_eq!(codepoints(&mut world, 0, of_ipv6), [48]);
    for forged in [
        Packet { ports: (7_400, 7_411), dscp: 48, ..of_ipv6 },
        Packet { protocol: 58, dscp: 48, ..of_ipv6 },
        Packet { ports: (7_400, 7_411), dscp: 48, ..all },
        Packet { ports: (7_400, 7_401), dscp: 48, ..all },
        Packet { ports: (7_400, 7_650), dscp: 48, ..all },
        Packet { protocol: 6, dscp: 48, ..all },
    ] {
        assert_eq!(codepoints(&mut world, 0, forged), [0], "{forged:?}");
    }
}

/// All buckets together, and what may come together on the way, are the burst of the file; all rates its rate.
#[test]
fn the_hosts_share_what_the_file_has() {
    let world = World::up(row(GATES, Some(CONTROL)));
    let bucket = world.discovery_of(0).unwrap();
    // Three switches that vary by 40 us, and two cables on which the burst and a frame take so long, in nanoseconds.
    let cable = (1_538 * 8 + CONTROL.burst) * 10;
    let on_the_way = (CONTROL.rate * (3 * 40_000 + 2 * cable)).div_ceil(1_000_000_000);
    assert_eq!(u64::from(bucket.octets), (CONTROL.burst - on_the_way) / 8 / 6);
    // By clocks that are fast by 200 ppm.
    let rate = f64::from(bucket.octets) * 8e9 / bucket.separation as f64 * 6.0 / 0.9998;
    assert!(rate <= CONTROL.rate as f64 && rate > CONTROL.rate as f64 * 0.9999, "{rate}");
    for host in 1..6 {
        assert_eq!(world.discovery_of(host), Some(bucket));
    }
}

/// The codepoint of control is believed of a host's port when its gates have been put right, and not before.
#[test]
fn what_no_gate_has_judged_is_not_in_the_class() {
    let forged = Packet { dscp: 48, ..announcement(0) };
    let mut world = World::new(row(GATES, Some(CONTROL)), Config::default());
    for switch in 0..3 {
        world.connect(switch);
    }
    world.settle();
    assert_eq!(codepoints(&mut world, 0, forged), [0]);
    world.connect_agent(0);
    let of_another = Packet { dscp: 48, ..announcement(2) };
    assert_eq!(codepoints(&mut world, 2, of_another), [0]);
    world.settle();
    assert_eq!(codepoints(&mut world, 0, forged), [48]);
    assert_eq!(codepoints(&mut world, 2, of_another), [0]);
    // A gate stays in force when its agent goes, and when it comes again.
    world.disconnect_agent(0);
    world.pass(Duration::from_secs(30));
    assert_eq!(codepoints(&mut world, 0, forged), [48]);
    world.connect_agent(0);
    world.pass(Duration::from_secs(1));
    assert_eq!(codepoints(&mut world, 0, forged), [48]);
    assert_eq!(world.gates[0].len(), 2);
}

#[test]
fn where_there_is_no_class_the_reason_is_told() {
    let small = Control { burst: 8_000 * 8, ..CONTROL };
    let scarce = Guard::Gates { count: Some(1), tick: latency::units::NANOSECOND };
    for (network, why) in [
        (row(GATES, None), "add `control`"),
        (row(METERS, Some(CONTROL)), "no host is at a switch with gates"),
        (row(GATES, Some(small)), "give `control` a larger burst"),
        (row(GATES, Some(Control { rate: 1, ..CONTROL })), "not full again in an hour"),
        (row(scarce, Some(CONTROL)), "s0 has 1 gates, and 2 are needed"),
    ] {
        let mut world = World::up(network);
        let reserved = world.manager.report().reserved;
        assert!(reserved.hosts == 0 && reserved.reason.contains(why), "{reserved:?}");
        assert!(world.gates.iter().all(|gates| gates.is_empty()));
        let announcement = announcement(0);
        assert_eq!(codepoints(&mut world, 0, announcement), [0]);
    }
    let config = Config { domains: vec![0, 7], ..Config::default() };
    let mut world = World::new(row(GATES, Some(Control { burst: 40_000 * 8, ..CONTROL })), config);
    world.connect_all();
    assert_eq!(world.gates[2].len(), 4);
    assert_eq!(codepoints(&mut world, 5, Packet { ports: (1, 7_400 + 7 * 250), ..announcement(5) }), [48]);
}

/// Gates that discovery takes are not there for flows; a plan of the same network says the same (`crates/plan/tests/behaviour/plans.rs`).
#[test]
fn discovery_takes_its_gates() {
    let admitted = |count: u32, control: Option<Control>| {
        let guard = Guard::Gates { count: Some(count), tick: latency::units::NANOSECOND };
        let mut world = World::up(row(guard, control));
        for number in 1..=4 {
            let ports = (5_000 + u16::from(number), 6_000);
            world.ask(request(pair(number), 1, 0, 5, ports, at_once(1_000, 50 * MS), 40 * MS));
        }
        world.settle();
        (1..=4).filter(|number| world.state(pair(*number)) == Some(State::Admitted)).count()
    };
    assert_eq!([2, 3, 4, 5].map(|count| admitted(count, Some(CONTROL))), [0, 1, 2, 3]);
    assert_eq!((admitted(3, None), admitted(1, Some(CONTROL))), (3, 1));
}

/// Admits a flow of small messages through all switches with next to no slack, and lets everybody flood discovery, its bucket so many
/// times as large as it should be.
fn flooded(times: u32) -> Result<(), String> {
    let mut world = World::up(row(GATES, Some(CONTROL)));
    let contract = at_once(64, 20 * MS);
    world.ask(request(pair(1), 1, 0, 5, (5_000, 6_000), contract, MS / 10));
    world.settle();
    let refused = world.verdicts[&pair(1)].clone();
    assert_eq!(refused.state, State::Refused);
    let least = refused.offered_latency;
    let asked = request(pair(1), 2, 0, 5, (5_000, 6_000), contract, least);
    world.ask(asked.clone());
    world.settle();
    let verdict = world.verdicts[&pair(1)].clone();
    assert_eq!(verdict.state, State::Admitted, "{}", verdict.reason);
    let arrived = world.send(0, packet_of(&asked, 0, 5, verdict.dscp));
    let cases = [Case { verdict, trace: arrived[0].2.clone() }];
    for gate in world.gates.iter_mut().flat_map(|gates| gates.values_mut()) {
        if gate.kind == gate::Kind::Bucket {
            gate.octets *= times;
            gate.separation *= u64::from(times);
        }
    }
    (0..12).try_for_each(|seed| judge(&mut world, &cases, seed))
}

#[test]
fn flows_keep_their_bounds_when_every_host_floods_discovery() {
    flooded(1).unwrap();
    // The judge sees it where the buckets are not what they should be.
    assert!(flooded(2).is_err(), "buckets of twice the size harm nobody");
}
