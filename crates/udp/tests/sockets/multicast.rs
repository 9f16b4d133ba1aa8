//! Groups, and ports that several sockets share.
use std::net::{IpAddr, SocketAddr};

use udp::{MembershipFailure, Received, Socket, SocketOptions};

use crate::namespace::{alone, ip, veth};
use crate::{NOTHING, bound, octets, to};

const LOOPBACK: u32 = 1;

/// Family, group, another group, any port of any address.
fn families() -> [(bool, IpAddr, IpAddr, &'static str); 2] {
    [("239.255.0.1", "239.255.0.2", "0.0.0.0:0"), ("ff03::1", "ff03::2", "[::]:0")].map(
        |(group, other, any)| (any.starts_with('0'), group.parse().unwrap(), other.parse().unwrap(), any),
    )
}

fn shared(v4: bool) -> Socket {
    Socket::multicast(v4, 7400, &SocketOptions::default()).unwrap()
}

fn is_empty(socket: &Socket) -> bool {
    socket.receiver().receive(&mut [0; 100], NOTHING).unwrap() == Received::TimedOut
}

#[test]
fn every_socket_of_a_port_gets_what_its_groups_are_sent_and_no_other() {
    alone(|| {
        for (v4, group, other, any) in families() {
            let sockets = [shared(v4), shared(v4), shared(v4)];
            let [first, second, stranger] = &sockets;
            let sender = bound(any, SocketOptions::default()).sender();
            assert!(first.join(group, LOOPBACK).unwrap());
            assert!(second.join(group, LOOPBACK).unwrap());
            assert!(!second.join(group, LOOPBACK).unwrap(), "joined already");
            assert!(stranger.join(other, LOOPBACK).unwrap());
            sender.send(b"first", &to(SocketAddr::new(group, 7400))).unwrap();
            assert_eq!(
                (octets(&first.receiver()), octets(&second.receiver())),
                (b"first".to_vec(), b"first".to_vec())
            );
            assert!(sockets.iter().all(is_empty));
            sender.send(b"other", &to(SocketAddr::new(other, 7400))).unwrap();
            assert_eq!(octets(&stranger.receiver()), b"other");
            assert!(sockets.iter().all(is_empty));
            assert!(second.leave(group, LOOPBACK).unwrap());
            assert!(!second.leave(group, LOOPBACK).unwrap(), "left already");
            sender.send(b"second", &to(SocketAddr::new(group, 7400))).unwrap();
            assert_eq!(octets(&first.receiver()), b"second");
            assert!(sockets.iter().all(is_empty));
        }
    });
}

#[test]
fn multicast_can_be_kept_from_this_host() {
    alone(|| {
        for (v4, group, _, any) in families() {
            let receiver = shared(v4);
            receiver.join(group, LOOPBACK).unwrap();
            let quiet = SocketOptions { multicast_loop: false, ..SocketOptions::default() };
            bound(any, quiet).sender().send(b"quiet", &to(SocketAddr::new(group, 7400))).unwrap();
            assert!(is_empty(&receiver));
        }
    });
}

#[test]
fn multicast_takes_as_many_hops_as_it_may() {
    alone(|| {
        veth();
        // So that the other end of the pair takes what comes from this same host.
        std::fs::write("/proc/sys/net/ipv4/conf/right/accept_local", "1").unwrap();
        ip("address add 10.9.0.9/24 dev right");
        let index = |name: &str| {
            udp::interfaces().unwrap().into_iter().find(|found| found.name == name).unwrap().index
        };
        let receiver = shared(true);
        let group = SocketAddr::new("239.255.0.1".parse().unwrap(), 7400);
        receiver.join(group.ip(), index("right")).unwrap();
        let out = udp::Destination { interface: index("left"), ..to(group) };
        for (multicast_hops, text) in [(0, "stays"), (1, "leaves")] {
            let options = SocketOptions { multicast_hops, ..SocketOptions::default() };
            bound("0.0.0.0:0", options).sender().send(text.as_bytes(), &out).unwrap();
        }
        // The first would have come first.
        assert_eq!(octets(&receiver.receiver()), b"leaves");
    });
}

#[test]
fn what_cannot_be_joined_is_told() {
    alone(|| {
        let socket = shared(true);
        for group in ["10.0.0.1", "ff03::1"] {
            let error = socket.join(group.parse().unwrap(), LOOPBACK).unwrap_err();
            assert!(matches!(error.failure, MembershipFailure::NotAGroup), "{error}");
        }
        let group = "239.255.0.1".parse().unwrap();
        let error = socket.join(group, 4_711).unwrap_err();
        assert!(matches!(error.failure, MembershipFailure::NoInterface), "{error}");
        assert_eq!((error.group, error.interface), (group, 4_711));
        std::fs::write("/proc/sys/net/ipv4/igmp_max_memberships", "1").unwrap();
        socket.join(group, LOOPBACK).unwrap();
        let error = socket.join("239.255.0.2".parse().unwrap(), LOOPBACK).unwrap_err();
        assert!(matches!(error.failure, MembershipFailure::TooMany), "{error}");
    });
}
