//! What gateways do with their sockets: a peer that does not read, and where and how far multicast goes.
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use gateways::{Config, GatewayId, Group, Header, Peer, Transport};
use socket2::{Domain, Protocol, Socket, Type};
use testkit::namespace::{alone, ip, switch_on};
use testkit::patience::patiently;

use crate::{Number, Site, at, config, patient};

const GROUP: &str = "239.255.7.1:7400";

/// Passes a connection of TCP on; what comes from the one who connected is not read any more once that is said.
struct Proxy {
    is_deaf: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Proxy {
    fn start(from: u16, to: u16) -> Self {
        let listener = TcpListener::bind(at(from)).unwrap();
        let (is_deaf, is_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (deaf, over) = (Arc::clone(&is_deaf), Arc::clone(&is_over));
        let accepts = thread::spawn(move || {
            let (near, _) = listener.accept().unwrap();
            let far = patiently("the far end", || TcpStream::connect(at(to)).ok());
            let back = (far.try_clone().unwrap(), near.try_clone().unwrap());
            let (never, ends) = (Arc::new(AtomicBool::new(false)), Arc::clone(&over));
            let backward = thread::spawn(move || pass_on(back.0, back.1, &never, &ends));
            pass_on(near, far, &deaf, &over);
            backward.join().unwrap();
        });
        Self { is_deaf, is_over, threads: vec![accepts] }
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, is_deaf: &AtomicBool, is_over: &AtomicBool) {
    from.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut bytes = vec![0; 4_096];
    while !is_over.load(Acquire) {
        if is_deaf.load(Acquire) {
            // Until the proxy ends.
            thread::park();
            continue;
        }
        match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) if to.write_all(&bytes[..count]).is_err() => break,
            _ => {}
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.is_over.store(true, Release);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            thread.join().unwrap();
        }
    }
}

#[test]
fn a_peer_that_does_not_read_costs_only_what_is_kept_for_it_and_no_other_peer_notices() {
    alone(|| {
        const HELD: usize = 256 << 10;
        const SIZE: usize = 1_000;
        let mut slow = patient(2);
        slow.tcp = Some(at(7_102));
        slow.peers = vec![Peer { id: GatewayId(1), transport: Transport::Accept }];
        let mut slow = Site::start(&slow);
        let proxy = Proxy::start(7_101, 7_102);
        let mut of_one = config(1, &[3]);
        of_one.settings.held = HELD;
        of_one.peers.push(Peer { id: GatewayId(2), transport: Transport::Connect(at(7_101)) });
        let one = Site::start(&of_one);
        let mut other = Site::start(&config(3, &[1]));
        slow.subscribe(None);
        other.subscribe(None);
        one.is_wanted_by(2);
        proxy.is_deaf.store(true, Release);
        let (mut given_up, mut number) = (0, 0);
        // Many times what may be kept; the other peer gets all of it meanwhile.
        while given_up < 2_000 {
            let mut body = u32::to_le_bytes(number).to_vec();
            body.resize(SIZE, 9);
            let header = Header { priority: 4, budget: None };
            let published = one.gateway.publish(one.kind, "gps.out", header, &Number(1), &body).unwrap();
            assert_eq!(published.subscribers, 2);
            given_up += published.given_up;
            number += 1;
            // The other peer has the same room, and so long to acknowledge.
            if number % 64 == 0 {
                patiently("the other peer", || (other.numbers().last() == Some(&(number - 1))).then_some(()));
            }
        }
        other.gets(&(0..number).collect::<Vec<_>>());
        let accepted = number as usize - given_up;
        assert!(accepted * SIZE <= HELD, "{accepted} events are kept, and {HELD} bytes may be");
        assert!(one.gateway.is_up(GatewayId(2)), "its other direction works");
    });
}

/// A gateway that sends to the group, and two more that listen to it.
fn grouped(change: &dyn Fn(&mut Config)) -> [Site; 3] {
    let mut sites = [(1, vec![2, 3]), (2, vec![1]), (3, vec![1])].map(|(id, peers)| {
        let mut config = config(id, &peers);
        config.groups = vec![Group { kind: "Fix".into(), address: GROUP.parse().unwrap() }];
        change(&mut config);
        Site::start(&config)
    });
    sites[1].subscribe(None);
    sites[2].subscribe(None);
    sites[0].is_wanted_by(2);
    sites
}

/// The bytes that have left by an interface.
fn sent_by(interface: &str) -> u64 {
    let shown = Command::new("ip").args(["-s", "link", "show", "dev", interface]).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let mut lines = shown.lines().skip_while(|line| !line.contains("TX:"));
    lines.nth(1).and_then(|line| line.split_whitespace().next()?.parse().ok()).expect("a count")
}

#[test]
fn multicast_leaves_by_the_interface_that_is_named() {
    alone(|| {
        for (name, far, address) in [("one", "one-far", "10.7.1.1/24"), ("two", "two-far", "10.7.2.1/24")] {
            ip(&format!("link add {name} type veth peer name {far}"));
            ip(&format!("link set {far} up"));
            switch_on(name);
            ip(&format!("addr add {address} dev {name}"));
        }
        let index = |name: &str| nix::net::if_::if_nametoindex(name).unwrap();
        for (chosen, other) in [("one", "two"), ("two", "one")] {
            let sites = grouped(&|config| config.interface = index(chosen));
            let before = (sent_by(chosen), sent_by(other));
            (0..100).for_each(|n| assert_eq!(sites[0].publish(n, 1_000), 2));
            sites[1..].iter().for_each(|site| site.gets(&(0..100).collect::<Vec<_>>()));
            let after = (sent_by(chosen), sent_by(other));
            assert!(after.0 - before.0 >= 100_000, "{chosen}: {before:?} {after:?}");
            assert!(after.1 - before.1 < 50_000, "{other}: {before:?} {after:?}");
        }
    });
}

#[test]
fn multicast_goes_through_as_many_networks_as_it_may() {
    alone(|| {
        for hops in [1, 7] {
            let sites = grouped(&|config| config.hops = hops);
            // All datagrams of the host, with the headers of IP.
            let raw = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)).unwrap();
            raw.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let group: SocketAddrV4 = GROUP.parse().unwrap();
            let mut bytes = [0; 2_048];
            let hops_left = patiently("a datagram to the group", || {
                sites[0].publish(1, 100);
                let count = (&raw).read(&mut bytes).ok()?;
                (count > 20 && bytes[16..20] == group.ip().octets()).then_some(bytes[8])
            });
            assert_eq!(hops_left, hops);
        }
    });
}

