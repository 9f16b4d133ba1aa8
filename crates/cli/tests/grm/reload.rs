//! The network file changes while the manager runs: applied whole with all flows, or refused whole with what stands in the way.
use dds::assurance::State;

use crate::MILLISECOND;
use crate::contracts;
use crate::ward::{NETWORK, Ward, patiently, with_gates};

/// Ends with success or not, and what it prints.
fn reload(ward: &Ward, option: &[&str]) -> (bool, String) {
    let mut command = ward.lab.command("manager", env!("CARGO_BIN_EXE_punctual")).unwrap();
    let output = command.args(["grm", "reload"]).args(option).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn a_changed_file_is_applied_whole_or_refused_whole() {
    let Some(_turn) = lab_turn::turn() else { return };
    let text = with_gates(NETWORK);
    let ward = Ward::told(&text, &["--web", "127.0.0.1:8080"]);
    let writer = ward.writer("camera", "Picture", 1_000, 10 * MILLISECOND);
    let reader = ward.reader("display", "Picture", 5 * MILLISECOND);
    let is_admitted = || reader.pairs().iter().any(|pair| pair.state == State::Admitted);
    patiently("the verdict", || is_admitted().then_some(()));
    let begun = || ward.log().matches("stored grants, as epoch").count();
    let change = |text: &str| std::fs::write(ward.file("ward.toml"), text).unwrap();

    // What could not be kept is named, and a file with a mistake has a place.
    change(
        &text.replace("ends = [\"camera\", \"s1:1\"]", "ends = [\"camera\", \"s1:1\"]\nrate = \"1 Mb/s\""),
    );
    let (is_good, said) = reload(&ward, &["--check"]);
    assert!(!is_good && said.contains("cannot be kept: Picture from camera to display"), "{said}");
    let (is_good, said) = reload(&ward, &[]);
    assert!(
        !is_good && said.contains("nothing has been changed") && said.contains("would not hold"),
        "{said}"
    );
    change(&text.replace("ends = [\"camera\", \"s1:1\"]", "ends = [\"camera\", \"s9:1\"]"));
    let (is_good, said) = reload(&ward, &[]);
    assert!(!is_good && said.contains("no node \"s9\""), "{said}");
    assert_eq!((begun(), ward.flow_entries(), contracts(&ward)), (1, 1, 1));
    assert!(is_admitted(), "{:?}", reader.pairs());

    // A host more: the flow goes on, and nothing of it is taken away on the way.
    change(&format!("{text}[[host]]\nname = \"desk\"\n[[link]]\nends = [\"desk\", \"s1:4\"]\n"));
    let (is_good, said) = reload(&ward, &["--check"]);
    assert!(is_good && said.contains("all flows could be kept"), "{said}");
    let (is_good, said) = reload(&ward, &[]);
    assert!(is_good && said.contains("keeps all flows"), "{said}");
    patiently("the manager of the new file", || (begun() == 2).then_some(()));
    // The lab has no port for that host: the switch is not as the file says, and that is told. What it has stays meanwhile.
    patiently("a line about the port", || ward.log().contains("does not have port 4").then_some(()));
    assert_eq!((ward.flow_entries(), contracts(&ward)), (1, 1));
    change(&text);
    let (is_good, said) = reload(&ward, &[]);
    assert!(is_good, "{said}");
    let mut received = 0;
    patiently("samples of the admitted flow", || {
        writer.write();
        std::thread::sleep(std::time::Duration::from_millis(11));
        received += reader.take();
        (received >= 50 && is_admitted() && begun() == 3).then_some(())
    });
    assert_eq!((ward.flow_entries(), contracts(&ward)), (1, 1));

    // The port of the camera is declared full: the flow stays, and another one of that host is refused until that is withdrawn.
    let ends = "ends = [\"camera\", \"s1:1\"]";
    change(&text.replace(ends, &format!("{ends}\nfull = \"camera\"")));
    let (is_good, said) = reload(&ward, &[]);
    assert!(is_good && said.contains("keeps all flows"), "{said}");
    patiently("the manager of the full port", || (begun() == 4).then_some(()));
    let _other = ward.writer("camera", "Depth", 1_000, 10 * MILLISECOND);
    let depth = ward.reader("display", "Depth", 5 * MILLISECOND);
    let is_refused =
        || depth.pairs().iter().any(|pair| pair.reason.contains("camera to s1 is declared full"));
    patiently("the refusal", || (is_refused() && is_admitted()).then_some(()));
    change(&text);
    let (is_good, said) = reload(&ward, &[]);
    assert!(is_good, "{said}");
    let is_there = || depth.pairs().iter().any(|pair| pair.state == State::Admitted);
    patiently("the flow at the port that was full", || (is_there() && is_admitted()).then_some(()));
}
