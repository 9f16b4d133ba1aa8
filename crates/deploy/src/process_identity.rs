//! Which process a process id means: one that is no child is told from a later one of the same id by the time of its start.
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Where the name of a program ends in `/proc/PID/stat`, and the start time among the words after it.
const START_TIME: usize = 19;

/// When a process was started, in ticks since the start of the system.
///
/// # Errors
/// There is no such process.
pub(crate) fn start_time(pid: u32) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name of the program may have spaces and brackets itself.
    let time = text.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(START_TIME));
    let time = time.and_then(|time| time.parse().ok());
    time.ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat does not say when it was started")))
}

/// A descriptor of the process that has this id and was started then.
///
/// # Errors
/// It has ended, whether or not another process has its id now.
pub(crate) fn pin(pid: u32, started: u64) -> Result<OwnedFd, String> {
    let gone = |error: io::Error| format!("it ended while no node manager was there ({error})");
    let id =
        i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(|| format!("{pid} is no process id"))?;
    // The descriptor first: what has the id and the time afterwards had them before.
    let descriptor = pidfd_open(id, PidfdFlags::empty()).map_err(|error| gone(error.into()))?;
    if start_time(pid).map_err(gone)? != started {
        return Err("it ended while no node manager was there (its process id is another's now)".to_owned());
    }
    if !is_alive(&descriptor) {
        return Err("it ended while no node manager was there".to_owned());
    }
    Ok(descriptor)
}

/// Whether a process has not ended.
pub(crate) fn is_alive(process: &OwnedFd) -> bool {
    let mut ends = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    poll(&mut ends, PollTimeout::ZERO) == Ok(0)
}

/// Does something when a process has ended, on a thread of its own.
///
/// # Errors
/// There is no thread for it.
pub(crate) fn at_end_of(process: OwnedFd, act: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let spawned = thread::Builder::new().name("waits".to_owned()).spawn(move || {
        let mut ends = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
        while let Ok(0) | Err(nix::errno::Errno::EINTR) = poll(&mut ends, PollTimeout::NONE) {}
        act();
    });
    spawned.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::sync::mpsc::channel;

    #[test]
    fn a_process_is_known_by_its_id_and_its_start() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let started = start_time(child.id()).unwrap();
        assert!(started > 0 && started >= start_time(1).unwrap());
        let process = pin(child.id(), started).unwrap();
        assert!(is_alive(&process));
        // Another process that had its id before, or will have it.
        for other in [started - 1, started + 1] {
            assert!(pin(child.id(), other).unwrap_err().contains("another's"));
        }
        let (tell, ended) = channel();
        at_end_of(process.try_clone().unwrap(), move || tell.send(()).unwrap()).unwrap();
        drop(child.stdin.take());
        ended.recv().unwrap();
        assert!(!is_alive(&process));
        // It has ended, and keeps its id until it is asked how.
        assert!(pin(child.id(), started).unwrap_err().contains("ended"));
        child.wait().unwrap();
        assert!(pin(0, started).is_err() && pin(u32::MAX, started).is_err());
    }
}
