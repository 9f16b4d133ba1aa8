//! A network namespace for a test, with loopback up and multicast on it. It belongs to one thread and those that it starts.
use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, unshare};
use udp::{Change, InterfaceWatch};

use crate::PATIENCE;

/// Runs a test in a new network namespace. Without the right to make one the test is passed over, but not in continuous
/// integration, where it must run.
pub(crate) fn alone(test: impl FnOnce() + Send) {
    bare(|| {
        ip("link set lo up");
        ip("link set lo multicast on");
        ip("route add 224.0.0.0/4 dev lo");
        test();
    });
}

/// The same, with nothing switched on.
pub(crate) fn bare(test: impl FnOnce() + Send) {
    let ended = thread::scope(|scope| {
        scope
            .spawn(|| {
                if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
                    assert!(std::env::var_os("CI").is_none(), "a network namespace needs root: {error}");
                    eprintln!("passed over: a network namespace needs root: {error}");
                    return;
                }
                test();
            })
            .join()
    });
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

/// Two virtual interfaces connected to each other and ready, the near one with this address, MTU 1500.
pub(crate) fn veth(near: &str, far: &str, address: &str) {
    let mut watch = InterfaceWatch::new().unwrap();
    ip(&format!("link add {near} type veth peer name {far}"));
    let nodad = if address.contains(':') { " nodad" } else { "" };
    ip(&format!("address add {address} dev {near}{nodad}"));
    ip(&format!("link set {near} up"));
    ip(&format!("link set {far} up"));
    // The system finds out by and by that the cable is plugged in.
    let is_up =
        |watch: &InterfaceWatch, name: &str| watch.known().iter().any(|found| found.name == name && found.up);
    while !(is_up(&watch, near) && is_up(&watch, far)) {
        let change = watch.next(Some(PATIENCE)).unwrap();
        assert!(matches!(change, Change::Interfaces(_)), "the interfaces never became ready: {change:?}");
    }
}

/// The command `ip` with these arguments, in the calling thread's namespace.
pub(crate) fn ip(arguments: &str) {
    run("ip", arguments);
}

/// The command `tc` likewise.
pub(crate) fn tc(arguments: &str) {
    run("tc", arguments);
}

fn run(program: &str, arguments: &str) {
    let output = Command::new(program).args(arguments.split(' ')).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments}: {said}");
}
