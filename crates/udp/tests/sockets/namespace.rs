//! A network namespace for a test, with loopback up and multicast on it. It belongs to one thread and ends with it.
use std::fs;
use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, unshare};

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
                ip("-6 route add ff00::/8 dev lo table local");
                test();
            })
            .join()
    });
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

/// Two virtual interfaces, `left` and `right`, connected to each other: MTU 1500, 10.9.0.1/24 and fd09::1/64 are on `left`.
pub(crate) fn veth() {
    ip("link add left type veth peer name right");
    ip("address add 10.9.0.1/24 dev left");
    ip("address add fd09::1/64 dev left nodad");
    ip("link set left up");
    ip("link set right up");
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
    let end = std::time::Instant::now() + crate::PATIENCE;
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

fn run(program: &str, arguments: &str) {
    let output = Command::new(program).args(arguments.split(' ')).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments}: {said}");
}
