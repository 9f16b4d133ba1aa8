//! Programs of the machine, run within a time.
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::Error;

/// No program here needs as long.
const LIMIT: Duration = Duration::from_secs(20);

/// Where programs are looked for; those of administrators are not always in the path of others.
pub(crate) fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from)).collect()
}

/// A program, with those of administrators, that reads nothing and does not hear the Ctrl-C of a terminal.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null());
    if let Ok(path) = std::env::join_paths(folders()) {
        command.env("PATH", path);
    }
    command.process_group(0);
    command
}

/// Runs a program to its end, but not for longer than 20 s, with `input` on its standard input; what it printed.
///
/// # Errors
/// It is not there, it failed (with what it said), or it took too long.
pub fn finish(command: &mut Command, input: Option<&str>) -> Result<String, Error> {
    let line = || {
        let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
        format!("{} {}", command.get_program().to_string_lossy(), arguments.join(" "))
    };
    let line = line();
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let child = command.spawn().map_err(Error::system(&line))?;
    let id = child.id();
    let output = match wait(child, input) {
        Some(output) => output.map_err(Error::system(&line))?,
        None => {
            end(id, Signal::SIGKILL);
            let what = format!("{line}: not done after {} s, and ended", LIMIT.as_secs());
            return Err(Error::new(what, "try again when the machine has less to do"));
        }
    };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::new(format!("{line}: {} ({})", said.trim(), output.status), ""))
}

/// Feeds a process and waits for it, but not longer than [`LIMIT`].
fn wait(mut child: Child, input: Option<&str>) -> Option<std::io::Result<Output>> {
    let stdin = child.stdin.take();
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        // The receiver is gone if it took too long.
        let _ = done.send(child.wait_with_output());
    });
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        // A program that does not read says why when it ends.
        let _ = stdin.write_all(input.as_bytes());
    }
    ended.recv_timeout(LIMIT).ok()
}

/// Sends a signal to a process, which may be gone.
pub fn end(id: u32, signal: Signal) {
    if let Ok(id) = i32::try_from(id) {
        let _ = kill(Pid::from_raw(id), signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_say_what_they_print_or_what_was_wrong() {
        let error = finish(program("sh").args(["-c", "echo no >&2; exit 3"]), None).unwrap_err();
        assert!(error.what.contains("no (exit status: 3)"), "{error}");
        assert!(finish(&mut program("no-such-program"), None).unwrap_err().what.contains("No such file"));
        assert_eq!(finish(&mut program("cat"), Some("fed")).unwrap(), "fed");
    }
}
