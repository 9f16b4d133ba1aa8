//! BGP speakers of domains for a test: bgpd of FRR, each in a network namespace of its own, which is gone with it.
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use testkit::namespace::run;
use testkit::patience::patiently;

const PROGRAM: &str = "/usr/lib/frr/bgpd";

/// Whether the program is there; in continuous integration it must be.
pub(crate) fn is_there() -> bool {
    let is = Path::new(PROGRAM).exists();
    if !is {
        let missing = "FRR is missing: install the package frr";
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        eprintln!("passed over: {missing}");
    }
    is
}

/// A speaker that runs.
pub(crate) struct Speaker {
    asn: u32,
    folder: PathBuf,
    program: Child,
}

/// Where the socket of a domain's speaker is, from the folder of a test.
pub(crate) fn socket(asn: u32) -> String {
    format!("bgp-{asn}")
}

/// The address of a domain on its link to another one.
fn address(of: u32, to: u32) -> String {
    let (low, high) = (of.min(to) % 100, of.max(to) % 100);
    format!("fd00:{low}:{high}::{}", of % 100)
}

impl Speaker {
    /// Starts one, without links yet. It announces ranges to its neighbours, all paths of each, as its own route-map `punctual` changes them.
    pub(crate) fn start(
        folder: &Path,
        asn: u32,
        neighbours: &[u32],
        announces: &[&str],
        route_map: &str,
    ) -> Self {
        let at = folder.join(socket(asn));
        run("install", &format!("-d -o frr -g frr {}", at.display()));
        let number = asn % 100;
        let mut text = format!(
            "router bgp {asn}\n bgp router-id 192.0.2.{number}\n no bgp ebgp-requires-policy\n\
             no bgp default ipv4-unicast\n no bgp network import-check\n timers bgp 20 60\n"
        );
        for neighbour in neighbours {
            let peer = address(*neighbour, asn);
            text.push_str(&format!(
                " neighbor {peer} remote-as {neighbour}\n neighbor {peer} timers connect 1\n \
                 neighbor {peer} advertisement-interval 0\n neighbor {peer} capability extended-nexthop\n"
            ));
        }
        for (family, mark) in [("ipv4", '.'), ("ipv6", ':')] {
            text.push_str(&format!(" address-family {family} unicast\n"));
            for range in announces.iter().filter(|range| range.contains(mark)) {
                text.push_str(&format!("  network {range}\n"));
            }
            for neighbour in neighbours {
                let peer = address(*neighbour, asn);
                text.push_str(&format!(
                    "  neighbor {peer} activate\n  neighbor {peer} route-map punctual out\n  \
                     neighbor {peer} addpath-tx-all-paths\n"
                ));
            }
            text.push_str(" exit-address-family\n");
        }
        text.push_str("exit\n");
        text.push_str(route_map);
        let (file, log) = (at.join("bgpd.conf"), File::create(at.join("bgpd.log")).unwrap());
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(PROGRAM);
        // It speaks to no zebra, and listens for commands at its socket alone.
        command
            .args(["--no_kernel", "--no_zebra", "--vty_port", "0", "--log", "stdout", "--vty_socket"])
            .arg(&at);
        command.arg("--config_file").arg(&file).arg("--pid_file").arg(at.join("pid"));
        command.arg("--socket").arg(at.join("zserv"));
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let program = std::thread::scope(|scope| {
            let start = || {
                unshare(CloneFlags::CLONE_NEWNET).unwrap();
                command.spawn().unwrap()
            };
            scope.spawn(start).join().unwrap()
        });
        let speaker = Self { asn, folder: folder.to_owned(), program };
        patiently("a BGP speaker", || speaker.asked("show bgp summary json"));
        speaker
    }

    /// What it says to a command, as `vtysh` has it; `None` if it does not answer.
    pub(crate) fn asked(&self, what: &str) -> Option<Vec<u8>> {
        let mut command = Command::new("vtysh");
        command.args(["--vty_socket", &socket(self.asn), "-c", what]).current_dir(&self.folder);
        let said = command.output().unwrap();
        said.status.success().then_some(said.stdout)
    }

    /// Runs `ip` in its namespace.
    fn ip(&self, arguments: &str) {
        run("nsenter", &format!("--net --target {} ip {arguments}", self.program.id()));
    }

    /// Joins two by a link.
    pub(crate) fn join(&self, other: &Self) {
        let pids = [self.program.id(), other.program.id()];
        let names = [format!("to{}", other.asn), format!("to{}", self.asn)];
        run(
            "ip",
            &format!(
                "link add {} netns {} type veth peer name {} netns {}",
                names[0], pids[0], names[1], pids[1]
            ),
        );
        for (one, to) in [(self, other), (other, self)] {
            one.ip(&format!("address add {}/64 dev to{} nodad", address(one.asn, to.asn), to.asn));
            one.ip(&format!("link set dev to{} up", to.asn));
        }
    }

    /// Takes the link to another one down, as an operator does: both withdraw what they have heard by it.
    pub(crate) fn cut(&self, other: &Self) {
        let shutdown = format!("neighbor {} shutdown", address(other.asn, self.asn));
        let router = format!("router bgp {}", self.asn);
        let mut command = Command::new("vtysh");
        command.args(["--vty_socket", &socket(self.asn), "-c", "configure terminal", "-c", &router]);
        let said = command.args(["-c", &shutdown]).current_dir(&self.folder).output().unwrap();
        assert!(said.status.success(), "{said:?}");
        self.ip(&format!("link set dev to{} down", other.asn));
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
