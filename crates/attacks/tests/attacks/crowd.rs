//! One host that asks for thousands of flows, and stores of the manager that break.
use std::path::Path;
use std::time::Duration;

use crate::admission::{REQUEST, Request};
use crate::managed::{Managed, told_in};
use crate::peer::{Endpoint, Manners, Peer, Sample};
use crate::place::INTERFACE;
use crate::program::Program;

const PREFIX: [u8; 12] = *b"asks so much";
const REQUESTS: [u8; 4] = [0, 0, 2, 2];
/// Requests of the one host.
const CROWD: u32 = 10_000;

#[test]
fn ten_thousand_requests_of_one_host_end_neither_the_manager_nor_an_admitted_pair() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::new();
    let [topic, type_name] = REQUEST;
    let manners = Manners {
        prefix: PREFIX,
        address: managed.address("stranger"),
        says: None,
        period: Duration::from_millis(500),
        wants_more: false,
        endpoints: vec![Endpoint { entity: REQUESTS, topic, type_name, is_lasting: true }],
    };
    let peer = Peer::new(&managed.host("stranger"), manners);
    let (writer, manager) = (managed.writer.guid(), managed.manager_guid());
    let source = std::net::SocketAddrV4::new(managed.address("camera"), 7411);
    let destination = std::net::SocketAddrV4::new(managed.address("stranger"), 7410);
    for number in 0..CROWD {
        let mut reader = [0; 16];
        reader[..12].copy_from_slice(&PREFIX);
        let [_, high, middle, low] = number.to_be_bytes();
        reader[12..].copy_from_slice(&[high, middle, low, 7]);
        // Half of them can be promised, half never.
        let latency = if number % 2 == 0 { 50_000_000 } else { 1_000 };
        let request = Request {
            pair: [writer, reader],
            serial: 1,
            latency,
            separation: 20_000_000,
            sockets: [source, destination],
            stage: 0,
            manager,
        };
        peer.write(REQUESTS, Sample { payload: request.bytes(), ends: false });
    }
    managed.meanwhile("the acknowledgement of all requests", |_| {
        (peer.acknowledged(REQUESTS) >= i64::from(CROWD)).then_some(())
    });
    managed.stays_assured("after the requests");
    let (succeeded, status) = managed.status();
    assert!(succeeded && status.contains("admitted Assured"), "{status}");
    managed.assert_none_forged();
}

#[test]
fn a_broken_store_is_told_and_the_pairs_are_admitted_again() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::new();
    type Breakage = fn(&mut Vec<u8>);
    let all: [(&str, Breakage); 3] = [
        ("after its store was cut", |bytes| bytes.truncate(bytes.len() / 2)),
        ("after its store was emptied", Vec::clear),
        ("after its store was overwritten with zeros", |bytes| bytes.fill(0)),
    ];
    let played = usize::try_from(tiers::current().number("attacks.store_breakages")).unwrap();
    for (what, breakage) in all.into_iter().take(played) {
        let told = managed.log("log").len();
        managed.kill_managers();
        let file = managed.file("grants");
        let mut bytes = std::fs::read(&file).unwrap();
        breakage(&mut bytes);
        std::fs::write(&file, bytes).unwrap();
        managed.start_manager("grants", "log");
        managed.has_its_pair_again(what);
        let log = managed.log("log")[told..].to_owned();
        assert!(!log.contains("panicked"), "{what}: {log}");
        assert!(log.contains("grants"), "{what} nothing is told of the file: {log}");
    }
    managed.assert_none_forged();
}

#[test]
fn a_full_disk_ends_no_flow_and_keeps_no_newcomer_out_for_good() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut managed = Managed::new();
    managed.kill_managers();
    let disk = managed.file("disk");
    std::fs::create_dir(&disk).unwrap();
    let told = managed.log("log").len();
    let manager = managed.start_manager_on_disk(&disk);
    let when = "with a store on a disk of its own";
    managed.has_its_pair_again(when);
    let inside = |script: &str| {
        let mut command = std::process::Command::new("nsenter");
        command.args(["--target", &manager.to_string(), "--mount", "sh", "-c", script]);
        command.current_dir("/").output().unwrap()
    };
    inside(&format!("cat /dev/zero > {}/fill", disk.display()));
    let words = format!("sub Assured interface={INTERFACE} within=30");
    let newcomer = Program::start("the newcomer", &managed.host("stranger"), &words);
    // It cannot be admitted, as that could not be stored; the log says why.
    managed.meanwhile("a line about the full disk in the log", |managed| {
        managed.log("log")[told..].to_lowercase().contains("no space").then_some(())
    });
    managed.stays_assured("with a full disk");
    inside(&format!("rm {}/fill", disk.display()));
    newcomer.wait("pair Admitted Assured");
    newcomer.wait("got ");
}

impl Managed {
    /// Starts a manager whose store is on a small disk that no one else sees, and that ends with it; the number of its process.
    fn start_manager_on_disk(&mut self, disk: &Path) -> u32 {
        let mut command = self.lab.command("manager", "unshare").unwrap();
        let mount = format!("mount -t tmpfs -o size=8m tmpfs {} && exec \"$@\"", disk.display());
        command.args([
            "--mount",
            "sh",
            "-c",
            &mount,
            "sh",
            env!("CARGO_BIN_EXE_punctual-attacks-command"),
            "grm",
        ]);
        command.arg(self.folder.0.join("ward.toml")).args(["--interface", "eth0", "--lab", "--store"]);
        let child = told_in(command.arg(disk.join("grants")), &self.file("log"));
        let id = child.id();
        self.managers.push(child);
        id
    }

    /// What `punctual grm status` prints on the display, and whether it succeeded.
    fn status(&self) -> (bool, String) {
        let mut command =
            self.lab.command("display", env!("CARGO_BIN_EXE_punctual-attacks-command")).unwrap();
        let output =
            command.args(["grm", "status", "--interface", "eth0", "--timeout", "20s"]).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    }
}
