//! A site behind an access that is slow and loses packets: routers at both ends shape to its rates, so that what is reserved is before a flood there, and
//! not behind it in the modem. What arrives is within the bound, and what is lost within what was stated.
use std::collections::BTreeMap;
use std::fs::File;
use std::net::UdpSocket;
use std::os::unix::net::UnixListener;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use lab::emulator::{self, Description};
use lab::probe::{Probes, Stall, monotonic};
use nix::sched::{CloneFlags, setns, unshare};
use testkit::namespace::{alone, run};
use testkit::patience::patiently;
use wan::{Class, Place};
use wan_server::conformance::{Course, conforms};
use wan_server::protocol::{Admitted, BoundKind, Flow};
use wan_server::{DomainFile, LinuxRouters, Within};

use crate::domains::{Domains, MILLISECOND, PATIENT, WEST, flow, session};

const SITE: &str = include_str!("../../examples/access/site.toml");
const CALLEE: &str = "10.1.1.2";
/// The port of the flow that is reserved, and that of the flood.
const RESERVED: u16 = 7_411;
const FLOODED: u16 = 7_600;
/// Bytes of an IP packet of the flow, and of UDP and IP in it.
const PACKET: usize = 500;
const HEADERS: usize = 28;
/// What wakes later than this, in nanoseconds, has met a stall.
const LATE: Duration = Duration::from_millis(2);

/// Names of namespaces, and namespaces, that nothing outside of the test sees and that end with it.
fn apart(test: impl FnOnce() + Send) {
    alone(|| {
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        run("mount", "--make-rprivate /");
        std::fs::create_dir_all("/run/netns").unwrap();
        run("mount", "-t tmpfs none /run/netns");
        test();
    });
}

/// Does something in a namespace.
fn inside<T: Send>(name: &str, act: impl FnOnce() -> T + Send) -> T {
    let there = File::open(format!("/run/netns/{name}")).unwrap();
    let enter = || {
        setns(&there, CloneFlags::CLONE_NEWNET).unwrap();
        act()
    };
    thread::scope(|scope| scope.spawn(enter).join().unwrap())
}

/// A caller at the site, a callee behind the head, and between both routers two modems with a way of 100 ms: they carry half as much again as the
/// routers send, in one queue for all, and lose 1 %.
fn build() {
    for name in ["caller", "site", "modems", "head", "callee"] {
        run("ip", &format!("netns add {name}"));
        run("ip", &format!("-n {name} link set dev lo up"));
    }
    inside("modems", || {
        run("sysctl", "-qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1")
    });
    for (one, other) in [
        (("caller", "eth0"), ("site", "edge0")),
        (("site", "modem0"), ("modems", "m0")),
        (("modems", "m1"), ("head", "modem0")),
        (("head", "edge0"), ("callee", "eth0")),
    ] {
        run(
            "ip",
            &format!("link add {} netns {} type veth peer {} netns {}", one.1, one.0, other.1, other.0),
        );
        for (namespace, interface) in [one, other] {
            inside(namespace, || {
                run("ethtool", &format!("-K {interface} tx off rx off tso off gso off gro off"));
                run("ip", &format!("link set dev {interface} up"));
            });
        }
    }
    for (name, address, router) in
        [("caller", "10.1.0.2/24", "10.1.0.1"), ("callee", "10.1.1.2/24", "10.1.1.1")]
    {
        run("ip", &format!("-n {name} addr add {address} dev eth0"));
        run("ip", &format!("-n {name} route add default via {router}"));
    }
    for interface in ["m0", "m1"] {
        run("ip", &format!("-n modems link set dev {interface} mtu 1600 arp off promisc on up"));
    }
    let end = |interface: &str, router: &str, rate: u64| {
        let queue = serde_json::json!({ "purpose": "best-effort", "dscp": 0, "frames": 150, "class": 1 });
        serde_json::json!({
            "interface": interface, "port": [router, "modem0"], "switch": false, "stamps": false,
            "queues": { "rate": rate, "queues": [queue], "head-drop": false },
        })
    };
    let ends = [end("m0", "site", 3_000_000), end("m1", "head", 12_000_000)];
    let links = serde_json::json!({ "links": [{ "ends": ends, "delay": 100 * MILLISECOND, "loss": 10_000 }], "core": null });
    let description: Description = serde_json::from_value(links).unwrap();
    let modems = File::open("/run/netns/modems").unwrap();
    let (ready, is_ready) = std::sync::mpsc::channel();
    // It works until the process ends: what it holds are two sockets in a namespace without a name by then.
    thread::spawn(move || {
        setns(&modems, CloneFlags::CLONE_NEWNET).unwrap();
        let listener = UnixListener::bind("/run/netns/modems.sock").unwrap();
        emulator::run(&description, &listener, || ready.send(()).unwrap())
    });
    is_ready.recv().unwrap();
}

