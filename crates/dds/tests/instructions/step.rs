//! Counting instructions: a process that is traced by its parent, which lets it do one after the other.
use std::env;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// Set in the process that is traced.
const TRACED: &str = "PUNCTUAL_TRACED";
/// Its exit code if it may not be.
const REFUSED: i32 = 77;
/// Longer than it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A section that is counted, in the process that is traced.
pub(crate) fn counted(act: impl FnOnce()) {
    raise(Signal::SIGSTOP).unwrap();
    act();
    raise(Signal::SIGSTOP).unwrap();
}

/// Plays this in a process of its own, and gives the number of instructions of each section, in their order. `None` in that process
/// itself, and where tracing is not allowed.
pub(crate) fn sections(test: &str, play: impl FnOnce()) -> Option<Vec<usize>> {
    if env::var_os(TRACED).is_some() {
        if ptrace::traceme().is_err() {
            std::process::exit(REFUSED);
        }
        play();
        return None;
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(TRACED, "1").stdout(Stdio::null());
    // Each instruction is a switch to the parent and back: on one core that takes a microsecond.
    let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap();
    let core = (0..CpuSet::count()).find(|core| allowed.is_set(*core).unwrap()).unwrap();
    let mut one = CpuSet::new();
    one.set(core).unwrap();
    sched_setaffinity(Pid::from_raw(0), &one).unwrap();
    let child = Traced(command.spawn().unwrap());
    let counts = watched(&child, count);
    if counts.is_none() {
        println!("skipped: a process may not be traced here");
    }
    counts
}

/// Ends with whoever follows it.
struct Traced(Child);

impl Drop for Traced {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.0.kill();
        }
    }
}

/// Ends the child if it takes too long.
fn watched<R>(child: &Traced, act: impl FnOnce() -> R) -> R {
    let id = Pid::from_raw(i32::try_from(child.0.id()).unwrap());
    let (done, over) = channel::<()>();
    let watch = std::thread::spawn(move || {
        if over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let _ = kill(id, Signal::SIGKILL);
        }
    });
    let result = act();
    drop(done);
    watch.join().unwrap();
    result
}

/// Follows the only child of this process until it ends; `None` if it may not be traced.
fn count() -> Option<Vec<usize>> {
    let (mut counts, mut current) = (Vec::new(), None);
    loop {
        match waitpid(None, Some(WaitPidFlag::__WALL)) {
            Ok(WaitStatus::Stopped(id, Signal::SIGSTOP)) => {
                // Every other mark begins a section.
                match current.take() {
                    Some(count) => counts.push(count),
                    None => current = Some(0),
                }
                proceed(id, current.is_some());
            }
            Ok(WaitStatus::Stopped(id, Signal::SIGTRAP)) => {
                current = current.map(|count| count + 1);
                proceed(id, current.is_some());
            }
            Ok(WaitStatus::Stopped(id, signal)) => {
                ptrace::cont(id, signal).unwrap();
            }
            Ok(WaitStatus::Exited(_, code)) => {
                assert!(code == 0 || code == REFUSED, "the traced process failed with {code}: see above");
                return (code == 0).then_some(counts);
            }
            Ok(WaitStatus::Signaled(_, signal, _)) => panic!("the traced process ended by {signal}"),
            Ok(_) => {}
            Err(error) => panic!("the traced process cannot be followed: {error}"),
        }
    }
}

fn proceed(id: Pid, one: bool) {
    if one { ptrace::step(id, None).unwrap() } else { ptrace::cont(id, None).unwrap() }
}
