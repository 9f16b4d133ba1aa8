//! Nothing goes on and nothing is left after closing.
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use dds::config::Config;
use dds::driver::Driver;
use dds::host::{Channel, Engine, Host};
use wire::Instant;

use crate::namespace::alone;
use crate::node::{Node, holds};
use crate::process::is_own;

#[test]
fn nothing_is_left_behind() {
    if !is_own("closing::nothing_is_left_behind") {
        return;
    }
    alone(|| {
        let count = |what: &str| std::fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
        let before = (count("fd"), count("task"));
        let mut handles = Vec::new();
        for round in 0..100 {
            let node = Node::start(&Config::default());
            node.watch(|| count("task") == before.1 + 5);
            assert_eq!(node.host.participant_id(), Some(0));
            if round % 2 == 0 {
                assert!(!node.wait_at_most(Duration::ZERO, &|| false));
                assert!(!node.wait_at_most(Duration::from_millis(1), &|| false));
            }
            node.host.close();
            // A thread that was joined leaves the list of tasks a moment later.
            node.watch(|| (count("fd"), count("task")) == before);
            assert_eq!(Arc::strong_count(&node.host), 1);
            // Whoever holds a handle for longer holds nothing of the system.
            handles.push(Arc::clone(&node.host));
            assert_eq!(Arc::strong_count(&node), 1);
        }
    });
}

#[test]
fn a_callback_may_close() {
    if !is_own("closing::a_callback_may_close") {
        return;
    }
    alone(|| {
        let count = |what: &str| std::fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
        let before = (count("fd"), count("task"));
        for round in 0..60 {
            let node = Node::with(
                &Config::default(),
                Some(Box::new(|node, _, datagram| {
                    if holds(datagram, b"close") {
                        node.host.close();
                        assert!(node.host.is_inside());
                    }
                })),
                Some(Box::new(|node| {
                    if node.told("close at timeout") > 0 {
                        node.host.close();
                    }
                })),
            );
            let other = Driver::open(0, &Config::default()).unwrap();
            let (user, metatraffic) = (Node::path(node.user()), Node::path(node.metatraffic()));
            let datagram = crate::node::transmit(b"close", 0);
            match round % 4 {
                0 => drop(other.send(Channel::User, &user, &datagram)),
                1 => drop(other.send(Channel::Metatraffic, &metatraffic, &datagram)),
                2 => {
                    node.tell("close at timeout");
                    node.host.wake_at(Instant::START);
                }
                _ => std::thread::scope(|scope| {
                    let leader = scope.spawn(|| node.wait(|| node.count(b"close") == 1));
                    other.send(Channel::User, &user, &datagram);
                    leader.join().unwrap();
                }),
            }
            other.close();
            drop(other);
            node.watch(|| (count("fd"), count("task")) == before);
            assert!(!node.host.receive(Instant::NEVER, &|| false));
        }
    });
}

#[test]
fn closing_ends_waits() {
    alone(|| {
        for _ in 0..50 {
            let node = Node::start(&Config::default());
            std::thread::scope(|scope| {
                let waiting = [(); 3].map(|()| scope.spawn(|| node.wait(|| node.told("end") > 0)));
                node.host.close();
                // What is told after closing does not need the host.
                node.tell("end");
                waiting.into_iter().for_each(|thread| thread.join().unwrap());
            });
        }
    });
}

#[test]
fn the_engine_is_not_called_after_closing() {
    alone(|| {
        let node = Node::start(&Config::default());
        let other = Node::start(&Config::default());
        let (user, datagram) = (Node::path(node.user()), crate::node::transmit(b"datagram", 0));
        std::thread::scope(|scope| {
            let flood = scope.spawn(|| {
                while other.told("end") == 0 {
                    other.host.send(Channel::User, &user, &datagram);
                }
            });
            node.watch(|| node.count(b"datagram") > 100);
            node.host.wake_at(Instant::START);
            node.host.close();
            let count = || (node.count(b"datagram"), node.timeouts.load(SeqCst), node.networks().len());
            let at_close = count();
            node.host.wake_at(Instant::START);
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(count(), at_close);
            other.tell("end");
            flood.join().unwrap();
        });
        other.host.close();
    });
}

#[test]
fn it_is_started_once() {
    alone(|| {
        let node = Node::start(&Config::default());
        let again = node.host.start(Arc::clone(&node) as Arc<dyn Engine>);
        assert!(again.unwrap_err().to_string().contains("started or closed before"));
        node.host.close();
        node.host.close();
        assert!(node.host.start(Arc::clone(&node) as Arc<dyn Engine>).is_err());
    });
}
