//! A network namespace for a test, with loopback up and multicast on it. It belongs to one thread and ends with it.
use std::fs;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;

use nix::sched::{CloneFlags, unshare};
use udp::{Change, InterfaceWatch};

use crate::PATIENCE;

/// Runs a test in a new network namespace. Without the right to make one the test is passed over, but not in continuous
/// integration, where it must run.
pub(crate) fn alone(test: impl FnOnce() + Send) {
    let ended = thread::scope(|scope| {
        scope
            .spawn(|| {
                if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
                    assert!(std::env::var_os("CI").is_none(), "a network namespace needs root: {error}");
                    eprintln!("passed over: a network namespace needs root: {error}");
                    return;
                }
                ip("link set lo up");
                ip("link set lo multicast on");
                ip("route add 224.0.0.0/4 dev lo");
                test();
            })
            .join()
    });
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

/// Two virtual interfaces connected to each other, both ready, MTU 1500: `left`, with the addresses 10.9.0.1/24 and fd09::1/64,
/// and `right`. Gives their indices.
pub(crate) fn veth() -> [u32; 2] {
    let indices = connected(["left", "right"]);
    ip("address add 10.9.0.1/24 dev left");
    ip("address add fd09::1/64 dev left nodad");
    indices
}

/// Two virtual interfaces connected to each other, without addresses of IPv4.
pub(crate) fn connected(names: [&str; 2]) -> [u32; 2] {
    let mut watch = InterfaceWatch::new().unwrap();
    let [near, far] = names;
    ip(&format!("link add {near} type veth peer name {far}"));
    ip(&format!("link set {near} up"));
    ip(&format!("link set {far} up"));
    // The system finds out by and by that the cable is plugged in.
    loop {
        let ready: Vec<_> = names
            .iter()
            .filter_map(|name| watch.known().iter().find(|found| found.name == *name && found.up))
            .map(|interface| interface.index)
            .collect();
        if let Ok(indices) = ready.try_into() {
            return indices;
        }
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

/// Waits until a thread of this process sleeps in a system call.
pub(crate) fn wait_until_asleep(thread: nix::unistd::Pid) {
    let end = std::time::Instant::now() + PATIENCE;
    loop {
        let text = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
        // The state follows the name, which is in parentheses.
        if text.rsplit_once(") ").unwrap().1.starts_with('S') {
            return;
        }
        assert!(std::time::Instant::now() < end, "the thread never slept: {text}");
        thread::yield_now();
    }
}

/// Closes a socket for good: its port is free when this returns. Just to drop it is not enough if another test of this process
/// is starting a child: until that one has become its program it has a copy of every socket.
pub(crate) fn close(socket: udp::Socket) {
    let _no_child = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
    drop(socket);
}

/// Held while this process has a child.
static CHILDREN: Mutex<()> = Mutex::new(());

fn run(program: &str, arguments: &str) {
    let one_at_a_time = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
    let output = Command::new(program).args(arguments.split(' ')).output().unwrap();
    drop(one_at_a_time);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments}: {said}");
}
