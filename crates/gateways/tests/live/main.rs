//! Gateways on real sockets, in a network namespace for each test (needs root).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod draining;
mod sockets;

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use gateways::{
    Config, Federated, Filter, GatewayId, Group, Header, Interest, KindId, Peer, Received, Subscription,
    Transport,
};
use testkit::namespace::alone;
use testkit::patience::patiently;
use testkit::random::Random;

/// Events have one field.
struct Number(i64);
impl filter::Fields for Number {
    fn value(&self, slot: u32) -> Option<filter::Value<'_>> {
        (slot == 0).then_some(filter::Value::Signed(self.0))
    }
}

struct OneField;
impl filter::Schema for OneField {
    fn field(&self, path: filter::Path<'_>) -> Option<filter::Field> {
        (path.text() == "n").then_some(filter::Field { slot: 0, kind: filter::Kind::Integer })
    }
    fn label(&self, _: u32, _: &str) -> Option<i64> {
        None
    }
}

/// A gateway, what it got, and its subscription.
struct Site {
    gateway: Federated,
    kind: KindId,
    got: Arc<Mutex<Vec<Vec<u8>>>>,
    subscription: Option<Subscription>,
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

fn udp(id: u64) -> Peer {
    Peer { id: GatewayId(id), transport: Transport::Udp(at(7_000 + id as u16)) }
}

/// A gateway that takes no peer for dead because the machine is busy.
fn patient(id: u64) -> Config {
    let mut config = Config::new(GatewayId(id));
    config.settings.lease = 60_000_000_000;
    config
}

/// The gateway of a number, with these peers by UDP.
fn config(id: u64, peers: &[u64]) -> Config {
    let mut config = patient(id);
    config.udp = Some(at(7_000 + id as u16));
    config.peers = peers.iter().map(|id| udp(*id)).collect();
    config.settings.ttl = 3;
    config
}

/// Passes datagrams on, and loses one of ten.
struct Relay {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    fn start(from: u16, to: u16) -> Self {
        let socket = UdpSocket::bind(at(from)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            let (mut random, mut bytes) = (Random::new(from.into()), vec![0; 65_536]);
            while !ends.load(Acquire) {
                let Ok(count) = socket.recv(&mut bytes) else { continue };
                if !random.chance(10) {
                    let _ = socket.send_to(&bytes[..count], at(to));
                }
            }
        });
        Self { is_over, thread: Some(thread) }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Release);
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Site {
    fn start(config: &Config) -> Self {
        // A child that another test has forked holds the sockets before until it executes its program.
        let gateway = patiently("its address", || Federated::start(config).ok());
        let kind = gateway.offer("Fix", Some(Box::new(OneField))).unwrap();
        Self { gateway, kind, got: Arc::default(), subscription: None }
    }

    fn subscribe(&mut self, filter: Option<&str>) {
        let filter = filter.map(|text| Filter { expression: text.into(), parameters: Vec::new() });
        let interest = Interest { kind: Some("Fix".into()), source: None, filter };
        let got = Arc::clone(&self.got);
        let take = move |event: Received<'_>| {
            assert_eq!((event.source, event.header.priority), ("gps.out", 4));
            got.lock().unwrap().push(event.body.to_vec());
        };
        self.subscription = Some(self.gateway.subscribe(interest, take).unwrap());
    }

    fn publish(&self, n: u32, length: usize) -> usize {
        let mut body = n.to_le_bytes().to_vec();
        body.resize(length.max(4), 9);
        let header = Header { priority: 4, budget: None };
        let published = self.gateway.publish(self.kind, "gps.out", header, &Number(n.into()), &body).unwrap();
        assert_eq!(published.given_up, 0);
        published.subscribers
    }

    /// Publishes until so many gateways want it, with numbers that the tests do not look at.
    fn is_wanted_by(&self, count: usize) {
        patiently("subscribers", || (self.publish(u32::MAX, 4) == count).then_some(()));
    }

    fn numbers(&self) -> Vec<u32> {
        let got = self.got.lock().unwrap();
        let numbers = got.iter().map(|body| u32::from_le_bytes(body[..4].try_into().unwrap()));
        numbers.filter(|n| *n < u32::MAX).collect()
    }

    fn gets(&self, expected: &[u32]) {
        patiently("the last event", || (self.numbers().len() >= expected.len()).then_some(()));
        assert_eq!(self.numbers(), expected);
    }
}

#[test]
fn events_go_by_udp_over_a_gateway_that_wants_none_and_filters_hold_upstream() {
    alone(|| {
        let (one, two) = (Site::start(&config(1, &[2])), Site::start(&config(2, &[1, 3])));
        let mut three = Site::start(&config(3, &[2]));
        three.subscribe(Some("n >= 10"));
        one.is_wanted_by(1);
        assert!((0..10).all(|n| one.publish(n, 100) == 0));
        assert!((10..60).all(|n| one.publish(n, 100) == 1));
        one.publish(60, 300_000);
        three.gets(&(10..=60).collect::<Vec<_>>());
        assert_eq!(three.got.lock().unwrap().last().map(Vec::len), Some(300_000));
        assert!(two.numbers().is_empty());
        // The end of the subscription is told upstream.
        three.subscription = None;
        one.is_wanted_by(0);
    });
}