/// What is sent: so many packets of IP of this size, each so many nanoseconds after the one before or later.
#[derive(Clone, Copy)]
struct Sent {
    port: u16,
    count: u32,
    size: usize,
    separation: u64,
}

fn send(sent: Sent) {
    let socket = UdpSocket::bind(("10.1.0.2", sent.port)).unwrap();
    let mut datagram = vec![0; sent.size - HEADERS];
    for number in 0..sent.count {
        datagram[..4].copy_from_slice(&number.to_le_bytes());
        let now = monotonic();
        datagram[4..12].copy_from_slice(&now.to_le_bytes());
        // A queue that is full says so to who sends.
        let _ = socket.send_to(&datagram, (CALLEE, sent.port));
        while let Some(left) = (now + sent.separation).checked_sub(monotonic()).filter(|left| *left > 0) {
            thread::sleep(Duration::from_nanos(left));
        }
    }
}

/// What has come by its number, with when it was sent and received, until nothing comes for seconds.
fn receive(socket: &UdpSocket) -> BTreeMap<u32, (u64, u64)> {
    socket.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    let (mut got, mut datagram) = (BTreeMap::new(), [0; 2_000]);
    while let Ok(length) = socket.recv(&mut datagram) {
        let now = monotonic();
        assert_eq!(length, PACKET - HEADERS);
        let number = u32::from_le_bytes(datagram[..4].try_into().unwrap());
        got.insert(number, (u64::from_le_bytes(datagram[4..12].try_into().unwrap()), now));
    }
    got
}

/// Neighbours know their addresses, and the way is there.
fn warm() {
    let there = inside("callee", || UdpSocket::bind((CALLEE, 7_000)).unwrap());
    there.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let here = inside("caller", || UdpSocket::bind("10.1.0.2:0").unwrap());
    patiently("a first packet", || {
        here.send_to(&[1], (CALLEE, 7_000)).ok()?;
        there.recv(&mut [0; 8]).ok()
    });
}

/// Sends packets of the flow while a flood of several times what the site may send goes the same way: what has come of the flow, and when the machine stood still.
fn play(count: u32) -> (BTreeMap<u32, (u64, u64)>, Vec<Stall>) {
    let reserved = Sent { port: RESERVED, count, size: PACKET, separation: 10 * MILLISECOND };
    let flood = Sent { port: FLOODED, count: count * 8, size: 1_400, separation: MILLISECOND };
    let socket = inside("callee", || UdpSocket::bind((CALLEE, RESERVED)).unwrap());
    let probes = Probes::start(LATE).unwrap();
    let ready = Barrier::new(3);
    let got = thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            // Without the right to it, its own waiting counts as the network's.
            let _ = udp::thread::set_real_time(30);
            ready.wait();
            receive(&socket)
        });
        for (sent, priority) in [(reserved, Some(30)), (flood, None)] {
            let ready = &ready;
            scope.spawn(move || {
                inside("caller", || {
                    let _ = priority.map(udp::thread::set_real_time);
                    ready.wait();
                    send(sent);
                });
            });
        }
        receiving.join().unwrap()
    });
    (got, probes.stop())
}

/// Packets that came later than the bound, though the machine did not stand still while they were under way.
fn late(got: &BTreeMap<u32, (u64, u64)>, stalls: &[Stall], bound: u64) -> Vec<(u32, u64)> {
    let met = |(sent, came): (u64, u64)| stalls.iter().any(|stall| stall.meets(sent, came));
    let found = got.iter().filter(|(_, times)| times.1.saturating_sub(times.0) > bound && !met(**times));
    found.map(|(number, (sent, came))| (*number, came - sent)).collect()
}

fn asked(most_loss: u32) -> Flow {
    Flow {
        destination_port: RESERVED,
        source_port: RESERVED,
        bucket: 5_000,
        largest_packet: PACKET as u32,
        most_loss,
        ..flow(400_000, 1_000 * MILLISECOND)
    }
}

