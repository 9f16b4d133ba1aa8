//! With keys from `punctual grm keys` a real switch, its gates and the manager speak TLS, and only the manager sets gates.
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use dds::assurance::State;
use gate_agent::GateClient;
use keys::{Authority, Identity, Role};

use crate::ward::{NETWORK, Ward, patiently, with_gates};
use crate::{MILLISECOND, contracts};

/// Where the manager of a lab meets the first switch, and its gates.
const MANAGER: &str = "172.31.1.1:6653";
const GATES: &str = "172.31.1.2:6654";

fn client(ward: &Ward, keys: Option<(&Identity, Role)>) -> Result<(), String> {
    let address: SocketAddr = GATES.parse().unwrap();
    let connected = ward.lab.on("manager", || GateClient::connect(address, keys)).unwrap();
    connected.map(drop).map_err(|error| error.to_string())
}

#[test]
fn keys_keep_strangers_from_switches_and_gates() {
    let Some(_turn) = lab_turn::turn() else { return };
    let ward = Ward::secured(&with_gates(NETWORK), "default = \"allow\"");
    let writer = ward.writer("camera", "Picture", 4_000, 10 * MILLISECOND);
    let reader = ward.reader("display", "Picture", 5 * MILLISECOND);
    patiently("the verdict", || {
        reader.pairs().iter().any(|pair| pair.state == State::Admitted).then_some(())
    });
    patiently("the writer's match", || (writer.matched() == 1).then_some(()));
    assert_eq!((ward.flow_entries(), contracts(&ward)), (1, 1));
    let mut received = 0;
    patiently("samples", || {
        writer.write();
        std::thread::sleep(Duration::from_millis(11));
        received += reader.take();
        (received > 0).then_some(())
    });

    // The agent of the gates serves managers alone.
    let folder = ward.keys();
    let load = |role| Identity::load(folder, role).unwrap();
    client(&ward, Some((&load(Role::Manager), Role::Gates(1)))).unwrap();
    assert!(client(&ward, None).is_err());
    assert!(client(&ward, Some((&load(Role::Switch(1)), Role::Gates(1)))).is_err());
    let other = ward.file("others");
    Authority::open(&other).unwrap().issue(Role::Manager).unwrap();
    std::fs::copy(folder.join("authority.pem"), other.join("authority.pem")).unwrap();
    assert!(client(&ward, Some((&Identity::load(&other, Role::Manager).unwrap(), Role::Gates(1)))).is_err());

    // Who speaks OpenFlow without TLS is turned away, and told of.
    let said = ward.lab.on("manager", || {
        let mut stream = TcpStream::connect(MANAGER).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(&[4, 0, 0, 8, 0, 0, 0, 1]).unwrap();
        let mut said = Vec::new();
        // It may be reset in place of ended.
        let _ = stream.read_to_end(&mut said);
        said
    });
    // A TLS alert at most, and no HELLO.
    assert!(said.unwrap().first().is_none_or(|first| *first == 21));
    patiently("a line that says so", || ward.log().contains("172.31.1.1 is turned away").then_some(()));
    assert!(!ward.log().contains("without keys"), "{}", ward.log());
    assert_eq!((ward.flow_entries(), contracts(&ward)), (1, 1));
}

#[test]
fn keys_are_made_once_and_the_command_says_which() {
    let folder = lab_turn::Folder::new();
    let file = folder.file("ward.toml", &with_gates(NETWORK));
    let keys = folder.0.join("keys");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        let output = command.args(["grm", "keys"]).arg(&keys).args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), text)
    };
    let network = file.to_str().unwrap();
    let line = |word: &str, name: &str| format!("{word} {}\n", keys.join(name).display());
    let names = ["manager.pem", "switch-1.pem", "gates-1.pem"];
    assert_eq!(run(&["--network", network]), (0, names.map(|name| line("made", name)).concat()));
    assert_eq!(
        run(&["switch-1", "switch-2"]),
        (0, line("kept", "switch-1.pem") + &line("made", "switch-2.pem"))
    );
    let (code, said) = run(&["switch"]);
    assert!(code == 2 && said.contains("write manager, store, switch-1 or gates-1"), "{code} {said}");
    let (code, said) = run(&[]);
    assert!(code == 2 && said.contains("ROLE"), "{code} {said}");
    // A manager without its key says what to do.
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    let manager = command.arg("grm").arg(&file).arg("--keys").arg(Path::new("nowhere")).output().unwrap();
    let said = String::from_utf8(manager.stderr).unwrap();
    assert!(manager.status.code() == Some(2) && said.contains("punctual grm keys nowhere manager"), "{said}");
}
