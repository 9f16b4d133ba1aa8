//! The programs of the host that a lab is made with: whether they are there, and running them within a time.
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};

use crate::error::Error;

/// The variable that marks every process of a lab with the name of the lab.
pub(crate) const MARK: &str = "PUNCTUAL_LAB";
/// No program here needs as long.
const LIMIT: Duration = Duration::from_secs(20);
/// Where namespaces have their names.
const NAMESPACES: &str = "/run/netns";

/// Programs, and the Debian packages that bring them.
const PROGRAMS: [(&str, &str); 10] = [
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("ethtool", "ethtool"),
    ("nsenter", "util-linux"),
    ("chrt", "util-linux"),
    ("taskset", "util-linux"),
    ("ovsdb-tool", "openvswitch-switch"),
    ("ovsdb-server", "openvswitch-switch"),
    ("ovs-vswitchd", "openvswitch-switch"),
    ("ovs-vsctl", "openvswitch-switch"),
];
/// What gates need besides.
const FOR_GATES: [(&str, &str); 1] = [("clang", "clang")];
/// Its headers; no program tells of them.
const HEADERS: (&str, &str) = ("/usr/include/bpf/bpf_helpers.h", "libbpf-dev");

/// Whether this process may build labs at all.
///
/// # Errors
/// It is not root's.
pub fn check_rights() -> Result<(), Error> {
    check_rights_of("a lab", "namespaces, switches and real-time priorities need root")
}

/// Whether this process may do what only root may: `what` needs it, because of `why`.
///
/// # Errors
/// It is not root's.
pub(crate) fn check_rights_of(what: &str, why: &str) -> Result<(), Error> {
    if Uid::effective().is_root() {
        return Ok(());
    }
    Err(Error::new(
        format!("{what} needs root"),
        format!("{why}: use sudo, or a container with --privileged"),
    ))
}

/// Whether everything is installed that is needed to look at the interfaces of a host, and to set them.
///
/// # Errors
/// The names of the packages that are missing.
pub(crate) fn check_programs_of_host() -> Result<(), Error> {
    let folders = folders();
    let there = |program: &str| folders.iter().any(|folder| folder.join(program).is_file());
    let missing: Vec<&str> = ["ip", "ethtool"]
        .into_iter()
        .filter(|program| !there(program))
        .map(|program| if program == "ip" { "iproute2" } else { program })
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!("this needs packages that are not installed: {}", missing.join(", "));
    Err(Error::new(what, format!("apt-get install --no-install-recommends {}", missing.join(" "))))
}

/// Whether everything is installed that labs need, or labs with gates.
///
/// # Errors
/// The names of the packages that are missing.
pub fn check_programs(gates: bool) -> Result<(), Error> {
    let missing = missing(gates, &folders(), Path::new(HEADERS.0).is_file());
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!("a lab needs packages that are not installed: {}", missing.join(", "));
    Err(Error::new(what, format!("apt-get install --no-install-recommends {}", missing.join(" "))))
}

/// Where programs are looked for; those of administrators are not always in the path of others.
fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from)).collect()
}

fn missing(gates: bool, folders: &[PathBuf], headers: bool) -> Vec<&'static str> {
    let there = |program: &str| folders.iter().any(|folder| folder.join(program).is_file());
    let for_gates = if gates { &FOR_GATES[..] } else { &[] };
    let programs = PROGRAMS.iter().chain(for_gates).filter(|(program, _)| !there(program));
    let mut missing: Vec<&str> = programs.map(|(_, package)| *package).collect();
    if gates && !headers {
        missing.push(HEADERS.1);
    }
    missing.dedup();
    missing
}

/// Runs programs, of one lab or of none.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    /// The name of the lab.
    lab: Option<String>,
}

impl Tools {
    pub(crate) fn new(lab: &str) -> Self {
        Self { lab: Some(lab.to_owned()) }
    }

    /// Of no lab.
    pub(crate) const fn of_host() -> Self {
        Self { lab: None }
    }

    /// A program that is marked as one of the lab and does not hear the Ctrl-C of a terminal.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null());
        if let Some(lab) = &self.lab {
            command.env(MARK, lab);
        }
        if let Ok(path) = std::env::join_paths(folders()) {
            command.env("PATH", path);
        }
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }

    /// The same inside a namespace; the file systems stay those of the caller.
    pub(crate) fn command_in(&self, namespace: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = self.command("nsenter");
        command.arg(format!("--net={NAMESPACES}/{namespace}")).arg("--").arg(program);
        command
    }

    /// Runs a command line, split at blanks; what it printed.
    pub(crate) fn run(&self, line: &str) -> Result<String, Error> {
        let mut parts = line.split(' ');
        let mut command = self.command(parts.next().unwrap_or_default());
        finish(command.args(parts), None)
    }

    /// Runs a command line inside a namespace.
    pub(crate) fn run_in(&self, namespace: &str, line: &str) -> Result<String, Error> {
        let mut parts = line.split(' ');
        let mut command = self.command_in(namespace, parts.next().unwrap_or_default());
        finish(command.args(parts), None)
    }

    /// Gives `ip` or `tc` several commands, for a namespace if one is given.
    pub(crate) fn batch(&self, program: &str, namespace: Option<&str>, commands: &str) -> Result<(), Error> {
        if commands.is_empty() {
            return Ok(());
        }
        let mut command = self.command(program);
        if let Some(namespace) = namespace {
            command.args(["-n", namespace]);
        }
        finish(command.args(["-batch", "-"]), Some(commands)).map(drop)
    }
}

/// Where the name of a namespace is.
pub(crate) fn namespace_path(namespace: &str) -> PathBuf {
    Path::new(NAMESPACES).join(namespace)
}

/// Runs a program to its end; what it printed, or what it said was wrong.
pub(crate) fn finish(command: &mut Command, input: Option<&str>) -> Result<String, Error> {
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
        // Nobody listens any more if it took too long.
        let _ = done.send(child.wait_with_output());
    });
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        // A program that does not read says why when it ends.
        let _ = stdin.write_all(input.as_bytes());
    }
    ended.recv_timeout(LIMIT).ok()
}

/// Sends a signal to a process, which may be gone.
pub(crate) fn end(id: u32, signal: Signal) {
    if let Ok(id) = i32::try_from(id) {
        let _ = kill(Pid::from_raw(id), signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_are_missing_are_named_once() {
        let without = ["iproute2", "ethtool", "util-linux", "openvswitch-switch"];
        assert_eq!(missing(false, &[], false), without);
        assert_eq!(missing(true, &[], false), [&without[..], &["clang", "libbpf-dev"]].concat());
        assert_eq!(missing(true, &[], true).last(), Some(&"clang"));
    }

    #[test]
    fn programs_say_what_they_print_or_what_was_wrong() {
        let tools = Tools::new("x");
        assert_eq!(tools.run("printenv PUNCTUAL_LAB").unwrap(), "x\n");
        let error = finish(tools.command("sh").args(["-c", "echo no >&2; exit 3"]), None).unwrap_err();
        assert!(error.what.contains("no (exit status: 3)"), "{error}");
        assert!(tools.run("no-such-program").unwrap_err().what.contains("No such file"));
        assert_eq!(finish(&mut tools.command("cat"), Some("fed")).unwrap(), "fed");
    }
}
