//! Callbacks that wait: the engine is called below its own call.
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use dds::config::Config;
use dds::host::{Channel, Host};
use wire::Instant;

use crate::PATIENCE;
use crate::namespace::alone;
use crate::node::{Node, holds, later};

/// A node whose callback waits below the first datagram until the second has come.
fn waits_for_the_second() -> Arc<Node> {
    Node::with(
        &Config::default(),
        Some(Box::new(|node, _, datagram| {
            if holds(datagram, b"first") {
                let before = datagram.to_vec();
                assert!(node.wait_at_most(PATIENCE, &|| node.count(b"second") == 1));
                // The one below came in a buffer of its own.
                assert_eq!(before, datagram);
                node.tell("waited");
            }
        })),
        None,
    )
}

#[test]
fn a_callback_that_waits_reads_on() {
    alone(|| {
        let (node, other) = (waits_for_the_second(), Node::start(&Config::default()));
        other.send(Channel::User, node.user(), b"first");
        other.send(Channel::User, node.user(), b"second");
        node.watch(|| node.told("waited") == 1);
        // The thread reads on as before.
        other.send(Channel::User, node.user(), b"third");
        node.watch(|| node.count(b"third") == 1);
        node.host.close();
        other.host.close();
    });
}

#[test]
fn a_callback_of_a_leader_that_waits_reads_on() {
    alone(|| {
        let (node, other) = (waits_for_the_second(), Node::start(&Config::default()));
        std::thread::scope(|scope| {
            let leader = scope.spawn(|| node.wait(|| node.told("waited") == 1));
            other.send(Channel::User, node.user(), b"first");
            other.send(Channel::User, node.user(), b"second");
            leader.join().unwrap();
        });
        node.host.close();
        other.host.close();
    });
}

#[test]
fn a_wait_inside_ends_in_time_and_by_an_interrupt() {
    alone(|| {
        let node = Node::with(
            &Config::default(),
            Some(Box::new(|node, _, datagram| {
                if holds(datagram, b"time") {
                    let start = std::time::Instant::now();
                    assert!(!node.wait_at_most(Duration::from_millis(20), &|| false));
                    assert!(start.elapsed() >= Duration::from_millis(20));
                    node.tell("time is over");
                }
                if holds(datagram, b"interrupt") {
                    node.tell("waits");
                    assert!(node.wait_at_most(PATIENCE, &|| node.told("go on") > 0));
                    node.tell("went on");
                }
            })),
            None,
        );
        let other = Node::start(&Config::default());
        other.send(Channel::User, node.user(), b"time");
        node.watch(|| node.told("time is over") == 1);
        other.send(Channel::User, node.user(), b"interrupt");
        node.watch(|| node.told("waits") == 1);
        node.tell("go on");
        node.watch(|| node.told("went on") == 1);
        node.host.close();
        other.host.close();
    });
}

#[test]
fn the_time_is_kept_while_its_callback_waits() {
    alone(|| {
        let node = Node::with(
            &Config::default(),
            None,
            Some(Box::new(|node| {
                if node.timeouts.load(SeqCst) == 1 {
                    node.host.wake_at(later(node.host.now().monotonic, Duration::from_millis(5)));
                    assert!(node.wait_at_most(PATIENCE, &|| node.timeouts.load(SeqCst) == 2));
                    // By another thread, too.
                    node.tell("waits");
                    assert!(node.wait_at_most(PATIENCE, &|| node.told("go on") > 0));
                    assert!(!node.wait_at_most(Duration::from_millis(5), &|| false));
                    node.tell("waited");
                }
            })),
        );
        node.host.wake_at(Instant::START);
        node.watch(|| node.told("waits") == 1);
        node.tell("go on");
        node.watch(|| node.told("waited") == 1);
        node.host.wake_at(Instant::START);
        node.watch(|| node.timeouts.load(SeqCst) == 3);
        node.host.close();
    });
}

#[test]
fn waits_in_waits_are_bounded() {
    alone(|| {
        let depth = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let counted = Arc::clone(&depth);
        let node = Node::with(
            &Config::default(),
            Some(Box::new(move |node, _, _| {
                let (now, most) = (&counted.0, &counted.1);
                most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                if !node.host.receive(later(node.host.now().monotonic, PATIENCE), &|| node.told("end") > 0) {
                    node.tell("refused");
                }
                now.fetch_sub(1, SeqCst);
            })),
            None,
        );
        let other = Node::start(&Config::default());
        for _ in 0..30 {
            other.send(Channel::User, node.user(), b"deeper");
        }
        node.watch(|| node.told("refused") > 0);
        node.tell("end");
        node.watch(|| node.count(b"deeper") == 30);
        let most = depth.1.load(SeqCst);
        assert!((2..=9).contains(&most), "{most} deep");
        node.host.close();
        other.host.close();
    });
}

#[test]
fn callbacks_of_discovery_wait_otherwise() {
    alone(|| {
        let node = Node::with(
            &Config::default(),
            Some(Box::new(|node, _, datagram| {
                if holds(datagram, b"discovery") {
                    assert!(!node.host.receive(later(node.host.now().monotonic, PATIENCE), &|| false));
                    assert!(node.wait_at_most(PATIENCE, &|| node.count(b"data") == 1));
                    node.tell("waited");
                }
            })),
            None,
        );
        let other = Node::start(&Config::default());
        other.send(Channel::Metatraffic, node.metatraffic(), b"discovery");
        other.send(Channel::User, node.user(), b"data");
        node.watch(|| node.told("waited") == 1);
        node.host.close();
        other.host.close();
    });
}
