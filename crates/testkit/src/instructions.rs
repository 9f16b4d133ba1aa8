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

/// How often each path is counted; the median is what counts.
pub const ROUNDS: usize = 3;

/// A path, and how many instructions it takes at most in the profile of tests.
#[derive(Debug)]
pub struct Path {
    /// The name of the path.
    pub name: &'static str,
    /// What was counted and a tenth more: another compiler or another C library may take up some of that. A change that makes a path longer on
    /// purpose raises its limit; one that makes it shorter lowers it.
    pub limit: usize,
}

/// Counts the paths in a process of its own, which is the test of this name, and compares each with its limit. `play` does what comes before and
/// calls [`rounds`] once, whose round has a section for each path, in their order. Where tracing is not allowed it says so. Gives what was counted, by
/// path: `None` in that process itself, and where tracing is not allowed.
///
/// A program has one test that calls this, and starts no other process meanwhile: the process that is traced has to be its only child.
///
/// # Panics
/// A path takes more instructions than its limit, or as [`sections`].
pub fn judge(test: &str, paths: &[Path], play: impl FnOnce()) -> Option<Vec<usize>> {
    let counts = sections(test, play)?;
    // Each round begins with an empty section.
    let in_a_round = paths.len() + 1;
    assert_eq!(counts.len(), ROUNDS * in_a_round);
    let median = |index: usize| {
        let mut all: Vec<usize> = counts.chunks(in_a_round).map(|round| round[index]).collect();
        all.sort_unstable();
        all[ROUNDS / 2]
    };
    let empty = median(0);
    let all: Vec<usize> = (1..in_a_round).map(|index| median(index).saturating_sub(empty)).collect();
    let mut longer = Vec::new();
    for (path, count) in paths.iter().zip(&all) {
        println!("{}: {count} instructions of at most {}", path.name, path.limit);
        if *count > path.limit {
            longer.push(path.name);
        }
    }
    assert!(longer.is_empty(), "more instructions than the limit: {longer:?}");
    Some(all)
}

/// Plays a round as often as it is counted. It hands what is counted to its argument.
pub fn rounds(mut round: impl FnMut(&dyn Fn(&mut dyn FnMut()))) {
    for _ in 0..ROUNDS {
        counted(|| {});
        round(&|act| counted(act));
    }
}

/// A section that is counted, in the process that is traced.
///
/// # Panics
/// The process cannot stop itself.
fn counted(act: impl FnOnce()) {
    raise(Signal::SIGSTOP).unwrap();
    act();
    raise(Signal::SIGSTOP).unwrap();
}

/// Plays this in a process of its own, which is the test of this name, and gives the number of instructions of each section, in their order. `None` in that process
/// itself, and where tracing is not allowed.
///
/// # Panics
/// The process fails, or takes longer than two minutes.
fn sections(test: &str, play: impl FnOnce()) -> Option<Vec<usize>> {
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

/// The traced process: it is killed if the test that follows it panics.
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