/// The session, once a flow that allows less loss than the access has is refused.
fn admitted(domains: &Domains) -> Admitted {
    let wanted = |most_loss| {
        let mut wanted = session(CALLEE, vec![asked(most_loss)]);
        wanted.caller = "10.1.0.2".parse().unwrap();
        wanted
    };
    // A manager that has just begun asks its routers first what they hold.
    let refused = patiently("a manager that knows its routers", || {
        domains.establish(&wanted(49_999)).err().filter(|refused| refused.reason != "busy")
    });
    assert_eq!((refused.asn, refused.link, &*refused.reason), (WEST, None, "loss"), "{refused:?}");
    assert_eq!(
        (refused.missing, refused.offer, refused.unit.as_deref()),
        (Some(1), Some(50_000), Some("ppm"))
    );
    domains.admitted(&wanted(50_000))
}

fn text() -> String {
    SITE.replacen("[access]\n", &format!("{PATIENT}\n[access]\n"), 1)
}

#[test]
fn what_arrives_over_a_lossy_access_is_in_time_though_the_site_floods_it() {
    let Some(_turn) = lab_turn::turn() else { return };
    apart(|| {
        build();
        let domains = Domains::one("access", text());
        warm();
        let admitted = admitted(&domains);
        let [bound] = &admitted.bounds[..] else { panic!("{admitted:?}") };
        assert_eq!((bound.kind, bound.loss), (BoundKind::WhatArrives, 50_000), "{admitted:?}");
        assert!(
            admitted.caveat.as_deref().is_some_and(|caveat| caveat.contains("is declared")),
            "{admitted:?}"
        );
        let status = domains.command().arg("status").output().unwrap();
        let status = String::from_utf8(status.stdout).unwrap();
        assert!(
            status.contains("what arrives takes at most") && status.contains("at most 50000 ppm are lost"),
            "{status}"
        );

        // The modems lose 1 %, and 5 % are stated. That more than 30 of 600 are lost has a chance of at most exp(-600 d), where d is the relative
        // entropy of 5 % to 1 %: 0.05 ln(0.05 / 0.01) + 0.95 ln(0.95 / 0.99) = 0.0413. It is 2e-11.
        const COUNT: u32 = 600;
        let (got, stalls) = play(COUNT);
        let worst = got.values().map(|(sent, came)| came - sent).max().unwrap_or(0);
        let lost = COUNT - got.len() as u32;
        let missing: Vec<u32> = (0..COUNT).filter(|number| !got.contains_key(number)).collect();
        println!("shaped: {missing:?} of {COUNT} lost, the last after {worst} ns of at most {}", bound.delay);
        assert!(lost * 20 <= COUNT, "{lost} of {COUNT} are lost");
        let late = late(&got, &stalls, bound.delay);
        assert!(late.is_empty(), "{late:?} are later than {}; {} stalls", bound.delay, stalls.len());

        // What the queues are for: without them all waits in the modem, whose queue knows no classes.
        inside("site", || run("tc", "qdisc del dev modem0 root"));
        let (got, stalls) = play(COUNT / 3);
        let late = self::late(&got, &stalls, bound.delay).len();
        println!(
            "without: {} of {} lost, {late} later than the bound",
            COUNT / 3 - got.len() as u32,
            COUNT / 3
        );
    });
}

#[test]
fn routers_at_both_ends_of_an_access_conform() {
    let Some(_turn) = lab_turn::turn() else { return };
    apart(|| {
        build();
        let Within::Linux(mut routers) = DomainFile::read("site.toml", SITE).unwrap().inside else {
            panic!()
        };
        // So many bytes at once that rates alone decide.
        routers.domain.ceilings.values_mut().for_each(|ceiling| ceiling.burst = 200_000);
        routers.domain.edges.iter_mut().for_each(|edge| edge.wire.bursts = 8);
        let addresses = ["10.1.0.2", CALLEE].map(|text| text.parse().unwrap());
        let course = Course::new(Place::Edges, Place::Edges, Class::Ef, 333);
        let mut backend = LinuxRouters::start(&routers, |what| panic!("{what}")).unwrap();
        assert_eq!(conforms(&mut backend, Course { addresses, rounding: 32, ..course }), Ok(()));
    });
}