/// Without copies for the own host no gateway there gets what goes to the group, and each asks for it.
#[test]
fn multicast_comes_to_the_own_host_unless_that_is_not_wanted() {
    alone(|| {
        // What is sent by this interface comes to no gateway.
        ip("link add sink type veth peer name far");
        ip("link set far up");
        switch_on("sink");
        ip("addr add 10.7.3.1/24 dev sink");
        let interface = nix::net::if_::if_nametoindex("sink").unwrap();
        for loopback in [true, false] {
            let sites = grouped(&|config| {
                (config.interface, config.loopback) = (interface, loopback);
                // Longer than a thread waits for a processor.
                config.settings.repair = config.settings.repair_most;
            });
            // What comes before a receiver knows the group is sent to it once more, too.
            assert_eq!(sites[0].publish(0, 1_000), 2);
            sites[1..].iter().for_each(|site| site.gets(&[0]));
            let before = sites[0].gateway.counts().repairs;
            (1..21).for_each(|n| assert_eq!(sites[0].publish(n, 1_000), 2));
            sites[1..].iter().for_each(|site| site.gets(&(0..21).collect::<Vec<_>>()));
            let repairs = sites[0].gateway.counts().repairs - before;
            assert!(if loopback { repairs < 20 } else { repairs >= 40 }, "{loopback}: {repairs} repairs");
        }
    });
}
