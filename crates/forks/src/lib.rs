//! Runs a closure in a fork of the test's process, without exec: what a program does that forks after it has made participants.
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// How a child ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The closure returned.
    Returned,
    /// The closure panicked; its message is on the standard error of the test.
    Panicked,
    /// A signal ended the child, as SIGABRT for a panic while panicking.
    Killed(i32),
    /// The child did not end in time and was killed.
    Hung,
}

/// Runs `run` in a child that this process forks, and waits until the child ends, `limit` at most.
///
/// Only the calling thread is in the child, and locks that other threads held stay locked there.
///
/// # Errors
///
/// The system's error if there is no child.
pub fn in_child(limit: Duration, run: impl FnOnce()) -> io::Result<Ended> {
    // SAFETY: the child runs code that allocates and locks, which glibc prepares for at a fork; it ends by `_exit`.
    let child = unsafe { libc::fork() };
    match child {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = i32::from(catch_unwind(AssertUnwindSafe(run)).is_err());
            // SAFETY: it ends the process without running what the parent registered for its own end.
            unsafe { libc::_exit(code) }
        }
        child => wait(child, limit),
    }
}

fn wait(child: libc::pid_t, limit: Duration) -> io::Result<Ended> {
    let begun = Instant::now();
    let mut hung = false;
    loop {
        let mut status = 0;
        // SAFETY: the status is valid during the call.
        match unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } {
            -1 => return Err(io::Error::last_os_error()),
            0 if begun.elapsed() > limit && !hung => {
                hung = true;
                // SAFETY: the child was not waited for, so that the number is still its own.
                unsafe { libc::kill(child, libc::SIGKILL) };
            }
            0 => std::thread::sleep(Duration::from_millis(1)),
            _ if hung => return Ok(Ended::Hung),
            _ if libc::WIFSIGNALED(status) => return Ok(Ended::Killed(libc::WTERMSIG(status))),
            _ if libc::WEXITSTATUS(status) == 0 => return Ok(Ended::Returned),
            _ => return Ok(Ended::Panicked),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_end_of_a_child_is_told() {
        let limit = Duration::from_secs(20);
        assert_eq!(in_child(limit, || {}).unwrap(), Ended::Returned);
        assert_eq!(in_child(limit, || panic!("as it shall")).unwrap(), Ended::Panicked);
        let asleep = || std::thread::sleep(Duration::from_secs(3_600));
        assert_eq!(in_child(Duration::from_millis(10), asleep).unwrap(), Ended::Hung);
    }
}