#[test]
fn no_event_comes_twice_over_a_diamond() {
    alone(|| {
        let one = Site::start(&config(1, &[2, 3]));
        let (two, three) = (Site::start(&config(2, &[1, 4])), Site::start(&config(3, &[1, 4])));
        let mut four = Site::start(&config(4, &[2, 3]));
        four.subscribe(None);
        one.is_wanted_by(1);
        patiently("both ways", || {
            (two.gateway.is_up(GatewayId(4)) && three.gateway.is_up(GatewayId(4))).then_some(())
        });
        one.is_wanted_by(1);
        (0..500).for_each(|n| assert_eq!(one.publish(n, 200), 1));
        patiently("the last event", || four.numbers().contains(&499).then_some(()));
        let mut numbers = four.numbers();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..500).collect::<Vec<_>>());
        assert_eq!(four.gateway.counts().doubles, 0);
    });
}

#[test]
fn a_group_gets_each_event_by_one_transfer() {
    alone(|| {
        let of = |id: u64, peers: &[u64]| {
            let mut config = config(id, peers);
            let address = "239.255.7.1:7400".parse().unwrap();
            config.groups = vec![Group { kind: "Fix".into(), address }];
            config
        };
        let one = Site::start(&of(1, &[2, 3, 4]));
        let mut others: Vec<Site> = (2..5).map(|id| Site::start(&of(id, &[1]))).collect();
        others.iter_mut().for_each(|site| site.subscribe(None));
        one.is_wanted_by(3);
        let before = one.gateway.counts();
        (0..200).for_each(|n| assert_eq!(one.publish(n, 500), 3));
        let all: Vec<u32> = (0..200).collect();
        others.iter().for_each(|site| site.gets(&all));
        assert_eq!(one.gateway.counts().transfers - before.transfers, 200);
    });
}

#[test]
fn events_go_by_tcp_and_a_peer_that_comes_back_is_told_again() {
    alone(|| {
        let mut accepts = patient(1);
        accepts.tcp = Some(at(7_100));
        accepts.peers = vec![Peer { id: GatewayId(2), transport: Transport::Accept }];
        let mut connects = patient(2);
        connects.peers = vec![Peer { id: GatewayId(1), transport: Transport::Connect(at(7_100)) }];
        let one = Site::start(&accepts);
        let mut two = Site::start(&connects);
        two.subscribe(None);
        one.is_wanted_by(1);
        (0..300).for_each(|n| assert_eq!(one.publish(n, 2_000), 1));
        two.gets(&(0..300).collect::<Vec<_>>());
        // It ends without a word, and begins anew.
        drop(two);
        let mut two = Site::start(&connects);
        two.subscribe(None);
        patiently("the new start", || {
            one.publish(u32::MAX, 4);
            (!two.got.lock().unwrap().is_empty()).then_some(())
        });
        one.publish(7, 4);
        two.gets(&[7]);
        // And the end that accepts.
        drop(one);
        let mut one = Site::start(&accepts);
        one.subscribe(None);
        two.is_wanted_by(1);
        two.publish(8, 4);
        one.gets(&[8]);
    });
}

#[test]
fn a_network_that_loses_costs_no_event() {
    alone(|| {
        let _relays = [Relay::start(7_201, 7_001), Relay::start(7_202, 7_002)];
        let by = |id: u64, port: u16, peer: u64| {
            let mut config = config(id, &[]);
            config.peers = vec![Peer { id: GatewayId(peer), transport: Transport::Udp(at(port)) }];
            config
        };
        let one = Site::start(&by(1, 7_202, 2));
        let mut two = Site::start(&by(2, 7_201, 1));
        two.subscribe(None);
        one.is_wanted_by(1);
        for n in 0..1_000 {
            // What is kept has a limit, so this waits for room.
            patiently("room", || {
                let body = u32::to_le_bytes(n);
                let header = Header { priority: 4, budget: None };
                let sent = one.gateway.publish(one.kind, "gps.out", header, &Number(1), &body).unwrap();
                (sent.given_up == 0 && sent.subscribers == 1).then_some(())
            });
        }
        two.gets(&(0..1_000).collect::<Vec<_>>());
        assert!(one.gateway.counts().repairs > 0);
        assert_eq!(one.gateway.counts().given_up, 0);
    });
}

#[test]
fn a_suspended_connection_keeps_events_until_it_is_resumed() {
    alone(|| {
        let one = Site::start(&config(1, &[2]));
        let mut two = Site::start(&config(2, &[1]));
        two.subscribe(None);
        one.is_wanted_by(1);
        two.gateway.suspend(GatewayId(1), true);
        patiently("the suspension", || {
            let notice = std::iter::from_fn(|| one.gateway.next_notice());
            let mut told = notice.filter(|notice| format!("{notice:?}").contains("is_suspended: true"));
            told.next()
        });
        (0..50).for_each(|n| assert_eq!(one.publish(n, 100), 1));
        assert_eq!(two.numbers(), [0; 0]);
        two.gateway.suspend(GatewayId(1), false);
        two.gets(&(0..50).collect::<Vec<_>>());
    });
}

#[test]
fn what_cannot_be_is_refused() {
    alone(|| {
        let one = Site::start(&config(1, &[2]));
        let error = Federated::start(&config(1, &[2])).unwrap_err().to_string();
        assert!(error.contains("7001"), "{error}");
        let mut none = config(3, &[1]);
        none.udp = None;
        assert!(Federated::start(&none).unwrap_err().to_string().contains("needs a socket"));
        let mut two_ports = config(4, &[]);
        for (kind, address) in [("Fix", "239.255.7.1:7400"), ("Track", "239.255.7.2:7401")] {
            two_ports.groups.push(Group { kind: kind.into(), address: address.parse().unwrap() });
        }
        assert!(Federated::start(&two_ports).unwrap_err().to_string().contains("one port"));
        drop(one);
        // Nothing of it is left.
        drop(Site::start(&config(1, &[2])));
    });
}
