//! A network namespace for a test, with loopback up and multicast on it. It belongs to one thread and those that it starts.
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

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

/// Switches on an end of a cable, the other end of which is on, in the calling thread's namespace. The kernel says later that it has a carrier, on
/// a busy machine much later, and programs use no interface without one: so this waits for it.
///
/// # Panics
/// There is no such interface, or it has no carrier after a minute.
pub fn switch_on(interface: &str) {
    ip(&format!("link set {interface} up"));
    let began = Instant::now();
    loop {
        let shown = Command::new("ip").args(["-o", "link", "show", "dev", interface]).output().unwrap();
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        if shown.contains(" state UP ") {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "no carrier: {shown}");
        thread::sleep(Duration::from_millis(5));
    }
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
