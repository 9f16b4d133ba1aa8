//! Switch and gates are changed behind the manager's back: it is right again soon, and in the log.
use std::time::Duration;

use dds::assurance::State;
use gate::protocol::Request;

use crate::ward::{NETWORK, Reader, Ward, patiently, with_gates, with_meters};
use crate::{MILLISECOND, contracts, listed};

#[test]
fn what_is_changed_behind_the_manager_is_put_right_and_told() {
    let Some(_turn) = lab_turn::turn() else { return };
    let ward = Ward::new();
    let writer = ward.writer("camera", "Picture", 4_000, 10 * MILLISECOND);
    let reader = ward.reader("display", "Picture", 5 * MILLISECOND);
    patiently("the verdict", || {
        reader.pairs().iter().any(|pair| pair.state == State::Admitted).then_some(())
    });
    patiently("the writer's match", || (writer.matched() == 1).then_some(()));
    // What is in order is left alone, and no frame is missing anywhere.
    let mut received = 0;
    for _ in 0..350 {
        writer.write();
        // The contract.
        std::thread::sleep(Duration::from_millis(11));
        received += reader.take();
    }
    assert!(received > 0);
    let log = ward.log();
    assert!(!log.contains("have not come"), "{log}");
    assert!(log.contains("admitted within") && log.contains("\"Picture\" from camera to display"), "{log}");
    assert!(!log.contains("not as it is to be"), "{log}");
    let (before, gates) = (ward.content("s1"), contracts(&ward));
    let spoilt: [(&[&str], &str); 3] = [
        (&["del-flows"], "missing"),
        (&["mod-flows", "table=0,udp,actions=drop"], "different"),
        (&["del-groups"], "groups: 1 missing"),
    ];
    for (arguments, told) in spoilt {
        let known = ward.log().len();
        // The manager may have put it right before one can look: that something was wrong is what its log says.
        ward.spoil("s1", arguments);
        patiently("what was there before", || (ward.content("s1") == before).then_some(()));
        patiently("a line that says so", || {
            let log = &ward.log()[known..];
            (log.contains("switch s1: put right") && log.contains(told)).then_some(())
        });
    }
    // The gate's contract of the flow.
    let states = listed(&ward);
    let flow = states.iter().find(|state| state.contract.kind == gate::Kind::Messages).unwrap();
    ward.lab.gate("s1").unwrap().ask(&Request::Remove { port: flow.port, key: flow.key }).unwrap();
    patiently("the contract", || (contracts(&ward) == gates).then_some(()));
    patiently("a line that says so", || ward.log().contains("the gates of s1: put right").then_some(()));
    // Samples come as before.
    let mut received = 0;
    patiently("samples", || {
        writer.write();
        std::thread::sleep(Duration::from_millis(11));
        received += reader.take();
        (received > 0).then_some(())
    });
    assert!(reader.pairs().iter().all(|pair| pair.state == State::Admitted), "{:?}", reader.pairs());
}

/// Deletes something in the switch while a writer's samples go to readers on these hosts; it comes back, the log tells it, and samples come.
fn deleted(text: &str, hosts: &[&str], [meters, groups]: [usize; 2], command: &str, told: &str) {
    let ward = Ward::of(text);
    let writer = ward.writer("camera", "Picture", 4_000, 10 * MILLISECOND);
    let join = |host: &&str| {
        let reader = ward.best_effort_reader(host, "Picture", 20 * MILLISECOND);
        // The next one joins the flow of the first.
        let is_admitted = || reader.pairs().iter().any(|pair| pair.state == State::Admitted);
        patiently("the verdict", || is_admitted().then_some(()));
        reader
    };
    let readers: Vec<Reader> = hosts.iter().map(join).collect();
    patiently("one flow for all", || {
        let all = (writer.matched(), ward.flow_entries(), ward.meters().len(), ward.groups_of("s1"));
        (all == (hosts.len(), 1, meters, groups)).then_some(())
    });
    let before = ward.content("s1");
    ward.spoil("s1", &[command]);
    patiently("what was there before", || (ward.content("s1") == before).then_some(()));
    patiently("a line that says so", || {
        let log = ward.log();
        (log.contains("switch s1: put right") && log.contains(told)).then_some(())
    });
    for (host, reader) in hosts.iter().zip(&readers) {
        patiently(&format!("samples at {host} after {command}"), || {
            writer.write();
            std::thread::sleep(Duration::from_millis(11));
            (reader.take() > 0).then_some(())
        });
        assert!(reader.pairs().iter().all(|pair| pair.state == State::Admitted), "{:?}", reader.pairs());
    }
}

#[test]
fn a_meter_that_is_deleted_comes_back_and_is_told() {
    let Some(_turn) = lab_turn::turn() else { return };
    let text = with_meters(&with_gates(NETWORK));
    deleted(&text, &["display"], [1, 0], "del-meters", "meters: 1 missing");
}

#[test]
fn the_group_of_a_tree_that_is_deleted_comes_back_and_is_told() {
    let Some(_turn) = lab_turn::turn() else { return };
    let desk = "[[host]]\nname = \"desk\"\n[[link]]\nends = [\"desk\", \"s1:4\"]\n";
    let text = with_gates(&format!("{NETWORK}{desk}"));
    // Another group is that of everything else.
    deleted(&text, &["display", "desk"], [0, 1], "del-groups", "groups: 2 missing");
}
