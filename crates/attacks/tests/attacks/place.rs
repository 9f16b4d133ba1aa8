//! Network namespaces of a test, none with an interface of the machine. They have no names: each lives as long as our open file or a
//! program inside it, so nothing of it stays behind, however the test ends.
use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns, unshare};

/// The interface of each host.
pub(crate) const INTERFACE: &str = "eth0";

static TURN: Mutex<()> = Mutex::new(());

/// The turn of a test that wants the processors for itself.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A network namespace.
pub(crate) struct Place(File);

/// Hosts 10.9.0.1, 10.9.0.2, ... in one broadcast domain.
pub(crate) struct Lan {
    pub(crate) hosts: Vec<Place>,
    /// Holds the bridge between them.
    _hub: Place,
}

impl Place {
    /// A new one with nothing but a loopback interface that is up. `None` where namespaces are not to be had; in continuous integration
    /// that is a failure.
    pub(crate) fn new() -> Option<Self> {
        // The namespace of the thread that calls unshare changes, so it is a thread of its own.
        let made = thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net").map_err(|_| nix::errno::Errno::last())
        });
        match made.join().unwrap() {
            Ok(namespace) => {
                let place = Self(namespace);
                place.run("ip", "link set lo up");
                Some(place)
            }
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "a network namespace needs root: {error}");
                eprintln!("passed over: a network namespace needs root: {error}");
                None
            }
        }
    }

    /// One that there is, by an open file.
    pub(crate) fn of(namespace: File) -> Self {
        Self(namespace)
    }

    /// The same one.
    pub(crate) fn again(&self) -> Self {
        Self(self.0.try_clone().unwrap())
    }

    /// A path that other programs can open, as long as this is there.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// Runs a program in here, which must succeed; what it said.
    pub(crate) fn run(&self, program: &str, arguments: &str) -> String {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.path())).args(["--", program]).args(arguments.split(' '));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A command that runs its further arguments in here, by way of these words (such as `prlimit`), and ends with the calling thread.
    pub(crate) fn command(&self, by: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "nsenter"]).arg(format!("--net={}", self.path()));
        command.arg("--").args(by);
        command
    }

    /// Does something on a thread that is in here: its sockets belong here.
    pub(crate) fn on<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let done = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                setns(&self.0, CloneFlags::CLONE_NEWNET).unwrap();
                work()
            });
            thread.join()
        });
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Waits until a cable is plugged in.
    pub(crate) fn wait_for_carrier(&self, interface: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        while !self.run("ip", &format!("-oneline link show dev {interface}")).contains("state UP") {
            assert!(Instant::now() < end, "{interface} never had a carrier");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Lan {
    /// So many hosts, on a bridge that floods multicast.
    pub(crate) fn of(hosts: usize) -> Option<Self> {
        let hub = Place::new()?;
        hub.run("ip", "link add name bridge0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0");
        hub.run("ip", "link set bridge0 up");
        let hosts: Vec<Place> = (1..=hosts)
            .map(|number| {
                let host = Place::new().unwrap();
                let name = format!("name {INTERFACE} netns {}", host.path());
                hub.run("ip", &format!("link add name port{number} type veth peer {name}"));
                hub.run("ip", &format!("link set port{number} master bridge0 up"));
                host.run("ip", &format!("address add {}/24 dev {INTERFACE}", address(number)));
                host.run("ip", &format!("link set {INTERFACE} up"));
                host.run("ip", &format!("route add 224.0.0.0/4 dev {INTERFACE}"));
                host
            })
            .collect();
        hosts.iter().for_each(|host| host.wait_for_carrier(INTERFACE));
        Some(Self { hosts, _hub: hub })
    }
}

/// The address of a host, numbered from 1.
pub(crate) fn address(number: usize) -> std::net::Ipv4Addr {
    std::net::Ipv4Addr::new(10, 9, 0, u8::try_from(number).unwrap())
}
