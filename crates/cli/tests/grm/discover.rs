//! `punctual grm discover` in a lab: what it finds is what the lab was built from.
use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;

use lab::Lab;
use lab_turn::Folder;
use network::Network;

/// Three hosts at two switches with a link between them.
const NETWORK: &str = r#"
[[host]]
name = "camera"
[[host]]
name = "display"
[[host]]
name = "manager"
manager = true
[[switch]]
name = "s1"
model = "open-vswitch"
[[switch]]
name = "s2"
model = "open-vswitch"
[[link]]
ends = ["camera", "s1:1"]
[[link]]
ends = ["display", "s2:2"]
[[link]]
ends = ["manager", "s2:1"]
[[link]]
ends = ["s1:5", "s2:7"]
"#;

/// Links by their ends, hosts named by their addresses and switches by their datapath ids.
fn links(network: &Network, address: impl Fn(usize) -> String) -> BTreeSet<BTreeSet<String>> {
    let end = |end: network::End| match network.switch_of(end.node) {
        Some(switch) => format!("switch {}:{}", switch.datapath, end.port),
        None => address(end.node),
    };
    network.cables().iter().map(|link| link.ends.map(end).into()).collect()
}

#[test]
fn what_is_discovered_is_what_the_lab_has() {
    let Some(_turn) = lab_turn::turn() else { return };
    let program = Path::new(env!("CARGO_BIN_EXE_punctual"));
    let (lab, folder) = (lab_turn::up(NETWORK, program), Folder::new());
    let found = folder.0.join("found.toml");
    let mut command = lab.command("manager", program).unwrap();
    command.args([
        "grm",
        "discover",
        "--listen",
        "172.31.1.1",
        "--listen",
        "172.31.2.1",
        "--seconds",
        "20",
        "-o",
    ]);
    let mut discovering = command.arg(&found).spawn().unwrap();
    // Hosts speak to each other, and so ask where they are.
    let names = ["camera", "display", "manager"];
    let status = loop {
        for (one, other) in [(0, 1), (1, 2), (2, 0)] {
            speak(&lab, names[one], names[other]);
        }
        if let Some(status) = discovering.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(500));
    };
    assert!(status.success(), "{status}");
    let text = std::fs::read_to_string(&found).unwrap();
    let discovered = Network::open(&found).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    let planned = lab_turn::network(NETWORK);
    let of_lab = |host: usize| lab.host_address(&planned.hosts()[host].name).unwrap().to_string();
    let of_file = |host: usize| {
        let addresses: Vec<String> =
            discovered.hosts()[host].addresses.iter().map(ToString::to_string).collect();
        addresses.join(" ")
    };
    assert_eq!(links(&discovered, of_file), links(&planned, of_lab), "{text}");
    assert_eq!((discovered.hosts().len(), discovered.switches().len()), (3, 2), "{text}");
    // It can be planned, and nothing of the survey is left in the switches.
    let plan = std::process::Command::new(program).arg("plan").arg(&found).output().unwrap();
    assert!(plan.status.code().is_some_and(|code| code < 2), "{plan:?}");
}

fn speak(lab: &Lab, from: &str, to: &str) {
    let to = lab.host_address(to).unwrap();
    lab.on(from, || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        // No socket answers.
        drop(socket.send_to(b"hello", (to, 9)));
    })
    .unwrap();
}
