//! One writer and readers on several hosts: the network carries each sample once, and copies it where ways part.
use std::time::Duration;

use dds::assurance::{PairAssurance, State};

use crate::ward::{Reader, Ward, Writer, patiently, with_gates};
use crate::{MILLISECOND, contracts};

const NETWORK: &str = r#"
[[host]]
name = "camera"
[[host]]
name = "display"
[[host]]
name = "recorder"
[[host]]
name = "desk"
[[host]]
name = "manager"
manager = true
[[switch]]
name = "s1"
model = "gated"
[[switch]]
name = "s2"
model = "gated"
[[link]]
ends = ["camera", "s1:1"]
[[link]]
ends = ["manager", "s1:2"]
[[link]]
ends = ["desk", "s1:3"]
[[link]]
ends = ["s1:4", "s2:1"]
[[link]]
ends = ["display", "s2:2"]
[[link]]
ends = ["recorder", "s2:3"]
"#;

const OCTETS: usize = 4_000;
const SAMPLES: usize = 60;

fn admitted(reader: &Reader) -> PairAssurance {
    let pair = patiently("the verdict", || {
        reader.pairs().into_iter().find(|pair| matches!(pair.state, State::Admitted | State::Refused))
    });
    assert_eq!(pair.state, State::Admitted, "{}", pair.reason);
    pair
}

/// Writes samples, and does something else after a third of them.
fn write(writer: &Writer, then: impl FnOnce()) {
    let mut then = Some(then);
    for sample in 0..SAMPLES {
        if sample == SAMPLES / 3
            && let Some(then) = then.take()
        {
            then();
        }
        writer.write();
        std::thread::sleep(Duration::from_millis(11));
    }
}

/// Every reader gets all that has been written; nothing is repeated for it, and nothing comes twice.
fn all_arrive(readers: &[&Reader]) {
    for (index, reader) in readers.iter().enumerate() {
        let mut received = 0;
        patiently(&format!("samples of reader {index}"), || {
            received += reader.take();
            (received >= SAMPLES).then_some(())
        });
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(received + reader.take(), SAMPLES, "reader {index}");
    }
}

#[test]
fn readers_on_several_hosts_share_a_flow_that_each_link_carries_once() {
    let Some(_turn) = lab_turn::turn() else { return };
    let ward = Ward::of(&with_gates(NETWORK));
    let writer = ward.writer("camera", "Picture", OCTETS, 10 * MILLISECOND);
    let display = ward.best_effort_reader("display", "Picture", 20 * MILLISECOND);
    admitted(&display);
    let recorder = ward.best_effort_reader("recorder", "Picture", 20 * MILLISECOND);
    admitted(&recorder);
    // The flow of the first reader alone goes when both have heard of the tree.
    let settled = |entries: [usize; 2], groups: [usize; 2]| {
        let now = || {
            let (entries, groups) = (
                ["s1", "s2"].map(|switch| ward.flow_entries_of(switch)),
                ["s1", "s2"].map(|switch| ward.groups_of(switch)),
            );
            (entries, groups, contracts(&ward))
        };
        let contracts = usize::from(entries[0] > 0);
        patiently("the rules", || (now() == (entries, groups, contracts)).then_some(()));
    };
    settled([1, 1], [0, 1]);
    patiently("the writer's matches", || (writer.matched() == 2).then_some(()));

    let before = ward.bytes_sent("camera");
    write(&writer, || {});
    let sent = ward.bytes_sent("camera") - before;
    all_arrive(&[&display, &recorder]);
    let once = u64::try_from(SAMPLES * OCTETS).unwrap();
    assert!(
        (once..once + once / 2).contains(&sent),
        "{sent} bytes left the writer's host for {once} of samples"
    );

    let status = ward.status();
    assert_eq!(status.matches("with 1 other reader").count(), 2, "{status}");

    // A third one joins at another switch, and the second one leaves: the first one loses nothing, and its bound is the same.
    let bound = admitted(&display).bound;
    let mut desk = None;
    write(&writer, || desk = Some(ward.best_effort_reader("desk", "Picture", 20 * MILLISECOND)));
    let desk = desk.unwrap();
    admitted(&desk);
    all_arrive(&[&display, &recorder]);
    settled([1, 1], [1, 1]);
    patiently("the writer's matches", || (writer.matched() == 3).then_some(()));
    while desk.take() > 0 {}
    write(&writer, || {});
    all_arrive(&[&display, &recorder, &desk]);
    let mut recorder = Some(recorder);
    write(&writer, || drop(recorder.take()));
    all_arrive(&[&display, &desk]);
    settled([1, 1], [1, 0]);
    let pair = admitted(&display);
    assert_eq!(pair.bound, bound);
    drop((display, desk));
    settled([0, 0], [0, 0]);
    drop(writer);
}
