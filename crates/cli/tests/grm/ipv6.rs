//! Hosts that have IPv6 alone: discovery, admission, the gate and the switch's entries, through a flood.
use std::net::IpAddr;
use std::time::Duration;

use dds::assurance::State;
use lab_turn::text::{GATED, Text};

use crate::ward::{Ward, patiently};
use crate::{Flood, MILLISECOND, contracts, listed};

/// Hosts at one switch; a link to the display that a flood is too much for.
fn network() -> String {
    let address = |number: u32| format!("address = \"fd00::{number}\"");
    Text::new("host-defaults = { queues = 8, ring = 0 }")
        .switch("s1", "gated")
        .host("camera", &address(1), "s1:1")
        .node("display", &address(2))
        .link("display", "s1:2", "rate = \"10 Mb/s\"")
        .host("manager", &format!("{}\nmanager = true", address(3)), "s1:3")
        .host("stranger", &address(4), "s1:4")
        .with(GATED)
}

const SAMPLES: usize = 50;
/// Three for each sample.
const FRAMES: u64 = 150;

#[test]
fn a_flow_between_hosts_of_ipv6_alone_is_admitted_and_nothing_of_it_is_lost_in_a_flood() {
    let Some(_turn) = lab_turn::turn() else { return };
    let ward = Ward::of(&network());
    let writer = ward.writer("camera", "Picture", 4_000, 20 * MILLISECOND);
    let reader = ward.reader("display", "Picture", 200 * MILLISECOND);
    let pair = patiently("the verdict", || {
        reader.pairs().into_iter().find(|pair| matches!(pair.state, State::Admitted | State::Refused))
    });
    assert_eq!(pair.state, State::Admitted, "{}", pair.reason);
    patiently("the writer's match", || (writer.matched() == 1).then_some(()));
    assert_eq!((ward.flow_entries(), contracts(&ward)), (1, 1));
    let camera: IpAddr = "fd00::1".parse().unwrap();
    assert_eq!(listed(&ward)[0].key.source, camera);
    let flood = Flood::new(&ward);
    patiently("the flood, which is above what the link carries", || {
        (ward.sent("s1", 2)[0].1 > 50).then_some(())
    });
    for _ in 0..SAMPLES {
        writer.write();
        std::thread::sleep(Duration::from_millis(21));
    }
    // What the gate has let through is carried in the class of the flow, and nothing of it is lost. Where the machine stands still, frames come too
    // close together for the gate: those that it drops are repeated as best effort, once the flood is over.
    let counters = || listed(&ward)[0].counters;
    patiently("the frames at the gate", || {
        (counters().frames + counters().dropped() >= FRAMES).then_some(())
    });
    patiently("the frames of the flow in its class", || {
        let served: u64 = ward.sent("s1", 2)[1..].iter().map(|(sent, _)| sent).sum();
        (served >= counters().frames).then_some(())
    });
    assert!(counters().frames > FRAMES / 2, "{:?}", counters());
    assert!(ward.sent("s1", 2)[1..].iter().all(|(_, lost)| *lost == 0), "{:?}", ward.sent("s1", 2));
    drop(flood);
    let mut received = 0;
    patiently("the samples", || {
        received += reader.take();
        (received == SAMPLES).then_some(())
    });
    drop(reader);
    patiently("the end of the flow", || (ward.flow_entries() == 0 && contracts(&ward) == 0).then_some(()));
    drop(writer);
}
