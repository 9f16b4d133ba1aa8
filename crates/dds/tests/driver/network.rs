//! Interfaces, families, classes and full sockets as the kernel has them.
use std::net::SocketAddr;
use std::time::Duration;

use dds::config::{Config, Family, Interfaces};
use dds::driver::Driver;
use dds::host::{Channel, Host, Sent};
use rtps::Path;
use udp::{Received, Report, Socket, SocketOptions, Wait};
use wire::{GuidPrefix, Locator};

use crate::PATIENCE;
use crate::cable::{tc, veth};
use crate::namespace::{alone, bare, ip};
use crate::node::Node;

fn family(family: Family) -> Config {
    let mut config = Config::default();
    config.network.family = family;
    config
}

fn texts(locators: &[Locator]) -> Vec<String> {
    locators.iter().map(|locator| locator.socket_addr().unwrap().to_string()).collect()
}

#[test]
fn interfaces_that_come_and_go_are_told_and_used() {
    alone(|| {
        let node = Node::start(&Config::default());
        assert_eq!(texts(&node.host.addresses().default_unicast), ["127.0.0.1:7411"]);
        veth("left", "right", "10.9.0.1/24");
        let told = |expected: &[&str]| {
            let networks = node.networks();
            networks.last().is_some_and(|last| texts(&last.metatraffic_unicast) == expected)
        };
        node.watch(|| told(&["10.9.0.1:7410"]));
        assert_eq!(node.networks().last(), Some(&node.host.addresses()));
        let report = node.host.report().join("\n");
        assert!(
            report.contains("interface left: 10.9.0.1/24, datagrams of 1472 bytes, multicast"),
            "{report}"
        );
        // The group was joined there, so that its own announcements come back.
        let addresses = node.host.addresses();
        let group = addresses.metatraffic_multicast[0].socket_addr().unwrap();
        let paths = addresses.network.multicast_paths(group);
        let path = paths.iter().find(|path| path.local == Some("10.9.0.1".parse().unwrap())).unwrap();
        node.send_along(Channel::Metatraffic, path, b"by the new one", 0);
        node.watch(|| node.count(b"by the new one") == 1);
        assert_eq!(node.source(b"by the new one").unwrap().to_string(), "10.9.0.1:7410");
        ip("link del left");
        node.watch(|| told(&["127.0.0.1:7410"]));
        node.host.close();
    });
}

#[test]
fn ipv6_is_used_when_asked_for() {
    alone(|| {
        veth("left", "right", "fd09::1/64");
        let nodes = [(); 2].map(|()| Node::start(&family(Family::V6)));
        let [node, other] = &nodes;
        // Link-local addresses are there a little later.
        let ready = |node: &Node| {
            let addresses = node.host.addresses();
            texts(&addresses.default_unicast).contains(&"[fd09::1]:7411".to_owned())
        };
        node.watch(|| ready(node) && other.host.addresses().default_unicast.len() > 1);
        other.send(Channel::User, "[fd09::1]:7411".parse().unwrap(), b"by unicast");
        node.wait(|| node.count(b"by unicast") == 1);
        let addresses = other.host.addresses();
        assert_eq!(texts(&addresses.metatraffic_multicast), ["[ff03::1]:7400"]);
        let group = addresses.metatraffic_multicast[0].socket_addr().unwrap();
        for path in addresses.network.multicast_paths(group) {
            other.send_along(Channel::Metatraffic, &path, b"by multicast", 0);
        }
        node.watch(|| node.count(b"by multicast") > 0);
        // There is no socket for it: nothing leaves, nothing breaks.
        let v4: SocketAddr = "127.0.0.1:7411".parse().unwrap();
        assert_eq!(other.send(Channel::User, v4, b"by the other"), Sent::Done);
        nodes.iter().for_each(|node| node.host.close());
    });
}

#[test]
fn ipv6_on_loopback_alone_has_no_multicast() {
    alone(|| {
        let mut config = family(Family::V6);
        let peers = Driver::open(0, &config).unwrap().loopback_peers().to_vec();
        assert_eq!(
            peers,
            (0..10).map(|id| SocketAddr::new("::1".parse().unwrap(), 7_410 + 2 * id)).collect::<Vec<_>>()
        );
        config.discovery.static_peers = vec!["::1".parse().unwrap()];
        let (node, other) = (Node::start(&config), Node::start(&config));
        assert_eq!(texts(&node.host.addresses().default_unicast), ["[::1]:7411"]);
        other.send(Channel::User, node.user(), b"by unicast");
        node.wait(|| node.count(b"by unicast") == 1);
        node.host.close();
        other.host.close();
    });
}

#[test]
fn both_families_are_read_while_somebody_leads() {
    alone(|| {
        let (node, other) = (Node::start(&family(Family::Both)), Node::start(&family(Family::Both)));
        assert_eq!(texts(&node.host.addresses().default_unicast), ["127.0.0.1:7411", "[::1]:7411"]);
        for (address, bytes) in [("127.0.0.1:7411", b"by four"), ("[::1]:7411", b"by six.")] {
            std::thread::scope(|scope| {
                let leader = scope.spawn(|| node.wait(|| node.count(bytes) == 1));
                other.send(Channel::User, address.parse().unwrap(), bytes);
                leader.join().unwrap();
            });
        }
        node.host.close();
        other.host.close();
    });
}

