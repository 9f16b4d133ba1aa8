//! Sending and receiving take nothing from the heap.
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::ThreadId;

use dds::config::Config;
use dds::driver::Driver;
use dds::host::{Addresses, Channel, Engine, Host, Sent};

use crate::namespace::alone;
use crate::node::{Node, later, transmit};

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

/// Counts datagrams, and those that the test's own thread read.
struct Counter {
    all: AtomicU64,
    own: AtomicU64,
    thread: ThreadId,
}

impl Engine for Counter {
    fn on_datagram(&self, _: SocketAddr, _: &[u8]) {
        let own = std::thread::current().id() == self.thread;
        self.own.fetch_add(own.into(), SeqCst);
        self.all.fetch_add(1, SeqCst);
    }

    fn on_timeout(&self) {}

    fn on_network(&self, _: &Addresses) {}
}

#[test]
fn a_round_trip_by_a_leader() {
    alone(|| {
        let host = Driver::open(0, &Config::default()).unwrap();
        let [all, own] = [(); 2].map(|()| AtomicU64::new(0));
        let counter = Arc::new(Counter { all, own, thread: std::thread::current().id() });
        host.start(Arc::clone(&counter) as Arc<dyn Engine>).unwrap();
        let own = Node::path(host.addresses().default_unicast[0].socket_addr().unwrap());
        let datagram = transmit(b"to itself", 0);
        let round_trip = || {
            let got = counter.all.load(SeqCst);
            assert_eq!(host.send(Channel::User, &own, &datagram), Sent::Done);
            let now = host.now().monotonic;
            host.wake_at(later(now, crate::PATIENCE));
            let until = later(now, crate::PATIENCE);
            while counter.all.load(SeqCst) == got {
                assert!(host.receive(until, &|| counter.all.load(SeqCst) > got));
                assert!(host.now().monotonic < until);
            }
        };
        // The first time that a thread is inside, a list begins.
        while counter.own.load(SeqCst) == 0 {
            round_trip();
        }
        let ((), usage) = alloc_meter::measure(|| (0..1_000).for_each(|_| round_trip()));
        assert_eq!(usage.count, 0, "{usage:?}");
        host.close();
    });
}
