//! Hosts that move to another port: what was learned of them follows, and their flows with it.
use std::time::Duration;

use control::network::Network;
use wire::admission::State;

use crate::cases::{MS, at_once, pair};
use crate::networks::{GATES, network, open_vswitch};
use crate::world::{World, address, mac, packet_of, request};
use testkit::openflow_switch::Packet;

/// Two hosts at each of two switches, of which the manager has to learn where they are.
fn unknown_hosts() -> Network {
    let mut network = network(&open_vswitch(GATES), 2, &[0, 0, 1, 1], &[(0, 1)]);
    network.hosts.iter_mut().for_each(|host| host.addresses.clear());
    network
}

impl World {
    /// Something speaks by the port of a host with the address of another one.
    fn speak(&mut self, at: usize, of: usize) {
        let greeting = Packet {
            from: mac(of),
            to: [0xff; 6],
            tag: None,
            kind: 0x0806,
            source: address(of),
            destination: address(of),
            protocol: 0,
            ports: (0, 0),
            dscp: 0,
        };
        self.send(at, greeting);
        self.settle();
    }

    fn access(&self, host: usize) -> usize {
        self.network.leaving(host).next().unwrap().0
    }

    fn addresses_of(&self, host: usize) -> Vec<String> {
        self.manager.report().hosts[host].addresses.clone()
    }
}

/// All hosts but the last have said where they are, and the first one writes to the third.
fn running(network: Network) -> (World, wire::admission::Request) {
    let mut world = World::up(network);
    for host in 0..3 {
        world.speak(host, host);
    }
    let asked = request(pair(1), 1, 0, 2, (5_000, 6_000), at_once(8_004, 10 * MS), 20 * MS);
    world.ask(asked.clone());
    world.settle();
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts);
    (world, asked)
}

/// Where frames of a flow arrive that enter by the port of a host.
fn arrives(world: &mut World, asked: &wire::admission::Request, from: usize) -> Vec<usize> {
    let dscp = world.verdicts[&asked.pair()].dscp;
    let packet = packet_of(asked, 0, 2, dscp);
    world
        .send(from, packet)
        .into_iter()
        .filter(|(_, packet, _)| packet.dscp != 0)
        .map(|(host, ..)| host)
        .collect()
}

#[test]
fn a_host_whose_former_port_is_down_is_where_it_speaks() {
    let (mut world, asked) = running(unknown_hosts());
    assert_eq!(arrives(&mut world, &asked, 0), [2]);
    let cable = world.access(2);
    world.cable(cable, false);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.state(pair(1)), Some(State::Revoked));
    // The reader is plugged in where the last host is to be.
    world.speak(3, 2);
    world.pass(Duration::from_secs(1));
    assert_eq!((world.addresses_of(2).len(), world.addresses_of(3)), (0, vec!["10.0.0.3".to_owned()]));
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts);
    assert_eq!(arrives(&mut world, &asked, 0), [3]);
    assert_eq!(world.store.len(), 1);
}

#[test]
fn a_host_that_speaks_elsewhere_and_answers_no_more_where_it_was_has_moved() {
    let (mut world, asked) = running(unknown_hosts());
    // The writer is at the other switch now, and something else is plugged in where it was.
    world.heard_by_hosts.clear();
    world.speak(3, 0);
    let (host, question) = world.heard_by_hosts.pop().expect("its former place is asked");
    assert_eq!(
        (host, question[12..14].to_vec(), question[38..42].to_vec()),
        (0, vec![8, 6], vec![10, 0, 0, 1])
    );
    assert_eq!(
        (&question[..6], &question[28..32]),
        (&mac(0)[..], &[0; 4][..]),
        "without an address of its own"
    );
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "it may still answer");
    world.pass(Duration::from_secs(3));
    assert_eq!(world.addresses_of(3), ["10.0.0.1"]);
    let told = world.history.iter().find(|verdict| verdict.state == State::Revoked).unwrap();
    assert_eq!(told.reason, "10.0.0.1 has moved from the port of h0 to that of h3");
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts);
    assert_eq!(arrives(&mut world, &asked, 3), [2]);
    assert!(arrives(&mut world, &asked, 0).is_empty(), "nothing has a level where it was");
}

#[test]
fn a_host_that_moves_while_its_manager_is_away_is_missed_where_its_flows_are() {
    let (mut world, asked) = running(unknown_hosts());
    world.restart();
    world.connect_all();
    world.settle();
    // The next manager has heard nothing of it, and where it was something else is plugged in.
    world.speak(3, 0);
    world.ask(asked.clone());
    world.pass(Duration::from_secs(3));
    assert_eq!((world.addresses_of(0).len(), world.addresses_of(3)), (0, vec!["10.0.0.1".to_owned()]));
    assert_eq!(world.state(pair(1)), Some(State::Admitted), "{:?}", world.verdicts);
    assert_eq!(arrives(&mut world, &asked, 3), [2]);
    assert!(arrives(&mut world, &asked, 0).is_empty(), "nothing has a level where it was");
}

#[test]
fn an_address_stays_with_a_host_that_answers() {
    let (mut world, asked) = running(unknown_hosts());
    let said = world.history.len();
    world.speak(3, 0);
    world.speak(0, 0);
    world.pass(Duration::from_secs(3));
    assert_eq!((world.addresses_of(0), world.addresses_of(3).len()), (vec!["10.0.0.1".to_owned()], 0));
    assert!(world.history[said..].iter().all(|verdict| verdict.state == State::Admitted));
    assert_eq!(arrives(&mut world, &asked, 0), [2]);
    let alarms = world.manager.report().cabling;
    assert!(
        alarms.len() == 1 && alarms[0].what.contains("10.0.0.1 speaks at more than one place"),
        "{alarms:?}"
    );
}

#[test]
fn an_address_of_the_network_file_moves_never() {
    let (mut world, asked) = running(network(&open_vswitch(GATES), 2, &[0, 0, 1, 1], &[(0, 1)]));
    let said = world.history.len();
    world.heard_by_hosts.clear();
    world.speak(3, 0);
    world.pass(Duration::from_secs(3));
    assert_eq!(world.addresses_of(0), ["10.0.0.1", "fd00::1"]);
    assert!(world.heard_by_hosts.is_empty(), "no place is asked");
    assert!(world.history[said..].iter().all(|verdict| verdict.state == State::Admitted));
    assert_eq!(arrives(&mut world, &asked, 0), [2]);
    let alarms = world.manager.report().cabling;
    assert!(alarms.len() == 1 && alarms[0].what.contains("it stays with h0"), "{alarms:?}");
}
