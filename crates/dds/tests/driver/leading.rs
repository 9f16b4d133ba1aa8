//! Threads that wait read the endpoints' socket themselves.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use dds::config::Config;
use dds::host::{Channel, Host};

use crate::namespace::alone;
use crate::node::Node;

/// A node that answers every datagram with the same number of octets.
fn echo() -> Arc<Node> {
    Node::with(
        &Config::default(),
        Some(Box::new(|node, source, datagram| {
            node.send(Channel::User, source, &datagram[datagram.len() - 8..]);
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
