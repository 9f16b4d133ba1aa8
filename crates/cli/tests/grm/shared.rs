//! The network file changes while managers share a store: the procedure of `docs/grm.md` loses no sample, and the next leader goes by the new file.
use dds::assurance::State;
use nix::sys::signal::Signal;

use crate::MILLISECOND;
use crate::drained::operator;
use crate::lead::{LEADS, Manager, PORTS, etcd_of, stays, two, with_flow};
use crate::ward::{NETWORK, Ward, patiently, with_gates};

#[test]
fn a_changed_file_comes_to_all_managers_of_a_store_and_no_sample_is_lost() {
    let Some(_turn) = lab_turn::turn() else { return };
    if !testkit::etcd::is_there() {
        return;
    }
    let former = with_gates(NETWORK);
    let ends = "ends = [\"camera\", \"s1:1\"]";
    let full = former.replace(ends, &format!("{ends}\nfull = \"camera\""));
    let ward = Ward::unmanaged(&former);
    let etcd = etcd_of(&ward, &[]);
    let [mut first, mut second] = two(&ward, &etcd.url());
    let begun = |manager: &Manager| manager.says("stored grants, as epoch");
    let finds = "another resource manager, ";
    patiently("that the leader knows of the other one", || {
        first.log().lines().any(|line| line.contains(finds) && line.ends_with(": it stands by")).then_some(())
    });
    with_flow(&ward, |check| {
        std::fs::write(ward.file("ward.toml"), &full).unwrap();
        // As long as one stands by nothing is changed, and it is said what to do.
        let said = operator(&ward, PORTS[0], &["reload"]);
        assert!(said.contains("stands by with the former file: stop it"), "{said}");
        let before = begun(&first);
        second.signal(Signal::SIGINT);
        let reload = || {
            let said = operator(&ward, PORTS[0], &["reload"]);
            assert!(said.contains("stands by") || said.contains("keeps all flows"), "{said}");
            said.contains("keeps all flows").then_some(())
        };
        patiently("the new file", reload);
        patiently("the leader of the new file", || (begun(&first) > before).then_some(()));
        check();
        second.kill();
        second = Manager::start(&ward, &etcd.url(), "log-2", PORTS[1]);
        patiently("one that stands by", || (second.says("stands by: ") > 0).then_some(()));
        stays(check);
        first.kill();
        patiently("another leader", || (second.says(LEADS) > 0).then_some(()));
        stays(check);
        let _writer = ward.writer("camera", "Depth", 1_000, 20 * MILLISECOND);
        let reader = ward.reader("display", "Depth", 5 * MILLISECOND);
        let is_refused = || {
            let full = "camera to s1 is declared full";
            reader.pairs().iter().any(|pair| pair.state == State::Refused && pair.reason.contains(full))
        };
        patiently("what the new file says", || is_refused().then_some(()));
        check();
    });
}
