//! The network file changes while managers share a store: the leader reads it again, is killed, and the next one leads with the new file, though it was
//! started with the former one. No sample is lost by that.
use dds::assurance::State;
use nix::sys::signal::Signal;

use crate::MILLISECOND;
use crate::drained::operator;
use crate::lead::{LEADS, Manager, PORTS, etcd_of, is_admitted, start, stays, two, ward_for_etcd, with_flow};
use crate::ward::{NETWORK, Ward, patiently, with_gates};

/// The port of the camera is declared full: what is granted stays, and nothing else is granted there.
fn full(former: &str) -> String {
    let ends = "ends = [\"camera\", \"s1:1\"]";
    former.replace(ends, &format!("{ends}\nfull = \"camera\""))
}

fn begun(manager: &Manager) -> usize {
    manager.says("stored grants, as epoch")
}

/// Waits until the leader knows that the other one shares its store: then `reload` is not refused because of it.
fn know_each_other(ward: &Ward) {
    patiently("one that shares the store", || {
        ward.status().contains("stands by, and shares the store").then_some(())
    });
}

/// The port is full: what is asked for over it is refused.
fn goes_by_the_new_file(ward: &Ward) {
    let _writer = ward.writer("camera", "Depth", 1_000, 20 * MILLISECOND);
    let reader = ward.reader("display", "Depth", 5 * MILLISECOND);
    let is_refused = || {
        let full = "camera to s1 is declared full";
        reader.pairs().iter().any(|pair| pair.state == State::Refused && pair.reason.contains(full))
    };
    patiently("what the new file says", || is_refused().then_some(()));
}

#[test]
fn the_next_leader_goes_by_the_file_that_was_read_again_and_no_sample_is_lost() {
    let former = with_gates(NETWORK);
    let Some((_turn, ward)) = ward_for_etcd(&former) else { return };
    let etcd = etcd_of(&ward, &[]);
    let [mut first, second] = two(&ward, &etcd.url());
    know_each_other(&ward);
    with_flow(&ward, |check| {
        std::fs::write(ward.file("ward.toml"), full(&former)).unwrap();
        let before = begun(&first);
        let reload = || {
            let said = operator(&ward, PORTS[0], &["reload"]);
            // On a machine that stands still etcd may answer too late.
            assert!(said.contains("keeps all flows") || said.contains("does not work"), "{said}");
            said.contains("keeps all flows").then_some(())
        };
        patiently("the new file", reload);
        patiently("the leader of the new file", || (begun(&first) > before).then_some(()));
        check();
        assert!(!ward.status().contains("Network file:"), "its own file leads");
        know_each_other(&ward);
        first.kill();
        patiently("another leader", || (second.says(LEADS) > 0).then_some(()));
        patiently("its file", || (second.says("leads with another network file: ") == 1).then_some(()));
        stays(check);
        goes_by_the_new_file(&ward);
        let status = ward.status();
        assert!(status.contains("Network file: the one in the store"), "{status}");
        // One that is started with the former file stands by for it, and is known to share the store.
        std::fs::write(ward.file("ward.toml"), &former).unwrap();
        first = Manager::start(&ward, &etcd.url(), "log-2", PORTS[0]);
        patiently("one that stands by", || (first.says("stands by: ") > 0).then_some(()));
        know_each_other(&ward);
        // Stopped in good order the leader hands over at once, and the former file does not come back.
        second.signal(Signal::SIGINT);
        patiently("the next leader", || (first.says("leads with another network file: ") == 1).then_some(()));
        stays(check);
        goes_by_the_new_file(&ward);
        check();
    });
}

#[test]
fn without_etcd_a_file_is_not_changed_and_flows_go_on() {
    let former = with_gates(NETWORK);
    let Some((_turn, ward)) = ward_for_etcd(&former) else { return };
    let mut etcd = etcd_of(&ward, &[]);
    let managers = two(&ward, &etcd.url());
    know_each_other(&ward);
    with_flow(&ward, |check| {
        std::fs::write(ward.file("ward.toml"), full(&former)).unwrap();
        etcd.kill();
        // Refused because of the store, or by a manager that leads no more.
        let said = operator(&ward, PORTS[0], &["reload"]);
        assert!(!said.contains("goes on with the file, and keeps"), "{said}");
        start(&ward, &mut etcd);
        let reader = ward.reader("display", "Depth", 5 * MILLISECOND);
        let _writer = ward.writer("camera", "Depth", 1_000, 20 * MILLISECOND);
        patiently("a flow that the former file has room for", || is_admitted(&reader).then_some(()));
        assert_eq!(managers.iter().map(|manager| manager.says("leads with another")).sum::<usize>(), 0);
        drop(reader);
        patiently("its end", || (ward.flow_entries() == 1).then_some(()));
        check();
    });
}

#[test]
fn a_store_with_a_file_that_cannot_be_read_is_not_led_and_it_is_said_what_to_do() {
    let Some((_turn, ward)) = ward_for_etcd(&with_gates(NETWORK)) else { return };
    let etcd = etcd_of(&ward, &[]);
    let put = |text: &str| ward.lab.on("manager", || etcd.put("/punctual/grm/network", text)).unwrap();
    for (text, why) in [("{\"format\":2}", "its format is 2"), ("[[host]]", "cannot read")] {
        patiently("the text", || put(text).then_some(()));
        let mut command = ward.lab.command("manager", env!("CARGO_BIN_EXE_punctual")).unwrap();
        command.arg("grm").arg(ward.file("ward.toml")).args(["--interface", "eth0", "--lab"]);
        let output = command.args(["--store", &etcd.url()]).output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let has_all = [why, "/punctual/grm/network", "etcdctl del"].iter().all(|words| said.contains(words));
        assert!(!output.status.success() && has_all, "{said}");
    }
}
