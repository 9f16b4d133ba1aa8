//! Links that a program carries in place of the kernel's shapers.
use std::time::Duration;

use gate::class;
use lab::layout::Carrying;
use lab::{Lab, Options};

use crate::links::trains;
use crate::three::{program, three};
use crate::traffic::{Counter, Flood, address, greet, send, socket};
use lab_turn::{name, network, turn};

fn up(text: &str) -> Lab {
    let options = Options { program: Some(program()), carrying: Carrying::Emulated, ..Options::default() };
    Lab::up_with(&network(text), &name(), &options).unwrap()
}

#[test]
fn an_emulated_link_carries_frames_one_by_one_at_its_rate() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("plain").replace("\"s1:1\"]", "\"s1:1\"]\nrate = \"20 Mb/s\""));
    let (took, least) = trains(&lab);
    assert!(took >= least * 95 / 100, "{took} ns for a train that needs {least}");
}

#[test]
fn an_emulated_port_serves_its_queues_by_priority_and_says_what_it_dropped() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("plain"));
    greet(&lab, "a", "c");
    greet(&lab, "b", "c");
    let counter = Counter::on(socket(&lab, "c", 5_000, 0));
    let _sink = socket(&lab, "c", 5_001, 0);
    let queues = || lab.port("s1", 3).unwrap().unwrap().queues;
    let before = queues();
    let highest = class::of_level(2).unwrap();
    assert_eq!(
        before.iter().map(|queue| queue.dscp).collect::<Vec<_>>(),
        [0, class::of_level(0).unwrap(), class::of_level(1).unwrap(), highest]
    );
    // One and a half times what the port carries.
    let flood = Flood::start(socket(&lab, "b", 0, 0), address(&lab, "c", 5_001), 30_000_000);
    send(&socket(&lab, "a", 0, highest), address(&lab, "c", 5_000), 64, 1_000, Duration::from_millis(1));
    let flooded = flood.stop();
    assert_eq!(counter.numbers().len(), 1_000, "of the assured flow");
    let after = queues();
    assert_eq!(after[3].sent - before[3].sent, 1_000);
    assert!(after[0].dropped > flooded / 10, "{after:?} of {flooded}");
    assert!(after[1..].iter().all(|queue| queue.dropped == 0), "{after:?}");
    // The kernel shapes nothing here, and ports that are not there have no queues.
    assert_eq!(lab.classes("s1", 3).unwrap(), "");
    assert_eq!(lab.port("s1", 9).unwrap(), None);
    assert!(lab.port("nowhere", 1).is_err());
}

#[test]
fn an_emulated_lab_is_removed_with_its_links() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("gated"));
    let name = lab.record().name.clone();
    let folder = std::path::Path::new(lab::PLACE).join(&name);
    assert!(folder.join("links.sock").exists());
    lab.down().unwrap();
    assert!(!folder.exists());
    assert!(!std::path::Path::new(&format!("/run/netns/{name}-wires")).exists());
}
