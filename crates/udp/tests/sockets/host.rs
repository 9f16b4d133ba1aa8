//! The interfaces of the host and their changes.
use std::fs;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::unistd::gettid;
use udp::{Change, Interface, InterfaceWatch, Socket, SocketOptions, interfaces};

use crate::PATIENCE;
use crate::namespace::{alone, ip, veth, wait_until_asleep};

fn named(interfaces: &[Interface], name: &str) -> Interface {
    interfaces.iter().find(|interface| interface.name == name).unwrap().clone()
}

#[test]
fn interfaces_have_addresses_sizes_and_kinds() {
    alone(|| {
        veth();
        ip("address add 10.9.0.5/32 dev left label left:1");
        ip("link set right mtu 9000");
        ip("link add off type veth peer name far");
        let found = interfaces().unwrap();
        assert!(found.is_sorted_by_key(|interface| interface.index));
        let lo = named(&found, "lo");
        assert_eq!((lo.index, lo.mtu, lo.up, lo.loopback, lo.multicast), (1, 65_536, true, true, true));
        assert_eq!(lo.addresses, [("127.0.0.1".parse().unwrap(), 8), ("::1".parse().unwrap(), 128)]);
        let left = named(&found, "left");
        assert_eq!((left.mtu, left.up, left.loopback, left.multicast), (1_500, true, false, true));
        for address in [("10.9.0.1", 24), ("10.9.0.5", 32), ("fd09::1", 64)] {
            assert!(left.addresses.contains(&(address.0.parse().unwrap(), address.1)), "{left:?}");
        }
        assert_eq!(named(&found, "right").mtu, 9_000);
        let off = named(&found, "off");
        assert_eq!((off.up, off.point_to_point, off.addresses.len()), (false, false, 0));
        assert!(found.iter().all(|interface| !interface.name.contains(':')));
    });
}

#[test]
fn a_waiting_watch_sees_addresses_come_and_go_and_stops() {
    alone(|| {
        let mut watch = InterfaceWatch::new().unwrap();
        let caller = watch.caller();
        let address = ("10.8.0.1".parse().unwrap(), 24);
        let (tell, told) = mpsc::channel();
        let (change, changes) = mpsc::channel();
        std::thread::spawn(move || {
            tell.send(gettid()).unwrap();
            loop {
                let seen = watch.next(None).unwrap();
                change.send(seen.clone()).unwrap();
                if seen == Change::Stopped {
                    // It stays stopped.
                    change.send(watch.next(None).unwrap()).unwrap();
                    return;
                }
            }
        });
        wait_until_asleep(told.recv_timeout(PATIENCE).unwrap());
        let next = || changes.recv_timeout(PATIENCE).expect("the watch does not return");
        ip("address add 10.8.0.1/24 dev lo");
        let Change::Interfaces(with) = next() else { panic!("no interfaces") };
        assert!(named(&with, "lo").addresses.contains(&address));
        ip("address del 10.8.0.1/24 dev lo");
        let Change::Interfaces(without) = next() else { panic!("no interfaces") };
        assert!(!named(&without, "lo").addresses.contains(&address));
        ip("link set lo mtu 9000");
        let Change::Interfaces(smaller) = next() else { panic!("no interfaces") };
        assert_eq!(named(&smaller, "lo").mtu, 9_000);
        caller.call();
        assert_eq!(next(), Change::Called);
        caller.stop();
        assert_eq!((next(), next()), (Change::Stopped, Change::Stopped));
    });
}

#[test]
fn a_change_before_the_call_is_seen_and_none_is_none() {
    alone(|| {
        let mut watch = InterfaceWatch::new().unwrap();
        assert_eq!(watch.known(), interfaces().unwrap());
        assert_eq!(watch.next(Some(Duration::from_millis(5))).unwrap(), Change::TimedOut);
        // Taken back before anybody looked.
        ip("address add 10.8.0.1/24 dev lo");
        ip("address del 10.8.0.1/24 dev lo");
        assert_eq!(watch.next(Some(Duration::ZERO)).unwrap(), Change::TimedOut);
        for mtu in ["50000", "60000"] {
            ip(&format!("link set lo mtu {mtu}"));
        }
        let Change::Interfaces(now) = watch.next(Some(PATIENCE)).unwrap() else { panic!("no interfaces") };
        assert_eq!(named(&now, "lo").mtu, 60_000);
        assert_eq!(watch.known(), now);
        assert_eq!(watch.next(Some(Duration::ZERO)).unwrap(), Change::TimedOut);
    });
}

#[test]
fn a_pause_answers_calls_so_that_the_next_one_lasts_and_a_stop_ends_each() {
    alone(|| {
        let watch = InterfaceWatch::new().unwrap();
        let caller = watch.caller();
        (0..3).for_each(|_| caller.call());
        // It ends at once, which no clock has to show: the limit is far away.
        assert!(watch.pause(PATIENCE * 100));
        let (start, pause) = (Instant::now(), Duration::from_millis(30));
        assert!(watch.pause(pause));
        assert!(start.elapsed() >= pause, "only {:?}", start.elapsed());
        caller.stop();
        assert!(!watch.pause(PATIENCE * 100) && !watch.pause(PATIENCE * 100));
    });
}

#[test]
fn addresses_count_from_when_they_can_be_used() {
    alone(|| {
        veth();
        let address = ("fd07::1".parse().unwrap(), 64);
        let has = |interfaces: &[Interface]| named(interfaces, "left").addresses.contains(&address);
        // The system looks for duplicates, and takes its time.
        fs::write("/proc/sys/net/ipv6/conf/left/dad_transmits", "1000").unwrap();
        ip("address add fd07::1/64 dev left");
        assert!(!has(&interfaces().unwrap()));
        ip("address del fd07::1/64 dev left");
        fs::write("/proc/sys/net/ipv6/conf/left/dad_transmits", "1").unwrap();
        let mut watch = InterfaceWatch::new().unwrap();
        ip("address add fd07::1/64 dev left");
        while !has(watch.known()) {
            assert_ne!(watch.next(Some(PATIENCE)).unwrap(), Change::TimedOut);
        }
        Socket::unicast((address.0, 0).into(), &SocketOptions::default()).unwrap();
    });
}
