//! Groups, and ports that several sockets share.
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use udp::{Destination, MembershipFailure, Received, Socket, SocketOptions};

use crate::namespace::{alone, close, ip, veth};
use crate::{NOTHING, bound, octets, to, until_received};

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

/// A group over IPv4.
const GROUP: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(239, 255, 0, 1), 7400));

/// A pair of interfaces whose second end takes what comes from this same host. A datagram has gone over it, so that it is ready.
fn cable() -> [u32; 2] {
    let [left, right] = veth();
    std::fs::write("/proc/sys/net/ipv4/conf/right/accept_local", "1").unwrap();
    ip("address add 10.9.0.9/24 dev right");
    let probe = bound("0.0.0.0:7400", SocketOptions::default());
    probe.join(GROUP.ip(), right).unwrap();
    let out = Destination { interface: left, ..to(GROUP) };
    until_received(&probe.sender(), &out, &probe.receiver());
    close(probe);
    [left, right]
}

#[test]
fn every_socket_of_a_port_gets_what_its_groups_are_sent_and_no_other() {
    alone(|| {
        let [left, _] = veth();
        for (v4, group, other, any) in families() {
            let out = |group| Destination { interface: left, ..to(SocketAddr::new(group, 7400)) };
            let sockets = [shared(v4), shared(v4), shared(v4)];
            let [first, second, stranger] = &sockets;
            let sender = bound(any, SocketOptions::default()).sender();
            assert!(first.join(group, left).unwrap());
            assert!(second.join(group, left).unwrap());
            assert!(!second.join(group, left).unwrap(), "joined already");
            assert!(stranger.join(other, left).unwrap());
            sender.send(b"first", &out(group)).unwrap();
            assert_eq!(
                (octets(&first.receiver()), octets(&second.receiver())),
                (b"first".to_vec(), b"first".to_vec())
            );
            assert!(sockets.iter().all(is_empty));
            sender.send(b"other", &out(other)).unwrap();
            assert_eq!(octets(&stranger.receiver()), b"other");
            assert!(sockets.iter().all(is_empty));
            assert!(second.leave(group, left).unwrap());
            assert!(!second.leave(group, left).unwrap(), "left already");
            sender.send(b"second", &out(group)).unwrap();
            assert_eq!(octets(&first.receiver()), b"second");
            assert!(sockets.iter().all(is_empty));
        }
    });
}

#[test]
fn multicast_can_be_kept_from_this_host() {
    alone(|| {
        let [left, _] = veth();
        for (v4, group, _, any) in families() {
            let receiver = shared(v4);
            receiver.join(group, left).unwrap();
            let out = Destination { interface: left, ..to(SocketAddr::new(group, 7400)) };
            for (multicast_loop, text) in [(false, "quiet"), (true, "heard")] {
                let options = SocketOptions { multicast_loop, ..SocketOptions::default() };
                bound(any, options).sender().send(text.as_bytes(), &out).unwrap();
            }
            // The first would have come first.
            assert_eq!(octets(&receiver.receiver()), b"heard");
        }
    });
}

#[test]
fn multicast_takes_as_many_hops_as_it_may() {
    alone(|| {
        let [left, right] = cable();
        let (receiver, member) = (shared(true), shared(true));
        receiver.join(GROUP.ip(), right).unwrap();
        member.join(GROUP.ip(), left).unwrap();
        let out = Destination { interface: left, ..to(GROUP) };
        let [stays, leaves] = [0, 1].map(|multicast_hops| {
            bound("0.0.0.0:0", SocketOptions { multicast_hops, ..SocketOptions::default() }).sender()
        });
        stays.send(b"stays", &out).unwrap();
        leaves.send(b"leaves", &out).unwrap();
        // The first would have come first.
        assert_eq!(octets(&receiver.receiver()), b"leaves");
        // On this host both are heard.
        assert_eq!(octets(&member.receiver()), b"stays");
        assert_eq!(octets(&member.receiver()), b"leaves");
    });
}

#[test]
fn what_comes_over_a_wire_goes_to_members_only() {
    alone(|| {
        let [left, right] = cable();
        let (member, stranger) = (shared(true), shared(true));
        member.join(GROUP.ip(), right).unwrap();
        stranger.join("239.255.0.2".parse().unwrap(), right).unwrap();
        let out = Destination { interface: left, ..to(GROUP) };
        // From many ports: a system that chooses by a hash is right by chance for some.
        for _ in 0..30 {
            bound("0.0.0.0:0", SocketOptions::default()).sender().send(b"x", &out).unwrap();
            assert_eq!(octets(&member.receiver()), b"x");
            assert!(is_empty(&stranger));
        }
    });
}

#[test]
fn what_cannot_be_joined_is_told() {
    alone(|| {
        let socket = shared(true);
        for group in ["10.0.0.1", "ff03::1"] {
            let error = socket.join(group.parse().unwrap(), 1).unwrap_err();
            assert!(matches!(error.failure, MembershipFailure::NotAGroup), "{error}");
        }
        let group = "239.255.0.1".parse().unwrap();
        let error = socket.join(group, 4_711).unwrap_err();
        assert!(matches!(error.failure, MembershipFailure::NoInterface), "{error}");
        assert_eq!((error.group, error.interface), (group, 4_711));
        std::fs::write("/proc/sys/net/ipv4/igmp_max_memberships", "1").unwrap();
        socket.join(group, 1).unwrap();
        let error = socket.join("239.255.0.2".parse().unwrap(), 1).unwrap_err();
        assert!(matches!(error.failure, MembershipFailure::TooMany), "{error}");
    });
}
