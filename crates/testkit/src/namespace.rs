//! A network namespace for a test, with loopback up and multicast on it. It belongs to one thread and those that it starts.
use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, unshare};

/// Runs a test in a new network namespace. Without the right to make one the test is passed over, but not in continuous
/// integration, where it must run.
///
/// # Panics
/// The test does, or no namespace can be made in continuous integration.
pub fn alone(test: impl FnOnce() + Send) {
    bare(|| {
        ip("link set lo up");
        ip("link set lo multicast on");
        ip("route add 224.0.0.0/4 dev lo");
        test();
    });
}

/// As [`alone`], with nothing switched on.
///
/// # Panics
/// As [`alone`].
pub fn bare(test: impl FnOnce() + Send) {
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

/// Runs the command `ip` with these arguments, divided by blanks, in the calling thread's namespace.
///
/// # Panics
/// It fails.
pub fn ip(arguments: &str) {
    run("ip", arguments);
}

/// Runs a program with these arguments, divided by blanks, in the calling thread's namespace.
///
/// # Panics
/// It fails.
pub fn run(program: &str, arguments: &str) {
    let output = Command::new(program).args(arguments.split(' ')).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments}: {said}");
}
