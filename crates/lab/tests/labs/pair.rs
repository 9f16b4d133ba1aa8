//! A link with the gate's program at its far end, over which nothing goes but what a test sends.
use std::process::Command;
use std::thread;

use gate::{Contract, Key};
use gate_agent::{Program, compile, mount_pins};
use lab::tap::Tap;
use lab_turn::{Folder, name};

/// How a program judges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// As gates do.
    Quiet,
    /// It logs each judgement.
    Logged,
    /// The same, and frames bring along when they came.
    Stamped,
}

/// A program at a port, and what hears the frames that it lets through.
pub(crate) struct AtGate {
    pub(crate) program: Program,
    /// The port's number.
    pub(crate) index: u32,
    pub(crate) tap: Tap,
}

/// A network namespace with one link, whose far end has the gate; removed when this is dropped.
pub(crate) struct Pair {
    name: String,
    folder: Folder,
}

impl Pair {
    pub(crate) fn new() -> Self {
        let pair = Self { name: format!("{}-pair", name()), folder: Folder::new() };
        let (near, far) = (pair.near(), pair.far());
        for line in [
            format!("netns add {near}"),
            format!("netns add {far}"),
            // The system says nothing of its own, by IPv6.
            format!("netns exec {near} sysctl -qw net.ipv6.conf.all.disable_ipv6=1"),
            format!("netns exec {near} sysctl -qw net.ipv6.conf.default.disable_ipv6=1"),
            format!("netns exec {far} sysctl -qw net.ipv6.conf.all.disable_ipv6=1"),
            format!("netns exec {far} sysctl -qw net.ipv6.conf.default.disable_ipv6=1"),
            format!("link add p1 netns {far} type veth peer name eth0 netns {near}"),
            format!("-n {near} link set eth0 up"),
            format!("-n {far} link set p1 up"),
            format!("-n {near} addr add 10.9.0.1/24 dev eth0"),
            format!("-n {near} neigh add 10.9.0.2 lladdr 02:00:00:00:00:99 dev eth0"),
        ] {
            assert!(Command::new("ip").args(line.split(' ')).status().unwrap().success(), "{line}");
        }
        let offloads = "-K eth0 tx off tso off gso off gro off".split(' ');
        let mut ethtool = Command::new("ip");
        ethtool.args(["netns", "exec", &near, "ethtool"]).args(offloads).stdout(std::process::Stdio::null());
        assert!(ethtool.status().unwrap().success());
        mount_pins(&pair.pins()).unwrap();
        pair
    }

    pub(crate) fn near(&self) -> String {
        format!("{}1", self.name)
    }

    fn far(&self) -> String {
        format!("{}2", self.name)
    }

    fn pins(&self) -> std::path::PathBuf {
        self.folder.0.join("pins")
    }

    /// The program at the far end, with a limit of so many frames a second for what has no contract, and these contracts.
    pub(crate) fn gate(&self, mode: Mode, limit: u32, contracts: &[(Key, Contract)]) -> AtGate {
        let object = self.folder.0.join("gate.o");
        compile(&object).unwrap();
        self.inside(&self.far(), || {
            let (logs, stamped) = (mode != Mode::Quiet, mode == Mode::Stamped);
            let mut program = Program::load(&object, &self.pins(), logs, stamped).unwrap();
            let index = nix::net::if_::if_nametoindex("p1").unwrap();
            program.attach(index, &self.pins().join("port-1")).unwrap();
            program.limit(index, limit).unwrap();
            for (key, contract) in contracts {
                assert_eq!(program.set(index, key, contract), Ok(*contract));
            }
            AtGate { program, index, tap: Tap::open("p1").unwrap() }
        })
    }

    pub(crate) fn inside<T: Send>(&self, namespace: &str, act: impl FnOnce() -> T + Send) -> T {
        let file = std::fs::File::open(format!("/run/netns/{namespace}")).unwrap();
        thread::scope(|scope| {
            let acting = scope.spawn(|| {
                nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
                act()
            });
            acting.join().unwrap()
        })
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = nix::mount::umount2(&self.pins(), nix::mount::MntFlags::MNT_DETACH);
        for namespace in [self.near(), self.far()] {
            let _ = Command::new("ip").args(["netns", "del", &namespace]).status();
        }
    }
}

/// Sends these frames as they are out of `eth0`.
pub(crate) fn say_raw(frames: &[Vec<u8>]) {
    use nix::sys::socket::{AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, bind, socket};
    use std::os::fd::AsRawFd as _;
    let own = nix::ifaddrs::getifaddrs().unwrap().find(|found| found.interface_name == "eth0").unwrap();
    let own: LinkAddr = *own.address.unwrap().as_link_addr().unwrap();
    let raw = socket(AddressFamily::Packet, SockType::Raw, SockFlag::empty(), SockProtocol::EthAll).unwrap();
    bind(raw.as_raw_fd(), &own).unwrap();
    for frame in frames {
        assert_eq!(nix::unistd::write(&raw, frame).unwrap(), frame.len());
    }
}
