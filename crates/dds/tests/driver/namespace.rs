//! A network namespace for a test, with loopback up and multicast on it. It belongs to one thread and those that it starts.
use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, unshare};

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

/// The command `ip` with these arguments, in the calling thread's namespace.
pub(crate) fn ip(arguments: &str) {
    run("ip", arguments);
}

pub(crate) fn run(program: &str, arguments: &str) {
    let output = Command::new(program).args(arguments.split(' ')).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments}: {said}");
}
