//! Threads that wait read the endpoints' socket themselves.
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use dds::config::Config;
use dds::host::{Channel, Host};

use crate::PATIENCE;
use crate::namespace::alone;
use crate::node::{Node, later, transmit};

/// A node that answers every datagram with the same number of bytes.
fn echo() -> Arc<Node> {
    Node::with(
        &Config::default(),
        Some(Box::new(|node, _, datagram| {
            node.send(Channel::User, node.other(), &datagram[datagram.len() - 8..]);
        })),
        None,
    )
}

#[test]
fn round_trips_by_a_leader() {
    alone(|| {
        let (echo, node) = (echo(), Node::start(&Config::default()));
        for round in 0..2_000_u64 {
            let request = (0x4242_0000_0000_0000 | round).to_be_bytes();
            node.send(Channel::User, echo.user(), &request);
            node.wait(|| node.count(&request) == 1);
        }
        node.host.close();
        echo.host.close();
    });
}

#[test]
fn an_interrupt_ends_a_wait() {
    alone(|| {
        let node = Node::start(&Config::default());
        for _ in 0..200 {
            let flag = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| node.wait(|| flag.load(SeqCst)));
                flag.store(true, SeqCst);
                node.happened();
                waiting.join().unwrap();
            });
        }
        node.host.close();
    });
}

#[test]
fn a_wait_ends_in_time_and_not_before() {
    alone(|| {
        let node = Node::start(&Config::default());
        for millis in [0, 1, 3, 30] {
            let start = std::time::Instant::now();
            assert!(!node.wait_at_most(Duration::from_millis(millis), &|| false));
            assert!(start.elapsed() >= Duration::from_millis(millis));
        }
        node.host.close();
    });
}

#[test]
fn two_threads_that_wait_are_both_served() {
    alone(|| {
        let (node, other) = (Node::start(&Config::default()), Node::start(&Config::default()));
        let (node, other) = (&*node, &*other);
        for round in 0..100_u64 {
            std::thread::scope(|scope| {
                for who in [1, 2] {
                    let bytes = (0x7171_0000_0000_0000 | who << 16 | round).to_be_bytes();
                    scope.spawn(move || node.wait(|| node.count(&bytes) == 1));
                    scope.spawn(move || other.send(Channel::User, node.user(), &bytes));
                }
            });
        }
        node.host.close();
        other.host.close();
    });
}

#[test]
fn the_second_that_waits_is_served_after_the_first_has_gone() {
    alone(|| {
        let (node, other) = (Node::start(&Config::default()), Node::start(&Config::default()));
        std::thread::scope(|scope| {
            let first = scope.spawn(|| node.wait(|| node.told("first may go") > 0));
            let second = scope.spawn(|| node.wait(|| node.count(b"for the second") == 1));
            node.tell("first may go");
            first.join().unwrap();
            other.send(Channel::User, node.user(), b"for the second");
            second.join().unwrap();
        });
        node.host.close();
        other.host.close();
    });
}

#[test]
fn the_own_thread_comes_back() {
    alone(|| {
        let (node, other) = (Node::start(&Config::default()), Node::start(&Config::default()));
        for round in 0..20_u64 {
            let bytes = (0x5151_0000_0000_0000 | round).to_be_bytes();
            // Somebody leads, and then nobody.
            assert!(!node.wait_at_most(Duration::from_millis(1), &|| false));
            other.send(Channel::User, node.user(), &bytes);
            node.watch(|| node.count(&bytes) == 1);
        }
        node.host.close();
        other.host.close();
    });
}

#[test]
fn the_own_thread_keeps_the_socket_if_it_has_to() {
    alone(|| {
        let (node, other) = (Node::start(&Config::default()), Node::start(&Config::default()));
        let soon = || later(node.host.now().monotonic, PATIENCE);
        // The socket was left to whoever comes next.
        assert!(!node.wait_at_most(Duration::from_millis(1), &|| false));
        node.host.keep_own_thread(true);
        assert!(!node.host.receive(soon(), &|| true));
        other.send(Channel::User, node.user(), b"kept");
        node.watch(|| node.count(b"kept") == 1);
        node.host.keep_own_thread(false);
        assert!(node.host.receive(soon(), &|| true));
        node.host.close();
        other.host.close();
    });
}

#[test]
fn a_glance_takes_what_lies_there() {
    alone(|| {
        let (node, other) = (Node::start(&Config::default()), Node::start(&Config::default()));
        // The own thread waits for a moment after somebody has led, and a glance reads in its place.
        for round in 0..50_u64 {
            let bytes = (0x6161_0000_0000_0000 | round).to_be_bytes();
            assert!(!node.wait_at_most(Duration::from_micros(100), &|| false));
            other.send(Channel::User, node.user(), &bytes);
            // On loopback it has arrived; whoever reads, it is handed in soon.
            let glance = || node.host.receive(wire::Instant::START, &|| node.count(&bytes) == 1);
            let end = std::time::Instant::now() + PATIENCE;
            while node.count(&bytes) == 0 {
                glance();
                assert!(std::time::Instant::now() < end);
            }
        }
        node.host.close();
        other.host.close();
    });
}

/// Threads that lead, are refused, are interrupted and run out of time while datagrams come in: nothing may be lost or stuck.
#[test]
fn whoever_reads_nothing_is_lost() {
    alone(|| {
        let (node, other) = (Node::start(&Config::default()), Node::start(&Config::default()));
        let (node, other) = (&*node, &*other);
        let [sent, ended] = [(); 2].map(|()| AtomicU64::new(0));
        let (sent, ended) = (&sent, &ended);
        std::thread::scope(|scope| {
            for who in 0..3_u64 {
                scope.spawn(move || {
                    // A different mixture of times for each.
                    let mut step = who + 1;
                    while node.received() < 5_000 {
                        step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        let time = Duration::from_micros((step >> 33) % 3_000);
                        let expected = sent.load(SeqCst);
                        node.wait_at_most(time, &|| node.received() >= expected.max(1));
                        if step >> 40 & 7 == 0 {
                            std::thread::sleep(Duration::from_micros((step >> 43) % 5_000));
                        }
                    }
                    ended.fetch_add(1, SeqCst);
                });
            }
            scope.spawn(move || {
                let datagram = transmit(b"datagram", 0);
                let path = Node::path(node.user());
                for number in 1..=5_000_u64 {
                    // Never more under way than the socket holds.
                    node.watch(|| node.received() + 100 > number);
                    other.host.send(Channel::User, &path, &datagram);
                    sent.store(number, SeqCst);
                }
            });
            scope.spawn(move || {
                while ended.load(SeqCst) < 3 {
                    node.happened();
                    std::thread::sleep(Duration::from_micros(300));
                }
            });
        });
        assert_eq!(node.received(), 5_000);
        node.host.close();
        other.host.close();
    });
}
