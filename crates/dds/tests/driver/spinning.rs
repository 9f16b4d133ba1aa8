//! A thread that looks for a while before it sleeps.
use std::fs;
use std::time::Duration;

use dds::config::Config;
use dds::host::{Channel, Host};

use crate::namespace::alone;
use crate::node::Node;

/// How often the thread of the endpoints' socket of a participant went to sleep while it answered 500 datagrams, one after another.
fn sleeps(name: &str, spin: Duration) -> u64 {
    let mut config = Config::default();
    config.threads.name_prefix = name.to_owned();
    config.network.spin = spin;
    let echo = Node::with(
        &config,
        Some(Box::new(|node, _, datagram| {
            node.send(Channel::User, node.other(), &datagram[datagram.len() - 8..]);
        })),
        None,
    );
    let node = Node::start(&Config::default());
    let before = voluntary_switches(&format!("{name}-user"));
    for round in 0..500_u64 {
        let request = (0x4242_0000_0000_0000 | round).to_be_bytes();
        node.send(Channel::User, echo.user(), &request);
        node.wait(|| node.count(&request) == 1);
    }
    let switches = voluntary_switches(&format!("{name}-user")) - before;
    node.host.close();
    echo.host.close();
    switches
}

fn voluntary_switches(thread: &str) -> u64 {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let found = tasks
        .map(|task| task.unwrap().path())
        .find(|task| fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == thread));
    let status = fs::read_to_string(found.expect("the thread is there").join("status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

#[test]
fn a_thread_that_spins_does_not_sleep_between_datagrams() {
    alone(|| {
        let asleep = sleeps("rest", Duration::ZERO);
        let awake = sleeps("spin", Duration::from_secs(1));
        assert!(asleep >= 100, "{asleep} sleeps for 500 datagrams");
        // A machine that stands still for a second makes it sleep, too.
        assert!(awake <= 20, "{awake} sleeps of a thread that spins, {asleep} of one that does not");
    });
}
