//! A network of its own for each test: namespaces without an interface of the machine.
//!
//! A namespace has no name. It lives as long as something holds it: our open file or a program inside. So nothing of it
//! stays behind, however the test ends.
use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns, unshare};

/// How long the system may take to report that a virtual cable is plugged in.
const PATIENCE: Duration = Duration::from_secs(10);

/// A network namespace.
pub(crate) struct Place {
    namespace: File,
}

/// Where the two programs of a test stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Link {
    /// Both in one namespace, on loopback.
    Loopback,
    /// Each in a namespace, with a virtual cable between them; MTU 1500.
    Cable,
    /// Such a cable behind queues of 80 kB, not much more than one datagram of Fast DDS: of large samples some fragments are lost at
    /// first.
    NarrowCable,
}

impl Link {
    /// Makes the places of the first and the second program, which may be the same one. `None` where namespaces are not
    /// to be had; in continuous integration that is a failure.
    pub(crate) fn places(self) -> Option<[Place; 2]> {
        let first = Place::new()?;
        match self {
            Self::Loopback => {
                for arguments in
                    ["link set lo up", "link set lo multicast on", "route add 224.0.0.0/4 dev lo"]
                {
                    first.ip(arguments);
                }
                let namespace = first.namespace.try_clone().unwrap();
                Some([first, Place { namespace }])
            }
            Self::Cable | Self::NarrowCable => {
                let second = Place::new()?;
                first.ip(&format!("link add cable type veth peer name cable netns {}", second.path()));
                for (place, address) in [(&first, "10.9.0.1/24"), (&second, "10.9.0.2/24")] {
                    for arguments in [
                        "link set lo up",
                        "link set cable up",
                        &format!("address add {address} dev cable"),
                        "route add 224.0.0.0/4 dev cable",
                    ] {
                        place.ip(arguments);
                    }
                }
                for place in [&first, &second] {
                    place.wait_for_carrier();
                    if self == Self::NarrowCable {
                        place.run("tc", "qdisc add dev cable root tbf rate 40mbit burst 5kb limit 80kb");
                    }
                }
                Some([first, second])
            }
        }
    }
}

impl Place {
    fn new() -> Option<Self> {
        // The namespace of the thread that calls unshare changes, so it is a thread of its own.
        let made = thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net").map_err(|_| nix::errno::Errno::last())
        });
        match made.join().unwrap() {
            Ok(namespace) => Some(Self { namespace }),
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "a network namespace needs root: {error}");
                eprintln!("passed over: a network namespace needs root: {error}");
                None
            }
        }
    }

    /// A path that other programs can open.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.namespace.as_raw_fd())
    }

    /// A command that runs its last arguments in here. It ends when the calling thread ends, also if that is killed, and has a
    /// `/dev/shm` of its own, so that shared memory neither leaves the test nor stays behind.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "--", "nsenter"])
            .arg(format!("--net={}", self.path()))
            .args(["--", "unshare", "--mount", "--", "sh", "-c"])
            .arg("mount -t tmpfs tmpfs /dev/shm && exec \"$@\"")
            .arg("sh");
        command
    }

    /// Does something in here, in a thread of its own.
    pub(crate) fn inside<T: Send>(&self, task: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let entered = scope.spawn(|| {
                setns(&self.namespace, CloneFlags::CLONE_NEWNET).unwrap();
                task()
            });
            entered.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// What `ip` says in here.
    pub(crate) fn ip(&self, arguments: &str) -> String {
        self.run("ip", arguments)
    }

    /// Lets nothing leave by its end of a cable, or all again. The interface stays up.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.run("tc", &format!("qdisc {} dev cable root blackhole", if is_cut { "add" } else { "del" }));
    }

    /// Packets that were lost at its end of a narrow cable.
    pub(crate) fn lost(&self) -> u64 {
        // ` Sent 310942 bytes 215 pkt (dropped 79, overlimits 201 requeues 0) `
        let said = self.run("tc", "-statistics qdisc show dev cable");
        let (_, rest) = said.split_once("(dropped ").unwrap();
        rest.split(',').next().unwrap().parse().unwrap()
    }

    /// Packets that have left by its end of a cable.
    pub(crate) fn sent(&self) -> u64 {
        // The numbers are in the line below their names: `    TX:  bytes packets errors ...`.
        let said = self.ip("-statistics link show dev cable");
        let numbers = said.lines().skip_while(|line| !line.trim_start().starts_with("TX:")).nth(1).unwrap();
        numbers.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    fn run(&self, program: &str, arguments: &str) -> String {
        let output = Command::new("nsenter")
            .arg(format!("--net={}", self.path()))
            .args(["--", program])
            .args(arguments.split(' '))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn wait_for_carrier(&self) {
        let end = Instant::now() + PATIENCE;
        while !self.ip("-oneline link show dev cable").contains("state UP") {
            assert!(Instant::now() < end, "the virtual cable never had a carrier");
            thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    use super::*;

    fn interfaces(place: &Place) -> Vec<String> {
        // `1: lo: <LOOPBACK,UP> ...`, and `2: cable@if2: ...` for one end of a cable.
        let text = place.ip("-oneline link show");
        text.lines()
            .map(|line| line.split([' ', '@']).nth(1).unwrap().trim_end_matches(':').to_owned())
            .collect()
    }

    #[test]
    fn nothing_leaves_a_place() {
        let Some([first, second]) = Link::Loopback.places() else { return };
        assert_eq!(interfaces(&first), ["lo"]);
        assert_eq!(interfaces(&second), ["lo"]);
        let Some(both) = Link::Cable.places() else { return };
        for place in &both {
            assert_eq!(interfaces(place), ["lo", "cable"]);
        }
        let reached = |place: &Place, address: &str| {
            let mut route = place.command();
            route.args(["ip", "route", "get", address]).output().unwrap().status.success()
        };
        assert!(reached(&both[0], "10.9.0.2") && reached(&both[0], "239.255.0.1"));
        assert!(!reached(&both[0], "192.0.2.1") && !reached(&first, "192.0.2.1"));
    }

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let Some([place, _]) = Link::Loopback.places() else { return };
        let mut endless = thread::spawn(move || {
            let mut command = place.command();
            command.args(["sh", "-c", "echo here; exec sleep 1000"]).stdout(Stdio::piped());
            let mut endless = command.spawn().unwrap();
            // It has to be told whose end is its own before that comes.
            let mut line = [0; 5];
            endless.stdout.take().unwrap().read_exact(&mut line).unwrap();
            endless
        })
        .join()
        .unwrap();
        assert_eq!(endless.wait().unwrap().signal(), Some(9));
    }
}
