//! What is sent arrives, at the right socket, from the right one, and the engine is called when it wished.
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use dds::config::Config;
use dds::host::{Channel, Host};
use wire::Instant;

use crate::namespace::alone;
use crate::node::{Node, later};

#[test]
fn datagrams_arrive_and_answers_find_back() {
    alone(|| {
        let echo = Node::with(
            &Config::default(),
            Some(Box::new(|node, source, _| {
                node.send(Channel::User, source, b"echoed");
            })),
            None,
        );
        let node = Node::start(&Config::default());
        assert_eq!((echo.host.participant_id(), node.host.participant_id()), (Some(0), Some(1)));
        node.send(Channel::Metatraffic, echo.metatraffic(), b"discovery");
        // It goes to the socket that was asked from.
        node.watch(|| node.count(b"echoed") == 1);
        assert_eq!(echo.source(b"discovery").unwrap().port(), 7_412);
        node.send(Channel::User, echo.user(), b"data");
        node.watch(|| node.count(b"echoed") == 2);
        assert_eq!(echo.source(b"data").unwrap().port(), 7_413);
        assert_eq!(node.source(b"echoed").unwrap().port(), 7_411);
        node.host.close();
        echo.host.close();
    });
}

#[test]
fn the_group_of_discovery_reaches_everybody_on_the_host() {
    alone(|| {
        let nodes = [(); 3].map(|()| Node::start(&Config::default()));
        let [first, ..] = &nodes;
        let addresses = first.host.addresses();
        let group = addresses.metatraffic_multicast[0].socket_addr().unwrap();
        assert_eq!(group, "239.255.0.1:7400".parse().unwrap());
        for path in addresses.network.multicast_paths(group) {
            first.send_along(Channel::Metatraffic, &path, b"announcement", 0);
        }
        for node in &nodes {
            node.watch(|| node.count(b"announcement") == 1);
            assert_eq!(node.source(b"announcement").unwrap(), "127.0.0.1:7410".parse().unwrap());
        }
        nodes.iter().for_each(|node| node.host.close());
    });
}

#[test]
fn the_engine_is_called_when_it_wished_and_not_before() {
    alone(|| {
        let node = Node::start(&Config::default());
        let start = node.host.now().monotonic;
        node.host.wake_at(Instant::NEVER);
        node.host.wake_at(later(start, Duration::from_secs(3_600)));
        node.host.wake_at(later(start, Duration::from_millis(20)));
        node.host.wake_at(later(start, Duration::from_secs(1_800)));
        node.watch(|| node.timeouts.load(SeqCst) == 1);
        assert!(node.host.now().monotonic >= later(start, Duration::from_millis(20)));
        // The others counted until then only.
        node.host.wake_at(Instant::START);
        node.watch(|| node.timeouts.load(SeqCst) == 2);
        node.host.close();
    });
}