#[test]
fn a_full_socket_is_told_and_offered_again() {
    alone(|| {
        let mut config = Config::default();
        config.buffers.send = 20_000;
        const BYTES: [u8; 1_000] = [7; 1_000];
        let to: SocketAddr = "127.0.0.1:9".parse().unwrap();
        let offer_again = move |node: &Node| {
            if node.send(Channel::User, to, &BYTES) == Sent::Done {
                node.tell("left");
            }
        };
        let node = Node::with(&config, None, Some(Box::new(offer_again)));
        // A second for each datagram: the send buffer fills.
        tc("qdisc add dev lo root tbf rate 8kbit burst 2000 limit 10000000");
        // Linux grants twice what is asked for. The socket that is connected to the peer has no more, whatever the system's default.
        assert!((0..41).any(|_| node.send(Channel::User, to, &BYTES) == Sent::Full));
        let report = node.host.report().join("\n");
        assert!(report.contains("datagrams waited for room in the send buffer"), "{report}");
        // What waits is thrown away.
        tc("qdisc del dev lo root");
        node.watch(|| node.told("left") > 0);
        node.host.close();
    });
}

#[test]
fn a_peer_is_sent_to_from_a_socket_of_its_own_until_something_changes() {
    alone(|| {
        let (node, other) = (Node::start(&Config::default()), Node::start(&Config::default()));
        let from = |bytes: &[u8]| {
            other.send(Channel::User, node.user(), bytes);
            node.wait(|| node.count(bytes) == 1);
            node.source(bytes).unwrap().port()
        };
        assert_eq!(from(b"first"), 7_413);
        let own = from(b"second");
        assert_ne!(own, 7_413);
        assert_eq!(from(b"third"), own);
        // Who is gone may have been the peer.
        other.host.lost(GuidPrefix([7; 12]));
        assert_eq!(from(b"fourth"), 7_413);
        assert_ne!(from(b"fifth"), 7_413);
        // The address that the peer was sent to from may be another one's now.
        veth("left", "right", "10.9.0.1/24");
        other.watch(|| other.networks().len() == 1);
        assert_eq!(from(b"sixth"), 7_413);
        node.host.close();
        other.host.close();
    });
}

#[test]
fn classes_and_interfaces_are_those_of_the_path() {
    alone(|| {
        // The same subnet twice: the routing table would take the first.
        for (name, peer, address) in [("one", "far-one", "10.9.0.1"), ("two", "far-two", "10.9.0.2")] {
            veth(name, peer, &format!("{address}/24"));
        }
        let node = Node::start(&Config::default());
        node.watch(|| node.host.addresses().default_unicast.len() == 2);
        let report = Report { destination: true, class: true, ..Report::default() };
        let options = SocketOptions { report, ..SocketOptions::default() };
        let receiver = Socket::unicast("0.0.0.0:9000".parse().unwrap(), &options).unwrap();
        let path = Path {
            local: Some("10.9.0.2".parse().unwrap()),
            ..Path::routed("10.9.0.1:9000".parse().unwrap(), Path::MAX_DATAGRAM)
        };
        node.send_along(Channel::User, &path, b"expedited", 46);
        let mut buffer = [0; 2_000];
        match receiver.receiver().receive(&mut buffer, Wait::AtMost(PATIENCE)).unwrap() {
            Received::Datagram(datagram) => {
                assert_eq!(datagram.source, "10.9.0.2:7411".parse().unwrap());
                assert_eq!(datagram.details.class.unwrap().get(), 46);
            }
            other => panic!("{other:?}"),
        }
        node.host.close();
    });
}

#[test]
fn without_loopback_waits_are_served_by_the_own_thread() {
    bare(|| {
        veth("left", "right", "10.9.0.1/24");
        let node = Node::start(&Config::default());
        assert!(!node.wait_at_most(Duration::from_millis(5), &|| false));
        let report = node.host.report().join("\n");
        assert!(report.contains("the loopback interface is off"), "{report}");
        node.host.close();
    });
}

#[test]
fn without_multicast_somebody_has_to_be_named() {
    alone(|| {
        veth("left", "right", "10.9.0.1/24");
        ip("link set left multicast off");
        let mut config = Config::default();
        config.network.interfaces = Interfaces::Named(vec!["left".to_owned()]);
        let said = Driver::open(0, &config).unwrap_err().to_string();
        assert!(said.contains("static peers") && said.contains("interface left: 10.9.0.1/24"), "{said}");
        config.discovery.static_peers = vec!["10.9.0.2".parse().unwrap()];
        let driver = Driver::open(0, &config).unwrap();
        assert_eq!(driver.addresses().metatraffic_multicast, []);
        driver.close();
    });
}

#[test]
fn the_group_of_the_endpoints_is_joined_when_asked_for() {
    alone(|| {
        let mut config = Config::default();
        config.network.multicast_data = true;
        let (node, other) = (Node::start(&config), Node::start(&Config::default()));
        assert_eq!(other.host.addresses().default_multicast, []);
        let addresses = node.host.addresses();
        assert_eq!(texts(&addresses.default_multicast), ["239.255.0.1:7401"]);
        let group = addresses.default_multicast[0].socket_addr().unwrap();
        for path in addresses.network.multicast_paths(group) {
            node.send_along(Channel::User, &path, b"to the group", 0);
        }
        node.watch(|| node.count(b"to the group") == 1);
        assert_eq!(other.count(b"to the group"), 0);
        node.host.close();
        other.host.close();
    });
}
