//! Another network file for a manager that runs: what stands in its way is named, and nothing is changed by the question.
use std::time::Duration;

use control::change_network::Obstacle;
use control::network::{Host, Link, Network};
use wire::admission::{Request, State};

use crate::cases::{MS, at_once};
use crate::networks::{GATES, network, open_vswitch};
use crate::world::{World, address, guid, packet_of, request};

/// Hosts 0 and 1 at the first of two switches, 2 and 3 at the second one.
fn pairs() -> Network {
    network(&open_vswitch(GATES), 2, &[0, 0, 1, 1], &[(0, 1)])
}

fn asked(number: u8, from: usize, to: usize) -> Request {
    let pair = (guid(number, 1), guid(100 + number, 1));
    request(pair, 1, from, to, (5_000 + u16::from(number), 6_000), at_once(1_000, 5 * MS), 5 * MS)
}

/// Whether both ends of a link are switches.
fn is_trunk(network: &Network, link: usize) -> bool {
    let hosts = network.hosts.len();
    network.links[link].from >= hosts && network.links[link].to >= hosts
}

/// With a flow between the switches, and one at the first switch.
fn world() -> World {
    let mut world = World::up(pairs());
    world.greet();
    world.settle();
    for request in [asked(1, 0, 2), asked(2, 0, 1)] {
        world.ask(request.clone());
        world.settle();
        let verdict = &world.verdicts[&request.pair()];
        assert_eq!(verdict.state, State::Admitted, "{}", verdict.reason);
    }
    world
}

fn obstacles(world: &World, network: Network) -> Vec<Obstacle> {
    world.manager.obstacles_to(network, solver::multipliers).unwrap()
}

/// The receivers of those that are in the way, and why.
fn told(world: &World, network: Network) -> Vec<(String, String)> {
    let named = obstacles(world, network).into_iter().map(|found| (found.to.join(" "), found.reason));
    named.collect()
}

#[test]
fn a_file_in_which_all_promises_hold_has_no_obstacles() {
    let world = world();
    assert_eq!(obstacles(&world, pairs()), []);
    let mut faster = pairs();
    faster.links.iter_mut().for_each(|link| link.port.rate *= 10);
    assert_eq!(obstacles(&world, faster), []);
    // A host more, at a free port.
    let mut grown = pairs();
    let (host, port) = (grown.hosts.len(), grown.links[4].port);
    grown.hosts.push(Host { name: "h4".into(), addresses: vec![address(4)], mac: None, vlans: Vec::new() });
    for link in &mut grown.links {
        [&mut link.from, &mut link.to].into_iter().filter(|node| **node >= host).for_each(|node| *node += 1);
    }
    grown.links.push(Link { from: host, to: host + 1, number: 0, port });
    grown.links.push(Link { from: host + 1, to: host, number: 40, port: grown.links[1].port });
    assert_eq!(obstacles(&world, grown), []);
}

#[test]
fn what_stands_in_the_way_is_named_flow_by_flow() {
    let world = world();
    let mut slower = pairs();
    let trunks: Vec<usize> = (0..slower.links.len()).filter(|link| is_trunk(&slower, *link)).collect();
    for link in trunks {
        slower.links[link].port.rate /= 1_000;
    }
    assert_eq!(told(&world, slower), [("h2".to_owned(), "what it was promised would not hold".to_owned())]);
    let mut moved = pairs();
    moved.hosts[1].addresses = vec![[10, 0, 0, 99].into()];
    let reason = "10.0.0.2 is not the address of h1 in the file".to_owned();
    assert_eq!(told(&world, moved), [("h1".to_owned(), reason)]);
    let mut swapped = pairs();
    let of_two = swapped.hosts[2].addresses.clone();
    swapped.hosts[2].addresses = std::mem::replace(&mut swapped.hosts[3].addresses, of_two);
    let reason = "10.0.0.3 is not the address of h2 in the file".to_owned();
    assert_eq!(told(&world, swapped), [("h2".to_owned(), reason)]);
    let mut renamed = pairs();
    renamed.switches[0].name = "other".into();
    assert_eq!(told(&world, renamed).len(), 2);
}

