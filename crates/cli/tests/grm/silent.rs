//! A cable of a ring loses what it carries, in one direction or in both, while its ports stay up: flows take the other way, and the log says which cable.
use std::process::Command;
use std::time::Duration;

use dds::assurance::State;
use lab_turn::text::{GATED, Text};

use crate::MILLISECOND;
use crate::ward::{Reader, Ward, Writer, patiently};

fn ring() -> String {
    Text::new("host-defaults = { queues = 8, ring = 0 }")
        .switch("s1", "gated")
        .switch("s2", "gated")
        .switch("s3", "gated")
        .host("camera", "", "s1:1")
        .manager("s1:2")
        .host("display", "", "s2:1")
        .link("s1:3", "s2:3", "")
        .link("s2:4", "s3:1", "")
        .link("s3:2", "s1:4", "")
        .with(GATED)
}

/// A line for `nft` at a switch.
fn nft(ward: &Ward, switch: &str, line: &str) {
    let namespace = &ward.lab.switch(switch).unwrap().namespace;
    let mut command = Command::new("ip");
    let status = command.args(["netns", "exec", namespace, "nft", line]).status().unwrap();
    assert!(status.success(), "{line}");
}

/// The port of a switch sends nothing any more, and no one is told.
fn cut(ward: &Ward, switch: &str, port: u32) {
    nft(ward, switch, "add table netdev cut");
    let hook = format!("{{ type filter hook egress device p{port} priority 0; policy drop; }}");
    nft(ward, switch, &format!("add chain netdev cut out {hook}"));
}

fn samples(writer: &Writer, reader: &Reader) {
    let mut received = 0;
    patiently("samples", || {
        writer.write();
        std::thread::sleep(Duration::from_millis(20));
        received += reader.take();
        (received >= 20).then_some(())
    });
}

fn flow_leaves(both: bool) {
    let ward = Ward::of(&ring());
    let writer = ward.writer("camera", "Picture", 4_000, 10 * MILLISECOND);
    let reader = ward.best_effort_reader("display", "Picture", 50 * MILLISECOND);
    let is_admitted = || reader.pairs().iter().any(|pair| pair.state == State::Admitted).then_some(());
    patiently("the verdict", is_admitted);
    patiently("the writer's match", || (writer.matched() == 1).then_some(()));
    assert_eq!(["s1", "s2", "s3"].map(|switch| ward.flow_entries_of(switch)), [1, 1, 0], "the straight way");
    samples(&writer, &reader);
    let tells = |words: &str| ward.log().matches(words).count();
    assert_eq!(tells("although both ports are up"), 0, "{}", ward.log());
    cut(&ward, "s1", 3);
    if both {
        cut(&ward, "s2", 3);
    }
    patiently("the alarm", || (tells("although both ports are up") == 1).then_some(()));
    patiently("the other way", || {
        (["s1", "s2", "s3"].map(|switch| ward.flow_entries_of(switch)) == [1, 1, 1]).then_some(())
    });
    patiently("the verdict", is_admitted);
    samples(&writer, &reader);
    assert!(both || tells("nothing comes from s1 to s2") == 1, "{}", ward.log());
    nft(&ward, "s1", "delete table netdev cut");
    if both {
        nft(&ward, "s2", "delete table netdev cut");
    }
    patiently("the end of the alarm", || {
        (tells("what was wrong with the cabling is over") == 1).then_some(())
    });
    samples(&writer, &reader);
    assert_eq!(tells("although both ports are up"), 1, "{}", ward.log());
}

#[test]
fn a_flow_leaves_a_cable_that_loses_what_one_switch_sends() {
    let Some(_turn) = lab_turn::turn() else { return };
    flow_leaves(false);
}

#[test]
fn and_one_that_loses_everything() {
    let Some(_turn) = lab_turn::turn() else { return };
    flow_leaves(true);
}
