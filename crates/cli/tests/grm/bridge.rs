//! The same manager over the second kind of switch: a Linux bridge with its agent.
use std::process::{Child, Command};
use std::time::Duration;

use dds::assurance::State;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::ward::{NETWORK, Reader, Ward, Writer, patiently, with_gates};
use crate::{Flood, MILLISECOND, contracts, listed};

/// The map of admitted flows: port, addresses and UDP ports.
const FLOWS: &str = "m0_60000_0_6_5_10_11_12_15_16";

/// A bridge with a writer, a reader, a manager and a stranger.
fn network() -> String {
    let stranger = "[[host]]\nname = \"stranger\"\n[[link]]\nends = [\"stranger\", \"s1:4\"]\n";
    let display = "ends = [\"display\", \"s1:2\"]\n";
    let text = with_gates(&format!("{NETWORK}{stranger}"));
    text.replace(display, &format!("{display}rate = \"20 Mb/s\"\n"))
        .replace("model = \"gated\"", "model = \"gated\"\nkind = \"bridge\"")
}

/// A program in the namespace of the switch.
fn at_switch(ward: &Ward, line: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &ward.lab.switch("s1").unwrap().namespace]).args(line.split(' '));
    command
}

fn nft(ward: &Ward, line: &str) -> String {
    let output = at_switch(ward, &format!("nft {line}")).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Entries of admitted flows in the kernel.
fn flows(ward: &Ward) -> usize {
    nft(ward, &format!("list map netdev punctual_br0 {FLOWS}")).matches(" : goto e").count()
}

/// The process of the agent.
fn agent(ward: &Ward) -> Option<i32> {
    let namespace = &ward.lab.switch("s1").unwrap().namespace;
    let output = Command::new("ip").args(["netns", "pids", namespace]).output().unwrap();
    let ids = String::from_utf8(output.stdout).unwrap();
    ids.lines().filter_map(|id| id.parse::<i32>().ok()).find(|id| {
        let line = std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.contains("switch\0serve")
    })
}

/// Another agent for the same bridge, with more words to say to it.
fn start_agent(ward: &Ward, more: &str) -> Child {
    let [manager, _] = ward.lab.switch("s1").unwrap().control();
    let program = env!("CARGO_BIN_EXE_punctual");
    let ports = "--port 1=p1 --port 2=p2 --port 3=p3 --port 4=p4";
    let line =
        format!("{program} switch serve --bridge br0 --datapath 1 {ports} --controller {manager}:6653{more}");
    at_switch(ward, &line).spawn().unwrap()
}

fn admitted(ward: &Ward) -> (Writer, Reader) {
    let writer = ward.writer("camera", "Picture", 4_000, 10 * MILLISECOND);
    let reader = ward.best_effort_reader("display", "Picture", 20 * MILLISECOND);
    let pair = patiently("the verdict", || {
        reader.pairs().into_iter().find(|pair| matches!(pair.state, State::Admitted | State::Refused))
    });
    assert_eq!(pair.state, State::Admitted, "{}", pair.reason);
    assert!(pair.bound.is_some_and(|bound| bound <= dds::Duration::from_millis(20)), "{pair:?}");
    patiently("the writer's match", || (writer.matched() == 1).then_some(()));
    (writer, reader)
}

/// Frames that the gate has dropped because they came too early: where the machine stalls, samples of a writer that keeps its contract come
/// closer together than they were written.
fn too_early(ward: &Ward) -> u64 {
    listed(ward).iter().map(|state| state.counters.dropped()).sum()
}

/// Writes below the contract, and counts what arrives until all has. What the gate has dropped the bridge has not lost: then all are written
/// once more.
fn all_arrive(ward: &Ward, writer: &Writer, reader: &Reader, count: usize) {
    patiently("a time without a stall", || {
        let before = too_early(ward);
        let mut received = 0;
        for _ in 0..count {
            writer.write();
            std::thread::sleep(Duration::from_millis(25));
            received += reader.take();
        }
        patiently("all samples, none of which is repeated", || {
            received += reader.take();
            (received == count || too_early(ward) > before).then_some(())
        });
        (received == count).then_some(())
    });
}

#[test]
fn a_bridge_keeps_an_admitted_flow_through_a_flood_and_saboteurs() {
    let Some(_turn) = lab_turn::turn() else { return };
    let ward = Ward::of(&network());
    let (writer, reader) = admitted(&ward);
    assert_eq!((flows(&ward), contracts(&ward)), (1, 1));
    all_arrive(&ward, &writer, &reader, 20);
    {
        let _flood = Flood::new(&ward);
        patiently("the flood, which is above what the link carries", || {
            (ward.sent("s1", 2)[0].1 > 50).then_some(())
        });
        all_arrive(&ward, &writer, &reader, 100);
        assert!(ward.sent("s1", 2)[1..].iter().all(|(_, lost)| *lost == 0), "{:?}", ward.sent("s1", 2));
    }
    let log = ward.log();
    assert!(!log.contains("not as it is to be") && !log.contains("have not come"), "{log}");
    let spoilt = [
        format!("flush map netdev punctual_br0 {FLOWS}"),
        "insert rule netdev punctual_br0 t0 drop".to_owned(),
        "delete table netdev punctual_br0".to_owned(),
    ];
    for (times, line) in (1..).zip(spoilt) {
        assert!(at_switch(&ward, &format!("nft {line}")).status().unwrap().success(), "{line}");
        patiently("a line that says so", || {
            (ward.log().matches("switch s1: put right").count() >= times).then_some(())
        });
        patiently("the flow, and nothing strange", || {
            let strange = nft(&ward, "list chain netdev punctual_br0 t0").contains("\t\tdrop\n");
            (flows(&ward) == 1 && !strange).then_some(())
        });
        all_arrive(&ward, &writer, &reader, 10);
    }
    drop(reader);
    patiently("the end of the flow", || (flows(&ward) == 0 && contracts(&ward) == 0).then_some(()));
    drop(writer);
}

#[test]
fn an_agent_that_is_killed_leaves_the_flow_and_one_that_ends_leaves_nothing() {
    let Some(_turn) = lab_turn::turn() else { return };
    let ward = Ward::of(&network());
    let (writer, reader) = admitted(&ward);
    let first = agent(&ward).unwrap();
    kill(Pid::from_raw(first), Signal::SIGKILL).unwrap();
    patiently("the end of the agent", || (agent(&ward) != Some(first)).then_some(()));
    assert_eq!(flows(&ward), 1, "the kernel goes on without it");
    all_arrive(&ward, &writer, &reader, 20);
    let mut second = start_agent(&ward, "");
    // The rules of the first one are there until the second one has begun.
    let is_ready = |ward: &Ward| ward.log().matches("switch s1: as it is to be").count() == 2;
    patiently("the flow from the next agent", || (flows(&ward) == 1 && is_ready(&ward)).then_some(()));
    all_arrive(&ward, &writer, &reader, 20);
    assert!(reader.pairs().iter().all(|pair| pair.state == State::Admitted), "{:?}", reader.pairs());
    nft(&ward, "add table netdev of_others");
    let id = agent(&ward).unwrap();
    kill(Pid::from_raw(id), Signal::SIGINT).unwrap();
    assert_eq!(second.wait().unwrap().code(), Some(0));
    assert_eq!(nft(&ward, "list tables"), "table netdev of_others\n");
}

/// Frames that each queue of the display's port has sent and lost, best effort first; nothing if the port has no queues.
fn queues(ward: &Ward) -> Vec<(u64, u64)> {
    let output = at_switch(ward, "tc -s -j qdisc show dev p2").output().unwrap();
    let read: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let leaf = |one: &serde_json::Value| {
        Some((one["parent"].as_str()?.to_owned(), one["packets"].as_u64()?, one["drops"].as_u64()?))
    };
    let mut leaves: Vec<_> = read.as_array().unwrap().iter().filter_map(leaf).collect();
    leaves.sort_unstable();
    leaves.into_iter().map(|(_, sent, lost)| (sent, lost)).collect()
}

/// The queues of the lab are taken away: what keeps the flow from the flood at the display's port are those that the agent makes of the network file.
#[test]
fn the_agents_own_queues_keep_an_admitted_flow_through_a_flood() {
    let Some(_turn) = lab_turn::turn() else { return };
    let ward = Ward::of(&network());
    kill(Pid::from_raw(agent(&ward).unwrap()), Signal::SIGINT).unwrap();
    patiently("the end of the lab's agent", || agent(&ward).is_none().then_some(()));
    for port in 1..=4 {
        let line = format!("tc qdisc del dev p{port} root");
        assert!(at_switch(&ward, &line).status().unwrap().success(), "{line}");
    }
    assert_eq!(queues(&ward), []);
    let mut own = start_agent(&ward, &format!(" --queues {}", ward.file("ward.toml").display()));
    patiently("its queues", || (queues(&ward).len() > 1).then_some(()));
    let (writer, reader) = admitted(&ward);
    assert_eq!((flows(&ward), contracts(&ward)), (1, 1));
    all_arrive(&ward, &writer, &reader, 20);
    {
        let _flood = Flood::new(&ward);
        patiently("the flood, which is above what the port carries", || {
            (queues(&ward)[0].1 > 50).then_some(())
        });
        let before = queues(&ward);
        all_arrive(&ward, &writer, &reader, 100);
        let after = queues(&ward);
        let served: u64 = after[1..].iter().zip(&before[1..]).map(|(after, before)| after.0 - before.0).sum();
        // Three frames for each sample.
        assert!(served >= 300, "{before:?} {after:?}");
        assert!(after[1..].iter().all(|(_, lost)| *lost == 0), "{after:?}");
        assert!(after[0].1 > before[0].1, "the flood goes on: {before:?} {after:?}");
    }
    kill(Pid::from_raw(agent(&ward).unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(own.wait().unwrap().code(), Some(0));
    assert_eq!(queues(&ward), [], "its queues go with it");
}