/// A manager that begins with the new file takes up what is stored, also what was about to go.
#[test]
fn a_flow_that_goes_needs_its_place_until_it_is_gone() {
    let second = asked(2, 1, 3);
    let both = || {
        let mut world = World::up(pairs());
        world.greet();
        world.settle();
        for request in [asked(1, 0, 2), second.clone()] {
            world.ask(request.clone());
            world.settle();
            assert_eq!(world.state(request.pair()), Some(State::Admitted));
        }
        world
    };
    let mut world = both();
    let slower = |times: u64| {
        let mut slower = pairs();
        let trunks: Vec<usize> = (0..slower.links.len()).filter(|link| is_trunk(&slower, *link)).collect();
        trunks.into_iter().for_each(|link| slower.links[link].port.rate /= times);
        slower
    };
    let (only_one, words) = (2..1_000)
        .map(slower)
        .map(|file| (file.clone(), told(&world, file)))
        .find(|(_, told)| !told.is_empty())
        .unwrap();
    assert_eq!(words, [("h2".to_owned(), "what it was promised would not hold".to_owned())]);
    world.withdraw(second.pair());
    let reason = "what it was promised would not hold beside flows that are on their way out: ask again when they are gone";
    assert_eq!(told(&world, only_one.clone()), [("h2".to_owned(), reason.to_owned())]);
    world.pass(Duration::from_secs(10));
    assert_eq!(told(&world, only_one.clone()), []);
    // A manager that did not wait would lose it.
    let mut world = both();
    world.withdraw(second.pair());
    world.network = only_one;
    world.restart();
    assert!(world.manager.audit().is_ok());
    world.connect_all();
    world.greet();
    world.settle();
    assert_eq!(world.store.keys().copied().collect::<Vec<_>>(), [2]);
}

/// What has been asked for many times is as it was.
#[test]
fn the_question_changes_nothing_and_a_wrong_network_is_an_error() {
    let mut world = world();
    let mut wrong = pairs();
    wrong.links.pop();
    assert!(world.manager.obstacles_to(wrong, solver::multipliers).is_err());
    let mut slower = pairs();
    slower.links.iter_mut().for_each(|link| link.port.rate /= 1_000);
    assert_eq!(obstacles(&world, slower.clone()), obstacles(&world, slower));
    world.pass(Duration::from_secs(20));
    for (request, from, to) in [(asked(1, 0, 2), 0, 2), (asked(2, 0, 1), 0, 1)] {
        assert_eq!(world.state(request.pair()), Some(State::Admitted));
        let dscp = world.verdicts[&request.pair()].dscp;
        let arrived = world.send(from, packet_of(&request, from, to, dscp));
        assert_eq!(arrived.iter().map(|(host, _, _)| *host).collect::<Vec<_>>(), [to]);
    }
}

/// Another manager of the network, after what the first one has stored.
fn change(world: &mut World, network: Network) {
    assert_eq!(obstacles(world, network.clone()), []);
    world.network = network;
    world.restart();
    world.connect_all();
    world.greet();
    world.settle();
}

#[test]
fn a_port_that_is_declared_full_keeps_its_flows_and_takes_no_others() {
    let mut world = world();
    let known = [asked(1, 0, 2), asked(2, 0, 1)];
    let mut full = pairs();
    let port = full.links.iter().position(|link| link.from == 0).unwrap();
    full.full.insert(port);
    change(&mut world, full);
    let (there, elsewhere) = (asked(3, 0, 3), asked(4, 3, 1));
    for request in known.iter().chain([&there, &elsewhere]) {
        world.ask(request.clone());
        world.settle();
    }
    for request in known.iter().chain([&elsewhere]) {
        let verdict = &world.verdicts[&request.pair()];
        assert_eq!(verdict.state, State::Admitted, "{}", verdict.reason);
    }
    let refused = world.verdicts[&there.pair()].clone();
    assert_eq!(refused.state, State::Refused);
    assert!(refused.reason.contains("h0 to s0 is declared full"), "{}", refused.reason);
    // A larger sample of what is there is a flow that comes.
    let larger = Request { serial: 2, contract: at_once(1_400, 5 * MS), ..known[1].clone() };
    world.ask(larger.clone());
    world.settle();
    assert!(world.verdicts[&larger.pair()].reason.contains("declared full"));
    change(&mut world, pairs());
    world.ask(there.clone());
    world.settle();
    assert_eq!(world.state(there.pair()), Some(State::Admitted));
}
