//! A switch is drained, and another manager leads, or the same one starts again: it stays drained, and is undrained there.
use std::process::Command;

use dds::assurance::State;

use crate::MILLISECOND;
use crate::lead::{LEADS, Manager, PORTS, etcd_of, page, two, ward_for_etcd};
use crate::ward::{NETWORK, Reader, Ward, patiently, with_gates};

/// What a command of operators prints at the manager with this port for switches.
pub(crate) fn operator(ward: &Ward, port: u16, arguments: &[&str]) -> String {
    let mut command: Command = ward.lab.command("manager", env!("CARGO_BIN_EXE_punctual")).unwrap();
    command.arg("grm").args(arguments).args(["--web", &page(port)]);
    let output = command.output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// Drains the switch, until the store has it: etcd may take its time on a busy machine.
fn drain(ward: &Ward, port: u16) {
    patiently("a drain that is stored", || {
        let said = operator(ward, port, &["drain", "s1", "--reason", "new firmware"]);
        (said.contains("no flow is over s1") && !said.contains("could not be stored")).then_some(())
    });
}

fn refused(reader: &Reader) {
    let is = || reader.pairs().iter().any(|pair| pair.reason.contains("s1 is drained"));
    patiently("the refusal", || is().then_some(()));
}

fn admitted(reader: &Reader) {
    let is = || reader.pairs().iter().any(|pair| pair.state == State::Admitted);
    patiently("the verdict", || is().then_some(()));
}

#[test]
fn a_switch_stays_drained_when_another_manager_leads() {
    let Some((_turn, ward)) = ward_for_etcd(&with_gates(NETWORK)) else { return };
    let etcd = etcd_of(&ward, &[]);
    let [mut first, second] = two(&ward, &etcd.url());
    drain(&ward, PORTS[0]);
    first.kill();
    patiently("another leader", || (second.says(LEADS) > 0).then_some(()));
    let goes_on = "switch s1 is drained, as it was before: new firmware";
    patiently("the drain", || (second.says(goes_on) > 0).then_some(()));
    let _writer = ward.writer("camera", "Picture", 1_000, 10 * MILLISECOND);
    let reader = ward.reader("display", "Picture", 5 * MILLISECOND);
    refused(&reader);
    let status = ward.status();
    assert!(status.contains(", drained"), "{status}");
    let said = operator(&ward, PORTS[1], &["undrain", "s1"]);
    assert!(said.contains("flows may come back to s1"), "{said}");
    admitted(&reader);
    // And it stays so when the first one is back and leads again.
    let first = Manager::start(&ward, &etcd.url(), "log-2", PORTS[0]);
    patiently("one that stands by", || (first.says("stands by: ") > 0).then_some(()));
    drop(second);
    patiently("the first one", || (first.says(LEADS) > 0).then_some(()));
    admitted(&reader);
    assert_eq!(first.says("is drained, as it was before"), 0, "{}", first.log());
}

#[test]
fn a_switch_stays_drained_when_the_manager_starts_again_with_its_file() {
    let Some(_turn) = lab_turn::turn() else { return };
    let ward = Ward::unmanaged(&with_gates(NETWORK));
    let store = ward.file("grants").to_str().unwrap().to_owned();
    let mut manager = Manager::start(&ward, &store, "log-0", PORTS[0]);
    // A later reason takes the place of an earlier one.
    patiently("the page", || {
        operator(&ward, PORTS[0], &["drain", "s1", "--reason", "first"])
            .contains("no flow is over s1")
            .then_some(())
    });
    drain(&ward, PORTS[0]);
    manager.kill();
    manager = Manager::start(&ward, &store, "log-1", PORTS[0]);
    patiently("the drain", || (manager.says("is drained, as it was before: new firmware") > 0).then_some(()));
    let _writer = ward.writer("camera", "Picture", 1_000, 10 * MILLISECOND);
    let reader = ward.reader("display", "Picture", 5 * MILLISECOND);
    refused(&reader);
    let said = operator(&ward, PORTS[0], &["undrain", "s1"]);
    assert!(said.contains("flows may come back"), "{said}");
    admitted(&reader);
}
