//! Queues of ports: made, kept by the next agent, refused where another program has made some, and taken away; the level of a frame says in which it
//! waits.
use std::process::Command;

use bridge::queues::PortQueues;
use bridge::translate::Ports;
use network::Network;
use serde_json::Value;

use crate::frames::{Host, frame};
use crate::scene::{beside_a_bridge, managed};

/// A bridge with a host at each of its ports; the link of the second says this of itself.
fn network(second: &str) -> String {
    let at_port = |(number, says): (u32, &str)| {
        format!("[[host]]\nname = \"h{number}\"\n[[link]]\nends = [\"h{number}\", \"s1:{number}\"]\n{says}\n")
    };
    let switch = "[[switch]]\nname = \"s1\"\nmodel = \"linux-bridge\"\n".to_owned();
    (1..).zip(["", second, ""]).map(at_port).fold(switch, |text, host| text + &host)
}

fn wanted(rate: &str, ports: &Ports) -> PortQueues {
    let network = Network::parse("net.toml", &network(rate), |_| Err(String::new())).unwrap();
    PortQueues::of(&network, 1, ports).unwrap()
}

fn tc(line: &str) -> String {
    let output = Command::new("tc").args(line.split(' ')).output().unwrap();
    assert!(output.status.success(), "tc {line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What the ports have, as `tc` prints it.
fn all() -> Vec<String> {
    (1..=3).map(|port| tc(&format!("qdisc show dev p{port}"))).collect()
}

/// The handle of the root, and frames that each leaf has sent.
fn sent(port: u32) -> (String, Vec<u64>) {
    let read: Value = serde_json::from_str(&tc(&format!("-s -j qdisc show dev p{port}"))).unwrap();
    let all = read.as_array().unwrap();
    let root = all.iter().find(|one| one["root"] == true).unwrap();
    let mut leaves: Vec<(&str, u64)> =
        all.iter().filter_map(|one| Some((one["parent"].as_str()?, one["packets"].as_u64()?))).collect();
    leaves.sort_unstable();
    (root["handle"].as_str().unwrap().to_owned(), leaves.into_iter().map(|(_, frames)| frames).collect())
}

#[test]
fn frames_wait_in_the_queue_of_their_level_and_what_was_there_comes_back() {
    beside_a_bridge(|mut kernel, ports| {
        let before = all();
        let queues = wanted("", &ports);
        queues.make().unwrap();
        assert!((1..=3).all(|port| sent(port).1.len() == 4), "best effort and three levels");
        kernel.apply(&managed(), &ports).unwrap();
        let [host, reader] = [1, 2].map(Host::new);
        // The entry of the flow gives it DSCP 10, the lowest level; everything else has 0.
        host.put(&frame([2, 0, 0, 0, 0, 2], [10, 1, 0, 2], 7001, 46));
        host.put(&frame([2, 0, 0, 0, 0, 2], [10, 1, 0, 2], 7002, 46));
        host.put(&frame([2, 0, 0, 0, 0, 2], [10, 1, 0, 2], 7002, 46));
        assert_eq!(reader.take(3).len(), 3);
        assert_eq!(sent(2).1, [2, 1, 0, 0]);
        queues.remove().unwrap();
        assert_eq!(all(), before);
        queues.remove().unwrap();
    });
}

#[test]
fn the_next_agent_takes_over_what_is_right_and_makes_the_rest_anew() {
    beside_a_bridge(|_, ports| {
        wanted("", &ports).make().unwrap();
        let before = all();
        wanted("", &ports).make().unwrap();
        assert_eq!(all(), before, "nothing was made anew");
        // Half of one is not what it is to be.
        tc(&format!("filter del dev p1 parent {}", sent(1).0));
        wanted("rate = \"50 Mb/s\"", &ports).make().unwrap();
        let after = all();
        assert_eq!((&after[0], &after[2]), (&before[0], &before[2]));
        assert_ne!(after[1], before[1], "the file has another rate");
        assert!(tc("class show dev p2").contains("rate 50Mbit"));
        assert_eq!(tc(&format!("filter show dev p1 parent {}", sent(1).0)).matches("flowid").count(), 6);
        wanted("", &ports).remove().unwrap();
    });
}

#[test]
fn queues_of_others_stay_and_nothing_is_made_beside_them() {
    beside_a_bridge(|_, ports| {
        tc("qdisc add dev p2 root handle 7: pfifo limit 9");
        let before = all();
        let queues = wanted("", &ports);
        let error = queues.make().unwrap_err().to_string();
        assert!(error.contains("p2 has queues that something else has made: pfifo 7:"), "{error}");
        assert_eq!(all(), before);
        queues.remove().unwrap();
        assert_eq!(all(), before, "nor is that taken away which is not ours");
    });
}
